-- LATERAL sub-selects and functions: what has been found for some values is kept for when they come again.
CREATE TABLE ml_t (id int, k int, n numeric, t text);
CREATE TABLE ml_u (a int, b int, n numeric, t text);
INSERT INTO ml_t SELECT i, nullif(i % 20, 7), CASE WHEN i % 2 = 0 THEN 1.0 ELSE 1.00 END, 't' || i % 3 FROM generate_series(1, 2000) i;
INSERT INTO ml_u SELECT i % 40, i, (i % 3)::numeric, 't' || i % 5 FROM generate_series(1, 1000) i;
ANALYZE ml_t, ml_u;
EXPLAIN (COSTS OFF) SELECT * FROM ml_t, LATERAL (SELECT count(*) FROM ml_u WHERE a = k) x;
EXPLAIN (COSTS OFF) SELECT * FROM ml_t LEFT JOIN LATERAL (SELECT b FROM ml_u WHERE a < k ORDER BY b DESC LIMIT 2) x ON true;
EXPLAIN (COSTS OFF) SELECT * FROM ml_t, LATERAL generate_series(1, k) g;
EXPLAIN (COSTS OFF) SELECT * FROM ml_t, LATERAL (SELECT max(b) AS m FROM ml_u WHERE ml_u.n > ml_t.n AND a < k) x;
EXPLAIN (COSTS OFF) SELECT * FROM ml_t, LATERAL (SELECT count(*) FROM ml_u WHERE a = id) x;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT * FROM ml_t, LATERAL (SELECT count(*) FROM ml_u WHERE a = k) x;
SET enable_memoize = on;
SELECT k, count(*), sum(c) FROM ml_t, LATERAL (SELECT count(*) AS c FROM ml_u WHERE a = k) x GROUP BY k ORDER BY k;
SELECT count(*), count(b), sum(b) FROM ml_t LEFT JOIN LATERAL (SELECT b FROM ml_u WHERE a < k ORDER BY b DESC LIMIT 2) x ON true;
SELECT count(*), count(b), sum(b) FROM ml_t LEFT JOIN LATERAL (SELECT b FROM ml_u WHERE a < k ORDER BY b DESC LIMIT 2) x ON b > 995;
SELECT count(*), sum(g) FROM ml_t, LATERAL generate_series(1, k) g;
-- Equal numbers that are written in different ways are told apart.
EXPLAIN (COSTS OFF) SELECT * FROM ml_t, LATERAL (SELECT ml_t.n + min(b) AS m FROM ml_u WHERE ml_u.n < 2) x;
SELECT m, count(*) FROM ml_t, LATERAL (SELECT (ml_t.n * min(b))::text AS m FROM ml_u WHERE ml_u.n < 2) x GROUP BY m ORDER BY m;
SELECT x.m, count(*) FROM ml_t, LATERAL (SELECT ml_t.t || count(*) AS m FROM ml_u WHERE ml_u.t >= ml_t.t) x GROUP BY x.m ORDER BY x.m;
-- Nothing is kept of what is not read to its end.
SELECT count(*) FROM ml_t WHERE EXISTS (SELECT FROM (SELECT b FROM ml_u WHERE a = k LIMIT 3) x WHERE x.b > id);
-- What else the item reads makes all that is kept stale.
SELECT o.a, (SELECT sum(c) FROM ml_t, LATERAL (SELECT count(*) AS c FROM ml_u WHERE ml_u.a = k AND ml_u.b < o.b) x) FROM ml_u o WHERE o.b % 100 = 0 ORDER BY 1, 2;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT count(*), sum(b), sum(length(y)) FROM ml_t, LATERAL (SELECT b, repeat('x', 400) AS y FROM ml_u WHERE a < k OFFSET 0) x;
RESET work_mem;
RESET hash_mem_multiplier;
DROP TABLE ml_t, ml_u;
