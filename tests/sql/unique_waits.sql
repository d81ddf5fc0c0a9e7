-- Sessions: an INSERT of a key waits for a transaction that changes the row with this key, even if the change
-- leaves the key as it is: the transaction may still delete the row or give it another key.
S: CREATE TABLE t (id integer PRIMARY KEY, v integer);
S: INSERT INTO t VALUES (1, 0), (2, 0), (3, 0);

-- The other transaction keeps the key
A: BEGIN; UPDATE t SET v = 1 WHERE id = 1;
B: INSERT INTO t VALUES (1, 9);
A: COMMIT;

-- It deletes the row after its change
A: BEGIN; UPDATE t SET v = 2 WHERE id = 1;
B: INSERT INTO t VALUES (1, 9);
A: DELETE FROM t WHERE id = 1; COMMIT;
S: SELECT * FROM t ORDER BY id;

-- It changes the key after its change
A: BEGIN; UPDATE t SET v = 3 WHERE id = 2;
B: INSERT INTO t VALUES (5, 5), (2, 9), (6, 6);
A: UPDATE t SET id = 20 WHERE id = 2; COMMIT;
S: SELECT * FROM t ORDER BY id;

-- It is rolled back
A: BEGIN; UPDATE t SET v = 4 WHERE id = 3;
B: UPDATE t SET id = 3 WHERE id = 20;
A: ROLLBACK;

-- DO NOTHING waits, too
A: BEGIN; UPDATE t SET v = 5 WHERE id = 3;
B: INSERT INTO t VALUES (3, 9) ON CONFLICT DO NOTHING;
A: DELETE FROM t WHERE id = 3; COMMIT;
S: SELECT * FROM t ORDER BY id;
A: BEGIN; UPDATE t SET v = 6 WHERE id = 3;
B: INSERT INTO t VALUES (3, 10) ON CONFLICT (id) DO NOTHING;
A: COMMIT;
S: SELECT * FROM t ORDER BY id;

-- A transaction that has only locked the row is not waited for
A: BEGIN; SELECT id FROM t WHERE id = 3 FOR UPDATE;
B: INSERT INTO t VALUES (3, 9);
B: INSERT INTO t VALUES (3, 9) ON CONFLICT DO NOTHING;
A: ROLLBACK;

-- Its own changes
A: BEGIN; UPDATE t SET v = 7 WHERE id = 3;
A: INSERT INTO t VALUES (3, 9);
A: ROLLBACK;
A: BEGIN; UPDATE t SET v = 7 WHERE id = 3;
A: INSERT INTO t VALUES (3, 9) ON CONFLICT DO NOTHING;
A: COMMIT;

-- Both have changed a row
A: BEGIN; UPDATE t SET v = 8 WHERE id = 3;
B: BEGIN; UPDATE t SET v = 8 WHERE id = 5;
A: INSERT INTO t VALUES (5, 9);
B: ROLLBACK;
A: ROLLBACK;

-- A deferred key is checked when the transaction commits
S: CREATE TABLE d (id integer PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v integer);
S: INSERT INTO d VALUES (1, 0);
A: BEGIN; UPDATE d SET v = 1 WHERE id = 1;
B: BEGIN; INSERT INTO d VALUES (1, 9);
B: COMMIT;
A: DELETE FROM d WHERE id = 1; COMMIT;
S: SELECT * FROM d;
