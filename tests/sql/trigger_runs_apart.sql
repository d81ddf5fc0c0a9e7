-- Rows of one statement whose triggers are not called in one run: commands and tables change from row to row, and so do
-- the settings.
CREATE TABLE tra_log (n integer GENERATED ALWAYS AS IDENTITY, op text, tab text, old_a integer, new_a integer, seen text);
CREATE FUNCTION tra_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO tra_log (op, tab, old_a, new_a, seen) VALUES (TG_OP, TG_TABLE_NAME, OLD.a, NEW.a, current_setting('tra.seen', true));
  RETURN NULL;
END $$;
-- Commands
CREATE TABLE tra (a integer PRIMARY KEY, b integer);
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON tra FOR EACH ROW EXECUTE FUNCTION tra_note();
INSERT INTO tra SELECT g, g FROM generate_series(2, 8, 2) g;
TRUNCATE tra_log RESTART IDENTITY;
INSERT INTO tra SELECT g, 0 FROM generate_series(1, 9) g ON CONFLICT (a) DO UPDATE SET b = tra.b + 1;
SELECT * FROM tra_log ORDER BY n;
-- Tables
CREATE TABLE tra_p (a integer, b integer) PARTITION BY LIST (b);
CREATE TABLE tra_p0 PARTITION OF tra_p FOR VALUES IN (0);
CREATE TABLE tra_p1 PARTITION OF tra_p FOR VALUES IN (1);
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON tra_p FOR EACH ROW EXECUTE FUNCTION tra_note();
TRUNCATE tra_log RESTART IDENTITY;
INSERT INTO tra_p SELECT g, g % 2 FROM generate_series(1, 6) g;
INSERT INTO tra_p VALUES (7, 1), (8, 1), (9, 0), (10, 0), (11, 1);
UPDATE tra_p SET b = 1 - b WHERE a > 8;
SELECT * FROM tra_log ORDER BY n;
-- Two tables of one statement
CREATE TABLE tra_q (a integer);
CREATE TRIGGER note AFTER INSERT OR DELETE ON tra_q FOR EACH ROW EXECUTE FUNCTION tra_note();
TRUNCATE tra_log RESTART IDENTITY;
WITH moved AS (DELETE FROM tra WHERE a < 5 RETURNING a) INSERT INTO tra_q SELECT a FROM moved;
SELECT op, tab, old_a, new_a FROM tra_log ORDER BY tab, n;
-- Settings that a call changes
CREATE SCHEMA tra_s;
CREATE TABLE tra_s.tra_names (name text);
INSERT INTO tra_s.tra_names VALUES ('inner');
CREATE TABLE tra_names (name text);
INSERT INTO tra_names VALUES ('outer');
CREATE FUNCTION tra_switch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.a = 3 THEN
    PERFORM set_config('search_path', 'tra_s, public', true);
    PERFORM set_config('tra.seen', 'changed', true);
  END IF;
  INSERT INTO public.tra_log (op, new_a, seen) VALUES (current_setting('tra.seen', true), NEW.a, (SELECT name FROM tra_names));
  RETURN NULL;
END $$;
CREATE TABLE tra_t (a integer);
CREATE TRIGGER switch AFTER INSERT ON tra_t FOR EACH ROW EXECUTE FUNCTION tra_switch();
TRUNCATE tra_log RESTART IDENTITY;
BEGIN;
INSERT INTO tra_t SELECT generate_series(1, 5);
COMMIT;
SELECT n, op, new_a, seen FROM tra_log ORDER BY n;
-- Variables of a call begin anew
CREATE FUNCTION tra_fresh() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE v text; w integer; r record; BEGIN
  INSERT INTO tra_log (op, new_a, seen) VALUES (FOUND::text, NEW.a, v || w);
  v := 'kept'; w := NEW.a;
  PERFORM 1;
  SELECT 1 AS one INTO r;
  RETURN NEW;
END $$;
CREATE TABLE tra_f (a integer);
CREATE TRIGGER fresh BEFORE INSERT ON tra_f FOR EACH ROW EXECUTE FUNCTION tra_fresh();
CREATE TRIGGER fresh_after AFTER INSERT ON tra_f FOR EACH ROW EXECUTE FUNCTION tra_fresh();
TRUNCATE tra_log RESTART IDENTITY;
INSERT INTO tra_f SELECT generate_series(1, 3);
SELECT n, op, new_a, seen FROM tra_log ORDER BY n;
DROP TABLE tra_log, tra, tra_p, tra_q, tra_t, tra_f, tra_names;
DROP SCHEMA tra_s CASCADE;
DROP FUNCTION tra_note, tra_switch, tra_fresh;
