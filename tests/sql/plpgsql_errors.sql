-- PL/pgSQL: errors at run time and their context.
-- PostgreSQL 15 differs: CONTEXT says "SQL expression", and the parameters of column mismatches are newer
\set SHOW_CONTEXT always
CREATE FUNCTION divides(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN a / b;
END $$;
SELECT divides(1, 0);
CREATE FUNCTION calls(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r int;
BEGIN
  r := 1;
  r := divides(r, a);
  RETURN r;
END $$;
SELECT calls(0);
CREATE FUNCTION performs() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM calls(0);
END $$;
SELECT performs();
CREATE FUNCTION in_query() RETURNS void LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SELECT calls(g) INTO n FROM generate_series(-1, 1) g;
END $$;
SELECT in_query();
CREATE FUNCTION in_default() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  a int := 1;
  b int := a / 0;
BEGIN
END $$;
SELECT in_default();
CREATE FUNCTION in_default_cast(t text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  b int := t;
BEGIN
END $$;
SELECT in_default_cast('zz');
DO $$ DECLARE n int; BEGIN n := 'abc'; END $$;
DO $$ DECLARE n int := 'abc'; BEGIN NULL; END $$;
DO $$
DECLARE n int NOT NULL := 1;
BEGIN
  n := NULL;
END $$;
DO $$ DECLARE n int NOT NULL := NULL; BEGIN END $$;
CREATE FUNCTION bad_return() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 'x1'; END $$;
SELECT bad_return();
CREATE FUNCTION no_table() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO missing VALUES (1);
END $$;
SELECT no_table();
CREATE FUNCTION no_column() RETURNS void LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
  x := 1 + nope;
END $$;
SELECT no_column();
DO $$ BEGIN SELECT 1; END $$;
DO $$ DECLARE i int; BEGIN CREATE TEMP TABLE zz (i int) INTO i; END $$;
DO $$ BEGIN PERFORM 1 +; END $$;
DO $$ DECLARE x int; BEGIN x := (SELECT 1 UNION ALL SELECT 2); END $$;
DO $$ DECLARE x int; BEGIN SELECT g INTO STRICT x FROM generate_series(1, 2) g; END $$;
DO $$ DECLARE x int; BEGIN SELECT 1 INTO STRICT x WHERE false; END $$;
CREATE FUNCTION strict_params(a int, b text) RETURNS int LANGUAGE plpgsql AS $$
#print_strict_params on
DECLARE x int;
BEGIN
  SELECT 1 INTO STRICT x WHERE a = 1 AND b = 'q''s';
  RETURN x;
END $$;
SELECT strict_params(1, 'q''s');
SELECT strict_params(2, 'q''s');
SELECT strict_params(NULL, NULL);
DO $$
#print_strict_params on
DECLARE x int;
BEGIN
  EXECUTE 'SELECT g FROM generate_series(1, $1) g' INTO STRICT x USING 2;
END $$;
DO $$ DECLARE t text; BEGIN EXECUTE t; END $$;
DO $$ BEGIN EXECUTE 'SELECT * FROM missing'; END $$;
DO $$ BEGIN EXECUTE 'SELECT 1/0'; END $$;
DO $$ BEGIN EXECUTE 'SELECTT'; END $$;
DO $$ BEGIN EXECUTE 'COMMIT'; END $$;
DO $$ BEGIN SAVEPOINT a; END $$;
DO $$ DECLARE r record; BEGIN RAISE NOTICE '%', r.x; END $$;
DO $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; RAISE NOTICE '%', r.x; END $$;
DO $$ DECLARE r record; BEGIN r.x := 1; END $$;
DO $$ DECLARE r record; BEGIN r := 5; END $$;
DO $$ DECLARE a int := 1; BEGIN a[1] := 2; END $$;
DO $$ DECLARE x int; BEGIN x := ROW(1, 2); END $$;
CREATE FUNCTION ambiguous(a int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT a FROM (VALUES (7)) AS v(a));
END $$;
SELECT ambiguous(1);
CREATE FUNCTION prefers_variable(a int) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  RETURN (SELECT a FROM (VALUES (7)) AS v(a));
END $$;
CREATE FUNCTION prefers_column(a int) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN (SELECT a FROM (VALUES (7)) AS v(a));
END $$;
SELECT prefers_variable(1), prefers_column(1);
SET plpgsql.variable_conflict = use_column;
SELECT ambiguous(1);
RESET plpgsql.variable_conflict;
CREATE FUNCTION wrong_query() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 'a'::text; END $$;
SELECT * FROM wrong_query();
CREATE FUNCTION wrong_count() RETURNS TABLE (a int, b int) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 1; END $$;
SELECT * FROM wrong_count();
CREATE FUNCTION infinite(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN infinite(n + 1); END $$;
DO $$
BEGIN
  PERFORM infinite(1);
EXCEPTION WHEN statement_too_complex THEN
  RAISE NOTICE '%', SQLERRM;
END $$;
SET statement_timeout = 100;
DO $$ BEGIN LOOP NULL; END LOOP; END $$;
DO $$ BEGIN WHILE true LOOP END LOOP; END $$;
DO $$ DECLARE i int := 0; BEGIN LOOP i := i + 1; i := i - 1; END LOOP; END $$;
RESET statement_timeout;
SELECT 1;
