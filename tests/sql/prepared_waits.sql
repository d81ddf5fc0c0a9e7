-- Sessions: a prepared transaction keeps its locks; who waits for it waits until somebody ends it.
-- Alone: pg_prepared_xacts shows every database's.
S: CREATE TABLE t (id integer PRIMARY KEY, v integer);
S: INSERT INTO t VALUES (1, 10), (2, 20);

-- a row that it has changed, and the end of its unique key
A: BEGIN;
A: UPDATE t SET v = 11 WHERE id = 1;
A: INSERT INTO t VALUES (3, 30);
A: PREPARE TRANSACTION 'x';
A: SELECT * FROM t ORDER BY id;
B: UPDATE t SET v = 12 WHERE id = 1;
C: INSERT INTO t VALUES (3, 31);
S: SELECT gid FROM pg_prepared_xacts;
A: COMMIT PREPARED 'x';
S: SELECT * FROM t ORDER BY id;

-- whoever waited before it was prepared goes on waiting
A: BEGIN;
A: UPDATE t SET v = v + 100 WHERE id = 2;
B: UPDATE t SET v = v + 1 WHERE id = 2;
A: PREPARE TRANSACTION 'x';
A: SELECT * FROM t ORDER BY id;
S: ROLLBACK PREPARED 'x';
S: SELECT * FROM t ORDER BY id;

-- locks on rows and relations, and those who do not wait
A: BEGIN;
A: SELECT * FROM t WHERE id = 1 FOR UPDATE;
A: SELECT pg_advisory_xact_lock(42);
A: PREPARE TRANSACTION 'x';
S: SELECT id FROM t WHERE id = 1 FOR SHARE NOWAIT;
S: SELECT id FROM t ORDER BY id FOR SHARE SKIP LOCKED;
S: SELECT pg_try_advisory_xact_lock(42);
B: ALTER TABLE t ADD COLUMN w integer;
C: SELECT pg_advisory_xact_lock(42);
S: SELECT locktype, mode, granted FROM pg_locks WHERE pid IS NULL AND locktype IN ('advisory', 'relation', 'transactionid') AND (relation IS NULL OR relation = 't'::regclass) ORDER BY locktype, mode;
A: ROLLBACK PREPARED 'x';
S: SELECT * FROM t ORDER BY id;

-- a table that is dropped by a prepared transaction is there until that commits
A: BEGIN;
A: DROP TABLE t;
A: PREPARE TRANSACTION 'x';
B: SELECT * FROM t;
A: COMMIT PREPARED 'x';

-- write skew, half of which is prepared
S: CREATE TABLE doctors (name text PRIMARY KEY, on_call boolean);
S: INSERT INTO doctors VALUES ('alice', true), ('bob', true);
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SELECT count(*) FROM doctors WHERE on_call;
B: SELECT count(*) FROM doctors WHERE on_call;
A: UPDATE doctors SET on_call = false WHERE name = 'alice';
A: PREPARE TRANSACTION 'x';
B: UPDATE doctors SET on_call = false WHERE name = 'bob';
B: COMMIT;
A: COMMIT PREPARED 'x';
S: SELECT * FROM doctors ORDER BY name;

-- a session-level lock that was waited for is the session's, not the transaction's
A: SELECT pg_advisory_lock(1);
B: BEGIN;
B: SELECT pg_advisory_lock(1), pg_advisory_lock(2);
A: SELECT pg_advisory_unlock(1);
B: PREPARE TRANSACTION 'x';
A: SELECT pg_try_advisory_lock(1), pg_try_advisory_lock(2);
B: SELECT pg_advisory_unlock(1), pg_advisory_unlock(1);
A: SELECT pg_try_advisory_lock(1);
A: SELECT pg_advisory_unlock_all();
B: COMMIT PREPARED 'x';
B: SELECT pg_advisory_unlock_all();

-- … and unlocked in the block it is free; one that the wait for was canceled is nobody's
A: SELECT pg_advisory_lock(1);
B: BEGIN;
B: SELECT pg_advisory_lock(1);
A: SELECT pg_advisory_unlock(1);
B: SELECT pg_advisory_unlock(1);
A: SELECT pg_try_advisory_lock(1);
B: SAVEPOINT s;
B: SELECT pg_advisory_lock(1);
B: \cancel
B: ROLLBACK TO s;
B: SELECT pg_advisory_xact_lock(2), pg_advisory_lock(2), pg_advisory_unlock(2);
A: SELECT pg_try_advisory_lock(2), pg_advisory_unlock(1);
B: SELECT pg_try_advisory_lock(1), pg_advisory_unlock(1);
B: PREPARE TRANSACTION 'x';
A: SELECT pg_try_advisory_lock(1), pg_try_advisory_lock(2);
B: ROLLBACK PREPARED 'x';
A: SELECT pg_try_advisory_lock(2);
