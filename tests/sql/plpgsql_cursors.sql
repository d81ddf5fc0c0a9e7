-- PL/pgSQL: cursors.
-- PostgreSQL 15 differs: arguments of cursors with =>, and names of bound cursors, are newer
CREATE TABLE c (i int PRIMARY KEY, t text);
INSERT INTO c SELECT g, 't' || g FROM generate_series(1, 10) g;
CREATE FUNCTION walk() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  cur CURSOR FOR SELECT i, t FROM c ORDER BY i;
  a int; b text; r record; out text := '';
BEGIN
  OPEN cur;
  FETCH cur INTO a, b;
  out := out || a || b || ' ';
  FETCH NEXT FROM cur INTO r;
  out := out || r.i || r.t || ' ';
  FETCH RELATIVE 2 FROM cur INTO r;
  out := out || r.i || ' ';
  MOVE cur;
  FETCH FROM cur INTO r;
  out := out || r.i || ' ';
  MOVE FORWARD 100 FROM cur;
  FETCH cur INTO r;
  out := out || coalesce(r.i::text, 'end') || FOUND;
  CLOSE cur;
  RETURN out;
END $$;
SELECT walk();
CREATE FUNCTION scrolls() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  cur SCROLL CURSOR FOR SELECT i FROM c ORDER BY i;
  a int; n bigint; out text := '';
BEGIN
  OPEN cur;
  FETCH LAST FROM cur INTO a; out := out || a || ' ';
  FETCH PRIOR FROM cur INTO a; out := out || a || ' ';
  FETCH ABSOLUTE 3 FROM cur INTO a; out := out || a || ' ';
  FETCH ABSOLUTE -2 FROM cur INTO a; out := out || a || ' ';
  FETCH RELATIVE -4 FROM cur INTO a; out := out || a || ' ';
  FETCH FIRST FROM cur INTO a; out := out || a || ' ';
  FETCH BACKWARD FROM cur INTO a; out := out || coalesce(a::text, 'before') || FOUND || ' ';
  FETCH FORWARD FROM cur INTO a; out := out || a || ' ';
  MOVE FORWARD ALL FROM cur; GET DIAGNOSTICS n = ROW_COUNT; out := out || n || ' ';
  MOVE BACKWARD 3 FROM cur; FETCH cur INTO a; out := out || a;
  RETURN out;
END $$;
SELECT scrolls();
CREATE FUNCTION no_scroll() RETURNS int LANGUAGE plpgsql AS $$
DECLARE cur NO SCROLL CURSOR FOR SELECT i FROM c ORDER BY i; a int;
BEGIN
  OPEN cur;
  MOVE 3 FROM cur;
  FETCH PRIOR FROM cur INTO a;
  RETURN a;
END $$;
SELECT no_scroll();
CREATE FUNCTION with_arguments(x int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  cur CURSOR (lo int, hi int) FOR SELECT i FROM c WHERE i BETWEEN lo AND hi ORDER BY i;
  a int; out text := '';
BEGIN
  OPEN cur(x, x + 2);
  LOOP
    FETCH cur INTO a;
    EXIT WHEN NOT FOUND;
    out := out || a || ' ';
  END LOOP;
  CLOSE cur;
  OPEN cur(hi := 2, lo := 1);
  FETCH cur INTO a;
  CLOSE cur;
  FOR r IN cur(8, 9) LOOP out := out || 'f' || r.i || ' '; END LOOP;
  FOR r IN cur(hi => 3, lo => 3) LOOP out := out || 'g' || r.i; END LOOP;
  RETURN out || a;
END $$;
SELECT with_arguments(3);
CREATE FUNCTION unbound(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE cur refcursor; a int; b text; out text := '';
BEGIN
  OPEN cur FOR SELECT i, t FROM c WHERE i > n ORDER BY i;
  FETCH cur INTO a, b; out := out || a || b;
  CLOSE cur;
  OPEN cur FOR EXECUTE 'SELECT i FROM c WHERE i = $1' USING n;
  FETCH cur INTO a; out := out || a;
  CLOSE cur;
  OPEN cur SCROLL FOR SELECT i FROM c ORDER BY i DESC;
  FETCH cur INTO a; out := out || a;
  FETCH PRIOR FROM cur INTO a; out := out || coalesce(a, -1);
  RETURN out;
END $$;
SELECT unbound(4);
CREATE FUNCTION gives(name refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$
BEGIN
  OPEN name FOR SELECT * FROM c ORDER BY i;
  RETURN name;
END $$;
BEGIN;
SELECT gives('mine');
FETCH 2 FROM mine;
FETCH ALL FROM mine;
CLOSE mine;
COMMIT;
BEGIN;
SELECT gives(NULL) IS NOT NULL;
SELECT gives('a'), gives('b');
FETCH a;
MOVE 3 FROM b;
FETCH b;
SAVEPOINT s;
SELECT gives('a');
ROLLBACK TO s;
FETCH a;
COMMIT;
FETCH a;
CREATE FUNCTION takes(cur refcursor) RETURNS int LANGUAGE plpgsql AS $$
DECLARE a int;
BEGIN
  FETCH cur INTO a;
  RETURN a;
END $$;
SELECT takes('no_such');
DO $$ DECLARE cur refcursor; a int; BEGIN FETCH cur INTO a; END $$;
DO $$ DECLARE cur refcursor; BEGIN CLOSE cur; END $$;
DO $$ DECLARE cur refcursor := 'x'; BEGIN CLOSE cur; END $$;
DO $$ DECLARE cur CURSOR FOR SELECT 1; BEGIN OPEN cur; OPEN cur; END $$;
DO $$ DECLARE cur CURSOR FOR SELECT 1; a int; BEGIN OPEN cur; FETCH RELATIVE NULL FROM cur INTO a; END $$;
DO $$ DECLARE cur CURSOR FOR SELECT 1 / 0; a int; BEGIN OPEN cur; FETCH cur INTO a; END $$;
DO $$ DECLARE cur CURSOR FOR SELECT 1 / i FROM (VALUES (1), (0)) AS v(i); a int; BEGIN OPEN cur; FETCH cur INTO a; FETCH cur INTO a; END $$;
DO $$ DECLARE cur CURSOR FOR SELECT i FROM c ORDER BY i; BEGIN
  FOR r IN cur LOOP
    RAISE NOTICE '% %', r.i, cur IS NULL;
    EXIT WHEN r.i = 2;
  END LOOP;
  RAISE NOTICE '%', cur IS NULL;
  OPEN cur;
  FOR r IN cur LOOP NULL; END LOOP;
END $$;
DO $$ DECLARE cur CURSOR FOR UPDATE c SET t = t || '!' WHERE i < 3 RETURNING i, t; BEGIN
  FOR r IN cur LOOP RAISE NOTICE '% %', r.i, r.t; END LOOP;
END $$;
DO $$ DECLARE cur refcursor; BEGIN OPEN cur FOR CREATE TABLE nope (i int); END $$;
CREATE FUNCTION big() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE cur CURSOR FOR SELECT g FROM generate_series(1, 2000) g; s bigint := 0;
BEGIN
  FOR r IN cur LOOP s := s + r.g; END LOOP;
  RETURN s;
END $$;
SELECT big();
-- What cannot be a cursor.
CREATE TABLE of_changes (a int);
DO $$ DECLARE c refcursor; BEGIN OPEN c FOR EXECUTE 'UPDATE of_changes SET a = 1'; END $$;
DO $$ DECLARE c refcursor; BEGIN OPEN c FOR EXECUTE 'WITH x AS (SELECT 1) INSERT INTO of_changes VALUES (1)'; END $$;
DO $$ DECLARE c refcursor; r record; BEGIN OPEN c FOR EXECUTE 'INSERT INTO of_changes VALUES (2) RETURNING a'; FETCH c INTO r; RAISE NOTICE '%', r; END $$;
DO $$ DECLARE r record; BEGIN FOR r IN EXECUTE 'DELETE FROM of_changes' LOOP NULL; END LOOP; END $$;
SELECT * FROM of_changes;
