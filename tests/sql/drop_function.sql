-- DROP and ALTER of functions and procedures, COMMENT, and what depends on a function.
CREATE FUNCTION df_f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'select $1';
CREATE FUNCTION df_f(text) RETURNS int LANGUAGE sql IMMUTABLE AS 'select 1';
CREATE FUNCTION df_g() RETURNS int LANGUAGE sql IMMUTABLE AS 'select 1';
CREATE PROCEDURE df_p(a int, OUT b int) LANGUAGE sql AS 'select a';
DROP FUNCTION df_f;
DROP FUNCTION df_nosuch;
DROP FUNCTION df_nosuch();
DROP FUNCTION df_f(int, int);
DROP FUNCTION df_f(nosuch);
DROP FUNCTION nosuch.df_f(int);
DROP PROCEDURE df_f(int);
DROP FUNCTION df_p(int);
DROP FUNCTION df_p;
DROP PROCEDURE df_g;
DROP ROUTINE df_f;
DROP PROCEDURE df_nosuch(int, text);
DROP ROUTINE df_nosuch(int);
DROP AGGREGATE sum(int);
DROP FUNCTION lower(text);
DROP FUNCTION sum(int);
DROP FUNCTION IF EXISTS df_nosuch, df_nosuch(int, text[]), nosuch.f(int), df_f(nosuch);
DROP PROCEDURE IF EXISTS df_nosuch(int);
DROP ROUTINE IF EXISTS df_nosuch(int, character varying);
-- Dependents.
CREATE TABLE df_t (a int, b int DEFAULT df_g(), c int GENERATED ALWAYS AS (df_f(a)) STORED,
  CONSTRAINT df_check CHECK (df_f(a) > 0));
CREATE INDEX df_i ON df_t (df_f(a));
CREATE VIEW df_v AS SELECT df_f(a) + df_g() AS x FROM df_t;
CREATE VIEW df_w AS SELECT x FROM df_v;
DROP FUNCTION df_f(int);
DROP FUNCTION df_g();
DROP FUNCTION df_f(int), df_g();
\d df_t
BEGIN;
DROP FUNCTION df_f(int) CASCADE;
\d df_t
ROLLBACK;
BEGIN;
DROP FUNCTION df_g CASCADE;
\d df_t
ROLLBACK;
CREATE FUNCTION df_of_row(df_t) RETURNS SETOF df_t LANGUAGE sql AS 'select $1';
DROP TABLE df_t;
DROP VIEW df_w, df_v;
DROP TABLE df_t;
DROP TABLE df_t CASCADE;
SELECT proname, pronargs FROM pg_proc WHERE proname LIKE 'df\_%' ORDER BY 1, 2;
CREATE FUNCTION df_default(a int DEFAULT df_g()) RETURNS int LANGUAGE sql AS 'select 1';
DROP FUNCTION df_g();
DROP FUNCTION df_g(), df_default(int);
CREATE SCHEMA df_s;
CREATE FUNCTION df_s.f() RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION df_s.f(int) RETURNS int LANGUAGE sql AS 'select 1';
DROP SCHEMA df_s;
DROP FUNCTION df_s.f;
DROP SCHEMA df_s CASCADE;
-- ALTER.
ALTER FUNCTION df_f(int) STABLE STRICT LEAKPROOF SECURITY DEFINER COST 3 PARALLEL RESTRICTED;
SELECT pg_get_functiondef('df_f(int)'::regprocedure);
ALTER FUNCTION df_f(int) VOLATILE CALLED ON NULL INPUT NOT LEAKPROOF SECURITY INVOKER;
ALTER FUNCTION df_f(int) SET work_mem = '1MB' SET enable_sort TO off;
ALTER FUNCTION df_f(int) SET work_mem TO '2MB';
SELECT pg_get_functiondef('df_f(int)'::regprocedure);
ALTER FUNCTION df_f(int) RESET work_mem;
SELECT proconfig FROM pg_proc WHERE proname = 'df_f' ORDER BY oid;
ALTER FUNCTION df_f(int) RESET ALL;
SELECT proconfig FROM pg_proc WHERE proname = 'df_f' ORDER BY oid;
ALTER FUNCTION df_f(int) ROWS 5;
ALTER FUNCTION df_f(int) COST 0;
ALTER FUNCTION df_f(int) STABLE VOLATILE;
ALTER FUNCTION df_f STABLE;
ALTER PROCEDURE df_p STABLE;
ALTER PROCEDURE df_f(int) SECURITY DEFINER;
ALTER FUNCTION sum(int) STABLE;
ALTER FUNCTION df_f(int) RENAME TO df_h;
ALTER FUNCTION df_h(int) RENAME TO df_f;
CREATE FUNCTION df_h(int) RETURNS int LANGUAGE sql AS 'select 2';
ALTER FUNCTION df_f(int) RENAME TO df_h;
CREATE SCHEMA df_s;
ALTER FUNCTION df_h(int) SET SCHEMA df_s;
ALTER FUNCTION df_s.df_h(int) SET SCHEMA nosuch;
ALTER ROUTINE df_s.df_h(int) SET SCHEMA df_s;
CREATE FUNCTION df_h(int) RETURNS int LANGUAGE sql AS 'select 3';
ALTER FUNCTION df_h(int) SET SCHEMA df_s;
ALTER FUNCTION df_h(int) OWNER TO postgres;
ALTER PROCEDURE df_p(int, int) RENAME TO df_q;
\df df_*
-- Search path: the function of the first schema hides one with the same arguments.
SELECT 'df_h(int)'::regprocedure, 'df_s.df_h(int)'::regprocedure;
SET search_path = df_s, public;
SELECT 'df_h(int)'::regprocedure, 'public.df_h(int)'::regprocedure;
SELECT n.nspname, pg_function_is_visible(p.oid)
  FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE proname = 'df_h' ORDER BY 1;
RESET search_path;
COMMENT ON FUNCTION df_f(int) IS 'a comment';
COMMENT ON PROCEDURE df_q IS 'of a procedure';
COMMENT ON ROUTINE df_f(text) IS 'of a routine';
COMMENT ON FUNCTION df_q IS 'x';
SELECT obj_description('df_f(int)'::regprocedure), obj_description('df_f(text)'::regprocedure);
COMMENT ON FUNCTION df_f(int) IS NULL;
SELECT obj_description('df_f(int)'::regprocedure);
DROP PROCEDURE df_q(int, int);
DROP ROUTINE df_f(int), df_f(text);
DROP SCHEMA df_s CASCADE;
DROP FUNCTION df_h;
-- Types in signatures.
CREATE TYPE df_mood AS ENUM ('a', 'b');
CREATE TYPE df_pair AS (x int, y text);
CREATE FUNCTION df_m(df_mood) RETURNS text LANGUAGE sql AS 'select $1::text';
CREATE FUNCTION df_a(df_mood[]) RETURNS int LANGUAGE sql AS 'select cardinality($1)';
CREATE FUNCTION df_c(int) RETURNS SETOF df_pair LANGUAGE sql AS 'select 1, ''x''';
SELECT df_m('a'), df_a('{a,b}'), df_c(1);
DROP TYPE df_mood;
DROP TYPE df_pair;
DROP TYPE df_mood, df_pair CASCADE;
