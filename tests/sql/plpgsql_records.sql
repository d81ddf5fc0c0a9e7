-- PL/pgSQL: records and row types.
-- PostgreSQL 15 differs: CONTEXT says "SQL expression", and a mismatch of columns names the column
CREATE TABLE emp (id int, name text, pay numeric(8, 2));
INSERT INTO emp VALUES (1, 'ann', 10), (2, 'bob', 20.5);
CREATE FUNCTION rec(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; e emp; f emp%ROWTYPE;
BEGIN
  SELECT * INTO r FROM emp WHERE id = n;
  e := r;
  f.id := 7; f.name := 'made'; f.pay := 1.234;
  r.name := upper(r.name);
  RETURN r::text || e::text || f::text || e.name || (r.pay + f.pay);
END $$;
SELECT rec(1), rec(2);
SELECT rec(3);
CREATE FUNCTION whole() RETURNS emp LANGUAGE plpgsql AS $$
DECLARE e emp;
BEGIN
  SELECT * INTO e FROM emp WHERE id = 2;
  e.pay := e.pay * 2;
  RETURN e;
END $$;
SELECT whole(), (whole()).name;
SELECT * FROM whole();
CREATE FUNCTION made() RETURNS emp LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(5, 'five', 5.5)::emp; END $$;
SELECT * FROM made();
CREATE FUNCTION made_row() RETURNS record LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(1, 'a'::text); END $$;
SELECT * FROM made_row() AS t(a int, b text);
SELECT * FROM made_row() AS t(a int, b int);
SELECT made_row();
CREATE FUNCTION all_emps() RETURNS SETOF emp LANGUAGE plpgsql AS $$
DECLARE e emp;
BEGIN
  FOR e IN SELECT * FROM emp ORDER BY id LOOP
    e.name := e.name || '+';
    RETURN NEXT e;
  END LOOP;
  RETURN NEXT ROW(9, 'nine', 9)::emp;
  RETURN QUERY SELECT * FROM emp WHERE id = 1;
END $$;
SELECT * FROM all_emps();
SELECT (all_emps()).name;
CREATE FUNCTION takes_row(e emp) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF e IS NULL THEN RETURN 'null row'; END IF;
  RETURN e.id || ':' || e.name;
END $$;
SELECT takes_row(emp) FROM emp ORDER BY id;
SELECT takes_row(NULL), takes_row(ROW(3, 'x', 1)::emp);
CREATE FUNCTION nulls_row() RETURNS text LANGUAGE plpgsql AS $$
DECLARE e emp; r record; out text := '';
BEGIN
  out := out || (e IS NULL) || coalesce(e.name, 'nil');
  SELECT * INTO e FROM emp WHERE false;
  out := out || (e IS NULL);
  SELECT * INTO r FROM emp WHERE false;
  out := out || (r IS NULL) || coalesce(r.name, 'nil');
  SELECT * INTO e FROM emp WHERE id = 1;
  e := NULL;
  out := out || (e IS NULL) || coalesce(e.id, -1);
  RETURN out;
END $$;
SELECT nulls_row();
CREATE FUNCTION few() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a int; b text; c int;
BEGIN
  SELECT 1, 'x' INTO a, b, c;
  SELECT 5, 'y', 6, 7 INTO a, b;
  RETURN a || b || coalesce(c, -1);
END $$;
SELECT few();
CREATE FUNCTION shapes(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; out text := '';
BEGIN
  FOR i IN 1..n LOOP
    IF i % 2 = 0 THEN SELECT i AS v INTO r; ELSE SELECT 'odd' || i AS v INTO r; END IF;
    out := out || r::text;
  END LOOP;
  RETURN out;
END $$;
SELECT shapes(4);
CREATE FUNCTION fields_of_row() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; n int; e emp;
BEGIN
  SELECT id, emp AS whole INTO r FROM emp WHERE id = 1;
  e := r.whole;
  n := (r.whole).id + 1;
  RETURN e.name || n || (SELECT count(*) FROM emp WHERE emp.id = r.id);
END $$;
SELECT fields_of_row();
CREATE FUNCTION inserts() RETURNS int LANGUAGE plpgsql AS $$
DECLARE e emp;
BEGIN
  e.id := 50; e.name := 'fifty';
  INSERT INTO emp VALUES (e.*);
  INSERT INTO emp SELECT e.id + 1, e.name, 3;
  UPDATE emp SET name = e.name || '!' WHERE id = e.id;
  RETURN (SELECT count(*) FROM emp WHERE id >= 50);
END $$;
SELECT inserts();
SELECT * FROM emp ORDER BY id;
DO $$ DECLARE r record; BEGIN r := ROW(1, 'two'::text, 3.5); RAISE NOTICE '% % %', r.f1, r.f2, r.f3; END $$;
DO $$ DECLARE r record; s record; BEGIN SELECT 1 AS a, 2 AS b INTO r; s := r; s.a := 9; RAISE NOTICE '% % %', r, s, s.b; END $$;
DO $$ DECLARE e emp; BEGIN e := ROW('x', 'y', 1); END $$;
DO $$ DECLARE e emp; BEGIN e.nope := 1; END $$;
DO $$ DECLARE e emp; BEGIN RAISE NOTICE '%', e.nope; END $$;
DO $$ DECLARE e emp; x int; BEGIN x := e; END $$;
CREATE FUNCTION bad_row() RETURNS emp LANGUAGE plpgsql AS $$ BEGIN RETURN 5; END $$;
SELECT bad_row();
CREATE FUNCTION bad_next() RETURNS SETOF emp LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; RETURN NEXT r; END $$;
SELECT * FROM bad_next();
CREATE FUNCTION unassigned_next() RETURNS SETOF emp LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN RETURN NEXT r; END $$;
SELECT * FROM unassigned_next();
ALTER TABLE emp ADD COLUMN extra int DEFAULT 7;
SELECT whole();
ALTER TABLE emp DROP COLUMN name;
SELECT whole();
-- The first column of another type counts before the number of columns.
CREATE FUNCTION of_three() RETURNS record LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(1, 2, 3); END $$;
SELECT * FROM of_three() x(a int, b text);
SELECT * FROM of_three() x(a int, b int);
SELECT * FROM of_three() x(a int, b int, c int, d int);
CREATE FUNCTION of_three_rows() RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 1, 2, 3; END $$;
SELECT * FROM of_three_rows();
-- A field of a variable is a constant when a statement is planned.
CREATE TYPE of_texts AS (x int, y text);
CREATE TABLE of_no_rows (a int);
DO $$ DECLARE k of_texts := (1, 'one'); BEGIN UPDATE of_no_rows SET a = (k.y)::int; END $$;
DO $$ DECLARE k of_texts := (1, 'one'); BEGIN UPDATE of_no_rows SET a = k.x; UPDATE of_no_rows SET a = k.y::int WHERE a = 1; END $$;
DO $$ DECLARE k of_texts; BEGIN UPDATE of_no_rows SET a = (k.y)::int; k.y := '7'; UPDATE of_no_rows SET a = (k.y)::int; END $$;
DO $$ DECLARE r record; BEGIN SELECT 'one' AS y INTO r; UPDATE of_no_rows SET a = r.y::int; END $$;
DO $$ DECLARE r record; BEGIN SELECT ROW(1, 'one')::of_texts AS k INTO r; UPDATE of_no_rows SET a = (r.k).y::int; END $$;
DROP TABLE of_no_rows;
DROP TYPE of_texts;
