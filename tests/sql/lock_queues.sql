-- Sessions: who goes first in the queue of a lock.
S: CREATE TABLE t (id integer);
S: CREATE TABLE u (id integer);

-- One who has the lock need not stand behind those that wait for it
A: BEGIN;
A: LOCK TABLE t IN ROW EXCLUSIVE MODE;
B: BEGIN;
B: LOCK TABLE t IN SHARE MODE;
A: LOCK TABLE t IN ROW SHARE MODE;
A: COMMIT;
B: COMMIT;

-- A circle through the order of two queues: of the requests that could go ahead it is the other's
C: SET deadlock_timeout = '100s';
D: SET deadlock_timeout = '100s';
B: SET deadlock_timeout = '10ms';
A: BEGIN;
B: BEGIN;
C: BEGIN;
D: BEGIN;
A: LOCK TABLE t IN ACCESS SHARE MODE;
B: LOCK TABLE u IN ACCESS SHARE MODE;
C: LOCK TABLE t IN ACCESS EXCLUSIVE MODE;
D: LOCK TABLE u IN ACCESS EXCLUSIVE MODE;
A: LOCK TABLE u IN ACCESS SHARE MODE;
B: LOCK TABLE t IN ACCESS SHARE MODE;
S: SELECT pg_sleep(0.5);
A: COMMIT;
C: COMMIT;
B: COMMIT;
D: COMMIT;

-- What the isolation tester asks
A: BEGIN;
A: LOCK TABLE t;
S: SELECT pg_isolation_test_session_is_blocked(pg_backend_pid(), '{}'), pg_isolation_test_session_is_blocked(0, ARRAY[1, 2]);
B: SELECT * FROM t;
S: SELECT w.query, pg_isolation_test_session_is_blocked(w.pid, ARRAY(SELECT pid FROM pg_stat_activity)) AS by_any, pg_isolation_test_session_is_blocked(w.pid, ARRAY[pg_backend_pid()]) AS by_me FROM pg_stat_activity AS w WHERE w.wait_event_type = 'Lock' AND datname = current_database();
A: COMMIT;
