-- PostgreSQL 15 differs: EXPLAIN ANALYZE shows rows without decimals, and no searches.
-- Scalar sub-selects without FROM: they are expressions over the row around them.
CREATE TABLE whole (id int PRIMARY KEY, a int, b numeric(6, 2), t text, s smallint);
INSERT INTO whole SELECT i, i * 10, i / 3.0, 'row ' || i, i FROM generate_series(1, 6) AS i;
CREATE SEQUENCE whole_calls;

-- By the whole key: prepared, with other conditions, over a row that changes between.
PREPARE added(int, int) AS UPDATE whole SET a = (SELECT a + $2) WHERE id = $1;
EXECUTE added(1, 5);
EXECUTE added(1, 5);
EXECUTE added(9, 5);
EXECUTE added(2, NULL);
EXECUTE added(3, 2147483647);
PREPARE several(int) AS UPDATE whole SET a = (SELECT id + (SELECT a + id)), b = (SELECT b * 2),
    t = (SELECT t || '!'), s = (SELECT a) WHERE id = $1 AND (SELECT a > 0);
EXECUTE several(4);
EXECUTE several(2);
EXECUTE several(4);
SELECT * FROM whole ORDER BY id;
UPDATE whole SET s = (SELECT a * 1000) WHERE id = 5;
UPDATE whole SET b = (SELECT b * 100000) WHERE id = 5;
UPDATE whole SET a = (SELECT a / (id - 5)) WHERE id = 5;
DELETE FROM whole WHERE id = 6 AND (SELECT a = 61);
DELETE FROM whole WHERE id = 6 AND (SELECT a = 60);
SELECT count(*) FROM whole;

-- A key that is changed, and RETURNING.
UPDATE whole SET id = (SELECT id + 10) WHERE id = 5 RETURNING id, (SELECT id * 2 + a), (SELECT (SELECT id));
UPDATE whole SET id = (SELECT id - 10) WHERE id = 15 RETURNING *;
INSERT INTO whole (id, a) VALUES (1, 7) ON CONFLICT (id) DO UPDATE SET a = (SELECT whole.a + excluded.a) RETURNING id, a;

-- Volatile functions are called for each row, and those of a sub-select that reads no row once.
SELECT id, (SELECT nextval('whole_calls') + 0 * id) AS each, (SELECT nextval('whole_calls')) AS once
FROM whole WHERE id < 4 ORDER BY id;
UPDATE whole SET a = (SELECT nextval('whole_calls') + 0 * a) WHERE id = 3 RETURNING a;
UPDATE whole SET a = (SELECT nextval('whole_calls')) WHERE id = 3 RETURNING a;
CREATE FUNCTION whole_noted(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN RAISE NOTICE 'noted %', i; RETURN i; END $$;
CREATE FUNCTION whole_now(i int) RETURNS int STABLE LANGUAGE sql AS 'SELECT a FROM whole WHERE id = i';
UPDATE whole SET a = (SELECT whole_noted(a)) WHERE id = 1;
UPDATE whole SET a = (SELECT whole_now(id) + 1) WHERE id = 1 RETURNING a;
SELECT id, (SELECT whole_noted(id)) FROM whole WHERE id < 3 ORDER BY id;

-- Within other expressions, conditions, and sub-selects with rows.
SELECT id, CASE (SELECT id % 3) WHEN 0 THEN 'third' WHEN (SELECT 1) THEN (SELECT t) ELSE (SELECT CASE id WHEN 2 THEN 'two' END) END
FROM whole ORDER BY id;
SELECT id FROM whole WHERE (SELECT a) > 30 ORDER BY (SELECT -id);
SELECT id, (SELECT ROW(id, t)), (SELECT ARRAY[id, a]), (SELECT id IS NULL) FROM whole WHERE id < 3 ORDER BY whole.id;
SELECT id, (SELECT max(x) FROM (SELECT (SELECT id + n) AS x FROM generate_series(1, 3) AS n) AS many) FROM whole ORDER BY id;
SELECT sum((SELECT id * 2)), max(id) FILTER (WHERE (SELECT id < 4)) FROM whole;
SELECT a.id, b.id FROM whole a JOIN whole b ON (SELECT a.id + 1) = b.id ORDER BY a.id;
SELECT id, (SELECT id WHERE id > 2), (SELECT id LIMIT 0), (SELECT DISTINCT id), (SELECT count(*) + id), (SELECT generate_series(1, id) LIMIT 1)
FROM whole ORDER BY id;
SELECT (SELECT generate_series(1, id)) FROM whole WHERE id = 2;
SELECT (SELECT 1 / (id - 2)) FROM whole ORDER BY id;

-- Plans show the node.
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT (SELECT a + 1) FROM whole WHERE id < 3;

-- Over partitions.
CREATE TABLE parts (id int PRIMARY KEY, a int) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT i, i FROM generate_series(1, 4) AS i;
PREPARE of_parts(int, int) AS UPDATE parts SET a = (SELECT a + $2) WHERE id = $1;
EXECUTE of_parts(1, 10);
EXECUTE of_parts(2, 10);
EXECUTE of_parts(3, 10);
EXECUTE of_parts(3, 10);
SELECT * FROM parts ORDER BY id;
DROP TABLE whole, parts;
DROP FUNCTION whole_noted(int), whole_now(int);
DROP SEQUENCE whole_calls;
