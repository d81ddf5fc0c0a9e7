-- pg_stat_get_numscans and its kin: the counts of one relation, as the views have them; sizes of the files that
-- PostgreSQL has of a relation; views of what is not there.
-- PostgreSQL 15 differs: pg_stat_get_lastscan is new in 16, pg_stat_get_total_vacuum_time in 18
CREATE TABLE counted (a integer PRIMARY KEY, b integer);
INSERT INTO counted SELECT g, g FROM generate_series(1, 100) AS g;
UPDATE counted SET b = 0 WHERE a <= 10;
DELETE FROM counted WHERE a > 95;
SELECT count(*) FROM counted;
SET enable_seqscan = off;
SELECT b FROM counted WHERE a = 50;
RESET enable_seqscan;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_get_tuples_inserted(c) AS ins, pg_stat_get_tuples_updated(c) AS upd, pg_stat_get_tuples_deleted(c) AS del, pg_stat_get_live_tuples(c) AS live, pg_stat_get_mod_since_analyze(c) AS mod, pg_stat_get_ins_since_vacuum(c) AS since_vacuum, pg_stat_get_tuples_newpage_updated(c) AS moved FROM (SELECT 'counted'::regclass AS c) AS q;
SELECT pg_stat_get_numscans(relid) = seq_scan AS scans, pg_stat_get_tuples_returned(relid) = seq_tup_read AS returned, pg_stat_get_lastscan(relid) = last_seq_scan AS last FROM pg_stat_user_tables WHERE relname = 'counted';
SELECT pg_stat_get_numscans(indexrelid) = idx_scan AS scans, pg_stat_get_tuples_returned(indexrelid) = idx_tup_read AS returned, pg_stat_get_lastscan(indexrelid) = last_idx_scan AS last FROM pg_stat_user_indexes WHERE relname = 'counted';
VACUUM counted;
ANALYZE counted;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_get_vacuum_count(relid) AS vacuum, pg_stat_get_analyze_count(relid) AS analyze, pg_stat_get_last_vacuum_time(relid) = last_vacuum AS vacuumed, pg_stat_get_last_analyze_time(relid) = last_analyze AS analyzed, pg_stat_get_total_vacuum_time(relid) = total_vacuum_time AS took, pg_stat_get_total_analyze_time(relid) >= 0 AS too, pg_stat_get_live_tuples(relid) AS live, pg_stat_get_mod_since_analyze(relid) AS mod FROM pg_stat_user_tables WHERE relname = 'counted';
SELECT pg_stat_get_autovacuum_count(c), pg_stat_get_autoanalyze_count(c), pg_stat_get_last_autovacuum_time(c), pg_stat_get_last_autoanalyze_time(c), pg_stat_get_total_autovacuum_time(c), pg_stat_get_total_autoanalyze_time(c) FROM (SELECT 'counted'::regclass AS c) AS q;
SELECT pg_stat_get_numscans(0), pg_stat_get_tuples_returned(0), pg_stat_get_live_tuples(0), pg_stat_get_dead_tuples(0), pg_stat_get_lastscan(0), pg_stat_get_last_vacuum_time(0), pg_stat_get_vacuum_count(0), pg_stat_get_total_analyze_time(0);

SELECT pg_relation_size('counted', 'main') = pg_relation_size('counted') AS main, pg_relation_size('counted', 'fsm') < pg_relation_size('counted') * 10 AS fsm, pg_relation_size('counted', 'init') AS init;
SELECT pg_relation_size('counted', 'rows');

SELECT ssl, version, cipher, bits FROM pg_stat_ssl WHERE pid = pg_backend_pid();
SELECT gss_authenticated, principal, encrypted, credentials_delegated FROM pg_stat_gssapi WHERE pid = pg_backend_pid();
SELECT datname = current_database() AS here, confl_lock, confl_snapshot, confl_active_logicalslot FROM pg_stat_database_conflicts WHERE datname = current_database();
CREATE SEQUENCE numbers;
SELECT relname, blks_read FROM pg_statio_user_sequences;
SELECT count(*) FROM pg_ident_file_mappings;
