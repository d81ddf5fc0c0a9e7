-- PL/pgSQL: RAISE, ASSERT and GET DIAGNOSTICS.
-- PostgreSQL 15 differs: CONTEXT says "SQL expression"
DO $$ BEGIN RAISE NOTICE 'plain'; END $$;
DO $$ BEGIN RAISE NOTICE '% and %, 100%%, %', 1, 'two', NULL; END $$;
DO $$ BEGIN RAISE INFO 'info'; RAISE WARNING 'warning'; RAISE DEBUG 'debug'; RAISE LOG 'log'; END $$;
SET client_min_messages = debug1;
DO $$ BEGIN RAISE DEBUG 'debug %', 1.50; END $$;
SET client_min_messages = warning;
DO $$ BEGIN RAISE NOTICE 'unseen'; RAISE WARNING 'seen'; RAISE INFO 'always'; END $$;
RESET client_min_messages;
DO $$ BEGIN RAISE EXCEPTION 'failed: %', now() IS NOT NULL; END $$;
DO $$ BEGIN RAISE 'default level'; END $$;
DO $$ BEGIN RAISE division_by_zero; END $$;
DO $$ BEGIN RAISE SQLSTATE '22012'; END $$;
DO $$ BEGIN RAISE SQLSTATE 'U9999' USING MESSAGE = 'own'; END $$;
DO $$ BEGIN RAISE unique_violation USING MESSAGE = 'dup', DETAIL = 'the detail', HINT = 'the hint'; END $$;
DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = 'unique_violation', CONSTRAINT = 'k', TABLE = 't', SCHEMA = 's', COLUMN = 'c', DATATYPE = 'd'; END $$;
DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '22012'; END $$;
DO $$ BEGIN RAISE EXCEPTION 'a' USING MESSAGE = 'b'; END $$;
DO $$ BEGIN RAISE division_by_zero USING ERRCODE = '22012'; END $$;
DO $$ BEGIN RAISE EXCEPTION 'a' USING DETAIL = NULL; END $$;
DO $$ BEGIN RAISE EXCEPTION 'a' USING DETAIL = 'a', DETAIL = 'b'; END $$;
DO $$ BEGIN RAISE EXCEPTION 'a' USING ERRCODE = 'no_such_condition'; END $$;
DO $$ BEGIN RAISE WARNING 'w' USING ERRCODE = '01P01', DETAIL = 'd', HINT = 'h'; END $$;
DO $$ BEGIN RAISE NOTICE USING MESSAGE = 'from using'; END $$;
DO $$ BEGIN RAISE NOTICE '%', (SELECT count(*) FROM generate_series(1, 10)); END $$;
DO $$ BEGIN RAISE NOTICE '%', ARRAY[1, 2]; RAISE NOTICE '%', ROW(1, 'a', NULL); RAISE NOTICE '%', true; END $$;
DO $$ DECLARE d date := '2024-02-29'; i interval := '1 day 02:03'; BEGIN RAISE NOTICE '% %', d, i; END $$;
DO $$ BEGIN RAISE NOTICE '%', 1 / 0; END $$;
DO $$ BEGIN RAISE no_such_thing; END $$;
DO $$ BEGIN ASSERT true; ASSERT 1 + 1 = 2, 'never'; END $$;
DO $$ BEGIN ASSERT false; END $$;
DO $$ BEGIN ASSERT NULL; END $$;
DO $$ BEGIN ASSERT false, 'message ' || 5; END $$;
DO $$ BEGIN ASSERT false, NULL; END $$;
SET plpgsql.check_asserts = off;
DO $$ BEGIN ASSERT false, 'unchecked'; RAISE NOTICE 'went on'; END $$;
RESET plpgsql.check_asserts;
CREATE FUNCTION where_am_i() RETURNS text LANGUAGE plpgsql AS $$
DECLARE c text;
BEGIN
  GET DIAGNOSTICS c = PG_CONTEXT;
  RETURN c;
END $$;
CREATE FUNCTION outer_one() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  r := where_am_i();
  RETURN r;
END $$;
CREATE FUNCTION outer_two() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  SELECT outer_one() INTO r;
  RETURN r;
END $$;
SELECT where_am_i();
SELECT outer_one();
SELECT outer_two();
CREATE FUNCTION my_oid() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE o oid;
BEGIN
  GET DIAGNOSTICS o = PG_ROUTINE_OID;
  RETURN o = 'my_oid'::regproc;
END $$;
SELECT my_oid();
\set SHOW_CONTEXT always
DO $$ BEGIN RAISE NOTICE 'with context'; PERFORM outer_one(); END $$;
CREATE FUNCTION says() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'says'; END $$;
CREATE FUNCTION says_outer() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM says();
  PERFORM says() FROM generate_series(1, 2);
END $$;
SELECT says_outer();
