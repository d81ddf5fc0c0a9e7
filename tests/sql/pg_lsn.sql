-- Positions in the log: their type, and the functions of xlogfuncs.c.
-- PostgreSQL 15 differs: pg_split_walfile_name is new in 16

SELECT '0/0'::pg_lsn, 'FFFFFFFF/FFFFFFFF'::pg_lsn, '00abCDef/12'::pg_lsn, pg_lsn '1/2';
SELECT ' 1/2'::pg_lsn;
SELECT '1/2 '::pg_lsn;
SELECT '000000001/2'::pg_lsn;
SELECT '0/G'::pg_lsn;
SELECT '12'::pg_lsn;
SELECT ''::pg_lsn;
SELECT '0x1/2'::pg_lsn;

-- Arithmetic.
SELECT '0/16AE7F7'::pg_lsn - '0/16AE7F8'::pg_lsn AS bytes, '1/0'::pg_lsn - 16::numeric AS earlier,
       16 + '0/1'::pg_lsn AS later, pg_typeof('1/0'::pg_lsn - '0/0'::pg_lsn) AS type;
SELECT '0/1'::pg_lsn + 1.5 AS a, '0/1'::pg_lsn + 2.5 AS b, '0/1'::pg_lsn + 0.4 AS c, '0/1'::pg_lsn + -1 AS d;
SELECT '0/1'::pg_lsn - 16::numeric;
SELECT 'FFFFFFFF/FFFFFFFF'::pg_lsn + 1::numeric;
SELECT '0/1'::pg_lsn + 'NaN'::numeric;
SELECT '0/1'::pg_lsn - 'NaN'::numeric;
SELECT '0/1'::pg_lsn + 'infinity'::numeric;
SELECT '0/1'::pg_lsn - '-infinity'::numeric;
SELECT pg_lsn(23783416), pg_lsn(18446744073709551615.4);
SELECT pg_lsn(-1);
SELECT pg_lsn('NaN'::numeric);
SELECT pg_lsn(18446744073709551615.5);
SELECT 23783416::numeric::pg_lsn;
SELECT pg_wal_lsn_diff('0/16AE7F8', '0/16AE7F7'), pg_wal_lsn_diff('0/0', 'FFFFFFFF/FFFFFFFF');

-- Order.
SELECT a::pg_lsn < b::pg_lsn AS lt, a::pg_lsn <= b::pg_lsn AS le, a::pg_lsn = b::pg_lsn AS eq,
       a::pg_lsn <> b::pg_lsn AS ne, a::pg_lsn >= b::pg_lsn AS ge, a::pg_lsn > b::pg_lsn AS gt
FROM (VALUES ('0/16AE7F7', '0/16AE7F8'), ('1/0', '0/FFFFFFFF'), ('A/1', 'a/01')) AS v (a, b);
SELECT min(p), max(p), count(DISTINCT p) FROM unnest(ARRAY['1/0', '0/FFFFFFFF', '1/00', NULL]::pg_lsn[]) AS p;
SELECT pg_lsn_cmp('0/1', '0/2'), pg_lsn_hash('1/2'), pg_lsn_hash_extended('1/2', 7);
CREATE TABLE positions (at pg_lsn PRIMARY KEY, seen pg_lsn[]);
INSERT INTO positions SELECT pg_lsn(i * 3000000000), ARRAY['0/0', pg_lsn(i)] FROM generate_series(1, 4) AS i;
SELECT * FROM positions ORDER BY at DESC;
SELECT at, at::text, pg_typeof(at) FROM positions WHERE at > '1/0' AND at < '2/80000000';
EXPLAIN (COSTS OFF) SELECT * FROM positions WHERE at = '1/0';
INSERT INTO positions VALUES ('0/B2D05E00');
DROP TABLE positions;

-- The log itself.
SELECT pg_walfile_name('1/2000028'), pg_walfile_name('0/0'), pg_walfile_name('1/2000000');
SELECT * FROM pg_walfile_name_offset('1/2000028');
SELECT (pg_walfile_name_offset('0/FFFFFF')).file_offset;
SELECT * FROM pg_split_walfile_name('000000010000000100000002');
SELECT * FROM pg_split_walfile_name('0000000a00000001000000ff');
SELECT * FROM pg_split_walfile_name('xx');
CREATE TABLE logged (n int);
SELECT pg_current_wal_insert_lsn() AS before \gset
INSERT INTO logged VALUES (1);
SELECT pg_current_wal_insert_lsn() > :'before' AS written,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'before') BETWEEN 1 AND 100000 AS a_little,
       pg_current_wal_flush_lsn() <= pg_current_wal_lsn() AS flushed,
       pg_current_wal_lsn() <= pg_current_wal_insert_lsn() AS inserted;
DROP TABLE logged;
SELECT pg_last_wal_replay_lsn(), pg_is_in_recovery();
SELECT CASE WHEN pg_is_in_recovery() THEN now() - pg_last_xact_replay_timestamp() END AS lag;
SELECT pg_is_wal_replay_paused();
SELECT pg_get_wal_replay_pause_state();
SELECT pg_wal_replay_pause();
SELECT pg_wal_replay_resume();
SELECT pg_promote();

-- The control file.
SELECT checkpoint_lsn >= redo_lsn AS checkpoint, redo_wal_file = pg_walfile_name(redo_lsn) AS file,
       timeline_id, checkpoint_time <= now() AS past
FROM pg_control_checkpoint();
SELECT system_identifier <> 0 AS identified, pg_control_last_modified <= now() AS past FROM pg_control_system();
SELECT max_data_alignment, database_block_size, bytes_per_wal_segment, max_identifier_length, max_index_columns,
       float8_pass_by_value FROM pg_control_init();
SELECT * FROM pg_control_recovery();
