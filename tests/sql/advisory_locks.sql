-- Sessions: advisory locks: sessions and transactions, shared and exclusive, one key and two, what pg_locks
-- shows, waits.
S: SELECT proname, pg_get_function_arguments(oid) AS arguments, pg_get_function_result(oid) AS result FROM pg_proc WHERE proname LIKE '%advisory%' ORDER BY 1, 2;

-- Counted: as often unlocked as locked.
A: SELECT pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_lock_shared(1);
B: SELECT pg_try_advisory_lock(1), pg_try_advisory_lock_shared(1), pg_try_advisory_lock(1, 0), pg_try_advisory_lock(0, 1);
A: SELECT pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock(1);
B: SELECT pg_try_advisory_lock(1), pg_try_advisory_lock_shared(1);
A: SELECT pg_advisory_unlock_shared(1), pg_advisory_unlock_shared(1);
B: SELECT pg_try_advisory_lock(1), pg_advisory_unlock(1), pg_advisory_unlock_shared(1), pg_advisory_unlock(1);
B: SELECT pg_advisory_unlock(1, 0), pg_advisory_unlock_shared(0, 1), pg_advisory_unlock(0, 1);
S: SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';

-- Keys as pg_locks shows them.
A: SELECT pg_advisory_lock(77777777777), pg_advisory_lock(-1), pg_advisory_lock_shared(-1, 2), pg_advisory_lock(2147483647, -2147483648);
S: SELECT classid, objid, objsubid, mode, granted, fastpath FROM pg_locks WHERE locktype = 'advisory' ORDER BY classid, objid, objsubid;
A: SELECT pg_advisory_unlock_all();
S: SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';

-- Of a transaction: they go with it, cannot be unlocked, and count apart.
A: BEGIN;
A: SELECT pg_advisory_xact_lock(5), pg_advisory_xact_lock_shared(6), pg_advisory_xact_lock(5, 5), pg_advisory_xact_lock_shared(6, 6);
A: SELECT pg_advisory_unlock(5);
A: SELECT pg_try_advisory_xact_lock(7), pg_try_advisory_xact_lock_shared(8), pg_try_advisory_xact_lock(7, 7), pg_try_advisory_xact_lock_shared(8, 8);
B: SELECT pg_try_advisory_lock(5), pg_try_advisory_lock(6), pg_try_advisory_lock_shared(6), pg_try_advisory_lock_shared(7), pg_try_advisory_xact_lock_shared(8);
A: SELECT pg_advisory_unlock_all();
B: SELECT pg_try_advisory_lock(5), pg_advisory_unlock_shared(6);
A: SELECT pg_advisory_lock(5);
A: COMMIT;
B: SELECT pg_try_advisory_lock(5), pg_try_advisory_lock(7);
A: SELECT pg_advisory_unlock(5);
B: SELECT pg_try_advisory_lock(5), pg_advisory_unlock_all();

-- A savepoint takes a transaction's locks back, not the session's.
A: BEGIN;
A: SAVEPOINT s;
A: SELECT pg_advisory_xact_lock(1), pg_advisory_lock(2);
A: ROLLBACK TO s;
B: SELECT pg_try_advisory_lock(1), pg_try_advisory_lock(2);
A: ROLLBACK;
B: SELECT pg_try_advisory_lock(2), pg_advisory_unlock(1);
A: SELECT pg_advisory_unlock_all();

-- Waits.
A: SELECT pg_advisory_lock(3);
B: SELECT pg_advisory_lock(3), 'got it' AS b;
C: SELECT pg_advisory_lock_shared(3), 'got it' AS c;
S: SELECT mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY granted DESC, mode;
A: SELECT pg_advisory_unlock(3);
B: SELECT pg_advisory_unlock(3);
C: SELECT pg_advisory_unlock_shared(3);
