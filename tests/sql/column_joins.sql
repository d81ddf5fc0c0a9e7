-- Hash joins of every kind over keys of every representation, with what may be missing on either
-- side, ON conditions, errors on the way, empty sides and tables that do not fit work_mem.
SET enable_mergejoin = off;
SET enable_nestloop = off;
CREATE TABLE l (id int, i2 smallint, i4 int, i8 bigint, o oid, t text, c char(6), v varchar(9),
                n numeric, f4 real, f8 float8, d date, ts timestamp, b bool, u uuid);
CREATE TABLE r (LIKE l);
INSERT INTO l SELECT g, g % 7, g % 11, g % 13, g % 5, 'key ' || g % 9, 'c' || g % 8, 'c' || g % 6,
  (g % 10)::numeric(6, 2) / 4, (g % 4) / 2.0, (g % 6) / 2.0, date '2020-01-01' + g % 12,
  timestamp '2020-01-01' + g % 3 * interval '1 hour', g % 2 = 0,
  ('00000000-0000-0000-0000-00000000000' || g % 10)::uuid FROM generate_series(1, 60) g;
INSERT INTO r SELECT g, g % 5, g % 8, g % 17, g % 9, 'key ' || g % 14, 'c' || g % 5 || ' ', 'c' || g % 9,
  (g % 12)::numeric(9, 4) / 4, (g % 5) / 2.0, (g % 9) / 2.0, date '2020-01-05' + g % 15,
  timestamp '2020-01-01' + g % 5 * interval '1 hour', g % 3 = 0,
  ('00000000-0000-0000-0000-00000000000' || g % 7)::uuid FROM generate_series(1, 45) g;
INSERT INTO l (id) VALUES (101), (102);
INSERT INTO r (id) VALUES (201), (202), (203);
INSERT INTO l (id, n, f8, f4, t, c) VALUES (103, 'NaN', 'NaN', 'NaN', '', ''), (104, '-0.00', '-0', '-0', ' ', '  '),
  (105, 12345678901234567890.5, 'Infinity', 'Infinity', 'a', 'a');
INSERT INTO r (id, n, f8, f4, t, c) VALUES (204, 'NaN', 'NaN', 'NaN', '', '     '), (205, '0', '0', '0', '', ''),
  (206, 12345678901234567890.500, 'Infinity', 'Infinity', 'a ', 'a ');
ANALYZE l;
ANALYZE r;

-- Every kind over every key: how many rows, and which.
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i2 = r.i2
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i2 = r.i2
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i2 = r.i2
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i2 = r.i2
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i2 = r.i2)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i2 = r.i2)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i2 = r.i2)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i2 = r.i2);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i2 = r.i4
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i2 = r.i4
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i2 = r.i4
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i2 = r.i4
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i2 = r.i4)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i2 = r.i4)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i2 = r.i4)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i2 = r.i4);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i8
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i8
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i4 = r.i8
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i4 = r.i8
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i8)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i8)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i4 = r.i8)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i4 = r.i8);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i2
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i2
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i8 = r.i2
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i8 = r.i2
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i2)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i2)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i8 = r.i2)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i8 = r.i2);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i8 = r.i8
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i8 = r.i8
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i8 = r.i8
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i8 = r.i8
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i8 = r.i8)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i8 = r.i8)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i8 = r.i8)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i8 = r.i8);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.o = r.o
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.o = r.o
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.o = r.o
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.o = r.o
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.o = r.o)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.o = r.o)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.o = r.o)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.o = r.o);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.t = r.t
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.t = r.t
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.t = r.t
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.t = r.t
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.t = r.t)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.t = r.t)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.t = r.t)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.t = r.t);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.c = r.c
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.c = r.c
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.c = r.c
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.c = r.c
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.c = r.c)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.c = r.c)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.c = r.c)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.c = r.c);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.c::text = r.t
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.c::text = r.t
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.c::text = r.t
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.c::text = r.t
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.c::text = r.t)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.c::text = r.t)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.c::text = r.t)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.c::text = r.t);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.v = r.v
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.v = r.v
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.v = r.v
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.v = r.v
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.v = r.v)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.v = r.v)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.v = r.v)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.v = r.v);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.n = r.n
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.n = r.n
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.n = r.n
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.n = r.n
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.n = r.n)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.n = r.n)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.n = r.n)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.n = r.n);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.f4 = r.f4
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.f4 = r.f4
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.f4 = r.f4
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.f4 = r.f4
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.f4 = r.f4)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.f4 = r.f4)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.f4 = r.f4)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.f4 = r.f4);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.f4 = r.f8
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.f4 = r.f8
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.f4 = r.f8
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.f4 = r.f8
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.f4 = r.f8)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.f4 = r.f8)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.f4 = r.f8)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.f4 = r.f8);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.f8 = r.f8
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.f8 = r.f8
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.f8 = r.f8
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.f8 = r.f8
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.f8 = r.f8)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.f8 = r.f8)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.f8 = r.f8)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.f8 = r.f8);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.d = r.d
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.d = r.d
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.d = r.d
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.d = r.d
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.d = r.d)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.d = r.d)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.d = r.d)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.d = r.d);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.ts = r.ts
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.ts = r.ts
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.ts = r.ts
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.ts = r.ts
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.ts = r.ts)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.ts = r.ts)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.ts = r.ts)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.ts = r.ts);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.b = r.b
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.b = r.b
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.b = r.b
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.b = r.b
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.b = r.b)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.b = r.b)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.b = r.b)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.b = r.b);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.u = r.u
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.u = r.u
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.u = r.u
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.u = r.u
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.u = r.u)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.u = r.u)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.u = r.u)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.u = r.u);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 AND l.t = r.t
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 AND l.t = r.t
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i4 = r.i4 AND l.t = r.t
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i4 = r.i4 AND l.t = r.t
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND l.t = r.t)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND l.t = r.t)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND l.t = r.t)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND l.t = r.t);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.n = r.n AND l.i2 = r.i8
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.n = r.n AND l.i2 = r.i8
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.n = r.n AND l.i2 = r.i8
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.n = r.n AND l.i2 = r.i8
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.n = r.n AND l.i2 = r.i8)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.n = r.n AND l.i2 = r.i8)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.n = r.n AND l.i2 = r.i8)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.n = r.n AND l.i2 = r.i8);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.c = r.c AND l.d = r.d
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.c = r.c AND l.d = r.d
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.c = r.c AND l.d = r.d
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.c = r.c AND l.d = r.d
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.c = r.c AND l.d = r.d)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.c = r.c AND l.d = r.d)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.c = r.c AND l.d = r.d)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.c = r.c AND l.d = r.d);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 AND l.b
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 AND l.b
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i4 = r.i4 AND l.b
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i4 = r.i4 AND l.b
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND l.b)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND l.b)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND l.b)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND l.b);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 AND r.b
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 AND r.b
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i4 = r.i4 AND r.b
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i4 = r.i4 AND r.b
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND r.b)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND r.b)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND r.b)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND r.b);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 AND l.id < r.id
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 AND l.id < r.id
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i4 = r.i4 AND l.id < r.id
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i4 = r.i4 AND l.id < r.id
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND l.id < r.id)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND l.id < r.id)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND l.id < r.id)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND l.id < r.id);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.t = r.t AND l.id + r.id > 70
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.t = r.t AND l.id + r.id > 70
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.t = r.t AND l.id + r.id > 70
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.t = r.t AND l.id + r.id > 70
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.t = r.t AND l.id + r.id > 70)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.t = r.t AND l.id + r.id > 70)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.t = r.t AND l.id + r.id > 70)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.t = r.t AND l.id + r.id > 70);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 + 1 = r.i4
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 + 1 = r.i4
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i4 + 1 = r.i4
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i4 + 1 = r.i4
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 + 1 = r.i4)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 + 1 = r.i4)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i4 + 1 = r.i4)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i4 + 1 = r.i4);
SELECT 'inner' AS kind, count(*), sum(l.id * 7 + r.id) FROM l JOIN r ON l.i4 = r.i4 AND l.t IS DISTINCT FROM r.t
UNION ALL SELECT 'left', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l LEFT JOIN r ON l.i4 = r.i4 AND l.t IS DISTINCT FROM r.t
UNION ALL SELECT 'right', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l RIGHT JOIN r ON l.i4 = r.i4 AND l.t IS DISTINCT FROM r.t
UNION ALL SELECT 'full', count(*), sum(coalesce(l.id, 0) * 7 + coalesce(r.id, 0)) FROM l FULL JOIN r ON l.i4 = r.i4 AND l.t IS DISTINCT FROM r.t
UNION ALL SELECT 'exists', count(*), sum(l.id) FROM l WHERE EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND l.t IS DISTINCT FROM r.t)
UNION ALL SELECT 'not exists', count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.i4 = r.i4 AND l.t IS DISTINCT FROM r.t)
UNION ALL SELECT 'exists', count(*), sum(r.id) FROM r WHERE EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND l.t IS DISTINCT FROM r.t)
UNION ALL SELECT 'not exists', count(*), sum(r.id) FROM r WHERE NOT EXISTS (SELECT FROM l WHERE l.i4 = r.i4 AND l.t IS DISTINCT FROM r.t);

-- What is handed up.
SELECT l.id, l.t, r.id, r.c, r.n FROM l LEFT JOIN r ON l.n = r.n AND l.i2 = r.i2 WHERE l.id > 50 ORDER BY 1, 3;
SELECT l.*, r.* FROM l FULL JOIN r ON l.u = r.u AND l.c = r.c WHERE l.id IS NULL OR r.id IS NULL OR l.id < 4 ORDER BY l.id, r.id LIMIT 12;
SELECT r.id, r.n, 5 AS five, l.f8 FROM l RIGHT JOIN r ON l.f8 = r.f8 AND l.id = r.id ORDER BY 1;
SELECT DISTINCT l.t, r.t FROM l JOIN r ON l.t = r.t ORDER BY 1;

-- Empty sides.
CREATE TABLE none (LIKE l);
ANALYZE none;
SELECT count(*), count(none.id) FROM l LEFT JOIN none ON l.i4 = none.i4;
SELECT count(*), count(none.id) FROM none LEFT JOIN l ON l.i4 = none.i4;
SELECT count(*), count(none.id) FROM none FULL JOIN l ON l.i4 = none.i4;
SELECT count(*) FROM l JOIN none USING (t);
SELECT count(*) FROM l WHERE EXISTS (SELECT FROM none WHERE none.n = l.n);
SELECT count(*) FROM l WHERE NOT EXISTS (SELECT FROM none WHERE none.n = l.n);
SELECT count(*) FROM none WHERE NOT EXISTS (SELECT FROM l WHERE none.n = l.n);

-- Errors, and the rows before them.
SELECT count(*) FROM l JOIN r ON l.i4 = r.i4 AND 10 / (l.id - 3) > r.id;
SELECT l.id FROM l JOIN r ON l.i4 = r.i4 WHERE 10 / (r.id - 44 + l.id - 11) = 1000;
SELECT l.id, 1 / (l.id - 60) FROM l JOIN r ON l.i8 = r.i8 AND l.id = r.id + 15 ORDER BY 1;
SELECT l.id FROM l JOIN r ON l.i4 = r.i4 AND l.id <> 3 AND 10 / (l.id - 3) > r.id ORDER BY 1, r.id;
SELECT count(*) FROM l JOIN r ON 100 / (l.id - 7) = r.i4;

-- Started again with other parameters, and with the same.
SELECT g, (SELECT count(*) FROM l JOIN r ON l.i4 = r.i8 AND l.id < g * 10) FROM generate_series(1, 6) g;
SELECT g, (SELECT sum(l.id) FROM l LEFT JOIN r ON l.t = r.t AND r.id = g WHERE r.id IS NULL) FROM generate_series(1, 4) g;
SELECT g, (SELECT sum(r.id) FROM l RIGHT JOIN (SELECT * FROM r WHERE r.id > g * 7) r ON l.t = r.t) FROM generate_series(1, 4) g;

-- More than work_mem.
CREATE TABLE big AS SELECT g AS id, g % 30000 AS k, ('name ' || g % 20000)::text AS t, (g % 25000 / 100.0)::numeric(8, 2) AS n,
  CASE WHEN g % 10 > 0 THEN g % 40000 END AS z FROM generate_series(1, 100000) g;
ANALYZE big;
SET work_mem = '64kB';
SELECT count(*), sum(a.id), sum(b.id) FROM big a JOIN big b ON a.k = b.k AND a.id < b.id;
SELECT count(*), sum(a.id), sum(b.id) FROM big a JOIN big b ON a.t = b.t AND a.n = b.n;
SELECT count(*), sum(a.id), sum(b.id), count(b.t) FROM big a LEFT JOIN (SELECT * FROM big WHERE id % 3 = 0) b ON a.id = b.z;
SELECT count(*), sum(a.id), sum(b.id) FROM (SELECT * FROM big WHERE id % 2 = 0) a RIGHT JOIN big b ON a.z = b.id;
SELECT count(*), sum(a.id), sum(b.id), count(*) FILTER (WHERE a.id IS NULL) FROM (SELECT * FROM big WHERE id < 70000) a
  FULL JOIN (SELECT * FROM big WHERE id > 20000) b ON a.z = b.id;
SELECT count(*), sum(id) FROM big a WHERE EXISTS (SELECT FROM big b WHERE b.z = a.id);
SELECT count(*), sum(id) FROM big a WHERE NOT EXISTS (SELECT FROM big b WHERE b.z = a.id AND b.id % 2 = 0);
SELECT count(*), sum(a.id), max(a.t) FROM big a JOIN big b ON a.k = b.k WHERE b.id % 2 = 1 AND a.t < b.t;
SELECT count(*) FROM big a JOIN (SELECT 1 AS one, id FROM big) b ON a.k = b.one;
RESET work_mem;
DROP TABLE l, r, none, big;
