-- Gather Merge: rows that several threads sort, of which the leader keeps the order. Shapes where
-- they are PostgreSQL 18's.
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
INSERT INTO q SELECT i, i % 20000 + 1, nullif(i % 13, 5) FROM generate_series(1, 40000) i;
VACUUM ANALYZE p;
VACUUM ANALYZE q;

-- ORDER BY.
EXPLAIN (COSTS OFF) SELECT id, t FROM p ORDER BY t, id;
SELECT count(*), sum(id * rank) FROM (SELECT id, row_number() OVER () AS rank FROM (SELECT id, t FROM p ORDER BY t, id OFFSET 0) x) y;
SELECT id, t FROM p ORDER BY t, id OFFSET 19990;
EXPLAIN (COSTS OFF) SELECT id, t FROM p WHERE k = 3 ORDER BY n DESC LIMIT 3;
SELECT id, t FROM p WHERE k = 3 ORDER BY n DESC LIMIT 3;
SELECT id, t FROM p WHERE k = 3 ORDER BY t DESC, id LIMIT 3 OFFSET 2;
SELECT id, v FROM q ORDER BY v NULLS FIRST, id DESC LIMIT 3;
SELECT id, v FROM q ORDER BY v DESC NULLS LAST, id DESC LIMIT 3;
SELECT id, v FROM q WHERE id > 39900 ORDER BY v, id OFFSET 90;
SELECT id FROM p WHERE n < 0 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id + k AS s FROM p ORDER BY id + k, t LIMIT 2;
SELECT id + k AS s FROM p ORDER BY id + k, t LIMIT 2;
SELECT id, k FROM p ORDER BY k, id FETCH FIRST 1 ROW WITH TIES;
SELECT count(*) FROM (SELECT k FROM p ORDER BY k FETCH FIRST 1 ROW WITH TIES) x;
SET enable_gathermerge = off;
EXPLAIN (COSTS OFF) SELECT id, t FROM p ORDER BY t, id;
RESET enable_gathermerge;

-- A join below.
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT p.id, q.v FROM p JOIN q ON q.p = p.id WHERE p.k = 2 ORDER BY p.n, q.v LIMIT 4;
SELECT p.id, q.v FROM p JOIN q ON q.p = p.id WHERE p.k = 2 ORDER BY p.n, q.v LIMIT 4;
SELECT p.id, q.v FROM p LEFT JOIN q ON q.p = p.id AND q.v = 1 ORDER BY q.v, p.id LIMIT 4;
RESET enable_mergejoin;

-- Groups.
EXPLAIN (COSTS OFF) SELECT k, count(*), sum(n) FROM p GROUP BY k ORDER BY k;
SELECT k, count(*), sum(n), avg(id), min(t), max(d) FROM p GROUP BY k ORDER BY k;
EXPLAIN (COSTS OFF) SELECT v, count(*) FROM q GROUP BY v ORDER BY v DESC;
SELECT v, count(*) FROM q GROUP BY v ORDER BY v DESC;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT k, t, count(*) FROM p GROUP BY k, t ORDER BY k, t LIMIT 3;
SELECT k, t, count(*) FROM p GROUP BY k, t ORDER BY k, t LIMIT 3;
EXPLAIN (COSTS OFF) SELECT v, avg(id) FROM q GROUP BY v;
SELECT v, avg(id), count(v) FROM q GROUP BY v ORDER BY v;
SELECT k % 3 AS m, sum(n) FROM p GROUP BY k % 3 HAVING count(*) > 2000 ORDER BY m;
RESET enable_hashagg;
SELECT v, count(DISTINCT p) FROM q GROUP BY v ORDER BY v;
SELECT k, string_agg(t, ',' ORDER BY t, id) = string_agg(t, ',' ORDER BY id) FROM p WHERE id < 50 GROUP BY k ORDER BY k;

-- DISTINCT, windows.
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) k, id FROM p ORDER BY k, id DESC;
SELECT DISTINCT ON (k) k, id FROM p ORDER BY k, id DESC;
SELECT DISTINCT k, v FROM p JOIN q ON q.p = p.id WHERE v < 2 ORDER BY k, v LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id, rank() OVER (PARTITION BY k ORDER BY n) FROM p;
SELECT * FROM (SELECT k, id, rank() OVER (PARTITION BY k ORDER BY n DESC) AS r FROM p) x WHERE r < 3 ORDER BY k, r;

-- Sorts that memory does not hold.
SET work_mem = '64kB';
SELECT count(*), sum(id * rank) FROM (SELECT id, row_number() OVER () AS rank FROM (SELECT id, t FROM p ORDER BY t, id OFFSET 0) x) y;
RESET work_mem;

-- Sub-selects, parameters, errors.
SELECT id FROM p WHERE n > (SELECT avg(n) FROM p) ORDER BY n, id LIMIT 2;
SELECT k, (SELECT max(v) FROM q WHERE q.p = p.id) FROM p ORDER BY n LIMIT 3;
SELECT x.id, y.v FROM (SELECT id FROM p ORDER BY n LIMIT 5) x JOIN q y ON y.p = x.id ORDER BY 1, 2 LIMIT 4;
(SELECT id FROM p ORDER BY n DESC LIMIT 2) UNION ALL (SELECT id FROM q ORDER BY v, id LIMIT 2);
PREPARE first_of (int, int) AS SELECT id FROM p WHERE k = $1 ORDER BY n LIMIT $2;
EXECUTE first_of (1, 2);
EXECUTE first_of (6, 1);
EXECUTE first_of (6, 0);
EXECUTE first_of (8, 10);
DEALLOCATE first_of;
SET debug_parallel_query = regress;
SELECT id FROM p ORDER BY 1 / (id - 15000), id;
SELECT k, sum(1 / (id - 15000)) FROM p GROUP BY k ORDER BY k;
SELECT id FROM p ORDER BY n LIMIT -1;
SET statement_timeout = '300ms';
SELECT a.id FROM p a, p b, p c WHERE a.id + b.id + c.id < 0 ORDER BY a.n;
RESET statement_timeout;
RESET debug_parallel_query;
SELECT id FROM p ORDER BY n LIMIT 1;

-- Rows a few at a time.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM p ORDER BY t, id;
FETCH 2 FROM c;
FETCH 2 FROM c;
CLOSE c;
INSERT INTO p VALUES (0, 0, 0, 'mine', '2020-01-01');
SELECT id, t FROM p ORDER BY n LIMIT 2;
ROLLBACK;
SELECT id, t FROM p ORDER BY n LIMIT 2;
SET parallel_leader_participation = off;
SELECT id, t FROM p ORDER BY n DESC LIMIT 2;
SELECT k, count(*) FROM p GROUP BY k ORDER BY k LIMIT 2;
SET max_parallel_workers = 0;
SELECT id, t FROM p ORDER BY n DESC LIMIT 2;
RESET max_parallel_workers;
RESET parallel_leader_participation;

DROP TABLE p, q;
