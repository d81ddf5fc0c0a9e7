-- Sessions: a statement that has waited for a row whose condition was a sub-select: the rows that it was
-- joined with stay what they were, so that another of them does not make it true. READ COMMITTED.
-- PostgreSQL 15 differs: a sub-select in IN that refers to the query around stays a sub-select.
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

-- IN, and the row that it was joined with still fits
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'c' WHERE id = 2;
B: UPDATE e SET v = -v WHERE v IN (SELECT v FROM f);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN, and a row of the other table comes to fit
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 36 WHERE id = 2;
A: INSERT INTO f VALUES (4, 36);
B: DELETE FROM e WHERE v IN (SELECT v FROM f);
A: COMMIT;
S: DELETE FROM f WHERE id = 4;
S: SELECT * FROM e ORDER BY id;

-- IN, and the row that it was joined with changes, too
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
A: UPDATE f SET v = 21 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (SELECT v FROM f);
A: COMMIT;
S: UPDATE f SET v = 20 WHERE id = 2;
S: SELECT * FROM e ORDER BY id;

-- EXISTS
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE EXISTS (SELECT FROM f WHERE f.v = e.v);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- EXISTS with a range: the row that was met first
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 34 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE EXISTS (SELECT FROM f WHERE f.v > e.v AND f.id = 3);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- EXISTS over a join
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE EXISTS (SELECT FROM f JOIN f AS g ON g.id = f.id WHERE f.v = e.v AND g.v < 100);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- EXISTS over an outer join
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE EXISTS (SELECT FROM f LEFT JOIN f AS g ON g.id = f.id + 10 WHERE f.id = e.id AND f.v = e.v AND g.v IS NULL);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- EXISTS without a reference to the row: run once
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE EXISTS (SELECT FROM f WHERE v = 20) AND v < 40;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- NOT EXISTS that is true no more, beside a condition that is false now
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 10, k = 'c' WHERE id = 4;
B: DELETE FROM e WHERE NOT EXISTS (SELECT FROM f WHERE f.v = e.v) AND k = 'b';
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- NOT IN
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 10 WHERE id = 4;
B: DELETE FROM e WHERE v NOT IN (SELECT v FROM f);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN that refers to the row
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (SELECT f.v FROM f WHERE f.id >= e.id);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN within OR
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (SELECT v FROM f) OR id = 4;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- = ANY over a sub-select with LIMIT
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v = ANY (SELECT v FROM f ORDER BY v LIMIT 3);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN over the same table with LIMIT: the row keeps its place in it
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 99 WHERE id = 1;
B: UPDATE e SET k = 'first' WHERE id IN (SELECT id FROM e ORDER BY v LIMIT 1);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN over an aggregate
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (SELECT max(v) FROM f GROUP BY id);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN over UNION
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (SELECT v FROM f UNION SELECT 35);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN over VALUES
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (VALUES (10), (20), (35));
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN over a function
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (SELECT generate_series(20, 35, 5));
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN over WITH
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: WITH w AS (SELECT v FROM f) UPDATE e SET k = 'z' WHERE v IN (SELECT v FROM w);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- IN over WITH … MATERIALIZED
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: WITH w AS MATERIALIZED (SELECT v FROM f) UPDATE e SET k = 'z' WHERE v IN (SELECT v FROM w);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- A comparison with ALL
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 36 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v <= ALL (SELECT v FROM f WHERE v >= 20);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- A sub-select that does not see what has been committed since
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 77 WHERE id = 2;
A: INSERT INTO f VALUES (4, 77);
B: UPDATE e SET k = (SELECT count(*)::text FROM f WHERE f.v = e.v) WHERE (SELECT count(*) FROM f) = 3 AND k = 'a';
A: COMMIT;
S: DELETE FROM f WHERE id = 4;
S: SELECT * FROM e ORDER BY id;

-- A queue: the row that is taken has been taken
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'taken' WHERE id = 1;
B: DELETE FROM e WHERE id = (SELECT id FROM e WHERE k = 'a' ORDER BY id LIMIT 1 FOR UPDATE);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- A queue that does not wait
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'taken' WHERE id = 1;
B: DELETE FROM e WHERE id IN (SELECT id FROM e WHERE k = 'a' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- WITH that locks
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
B: WITH w AS (SELECT id, v FROM e WHERE k = 'a' ORDER BY id FOR UPDATE) UPDATE e SET v = -w.v FROM w WHERE w.id = e.id;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- UPDATE … FROM VALUES
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = x.k FROM (VALUES (10, 'ten'), (20, 'twenty'), (35, 'more')) AS x (v, k) WHERE x.v = e.v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- UPDATE … FROM a function
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'g' || g FROM generate_series(20, 35, 5) AS g WHERE g = e.v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- UPDATE … FROM an aggregate
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = x.n::text FROM (SELECT v, count(*) AS n FROM f GROUP BY v) AS x WHERE x.v = e.v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- UPDATE … FROM the same table
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 30 WHERE id = 2;
B: UPDATE e SET k = 'less' FROM e AS o WHERE o.id = e.id + 1 AND o.v > e.v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- UPDATE … FROM an outer join
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = coalesce(g.v::text, 'none') FROM f LEFT JOIN f AS g ON g.id = f.id + 2 WHERE f.v = e.v;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- UPDATE … FROM with EXISTS about both
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
B: UPDATE e SET k = 'z' FROM f WHERE f.id = e.id AND EXISTS (SELECT FROM f AS g WHERE g.v = e.v AND g.id = f.id);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- DELETE … USING with NOT EXISTS about the other table
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'c' WHERE id = 3;
B: DELETE FROM e USING f WHERE f.id = e.id AND NOT EXISTS (SELECT FROM e AS o WHERE o.v = f.v);
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE, IN
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: SELECT id, v FROM e WHERE v IN (SELECT v FROM f) ORDER BY id FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE, EXISTS
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'c' WHERE id = 2;
B: SELECT id, v, k FROM e WHERE EXISTS (SELECT FROM f WHERE f.v = e.v) ORDER BY id FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE, NOT EXISTS
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 10 WHERE id = 4;
B: SELECT id, v FROM e WHERE NOT EXISTS (SELECT FROM f WHERE f.v = e.v) ORDER BY id FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR SHARE, NOT IN
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 10 WHERE id = 4;
B: SELECT id, v FROM e WHERE v NOT IN (SELECT v FROM f) ORDER BY id FOR SHARE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE of one of two, the other of which changes
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
A: UPDATE f SET v = 21 WHERE id = 2;
B: SELECT e.id, e.v, f.v FROM e JOIN f ON f.v = e.v ORDER BY 1 FOR UPDATE OF e;
A: COMMIT;
S: UPDATE f SET v = 20 WHERE id = 2;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE of both, which change together
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 21 WHERE id = 2;
A: UPDATE f SET v = 21 WHERE id = 2;
B: SELECT e.id, e.v, f.v FROM e JOIN f ON f.v = e.v ORDER BY 1 FOR UPDATE;
A: COMMIT;
S: UPDATE f SET v = 20 WHERE id = 2;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE beside a LATERAL sub-select
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 36 WHERE id = 2;
B: SELECT e.id, e.v, x.n FROM e, LATERAL (SELECT count(*) AS n FROM f WHERE f.v <= e.v) AS x WHERE e.k = 'a' ORDER BY 1 FOR UPDATE OF e;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE beside a LATERAL function
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 22 WHERE id = 2;
B: SELECT e.id, e.v, g FROM e, generate_series(20, e.v) AS g WHERE e.id = 2 FOR UPDATE OF e;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE, a sub-select in the select list
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 10 WHERE id = 2;
B: SELECT id, (SELECT f.id FROM f WHERE f.v = e.v) AS found FROM e WHERE k = 'a' ORDER BY id FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE, LIMIT over IN
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 1;
B: SELECT id, v FROM e WHERE v IN (SELECT v FROM f) ORDER BY id LIMIT 1 FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE of the left side of an outer join whose other side was NULL
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 10 WHERE id = 3;
B: SELECT e.id, e.v, f.v FROM e LEFT JOIN f ON f.v = e.v WHERE e.id > 2 ORDER BY 1 FOR UPDATE OF e;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE in WITH, read twice
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'c' WHERE id = 1;
B: WITH w AS (SELECT id FROM e WHERE v IN (SELECT v FROM f) AND k = 'a' FOR UPDATE) SELECT (SELECT count(*) FROM w), id FROM w ORDER BY id;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- By key, and another row has the key now
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET id = 22 WHERE id = 2;
A: INSERT INTO e VALUES (2, 200, 'new');
B: UPDATE e SET v = 0 WHERE id = 2;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- DELETE by key, and another row has the key now
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: DELETE FROM e WHERE id = 2;
A: INSERT INTO e VALUES (2, 200, 'new');
B: DELETE FROM e WHERE id = 2;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- FOR UPDATE by key, and another row has the key now
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET id = 22 WHERE id = 2;
A: INSERT INTO e VALUES (2, 200, 'new');
B: SELECT * FROM e WHERE id = 2 FOR UPDATE;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- By key and more, which no longer holds
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 0 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE id = 2 AND v = 20;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;

-- Conditions from which constants follow for the other table
S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET k = 'c' WHERE id = 2;
B: SELECT id, k FROM e WHERE v IN (SELECT v FROM f) AND v = 20 FOR UPDATE;
A: COMMIT;

S: TRUNCATE e;
S: INSERT INTO e VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE e SET v = 35 WHERE id = 2;
B: UPDATE e SET k = 'z' WHERE v IN (SELECT v FROM f) AND v = 20;
A: COMMIT;
S: SELECT * FROM e ORDER BY id;
S: SELECT e.id FROM e JOIN f ON f.v = e.v WHERE e.v = 10 AND f.v = 20 FOR UPDATE;
S: UPDATE e SET k = 'z' FROM f WHERE f.v = e.v AND e.v = 10 AND f.v = 20;
S: SELECT id FROM e WHERE v IN (SELECT v FROM f WHERE v = 10) AND v = 20 FOR UPDATE;

-- The same over a partitioned table
S: CREATE TABLE p (id integer, v integer, k text) PARTITION BY RANGE (id);
S: CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (3);
S: CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (3) TO (10);

-- Partitions: IN
S: TRUNCATE p;
S: INSERT INTO p VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE p SET v = 35 WHERE id = 2;
B: UPDATE p SET k = 'z' WHERE v IN (SELECT v FROM f);
A: COMMIT;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;

-- Partitions: NOT EXISTS
S: TRUNCATE p;
S: INSERT INTO p VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE p SET v = 10 WHERE id = 4;
B: DELETE FROM p WHERE NOT EXISTS (SELECT FROM f WHERE f.v = p.v);
A: COMMIT;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;

-- Partitions: a join
S: TRUNCATE p;
S: INSERT INTO p VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE p SET v = 21 WHERE id = 2;
B: UPDATE p SET k = 'z' FROM f WHERE f.v = p.v;
A: COMMIT;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;

-- Partitions: FOR UPDATE, IN
S: TRUNCATE p;
S: INSERT INTO p VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE p SET v = 35 WHERE id = 2;
B: SELECT id, v FROM p WHERE v IN (SELECT v FROM f) ORDER BY id FOR UPDATE;
A: COMMIT;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;

-- Partitions: IN over the partitioned table
S: TRUNCATE p;
S: INSERT INTO p VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE p SET v = 30 WHERE id = 2;
B: UPDATE p SET k = 'z' WHERE id IN (SELECT q.id FROM p AS q WHERE q.v = 20);
A: COMMIT;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;

-- Partitions: the row moves to where the condition sends it
S: TRUNCATE p;
S: INSERT INTO p VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b'), (4, 40, 'b');
A: BEGIN;
A: UPDATE p SET v = 21 WHERE id = 2;
B: UPDATE p SET id = id + 2 WHERE id = 2 AND v IN (SELECT 20 UNION SELECT 21);
A: COMMIT;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;
