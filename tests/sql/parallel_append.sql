-- Parallel Append: partitions, tables that inherit and UNION ALL that several threads read. Shapes
-- where they are PostgreSQL 18's.
-- Views that PostgreSQL reads back as others, too: 4
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;

CREATE TABLE t (id int, k int, n numeric, s text) PARTITION BY RANGE (id);
CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (6000);
CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (6000) TO (12000);
-- Its columns stand in another order.
CREATE TABLE t3 (s text, n numeric, gone int, k int, id int);
ALTER TABLE t3 DROP COLUMN gone;
ALTER TABLE t ATTACH PARTITION t3 FOR VALUES FROM (12000) TO (18000);
CREATE TABLE t4 PARTITION OF t FOR VALUES FROM (18000) TO (24000) PARTITION BY LIST (k);
CREATE TABLE t4a PARTITION OF t4 FOR VALUES IN (0, 1, 2);
CREATE TABLE t4b PARTITION OF t4 DEFAULT;
CREATE TABLE t5 PARTITION OF t FOR VALUES FROM (24000) TO (30000);
INSERT INTO t SELECT i, i % 7, i * 1.25, 'row ' || i % 100 FROM generate_series(0, 23999) i;
CREATE TABLE h (id int, k int) PARTITION BY HASH (id);
CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE h2 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO h SELECT i, i % 7 FROM generate_series(0, 9999) i;
CREATE TABLE q (id int, v int);
INSERT INTO q SELECT i % 30000, i % 13 FROM generate_series(1, 20000) i;
CREATE TABLE base (id int, v int);
CREATE TABLE child (more int) INHERITS (base);
INSERT INTO base SELECT i, i % 5 FROM generate_series(1, 3000) i;
INSERT INTO child SELECT i, i % 5, i FROM generate_series(3001, 9000) i;
VACUUM ANALYZE t, h, q, base, child;

-- Partitions.
EXPLAIN (COSTS OFF) SELECT count(*), sum(k) FROM h WHERE k < 5;
SELECT count(*), sum(k) FROM h WHERE k < 5;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE id < 3000;
SELECT count(*), sum(n), min(s), max(id) FROM t;
SELECT count(*), sum(n), min(s), max(id) FROM t WHERE id < 3000;
SELECT count(*), sum(n), min(s), max(id) FROM t WHERE id BETWEEN 5000 AND 19000 AND k = 3;
SELECT count(*), sum(id) FROM t WHERE id > 25000;
SELECT count(*), sum(id) FROM t WHERE id < 0;
SELECT k, count(*), sum(n), max(s) FROM t GROUP BY k ORDER BY k;
SELECT tableoid::regclass, count(*) FROM t GROUP BY 1 ORDER BY 1;
SELECT id, s FROM t WHERE k = 2 ORDER BY n DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM h WHERE k = 2 ORDER BY id DESC LIMIT 3;
SELECT id FROM h WHERE k = 2 ORDER BY id DESC LIMIT 3;
SELECT DISTINCT ON (k) k, id, s FROM t ORDER BY k, id DESC;
PREPARE below (int) AS SELECT count(*), sum(n) FROM t WHERE id < $1;
EXECUTE below (100);
EXECUTE below (13000);
EXECUTE below (0);
SET plan_cache_mode = force_generic_plan;
EXECUTE below (100);
EXECUTE below (13000);
EXECUTE below (0);
RESET plan_cache_mode;
DEALLOCATE below;

-- Joins.
SELECT count(*), sum(n), sum(v) FROM t JOIN q USING (id);
SELECT k, count(v), sum(v) FROM t LEFT JOIN q ON q.id = t.id AND v < 3 GROUP BY k ORDER BY k;
SELECT count(*), sum(n) FROM t WHERE EXISTS (SELECT 1 FROM q WHERE q.id = t.id AND v = 4);
SELECT count(*), sum(n) FROM t WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.id = t.id AND v = 4);
SELECT count(*), sum(n) FROM t JOIN h USING (id);
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT count(*), sum(h.k) FROM h JOIN h g USING (id);
SELECT k, count(*) FROM h GROUP BY k ORDER BY k;
SELECT id, count(*) FROM h GROUP BY id ORDER BY id LIMIT 2;
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;

-- Tables that inherit.
EXPLAIN (COSTS OFF) SELECT count(*) FROM base WHERE v < 3;
SELECT count(*), sum(id), sum(v) FROM base WHERE v < 3;
SELECT v, count(*) FROM base GROUP BY v ORDER BY v;
SELECT tableoid::regclass, count(*) FROM base GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM ONLY base;

-- UNION ALL.
EXPLAIN (COSTS OFF) SELECT id FROM base WHERE v = 1 UNION ALL SELECT id FROM q WHERE v = 1;
SELECT count(*), sum(id), sum(v) FROM (SELECT id, v FROM q UNION ALL SELECT id, v FROM base) x;
SELECT v, count(*) FROM (SELECT id, v FROM q UNION ALL SELECT id + 1, v FROM base WHERE id % 2 = 0) x GROUP BY v ORDER BY v;
SELECT count(*) FROM (SELECT v FROM q UNION SELECT v FROM base) x;
SELECT v FROM q UNION SELECT v FROM base ORDER BY 1 LIMIT 3;
SELECT id, v FROM q WHERE id < 4 UNION ALL SELECT id, k FROM h WHERE id < 4 UNION ALL SELECT max(id), 1 FROM base ORDER BY 1, 2;
SELECT count(*), sum(x.id) FROM (SELECT id FROM q UNION ALL SELECT id FROM h) x JOIN base USING (id);
(SELECT id FROM q ORDER BY id LIMIT 1) UNION ALL SELECT count(*) FROM h ORDER BY 1;
SELECT count(*) FROM (SELECT id FROM q UNION ALL SELECT generate_series(1, 10)) x;

-- Errors, rows a few at a time, what the transaction itself has done.
-- Which process fails differs from run to run: a worker of PostgreSQL adds a line of context.
\set SHOW_CONTEXT never
SELECT count(1 / (id - 13000)) FROM t;
SELECT count(*) FROM (SELECT id FROM q UNION ALL SELECT 1 / (id - 8000) FROM base) x WHERE x.id >= 0;
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM t;
FETCH 1 FROM c;
CLOSE c;
INSERT INTO t VALUES (25000, 1, 1, 'mine');
DELETE FROM t WHERE id < 100;
SELECT count(*), sum(n), min(s), max(id) FROM t;
ROLLBACK;
SELECT count(*), sum(n), min(s), max(id) FROM t;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*), sum(n) FROM t;
COMMIT;
ALTER TABLE t DETACH PARTITION t2;
SELECT count(*), sum(n) FROM t;
SET parallel_leader_participation = off;
SELECT count(*), sum(n) FROM t;
SET max_parallel_workers = 0;
SELECT count(*), sum(n) FROM t;
RESET max_parallel_workers;
RESET parallel_leader_participation;
SET enable_parallel_append = off;
SELECT count(*), sum(n) FROM t;

DROP TABLE t, t2, h, q, base, child;
