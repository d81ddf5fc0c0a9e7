-- What TRUNCATE leaves of a table's statistics: those of its columns, but not its size, and what was
-- counted of its changes since ANALYZE goes on being counted.
CREATE TABLE t (a int PRIMARY KEY, b text);
INSERT INTO t SELECT g, 'x' || g % 3 FROM generate_series(1, 1000) g;
ANALYZE t;
SELECT reltuples, relpages > 0 AS pages FROM pg_class WHERE relname = 't';
SELECT attname, n_distinct, null_frac FROM pg_stats WHERE tablename = 't' ORDER BY attname;
BEGIN;
TRUNCATE t;
SELECT reltuples, relpages FROM pg_class WHERE relname = 't';
ROLLBACK;
SELECT reltuples, relpages > 0 AS pages FROM pg_class WHERE relname = 't';
TRUNCATE t;
SELECT reltuples, relpages FROM pg_class WHERE relname = 't';
SELECT attname, n_distinct, null_frac FROM pg_stats WHERE tablename = 't' ORDER BY attname;
SELECT count(*) FROM t WHERE a < 10 AND b = 'x1';
INSERT INTO t SELECT g, 'x' || g % 3 FROM generate_series(1, 10) g;
SELECT reltuples, relpages FROM pg_class WHERE relname = 't';
SELECT count(*) FROM t WHERE a < 10 AND b = 'x1';
VACUUM t;
SELECT reltuples, relpages > 0 AS pages FROM pg_class WHERE relname = 't';
TRUNCATE t;
ANALYZE t;
SELECT reltuples, relpages FROM pg_class WHERE relname = 't';
-- Partitions, and a table that was never analyzed.
CREATE TABLE p (a int) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);
INSERT INTO p SELECT g % 20 FROM generate_series(1, 200) g;
ANALYZE p1;
TRUNCATE p;
SELECT relname, reltuples, relpages FROM pg_class WHERE relname IN ('p1', 'p2') ORDER BY 1;
-- ANALYZE in the transaction that has changed rows: they are changes since then once it commits.
CREATE TABLE own (a int);
BEGIN;
INSERT INTO own SELECT generate_series(1, 70);
ANALYZE own;
COMMIT;
SELECT pg_sleep(1.5);
SELECT n_live_tup, n_mod_since_analyze FROM pg_stat_user_tables WHERE relname = 'own';
