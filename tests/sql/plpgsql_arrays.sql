-- PL/pgSQL: arrays.
CREATE FUNCTION arr() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a int[]; b text[] := '{x,y}'; m int[] := '{{1,2},{3,4}}';
BEGIN
  a[1] := 10;
  a[3] := 30;
  b[0] := 'zero';
  m[2][1] := 99;
  a[2:2] := ARRAY[20];
  b[1:2] := ARRAY['p', 'q'];
  RETURN a::text || b::text || m::text || a[3] || coalesce(a[9], -1);
END $$;
SELECT arr();
CREATE FUNCTION fill_array(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE a int[]; s bigint := 0;
BEGIN
  FOR i IN 1..n LOOP a[i] := i; END LOOP;
  FOR i IN 1..n LOOP s := s + a[i]; END LOOP;
  RETURN s;
END $$;
SELECT fill_array(10000);
CREATE FUNCTION copies() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a int[] := '{1,2,3}'; b int[];
BEGIN
  b := a;
  b[1] := 100;
  a[3] := 300;
  RETURN a::text || b::text;
END $$;
SELECT copies();
CREATE FUNCTION sieve(n int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE composite boolean[] := array_fill(false, ARRAY[n]); r int[] := '{}'; j int;
BEGIN
  FOR i IN 2..n LOOP
    IF NOT composite[i] THEN
      r := r || i;
      j := i * i;
      WHILE j <= n LOOP composite[j] := true; j := j + i; END LOOP;
    END IF;
  END LOOP;
  RETURN r;
END $$;
SELECT sieve(50);
CREATE TABLE holder (id int, tags text[], nums int[]);
CREATE FUNCTION in_record() RETURNS text LANGUAGE plpgsql AS $$
DECLARE h holder; r record;
BEGIN
  h.tags[1] := 'a'; h.tags[2] := 'b';
  h.nums := ARRAY[1, 2, 3];
  h.nums[2] := 22;
  SELECT ARRAY[5, 6] AS list INTO r;
  r.list[1] := 55;
  RETURN h::text || r::text;
END $$;
SELECT in_record();
CREATE FUNCTION subscripts(i int, j int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a int[] := '{1,2,3,4,5}'; k int := 1;
BEGIN
  a[i + k] := a[j] * 10;
  a[a[1]] := -1;
  RETURN a::text;
END $$;
SELECT subscripts(2, 5);
DO $$ DECLARE a int[]; BEGIN a[NULL] := 1; END $$;
DO $$ DECLARE a int[] := '{{1,2},{3,4}}'; BEGIN a[1] := 1; END $$;
DO $$ DECLARE a int[] := '{{1,2},{3,4}}'; BEGIN a[3][1] := 1; END $$;
DO $$ DECLARE a int[]; BEGIN a[1:] := ARRAY[1]; END $$;
DO $$ DECLARE a int[]; BEGIN a['x'] := 1; END $$;
DO $$ DECLARE a int[]; BEGIN a[1] := 'x'; END $$;
DO $$ DECLARE a int[] := '{1,2}'; BEGIN a[1:3] := ARRAY[1]; END $$;
DO $$ DECLARE a numeric(4, 1)[]; BEGIN a[1] := 1.25; a[2] := '7.77'; RAISE NOTICE '%', a; END $$;
DO $$ DECLARE a varchar(3)[]; BEGIN a[1] := 'abcd'; END $$;
DO $$ DECLARE a int[] := '{1,2,3}'; BEGIN a[2:3] := NULL; RAISE NOTICE '%', a; a := NULL; a[2] := 5; RAISE NOTICE '%', a; END $$;
DO $$ DECLARE a int[] := '[5:7]={1,2,3}'; BEGIN a[3] := 0; a[9] := 9; RAISE NOTICE '%', a; END $$;
DO $$ DECLARE a int[]; BEGIN a := ARRAY[1, 2] || 3; a := array_append(a, 4); RAISE NOTICE '% %', a, array_length(a, 1); END $$;
DO $$ DECLARE a text[]; BEGIN a := ARRAY[1, 2]; RAISE NOTICE '%', a; a := '{q,r}'; RAISE NOTICE '%', a[2]; END $$;
DO $$ DECLARE a holder[]; BEGIN a[1].id := 4; a[2].tags[1] := 'deep'; RAISE NOTICE '% %', a[1].id, a; END $$;
