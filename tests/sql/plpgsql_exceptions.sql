-- PL/pgSQL: exception sections.
CREATE TABLE log (id serial, what text);
CREATE TABLE u (k int PRIMARY KEY, v int CHECK (v > 0));
CREATE FUNCTION catches(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (what) VALUES ('try ' || a || '/' || b);
  RETURN a / b;
EXCEPTION
  WHEN division_by_zero THEN
    RETURN 'division: ' || SQLSTATE || ' ' || SQLERRM;
  WHEN OTHERS THEN
    RETURN 'other: ' || SQLSTATE;
END $$;
SELECT catches(4, 2), catches(1, 0);
SELECT what FROM log ORDER BY id;
CREATE FUNCTION upsert(key int, val int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    UPDATE u SET v = val WHERE k = key;
    IF FOUND THEN RETURN 'updated'; END IF;
    BEGIN
      INSERT INTO u VALUES (key, val);
      RETURN 'inserted';
    EXCEPTION WHEN unique_violation THEN
      NULL;
    END;
  END LOOP;
END $$;
SELECT upsert(1, 1), upsert(1, 2), upsert(2, 3);
SELECT * FROM u ORDER BY k;
CREATE FUNCTION nested(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text := '';
BEGIN
  BEGIN
    INSERT INTO u VALUES (100, 100);
    BEGIN
      INSERT INTO u VALUES (101, 101);
      IF what = 'check' THEN INSERT INTO u VALUES (102, -1);
      ELSIF what = 'unique' THEN INSERT INTO u VALUES (100, 1);
      ELSIF what = 'raise' THEN RAISE EXCEPTION 'raised %', what USING ERRCODE = 'P1234';
      END IF;
      r := r || 'fine ';
    EXCEPTION
      WHEN check_violation THEN r := r || 'check ';
      WHEN SQLSTATE 'P1234' THEN r := r || 'P1234 ' || SQLERRM || ' '; RAISE;
    END;
    r := r || 'inner done ';
  EXCEPTION
    WHEN unique_violation OR not_null_violation THEN r := r || 'unique ';
    WHEN OTHERS THEN r := r || 'others ' || SQLSTATE;
  END;
  r := r || (SELECT coalesce(string_agg(k::text, ',' ORDER BY k), '') FROM u WHERE k >= 100);
  DELETE FROM u WHERE k >= 100;
  RETURN r;
END $$;
SELECT nested('none');
SELECT nested('check');
SELECT nested('unique');
SELECT nested('raise');
CREATE FUNCTION keeps() RETURNS text LANGUAGE plpgsql AS $$
DECLARE x int := 1;
BEGIN
  BEGIN
    x := 2;
    INSERT INTO u VALUES (50, 50);
    x := 3;
    PERFORM 1 / (x - 3);
    x := 4;
  EXCEPTION WHEN division_by_zero THEN
    x := x * 10;
  END;
  RETURN x || ' ' || (SELECT count(*) FROM u WHERE k = 50);
END $$;
SELECT keeps();
CREATE FUNCTION classes(code text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = code, MESSAGE = 'm';
EXCEPTION
  WHEN integrity_constraint_violation THEN RETURN 'class 23';
  WHEN SQLSTATE '22012' THEN RETURN 'exact';
  WHEN data_exception THEN RETURN 'class 22';
  WHEN raise_exception THEN RETURN 'raise';
END $$;
SELECT classes('23505'), classes('23000'), classes('22012'), classes('22003'), classes('P0001');
SELECT classes('42601');
CREATE FUNCTION stacked() RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text; m text; d text; h text; c text; t text; n text; sch text; col text; ctx text;
BEGIN
  INSERT INTO u VALUES (1, 1);
  RETURN 'none';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS s = RETURNED_SQLSTATE, m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL,
    h = PG_EXCEPTION_HINT, c = CONSTRAINT_NAME, t = TABLE_NAME, n = PG_DATATYPE_NAME,
    sch = SCHEMA_NAME, col = COLUMN_NAME, ctx = PG_EXCEPTION_CONTEXT;
  RETURN concat_ws('|', s, m, d, h, c, t, n, sch, col, ctx);
END $$;
SELECT stacked();
CREATE FUNCTION stacked_caller() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  r := stacked();
  RETURN r;
END $$;
SELECT stacked_caller();
CREATE FUNCTION all_options() RETURNS text LANGUAGE plpgsql AS $$
DECLARE c text; t text; n text; sch text; col text; h text;
BEGIN
  RAISE 'm' USING COLUMN = 'c', CONSTRAINT = 'k', DATATYPE = 'd', TABLE = 't', SCHEMA = 's', HINT = 'h';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME, t = TABLE_NAME, n = PG_DATATYPE_NAME,
    sch = SCHEMA_NAME, col = COLUMN_NAME, h = PG_EXCEPTION_HINT;
  RETURN concat_ws('|', c, t, n, sch, col, h);
END $$;
SELECT all_options();
DO $$ DECLARE x text; BEGIN GET STACKED DIAGNOSTICS x = MESSAGE_TEXT; END $$;
DO $$ BEGIN RAISE; END $$;
CREATE FUNCTION again() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    PERFORM 1 / 0;
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'caught %', SQLERRM;
    RAISE;
  END;
END $$;
SELECT again();
CREATE FUNCTION in_handler() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 / 0;
EXCEPTION WHEN OTHERS THEN
  PERFORM 1 / 0;
END $$;
SELECT in_handler();
CREATE FUNCTION handler_in_handler() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  PERFORM 1 / 0;
EXCEPTION WHEN OTHERS THEN
  r := SQLSTATE;
  BEGIN
    RAISE EXCEPTION 'inner' USING ERRCODE = 'P9999';
  EXCEPTION WHEN OTHERS THEN
    r := r || ' ' || SQLSTATE;
  END;
  RETURN r || ' ' || SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT handler_in_handler();
DO $$ BEGIN ASSERT 1 = 2; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'not here'; END $$;
DO $$ BEGIN ASSERT 1 = 2, 'told'; EXCEPTION WHEN assert_failure THEN RAISE NOTICE 'here: %', SQLERRM; END $$;
CREATE FUNCTION loop_of_exceptions(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE c int := 0;
BEGIN
  FOR i IN 1..n LOOP
    BEGIN
      INSERT INTO u VALUES (i, i);
    EXCEPTION WHEN unique_violation THEN
      c := c + 1;
    END;
  END LOOP;
  RETURN c;
END $$;
SELECT loop_of_exceptions(200), (SELECT count(*) FROM u);
SELECT count(*) FROM u;
BEGIN;
SELECT catches(1, 0);
SAVEPOINT a;
SELECT upsert(7, 7);
SELECT again();
ROLLBACK TO a;
SELECT upsert(7, 8);
COMMIT;
SELECT v FROM u WHERE k = 7;
CREATE FUNCTION exit_from_guarded() RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 0;
BEGIN
  FOR i IN 1..10 LOOP
    BEGIN
      n := n + 1;
      CONTINUE WHEN i < 5;
      EXIT;
    EXCEPTION WHEN OTHERS THEN n := -1;
    END;
  END LOOP;
  RETURN n;
END $$;
SELECT exit_from_guarded();
DO $$ BEGIN BEGIN COMMIT; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END; END $$;
CREATE FUNCTION ddl_undone() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    CREATE TABLE made (i int);
    INSERT INTO made VALUES (1);
    RAISE EXCEPTION 'undo';
  EXCEPTION WHEN raise_exception THEN NULL;
  END;
  RETURN coalesce(to_regclass('made')::text, 'gone');
END $$;
SELECT ddl_undone();
SELECT ddl_undone();
