-- Sessions: a statement that has waited for a row looks at it again as it is then (EvalPlanQual), with
-- each shape of plan around it. READ COMMITTED.
S: CREATE TABLE e (id integer PRIMARY KEY, v integer, k text);
S: CREATE TABLE f (id integer PRIMARY KEY, v integer);
S: INSERT INTO f VALUES (1, 10), (2, 20), (3, 35);

-- A condition that still holds, and one that no longer does
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
B: UPDATE e SET v = v * 10 WHERE v <= 20;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- A condition that holds only now: the row was not found, and is not
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 5 WHERE id IN (2, 3);
B: UPDATE e SET v = v * 10 WHERE v = 5 OR v = 20;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- By key
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
B: UPDATE e SET v = v * 10 WHERE id = 2 RETURNING *;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- The key has changed
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET id = 22 WHERE id = 2;
B: UPDATE e SET v = 0 WHERE id = 2 RETURNING *;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- DELETE
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'c' WHERE id = 2;
B: DELETE FROM e WHERE k = 'a';
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- A deleted row
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: DELETE FROM e WHERE id = 2;
B: UPDATE e SET v = 0 WHERE k = 'a' RETURNING id;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- UPDATE … FROM: the other table's row stays what it was
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
A: UPDATE f SET v = 99 WHERE id = 2;
B: UPDATE e SET v = e.v + f.v FROM f WHERE f.id = e.id AND e.v < 25 RETURNING e.id, e.v, f.v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

S: UPDATE f SET v = 20 WHERE id = 2;

-- UPDATE … FROM: the join no longer holds
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
B: UPDATE e SET k = 'z' FROM f WHERE f.v = e.v RETURNING e.id;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- DELETE … USING
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
B: DELETE FROM e USING f WHERE f.id = e.id AND e.v % 10 = 0 RETURNING e.id;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- A sub-select with an aggregate over the same table
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 100 WHERE id = 4;
B: UPDATE e SET k = 'max' WHERE v = (SELECT max(v) FROM e) RETURNING id, v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- A sub-select that depends on the row
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 3;
B: UPDATE e SET k = (SELECT 'f' || f.v FROM f WHERE f.v = e.v) WHERE k = 'b' RETURNING id, k;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- WITH
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
B: WITH small AS (SELECT id FROM e WHERE v < 25) UPDATE e SET v = -v FROM small WHERE small.id = e.id RETURNING e.id, e.v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- WITH that writes
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
B: WITH gone AS (DELETE FROM e WHERE v <= 20 RETURNING id, v) SELECT count(*), sum(v) FROM gone;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
B: SELECT id, v FROM e WHERE v <= 20 ORDER BY id FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE with ORDER BY over what has changed: the order is that of before
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 5 WHERE id = 2;
B: SELECT id, v FROM e ORDER BY v FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE with LIMIT: one that falls out is not made up for by the next
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'c' WHERE id = 1;
B: SELECT id, v FROM e WHERE k = 'a' ORDER BY id LIMIT 1 FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE over a join
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
B: SELECT e.id, e.v, f.v FROM e JOIN f ON f.id = e.id WHERE e.v < 25 ORDER BY 1 FOR UPDATE OF e;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE in a sub-select
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
B: SELECT sum(v) FROM (SELECT v FROM e WHERE id <= 2 FOR UPDATE) AS q;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE of both sides of an outer join
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
B: SELECT e.id, e.v, x.v FROM e LEFT JOIN (SELECT * FROM f WHERE id < 3) AS x ON x.v = e.v ORDER BY 1 FOR UPDATE OF e;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- INSERT … ON CONFLICT DO UPDATE
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
B: INSERT INTO e VALUES (2, 7, 'new') ON CONFLICT (id) DO UPDATE SET v = e.v + excluded.v WHERE e.v > 20 RETURNING *;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- INSERT … SELECT
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = v + 1 WHERE id = 2;
B: INSERT INTO e SELECT id + 100, v, k FROM e WHERE id = 2 FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

