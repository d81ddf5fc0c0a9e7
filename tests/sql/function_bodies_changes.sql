-- INSERT, UPDATE and DELETE in BEGIN ATOMIC: what they do, how they are printed, what they depend on.
-- PostgreSQL 15 differs: it says INSERT/UPDATE/DELETE RETURNING, and has no MERGE … RETURNING, in a message.
CREATE SCHEMA fbc;
SET search_path = fbc, public;
CREATE TABLE t (id int PRIMARY KEY, a int DEFAULT 7, b text, arr int[],
  g int GENERATED ALWAYS AS (a + 1) STORED);
CREATE TYPE comp AS (x int, y int);
CREATE TABLE c (id int PRIMARY KEY, p comp, i int GENERATED ALWAYS AS IDENTITY);
CREATE VIEW v AS SELECT id, a AS aa, b FROM t WHERE a > 0;
CREATE UNIQUE INDEX ON t (lower(b)) WHERE a > 0;
CREATE UNIQUE INDEX ON t (b COLLATE "POSIX" text_pattern_ops, (a + 1));
CREATE FUNCTION inserts(x int, b text) RETURNS void BEGIN ATOMIC
  INSERT INTO t VALUES (x, 2, b);
  INSERT INTO t (id, b) VALUES (x, b), (x + 1, DEFAULT);
  INSERT INTO t DEFAULT VALUES;
  INSERT INTO t (id, arr[1], arr[2]) VALUES (x, 1, 2);
  INSERT INTO c (id, p.x, p.y) VALUES (x, 1, 2);
  INSERT INTO t (b, id) SELECT inserts.b, x WHERE x > 1;
  INSERT INTO t (b, id) SELECT b::varchar(3), id FROM t ORDER BY id LIMIT 3;
  INSERT INTO t AS tt (id, a) VALUES (x, DEFAULT)
    ON CONFLICT (id) DO UPDATE SET a = excluded.a + tt.a, b = DEFAULT WHERE tt.a > 3;
  INSERT INTO t (id) VALUES (x) ON CONFLICT DO NOTHING;
  INSERT INTO t (id) VALUES (x) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING RETURNING *;
  INSERT INTO t (id) VALUES (x) ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET (a, b) = (SELECT 1, 'x');
  INSERT INTO t (id) VALUES (x) ON CONFLICT (id) DO UPDATE SET (a, b) = ROW(1, excluded.b);
  INSERT INTO t (id) VALUES (x) ON CONFLICT (lower(b)) WHERE a > 0 DO NOTHING;
  INSERT INTO t (id) VALUES (x) ON CONFLICT (b COLLATE "POSIX" text_pattern_ops, (a + 1)) DO NOTHING;
  INSERT INTO c OVERRIDING SYSTEM VALUE VALUES (1, NULL, 3);
  INSERT INTO c OVERRIDING USER VALUE VALUES (1, NULL, 3);
  INSERT INTO v (id, aa) VALUES (x, 3) ON CONFLICT (id) DO UPDATE SET aa = excluded.aa RETURNING aa;
  INSERT INTO t WITH w AS (SELECT 1) SELECT * FROM w;
END;
CREATE FUNCTION updates(x int) RETURNS void BEGIN ATOMIC
  UPDATE t SET a = x;
  UPDATE ONLY t SET a = x + t.a, b = DEFAULT WHERE id = x RETURNING id, a AS foo, a + 1;
  UPDATE t SET arr[1] = 3, arr[2:3] = '{1,2}' WHERE t.id = 1;
  UPDATE c SET p.x = 3, p.y = (p).x;
  UPDATE t AS u SET (a, b) = (SELECT c.id, 'x' FROM c WHERE c.id = u.id), arr = '{}'
    FROM c cc JOIN v ON cc.id = v.id WHERE u.id = cc.id;
  UPDATE t SET (a, b) = (1, 'x');
  UPDATE t SET (a, b) = ROW(t.a, DEFAULT);
  UPDATE t SET g = DEFAULT;
  UPDATE v SET aa = 3 WHERE v.b = 'x' RETURNING v.*;
  UPDATE t SET a = (SELECT max(id) FROM c), b = CASE WHEN a > 1 THEN 'x' ELSE 'y' END
    WHERE EXISTS (SELECT FROM c WHERE c.id = t.id);
END;
CREATE FUNCTION deletes(x int) RETURNS void BEGIN ATOMIC
  DELETE FROM t;
  DELETE FROM ONLY t tt USING c, v WHERE c.id = tt.id RETURNING tt.*, c.p;
  DELETE FROM v WHERE id = 3;
  WITH ins AS (INSERT INTO t (id) VALUES (x) RETURNING *), d AS (DELETE FROM c RETURNING c.id)
    UPDATE t SET a = ins.a FROM ins, d WHERE t.id = ins.id;
  WITH q AS (SELECT 1 AS one) DELETE FROM t WHERE id IN (SELECT one FROM q);
  SELECT 1;
END;
SELECT pg_get_functiondef('inserts'::regproc);
SELECT pg_get_functiondef('updates'::regproc);
SELECT pg_get_functiondef('deletes'::regproc);
SELECT DISTINCT pg_describe_object(refclassid, refobjid, refobjsubid)
  FROM pg_depend WHERE objid = 'updates'::regproc AND refclassid = 'pg_class'::regclass ORDER BY 1;
-- What is printed makes the same function again.
DO $$ DECLARE f text; was text; BEGIN
  FOREACH f IN ARRAY ARRAY['inserts', 'updates', 'deletes'] LOOP
    was := pg_get_functiondef(f::regproc);
    EXECUTE was;
    RAISE NOTICE '%: %', f, was = pg_get_functiondef(f::regproc);
  END LOOP;
END $$;
-- Names are followed.
ALTER TABLE t RENAME a TO aaa;
ALTER TABLE t RENAME CONSTRAINT t_pkey TO t_key;
ALTER TABLE t RENAME TO ttt;
ALTER TABLE c RENAME p TO pp;
ALTER TABLE v RENAME aa TO va;
SELECT pg_get_functiondef('inserts'::regproc);
SELECT pg_get_functiondef('updates'::regproc);
SELECT pg_get_functiondef('deletes'::regproc);
ALTER TABLE ttt DROP COLUMN arr;
ALTER TABLE ttt DROP CONSTRAINT t_key;
DROP TABLE c;
ALTER TABLE ttt DROP COLUMN arr CASCADE;
SELECT proname FROM pg_proc WHERE proname IN ('inserts', 'updates', 'deletes');
DROP FUNCTION deletes;
DROP VIEW v;
-- They run.
CREATE FUNCTION put(id int, n int DEFAULT 0) RETURNS int BEGIN ATOMIC
  INSERT INTO ttt (id, aaa) VALUES (put.id, n)
    ON CONFLICT (id) DO UPDATE SET aaa = ttt.aaa + excluded.aaa
    RETURNING ttt.aaa;
END;
SELECT put(1, 10), put(2, 20), put(1, 5), put(3);
CREATE FUNCTION change(n int) RETURNS SETOF ttt BEGIN ATOMIC
  UPDATE ttt SET aaa = aaa * n WHERE aaa > 10;
  UPDATE ttt SET b = 'b' || id WHERE aaa = 0 RETURNING *;
END;
SELECT * FROM change(2);
SELECT * FROM ttt ORDER BY id;
CREATE PROCEDURE clear(n int, INOUT gone bigint) BEGIN ATOMIC
  WITH d AS (DELETE FROM ttt WHERE aaa > n RETURNING *) SELECT count(*) FROM d;
END;
CALL clear(20, 0);
ALTER PROCEDURE clear RENAME TO empty;
SELECT pg_get_functiondef('empty'::regproc);
CALL empty(-1, 0);
SELECT * FROM ttt;
ALTER TABLE ttt SET SCHEMA public;
SELECT put(7, 8);
SELECT pg_get_functiondef('put'::regproc);
-- Errors.
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC INSERT INTO nosuch VALUES (1); END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC INSERT INTO ttt (nosuch) VALUES (1); END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC UPDATE ttt SET nosuch = 1; END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC DELETE FROM ttt; END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC INSERT INTO ttt VALUES (1) RETURNING id, b; END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC CREATE TABLE x (i int); END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC NOTIFY x; END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC VACUUM; END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC EXPLAIN SELECT 1; END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC SET work_mem = '1MB'; END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC LOCK TABLE ttt; END;
CREATE FUNCTION e() RETURNS int BEGIN ATOMIC DECLARE c CURSOR FOR SELECT 1; END;
DROP TABLE ttt CASCADE;
DROP SCHEMA fbc CASCADE;
