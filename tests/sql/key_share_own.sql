-- Sessions: a transaction that has changed a row, but not its key, waits for other transactions that have the row KEY
-- SHARE before it deletes the row or changes its key.
S: CREATE TABLE p (id integer PRIMARY KEY, v integer DEFAULT 0);
S: CREATE TABLE c (pid integer REFERENCES p);
S: CREATE TABLE n (pid integer REFERENCES p ON DELETE SET NULL ON UPDATE CASCADE);
S: INSERT INTO p SELECT generate_series(1, 6);

-- A reference that is committed meanwhile is found
A: BEGIN; UPDATE p SET v = 1 WHERE id = 1;
B: BEGIN; INSERT INTO c VALUES (1);
A: DELETE FROM p WHERE id = 1;
B: COMMIT;
A: ROLLBACK;
A: BEGIN; UPDATE p SET v = 1 WHERE id = 2;
B: BEGIN; INSERT INTO n VALUES (2);
A: UPDATE p SET id = 20 WHERE id = 2;
B: COMMIT;
A: COMMIT;
S: SELECT * FROM n;

-- One that is rolled back is not
A: BEGIN; UPDATE p SET v = 1 WHERE id = 3;
B: BEGIN; INSERT INTO n SELECT g FROM generate_series(3, 4) g;
A: DELETE FROM p WHERE id = 3;
B: ROLLBACK;
A: COMMIT;

-- Above READ COMMITTED
A: BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE p SET v = 1 WHERE id = 4;
B: BEGIN; INSERT INTO n VALUES (4);
A: DELETE FROM p WHERE id = 4;
B: COMMIT;
A: ROLLBACK;

-- The lock alone, and an UPDATE that keeps the key
A: BEGIN; UPDATE p SET v = 1 WHERE id = 5;
B: BEGIN; SELECT id FROM p WHERE id = 5 FOR KEY SHARE;
A: UPDATE p SET v = 2 WHERE id = 5;
A: SELECT v FROM p WHERE id = 5 FOR NO KEY UPDATE;
A: SELECT v FROM p WHERE id = 5 FOR UPDATE;
B: COMMIT;
A: DELETE FROM p WHERE id = 5;
A: COMMIT;

-- Both want to delete
A: BEGIN; UPDATE p SET v = 1 WHERE id = 6;
B: BEGIN; SELECT id FROM p WHERE id = 6 FOR KEY SHARE;
A: SAVEPOINT s; DELETE FROM p WHERE id = 6;
B: ROLLBACK;
A: ROLLBACK TO s; UPDATE p SET v = v + 1 WHERE id = 6; COMMIT;
S: SELECT * FROM p ORDER BY id;
S: SELECT * FROM c;
S: SELECT * FROM n;
