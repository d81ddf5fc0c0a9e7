-- CREATE FUNCTION and CREATE PROCEDURE: declarations, their errors, and what the catalogs tell.
-- PostgreSQL 15 differs: errors about parameters have no position there.
CREATE FUNCTION cf_add(a int, b int DEFAULT 1) RETURNS int LANGUAGE sql IMMUTABLE STRICT
  AS 'select a + b';
CREATE FUNCTION cf_add(a bigint, b bigint) RETURNS bigint LANGUAGE sql STABLE COST 5 PARALLEL SAFE
  AS $$ select a + b $$;
CREATE FUNCTION cf_out(IN a int, OUT b int, OUT c text) LANGUAGE sql AS 'select 1, ''x''';
CREATE FUNCTION cf_inout(INOUT a int) LANGUAGE sql AS 'select $1';
CREATE FUNCTION cf_table(n int) RETURNS TABLE (i int, t text) ROWS 7 LANGUAGE sql
  AS 'select 1, ''x''';
CREATE FUNCTION cf_set() RETURNS SETOF text LANGUAGE sql LEAKPROOF AS 'select ''x''::text';
CREATE FUNCTION cf_many(VARIADIC n numeric[]) RETURNS numeric LANGUAGE sql AS 'select n[1]';
CREATE FUNCTION cf_any(anyelement, anyarray) RETURNS anyelement LANGUAGE sql AS 'select $1';
CREATE FUNCTION cf_compatible(anycompatible, anycompatible) RETURNS anycompatiblearray
  LANGUAGE sql AS 'select array[$1, $2]';
CREATE FUNCTION cf_settings() RETURNS void LANGUAGE sql SECURITY DEFINER
  SET work_mem = '8MB' SET search_path = public, pg_temp AS '';
CREATE FUNCTION cf_internal(int, int) RETURNS int LANGUAGE internal IMMUTABLE AS 'int4pl';
CREATE PROCEDURE cf_procedure(a int, INOUT b text DEFAULT 'x') LANGUAGE sql AS 'select b';
CREATE PROCEDURE cf_nothing() LANGUAGE sql AS '';
SELECT proname, prokind, pronargs, pronargdefaults, proretset, proisstrict, prosecdef, proleakproof,
  provolatile, proparallel, procost, prorows FROM pg_proc WHERE proname LIKE 'cf\_%' ORDER BY 1, 3, procost;
SELECT proname, proargtypes, proallargtypes, proargmodes, proargnames, prorettype::regtype,
  provariadic::regtype, proconfig, prosrc
  FROM pg_proc WHERE proname LIKE 'cf\_%' ORDER BY 1, pronargs, 2;
SELECT proname, pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid),
  pg_get_function_result(oid) FROM pg_proc WHERE proname LIKE 'cf\_%' ORDER BY 1, 2;
SELECT pg_get_function_arg_default('cf_add(int,int)'::regprocedure, n) FROM generate_series(0, 3) n;
SELECT pg_get_functiondef('cf_add(bigint,bigint)'::regprocedure);
SELECT pg_get_functiondef('cf_table'::regproc);
SELECT pg_get_functiondef('cf_settings'::regproc);
SELECT pg_get_functiondef('cf_procedure'::regproc);
SELECT pg_get_functiondef('cf_internal'::regproc);
SELECT 'cf_many'::regproc, 'cf_many(numeric[])'::regprocedure;
SELECT 'cf_add'::regproc;
SELECT 'cf_add(text)'::regprocedure;
SELECT to_regproc('cf_nosuch'), to_regprocedure('cf_add(int,int)');
\df cf_*
\df+ cf_add
\sf cf_many
SELECT routine_name, routine_type, data_type, type_udt_name, routine_body, external_language,
  is_deterministic, is_null_call, security_type
  FROM information_schema.routines WHERE routine_name LIKE 'cf\_%' ORDER BY 1, 4;
SELECT specific_schema, ordinal_position, parameter_mode, parameter_name, data_type, udt_name,
  parameter_default
  FROM information_schema.parameters WHERE specific_name LIKE 'cf\_%' AND specific_name !~ 'cf_add'
  ORDER BY regexp_replace(specific_name, '[0-9]', '', 'g'), 2;
-- Names of types.
CREATE TABLE cf_t (a int, b text);
CREATE FUNCTION cf_row(cf_t) RETURNS cf_t LANGUAGE sql AS 'select $1';
CREATE FUNCTION cf_column(x cf_t.b%TYPE) RETURNS cf_t.a%TYPE LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_lost(cf_t.z%TYPE) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_lost(cf_nosuch.z%TYPE) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION a(cf_t) RETURNS int LANGUAGE sql AS 'select 1';
\df cf_row
\df cf_column
-- Errors of declarations.
CREATE FUNCTION cf_add(x int, y int) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(nosuch) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(nosuch.t) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS nosuch LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(SETOF int) RETURNS int LANGUAGE sql AS 'select 1';
CREATE PROCEDURE cf_e(SETOF int) LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(VARIADIC a int[], b int) RETURNS int LANGUAGE sql AS 'select 1';
CREATE PROCEDURE cf_e(VARIADIC a int[], OUT b int) LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(VARIADIC a int) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(a int, a int) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(a int, OUT b int, OUT b int) LANGUAGE sql AS 'select 1, 2';
CREATE FUNCTION cf_e(a int, INOUT a int) LANGUAGE sql AS 'select 1, 2';
CREATE FUNCTION cf_e(OUT a int DEFAULT 1) LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(a int DEFAULT 1, b int) RETURNS int LANGUAGE sql AS 'select 1';
CREATE PROCEDURE cf_e(a int DEFAULT 1, OUT b int) LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(a int DEFAULT 'x'::text) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(a int DEFAULT (SELECT 1)) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(a int DEFAULT sum(1)) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(a int DEFAULT generate_series(1, 2)) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(a int, b int DEFAULT a) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(OUT a int, OUT b int) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(OUT a int) RETURNS text LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS anyelement LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(int) RETURNS anyrange LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(anyelement) RETURNS anyrange LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(anyelement) RETURNS anycompatible LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(int, OUT anyarray) LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS internal LANGUAGE internal AS 'int4pl';
CREATE FUNCTION cf_e() RETURNS trigger LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e(cstring) RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e("any") RETURNS int LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int LANGUAGE nosuch AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int LANGUAGE sql;
CREATE FUNCTION cf_e() RETURNS int LANGUAGE sql AS 'select 1', 'select 2';
CREATE FUNCTION cf_e() RETURNS int LANGUAGE internal AS 'nosuch';
CREATE FUNCTION cf_e() RETURNS int LANGUAGE plpgsql RETURN 1;
CREATE FUNCTION cf_e() RETURNS int LANGUAGE sql AS 'select 1' RETURN 1;
CREATE FUNCTION cf_e() RETURNS int LANGUAGE sql LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int STABLE IMMUTABLE LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int COST 0 LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS SETOF int ROWS -1 LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int ROWS 5 LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int PARALLEL nosuch LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int SET nosuch = 1 LANGUAGE sql AS 'select 1';
CREATE FUNCTION cf_e() RETURNS int SET work_mem = 'x' LANGUAGE sql AS 'select 1';
CREATE PROCEDURE cf_e() STABLE LANGUAGE sql AS 'select 1';
CREATE PROCEDURE cf_e() LANGUAGE sql COST 7 AS 'select 1';
CREATE FUNCTION nosuch.cf_e() RETURNS int LANGUAGE sql AS 'select 1';
-- OR REPLACE.
CREATE OR REPLACE FUNCTION cf_add(a int, b int DEFAULT 2) RETURNS int LANGUAGE sql
  AS 'select a * b';
SELECT pg_get_functiondef('cf_add(int,int)'::regprocedure);
CREATE OR REPLACE FUNCTION cf_add(a int, b int DEFAULT 2) RETURNS text LANGUAGE sql AS 'select 1';
CREATE OR REPLACE FUNCTION cf_add(a int, b int) RETURNS int LANGUAGE sql AS 'select 1';
CREATE OR REPLACE FUNCTION cf_add(a int, c int DEFAULT 2) RETURNS int LANGUAGE sql AS 'select 1';
CREATE OR REPLACE FUNCTION cf_out(IN a int, OUT b int, OUT d text) LANGUAGE sql
  AS 'select 1, ''x''';
CREATE OR REPLACE FUNCTION cf_set() RETURNS text LANGUAGE sql AS 'select ''x''::text';
CREATE OR REPLACE PROCEDURE cf_add(a int, b int) LANGUAGE sql AS '';
CREATE OR REPLACE FUNCTION cf_nothing() RETURNS void LANGUAGE sql AS '';
CREATE OR REPLACE PROCEDURE cf_procedure(a int, b text DEFAULT 'x') LANGUAGE sql AS '';
CREATE OR REPLACE FUNCTION cf_any(anyelement, anyarray) RETURNS anyelement LANGUAGE sql
  AS 'select $2[1]';
-- In a transaction that is rolled back, and in savepoints.
BEGIN;
CREATE FUNCTION cf_gone() RETURNS int LANGUAGE sql AS 'select 1';
SAVEPOINT s;
CREATE FUNCTION cf_gone(int) RETURNS int LANGUAGE sql AS 'select 1';
ROLLBACK TO s;
SELECT pronargs FROM pg_proc WHERE proname = 'cf_gone';
ROLLBACK;
SELECT pronargs FROM pg_proc WHERE proname = 'cf_gone';
