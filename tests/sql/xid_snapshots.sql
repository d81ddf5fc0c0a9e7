-- Transactions by their numbers: pg_snapshot, txid_snapshot, how a transaction has ended, ages.
-- Alone: all databases count the same transactions.
-- PostgreSQL 15 differs: pg_input_is_valid is new in 16
SELECT '12:13:'::pg_snapshot, '12:18:14,16'::pg_snapshot, '12:16:14,14'::pg_snapshot, '1:5:2,'::txid_snapshot;
SELECT '31:12:'::pg_snapshot;
SELECT '0:1:'::pg_snapshot;
SELECT '12:13:0'::pg_snapshot;
SELECT '12:16:14,13'::pg_snapshot;
SELECT '12:13:a'::txid_snapshot;
SELECT '12:13'::pg_snapshot;
SELECT pg_input_is_valid('12:13:', 'pg_snapshot'), pg_input_is_valid('31:12:', 'pg_snapshot');
SELECT * FROM pg_input_error_info('31:12:', 'pg_snapshot');
CREATE TABLE snapshots (nr integer PRIMARY KEY, snap pg_snapshot, old txid_snapshot);
INSERT INTO snapshots VALUES (1, '12:13:', '12:13:'), (2, '12:20:13,15,18', '12:20:13,15,18'), (3, '100:150:101,102,110,129', NULL);
SELECT nr, pg_snapshot_xmin(snap), pg_snapshot_xmax(snap), txid_snapshot_xmin(old), txid_snapshot_xmax(old) FROM snapshots ORDER BY nr;
SELECT nr, pg_snapshot_xip(snap) FROM snapshots ORDER BY nr, 2::text;
SELECT txid_snapshot_xip(old), pg_typeof(txid_snapshot_xip(old)) FROM snapshots WHERE nr = 2;
SELECT id, pg_visible_in_snapshot(id::text::xid8, snap), txid_visible_in_snapshot(id, old) FROM snapshots, generate_series(11, 21) AS id WHERE nr = 2 ORDER BY id;
SELECT snap::text, old::text, pg_typeof(snap), snap::text::pg_snapshot FROM snapshots WHERE nr = 2;

-- The one in force
SELECT pg_typeof(pg_current_snapshot()), pg_typeof(txid_current_snapshot()), pg_current_snapshot()::text ~ '^\d+:\d+:(\d+(,\d+)*)?$' AS shape;
SELECT pg_snapshot_xmin(pg_current_snapshot()) <= pg_snapshot_xmax(pg_current_snapshot()) AS ordered;
BEGIN;
SELECT pg_current_xact_id_if_assigned(), txid_current_if_assigned();
SELECT pg_current_xact_id() AS own \gset
SELECT pg_current_xact_id_if_assigned() = :'own'::xid8 AS same, txid_current() = :own AS old;
SELECT pg_xact_status(:'own'::xid8), txid_status(:own);
SELECT pg_visible_in_snapshot(:'own'::xid8, pg_current_snapshot());
SELECT age(:'own'::xid), age('2'::xid), age('1'::xid);
COMMIT;
SELECT pg_xact_status(:'own'::xid8), txid_status(:own);
SELECT pg_visible_in_snapshot(:'own'::xid8, pg_current_snapshot());
SELECT age(:'own'::xid) >= 1 AS older;
BEGIN;
SELECT pg_current_xact_id() AS own \gset
ROLLBACK;
SELECT pg_xact_status(:'own'::xid8), txid_status(:own);
-- What PostgreSQL takes for committed since ever, and what is none
SELECT pg_xact_status('1'), pg_xact_status('2'), pg_xact_status('0');
SELECT pg_xact_status('9223372036854775807');
SELECT txid_status(-1);

-- REPEATABLE READ has one
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_current_snapshot() AS before \gset
SELECT pg_current_snapshot()::text = :'before' AS same;
COMMIT;

SELECT pg_xact_commit_timestamp('3');
SELECT pg_last_committed_xact();
SELECT pg_xact_commit_timestamp_origin('3');
SELECT mxid_age('0');

-- Snapshots for others to take
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT pg_export_snapshot() ~ '^[0-9A-F]{8}-[0-9A-F]{8}-1$' AS first;
SELECT pg_export_snapshot() ~ '-2$' AS second;
COMMIT;
SELECT pg_export_snapshot() ~ '-1$' AS first;
BEGIN; SAVEPOINT s; SELECT pg_export_snapshot(); ROLLBACK;
BEGIN; SELECT pg_export_snapshot() IS NOT NULL; PREPARE TRANSACTION 'x';
BEGIN; SET TRANSACTION SNAPSHOT 'x'; ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT 'x'; ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '00000003-0000001B-1'; ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SET TRANSACTION SNAPSHOT '00000003-0000001B-1'; ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ; SAVEPOINT s; SET TRANSACTION SNAPSHOT '00000003-0000001B-1'; ROLLBACK;
SET TRANSACTION SNAPSHOT '00000003-0000001B-1';
