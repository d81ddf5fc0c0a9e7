-- One list of cursors: the client's in functions, functions' for the client.
CREATE SCHEMA pol;
SET search_path = pol, public;
CREATE TABLE t (id int PRIMARY KEY, v text);
INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 5) g;
CREATE FUNCTION next_of(c refcursor) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; BEGIN FETCH c INTO r; RETURN r::text || ' ' || found; END $$;
CREATE FUNCTION names() RETURNS text LANGUAGE sql AS
  $$ SELECT string_agg(name, ',' ORDER BY name) FROM pg_cursors WHERE name <> '' $$;
-- FETCH, MOVE and CLOSE of the client's cursors.
BEGIN;
DECLARE c CURSOR FOR SELECT id, v FROM t ORDER BY id;
SELECT next_of('c');
FETCH c;
SELECT next_of('c'), next_of('c');
FETCH c;
SELECT next_of('c');
SELECT next_of('c');
COMMIT;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, v FROM t ORDER BY id;
DO $$ DECLARE c refcursor := 'c'; r record; n int; BEGIN
  FETCH LAST FROM c INTO r; RAISE NOTICE '%', r;
  FETCH PRIOR FROM c INTO r; RAISE NOTICE '%', r;
  MOVE BACKWARD 2 FROM c; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% %', n, found;
  FETCH RELATIVE 0 FROM c INTO r; RAISE NOTICE '%', r;
  FETCH ABSOLUTE -1 FROM c INTO r; RAISE NOTICE '%', r;
  MOVE ABSOLUTE 0 FROM c; RAISE NOTICE '%', found;
  FOR r IN EXECUTE 'FETCH 3 FROM c' LOOP RAISE NOTICE '-> %', r; END LOOP;
END $$;
FETCH c;
DO $$ DECLARE c refcursor := 'c'; r record; BEGIN CLOSE c; FETCH c INTO r; END $$;
COMMIT;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM t ORDER BY id;
DECLARE d CURSOR FOR SELECT id FROM t ORDER BY id DESC;
DO $$ DECLARE r record; BEGIN EXECUTE 'CLOSE c'; RAISE NOTICE '%', names(); END $$;
FETCH d;
SAVEPOINT s;
FETCH c;
ROLLBACK TO s;
FETCH d;
SELECT next_of('d');
COMMIT;
SELECT next_of('d');
-- One that moves forward only; one that fails.
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM t ORDER BY id;
DO $$ DECLARE c refcursor := 'c'; r record; BEGIN FETCH c INTO r; FETCH PRIOR FROM c INTO r; END $$;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT 1 / (3 - id) FROM t ORDER BY id;
SAVEPOINT s;
DO $$ DECLARE c refcursor := 'c'; r record; BEGIN
  FETCH c INTO r; FETCH c INTO r; RAISE NOTICE '%', r;
  BEGIN FETCH c INTO r; EXCEPTION WHEN division_by_zero THEN RAISE NOTICE '%', sqlerrm; END;
  FETCH c INTO r;
END $$;
ROLLBACK TO s;
FETCH c;
ROLLBACK;
-- WITH HOLD, after its transaction.
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id;
FETCH h;
COMMIT;
SELECT next_of('h');
FETCH h;
SELECT names();
DO $$ DECLARE h refcursor := 'h'; BEGIN MOVE BACKWARD ALL FROM h; END $$;
SELECT next_of('h');
DO $$ DECLARE h refcursor := 'h'; BEGIN CLOSE h; END $$;
FETCH h;
-- BINARY.
BEGIN;
DECLARE b BINARY CURSOR FOR SELECT id, v FROM t ORDER BY id;
SELECT next_of('b');
COMMIT;
-- Functions' cursors, for the client and for other functions.
CREATE FUNCTION opened(c refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$ BEGIN
  OPEN c FOR SELECT id, v FROM t ORDER BY id; RETURN c; END $$;
BEGIN;
SELECT opened('o');
SELECT next_of('o'), next_of('o');
FETCH o;
MOVE 1 FROM o;
SELECT name, statement, is_holdable, is_binary, is_scrollable FROM pg_cursors WHERE name <> '' ORDER BY name;
SELECT names();
DECLARE p CURSOR FOR SELECT 1;
SELECT names();
CLOSE o;
SELECT names();
COMMIT;
FETCH o;
SELECT names();
-- Names that are taken.
BEGIN;
DECLARE c CURSOR FOR SELECT 1;
SAVEPOINT s;
SELECT opened('c');
ROLLBACK TO s;
DO $$ BEGIN EXECUTE 'DECLARE c CURSOR FOR SELECT 2'; END $$;
ROLLBACK TO s;
SELECT opened('o');
SAVEPOINT s2;
DECLARE o CURSOR FOR SELECT 1;
ROLLBACK TO s2;
DO $$ BEGIN EXECUTE 'DECLARE o CURSOR FOR SELECT 2'; END $$;
ROLLBACK TO s2;
DO $$ DECLARE c CURSOR FOR SELECT 3; BEGIN c := 'c'; FOR r IN c LOOP NULL; END LOOP; END $$;
ROLLBACK TO s2;
DECLARE "<unnamed portal 1>" CURSOR FOR SELECT 4;
DECLARE "<unnamed portal 2>" CURSOR FOR SELECT 4;
DO $$ DECLARE c refcursor; n int; BEGIN OPEN c FOR SELECT 5; FETCH c INTO n; RAISE NOTICE '%', n; END $$;
ROLLBACK;
-- CLOSE ALL.
BEGIN;
DECLARE c CURSOR FOR SELECT 1;
SELECT opened('o');
DO $$ BEGIN RAISE NOTICE '%', names() IS NULL; EXECUTE 'CLOSE ALL'; END $$;
SELECT names();
CREATE FUNCTION closes() RETURNS text LANGUAGE sql AS 'CLOSE ALL; SELECT names()';
SELECT opened('o');
SELECT closes();
COMMIT;
DO $$ DECLARE c CURSOR FOR SELECT id FROM t; BEGIN
  c := 'looped';
  FOR r IN c LOOP EXECUTE 'CLOSE ALL'; END LOOP; END $$;
DO $$ DECLARE c CURSOR FOR SELECT id FROM t; BEGIN
  c := 'looped';
  FOR r IN c LOOP CLOSE c; END LOOP; END $$;
-- A cursor whose query uses another one; one that uses itself.
BEGIN;
DECLARE inner_one CURSOR FOR SELECT id FROM t ORDER BY id;
DECLARE outer_one CURSOR FOR SELECT id, next_of('inner_one') FROM t ORDER BY id;
FETCH 2 FROM outer_one;
FETCH inner_one;
FETCH ALL FROM outer_one;
COMMIT;
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT id, next_of('i') FROM t ORDER BY id;
DECLARE i CURSOR FOR SELECT id FROM t ORDER BY id DESC;
COMMIT;
ROLLBACK;
-- An open cursor, and DDL on its table.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id;
FETCH c;
DO $$ DECLARE c refcursor := 'c'; BEGIN CLOSE c; ALTER TABLE t ADD COLUMN w int; END $$;
ROLLBACK;
-- A rollback to a savepoint closes the cursors that were opened since.
DO $$ DECLARE c refcursor := 'c'; n int; BEGIN
  BEGIN OPEN c FOR SELECT id FROM t; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END;
  RAISE NOTICE '%', names() IS NULL;
  FETCH c INTO n;
END $$;
DO $$ DECLARE c refcursor := 'c'; n int; BEGIN
  BEGIN OPEN c FOR SELECT id FROM t ORDER BY id; EXCEPTION WHEN division_by_zero THEN NULL; END;
  FETCH c INTO n; RAISE NOTICE '%', n;
  BEGIN FETCH c INTO n; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END;
  FETCH c INTO n; RAISE NOTICE '% %', n, found;
END $$;
DO $$ BEGIN
  BEGIN EXECUTE 'DECLARE h CURSOR WITH HOLD FOR SELECT 1'; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END;
END $$;
SELECT names();
BEGIN;
SELECT opened('a');
SAVEPOINT s;
SELECT opened('b');
SAVEPOINT s2;
SELECT opened('d');
RELEASE s2;
FETCH d;
ROLLBACK TO s;
SELECT names();
FETCH a;
SELECT opened('b');
SELECT 1 / 0;
ROLLBACK TO s;
SELECT names();
FETCH a;
COMMIT;
-- Changes of the function itself.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id;
DO $$ DECLARE c refcursor := 'c'; r record; BEGIN
  DELETE FROM t WHERE id < 4;
  FETCH c INTO r; RAISE NOTICE '%', r;
END $$;
FETCH ALL FROM c;
ROLLBACK;
SET client_min_messages = warning;
DROP SCHEMA pol CASCADE;
