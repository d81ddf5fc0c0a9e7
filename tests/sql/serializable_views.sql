-- Sessions: what pg_locks shows of SERIALIZABLE, and who waits for a safe snapshot.
-- Alone: pg_locks shows every database's locks, and safe snapshots wait for all.
S: CREATE TABLE t (id integer PRIMARY KEY, v integer);
S: CREATE TABLE u (id integer);
S: INSERT INTO t VALUES (1, 10), (2, 20);

-- A scan of the table, and a look-up in an index, of a row and of none
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SELECT count(*) FROM u;
S: SELECT locktype, relation::regclass, page, tuple, mode, granted, fastpath FROM pg_locks WHERE mode = 'SIReadLock' ORDER BY locktype, relation::regclass::text;
A: SET enable_seqscan = off;
A: SET enable_bitmapscan = off;
A: SELECT * FROM t WHERE id = 2;
S: SELECT locktype, relation::regclass, virtualtransaction IS NOT NULL AND pid IS NOT NULL OR pid IS NOT NULL AS held FROM pg_locks WHERE mode = 'SIReadLock' ORDER BY locktype, relation::regclass::text;

-- They outlive the transaction while another is left that ran beside it
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: UPDATE t SET v = 11 WHERE id = 1;
A: COMMIT;
S: SELECT count(*) > 0 FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'u'::regclass;
B: COMMIT;
S: SELECT count(*) FROM pg_locks WHERE mode = 'SIReadLock';

-- Who waits for a safe snapshot waits for no lock
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: UPDATE t SET v = 12 WHERE id = 1;
B: BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE;
B: SELECT v FROM t ORDER BY id;
S: SELECT b.wait_event_type, b.wait_event, cardinality(pg_safe_snapshot_blocking_pids(b.pid)) AS safe, cardinality(pg_blocking_pids(b.pid)) AS locks FROM pg_stat_activity AS b WHERE b.wait_event = 'SafeSnapshot';
S: SELECT a.query FROM pg_stat_activity AS b, pg_stat_activity AS a WHERE b.wait_event = 'SafeSnapshot' AND a.pid = ANY (pg_safe_snapshot_blocking_pids(b.pid));
A: COMMIT;
B: COMMIT;
S: SELECT pg_safe_snapshot_blocking_pids(pg_backend_pid()), pg_safe_snapshot_blocking_pids(0);

-- Prepared transactions, by the function below the view
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SELECT count(*) FROM u;
A: UPDATE t SET v = 13 WHERE id = 1;
A: PREPARE TRANSACTION 'x';
S: SELECT gid, ownerid::regrole, transaction IS NOT NULL AS has_xid FROM pg_prepared_xact() AS p JOIN pg_database AS d ON d.oid = dbid;
S: SELECT pid IS NULL AS nobody FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'u'::regclass;
A: ROLLBACK PREPARED 'x';

-- The threads that work for all
S: SELECT backend_type, datname, usename, state, query FROM pg_stat_activity WHERE backend_type IN ('checkpointer', 'background writer', 'walwriter') ORDER BY 1;
