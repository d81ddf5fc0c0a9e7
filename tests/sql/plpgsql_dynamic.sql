-- PL/pgSQL: EXECUTE.
CREATE TABLE d (a int, b text);
CREATE FUNCTION fill(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE c bigint;
BEGIN
  EXECUTE 'INSERT INTO d SELECT g, ''t'' || g FROM generate_series(1, $1) g' USING n;
  GET DIAGNOSTICS c = ROW_COUNT;
  RETURN c;
END $$;
SELECT fill(5);
CREATE FUNCTION lookup(t regclass, col name, val int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  EXECUTE format('SELECT b FROM %s WHERE %I = $1', t, col) INTO r USING val;
  RETURN r;
END $$;
SELECT lookup('d', 'a', 3), lookup('d', 'a', 99);
DO $$
DECLARE r record; x int; y text;
BEGIN
  EXECUTE 'SELECT a, b FROM d ORDER BY a' INTO x, y;
  RAISE NOTICE '% %', x, y;
  EXECUTE 'SELECT a, b, a * 2 AS twice FROM d ORDER BY a DESC' INTO r;
  RAISE NOTICE '% %', r, r.twice;
  EXECUTE 'UPDATE d SET b = b || $2 WHERE a = $1 RETURNING b' INTO y USING 2, '!';
  RAISE NOTICE '%', y;
  EXECUTE 'SELECT 1 WHERE false' INTO x;
  RAISE NOTICE '%', x IS NULL;
  EXECUTE 'SELECT $1 + $2' USING 1, 2 INTO x;
  RAISE NOTICE '%', x;
END $$;
DO $$ DECLARE x int; BEGIN EXECUTE 'SELECT 1 WHERE false' INTO STRICT x; END $$;
DO $$ DECLARE x int; BEGIN EXECUTE 'SELECT a FROM d' INTO STRICT x; END $$;
DO $$ DECLARE x int; BEGIN EXECUTE 'UPDATE d SET a = a' INTO x; END $$;
DO $$ BEGIN EXECUTE 'CREATE TABLE d2 (i int); INSERT INTO d2 VALUES (1), (2)'; END $$;
SELECT * FROM d2;
DO $$ BEGIN EXECUTE ''; END $$;
DO $$ BEGIN EXECUTE 'SELECT 1 INTO x'; END $$;
DO $$
DECLARE r record;
BEGIN
  FOR i IN 1..3 LOOP
    EXECUTE 'CREATE TABLE part_' || i || ' (i int, j text)';
    EXECUTE format('INSERT INTO part_%s VALUES (%L, %L)', i, i * 10, 'it''s ' || i);
  END LOOP;
  FOR r IN EXECUTE 'SELECT * FROM part_1 UNION ALL SELECT * FROM part_2 UNION ALL SELECT * FROM part_3 ORDER BY 1' LOOP
    RAISE NOTICE '%', r;
  END LOOP;
END $$;
CREATE FUNCTION returns_dynamic(n int) RETURNS SETOF d LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE 'SELECT * FROM d WHERE a > $1 ORDER BY a' USING n;
  IF FOUND THEN RAISE NOTICE 'found'; END IF;
END $$;
SELECT * FROM returns_dynamic(3);
SELECT * FROM returns_dynamic(9);
CREATE FUNCTION types_of(a anyelement) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  EXECUTE 'SELECT pg_typeof($1)::text || $1::text' INTO r USING a;
  RETURN r;
END $$;
SELECT types_of(1), types_of('x'::text), types_of(ARRAY[1.5]), types_of('2020-01-01'::date);
DO $$ DECLARE x int; BEGIN EXECUTE 'SELECT $1::int' INTO x USING '42'; RAISE NOTICE '%', x; END $$;
DO $$ BEGIN EXECUTE 'SELECT $2' USING 1; END $$;
DO $$ BEGIN EXECUTE 'DO $x$ BEGIN RAISE NOTICE ''inner''; END $x$'; END $$;
-- print_strict_params has the variables in the order of their declarations.
CREATE FUNCTION strict_params(a int, t text) RETURNS void LANGUAGE plpgsql AS $$
#print_strict_params on
DECLARE r record;
BEGIN SELECT 1 INTO STRICT r WHERE t = 'x' AND a > 5 AND t <> '' AND a < 7; END $$;
SELECT strict_params(1, 'it''s');
SELECT strict_params(NULL, NULL);
