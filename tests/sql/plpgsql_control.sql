-- PL/pgSQL: IF, CASE, loops, EXIT and CONTINUE.
CREATE FUNCTION sign_of(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF i > 0 THEN RETURN 'positive';
  ELSIF i < 0 THEN RETURN 'negative';
  ELSEIF i = 0 THEN RETURN 'zero';
  ELSE RETURN 'unknown';
  END IF;
END $$;
SELECT sign_of(5), sign_of(-5), sign_of(0), sign_of(NULL);
CREATE FUNCTION cases(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  CASE i
    WHEN 1 THEN r := 'one';
    WHEN 2, 3 THEN r := 'two or three';
    ELSE r := 'many';
  END CASE;
  CASE
    WHEN i > 10 THEN r := r || ' big';
    WHEN i IS NULL THEN r := r || ' null';
    ELSE
  END CASE;
  RETURN r;
END $$;
SELECT cases(1), cases(3), cases(11), cases(NULL);
CREATE FUNCTION case_text(t text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  CASE t WHEN 'a' THEN RETURN 1; WHEN 'b' THEN RETURN 2; END CASE;
  RETURN 3;
END $$;
SELECT case_text('a'), case_text('b');
SELECT case_text('c');
CREATE FUNCTION loops(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text := ''; i int := 0;
BEGIN
  LOOP
    i := i + 1;
    EXIT WHEN i > n;
    CONTINUE WHEN i % 2 = 0;
    r := r || i || ',';
  END LOOP;
  WHILE i > 0 LOOP
    i := i - 2;
    r := r || 'w' || i;
  END LOOP;
  FOR k IN REVERSE n..1 BY 2 LOOP
    r := r || 'r' || k;
  END LOOP;
  FOR k IN 1..0 LOOP r := r || 'never'; END LOOP;
  r := r || FOUND;
  RETURN r;
END $$;
SELECT loops(5);
CREATE FUNCTION nested() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text := '';
BEGIN
  <<outer>>
  FOR i IN 1..5 LOOP
    <<inner>>
    FOR j IN 1..5 LOOP
      CONTINUE outer WHEN j = 3 AND i < 3;
      EXIT outer WHEN i = 4;
      EXIT inner WHEN j > i;
      r := r || i || j || ' ';
    END LOOP inner;
    r := r || '| ';
  END LOOP outer;
  <<blk>>
  BEGIN
    r := r || 'in';
    EXIT blk;
    r := r || 'never';
  END blk;
  RETURN r;
END $$;
SELECT nested();
CREATE FUNCTION bounds(a int, b int, c int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 0;
BEGIN
  FOR i IN a..b BY c LOOP n := n + 1; END LOOP;
  RETURN n;
END $$;
SELECT bounds(1, 10, 3), bounds(2147483640, 2147483647, 1), bounds(2147483640, 2147483647, 5);
SELECT bounds(NULL, 1, 1);
SELECT bounds(1, NULL, 1);
SELECT bounds(1, 1, NULL);
SELECT bounds(1, 1, 0);
SELECT bounds(1, 1, -1);
CREATE FUNCTION shadow() RETURNS text LANGUAGE plpgsql AS $$
DECLARE i text := 'kept';
BEGIN
  FOR i IN 1..3 LOOP NULL; END LOOP;
  RETURN i;
END $$;
SELECT shadow();
CREATE FUNCTION assigned_in_loop() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text := '';
BEGIN
  FOR i IN 1..3 LOOP i := i * 10; r := r || i || ' '; END LOOP;
  RETURN r;
END $$;
SELECT assigned_in_loop();
CREATE TABLE rows_of (a int, b text);
INSERT INTO rows_of SELECT g, 'r' || g FROM generate_series(1, 120) g;
CREATE FUNCTION over_query(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; s int := 0; x int; y text; last text;
BEGIN
  FOR r IN SELECT * FROM rows_of WHERE a <= n ORDER BY a LOOP
    s := s + r.a;
    last := r.b;
  END LOOP;
  FOR x, y IN SELECT a, b FROM rows_of WHERE a > n ORDER BY a LIMIT 2 LOOP
    last := last || y || x;
  END LOOP;
  FOR r IN EXECUTE 'SELECT b FROM rows_of WHERE a = $1' USING n LOOP
    last := last || '!' || r.b;
  END LOOP;
  FOR r IN SELECT a FROM rows_of WHERE false LOOP NULL; END LOOP;
  RETURN s || ' ' || last || ' ' || FOUND || ' ' || (r IS NULL);
END $$;
SELECT over_query(3), over_query(120);
CREATE FUNCTION each(a int[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE i int; r text := '';
BEGIN
  FOREACH i IN ARRAY a LOOP
    CONTINUE WHEN i = 2;
    r := r || coalesce(i::text, 'null') || ';';
  END LOOP;
  RETURN r || FOUND;
END $$;
SELECT each('{1,2,3,NULL}'), each('{}'), each('{{1,2},{3,4}}');
SELECT each(NULL);
CREATE FUNCTION slices(a int[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s int[]; r text := '';
BEGIN
  FOREACH s SLICE 1 IN ARRAY a LOOP r := r || s::text; END LOOP;
  RETURN r;
END $$;
SELECT slices('{{1,2},{3,4}}'), slices('{5,6}'), slices('{{{1},{2}},{{3},{4}}}');
SELECT slices('{}');
DO $$ DECLARE i int; BEGIN FOREACH i IN ARRAY 5 LOOP NULL; END LOOP; END $$;
DO $$ DECLARE i int; BEGIN FOREACH i SLICE 1 IN ARRAY ARRAY[1] LOOP NULL; END LOOP; END $$;
DO $$ DECLARE i int[]; BEGIN FOREACH i IN ARRAY ARRAY[1] LOOP NULL; END LOOP; END $$;
DO $$ DECLARE i int[]; BEGIN FOREACH i SLICE 3 IN ARRAY ARRAY[1] LOOP NULL; END LOOP; END $$;
DO $$ DECLARE x int; y int; BEGIN FOREACH x, y IN ARRAY ARRAY[ROW(1, 2), ROW(3, 4)] LOOP RAISE NOTICE '% %', x, y; END LOOP; END $$;
CREATE FUNCTION collatz(n bigint) RETURNS int LANGUAGE plpgsql AS $$
DECLARE steps int := 0;
BEGIN
  WHILE n <> 1 LOOP
    IF n % 2 = 0 THEN n := n / 2; ELSE n := 3 * n + 1; END IF;
    steps := steps + 1;
  END LOOP;
  RETURN steps;
END $$;
SELECT collatz(27), collatz(97);
CREATE FUNCTION deep(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN n = 0 THEN 0 ELSE 1 + deep(n - 1) END; END $$;
SELECT deep(200);
