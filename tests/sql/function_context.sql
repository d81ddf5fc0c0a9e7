-- Errors within functions: their CONTEXT, the statement of the function with its position.
CREATE TABLE t (a int PRIMARY KEY, b text);
INSERT INTO t VALUES (1, 'one'), (2, 'two');
CREATE FUNCTION expression(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    RETURN 1 / i;
END $$;
SELECT expression(0);
CREATE FUNCTION statement(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r int;
BEGIN
    SELECT a / i INTO r FROM t WHERE a = 1;
    RETURN r;
END $$;
SELECT statement(0);
SELECT statement(1);
CREATE FUNCTION of_statement(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r int;
BEGIN
    SELECT expression(a - i) INTO r FROM t WHERE a = 1;
    RETURN r;
END $$;
SELECT of_statement(1);
SELECT of_statement(2) FROM t;
CREATE FUNCTION of_expression(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    RETURN of_statement(i) + 1;
END $$;
SELECT of_expression(1);
SELECT 1 + of_expression(1) FROM t WHERE a = 2;

-- Names that are not there.
CREATE FUNCTION no_column() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT nothere FROM t);
END $$;
SELECT no_column();
CREATE FUNCTION no_table() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO t SELECT * FROM nowhere;
END $$;
SELECT no_table();
CREATE FUNCTION no_function() RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int := 1;
BEGIN
    x := nofunction(x, 'a');
    RETURN x;
END $$;
SELECT no_function();
CREATE FUNCTION bad_type() RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
    x := 'abc' || 'd';
    RETURN x;
END $$;
SELECT bad_type();

-- Dynamic statements.
CREATE FUNCTION dynamic(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    EXECUTE what INTO r;
    RETURN r;
END $$;
SELECT dynamic('SELECT 1');
SELECT dynamic('SELECT 1 / 0');
SELECT dynamic('SELECT nothere');
SELECT dynamic('SELEC 1');
SELECT dynamic('SELECT dynamic(''SELECT 1 / 0'')');
SELECT dynamic(NULL);

-- Constraints, and changes that a function makes.
CREATE FUNCTION twice(i int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO t VALUES (i, 'first');
    INSERT INTO t VALUES (i, 'second');
END $$;
SELECT twice(10);
SELECT * FROM t ORDER BY a;
INSERT INTO t SELECT 20, dynamic('SELECT 1 / 0');
UPDATE t SET b = dynamic('INSERT INTO t VALUES (1)');
SELECT * FROM t ORDER BY a;

-- A variable or a column.
CREATE FUNCTION ambiguous() RETURNS int LANGUAGE plpgsql AS $$
DECLARE a int := 1; r int;
BEGIN
    SELECT a INTO r FROM t;
    RETURN r;
END $$;
SELECT ambiguous();
CREATE FUNCTION qualified() RETURNS int LANGUAGE plpgsql AS $$
<<here>>
DECLARE a int := 2; r int;
BEGIN
    SELECT t.a INTO r FROM t WHERE t.a = here.a;
    RETURN r;
END $$;
SELECT qualified();
CREATE FUNCTION prefer_column() RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE a int := 77; r int;
BEGIN
    SELECT max(a) INTO r FROM t;
    RETURN r;
END $$;
SELECT prefer_column();
CREATE FUNCTION prefer_variable() RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE a int := 77; r int;
BEGIN
    SELECT max(a) INTO r FROM t;
    RETURN r;
END $$;
SELECT prefer_variable();

-- Language SQL.
CREATE FUNCTION in_sql(i int) RETURNS int LANGUAGE sql VOLATILE
    AS $$ SELECT 1; SELECT expression(i); SELECT 2 $$;
SELECT in_sql(0);
CREATE FUNCTION in_sql_two(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    RETURN in_sql(i);
END $$;
SELECT in_sql_two(0);

-- Functions that may change nothing.
CREATE FUNCTION stable_insert() RETURNS void LANGUAGE plpgsql STABLE
    AS $$ BEGIN INSERT INTO t VALUES (100); END $$;
SELECT stable_insert();
CREATE FUNCTION stable_update() RETURNS void LANGUAGE plpgsql STABLE
    AS $$ BEGIN UPDATE t SET b = 'x'; END $$;
SELECT stable_update();
CREATE FUNCTION stable_delete() RETURNS void LANGUAGE plpgsql IMMUTABLE
    AS $$ BEGIN DELETE FROM t; END $$;
SELECT stable_delete();
CREATE FUNCTION stable_lock() RETURNS void LANGUAGE plpgsql STABLE
    AS $$ BEGIN PERFORM * FROM t FOR UPDATE; END $$;
SELECT stable_lock();
CREATE FUNCTION stable_ddl() RETURNS void LANGUAGE plpgsql STABLE
    AS $$ BEGIN CREATE TABLE u (a int); END $$;
SELECT stable_ddl();
CREATE FUNCTION stable_calls() RETURNS void LANGUAGE plpgsql STABLE
    AS $$ BEGIN PERFORM twice(200); END $$;
SELECT stable_calls();
SELECT * FROM t ORDER BY a;

-- What a function sees: VOLATILE its own changes and those of its statement's other calls, STABLE
-- neither.
CREATE FUNCTION seen() RETURNS bigint LANGUAGE plpgsql VOLATILE
    AS $$ BEGIN RETURN (SELECT count(*) FROM t); END $$;
CREATE FUNCTION seen_stable() RETURNS bigint LANGUAGE plpgsql STABLE
    AS $$ BEGIN RETURN (SELECT count(*) FROM t); END $$;
CREATE FUNCTION add(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO t VALUES (i, 'added');
    RETURN seen() || ' ' || seen_stable();
END $$;
SELECT add(301), seen(), seen_stable();
INSERT INTO t SELECT 400 + a, seen() || ' ' || seen_stable() FROM t WHERE a < 3 RETURNING *;
SELECT count(*) FROM t;

-- Statements of transactions.
CREATE FUNCTION begins() RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'BEGIN'; END $$;
SELECT begins();
CREATE FUNCTION commits() RETURNS void LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$;
SELECT commits();
CREATE FUNCTION vacuums() RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'VACUUM t'; END $$;
SELECT vacuums();
