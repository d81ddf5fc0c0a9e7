-- Loops that compute: integers of all widths, texts and arrays that grow. A call specialises the
-- instructions of a loop after their first run, so each error here comes in a later round, too.

CREATE TABLE numbers (n int, c text);
INSERT INTO numbers VALUES (1, 'a'), (2, NULL), (3, 'c');

-- Overflow at each width: the error is that of the statement's line, and what was computed stays.
CREATE FUNCTION over2(by int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v smallint := 32760; rounds int := 0;
BEGIN
  BEGIN
    FOR i IN 1..100 LOOP
      rounds := i;
      v := v + by;
    END LOOP;
  EXCEPTION WHEN numeric_value_out_of_range THEN
    RAISE NOTICE '% % % %', SQLSTATE, SQLERRM, v, rounds;
  END;
  RETURN v || ' ' || rounds;
END $$;
SELECT over2(1), over2(3), over2(-9);

CREATE FUNCTION over4(by int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v int := 2147483600;
BEGIN
  FOR i IN 1..100 LOOP
    v := v + by;
  END LOOP;
  RETURN v;
END $$;
SELECT over4(0);
SELECT over4(1);
SELECT over4(-1);

CREATE FUNCTION over8(times int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint := 3;
BEGIN
  FOR i IN 1..times LOOP
    v := v * v;
  END LOOP;
  RETURN v;
END $$;
SELECT over8(5);
SELECT over8(6);

-- A wide sum in a narrow variable; division by zero in a later round.
DO $$
DECLARE narrow int := 0; wide bigint := 2147483600;
BEGIN
  FOR i IN 1..100 LOOP
    wide := wide + 1;
    narrow := wide;
  END LOOP;
END $$;
DO $$
DECLARE v int := 100;
BEGIN
  FOR i IN REVERSE 5..0 LOOP
    v := v + 100 / i;
    RAISE NOTICE '%', v;
  END LOOP;
END $$;

-- The loops' bounds: the first and the last integers.
DO $$
DECLARE rounds int := 0; total bigint := 0;
BEGIN
  FOR i IN 2147483645..2147483647 LOOP rounds := rounds + 1; total := total + i; END LOOP;
  FOR i IN REVERSE -2147483646..-2147483648 LOOP rounds := rounds + 1; total := total + i; END LOOP;
  FOR i IN 2147483640..2147483647 BY 5 LOOP rounds := rounds + 1; total := total + i; END LOOP;
  FOR i IN REVERSE 10..1 BY 4 LOOP rounds := rounds + 1; total := total + i; END LOOP;
  RAISE NOTICE '% % %', rounds, total, FOUND;
  FOR i IN 2..1 LOOP rounds := rounds + 1; END LOOP;
  RAISE NOTICE '% %', rounds, FOUND;
END $$;
DO $$ BEGIN FOR j IN 1..2 LOOP FOR i IN 1..10 BY 1 - j LOOP NULL; END LOOP; END LOOP; END $$;
DO $$
DECLARE upper int := 3;
BEGIN
  FOR j IN 1..3 LOOP
    FOR i IN 1..upper LOOP NULL; END LOOP;
    upper := NULL;
  END LOOP;
END $$;

-- The loop's variable is the body's to change. The rounds stay the same.
DO $$
DECLARE rounds int := 0; total int := 0;
BEGIN
  FOR i IN 1..5 LOOP
    i := i * 10;
    total := total + i;
    rounds := rounds + 1;
  END LOOP;
  RAISE NOTICE '% %', rounds, total;
END $$;

-- NULLs and NOT NULL.
DO $$
DECLARE v int; w int NOT NULL := 1; b boolean;
BEGIN
  FOR i IN 1..4 LOOP
    v := v + i;
    b := v > 2;
    IF v > i THEN RAISE NOTICE 'more'; ELSIF b IS NULL THEN RAISE NOTICE 'unknown'; END IF;
    IF i = 2 THEN v := 7; END IF;
    RAISE NOTICE '% %', v, b;
  END LOOP;
  FOR i IN 1..3 LOOP
    IF i = 3 THEN v := NULL; END IF;
    w := v;
  END LOOP;
END $$;

-- EXIT and CONTINUE through several loops, and what FOUND is after them.
DO $$
DECLARE total int := 0;
BEGIN
  PERFORM 1 FROM numbers WHERE false;
  <<outermost>>
  FOR i IN 1..5 LOOP
    <<middle>>
    WHILE true LOOP
      FOR j IN 1..9 LOOP
        total := total + 1;
        CONTINUE outermost WHEN j = i;
        EXIT middle WHEN j + i = 7;
        EXIT outermost WHEN total > 11;
      END LOOP;
    END LOOP;
    total := total + 100;
  END LOOP;
  RAISE NOTICE '% %', total, FOUND;
END $$;
DO $$
DECLARE total int := 0; r record;
BEGIN
  <<block>>
  BEGIN
    FOR r IN SELECT n FROM numbers ORDER BY n LOOP
      FOR i IN 1..3 LOOP
        BEGIN
          total := total + r.n * i;
          CONTINUE WHEN i = 2;
          EXIT WHEN total > 5;
          EXIT block WHEN total > 1000;
        EXCEPTION WHEN division_by_zero THEN
          NULL;
        END;
      END LOOP;
      total := total + 10;
    END LOOP;
  END;
  RAISE NOTICE '% %', total, FOUND;
END $$;

-- CASE in a loop, with subjects of two types.
DO $$
DECLARE found_so text := '';
BEGIN
  FOR i IN 1..6 LOOP
    CASE i % 4
      WHEN 0 THEN found_so := found_so || 'zero ';
      WHEN 1, 2 THEN found_so := found_so || 'some ';
      ELSE found_so := found_so || 'else ';
    END CASE;
    CASE WHEN i > 4 THEN found_so := found_so || 'more '; ELSE END CASE;
  END LOOP;
  RAISE NOTICE '%', found_so;
  FOR i IN 1..3 LOOP
    CASE i WHEN 1 THEN NULL; WHEN 2 THEN NULL; END CASE;
  END LOOP;
END $$;

-- A function of another schema that the search path puts first, from a round on.
CREATE SCHEMA mine;
CREATE FUNCTION amount(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION mine.amount(int) RETURNS int LANGUAGE sql AS 'SELECT -$1';
CREATE FUNCTION odd_sums() RETURNS int LANGUAGE plpgsql AS $$
DECLARE v int := 0;
BEGIN
  FOR i IN 1..6 LOOP
    IF i = 4 THEN SET search_path = mine, pg_catalog, public; END IF;
    v := v + amount(i);
    v := v + 1;
    RAISE NOTICE '%', v;
  END LOOP;
  RESET search_path;
  RETURN v;
END $$;
SELECT odd_sums();
SELECT odd_sums();

-- A text that grows: read in between, given away, NULL, and after an error.
CREATE FUNCTION seen(t text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN length(t); END $$;
DO $$
DECLARE s text := repeat('s', 100); t text; u text := ''; total int := 0;
BEGIN
  FOR i IN 1..50 LOOP
    s := s || 'x' || i;
    IF i % 10 = 0 THEN
      t := s;
      s := s || '!';
      total := total + seen(s) + seen(t);
    END IF;
    u := u || i;
  END LOOP;
  RAISE NOTICE '% % % %', length(s), length(t), total, md5(s || t || u);
  FOR i IN 1..3 LOOP
    BEGIN
      s := s || 'lost' || (1 / (i - 2));
    EXCEPTION WHEN division_by_zero THEN
      RAISE NOTICE '% %', SQLERRM, right(s, 8);
    END;
  END LOOP;
  RAISE NOTICE '%', right(s, 16);
  FOR i IN 1..3 LOOP
    s := s || 'y' || nullif(i, 3);
    RAISE NOTICE '%', right(s, 4);
  END LOOP;
  s := s || 'z';
  RAISE NOTICE '%', s;
END $$;
DO $$
DECLARE s text NOT NULL := repeat('s', 100);
BEGIN
  FOR i IN 1..3 LOOP s := s || nullif(i, 3); END LOOP;
EXCEPTION WHEN null_value_not_allowed THEN
  RAISE NOTICE '% %', SQLERRM, right(s, 4);
END $$;
DO $$
DECLARE s varchar(103) := repeat('s', 100); p text := repeat('p', 64);
BEGIN
  FOR i IN 1..3 LOOP
    p := p || left(p, i);
    p := substr(p, 2);
    INSERT INTO numbers VALUES (i + 10, p);
  END LOOP;
  RAISE NOTICE '% %', p, (SELECT string_agg(right(c, 3), ',' ORDER BY n) FROM numbers WHERE n > 10);
  FOR i IN 1..5 LOOP s := s || 'v'; END LOOP;
END $$;
CREATE FUNCTION grown(times int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text := repeat('-', 64);
BEGIN
  FOR i IN 1..times LOOP s := s || chr(64 + i); END LOOP;
  RETURN s;
END $$;
SELECT grown(0), grown(3), grown(20);

-- Arrays: appended to and filled, given away, passed on, out of their bounds.
CREATE FUNCTION filled(size int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE a int[]; b int[]; total bigint := 0;
BEGIN
  FOR i IN 1..size LOOP
    a := a || i;
    IF i = 3 THEN b := a; END IF;
    a[i] := a[i] * 10;
    total := total + a[i];
  END LOOP;
  RAISE NOTICE '% % %', a, b, total;
  FOR i IN REVERSE size..1 LOOP
    b[i] := a[size + 1 - i];
  END LOOP;
  FOR i IN 1..2 LOOP
    b[size + 2 * i] := i;
    b := b || NULL;
    b[-i] := i;
  END LOOP;
  RETURN b;
END $$;
SELECT filled(5);
DO $$
DECLARE a bigint[]; m int[] := '{{1,2},{3,4}}'; total bigint := 0; x int;
BEGIN
  FOR i IN 1..3 LOOP
    a := array_append(a, 4000000000 + i);
    x := i;
    FOREACH x IN ARRAY a LOOP total := total + x; END LOOP;
  END LOOP;
EXCEPTION WHEN numeric_value_out_of_range THEN
  RAISE NOTICE '% % % %', SQLERRM, a, total, x;
  FOR i IN 1..3 LOOP
    total := total + m[i][1];
    RAISE NOTICE '%', total;
  END LOOP;
  m := m || 1;
END $$;
DO $$
DECLARE a smallint[] := '{1}';
BEGIN
  FOR i IN 1..3 LOOP
    a[i] := 32765 + i;
    RAISE NOTICE '%', a;
  END LOOP;
END $$;

-- Records of loops: a field that is summed, in records of other columns later.
CREATE FUNCTION of_rows() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE total bigint := 0; r record; kept record; c CURSOR FOR SELECT n FROM numbers WHERE n < 10 ORDER BY n;
BEGIN
  FOR i IN 1..2 LOOP
    FOR r IN c LOOP
      total := total + r.n;
    END LOOP;
    kept := r;
    FOR r IN SELECT x.c AS text, x.n * 2 AS n FROM numbers x WHERE x.n < 10 ORDER BY 2 LOOP
      total := total + r.n;
      IF r.n = 4 THEN kept := r; END IF;
      CONTINUE WHEN r.n < 6;
      RAISE NOTICE '% % %', total, r, kept;
    END LOOP;
  END LOOP;
  RETURN total;
END $$;
SELECT of_rows();
SELECT of_rows();
DO $$
DECLARE total int := 2147483643; r record; c CURSOR FOR SELECT n FROM numbers ORDER BY n;
BEGIN
  FOR r IN c LOOP
    total := total + r.n;
  END LOOP;
END $$;
DO $$
DECLARE r record; c CURSOR FOR SELECT n FROM numbers ORDER BY n; q int; seen text := '';
BEGIN
  -- The body moves the loop's own cursor.
  FOR r IN c LOOP
    q := r.n;
    IF q = 1 THEN FETCH c INTO q; END IF;
    seen := seen || q || ' ';
  END LOOP;
  RAISE NOTICE '% %', seen, FOUND;
END $$;

DROP SCHEMA mine CASCADE;
DROP TABLE numbers;
