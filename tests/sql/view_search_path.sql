-- PostgreSQL 15 differs: views over one table name its columns with the table
-- A view means the same under every search path and all settings.
CREATE SCHEMA one;
CREATE SCHEMA two;
CREATE TYPE one.mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE two.mood AS ENUM ('happy', 'ok', 'sad');
CREATE TABLE one.t (id int, n int, name text, m one.mood);
CREATE TABLE two.t (id int, n int, name text, m two.mood);
INSERT INTO one.t VALUES (1, 10, 'one', 'sad'), (2, 20, 'ONE', 'ok'), (3, 30, NULL, 'happy');
INSERT INTO two.t VALUES (1, 10, 'two', 'sad'), (2, 20, 'TWO', 'ok'), (3, 30, NULL, 'happy');
CREATE FUNCTION one.kind(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'one ' || $1 $$;
CREATE FUNCTION two.kind(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'two ' || $1 $$;
CREATE FUNCTION two.lower(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'two.lower' $$;
CREATE FUNCTION two.same(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS $$ SELECT false $$;
CREATE OPERATOR two.= (FUNCTION = two.same, LEFTARG = int, RIGHTARG = int);

SET search_path = one;
CREATE VIEW public.between_and AS SELECT id, lower(name) AS low FROM t WHERE n BETWEEN 10 AND 25 AND id > 0;
CREATE VIEW public.and_and AS SELECT id FROM t WHERE (n > 5 AND n < 25) AND (id > 0 AND id = 1);
CREATE VIEW public.or_or AS SELECT id FROM t WHERE n NOT BETWEEN 15 AND 25 OR id = 2;
CREATE VIEW public.deep AS SELECT id FROM t WHERE ((n BETWEEN 5 AND 25 AND id > 0) AND name IS NOT NULL) AND id < 9;
CREATE VIEW public.calls AS SELECT id, kind(name) AS kind, lower(name) AS low FROM t WHERE id = 2;
CREATE VIEW public.objects AS SELECT 'kind'::regproc AS f, 'kind(text)'::regprocedure AS p,
  't'::regclass AS t, 'mood'::regtype AS m, '{mood,int}'::regtype[] AS ms, 'one'::regnamespace AS s;
CREATE VIEW public.moods AS SELECT '{sad,NULL,happy}'::mood[] AS list, '{{sad,ok},{ok,happy}}'::mood[] AS square,
  '[2:3]={sad,ok}'::mood[] AS slice, '{}'::mood[] AS none;
CREATE VIEW public.casts AS SELECT ARRAY[1, 2]::bigint[] AS a, (ARRAY[id, n])::numeric[] AS b, CASE WHEN id > 1 THEN
  ARRAY[1] ELSE ARRAY[2.5] END AS c FROM t;
CREATE VIEW public.control AS SELECT E'a\x01b' AS c, CASE WHEN E'\x01' < 'b' THEN E'x  \x01' ELSE 'no' END AS d;
CREATE VIEW public.changed AS SELECT id, n, name FROM t WHERE n BETWEEN 10 AND 25 AND id = 2;

SELECT * FROM public.between_and ORDER BY id;
SET search_path = two, pg_catalog;
SET intervalstyle = 'sql_standard';
SET datestyle = 'SQL, DMY';
SELECT * FROM public.between_and;
SELECT * FROM public.and_and;
SELECT * FROM public.or_or;
SELECT * FROM public.deep;
SELECT * FROM public.calls;
SELECT * FROM public.objects;
SELECT * FROM public.moods;
SELECT * FROM public.casts;
SELECT c = E'a\x01b' AS c, d = E'x  \x01' AS d FROM public.control;
UPDATE public.changed SET name = 'changed' RETURNING *;
ALTER VIEW public.changed SET (check_option = local);
UPDATE public.changed SET n = 99;
SELECT * FROM one.t ORDER BY 1 USING OPERATOR(pg_catalog.<);
SELECT * FROM two.t ORDER BY 1 USING OPERATOR(pg_catalog.<);
RESET datestyle;
RESET intervalstyle;

SET search_path = one;
SELECT pg_get_viewdef('public.between_and');
SELECT pg_get_viewdef('public.and_and');
SELECT pg_get_viewdef('public.or_or');
SELECT pg_get_viewdef('public.deep');
SELECT pg_get_viewdef('public.deep', true);
SELECT pg_get_viewdef('public.calls');
SELECT pg_get_viewdef('public.objects');
SELECT pg_get_viewdef('public.moods');
SELECT pg_get_viewdef('public.casts');
SET search_path = two, public;
SELECT pg_get_viewdef('between_and');
SELECT pg_get_viewdef('calls');
SELECT pg_get_viewdef('objects');
SELECT pg_get_viewdef('moods');
SELECT definition FROM pg_views WHERE viewname = 'calls';

-- They follow what they name.
ALTER TABLE one.t RENAME COLUMN n TO number;
ALTER TABLE one.t RENAME TO renamed;
ALTER TYPE one.mood RENAME VALUE 'sad' TO 'blue';
ALTER FUNCTION one.kind(text) RENAME TO sort_of;
SELECT pg_get_viewdef('deep');
SELECT pg_get_viewdef('calls');
SELECT pg_get_viewdef('moods');
SELECT * FROM objects;
SELECT * FROM moods;
-- Another function of the old name changes nothing.
CREATE FUNCTION one.kind(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'new ' || $1 $$;
SELECT * FROM calls;
DROP FUNCTION one.sort_of(text);

-- Views over temporary tables.
SET search_path = two;
CREATE TEMP TABLE own (a int);
INSERT INTO own VALUES (1), (7);
CREATE VIEW over_own AS SELECT a FROM own WHERE a BETWEEN 1 AND 5 AND a > 0;
CREATE VIEW over_view AS SELECT a FROM over_own UNION ALL SELECT 10;
SELECT * FROM over_view ORDER BY a USING OPERATOR(pg_catalog.<);
SELECT pg_get_viewdef('over_view'), pg_get_viewdef('over_own');
SET search_path = pg_catalog;
UPDATE over_own SET a = 2;
SELECT * FROM over_view ORDER BY a;
