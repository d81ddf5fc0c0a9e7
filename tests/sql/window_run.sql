-- Windows that need not go on: conditions on functions that only grow, LIMIT above, outputs that nothing reads.
CREATE TABLE t (id int PRIMARY KEY, k int, v int);
INSERT INTO t SELECT i, i * 7 % 10, i * 31 % 50 FROM generate_series(1, 3000) AS i;
CREATE INDEX t_k ON t (k, id);
CREATE TABLE u AS SELECT i AS id FROM generate_series(1, 10) AS i;
ANALYZE t;
ANALYZE u;
-- PostgreSQL 15 differs: it does not name the window
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM t) AS s WHERE n <= 2;
-- PostgreSQL 15 differs: it does not name the window
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM t) AS s WHERE n = 3;
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM t) AS s WHERE n <= 2;
SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM t) AS s WHERE n < 3;
SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM t) AS s WHERE 2 = n AND id > 4;
SELECT * FROM (SELECT id, k, rank() OVER (ORDER BY k) AS n FROM t) AS s WHERE n > 2701 ORDER BY id LIMIT 3;
SELECT count(*), max(n) FROM (SELECT rank() OVER (PARTITION BY v ORDER BY k) AS n FROM t) AS s WHERE n <= 13;
SELECT count(*), max(n) FROM (SELECT dense_rank() OVER (PARTITION BY k ORDER BY v) AS n FROM t) AS s WHERE 4 > n;
SELECT count(*), max(n) FROM (SELECT ntile(7) OVER (ORDER BY id) AS n FROM t) AS s WHERE n <= 3;
SELECT count(*), max(n) FROM (SELECT percent_rank() OVER (ORDER BY k) AS n FROM t) AS s WHERE n <= 0.3;
SELECT count(*), max(n) FROM (SELECT cume_dist() OVER (PARTITION BY v ORDER BY k) AS n FROM t) AS s WHERE n = 0.4;
-- Counts grow, fall or stay with their frame.
SELECT count(*), max(n) FROM (SELECT count(*) OVER (ORDER BY k) AS n FROM t) AS s WHERE n <= 900;
SELECT count(*), min(n) FROM (SELECT count(v) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS n FROM t) AS s
    WHERE n > 2990;
SELECT count(*), min(n) FROM (SELECT count(*) OVER (PARTITION BY k) AS n FROM t WHERE id < 25) AS s WHERE n >= 3;
SELECT count(*), min(n) FROM (SELECT count(*) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM t) AS s WHERE n > 1;
SELECT count(*), min(n) FROM (SELECT count(*) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) AS n FROM t) AS s
    WHERE n < 4;
-- Not where more is done with the rows: other windows above, DISTINCT ON, LIMIT.
SELECT count(*), max(c), max(n) FROM (SELECT count(*) OVER (PARTITION BY v) AS c, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM t) AS s
    WHERE n <= 2;
SELECT * FROM (SELECT DISTINCT ON (k) k, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM t ORDER BY k, id DESC) AS s
    WHERE n > 299 AND k < 2;
SELECT count(*) FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM t ORDER BY id OFFSET 10 LIMIT 20) AS s WHERE n <= 12;
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM t) AS s WHERE n <= NULL::int;
PREPARE first(int) AS SELECT * FROM (SELECT k, max(id), rank() OVER (ORDER BY k) AS n FROM t GROUP BY k) AS s WHERE n <= $1;
EXECUTE first(2);
EXECUTE first(0);
-- For each outer row again.
SELECT u.id, s.* FROM u, LATERAL (SELECT t.id AS t, row_number() OVER (ORDER BY t.id) AS n FROM t WHERE t.id > u.id * 10) AS s
    WHERE n <= 2 AND u.id < 4 ORDER BY 1, 3;
-- Rows that LIMIT does not reach are not read, nor what nothing looks at computed.
SELECT id, row_number() OVER (ORDER BY id), sum(v) OVER (ORDER BY id) FROM t LIMIT 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT id, rank() OVER (ORDER BY v) FROM t) AS s;
SELECT sum(id) FROM (SELECT id, 1 / (rank() OVER (ORDER BY v) - 1) FROM t) AS s;
