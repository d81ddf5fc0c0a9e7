-- Statements without a plan in functions that are not VOLATILE: none is allowed, whatever it does.
-- PostgreSQL 15 differs: the context of a body that is not allowed
CREATE PROCEDURE fv_nothing() LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;
CREATE FUNCTION fv_run(statement text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  EXECUTE statement;
  RETURN 'ran';
EXCEPTION WHEN others THEN
  RETURN sqlstate || ' ' || sqlerrm;
END $$;
SELECT statement, fv_run(statement) FROM (VALUES
  ('SET work_mem = ''1MB'''), ('SET LOCAL work_mem = ''1MB'''), ('SET work_mem TO DEFAULT'),
  ('SET TIME ZONE ''UTC'''), ('RESET work_mem'), ('RESET ALL'),
  ('SET TRANSACTION READ ONLY'), ('SHOW work_mem'), ('DO $d$ BEGIN NULL; END $d$'),
  ('CALL fv_nothing()'), ('CHECKPOINT'), ('LOAD ''plpgsql'''), ('UNLISTEN *'),
  ('DISCARD PLANS'), ('DISCARD SEQUENCES'), ('DISCARD TEMP'), ('DISCARD ALL'),
  ('CREATE TABLE fv_t (a int)'), ('SELECT 1')) statements (statement);
CREATE FUNCTION fv_set() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  SET LOCAL work_mem = '1MB';
  RETURN current_setting('work_mem');
END $$;
SELECT fv_set();
CREATE FUNCTION fv_do() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  DO 'BEGIN NULL; END';
  RETURN 1;
END $$;
SELECT fv_do();
CREATE FUNCTION fv_call() RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
  CALL fv_nothing();
  RETURN 1;
END $$;
SELECT fv_call();
CREATE FUNCTION fv_of_sql() RETURNS text LANGUAGE sql STABLE AS $$
  SET LOCAL work_mem = '1MB'; SELECT current_setting('work_mem') $$;
SELECT fv_of_sql();
CREATE FUNCTION fv_of_sql_call() RETURNS void LANGUAGE sql STABLE AS 'CALL fv_nothing()';
SELECT fv_of_sql_call();
-- A function may change a setting, whatever its volatility.
CREATE FUNCTION fv_config() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM set_config('work_mem', '2MB', true);
  RETURN current_setting('work_mem');
END $$;
SELECT fv_config();
-- A setting that a call has changed holds in the calls that follow, and in what they run.
SET timezone = 'UTC';
CREATE TABLE fv_t (id int, at timestamptz DEFAULT '2024-01-01 12:00+00');
CREATE TABLE fv_log (id int, at text);
CREATE FUNCTION fv_after() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE before text := NEW.at::text;
BEGIN
  INSERT INTO fv_log VALUES (NEW.id, before || ', ' || NEW.at::text || ', ' || current_setting('timezone'));
  IF NEW.id = 2 THEN
    PERFORM set_config('timezone', 'Asia/Tokyo', true);
  ELSIF NEW.id = 4 THEN
    SET LOCAL timezone = 'America/New_York';
  END IF;
  INSERT INTO fv_log VALUES (NEW.id, NEW.at::text);
  RETURN NULL;
END $$;
CREATE TRIGGER fv_after AFTER INSERT ON fv_t FOR EACH ROW EXECUTE FUNCTION fv_after();
INSERT INTO fv_t SELECT i FROM generate_series(1, 6) i;
SELECT * FROM fv_log;
SHOW timezone;
TRUNCATE fv_log, fv_t;
DROP TRIGGER fv_after ON fv_t;
CREATE FUNCTION fv_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO fv_log VALUES (NEW.id, NEW.at);
  PERFORM set_config('timezone', CASE NEW.id WHEN 2 THEN 'Asia/Tokyo' WHEN 4 THEN 'UTC' ELSE current_setting('timezone') END, false);
  RETURN NEW;
END $$;
CREATE TRIGGER fv_before BEFORE INSERT ON fv_t FOR EACH ROW EXECUTE FUNCTION fv_before();
INSERT INTO fv_t SELECT i FROM generate_series(1, 5) i;
SELECT * FROM fv_log;
CREATE FUNCTION fv_shown(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF i = 2 THEN PERFORM set_config('DateStyle', 'German', true); END IF;
  RETURN date '2024-02-03';
END $$;
SELECT i, fv_shown(i) FROM generate_series(1, 4) i ORDER BY i;
SELECT i, (SELECT fv_shown(i)) FROM generate_series(1, 3) i ORDER BY i;
-- The path of names.
CREATE SCHEMA fv_other;
CREATE FUNCTION fv_named() RETURNS text LANGUAGE sql AS $$ SELECT 'first' $$;
CREATE FUNCTION fv_other.fv_named() RETURNS text LANGUAGE sql AS $$ SELECT 'other' $$;
CREATE FUNCTION fv_path(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text := fv_named();
BEGIN
  IF i = 2 THEN PERFORM set_config('search_path', 'fv_other, public', true); END IF;
  RETURN r || ', ' || fv_named();
END $$;
SELECT i, fv_path(i) FROM generate_series(1, 4) i ORDER BY i;
SELECT i, fv_path(i) FROM generate_series(1, 4) i ORDER BY i;
RESET timezone;
DROP SCHEMA fv_other CASCADE;
DROP TABLE fv_t, fv_log;
-- An index that ON CONFLICT needs may be made after the function.
CREATE TABLE fv_c (id int, v text);
CREATE FUNCTION fv_put(i int, t text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO fv_c VALUES (i, t) ON CONFLICT (id) DO UPDATE SET v = excluded.v $$;
SELECT fv_put(1, 'a');
CREATE UNIQUE INDEX ON fv_c (id);
SELECT fv_put(1, 'a');
SELECT fv_put(1, 'b');
SELECT * FROM fv_c;
CREATE FUNCTION fv_put_wrong(i int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO fv_c VALUES (i, '') ON CONFLICT (nothing) DO NOTHING $$;
DROP TABLE fv_c;
