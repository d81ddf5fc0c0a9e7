-- What the whole server has done: pg_stat_wal, pg_stat_io, pg_stat_checkpointer and their kin.
-- PostgreSQL 15 differs: pg_stat_io is new in 16, pg_stat_checkpointer in 17

\d pg_stat_wal
\d pg_stat_io
\d pg_stat_bgwriter
\d pg_stat_checkpointer
\d pg_stat_archiver
SELECT pg_stat_reset_shared('nothing');
SELECT pg_stat_reset_shared('wal');
SELECT stats_reset > now() - interval '1 minute' AS lately, wal_records BETWEEN 0 AND 1000 AS few FROM pg_stat_wal;
CREATE TABLE written (n int PRIMARY KEY, t text);
SELECT wal_records AS records, wal_bytes AS bytes FROM pg_stat_wal \gset
INSERT INTO written SELECT i, repeat('x', 100) FROM generate_series(1, 1000) AS i;
SELECT pg_stat_force_next_flush();
SELECT wal_records > :records AS records, wal_bytes - :bytes > 100000 AS bytes, wal_fpi >= 0 AS fpi FROM pg_stat_wal;

SELECT num_requested AS requested, num_done AS done FROM pg_stat_checkpointer \gset
CHECKPOINT;
SELECT pg_stat_force_next_flush();
SELECT num_requested > :requested AS requested, num_done > :done AS done, write_time >= 0 AS write,
       sync_time >= 0 AS sync, buffers_written > 0 AS written
FROM pg_stat_checkpointer;
SELECT writes > 0 AS writes, write_bytes >= writes * 8192 AS bytes, reads, hits
FROM pg_stat_io WHERE backend_type = 'checkpointer' AND object = 'relation' AND context = 'normal';
SELECT hits > 0 AS hits, evictions >= 0 AS evictions, reuses, writebacks IS NOT NULL AS writebacks
FROM pg_stat_io WHERE backend_type = 'client backend' AND object = 'relation' AND context = 'normal';
SELECT reads, extends, hits, writes >= 0 AS writes, fsyncs >= 0 AS fsyncs
FROM pg_stat_io WHERE backend_type = 'walwriter' AND object = 'wal' AND context = 'normal';
SELECT DISTINCT backend_type FROM pg_stat_io
WHERE backend_type IN ('client backend', 'checkpointer', 'background writer', 'walwriter', 'startup') ORDER BY 1;
SELECT pg_stat_reset_shared('checkpointer'), pg_stat_reset_shared('io'), pg_stat_reset_shared('bgwriter');
SELECT num_timed, num_requested, num_done, buffers_written, stats_reset <= clock_timestamp() AS past FROM pg_stat_checkpointer;
SELECT max(stats_reset) - min(stats_reset) = interval '0' AS together FROM pg_stat_io;
SELECT buffers_clean, maxwritten_clean FROM pg_stat_bgwriter;
SELECT pg_stat_reset_shared();
SELECT bool_and(stats_reset > now() - interval '1 minute') AS all_of_them
FROM (SELECT stats_reset FROM pg_stat_wal UNION ALL SELECT stats_reset FROM pg_stat_io WHERE stats_reset IS NOT NULL
      UNION ALL SELECT stats_reset FROM pg_stat_archiver UNION ALL SELECT stats_reset FROM pg_stat_checkpointer) AS v;
DROP TABLE written;

-- The caches of PostgreSQL's, which are reset one by one or all together.
SELECT name, stats_reset <= clock_timestamp() AS past FROM pg_stat_slru;
SELECT count(*) FROM pg_stat_get_slru();
SELECT stats_reset AS subtransaction FROM pg_stat_slru WHERE name = 'subtransaction' \gset
SELECT stats_reset AS notify FROM pg_stat_slru WHERE name = 'notify' \gset
SELECT stats_reset AS other FROM pg_stat_slru WHERE name = 'other' \gset
SELECT pg_stat_reset_slru('notify');
SELECT name, CASE name WHEN 'notify' THEN stats_reset > :'notify' ELSE stats_reset = :'other' END AS right
FROM pg_stat_slru WHERE name IN ('notify', 'other');
SELECT pg_stat_reset_slru('Notify');
SELECT name, stats_reset > :'other' AS since FROM pg_stat_slru WHERE name = 'other';
SELECT stats_reset = :'subtransaction' AS still FROM pg_stat_slru WHERE name = 'subtransaction';
SELECT pg_stat_reset_slru();
SELECT max(stats_reset) - min(stats_reset) = interval '0' AS together, min(stats_reset) > :'other' AS since FROM pg_stat_slru;
SELECT pg_stat_reset_shared('slru');
SELECT max(stats_reset) - min(stats_reset) = interval '0' AS together FROM pg_stat_slru;
SELECT sum(blks_zeroed) >= 0 AS counted, sum(flushes) >= 0 AS flushed FROM pg_stat_slru;

-- Statements have a number where somebody wants it: the same whatever their constants are.
SET pg_stat_statements.track = none;
SELECT query_id FROM pg_stat_activity WHERE pid = pg_backend_pid();
SET compute_query_id = on;
SELECT query_id AS id FROM pg_stat_activity WHERE pid = pg_backend_pid() AND 1 = 1 \gset one_
SELECT query_id AS id FROM pg_stat_activity WHERE pid = pg_backend_pid() AND 2 = 2 \gset two_
SELECT query_id AS id FROM pg_stat_activity WHERE pid = pg_backend_pid() AND 2 <> 3 \gset other_
SELECT :one_id = :two_id AS same, :one_id = :other_id AS mistaken, :one_id = 0 AS none;
SELECT query_id IS NULL AS missing FROM pg_stat_activity WHERE pid = pg_backend_pid();
SET compute_query_id = off;
SELECT query_id FROM pg_stat_activity WHERE pid = pg_backend_pid();
RESET pg_stat_statements.track;
SELECT query_id FROM pg_stat_activity WHERE pid = pg_backend_pid();
EXPLAIN (VERBOSE, COSTS OFF) SELECT 1;
SHOW compute_query_id;
