-- What was read from tables and written to them: pg_stat_all_tables, pg_stat_all_indexes, pg_stat_database.
-- PostgreSQL 15 differs: the views have more columns in 16 and 18

\d pg_stat_user_tables
\d pg_stat_user_indexes
\d pg_stat_database
\d pg_statio_user_tables
SELECT pg_stat_force_next_flush();
SELECT xact_commit AS commits, xact_rollback AS rollbacks, tup_inserted AS inserted, tup_updated AS updated,
       tup_deleted AS deleted, sessions FROM pg_stat_database WHERE datname = current_database() \gset
CREATE TABLE visited (a int PRIMARY KEY, b int, c text);
CREATE INDEX visited_b ON visited (b);
INSERT INTO visited SELECT i, i % 10, 'x' FROM generate_series(1, 100) AS i;
UPDATE visited SET c = 'y' WHERE a = 7;
UPDATE visited SET b = -1 WHERE a = 8;
UPDATE visited SET b = b, c = 'z' WHERE a <= 3;
DELETE FROM visited WHERE a = 9;
DELETE FROM visited WHERE a > 95;
BEGIN;
INSERT INTO visited VALUES (1000, 1, 'rolled back');
ROLLBACK;
SELECT pg_stat_force_next_flush();
SELECT n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd BETWEEN 1 AND 4 AS hot, n_tup_newpage_upd,
       last_vacuum, last_analyze, vacuum_count, analyze_count, autovacuum_count
FROM pg_stat_user_tables WHERE relname = 'visited';

-- Scans.
SELECT pg_stat_reset_single_table_counters('visited'::regclass),
       pg_stat_reset_single_table_counters('visited_pkey'::regclass),
       pg_stat_reset_single_table_counters('visited_b'::regclass);
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM visited WHERE c = 'x';
SELECT count(*) FROM visited WHERE a > 0;
RESET enable_indexscan;
SET enable_seqscan = off;
SELECT c FROM visited WHERE a = 7;
SELECT c FROM visited WHERE a = 700;
SELECT sum(length(c)) FROM visited WHERE b = 3;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT pg_stat_force_next_flush();
SELECT seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del,
       last_seq_scan <= now() AS seq, last_idx_scan <= now() AS idx
FROM pg_stat_user_tables WHERE relname = 'visited';
SELECT indexrelname, idx_scan, idx_tup_read, idx_tup_fetch, last_idx_scan <= now() AS last
FROM pg_stat_user_indexes WHERE relname = 'visited' ORDER BY 1;

-- VACUUM and ANALYZE.
ANALYZE visited;
VACUUM visited;
SELECT n_live_tup, n_dead_tup, n_mod_since_analyze, last_analyze <= clock_timestamp() AS analyzed, analyze_count,
       last_vacuum >= last_analyze AS vacuumed, vacuum_count, total_vacuum_time >= 0 AS took
FROM pg_stat_user_tables WHERE relname = 'visited';
INSERT INTO visited VALUES (101, 1, 'w'), (102, 2, 'w');
DELETE FROM visited WHERE a = 101;
SELECT pg_stat_force_next_flush();
SELECT n_live_tup, n_mod_since_analyze, n_ins_since_vacuum, n_tup_ins, n_tup_del FROM pg_stat_user_tables WHERE relname = 'visited';

-- Leaves count, not what they are leaves of.
CREATE TABLE leafed (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE leafed_1 PARTITION OF leafed FOR VALUES FROM (0) TO (10);
CREATE TABLE leafed_2 PARTITION OF leafed FOR VALUES FROM (10) TO (20);
INSERT INTO leafed SELECT i, 'x' FROM generate_series(0, 14) AS i;
UPDATE leafed SET a = 15 WHERE a = 5;
SELECT count(*) FROM leafed WHERE a >= 10;
SELECT pg_stat_force_next_flush();
SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE relname LIKE 'leafed%' ORDER BY 1;

-- The database.
SELECT pg_stat_force_next_flush();
SELECT xact_commit - :commits >= 20 AS commits, xact_rollback - :rollbacks >= 1 AS rollbacks,
       tup_inserted - :inserted >= 100 AS inserted, tup_updated - :updated >= 5 AS updated,
       tup_deleted - :deleted >= 6 AS deleted, sessions >= :sessions AS sessions, conflicts, numbackends >= 1 AS backends,
       blks_hit > 0 AS hit, session_time > 0 AS time, active_time > 0 AS active, deadlocks >= 0 AS deadlocks
FROM pg_stat_database WHERE datname = current_database();
DROP TABLE visited, leafed;
SELECT count(*) FROM pg_stat_user_tables WHERE relname = 'visited';
SELECT pg_stat_reset();
SELECT xact_commit < 100 AS few, stats_reset > now() - interval '1 minute' AS lately
FROM pg_stat_database WHERE datname = current_database();

-- ANALYZE and VACUUM come to what inherits from a table, unless it says ONLY; and a partitioned table is analysed itself.
CREATE TABLE ancestor (n int);
CREATE TABLE heir () INHERITS (ancestor);
CREATE TABLE late_heir () INHERITS (heir);
CREATE TABLE ancestor_parts (n int) PARTITION BY LIST (n);
CREATE TABLE ancestor_part PARTITION OF ancestor_parts FOR VALUES IN (1, 2);
INSERT INTO late_heir VALUES (1), (2);
INSERT INTO ancestor_parts VALUES (1), (2);
ANALYZE ONLY ancestor;
ANALYZE ONLY ancestor_parts;
SELECT relname, analyze_count, vacuum_count FROM pg_stat_user_tables WHERE relname ~ 'heir|ancestor' ORDER BY 1;
SELECT relname, reltuples FROM pg_class WHERE relname ~ 'heir|ancestor' ORDER BY 1;
VACUUM ONLY ancestor;
VACUUM ONLY ancestor_parts;
SELECT relname, analyze_count, vacuum_count FROM pg_stat_user_tables WHERE relname ~ 'heir|ancestor' ORDER BY 1;
ANALYZE ancestor, ancestor_parts;
VACUUM ancestor, ancestor_parts;
SELECT relname, analyze_count, vacuum_count, last_analyze IS NULL AS never FROM pg_stat_user_tables WHERE relname ~ 'heir|ancestor' ORDER BY 1;
SELECT relname, reltuples FROM pg_class WHERE relname ~ 'heir|ancestor' ORDER BY 1;
CREATE INDEX ancestor_index ON ancestor_parts (n);
SELECT relname, reltuples, relpages FROM pg_class WHERE relname = 'ancestor_index';
DROP TABLE ancestor, ancestor_parts CASCADE;
