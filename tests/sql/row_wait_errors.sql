-- Sessions: an error that ends the wait for a row says which row that was.
S: CREATE TABLE t (id integer PRIMARY KEY, v integer UNIQUE, w integer);
S: CREATE TABLE p (id integer, v integer, PRIMARY KEY (id)) PARTITION BY RANGE (id);
S: CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
S: INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
S: INSERT INTO p VALUES (1, 1), (2, 2);
A: BEGIN;
A: UPDATE t SET id = 11 WHERE id = 1;
A: INSERT INTO t VALUES (4, 4);
A: UPDATE p SET v = 10 WHERE id = 1;

-- By key, and by a scan
B: UPDATE t SET w = 2 WHERE id = 1;
B: \cancel
B: UPDATE t SET w = 2 WHERE v < 2;
B: \cancel
B: DELETE FROM t WHERE id = 1;
B: \cancel
B: DELETE FROM t;
B: \cancel
B: SELECT id FROM t WHERE id = 1 FOR KEY SHARE;
B: \cancel
B: SELECT * FROM t ORDER BY v FOR UPDATE;
B: \cancel
B: UPDATE p SET v = 2 WHERE id = 1;
B: \cancel
B: DELETE FROM p USING t WHERE p.id = t.v AND t.id = 1;
B: \cancel

-- Keys
B: INSERT INTO t VALUES (4, 40);
B: \cancel
B: INSERT INTO t VALUES (40, 4);
B: \cancel
B: UPDATE t SET v = 4 WHERE id = 2;
B: \cancel
B: INSERT INTO t VALUES (4, 40) ON CONFLICT DO NOTHING;
B: \cancel
B: INSERT INTO t VALUES (4, 40) ON CONFLICT (id) DO UPDATE SET w = 1;
B: \cancel

-- What is no row has no context
B: BEGIN;
B: LOCK TABLE t IN SHARE MODE;
B: \cancel
B: ROLLBACK;
A: ROLLBACK;

-- A deadlock
A: SET deadlock_timeout = '100s';
B: SET deadlock_timeout = '10ms';
A: BEGIN;
B: BEGIN;
A: UPDATE t SET w = 1 WHERE id = 1;
B: UPDATE t SET w = 2 WHERE id = 2;
A: UPDATE t SET w = 1 WHERE id = 2;
B: UPDATE t SET w = 2 WHERE id = 1;
S: SELECT pg_sleep(0.5);
A: COMMIT;
B: COMMIT;

-- lock_timeout
A: BEGIN;
A: DELETE FROM t WHERE id = 3;
B: SET lock_timeout = '10ms';
B: SELECT id FROM t WHERE id = 3 FOR SHARE;
S: SELECT pg_sleep(0.5);
A: COMMIT;
