-- Hash joins of inner sides that fit into memory, hardly do not, and do not by far: of columns and of rows.
SET enable_mergejoin = off;
SET enable_nestloop = off;
CREATE TABLE a AS SELECT g AS id, CASE WHEN g % 13 > 0 THEN g * 7 % 9001 END AS k, 'outer ' || g % 701 AS t,
  (g % 500)::numeric / 4 AS n FROM generate_series(1, 12000) AS g;
CREATE TABLE b AS SELECT g AS id, CASE WHEN g % 11 > 0 THEN g * 3 % 8009 END AS k, 'inner ' || g % 97 AS t,
  (g % 300)::numeric / 4.00 AS n FROM generate_series(1, 12000) AS g;
ANALYZE a, b;

-- Columns: from one batch to many, by the size of the inner side.
SET work_mem = '64kB';
SELECT s, count(*), sum(a.id), sum(b.id), min(b.t), max(a.t) FROM (VALUES (500), (2000), (3000), (4000), (12000)) AS v (s),
  LATERAL (SELECT * FROM a WHERE id <= s * 2) AS a JOIN LATERAL (SELECT * FROM b WHERE id <= s) AS b ON a.k = b.k GROUP BY s ORDER BY s;
SELECT count(*), sum(a.id), sum(b.id), max(b.t) FROM a JOIN (SELECT * FROM b WHERE id <= 2500) AS b ON a.k = b.k;
SELECT count(*), sum(a.id), sum(b.id), max(b.t), count(b.id) FROM a LEFT JOIN (SELECT * FROM b WHERE id <= 2500) AS b ON a.k = b.k;
SELECT count(*), sum(a.id), sum(b.id), max(b.t), count(a.id) FROM (SELECT * FROM a WHERE id <= 700) AS a RIGHT JOIN (SELECT * FROM b WHERE id <= 2500) AS b ON a.k = b.k;
SELECT count(*), sum(a.id), sum(b.id), max(b.t), count(a.id), count(b.id) FROM (SELECT * FROM a WHERE id <= 4000) AS a
  FULL JOIN (SELECT * FROM b WHERE id <= 3500) AS b ON a.k = b.k;
SELECT count(*), sum(id) FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND b.id <= 9000);
SELECT count(*), sum(id) FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND b.id <= 9000);
SELECT count(*), sum(id) FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND b.n = a.n);
SELECT count(*), sum(a.id), sum(b.id) FROM a JOIN b ON a.n = b.n AND a.k = b.k;
SELECT count(*), sum(a.id), sum(b.id) FROM a JOIN b ON a.k + 1 = b.k - 1 AND a.id % 5 <> b.id % 3;
-- One key has more rows than fit.
SELECT count(*), sum(a.id), sum(b.id) FROM a JOIN (SELECT id, id % 2 AS h, t FROM b) AS b ON a.id = b.h;
SELECT count(*), sum(b.id) FROM (SELECT * FROM a WHERE id < 3) AS a RIGHT JOIN (SELECT id, 1 AS h, t FROM b) AS b ON a.id = b.h;

-- Rows.
SELECT count(*), sum(x), sum(y), sum(z) FROM generate_series(1, 9000) AS x JOIN (SELECT y, y * 3 % 5003 AS z FROM generate_series(1, 3000) AS y OFFSET 0) AS s ON x = z;
SELECT count(*), sum(x), sum(y), sum(z) FROM generate_series(1, 9000) AS x LEFT JOIN (SELECT y, y * 3 % 5003 AS z FROM generate_series(1, 9000) AS y OFFSET 0) AS s ON x = z;
SELECT count(*), sum(x), sum(y), sum(z) FROM generate_series(1, 900) AS x RIGHT JOIN (SELECT y, y * 3 % 5003 AS z FROM generate_series(1, 2000) AS y OFFSET 0) AS s ON x = z;
SELECT count(*), sum(x), sum(y), sum(z) FROM generate_series(1, 3000) AS x FULL JOIN (SELECT y, nullif(y * 3 % 5003, 17) AS z FROM generate_series(1, 4000) AS y OFFSET 0) AS s ON x = z;
SELECT count(*), sum(x) FROM generate_series(1, 9000) AS x WHERE x IN (SELECT y * 3 % 5003 FROM generate_series(1, 4000) AS y);
SELECT count(*), sum(x) FROM generate_series(1, 9000) AS x WHERE NOT EXISTS (SELECT FROM generate_series(1, 8000, 3) AS y WHERE y = x);
SELECT count(*), sum(x) FROM generate_series(1, 3) AS x JOIN (SELECT 1 AS one FROM generate_series(1, 9000) OFFSET 0) AS s ON x = one;

-- Started again.
SELECT g, (SELECT count(*) FROM a JOIN (SELECT * FROM b WHERE id <= g * 1500) AS b ON a.k = b.k AND a.id > g) FROM generate_series(1, 4) AS g;
SELECT g, (SELECT sum(x) FROM generate_series(1, 5000 + g) AS x JOIN (SELECT y * 2 AS z FROM generate_series(1, 4000) AS y OFFSET 0) AS s ON x = z) FROM generate_series(1, 3) AS g;

-- Nothing on one side: the other is not read to its end.
CREATE SEQUENCE met;
SELECT count(*) FROM (SELECT nextval('met') AS x FROM generate_series(1, 10) OFFSET 0) AS x JOIN (SELECT g FROM generate_series(1, 0) AS g OFFSET 0) AS y ON x = g;
RESET work_mem;
DROP TABLE a, b;
DROP SEQUENCE met;
