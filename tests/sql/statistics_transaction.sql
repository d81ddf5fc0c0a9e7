-- What the session's own transaction has done to tables so far: pg_stat_xact_all_tables and its kin.
-- PostgreSQL 15 differs: n_tup_newpage_upd is of 16

\d pg_stat_xact_all_tables
\d pg_stat_xact_user_tables
\d pg_stat_xact_sys_tables
CREATE TABLE met (a int PRIMARY KEY, b text);
CREATE TABLE bare (a int);
CREATE TABLE parts (a int) PARTITION BY RANGE (a);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (100) TO (200);
INSERT INTO met SELECT i, 'x' FROM generate_series(1, 50) AS i;
ANALYZE met;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT pg_stat_force_next_flush();

-- Nothing yet: every table is there.
BEGIN;
SELECT relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd, n_tup_newpage_upd
FROM pg_stat_xact_user_tables WHERE schemaname = 'public' ORDER BY relname;
INSERT INTO met VALUES (51, 'y'), (52, 'y');
UPDATE met SET b = 'z' WHERE a = 7;
UPDATE met SET a = 100 WHERE a = 8;
DELETE FROM met WHERE a = 9;
INSERT INTO bare VALUES (1), (2), (3);
SELECT count(*) FROM bare;
INSERT INTO parts SELECT i * 40 FROM generate_series(0, 4) AS i;
SELECT relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd, n_tup_newpage_upd
FROM pg_stat_xact_user_tables WHERE schemaname = 'public' ORDER BY relname;

-- What a savepoint takes back was done.
SAVEPOINT s;
INSERT INTO bare VALUES (4);
ROLLBACK TO s;
SELECT 1 / 0;
ROLLBACK TO s;
SELECT n_tup_ins FROM pg_stat_xact_all_tables WHERE relname = 'bare';
SELECT count(*) FROM pg_stat_xact_sys_tables WHERE relname = 'bare';
SELECT (SELECT count(*) FROM pg_stat_xact_all_tables) = (SELECT count(*) FROM pg_stat_all_tables) AS are_all;
COMMIT AND CHAIN;

-- The next transaction begins at 0, one that follows at once too.
SELECT pg_stat_force_next_flush();
COMMIT;
BEGIN;
INSERT INTO bare VALUES (5);
SELECT sum(n_tup_ins) AS ins, sum(n_tup_upd) AS upd, sum(n_tup_del) AS del FROM pg_stat_xact_user_tables WHERE schemaname = 'public';
ROLLBACK;
SELECT pg_stat_force_next_flush();
SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_xact_user_tables WHERE schemaname = 'public' ORDER BY relname;
SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE schemaname = 'public' ORDER BY relname;

-- Statements sent as one text are one transaction.
INSERT INTO bare VALUES (6) \; UPDATE bare SET a = 7 WHERE a = 6 \; SELECT n_tup_ins, n_tup_upd FROM pg_stat_xact_user_tables WHERE relname = 'bare';
SELECT pg_stat_force_next_flush();

-- A cursor counts as it is read.
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM bare ORDER BY a;
FETCH ALL FROM c;
CLOSE c;
SELECT seq_scan, seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'bare';
INSERT INTO bare VALUES (8);
UPDATE bare SET a = a + 1;
SELECT pg_stat_get_xact_numscans(c) AS scans, pg_stat_get_xact_tuples_returned(c) AS returned,
  pg_stat_get_xact_tuples_fetched(c) AS fetched, pg_stat_get_xact_tuples_inserted(c) AS inserted,
  pg_stat_get_xact_tuples_updated(c) AS updated, pg_stat_get_xact_tuples_hot_updated(c) AS hot,
  pg_stat_get_xact_tuples_newpage_updated(c) AS newpage, pg_stat_get_xact_tuples_deleted(c) AS deleted
FROM (SELECT 'bare'::regclass::oid AS c) AS of;
SELECT pg_stat_get_xact_tuples_inserted(0);
COMMIT;
SELECT 'bare'::regclass::oid AS gone \gset
SELECT pg_stat_force_next_flush();
SELECT pg_stat_get_tuples_inserted(:gone) > 0 AS counted;
DROP TABLE met, bare, parts;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_get_tuples_inserted(:gone), pg_stat_get_live_tuples(:gone), pg_stat_get_numscans(:gone);
