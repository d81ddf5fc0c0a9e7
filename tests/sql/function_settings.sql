-- SET clauses of functions, SET within functions, and what is left of them.
SHOW work_mem;
CREATE FUNCTION shown() RETURNS text LANGUAGE plpgsql SET work_mem = '123kB'
    AS $$ BEGIN RETURN current_setting('work_mem'); END $$;
SELECT shown(), current_setting('work_mem');
SHOW work_mem;
CREATE FUNCTION fails(i int) RETURNS text LANGUAGE plpgsql SET work_mem = '123kB'
    AS $$ BEGIN PERFORM 1 / i; RETURN current_setting('work_mem'); END $$;
SELECT fails(1);
SELECT fails(0);
SHOW work_mem;
BEGIN;
SAVEPOINT s;
SELECT fails(0);
ROLLBACK TO s;
SHOW work_mem;
SET work_mem = '200kB';
SELECT shown(), current_setting('work_mem');
ROLLBACK;
SHOW work_mem;

-- A SET of the same setting within the function: LOCAL ends with it, others stay.
CREATE FUNCTION sets_local() RETURNS text LANGUAGE plpgsql SET work_mem = '123kB'
    AS $$ BEGIN SET LOCAL work_mem = '150kB'; RETURN current_setting('work_mem'); END $$;
SELECT sets_local(), current_setting('work_mem');
CREATE FUNCTION sets() RETURNS text LANGUAGE plpgsql SET work_mem = '123kB'
    AS $$ BEGIN SET work_mem = '160kB'; RETURN current_setting('work_mem'); END $$;
SELECT sets(), current_setting('work_mem');
SHOW work_mem;
RESET work_mem;
SHOW work_mem;

-- Without a clause a SET lasts as it does elsewhere.
CREATE FUNCTION plain_set(v text) RETURNS text LANGUAGE plpgsql
    AS $$ BEGIN PERFORM set_config('work_mem', v, false); RETURN current_setting('work_mem'); END $$;
SELECT plain_set('170kB');
SHOW work_mem;
BEGIN;
SELECT plain_set('180kB');
ROLLBACK;
SHOW work_mem;
CREATE FUNCTION local_set() RETURNS text LANGUAGE plpgsql
    AS $$ BEGIN SET LOCAL work_mem = '190kB'; RETURN current_setting('work_mem'); END $$;
BEGIN;
SELECT local_set();
SHOW work_mem;
COMMIT;
SHOW work_mem;
RESET work_mem;

-- An exception block takes a SET back.
CREATE FUNCTION takes_back() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    SET work_mem = '210kB';
    BEGIN
        SET work_mem = '220kB';
        PERFORM 1 / 0;
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
    RETURN current_setting('work_mem');
END $$;
SELECT takes_back();
SHOW work_mem;
RESET work_mem;
SHOW work_mem;

-- search_path decides what names mean, in each call.
CREATE SCHEMA one;
CREATE SCHEMA two;
CREATE TABLE one.t AS SELECT 'one' AS a;
CREATE TABLE two.t AS SELECT 'two' AS a;
CREATE FUNCTION in_one() RETURNS text LANGUAGE plpgsql SET search_path = one
    AS $$ BEGIN RETURN (SELECT a FROM t); END $$;
CREATE FUNCTION in_path() RETURNS text LANGUAGE plpgsql
    AS $$ BEGIN RETURN (SELECT a FROM t); END $$;
CREATE FUNCTION in_two() RETURNS text LANGUAGE plpgsql SET search_path = two, public
    AS $$ BEGIN RETURN in_path() || ' ' || in_one() || ' ' || in_path(); END $$;
SELECT in_one();
SET search_path = two, public;
SELECT in_path(), in_one(), in_two();
SET search_path = one, public;
SELECT in_path(), in_one(), in_two();
RESET search_path;
SELECT in_path();
SELECT in_two();
SHOW search_path;
CREATE FUNCTION moves() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    SET LOCAL search_path = one;
    SELECT a INTO r FROM t;
    SET LOCAL search_path = two;
    SELECT r || ' ' || a INTO r FROM t;
    RETURN r;
END $$;
BEGIN;
SELECT moves();
COMMIT;

-- Settings of input and output.
CREATE FUNCTION german() RETURNS text LANGUAGE plpgsql SET datestyle = 'German' SET timezone = 'UTC'
    AS $$ BEGIN RETURN '2.3.2001'::date || ' ' || '2001-03-04 05:06:07+02'::timestamptz; END $$;
SELECT german(), '2001-03-02'::date;
CREATE FUNCTION in_sql() RETURNS text LANGUAGE sql SET work_mem = '99kB'
    AS $$ SELECT current_setting('work_mem') $$;
SELECT in_sql(), current_setting('work_mem');

-- Values that are refused.
CREATE FUNCTION refused() RETURNS int LANGUAGE plpgsql SET work_mem = 'nonsense'
    AS $$ BEGIN RETURN 1; END $$;
CREATE FUNCTION unknown() RETURNS int LANGUAGE plpgsql SET no_such_setting = 1
    AS $$ BEGIN RETURN 1; END $$;
CREATE FUNCTION custom() RETURNS text LANGUAGE plpgsql SET my.own = 'mine'
    AS $$ BEGIN RETURN current_setting('my.own', true); END $$;
SELECT custom(), current_setting('my.own', true);
ALTER FUNCTION custom() SET my.own = 'yours';
SELECT custom();
ALTER FUNCTION custom() RESET ALL;
SELECT custom();

-- A procedure with a SET clause must not end the transaction.
CREATE PROCEDURE restricted() LANGUAGE plpgsql SET work_mem = '99kB' AS $$ BEGIN COMMIT; END $$;
CALL restricted();

-- track_functions.
CREATE FUNCTION counted() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
CREATE FUNCTION counted_sql() RETURNS int LANGUAGE sql VOLATILE SET work_mem = '98kB' AS $$ SELECT 1 $$;
SELECT counted(), counted_sql();
SELECT pg_stat_force_next_flush();
SELECT funcname, calls FROM pg_stat_user_functions ORDER BY 1;
SET track_functions = pl;
SELECT counted(), counted_sql() FROM generate_series(1, 3);
SELECT pg_stat_force_next_flush();
SELECT funcname, calls FROM pg_stat_user_functions ORDER BY 1;
SET track_functions = 'all';
SELECT counted(), counted_sql();
SELECT pg_stat_force_next_flush();
SELECT funcname, calls, total_time >= self_time AS at_least FROM pg_stat_user_functions ORDER BY 1;
BEGIN;
SELECT counted();
SELECT funcname, calls FROM pg_stat_xact_user_functions ORDER BY 1;
COMMIT;
SELECT pg_stat_get_function_calls('counted_sql'::regproc) >= 1;
SET track_functions = nonsense;
