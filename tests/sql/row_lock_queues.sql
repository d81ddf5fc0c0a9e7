-- Sessions: who goes first when several wait to change a row whose key others share.
S: CREATE TABLE p (id integer PRIMARY KEY, v integer DEFAULT 0);
S: CREATE TABLE c (id integer PRIMARY KEY, p integer REFERENCES p ON DELETE CASCADE);
S: INSERT INTO p VALUES (1), (2), (3), (4), (5);
S: INSERT INTO c VALUES (1, 1), (2, 2);

-- A check has locked the key beside a change. Its session need not stand behind those that wait for it
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
D: BEGIN;
D: UPDATE p SET v = v + 1 WHERE id = 3;
A: UPDATE c SET p = 3 WHERE id = 2;
C: BEGIN;
C: DELETE FROM p WHERE id = 3;
A: DELETE FROM p WHERE id = 3;
D: ROLLBACK;
A: COMMIT;
C: COMMIT;
S: SELECT * FROM p ORDER BY id;
S: SELECT * FROM c ORDER BY id;

-- The same with new keys
A: BEGIN;
A: SELECT * FROM p WHERE id = 4 FOR KEY SHARE;
D: BEGIN;
D: UPDATE p SET v = v + 1 WHERE id = 4;
C: BEGIN;
C: UPDATE p SET id = 14 WHERE id = 4;
A: UPDATE p SET id = 24 WHERE id = 4;
D: COMMIT;
A: COMMIT;
C: COMMIT;
S: SELECT * FROM p ORDER BY id;

-- A key that is written and stays is no new key
A: BEGIN;
A: SELECT * FROM p WHERE id = 5 FOR KEY SHARE;
D: BEGIN;
D: UPDATE p SET v = v + 1 WHERE id = 5;
C: BEGIN;
C: UPDATE p SET id = 5, v = v + 10 WHERE id = 5;
D: COMMIT;
C: COMMIT;
A: COMMIT;
S: SELECT * FROM p ORDER BY id;

-- A change that leaves the key alone goes ahead of a deletion that waits for those who share it
A: BEGIN;
A: SELECT * FROM p WHERE id = 1 FOR KEY SHARE;
D: BEGIN;
D: UPDATE p SET v = v + 1 WHERE id = 1;
C: BEGIN;
C: DELETE FROM p WHERE id = 1;
D: COMMIT;
B: UPDATE p SET v = v + 100 WHERE id = 1 RETURNING v;
A: COMMIT;
C: ROLLBACK;
S: SELECT * FROM p ORDER BY id;
S: SELECT * FROM c ORDER BY id;
