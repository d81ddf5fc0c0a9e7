-- Functions in SQL: bodies, results, sets, rows, arguments by name, errors and where they are.
-- PostgreSQL 15 differs: it analyzes all statements of a function at its start.
CREATE TABLE sf_t (id int PRIMARY KEY, name text, amount numeric(10,2));
INSERT INTO sf_t VALUES (1, 'one', 10), (2, 'two', 20.5), (3, 'three', NULL);
CREATE FUNCTION sf_add(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT a + b';
CREATE FUNCTION sf_numbered(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1 * $2';
CREATE FUNCTION sf_name(id int) RETURNS text LANGUAGE sql AS
  'SELECT name FROM sf_t WHERE sf_t.id = sf_name.id';
CREATE FUNCTION sf_column_first(id int) RETURNS bigint LANGUAGE sql AS
  'SELECT count(*) FROM sf_t WHERE id = id';
SELECT sf_add(1, 2), sf_numbered(3, 4), sf_name(2), sf_name(9) IS NULL, sf_column_first(1);
SELECT sf_add(b => 1, a => 2), sf_add(1, b => 5);
SELECT id, sf_name(id) FROM sf_t ORDER BY id;
-- Several statements; the last one gives the result.
CREATE FUNCTION sf_insert(id int, name text) RETURNS int LANGUAGE sql AS $$
  INSERT INTO sf_t VALUES (sf_insert.id, sf_insert.name);
  UPDATE sf_t SET amount = 7 WHERE sf_t.id = $1;
  SELECT count(*)::int FROM sf_t;
$$;
SELECT sf_insert(4, 'four');
SELECT * FROM sf_t ORDER BY id;
CREATE FUNCTION sf_delete(int) RETURNS text LANGUAGE sql AS
  'DELETE FROM sf_t WHERE id = $1 RETURNING name';
SELECT sf_delete(4), sf_delete(4);
CREATE FUNCTION sf_void(int) RETURNS void LANGUAGE sql AS 'UPDATE sf_t SET amount = $1 WHERE id = 3';
SELECT sf_void(30);
SELECT amount FROM sf_t WHERE id = 3;
CREATE FUNCTION sf_ddl() RETURNS bigint LANGUAGE sql AS $$
  CREATE TEMP TABLE sf_made AS SELECT generate_series(1, 5) AS n;
  SELECT sum(n) FROM sf_made;
$$;
SET check_function_bodies = off;
CREATE FUNCTION sf_ddl() RETURNS bigint LANGUAGE sql AS $$
  CREATE TABLE sf_made (n int);
  INSERT INTO sf_made VALUES (1), (2);
  SELECT sum(n) FROM sf_made;
$$;
RESET check_function_bodies;
CREATE FUNCTION sf_empty() RETURNS void LANGUAGE sql AS '';
SELECT sf_empty();
-- Coercion of the result as an assignment.
CREATE FUNCTION sf_coerced(int) RETURNS numeric(5,1) LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION sf_bigint() RETURNS int LANGUAGE sql AS 'SELECT 5::bigint';
CREATE FUNCTION sf_varchar() RETURNS varchar LANGUAGE sql AS 'SELECT ''x''';
SELECT sf_coerced(3), sf_bigint(), sf_varchar(), pg_typeof(sf_coerced(3));
CREATE FUNCTION sf_ordered() RETURNS SETOF bigint LANGUAGE sql AS
  'SELECT id FROM sf_t UNION SELECT 9 ORDER BY 1 DESC';
SELECT * FROM sf_ordered();
-- Sets.
CREATE FUNCTION sf_set(int) RETURNS SETOF int LANGUAGE sql AS 'SELECT generate_series(1, $1)';
SELECT * FROM sf_set(3);
SELECT sf_set(2), 'x';
SELECT id, sf_set(id) FROM sf_t ORDER BY 1, 2;
SELECT * FROM sf_set(3) WITH ORDINALITY AS s(n, o) WHERE n > 1;
SELECT * FROM ROWS FROM (sf_set(2), sf_set(3));
CREATE FUNCTION sf_rows() RETURNS SETOF sf_t LANGUAGE sql AS 'SELECT * FROM sf_t ORDER BY id';
SELECT * FROM sf_rows();
SELECT sf_rows();
SELECT (sf_rows()).name;
SELECT name FROM sf_rows() r WHERE r.id = 2;
CREATE FUNCTION sf_row(int) RETURNS sf_t LANGUAGE sql AS 'SELECT * FROM sf_t WHERE id = $1';
SELECT * FROM sf_row(2);
SELECT sf_row(2), sf_row(99) IS NULL, (sf_row(1)).name;
SELECT * FROM sf_row(99);
CREATE FUNCTION sf_whole() RETURNS SETOF sf_t LANGUAGE sql AS 'SELECT t FROM sf_t t ORDER BY id';
SELECT * FROM sf_whole();
CREATE FUNCTION sf_of_row(sf_t) RETURNS text LANGUAGE sql AS 'SELECT $1.name || ''!''';
CREATE FUNCTION sf_of_named(t sf_t) RETURNS text LANGUAGE sql AS 'SELECT t.name || ''?''';
SELECT sf_of_row(t), sf_of_named(t), sf_of_row(ROW(7, 'seven', NULL)) FROM sf_t t ORDER BY id;
CREATE FUNCTION sf_table(n int) RETURNS TABLE (a int, b text) LANGUAGE sql AS
  'SELECT id, name FROM sf_t WHERE id <= n ORDER BY id';
SELECT * FROM sf_table(2);
SELECT sf_table(2);
SELECT (sf_table(2)).b;
CREATE FUNCTION sf_out(a int, OUT b int, OUT c text) LANGUAGE sql AS 'SELECT a * 2, ''c''';
SELECT * FROM sf_out(4);
SELECT sf_out(4), (sf_out(4)).c;
CREATE FUNCTION sf_one_out(a int, OUT b int) LANGUAGE sql AS 'SELECT a * 2';
SELECT sf_one_out(4);
SELECT * FROM sf_one_out(4);
CREATE FUNCTION sf_record() RETURNS record LANGUAGE sql AS 'SELECT 1, ''x''::text';
SELECT sf_record();
SELECT * FROM sf_record() AS r(a int, b text);
SELECT * FROM sf_record() AS r(a int, b int);
SELECT * FROM sf_record();
CREATE FUNCTION sf_records() RETURNS SETOF record LANGUAGE sql AS 'SELECT id, name FROM sf_t';
SELECT * FROM sf_records() AS r(a int, b text) ORDER BY a;
-- Polymorphic, VARIADIC, defaults, overloads.
CREATE FUNCTION sf_first(anyarray) RETURNS anyelement LANGUAGE sql AS 'SELECT $1[1]';
SELECT sf_first(ARRAY[3, 4]), sf_first(ARRAY['x', 'y']), pg_typeof(sf_first(ARRAY[1.5]));
CREATE FUNCTION sf_pair(anycompatible, anycompatible) RETURNS anycompatiblearray LANGUAGE sql
  AS 'SELECT ARRAY[$1, $2]';
SELECT sf_pair(1, 2.5), pg_typeof(sf_pair(1, 2::bigint));
CREATE FUNCTION sf_sum(VARIADIC n int[]) RETURNS bigint LANGUAGE sql AS
  'SELECT sum(x) FROM unnest(n) x';
SELECT sf_sum(1), sf_sum(1, 2, 3), sf_sum(VARIADIC ARRAY[4, 5]);
SELECT sf_sum();
CREATE FUNCTION sf_defaults(a int, b int DEFAULT 10, c text DEFAULT 'c') RETURNS text LANGUAGE sql
  AS 'SELECT a || '' '' || b || '' '' || c';
SELECT sf_defaults(1), sf_defaults(1, 2), sf_defaults(1, 2, 'x'), sf_defaults(1, c => 'y'),
  sf_defaults(c => 'z', a => 5);
SELECT sf_defaults();
SELECT sf_defaults(b => 1);
SELECT sf_defaults(1, nosuch => 2);
CREATE FUNCTION sf_over(int) RETURNS text LANGUAGE sql AS 'SELECT ''int''';
CREATE FUNCTION sf_over(text) RETURNS text LANGUAGE sql AS 'SELECT ''text''';
CREATE FUNCTION sf_over(numeric) RETURNS text LANGUAGE sql AS 'SELECT ''numeric''';
SELECT sf_over(1), sf_over('x'), sf_over(1.5), sf_over(1::bigint), sf_over(1::smallint);
SELECT sf_over(1, 2);
SELECT sf_over(now());
CREATE FUNCTION sf_over(int, int DEFAULT 1) RETURNS text LANGUAGE sql AS 'SELECT ''two''';
SELECT sf_over(1);
SELECT sf_over(1, 2);
-- STRICT.
CREATE FUNCTION sf_strict(int) RETURNS text LANGUAGE sql STRICT AS 'SELECT ''called''';
CREATE FUNCTION sf_not_strict(int) RETURNS text LANGUAGE sql AS 'SELECT ''called''';
SELECT sf_strict(NULL), sf_not_strict(NULL), sf_strict(1);
-- What is not VOLATILE changes nothing.
CREATE FUNCTION sf_stable() RETURNS void LANGUAGE sql STABLE AS 'DELETE FROM sf_t';
SELECT sf_stable();
-- Recursion.
CREATE FUNCTION sf_factorial(n numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 1::numeric';
CREATE OR REPLACE FUNCTION sf_factorial(n numeric) RETURNS numeric LANGUAGE sql AS
  'SELECT CASE WHEN n <= 1 THEN 1 ELSE n * sf_factorial(n - 1) END';
SELECT sf_factorial(20);
-- Prepared, replaced and dropped.
PREPARE sf_p AS SELECT sf_add($1, 10);
EXECUTE sf_p(1);
CREATE OR REPLACE FUNCTION sf_add(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT a - b';
EXECUTE sf_p(1);
CREATE FUNCTION sf_calls(int) RETURNS int LANGUAGE sql AS 'SELECT sf_add($1, 1)';
SELECT sf_calls(5);
CREATE OR REPLACE FUNCTION sf_add(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT a * 100 + b';
SELECT sf_calls(5);
DROP FUNCTION sf_add(int, int);
EXECUTE sf_p(1);
SELECT sf_calls(5);
-- Errors at creation.
CREATE FUNCTION sf_e() RETURNS int LANGUAGE sql AS 'SELEC 1';
CREATE FUNCTION sf_e() RETURNS int LANGUAGE sql AS $$
  SELECT nosuch FROM sf_t
$$;
CREATE FUNCTION sf_e() RETURNS int LANGUAGE sql AS 'SELECT ''it''''s'' || nosuch';
CREATE FUNCTION sf_e(a int) RETURNS int LANGUAGE sql AS 'SELECT b';
CREATE FUNCTION sf_e(int) RETURNS int LANGUAGE sql AS 'SELECT $2';
CREATE FUNCTION sf_e() RETURNS int LANGUAGE sql AS 'SELECT ''x''::text';
CREATE FUNCTION sf_e() RETURNS int LANGUAGE sql AS 'SELECT 1, 2';
CREATE FUNCTION sf_e() RETURNS int LANGUAGE sql AS '';
CREATE FUNCTION sf_e() RETURNS int LANGUAGE sql AS 'DELETE FROM sf_t';
CREATE FUNCTION sf_e() RETURNS int LANGUAGE sql AS 'SELECT 1; CREATE TABLE sf_x (a int)';
CREATE FUNCTION sf_e() RETURNS sf_t LANGUAGE sql AS 'SELECT 1, ''x''';
CREATE FUNCTION sf_e() RETURNS sf_t LANGUAGE sql AS 'SELECT 1, ''x'', 1.5, 4';
CREATE FUNCTION sf_e() RETURNS sf_t LANGUAGE sql AS 'SELECT 1, now(), 1.5';
CREATE FUNCTION sf_e(OUT a int, OUT b date) LANGUAGE sql AS 'SELECT 1, 2';
CREATE FUNCTION sf_e(int) RETURNS TABLE (a int) LANGUAGE sql AS 'SELECT ''x''::text';
CREATE FUNCTION sf_e(anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT nosuch';
CREATE FUNCTION sf_e(anyelement, int) RETURNS anyelement LANGUAGE sql AS 'SELEC';
SELECT sf_e(1);
-- Errors while it runs.
CREATE FUNCTION sf_divide(int) RETURNS int LANGUAGE sql VOLATILE AS $$
  SELECT 1;
  SELECT 10 / $1 FROM sf_t LIMIT 1
$$;
SELECT sf_divide(5);
SELECT sf_divide(0);
CREATE FUNCTION sf_outer() RETURNS int LANGUAGE sql AS 'SELECT sf_divide(0) FROM sf_t';
SELECT sf_outer();
SET check_function_bodies = off;
CREATE FUNCTION sf_late() RETURNS int LANGUAGE sql AS $$
  SELECT a
  FROM sf_nosuch
$$;
RESET check_function_bodies;
SELECT sf_late();
CREATE TABLE sf_nosuch (a int);
INSERT INTO sf_nosuch VALUES (5);
SELECT sf_late();
ALTER TABLE sf_nosuch ALTER a TYPE text;
SELECT sf_late();
-- Procedures.
CREATE PROCEDURE sf_proc(a int, INOUT b text) LANGUAGE sql AS $$
  INSERT INTO sf_t VALUES (a, b);
  SELECT b || '!';
$$;
CALL sf_proc(50, 'fifty');
CREATE PROCEDURE sf_proc_nothing(a int) LANGUAGE sql AS 'DELETE FROM sf_t WHERE id = a';
CALL sf_proc_nothing(50);
SELECT count(*) FROM sf_t;
SELECT sf_proc_nothing(1);
CALL sf_name(1);
CREATE PROCEDURE sf_commit() LANGUAGE sql AS 'COMMIT';
CALL sf_commit();
-- In defaults, checks, indexes, views, and with settings.
CREATE FUNCTION sf_twice(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
CREATE TABLE sf_u (a int CHECK (sf_twice(a) < 100), b int DEFAULT sf_twice(21),
  c int GENERATED ALWAYS AS (sf_twice(a)) STORED);
INSERT INTO sf_u (a) VALUES (5) RETURNING *;
INSERT INTO sf_u (a) VALUES (60);
CREATE INDEX ON sf_u (sf_twice(a));
ALTER TABLE sf_u ADD COLUMN d int DEFAULT sf_twice(4), ADD CHECK (sf_twice(a) > 0);
SELECT * FROM sf_u;
CREATE VIEW sf_v AS SELECT sf_twice(a) AS x FROM sf_u;
SELECT * FROM sf_v;
SELECT pg_get_viewdef('sf_v');
\d sf_u
CREATE FUNCTION sf_path() RETURNS text LANGUAGE sql SET search_path = pg_catalog
  AS 'SELECT current_setting(''search_path'')';
SELECT sf_path(), current_setting('search_path');
-- A view keeps what a call leaves to defaults.
CREATE VIEW sf_w AS SELECT sf_defaults(1) AS a, sf_defaults(1, 2) AS b, sf_defaults(1, c => 'y') AS c;
SELECT pg_get_viewdef('sf_w');
SELECT * FROM sf_w;
CREATE OR REPLACE FUNCTION sf_defaults(a int, b int DEFAULT 20, c text DEFAULT 'd') RETURNS text
  LANGUAGE sql AS 'SELECT a || '' '' || b || '' '' || c';
SELECT * FROM sf_w;
