-- WHERE CURRENT OF in functions: cursors of PL/pgSQL, of SQL functions, of the client.
-- PostgreSQL 15 differs: names of bound cursors are newer
CREATE SCHEMA cof;
SET search_path = cof, public;
-- Rows in the order of a key come from its index.
SET enable_sort = off;
CREATE TABLE t (id int PRIMARY KEY, v text);
CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$
  DELETE FROM t; INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 5) g $$;
SELECT fill();
-- Bound, unbound, in a FOR loop.
DO $$ DECLARE c CURSOR FOR SELECT * FROM t ORDER BY id; r t; BEGIN
  OPEN c;
  FETCH c INTO r;
  UPDATE t SET v = v || '!' WHERE CURRENT OF c;
  RAISE NOTICE '% %', r, found;
  FETCH c INTO r;
  DELETE FROM t WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '%', r;
  DELETE FROM t WHERE CURRENT OF c;
  RAISE NOTICE '%', found;
  MOVE c;
  UPDATE t SET v = 'third' WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '%', r;
  CLOSE c;
END $$;
SELECT * FROM t ORDER BY id;
DO $$ DECLARE c refcursor; r record; n int; BEGIN
  OPEN c FOR SELECT id FROM t WHERE id > 2 ORDER BY id FOR UPDATE;
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    UPDATE t SET v = v || '-' || r.id WHERE CURRENT OF c;
    GET DIAGNOSTICS n = ROW_COUNT;
    RAISE NOTICE '% %', r, n;
  END LOOP;
END $$;
SELECT * FROM t ORDER BY id;
DO $$ DECLARE c CURSOR (low int) FOR SELECT * FROM t WHERE id >= low; BEGIN
  FOR r IN c(3) LOOP
    UPDATE t SET v = 'loop ' || r.id WHERE CURRENT OF c;
    IF r.id = 4 THEN DELETE FROM t WHERE CURRENT OF c; END IF;
  END LOOP;
END $$;
SELECT * FROM t ORDER BY id;
-- A loop that deletes every row it visits, and one that changes its own key.
SELECT fill();
CREATE FUNCTION clear_all() RETURNS int LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT * FROM t FOR UPDATE; n int := 0; BEGIN
  FOR r IN c LOOP DELETE FROM t WHERE CURRENT OF c; n := n + 1; END LOOP;
  RETURN n;
END $$;
SELECT clear_all(), clear_all();
SELECT fill();
DO $$ DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id; BEGIN
  FOR r IN c LOOP UPDATE t SET id = id + 100 WHERE CURRENT OF c; END LOOP;
END $$;
SELECT * FROM t ORDER BY id;
INSERT INTO t SELECT g, 'x' FROM generate_series(1000, 3000) g;
SELECT clear_all();
SELECT count(*) FROM t;
-- More rows than are read at once; by an index alone.
SELECT fill();
INSERT INTO t SELECT g, 'v' || g FROM generate_series(6, 1000) g;
ANALYZE t;
DO $$ DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id; n int := 0; BEGIN
  FOR r IN c LOOP
    IF r.id % 100 = 7 THEN
      UPDATE t SET v = 'seven ' || r.id WHERE CURRENT OF c;
      n := n + 1;
    ELSIF r.id % 100 = 8 THEN
      DELETE FROM t WHERE CURRENT OF c;
    END IF;
  END LOOP;
  RAISE NOTICE '%', n;
END $$;
SELECT * FROM t WHERE v LIKE 'seven%' ORDER BY id;
SELECT count(*) FROM t;
-- Scrolling.
SELECT fill();
DO $$ DECLARE c SCROLL CURSOR FOR SELECT * FROM t ORDER BY id; r t; BEGIN
  OPEN c;
  FETCH ABSOLUTE 3 FROM c INTO r;
  UPDATE t SET v = 'a' WHERE CURRENT OF c;
  FETCH PRIOR FROM c INTO r;
  UPDATE t SET v = 'b' WHERE CURRENT OF c;
  MOVE LAST FROM c;
  UPDATE t SET v = 'c' WHERE CURRENT OF c;
  FETCH FIRST FROM c INTO r;
  UPDATE t SET v = 'd' WHERE CURRENT OF c;
  FETCH RELATIVE 2 FROM c INTO r;
  UPDATE t SET v = v || 'e' WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '%', r;
  MOVE BACKWARD 10 FROM c;
  UPDATE t SET v = 'nowhere' WHERE CURRENT OF c;
END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM t WHERE id < 4; r t; BEGIN
  OPEN c;
  FETCH c INTO r; FETCH c INTO r; FETCH PRIOR FROM c INTO r;
  UPDATE t SET v = v || ' again' WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '%', r;
  FETCH c INTO r;
  UPDATE t SET v = v || ' again' WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '%', r;
END $$;
-- A row that was changed meanwhile.
DO $$ DECLARE c CURSOR FOR SELECT * FROM t WHERE id = 2; r t; BEGIN
  OPEN c; FETCH c INTO r;
  UPDATE t SET v = 'changed', id = 22 WHERE id = 2;
  UPDATE t SET v = v || ' twice' WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '%', r;
  DELETE FROM t WHERE id = 22;
  UPDATE t SET v = v || ' thrice' WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '% %', r, found;
END $$;
-- Errors.
CREATE TABLE other (a int);
INSERT INTO other VALUES (1);
DO $$ DECLARE c CURSOR FOR SELECT * FROM t; BEGIN OPEN c; UPDATE t SET v = '' WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM t; r t; BEGIN
  OPEN c; MOVE FORWARD ALL FROM c; DELETE FROM t WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM t; BEGIN UPDATE t SET v = '' WHERE CURRENT OF c; END $$;
DO $$ DECLARE c refcursor := 'gone'; BEGIN UPDATE t SET v = '' WHERE CURRENT OF c; END $$;
DO $$ BEGIN UPDATE t SET v = '' WHERE CURRENT OF nowhere; END $$;
DO $$ DECLARE c text := 'x'; BEGIN UPDATE t SET v = '' WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT id, count(*) FROM t GROUP BY id; r record; BEGIN
  OPEN c; FETCH c INTO r; DELETE FROM t WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM t ORDER BY v; r record; BEGIN
  OPEN c; FETCH c INTO r; DELETE FROM t WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT t.id FROM t, generate_series(1, 2); r record; BEGIN
  OPEN c; FETCH c INTO r; DELETE FROM t WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT a.id FROM t a JOIN t b USING (id) ORDER BY 1 FOR UPDATE OF b; r record; n int; BEGIN
  OPEN c; FETCH c INTO r; UPDATE t SET v = 'joined' WHERE CURRENT OF c RETURNING id INTO n; RAISE NOTICE '% %', r, n; END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM other FOR UPDATE; r record; BEGIN
  OPEN c; FETCH c INTO r; DELETE FROM t WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR UPDATE t SET v = v RETURNING *; r record; BEGIN
  OPEN c; FETCH c INTO r; DELETE FROM t WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR SHOW work_mem; r record; BEGIN
  OPEN c; FETCH c INTO r; DELETE FROM t WHERE CURRENT OF c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM t; r record; BEGIN
  OPEN c; FETCH c INTO r; CLOSE c; DELETE FROM t WHERE CURRENT OF c; END $$;
-- An error that is caught, and what the cursor does then.
DO $$ DECLARE c CURSOR FOR SELECT * FROM t ORDER BY id; r t; BEGIN
  OPEN c; FETCH c INTO r;
  BEGIN UPDATE t SET id = 5 WHERE CURRENT OF c; EXCEPTION WHEN unique_violation THEN RAISE NOTICE '%', sqlerrm; END;
  UPDATE t SET v = 'after' WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '%', r;
END $$;
-- EXECUTE, with the portal's name; a name that is given.
SELECT fill();
DO $$ DECLARE c refcursor := 'My cursor'; r t; BEGIN
  OPEN c FOR EXECUTE 'SELECT * FROM t WHERE id >= $1 ORDER BY id' USING 2;
  FETCH c INTO r;
  EXECUTE 'UPDATE t SET v = $1 WHERE CURRENT OF ' || quote_ident(c::text) USING 'executed';
  FETCH c INTO r;
  EXECUTE 'DELETE FROM t WHERE CURRENT OF "My cursor" RETURNING *' INTO r;
  RAISE NOTICE '%', r;
  UPDATE t SET v = 'named' WHERE CURRENT OF "My cursor";
  FETCH c INTO r;
  UPDATE t SET v = 'named' WHERE CURRENT OF "My cursor" RETURNING * INTO r;
  RAISE NOTICE '%', r;
  EXECUTE 'UPDATE t SET v = 1 WHERE CURRENT OF c';
END $$;
DO $$ DECLARE c refcursor; r t; BEGIN
  OPEN c FOR SELECT * FROM t ORDER BY id;
  FETCH c INTO r;
  EXECUTE format('UPDATE t SET v = %L WHERE CURRENT OF %I', 'formatted', c);
END $$;
SELECT * FROM t ORDER BY id;
-- A cursor that is passed on.
CREATE FUNCTION mark(c refcursor, what text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int; BEGIN UPDATE t SET v = what WHERE CURRENT OF c RETURNING id INTO n; RETURN n; END $$;
CREATE FUNCTION mark_sql(c refcursor, what text) RETURNS int LANGUAGE sql AS
  'UPDATE t SET v = what WHERE CURRENT OF c RETURNING id';
CREATE FUNCTION mark_given(what text) RETURNS int LANGUAGE sql AS
  'UPDATE t SET v = $1 WHERE CURRENT OF given RETURNING id';
DO $$ DECLARE c CURSOR FOR SELECT * FROM t ORDER BY id; r t; BEGIN
  OPEN c; FETCH c INTO r;
  RAISE NOTICE '%', mark(c, 'passed on');
  FETCH c INTO r;
  RAISE NOTICE '%', mark_sql(c, 'to SQL');
  RAISE NOTICE '%', mark(NULL, 'nothing');
END $$;
DO $$ DECLARE given CURSOR FOR SELECT * FROM t ORDER BY id; r t; BEGIN
  given := 'given'; OPEN given; FETCH given INTO r;
  RAISE NOTICE '%', mark_given('by a given name');
END $$;
SELECT mark_given('nothing');
-- The client's cursor.
BEGIN;
DECLARE given CURSOR FOR SELECT * FROM t ORDER BY id;
SELECT mark_given('before the first');
ROLLBACK;
BEGIN;
DECLARE given CURSOR FOR SELECT * FROM t ORDER BY id FOR UPDATE;
FETCH given;
SELECT mark_given('of the client');
FETCH given;
SELECT mark('given', 'of the client, 2'), mark_sql('given', 'of the client, 3');
SELECT * FROM t ORDER BY id;
ROLLBACK;
-- A function's cursor, for the client.
CREATE FUNCTION opened(name refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$ BEGIN
  OPEN name FOR SELECT * FROM t ORDER BY id; RETURN name; END $$;
BEGIN;
SELECT opened('o');
FETCH 2 FROM o;
UPDATE t SET v = 'by the client' WHERE CURRENT OF o RETURNING *;
DELETE FROM t WHERE CURRENT OF o;
UPDATE t SET v = 'by the client' WHERE CURRENT OF o RETURNING *;
ROLLBACK;
-- DECLARE and FETCH in functions.
BEGIN;
CREATE FUNCTION declared() RETURNS void LANGUAGE sql AS $$
  DECLARE d SCROLL CURSOR FOR SELECT * FROM t ORDER BY id;
  MOVE 3 FROM d;
  UPDATE t SET v = 'declared' WHERE CURRENT OF d;
  MOVE BACKWARD 1 FROM d;
  UPDATE t SET v = 'declared, back' WHERE CURRENT OF d $$;
SELECT declared();
SELECT * FROM t ORDER BY id;
FETCH d;
UPDATE t SET v = 'and by the client' WHERE CURRENT OF d RETURNING *;
ROLLBACK;
-- Tables that inherit, and partitions.
CREATE TABLE child () INHERITS (t);
INSERT INTO child VALUES (50, 'child');
DO $$ DECLARE c CURSOR FOR SELECT * FROM t FOR UPDATE; r record; BEGIN
  FOR r IN c LOOP UPDATE t SET v = v || '.' WHERE CURRENT OF c; END LOOP; END $$;
SELECT tableoid::regclass, * FROM t ORDER BY id;
DO $$ DECLARE c CURSOR FOR SELECT * FROM t WHERE id = 50 ; r record; BEGIN
  OPEN c; FETCH c INTO r;
  UPDATE ONLY t SET v = 'not this' WHERE CURRENT OF c; RAISE NOTICE '%', found;
  UPDATE child SET v = 'this' WHERE CURRENT OF c; RAISE NOTICE '%', found;
END $$;
SELECT * FROM child;
CREATE TABLE p (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (b text, a int);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
INSERT INTO p SELECT g, 'b' || g FROM generate_series(1, 19, 3) g;
DO $$ DECLARE c CURSOR FOR SELECT b FROM p; BEGIN
  FOR r IN c LOOP
    UPDATE p SET b = b || '+' WHERE CURRENT OF c;
    IF r.b = 'b13' THEN DELETE FROM p WHERE CURRENT OF c; END IF;
  END LOOP; END $$;
SELECT tableoid::regclass, a, b FROM p ORDER BY a;
DO $$ DECLARE c CURSOR FOR SELECT a FROM p WHERE a IN (4, 16) FOR UPDATE; BEGIN
  FOR r IN c LOOP UPDATE p SET a = 20 - a WHERE CURRENT OF c; END LOOP; END $$;
SELECT tableoid::regclass, a, b FROM p ORDER BY a;
DO $$ DECLARE c CURSOR FOR SELECT a FROM p WHERE a < 3; r record; BEGIN
  OPEN c; FETCH c INTO r;
  UPDATE p1 SET b = 'of the partition' WHERE CURRENT OF c; RAISE NOTICE '%', found;
END $$;
DO $$ DECLARE c CURSOR FOR SELECT a FROM p FOR UPDATE; r record; BEGIN
  OPEN c; FETCH c INTO r;
  UPDATE p2 SET b = 'not of this' WHERE CURRENT OF c; RAISE NOTICE '%', found;
END $$;
SELECT tableoid::regclass, a, b FROM p ORDER BY a;
-- Views.
CREATE VIEW w AS SELECT * FROM ONLY t WHERE id < 40;
DO $$ DECLARE c CURSOR FOR SELECT * FROM w ORDER BY id; r record; BEGIN
  OPEN c; FETCH c INTO r;
  UPDATE ONLY t SET v = 'by the view' WHERE CURRENT OF c RETURNING * INTO r; RAISE NOTICE '%', r;
  UPDATE w SET v = 'by the view' WHERE CURRENT OF c;
END $$;
-- In a trigger; in WITH; other tables; a plan that is made again.
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT * FROM ONLY t WHERE id = 1; r record; BEGIN
  OPEN c; FETCH c INTO r;
  UPDATE ONLY t SET v = v || ', ' || new.id WHERE CURRENT OF c;
  CLOSE c;
  RETURN new;
END $$;
CREATE TRIGGER stamps BEFORE INSERT ON child FOR EACH ROW EXECUTE FUNCTION stamp();
UPDATE ONLY t SET v = 'stamped' WHERE id = 1;
INSERT INTO child VALUES (51, ''), (52, '');
SELECT v FROM ONLY t WHERE id = 1;
DO $$ DECLARE c CURSOR FOR SELECT * FROM ONLY t ORDER BY id; r record; BEGIN
  OPEN c; FETCH c INTO r;
  WITH changed AS (UPDATE ONLY t SET v = 'with' WHERE CURRENT OF c RETURNING *) SELECT * INTO r FROM changed;
  RAISE NOTICE '%', r;
  UPDATE ONLY t SET v = x FROM (VALUES ('values')) AS o (x) WHERE CURRENT OF c RETURNING t.* INTO r;
  RAISE NOTICE '%', r;
  ALTER TABLE p ADD COLUMN more int;
  UPDATE ONLY t SET v = 'planned again' WHERE CURRENT OF c RETURNING * INTO r;
  RAISE NOTICE '%', r;
END $$;
-- A function that is not VOLATILE.
CREATE FUNCTION stable_one() RETURNS int STABLE LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT * FROM t; r t; BEGIN
  OPEN c; FETCH c INTO r; UPDATE t SET v = '' WHERE CURRENT OF c; RETURN 1; END $$;
SELECT stable_one();
-- A procedure that commits.
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT * FROM ONLY t ORDER BY id; BEGIN
  FOR r IN c LOOP
    UPDATE ONLY t SET v = 'committed' WHERE CURRENT OF c;
    COMMIT;
  END LOOP; END $$;
CALL commits();
SELECT v FROM t ORDER BY id LIMIT 1;
SET client_min_messages = warning;
DROP SCHEMA cof CASCADE;
