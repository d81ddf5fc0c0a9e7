-- Bodies in SQL's own syntax: RETURN and BEGIN ATOMIC.
-- PostgreSQL 15 differs: it has no MERGE … RETURNING to name in a message.
CREATE TABLE fb_t (id int PRIMARY KEY, name text);
INSERT INTO fb_t VALUES (1, 'one'), (2, 'two');
CREATE FUNCTION fb_add(a int, b int) RETURNS int RETURN a + b;
CREATE FUNCTION fb_numbered(int, text) RETURNS text LANGUAGE sql IMMUTABLE RETURN $2 || $1;
CREATE FUNCTION fb_name(id int) RETURNS text STABLE BEGIN ATOMIC
  SELECT name FROM fb_t WHERE fb_t.id = fb_name.id;
END;
CREATE FUNCTION fb_two(n int) RETURNS SETOF fb_t BEGIN ATOMIC
  SELECT 1;
  SELECT * FROM fb_t t WHERE t.id <= n ORDER BY t.id;
END;
CREATE FUNCTION fb_nothing() RETURNS void BEGIN ATOMIC END;
CREATE PROCEDURE fb_proc(a int, INOUT b int) BEGIN ATOMIC SELECT a + b; END;
SELECT fb_add(1, 2), fb_numbered(1, 'x'), fb_name(2), fb_nothing();
SELECT * FROM fb_two(1);
CALL fb_proc(1, 2);
SELECT pg_get_functiondef('fb_add'::regproc);
SELECT pg_get_functiondef('fb_numbered'::regproc);
SELECT pg_get_functiondef('fb_name'::regproc);
SELECT pg_get_functiondef('fb_two'::regproc);
SELECT pg_get_functiondef('fb_proc'::regproc);
SELECT proname, prosrc, prosqlbody IS NULL, pg_get_function_sqlbody(oid) FROM pg_proc
  WHERE proname IN ('fb_add', 'fb_name') ORDER BY 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT fb_add(id, 1) FROM fb_t WHERE fb_add(id, 5) = 7;
-- What the body reads is depended upon, whatever the search path is.
CREATE SCHEMA fb_s;
CREATE TABLE fb_s.fb_t (id int, name text);
SET search_path = fb_s, public;
SELECT fb_name(1);
RESET search_path;
DROP TABLE fb_t;
ALTER TABLE fb_t DROP COLUMN name;
DROP FUNCTION fb_add(int, int);
CREATE FUNCTION fb_calls(int) RETURNS int RETURN fb_add($1, 1);
DROP FUNCTION fb_add;
DROP FUNCTION fb_add CASCADE;
DROP TABLE fb_t CASCADE;
-- Errors.
CREATE FUNCTION fb_e(a int) RETURNS int RETURN b;
CREATE FUNCTION fb_e(a int) RETURNS int RETURN 'x'::text;
CREATE FUNCTION fb_e(a int) RETURNS int BEGIN ATOMIC SELECT nosuch; END;
CREATE FUNCTION fb_e(a int) RETURNS int BEGIN ATOMIC SELECT 1, 2; END;
CREATE FUNCTION fb_e(a int) RETURNS int BEGIN ATOMIC END;
CREATE FUNCTION fb_e(a int) RETURNS int RETURN (SELECT count(*) FROM nosuch);
DROP SCHEMA fb_s CASCADE;
