-- PL/pgSQL: functions, declarations, assignment, results.
CREATE FUNCTION add(a int, b int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a + b; END $$;
SELECT add(1, 2), add(NULL, 2), add(b => 3, a => 4);
CREATE FUNCTION declared() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  i int := 5;
  j CONSTANT bigint := i * 2;
  n numeric(5, 2) := 1.23456;
  v varchar(3) DEFAULT 'ab';
  t text;
  b boolean = true;
  d date NOT NULL := '2020-01-02';
  f double precision := 1;
BEGIN
  t := i || ' ' || j || ' ' || n || ' ' || v || ' ' || b || ' ' || d || ' ' || f;
  RETURN t;
END $$;
SELECT declared();
CREATE FUNCTION casts(t text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE i int; n numeric(4, 1);
BEGIN
  i := t;
  n := i * 1.26;
  i := n;
  RETURN i;
END $$;
SELECT casts('10');
SELECT casts('x');
SELECT casts('100000');
CREATE FUNCTION swap(INOUT a int, INOUT b text, OUT c int) LANGUAGE plpgsql AS $$
BEGIN
  c := a * 2;
  a := length(b);
  b := b || a;
END $$;
SELECT swap(1, 'abc');
SELECT * FROM swap(1, 'abc');
SELECT (swap(1, 'abc')).c;
CREATE FUNCTION one_out(a int, OUT r int) LANGUAGE plpgsql AS $$ BEGIN r := a + 1; END $$;
SELECT one_out(41), * FROM one_out(1);
CREATE FUNCTION nothing() RETURNS void LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;
SELECT nothing();
SELECT nothing() IS NULL;
CREATE FUNCTION series(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..n LOOP
    RETURN NEXT i * i;
  END LOOP;
END $$;
SELECT * FROM series(4);
SELECT series(3);
SELECT sum(s) FROM series(100) AS s;
SELECT * FROM series(0);
CREATE FUNCTION pairs(n int) RETURNS TABLE (i int, t text) LANGUAGE plpgsql AS $$
BEGIN
  FOR k IN 1..n LOOP
    i := k; t := repeat('x', k);
    RETURN NEXT;
  END LOOP;
  RETURN QUERY SELECT 100, 'end' UNION ALL SELECT 101, NULL ORDER BY 1;
END $$;
SELECT * FROM pairs(3);
SELECT pairs(1);
CREATE FUNCTION outs(OUT a int, OUT b int) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN a := 1; b := 2; RETURN NEXT; a := 3; RETURN NEXT; RETURN; END $$;
SELECT * FROM outs();
CREATE FUNCTION fact(n int) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
  IF n <= 1 THEN RETURN 1; END IF;
  RETURN n * fact(n - 1);
END $$;
SELECT fact(20), fact(30);
CREATE FUNCTION poly(a anyelement, b anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$
DECLARE r a%TYPE;
BEGIN
  r := CASE WHEN a > b THEN a ELSE b END;
  RETURN r;
END $$;
SELECT poly(1, 2), poly('a'::text, 'b'::text), poly(1.5, 0.5), pg_typeof(poly(1.5, 2));
CREATE FUNCTION poly_array(a anyarray) RETURNS anyelement LANGUAGE plpgsql AS $$
BEGIN RETURN a[1]; END $$;
SELECT poly_array(ARRAY[3, 4]), poly_array(ARRAY['x', 'y']), pg_typeof(poly_array('{a}'::text[]));
CREATE FUNCTION poly_made(a anyelement) RETURNS anyarray LANGUAGE plpgsql AS $$
BEGIN RETURN ARRAY[a, a]; END $$;
SELECT poly_made(1), poly_made('q'::text);
CREATE FUNCTION vari(VARIADIC a int[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE s int := 0;
BEGIN
  FOR i IN 1..coalesce(array_length(a, 1), 0) LOOP s := s + a[i]; END LOOP;
  RETURN s;
END $$;
SELECT vari(1), vari(1, 2, 3), vari(VARIADIC ARRAY[4, 5]);
CREATE FUNCTION numbered(int, text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a ALIAS FOR $1; b ALIAS FOR $2; c int := $1 + 1;
BEGIN RETURN a || b || c; END $$;
SELECT numbered(1, 'z');
CREATE FUNCTION labelled(x int) RETURNS text LANGUAGE plpgsql AS $$
<<outer>>
DECLARE x int := 2;
BEGIN
  DECLARE x int := 3;
  BEGIN
    RETURN labelled.x || ' ' || outer.x || ' ' || x;
  END;
END $$;
SELECT labelled(1);
CREATE TABLE things (id int PRIMARY KEY, name varchar(10), price numeric(8, 2));
INSERT INTO things VALUES (1, 'one', 1.5), (2, 'two', 2.5), (3, 'three', 3.5);
CREATE FUNCTION of_table(i things.id%TYPE) RETURNS things.name%TYPE LANGUAGE plpgsql AS $$
DECLARE
  n things.name%TYPE;
  r things%ROWTYPE;
BEGIN
  SELECT name INTO n FROM things WHERE id = i;
  SELECT * INTO r FROM things WHERE id = i;
  IF NOT FOUND THEN RETURN 'none'; END IF;
  RETURN n || ' ' || r.price || ' ' || r.id;
END $$;
SELECT of_table(2), of_table(9);
CREATE FUNCTION counts() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a bigint; b bigint; c bigint; f text := '';
BEGIN
  f := f || FOUND;
  UPDATE things SET price = price + 1 WHERE id < 3;
  GET DIAGNOSTICS a = ROW_COUNT;
  f := f || FOUND;
  DELETE FROM things WHERE id = 99;
  GET DIAGNOSTICS b = ROW_COUNT;
  f := f || FOUND;
  PERFORM 1 FROM things;
  GET DIAGNOSTICS c = ROW_COUNT;
  f := f || FOUND;
  RETURN a || ' ' || b || ' ' || c || ' ' || f;
END $$;
SELECT counts();
SELECT * FROM things ORDER BY id;
CREATE FUNCTION returning_into() RETURNS text LANGUAGE plpgsql AS $$
DECLARE i int; p numeric; r record;
BEGIN
  INSERT INTO things VALUES (4, 'four', 4) RETURNING id, price INTO i, p;
  UPDATE things SET price = price * 2 WHERE id = 4 RETURNING * INTO r;
  DELETE FROM things WHERE id = 4 RETURNING price INTO p;
  RETURN i || ' ' || p || ' ' || r.name;
END $$;
SELECT returning_into();
CREATE FUNCTION stricts(i int) RETURNS text LANGUAGE plpgsql STRICT AS $$ BEGIN RETURN 'called'; END $$;
SELECT stricts(1), stricts(NULL);
CREATE FUNCTION no_value(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF i > 0 THEN RETURN i; END IF; END $$;
SELECT no_value(1);
SELECT no_value(0);
CREATE FUNCTION nulls(OUT a int, OUT b text) LANGUAGE plpgsql AS $$ BEGIN END $$;
SELECT * FROM nulls();
SELECT add(id, 1) FROM things WHERE add(id, 0) > 1 ORDER BY 1;
PREPARE p(int) AS SELECT add($1, $1);
EXECUTE p(4);
CREATE OR REPLACE FUNCTION add(a int, b int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a * b; END $$;
EXECUTE p(4);
CREATE FUNCTION stable_sum() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN (SELECT sum(id) FROM things); END $$;
SELECT stable_sum();
CREATE FUNCTION stable_write() RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN INSERT INTO things VALUES (10, 'x', 1); END $$;
SELECT stable_write();
CREATE FUNCTION drops() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMP TABLE scratch (i int);
  INSERT INTO scratch SELECT generate_series(1, 10);
  RETURN (SELECT count(*) FROM scratch);
END $$;
SELECT drops();
DROP TABLE scratch;
SELECT drops();
