-- Sessions
-- DEFERRABLE keys that two transactions put in at the same time: the second to check waits for the
-- first, and fails if that commits.
A: CREATE TABLE ds (k int UNIQUE DEFERRABLE INITIALLY DEFERRED, v text);
A: BEGIN;
A: INSERT INTO ds VALUES (1, 'a');
B: BEGIN;
B: INSERT INTO ds VALUES (1, 'b');
B: COMMIT;
A: COMMIT;
B: SELECT * FROM ds;
A: BEGIN;
A: INSERT INTO ds VALUES (2, 'a');
B: BEGIN;
B: INSERT INTO ds VALUES (2, 'b');
A: ROLLBACK;
B: COMMIT;
B: SELECT * FROM ds ORDER BY k;
-- A key that is about to go.
A: BEGIN;
A: DELETE FROM ds WHERE k = 1;
B: INSERT INTO ds VALUES (1, 'again');
A: COMMIT;
B: SELECT * FROM ds ORDER BY k;
A: BEGIN;
A: UPDATE ds SET k = 3 WHERE k = 1;
B: BEGIN;
B: SET CONSTRAINTS ALL IMMEDIATE;
B: INSERT INTO ds VALUES (1, 'b');
A: ROLLBACK;
B: ROLLBACK;
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT * FROM ds ORDER BY k;
B: INSERT INTO ds VALUES (5, 'b');
A: INSERT INTO ds VALUES (5, 'a');
A: COMMIT;
A: SELECT * FROM ds ORDER BY k;
A: DROP TABLE ds;
