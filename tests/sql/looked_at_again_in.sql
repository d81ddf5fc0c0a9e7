-- Sessions: a statement that has waited for a row whose condition was a sub-select planned as a join: the
-- rows that it was joined with stay what they were, so that another of them does not make it true.
S: CREATE TABLE e (id integer PRIMARY KEY, v integer, k text);
S: CREATE TABLE f (id integer PRIMARY KEY, v integer);
S: INSERT INTO f VALUES (1, 10), (2, 20), (3, 35);

-- IN (sub-select)
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (SELECT v FROM f) RETURNING id, v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- NOT EXISTS (sub-select)
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 10 WHERE id = 4;
B: DELETE FROM e WHERE NOT EXISTS (SELECT FROM f WHERE f.v = e.v) RETURNING id, v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;
