-- Sessions: SERIALIZABLE beyond the Hermitage collection: three transactions in a row, read-only
-- ones, what a savepoint takes back, settings, and who is told what.
-- Alone: safe snapshots wait for SERIALIZABLE transactions of any database.
S: CREATE TABLE doctors (id integer PRIMARY KEY, on_call boolean NOT NULL);
S: CREATE TABLE control (deposit integer NOT NULL);
S: CREATE TABLE receipt (id integer PRIMARY KEY, deposit integer NOT NULL, amount integer NOT NULL);
S: INSERT INTO control VALUES (1);
S: INSERT INTO receipt VALUES (1, 1, 100), (2, 1, 200);

-- a report that a receipt of a closed batch would make wrong
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: INSERT INTO receipt SELECT 3, deposit, 400 FROM control;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: UPDATE control SET deposit = 2;
B: COMMIT;
C: BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
C: SELECT deposit FROM control;
C: SELECT id, amount FROM receipt WHERE deposit = 1 ORDER BY id;
C: COMMIT;
A: COMMIT;
S: SELECT * FROM receipt ORDER BY id;

-- the same without a report: nothing is wrong
S: UPDATE control SET deposit = 1;
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: INSERT INTO receipt SELECT 4, deposit, 400 FROM control;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: UPDATE control SET deposit = 2;
B: COMMIT;
A: COMMIT;
S: SELECT * FROM receipt ORDER BY id;

-- a report whose snapshot is from before the batch was closed: nothing is wrong
S: UPDATE control SET deposit = 1;
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: INSERT INTO receipt SELECT 5, deposit, 400 FROM control;
C: BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
C: SELECT deposit FROM control;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: UPDATE control SET deposit = 2;
B: COMMIT;
C: SELECT count(*) FROM receipt WHERE deposit = 1;
C: COMMIT;
A: COMMIT;

-- the one in the middle is told when it writes
S: INSERT INTO doctors VALUES (1, true), (2, true);
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SELECT count(*) FROM doctors WHERE on_call;
B: SELECT count(*) FROM doctors WHERE on_call;
A: UPDATE doctors SET on_call = false WHERE id = 1;
A: COMMIT;
B: UPDATE doctors SET on_call = false WHERE id = 2;
B: SELECT 1;
B: COMMIT;
S: SELECT * FROM doctors ORDER BY id;

-- a read that was rolled back to a savepoint was a read; one level below keeps out of it
S: UPDATE doctors SET on_call = true;
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SAVEPOINT s;
A: SELECT count(*) FROM doctors WHERE on_call;
A: ROLLBACK TO s;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: SELECT count(*) FROM doctors WHERE on_call;
B: UPDATE doctors SET on_call = false WHERE id = 2;
A: UPDATE doctors SET on_call = false WHERE id = 1;
A: COMMIT;
B: COMMIT;
S: UPDATE doctors SET on_call = true;
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM doctors WHERE on_call;
B: SELECT count(*) FROM doctors WHERE on_call;
A: UPDATE doctors SET on_call = false WHERE id = 1;
B: UPDATE doctors SET on_call = false WHERE id = 2;
A: COMMIT;
B: COMMIT;
S: SELECT * FROM doctors ORDER BY id;

-- who waits for a writer that commits fails, as in REPEATABLE READ
S: UPDATE doctors SET on_call = true;
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: SELECT 1;
A: UPDATE doctors SET on_call = false WHERE id = 1;
B: UPDATE doctors SET on_call = false WHERE id = 1;
A: COMMIT;
B: COMMIT;
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: SELECT 1;
A: UPDATE doctors SET on_call = false WHERE id = 1;
B: SELECT * FROM doctors WHERE id = 1 FOR UPDATE;
A: ROLLBACK;
B: COMMIT;

-- a table that is emptied counts as read and written
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SELECT count(*) FROM receipt;
B: SELECT count(*) FROM doctors;
B: DELETE FROM receipt;
A: DELETE FROM doctors;
B: COMMIT;
A: COMMIT;

-- who read what has been replaced since has no conflict with those that replace it later
S: CREATE TABLE versions (id int PRIMARY KEY, n int);
S: INSERT INTO versions SELECT g, 0 FROM generate_series(1, 20000) g;
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
C: BEGIN ISOLATION LEVEL SERIALIZABLE;
D: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SELECT * FROM versions WHERE id = 20000;
B: UPDATE versions SET n = 1 WHERE id = 20000;
B: COMMIT;
C: UPDATE versions SET n = 2 WHERE id = 20000;
C: SELECT * FROM versions WHERE id = 10000;
D: UPDATE versions SET n = 3 WHERE id = 10000;
D: SELECT * FROM versions WHERE id = 1;
D: COMMIT;
C: COMMIT;
A: UPDATE versions SET n = 4 WHERE id = 1;
A: COMMIT;
S: SELECT * FROM versions WHERE n > 0 ORDER BY id;
-- with those that replaced it, it has
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
C: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SELECT * FROM versions WHERE id = 20000;
B: UPDATE versions SET n = 5 WHERE id = 20000;
B: SELECT * FROM versions WHERE id = 10000;
C: UPDATE versions SET n = 6 WHERE id = 10000;
C: SELECT * FROM versions WHERE id = 1;
C: COMMIT;
B: COMMIT;
A: UPDATE versions SET n = 7 WHERE id = 1;
A: COMMIT;

-- settings
S: SET default_transaction_isolation = 'serializable';
S: SHOW transaction_isolation;
S: SELECT count(*) FROM doctors;
S: BEGIN;
S: SHOW transaction_isolation;
S: SELECT 1;
S: SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
S: ROLLBACK;
S: BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE;
S: SHOW transaction_deferrable;
S: SELECT count(*) FROM doctors;
S: COMMIT;

-- One that is to fail for the others' sake learns so at its next read, not at its COMMIT only.
S: CREATE TABLE doomed (id integer PRIMARY KEY, v integer);
S: INSERT INTO doomed SELECT g, 0 FROM generate_series(1, 6) g;
-- What an index scan locks is finer here than what a bitmap scan does.
A: SET enable_indexscan = off;
A: SET enable_bitmapscan = off;
C: SET enable_indexscan = off;
C: SET enable_bitmapscan = off;
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: UPDATE doomed SET v = v + 1 WHERE id = 2;
B: INSERT INTO doomed VALUES (9, 1);
C: BEGIN ISOLATION LEVEL SERIALIZABLE;
B: COMMIT;
A: SELECT count(*) FROM doomed WHERE id > 5;
C: SELECT count(*) FROM doomed WHERE id > 1;
A: SELECT v FROM doomed WHERE id = 4;
C: COMMIT;
A: COMMIT;
