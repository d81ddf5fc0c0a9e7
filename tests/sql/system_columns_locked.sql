-- Sessions: system columns beside other transactions
-- Alone: the transactions of every database are in pg_locks
S: CREATE TABLE t (id integer PRIMARY KEY, v integer);
S: INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);

-- xmax: who is about to change the row, as long as that lasts
A: BEGIN;
A: UPDATE t SET v = 10 WHERE id = 1;
A: DELETE FROM t WHERE id = 2;
B: SELECT t.id, t.xmax <> '0' AS is_held, t.xmax::text = l.transactionid::text AS by_a FROM t LEFT JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.pid <> pg_backend_pid() ORDER BY id;
A: COMMIT;
B: SELECT id, xmax FROM t WHERE id <> 1 ORDER BY id;
A: BEGIN;
A: SELECT id FROM t WHERE id = 3 FOR UPDATE;
B: SELECT t.id, t.xmax <> '0' AS is_held, t.xmax::text = l.transactionid::text AS by_a FROM t LEFT JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.pid <> pg_backend_pid() WHERE id = 3;
A: COMMIT;

-- A token that waits: the row has another xmin by then
S: CREATE TABLE token AS SELECT id, xmin::text AS x, ctid AS c FROM t;
A: BEGIN;
A: UPDATE t SET v = v WHERE id = 3;
B: UPDATE t SET v = -1 WHERE id = 3 AND xmin::text = (SELECT x FROM token WHERE id = 3) RETURNING v;
A: COMMIT;
S: SELECT id, v FROM t ORDER BY id;

-- … or the same, if nobody has changed it after all
S: TRUNCATE token;
S: INSERT INTO token SELECT id, xmin::text, ctid FROM t;
A: BEGIN;
A: UPDATE t SET v = v WHERE id = 3;
B: UPDATE t SET v = -2 WHERE id = 3 AND xmin::text = (SELECT x FROM token WHERE id = 3) RETURNING v;
A: ROLLBACK;
S: SELECT id, v FROM t ORDER BY id;

-- What RETURNING has after a wait is the new version's
A: BEGIN;
A: UPDATE t SET v = v + 1 WHERE id = 3;
B: UPDATE t SET v = v + 1 WHERE id = 3 RETURNING v, xmin = pg_current_xact_id()::xid AS own;
A: COMMIT;
A: BEGIN;
A: UPDATE t SET v = v + 1 WHERE id = 3;
B: DELETE FROM t WHERE id = 3 AND xmin IS NOT NULL RETURNING v, xmax = pg_current_xact_id()::xid AS own;
A: COMMIT;

-- REPEATABLE READ: the version of the snapshot, and who has written over it
S: INSERT INTO t VALUES (4, 4);
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT xmax FROM t WHERE id = 4;
B: UPDATE t SET v = 5 WHERE id = 4;
A: SELECT v, xmin::text::bigint < xmax::text::bigint AS written_over FROM t WHERE id = 4;
A: COMMIT;
