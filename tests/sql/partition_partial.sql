-- Views that PostgreSQL reads back as others, too: 6
-- Aggregates that are made leaf by leaf of states, and put together.
-- PostgreSQL 15 differs: intervals are not infinite there, and it makes no part of any_value, string_agg and array_agg
CREATE TABLE t (k integer, g integer, n numeric, f float8, i interval, s text, b bytea, o boolean, arr integer[]) PARTITION BY RANGE (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (10);
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (10) TO (20);
CREATE TABLE t_3 PARTITION OF t FOR VALUES FROM (20) TO (30);
INSERT INTO t SELECT x, x % 3, x * 1.5, x * x * 0.25, make_interval(0, x % 5, 0, x, 0, x * 7, x * 0.5), 'v' || x, ('\x0' || (x % 10))::bytea, x % 2 = 0, ARRAY[x, x + 1] FROM generate_series(0, 29) AS x;
INSERT INTO t VALUES (5, 7), (15, 7), (25, 8);
INSERT INTO t VALUES (1, 9, 1, 1, 'infinity', 'only', '\xff', true, ARRAY[NULL, 1]), (11, 9, NULL, NULL, '1 day', NULL, NULL, NULL, ARRAY[2, 3]);
ANALYZE t;
SET enable_partitionwise_aggregate = on;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT sum(i), avg(i) FROM t;
SELECT sum(i), avg(i) FROM t WHERE g < 9;
SELECT sum(i), avg(i) FROM t;
SELECT g, sum(i), avg(i), count(i) FROM t GROUP BY g ORDER BY g;
EXPLAIN (COSTS OFF) SELECT string_agg(s, ','), string_agg(b, '\x2c'), array_agg(k) FROM t;
SELECT string_agg(s, ','), string_agg(b, '\x2c'), array_agg(k) FROM t;
SELECT string_agg(s, NULL), string_agg(s, k::text), array_agg(s) FROM t WHERE k BETWEEN 8 AND 12;
SELECT array_agg(arr) FROM t WHERE k BETWEEN 8 AND 12 AND arr IS NOT NULL;
SELECT array_agg(arr) FROM t WHERE k > 40;
SELECT array_agg(arr) FROM t;
SELECT array_agg(arr[1:k % 2 + 1]) FROM t WHERE arr IS NOT NULL;
SELECT array_agg(i) FROM t WHERE k IN (9, 10);
EXPLAIN (COSTS OFF) SELECT corr(f, k), regr_count(f, k), covar_pop(f, n::float8) FROM t;
SELECT regr_count(f, k), regr_avgx(f, k), regr_avgy(f, k) FROM t;
SELECT corr(f, k)::numeric(20, 10), covar_pop(f, k)::numeric(20, 8), covar_samp(f, k)::numeric(20, 8), regr_sxx(f, k)::numeric(20, 8), regr_syy(f, k)::numeric(20, 6), regr_sxy(f, k)::numeric(20, 6) FROM t;
SELECT regr_r2(f, k)::numeric(20, 10), regr_slope(f, k)::numeric(20, 10), regr_intercept(f, k)::numeric(20, 8) FROM t;
SELECT g, regr_count(f, k), corr(f, k)::numeric(20, 10), regr_slope(f, k)::numeric(20, 10) FROM t GROUP BY g ORDER BY g;
SELECT corr(f, k), regr_count(f, k), regr_avgx(f, k) FROM t WHERE k > 40;
EXPLAIN (COSTS OFF) SELECT stddev(n), var_pop(k), bit_and(k), bit_xor(k), bool_or(o), every(o), any_value(1) FROM t;
SELECT stddev(n)::numeric(20, 10), var_pop(k), bit_and(k), bit_xor(k), bool_or(o), every(o), any_value(1) FROM t;
-- Not in parts: in an order, and of different values.
SELECT string_agg(s, ',' ORDER BY k DESC), array_agg(DISTINCT g) FROM t;
SELECT count(*) FILTER (WHERE o), string_agg(s, '+') FILTER (WHERE k % 9 = 0), array_agg(k) FILTER (WHERE k > 27) FROM t;
