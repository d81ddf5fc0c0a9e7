-- Sessions: nested loops with an index scan, or a few kept rows, on the inner side, of every kind:
-- keys of every representation, with NULLs, duplicates and keys of other types, rows changed under
-- an old snapshot, filters and ON conditions, errors on the way, empty sides, LIMIT above.
S: CREATE TABLE l (id int, i2 smallint, i4 int, i8 bigint, t text, c char(6), v varchar(9), n numeric, f4 real, f8 float8, d date, ts timestamp, b bool);
S: CREATE TABLE r (LIKE l);
S: INSERT INTO l SELECT g, g % 7, g % 11, g % 13, 'key ' || g % 9, 'c' || g % 8, 'c' || g % 6, (g % 10)::numeric(6, 2) / 4, (g % 4) / 2.0, (g % 6) / 2.0, date '2020-01-01' + g % 12, timestamp '2020-01-01' + g % 3 * interval '12 hours', g % 2 = 0 FROM generate_series(1, 60) g;
S: INSERT INTO r SELECT g, g % 5, g % 8, g % 17, 'key ' || g % 14, 'c' || g % 5 || ' ', 'c' || g % 9, (g % 12)::numeric(9, 4) / 4, (g % 5) / 2.0, (g % 9) / 2.0, date '2020-01-05' - g % 15, timestamp '2020-01-01' + g % 5 * interval '12 hours', g % 3 = 0 FROM generate_series(1, 150) g;
S: INSERT INTO l (id) VALUES (101), (102);
S: INSERT INTO r (id) VALUES (201), (202), (203);
S: INSERT INTO l (id, n, f8, f4, t, c, i8) VALUES (103, 'NaN', 'NaN', 'NaN', '', '', 5000000000), (104, '-0.00', '-0', '-0', ' ', '  ', -1), (105, 12345678901234567890.5, 'Infinity', 'Infinity', 'a', 'a', 2);
S: INSERT INTO r (id, n, f8, f4, t, c, i8) VALUES (204, 'NaN', 'NaN', 'NaN', '', '     ', 5000000000), (205, '0', '0', '0', '', '', -1), (206, 12345678901234567890.500, 'Infinity', 'Infinity', 'a ', 'a ', 3);
S: CREATE INDEX ON r (id);
S: CREATE INDEX ON r (i2);
S: CREATE INDEX ON r (i4);
S: CREATE INDEX ON r (i8);
S: CREATE INDEX ON r (t);
S: CREATE INDEX ON r (c);
S: CREATE INDEX ON r (v);
S: CREATE INDEX ON r (n);
S: CREATE INDEX ON r (f4);
S: CREATE INDEX ON r (f8);
S: CREATE INDEX ON r (d);
S: CREATE INDEX ON r (ts);
S: CREATE INDEX ON r (b, i4, id DESC);
S: CREATE TABLE u (id int PRIMARY KEY, x int, s text);
S: INSERT INTO u SELECT g, g % 10, 'u' || g FROM generate_series(1, 100) g;
S: CREATE TABLE few (k int, name text);
S: INSERT INTO few SELECT g, 'few ' || g FROM generate_series(0, 6) g;
S: ANALYZE;
S: SET enable_hashjoin = off;
S: SET enable_mergejoin = off;
S: SET enable_bitmapscan = off;
S: SET enable_memoize = off;
S: SET enable_indexonlyscan = off;
A: SET enable_hashjoin = off;
A: SET enable_mergejoin = off;
A: SET enable_bitmapscan = off;
A: SET enable_memoize = off;
A: SET enable_indexonlyscan = off;

-- Every kind over every key: how many rows, and which.
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i2 = r.i2 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i2 = r.i2 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i2 = r.i2) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i2 = r.i2);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i2 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i2 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i2 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i2 = r.i4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i8 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i8 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i8) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i8);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i2 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i2 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i2) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i2);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.id UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.id UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.id) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.id);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.t = r.t UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.t = r.t UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.t = r.t) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.t = r.t);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.c = r.c UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.c = r.c UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.c = r.c) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.c = r.c);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.v = r.v UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.v = r.v UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.v = r.v) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.v = r.v);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.t = r.v UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.t = r.v UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.t = r.v) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.t = r.v);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.n = r.n UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.n = r.n UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.n = r.n) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.n = r.n);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.f4 = r.f4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.f4 = r.f4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.f4 = r.f4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.f4 = r.f4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.f4 = r.f8 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.f4 = r.f8 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.f4 = r.f8) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.f4 = r.f8);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.f8 = r.f4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.f8 = r.f4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.f8 = r.f4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.f8 = r.f4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.d = r.d UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.d = r.d UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.d = r.d) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.d = r.d);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.d = r.ts UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.d = r.ts UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.d = r.ts) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.d = r.ts);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.ts = r.d UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.ts = r.d UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.ts = r.d) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.ts = r.d);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.ts = r.ts UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.ts = r.ts UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.ts = r.ts) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.ts = r.ts);

-- Keys that are computed.
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 + 1 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 + 1 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 + 1 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 + 1 = r.i4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.c::text = r.t UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.c::text = r.t UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.c::text = r.t) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.c::text = r.t);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.n UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.n UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.n) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.n);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON r.d = l.d + l.i2 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON r.d = l.d + l.i2 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE r.d = l.d + l.i2) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE r.d = l.d + l.i2);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON r.b = (l.i2 > 3) AND r.i4 = l.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON r.b = (l.i2 > 3) AND r.i4 = l.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE r.b = (l.i2 > 3) AND r.i4 = l.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE r.b = (l.i2 > 3) AND r.i4 = l.i4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON r.i4 = coalesce(l.i4, 3) UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON r.i4 = coalesce(l.i4, 3) UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE r.i4 = coalesce(l.i4, 3)) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE r.i4 = coalesce(l.i4, 3));
S: SELECT count(*) FROM l JOIN r ON r.i4 = 10 / (l.id - 30);
S: SELECT count(*) FROM (SELECT FROM l JOIN r ON r.i4 = 10 / (l.id - 30) WHERE l.id > 30 LIMIT 5) x;
S: SELECT count(*) FROM l JOIN r ON r.i4 = 2000000000 + l.id * 10000000 WHERE l.id < 60;

-- Several keys, conditions on the found row, on both, and above the join.
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.b = r.b AND l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.b = r.b AND l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.b = r.b AND l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.b = r.b AND l.i4 = r.i4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.b = r.b AND l.i4 = r.i4 AND l.id = r.id UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.b = r.b AND l.i4 = r.i4 AND l.id = r.id UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.b = r.b AND l.i4 = r.i4 AND l.id = r.id) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.b = r.b AND l.i4 = r.i4 AND l.id = r.id);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON r.b AND l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON r.b AND l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE r.b AND l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE r.b AND l.i4 = r.i4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 AND r.f8 > 1 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 AND r.f8 > 1 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND r.f8 > 1) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND r.f8 > 1);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 AND r.f8 > l.f8 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 AND r.f8 > l.f8 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND r.f8 > l.f8) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND r.f8 > l.f8);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 AND r.id <> l.id AND r.t LIKE '%1%' UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 AND r.id <> l.id AND r.t LIKE '%1%' UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND r.id <> l.id AND r.t LIKE '%1%') UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND r.id <> l.id AND r.t LIKE '%1%');
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 AND (r.d < l.d OR r.n > l.n) UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 AND (r.d < l.d OR r.n > l.n) UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND (r.d < l.d OR r.n > l.n)) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND (r.d < l.d OR r.n > l.n));
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i2 = r.i4 AND l.id % 3 = 1 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i2 = r.i4 AND l.id % 3 = 1 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i2 = r.i4 AND l.id % 3 = 1) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i2 = r.i4 AND l.id % 3 = 1);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.id AND r.n IS NOT NULL UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.id AND r.n IS NOT NULL UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.id AND r.n IS NOT NULL) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.id AND r.n IS NOT NULL);
S: SELECT count(*), sum(r.id), count(*) FILTER (WHERE r.id IS NULL) FROM l LEFT JOIN r ON l.i4 = r.i4 AND r.b WHERE r.f8 IS NULL OR r.f8 < 2;
S: SELECT l.id, l.t, r.id, r.t, r.n, r.d FROM l LEFT JOIN r ON l.id = r.i8 ORDER BY l.id, r.id LIMIT 40;
S: SELECT l.id, l.c || r.c, r.i8 + l.i8, CASE WHEN r.b THEN r.t ELSE l.t END FROM l JOIN r ON l.id = r.id ORDER BY 1 LIMIT 12;
S: SELECT l.id, r.* FROM l JOIN r ON l.id = r.id WHERE l.id IN (3, 17, 58) ORDER BY 1;

-- One after the other, and unique keys.
S: SELECT count(*), sum(u.x), sum(w.x), min(u.s || w.s) FROM l JOIN r ON l.i4 = r.i4 JOIN u ON u.id = r.id JOIN u w ON w.id = u.x;
S: SELECT count(*), sum(u.x), sum(w.x) FROM l LEFT JOIN r ON l.i4 = r.i4 AND r.b LEFT JOIN u ON u.id = r.id LEFT JOIN u w ON w.id = u.x AND w.s <> 'u4';
S: SELECT count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r JOIN u ON u.id = r.i8 WHERE r.i4 = l.i4) AND NOT EXISTS (SELECT FROM u WHERE u.id = l.id);

-- The same inner rows for all outer ones.
S: SELECT name, count(*), sum(l.id) FROM l, few WHERE l.i2 < few.k GROUP BY name ORDER BY name;
S: SELECT count(*), sum(l.id), count(name), min(name) FROM l LEFT JOIN few ON l.i2 = few.k AND l.id > 9;
S: SELECT count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM few WHERE few.k * 2 = l.i2 OR few.k > l.i4);
S: SELECT count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM few WHERE few.k * 2 = l.i2 OR few.k > l.i4);
S: SELECT count(*), sum(l.id * r.id) FROM l JOIN r ON l.i2 < r.i2 AND l.f8 <= r.f8;
S: SELECT l.id, name FROM l LEFT JOIN few ON few.k = l.i4 ORDER BY l.id, name LIMIT 15;

-- Not more than is wanted.
S: SELECT count(*) FROM (SELECT l.id FROM l JOIN r ON l.i4 = r.i4 LIMIT 37) x;
S: SELECT count(*) FROM (SELECT l.id FROM l LEFT JOIN r ON l.i4 = r.i4 AND r.i8 = 3 LIMIT 61) x;
S: SELECT EXISTS (SELECT FROM l JOIN r ON l.i4 = r.i4 AND r.id > 140), EXISTS (SELECT FROM l JOIN r ON l.i4 = r.i4 AND r.id > 900);
S: SELECT count(*) FROM u WHERE EXISTS (SELECT FROM l JOIN r ON l.i4 = r.i4 WHERE r.id = u.x + 1 AND l.id < u.id);

-- Errors come with their row, or not at all.
S: SELECT sum(10 / (r.id - 140)) FROM l JOIN r ON l.i4 = r.i4;
S: SELECT sum(10 / (r.id - 10)) FROM l JOIN r ON l.id = r.id WHERE l.id > 100;
S: SELECT count(*) FROM l JOIN r ON l.id = r.id AND 10 / (r.id - l.i4 - 20) > 3;
S: SELECT count(*) FROM l JOIN r ON l.id = r.id WHERE l.id > 20 AND 10 / (r.id - l.i4 - 5) > 3;
S: SELECT l.id FROM l JOIN few ON 10 / (few.k - 6) < l.id ORDER BY 1 LIMIT 1;
S: SELECT count(*) FROM l JOIN few ON l.i4 + few.k < 9 AND 100000 * l.id * few.k * 1000 > 0;

-- Empty sides.
S: CREATE TABLE none (LIKE r INCLUDING ALL);
S: CREATE INDEX ON none (i4);
S: SELECT count(*) FROM l JOIN none ON l.i4 = none.i4;
S: SELECT count(*), count(none.id) FROM l LEFT JOIN none ON l.i4 = none.i4;
S: SELECT count(*) FROM none JOIN r ON none.i4 = r.i4;
S: SELECT count(*) FROM l WHERE NOT EXISTS (SELECT FROM none WHERE none.i4 = l.i4);

-- Rows that an old snapshot sees otherwise.
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4);
A: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b);
A: SELECT count(*), sum(u.x), sum(w.x) FROM l JOIN r ON l.i4 = r.i4 JOIN u ON u.id = r.id JOIN u w ON w.id = u.x;
A: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.id = r.id UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.id = r.id UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.id = r.id) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.id = r.id);
A: SELECT count(*), sum(l.id), min(u.s) FROM l LEFT JOIN u ON u.id = l.id;
B: UPDATE r SET i4 = i4 + 1, i8 = 3 WHERE id % 3 = 0;
B: DELETE FROM r WHERE id % 7 = 0;
B: INSERT INTO r (id, i4, i8, b) SELECT g, g % 8, g % 17, true FROM generate_series(1, 30) g;
B: UPDATE u SET id = id + 1000 WHERE id % 4 = 0;
B: INSERT INTO u VALUES (4, 3, 'new 4'), (8, 3, 'new 8');
B: DELETE FROM u WHERE id = 9;
A: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4);
A: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b);
A: SELECT count(*), sum(u.x), sum(w.x) FROM l JOIN r ON l.i4 = r.i4 JOIN u ON u.id = r.id JOIN u w ON w.id = u.x;
A: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.id = r.id UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.id = r.id UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.id = r.id) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.id = r.id);
A: SELECT count(*), sum(l.id), min(u.s) FROM l LEFT JOIN u ON u.id = l.id;
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b);
S: SELECT count(*), sum(u.x), sum(w.x) FROM l JOIN r ON l.i4 = r.i4 JOIN u ON u.id = r.id JOIN u w ON w.id = u.x;
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.id = r.id UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.id = r.id UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.id = r.id) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.id = r.id);
S: SELECT count(*), sum(l.id), min(u.s) FROM l LEFT JOIN u ON u.id = l.id;
A: DELETE FROM l WHERE id < 5;
A: INSERT INTO l (id, i4, i8) VALUES (900, 2, 3);
A: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4);
A: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b);
A: COMMIT;
B: BEGIN;
B: UPDATE r SET i4 = 2 WHERE id < 40;
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b);
B: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4);
B: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b);
B: ROLLBACK;
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4);
S: SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'left', count(*), sum(l.id * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8 AND r.b UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b) UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8 AND r.b);

-- Joins that change tables.
S: UPDATE l SET i2 = r.i2 + 1 FROM r WHERE l.id = r.id AND r.i2 > 2;
S: DELETE FROM l USING u WHERE u.id = l.id AND u.x = 3;
S: SELECT count(*), sum(id), sum(i2) FROM l;
