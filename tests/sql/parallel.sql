-- Plans that several threads run: answers, errors, and what is not run so. Shapes where they are
-- PostgreSQL 18's.
-- PostgreSQL 15 differs: debug_parallel_query has another name there
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;

CREATE TABLE p (id int PRIMARY KEY, k int, n numeric, t text, d date);
INSERT INTO p SELECT i, i % 7, i * 1.25, 'row ' || i % 100, '2020-01-01'::date + i % 365
  FROM generate_series(1, 20000) i;
CREATE TABLE q (id int PRIMARY KEY, p int, v int);
INSERT INTO q SELECT i, i % 20000 + 1, i % 13 FROM generate_series(1, 40000) i;
VACUUM ANALYZE p;
VACUUM ANALYZE q;

-- One group.
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM p WHERE k < 5;
SELECT count(*), sum(id), sum(n), avg(n), min(t), max(d), min(id), avg(id) FROM p WHERE k < 5;
SELECT count(*), sum(id), max(t) FROM p WHERE k > 100;
SELECT bool_and(k < 7), bool_or(k = 8), stddev(id), variance(k), count(DISTINCT k) FROM p;
SELECT round(avg(k::float8)::numeric, 6), round(corr(k, id)::numeric, 4) FROM p;
SELECT length(string_agg(t, ',')), array_length(array_agg(id), 1) FROM p WHERE k = 3;
SELECT count(*) FILTER (WHERE k = 1), sum(id) FILTER (WHERE k = 2) FROM p;

-- Groups.
SELECT k, count(*), sum(n), avg(id), min(t), max(d) FROM p WHERE id > 10 GROUP BY k ORDER BY k;
SELECT k, count(*) FROM p GROUP BY k HAVING count(*) > 2857 ORDER BY k;
SELECT t, count(*) AS c FROM p GROUP BY t ORDER BY c DESC, t LIMIT 3;
SELECT k, t, count(*) FROM p WHERE id < 300 GROUP BY GROUPING SETS ((k), ()) , t ORDER BY 3 DESC, 1, 2 LIMIT 3;
SELECT d, sum(n) FROM p GROUP BY d ORDER BY d LIMIT 2;

-- Groups that each thread joins with its rows.
ALTER TABLE q SET (parallel_workers = 0);
SELECT count(*), sum(p.id), sum(g.v) FROM p
  JOIN (SELECT p AS pid, sum(v) AS v FROM q GROUP BY p HAVING sum(v) > 15) g ON g.pid = p.id;
SELECT count(*), sum(id) FROM p WHERE id IN (SELECT p FROM q GROUP BY p HAVING sum(v) > 15);
ALTER TABLE q RESET (parallel_workers);

-- Rows.
EXPLAIN (COSTS OFF) SELECT id FROM p WHERE n = 12.5;
SELECT id FROM p WHERE n = 12.5;
SELECT id, t FROM p WHERE k = 3 AND id % 1000 = 3 ORDER BY id;
SELECT id FROM p WHERE id % 5000 = 0 ORDER BY id LIMIT 2 OFFSET 1;
SELECT count(*) FROM (SELECT id FROM p ORDER BY n OFFSET 19990) x;

-- Joins.
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(v) FROM p JOIN q ON q.p = p.id WHERE p.k = 2;
EXPLAIN (COSTS OFF) SELECT count(*) FROM p LEFT JOIN q ON q.p = p.id AND q.v = 1;
-- More rows than are expected, and than memory holds.
SET work_mem = '64kB';
SELECT count(*), sum(v), sum(n), max(t) FROM q JOIN p ON q.p = p.id WHERE p.k % 7 = p.k;
RESET work_mem;
RESET enable_mergejoin;
SELECT count(*), sum(v), sum(n) FROM p JOIN q ON q.p = p.id WHERE p.k = 2;
SELECT p.k, count(*), sum(v) FROM q JOIN p ON q.p = p.id WHERE v < 10 GROUP BY p.k ORDER BY p.k;
SELECT count(*), count(q.id) FROM p LEFT JOIN q ON q.p = p.id AND q.v = 1;
SELECT count(*), sum(id) FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.p = p.id AND v = 4);
SELECT count(*), sum(id) FROM p WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.p = p.id AND v = 4);
SELECT count(*) FROM p FULL JOIN q ON q.p = p.id AND q.v = 1;
SELECT count(*), sum(x.c) FROM p JOIN (SELECT p, count(*) AS c FROM q GROUP BY p) x ON x.p = p.id;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_indexscan = on;
SELECT count(*), sum(p.n) FROM q JOIN p ON q.p = p.id WHERE v = 3;
SELECT count(*), sum(p.n) FROM q JOIN p ON q.p = p.id AND p.k > 3 WHERE v = 3;
SET enable_indexscan = off;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- Sub-selects, WITH, unions, windows above and beside.
SELECT count(*) FROM p WHERE n > (SELECT avg(n) FROM p);
SELECT k, (SELECT count(*) FROM q WHERE q.v = p.k) FROM p WHERE id < 4 ORDER BY id;
WITH w AS MATERIALIZED (SELECT k, sum(id) AS s FROM p GROUP BY k) SELECT count(*), sum(s) FROM w JOIN p USING (k);
SELECT count(*) FROM p UNION ALL SELECT sum(v) FROM q ORDER BY 1;
SELECT k, sum(c) OVER (ORDER BY k) FROM (SELECT k, count(*) AS c FROM p GROUP BY k) x ORDER BY k LIMIT 3;
SELECT DISTINCT k FROM p ORDER BY k;
SELECT count(*) FROM p a, (SELECT k FROM p WHERE id < 3) b WHERE a.k = b.k;
PREPARE by_k (int) AS SELECT count(*), sum(n) FROM p WHERE k = $1;
EXECUTE by_k (1);
EXECUTE by_k (6);
DEALLOCATE by_k;

-- Errors of whoever meets them. (PostgreSQL says now and then that it was a worker, but so.)
SET debug_parallel_query = regress;
SELECT count(*), sum(v) FROM q JOIN p ON q.p = p.id AND 100 / (p.id - 777) > 0 WHERE p.k < 3;
SELECT sum(1 / (id - 15000)) FROM p;
SELECT k, sum(1 / (id - 15000)) FROM p GROUP BY k;
SELECT id FROM p WHERE 1 / (id - 19999) = 1;
SELECT count(*) FROM p JOIN q ON q.p = p.id WHERE 10 / (v - 5) > 100;
SET statement_timeout = '300ms';
SELECT count(*) FROM p a, p b, p c WHERE a.id + b.id + c.id < 0;
RESET statement_timeout;
RESET debug_parallel_query;
SELECT count(*) FROM p;

-- Cursors and rows a few at a time.
BEGIN;
DECLARE c CURSOR FOR SELECT k, count(*) FROM p GROUP BY k ORDER BY k;
FETCH 2 FROM c;
FETCH ALL FROM c;
CLOSE c;
-- What the transaction itself has done.
INSERT INTO p VALUES (0, 0, 0, 'mine', '2020-01-01');
DELETE FROM p WHERE id > 19990;
SELECT count(*), min(id), max(id) FROM p;
ROLLBACK;
SELECT count(*), min(id), max(id) FROM p;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*), sum(id) FROM p;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*), sum(id) FROM p;
COMMIT;

-- What only the session's own process may do.
CREATE SEQUENCE s;
SELECT count(*) FROM p WHERE id < 100 AND nextval('s') > 0;
SELECT last_value FROM s;
CREATE TEMPORARY TABLE tmp AS SELECT * FROM p;
EXPLAIN (COSTS OFF) SELECT count(*) FROM tmp;
SELECT count(*), sum(n) FROM tmp;
SELECT count(*) FROM p WHERE random() >= 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM p WHERE random() >= 0;
INSERT INTO q SELECT 50000 + k, k, count(*) FROM p GROUP BY k;
SELECT count(*), sum(v) FROM q WHERE id >= 50000;
SELECT id FROM p WHERE n = 12.5 FOR UPDATE;
EXPLAIN (COSTS OFF) SELECT id FROM p WHERE n = 12.5 FOR UPDATE;

-- Settings.
SET parallel_leader_participation = off;
SELECT count(*), sum(id) FROM p WHERE k < 5;
SET max_parallel_workers = 0;
SELECT count(*), sum(id) FROM p WHERE k < 5;
RESET max_parallel_workers;
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM p;
SET max_parallel_workers_per_gather = 4;
ALTER TABLE p SET (parallel_workers = 3);
EXPLAIN (COSTS OFF) SELECT count(*) FROM p;
SELECT count(*), sum(id) FROM p;
ALTER TABLE p SET (parallel_workers = 0);
EXPLAIN (COSTS OFF) SELECT count(*) FROM p;
RESET min_parallel_table_scan_size;
ALTER TABLE p RESET (parallel_workers);
EXPLAIN (COSTS OFF) SELECT count(*) FROM p;

DROP TABLE p, q, tmp;
DROP SEQUENCE s;
