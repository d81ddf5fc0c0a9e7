-- n_live_tup and n_mod_since_analyze: what lasts of what was done, through rollbacks, TRUNCATE and
-- tables that are written anew.
CREATE VIEW counted AS SELECT relname, n_live_tup, n_mod_since_analyze FROM pg_stat_user_tables;
CREATE TABLE t (a int PRIMARY KEY, b int);
INSERT INTO t SELECT g, g FROM generate_series(1, 100) g;
BEGIN; INSERT INTO t SELECT g, g FROM generate_series(101, 150) g; ROLLBACK;
BEGIN; DELETE FROM t WHERE a <= 10; ROLLBACK;
BEGIN; UPDATE t SET b = b + 1 WHERE a <= 10; UPDATE t SET a = -a WHERE a = 50; ROLLBACK;
SELECT pg_stat_force_next_flush();
TABLE counted;

-- Savepoints.
BEGIN;
SAVEPOINT s;
DELETE FROM t WHERE a <= 10;
ROLLBACK TO s;
INSERT INTO t VALUES (200, 1);
COMMIT;
SELECT pg_stat_force_next_flush();
TABLE counted;

-- A TRUNCATE that is rolled back, one that is not, one that a savepoint takes back.
BEGIN; TRUNCATE t; INSERT INTO t SELECT g, g FROM generate_series(1, 5) g; ROLLBACK;
SELECT pg_stat_force_next_flush();
TABLE counted;
TRUNCATE t;
SELECT pg_stat_force_next_flush();
TABLE counted;
INSERT INTO t SELECT g, g FROM generate_series(1, 7) g;
BEGIN; TRUNCATE t; INSERT INTO t VALUES (1, 1), (2, 2); COMMIT;
SELECT pg_stat_force_next_flush();
TABLE counted;
BEGIN;
INSERT INTO t VALUES (11, 1), (12, 2);
SAVEPOINT s;
TRUNCATE t;
INSERT INTO t VALUES (1, 1);
ROLLBACK TO s;
COMMIT;
SELECT pg_stat_force_next_flush();
TABLE counted;

-- Prepared transactions.
BEGIN; INSERT INTO t VALUES (21, 1), (22, 2); PREPARE TRANSACTION 'rows_not';
ROLLBACK PREPARED 'rows_not';
BEGIN; DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (31, 1); PREPARE TRANSACTION 'rows';
COMMIT PREPARED 'rows';
SELECT pg_stat_force_next_flush();
TABLE counted;

-- Statements that fail, rows in the way.
INSERT INTO t SELECT 1000 + g, 1 FROM generate_series(1, 10) g UNION ALL SELECT 31, 1;
UPDATE t SET a = 31 WHERE a = 2;
INSERT INTO t VALUES (31, 1) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (31, 1), (600, 1) ON CONFLICT (a) DO UPDATE SET b = excluded.b + 1;
SELECT pg_stat_force_next_flush();
TABLE counted;

-- ANALYZE and VACUUM count.
ANALYZE t;
SELECT pg_stat_force_next_flush();
TABLE counted;
INSERT INTO t VALUES (700, 1);
DELETE FROM t WHERE a = 600;
VACUUM t;
SELECT pg_stat_force_next_flush();
TABLE counted;

-- Tables that are written anew, rolled back or not.
ALTER TABLE t ALTER b TYPE bigint;
BEGIN;
INSERT INTO t SELECT g, 1 FROM generate_series(300, 309) g;
ALTER TABLE t ADD c float DEFAULT random();
INSERT INTO t SELECT g, 1 FROM generate_series(310, 319) g;
ROLLBACK;
SELECT pg_stat_force_next_flush();
TABLE counted;
BEGIN; ALTER TABLE t ADD c float DEFAULT random(); INSERT INTO t VALUES (400, 1); COMMIT;
SELECT pg_stat_force_next_flush();
TABLE counted;

-- Partitions: a row that moves.
CREATE TABLE p (a int) PARTITION BY LIST (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
INSERT INTO p SELECT 1 FROM generate_series(1, 10);
BEGIN; UPDATE p SET a = 2; ROLLBACK;
UPDATE p SET a = 2 WHERE ctid = (SELECT ctid FROM p LIMIT 1);
SELECT pg_stat_force_next_flush();
SELECT * FROM counted WHERE relname LIKE 'p%' ORDER BY 1;
SELECT count(*) FROM t;
DROP VIEW counted;
DROP TABLE t, p;
