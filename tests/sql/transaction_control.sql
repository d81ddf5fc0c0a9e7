-- COMMIT and ROLLBACK in procedures and DO.
-- PostgreSQL 15 differs: the context of a statement that a function in SQL refuses
CREATE TABLE t (a int, b text);
CREATE PROCEDURE alternating() LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 0..9 LOOP
        INSERT INTO t (a) VALUES (i);
        IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
    END LOOP;
END $$;
CALL alternating();
SELECT * FROM t ORDER BY a;
TRUNCATE t;
DO $$
BEGIN
    FOR i IN 0..9 LOOP
        INSERT INTO t (a) VALUES (i);
        IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
    END LOOP;
END $$;
SELECT * FROM t ORDER BY a;

-- Not within a block, nor within a function.
BEGIN;
CALL alternating();
COMMIT;
BEGIN;
DO $$ BEGIN ROLLBACK; END $$;
COMMIT;
SELECT 1 \; CALL alternating();
CREATE FUNCTION calls() RETURNS int LANGUAGE plpgsql AS $$ BEGIN CALL alternating(); RETURN 1; END $$;
SELECT calls();
CREATE FUNCTION does() RETURNS int LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'DO $x$ BEGIN COMMIT; END $x$'; RETURN 1; END $$;
SELECT does();
CREATE FUNCTION commits() RETURNS int LANGUAGE plpgsql AS $$ BEGIN COMMIT; RETURN 1; END $$;
SELECT commits();
SELECT * FROM t ORDER BY a;

-- A procedure that a procedure calls may; one called by EXECUTE or a function may not.
TRUNCATE t;
CREATE PROCEDURE outer_one() LANGUAGE plpgsql AS $$
DECLARE x int := 3;
BEGIN
    CALL alternating();
    INSERT INTO t VALUES (100);
    COMMIT;
    INSERT INTO t VALUES (101);
    ROLLBACK;
END $$;
CALL outer_one();
SELECT * FROM t ORDER BY a;
DO $$ BEGIN CALL outer_one(); END $$;
SELECT count(*) FROM t;
DO $$ BEGIN EXECUTE 'CALL alternating()'; END $$;
DO $$ BEGIN PERFORM commits(); END $$;

-- Savepoints: not within an exception block; after it, yes.
DO $$
BEGIN
    BEGIN
        COMMIT;
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
END $$;
DO $$
BEGIN
    BEGIN
        ROLLBACK;
    EXCEPTION WHEN others THEN
        RAISE NOTICE '% %', sqlstate, sqlerrm;
    END;
END $$;
TRUNCATE t;
DO $$
BEGIN
    INSERT INTO t VALUES (1);
    BEGIN
        INSERT INTO t VALUES (2);
        PERFORM 1 / 0;
    EXCEPTION WHEN division_by_zero THEN
        INSERT INTO t VALUES (3);
    END;
    COMMIT;
    INSERT INTO t VALUES (4);
    PERFORM 1 / 0;
END $$;
SELECT * FROM t ORDER BY a;

-- Loops over queries go on.
TRUNCATE t;
INSERT INTO t SELECT n FROM generate_series(1, 4) n;
CREATE TABLE u (x int);
DO $$
DECLARE r record;
BEGIN
    FOR r IN SELECT * FROM t ORDER BY a LOOP
        INSERT INTO u VALUES (r.a);
        IF r.a % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
    END LOOP;
END $$;
SELECT * FROM u ORDER BY x;
DO $$
DECLARE r record;
BEGIN
    FOR r IN UPDATE t SET a = a * 2 RETURNING a LOOP
        COMMIT;
    END LOOP;
END $$;
SELECT count(*) FROM t WHERE a > 4;

-- AND CHAIN and the modes of transactions.
DO $$
BEGIN
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
    PERFORM 1;
    RAISE NOTICE '%', current_setting('transaction_isolation');
    COMMIT AND CHAIN;
    RAISE NOTICE '%', current_setting('transaction_isolation');
    ROLLBACK;
    RAISE NOTICE '%', current_setting('transaction_isolation');
END $$;
SHOW transaction_isolation;
DO $$ BEGIN COMMIT; PERFORM count(*) FROM u; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; END $$;
DO $$ BEGIN COMMIT; SET TRANSACTION READ ONLY; INSERT INTO u VALUES (99); END $$;
SELECT count(*) FROM u WHERE x = 99;

-- now() is the transaction's, settings end with their transaction.
DO $$
DECLARE before timestamptz := now(); stays timestamptz := statement_timestamp();
BEGIN
    PERFORM pg_sleep(0.01);
    COMMIT;
    RAISE NOTICE '% %', now() > before, statement_timestamp() = stays;
    SET LOCAL work_mem = '111kB';
    RAISE NOTICE '%', current_setting('work_mem');
    COMMIT;
    RAISE NOTICE '%', current_setting('work_mem');
    SET work_mem = '222kB';
    ROLLBACK;
    RAISE NOTICE '%', current_setting('work_mem');
END $$;

-- Constraints that are checked at the end.
CREATE TABLE keys (k int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
INSERT INTO keys VALUES (1);
DO $$ BEGIN INSERT INTO keys VALUES (2); COMMIT; INSERT INTO keys VALUES (1); COMMIT; END $$;
SELECT * FROM keys ORDER BY k;

-- The catalog.
DO $$
BEGIN
    CREATE TABLE made (a int);
    COMMIT;
    INSERT INTO made VALUES (1);
    ALTER TABLE made ADD b int;
    ROLLBACK;
    CREATE TABLE gone (a int);
    ROLLBACK;
END $$;
SELECT * FROM made;
SELECT * FROM gone;

-- OUT arguments after a COMMIT, cursors, SAVEPOINT.
CREATE PROCEDURE with_out(INOUT a int) LANGUAGE plpgsql AS $$ BEGIN a := a + 1; COMMIT; a := a + 1; END $$;
CALL with_out(1);
DO $$ BEGIN SAVEPOINT s; END $$;
CREATE PROCEDURE in_sql() LANGUAGE sql AS $$ COMMIT $$;
CALL in_sql();
CREATE PROCEDURE error_at_end() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1000); COMMIT; RAISE EXCEPTION 'after all'; END $$;
CALL error_at_end();
SELECT count(*) FROM t WHERE a = 1000;
