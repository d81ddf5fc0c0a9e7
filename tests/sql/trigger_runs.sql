-- A trigger's function that is called for many rows of a statement. A call finds nothing of the call before it.
-- PostgreSQL 15 differs: EXPLAIN ANALYZE shows rows without a fraction
CREATE TABLE r (id int, a text, b text);
CREATE TABLE r_log (n serial, op text, tab text, id int, a text, depth int);
CREATE INDEX ON r_log (a);
CREATE FUNCTION r_before() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept text;
  item r;
  any_row record;
  counted int := 5;
BEGIN
  NEW.b := concat_ws(' ', coalesce(kept, '-'), FOUND, item IS NULL, OLD IS NULL, counted);
  kept := repeat('kept ', 30);
  kept := kept || NEW.id;
  item := NEW;
  any_row := NEW;
  OLD := NEW;
  counted := counted + 1;
  TG_OP := 'changed';
  PERFORM 1;
  IF NEW.id = 3 THEN
    RETURN NULL;
  ELSIF NEW.id = 4 THEN
    OLD.a := 'returned OLD';
    RETURN OLD;
  ELSIF NEW.id = 5 THEN
    any_row.a := 'returned any_row';
    RETURN any_row;
  ELSIF NEW.id = 6 THEN
    RETURN item;
  ELSIF NEW.id = 7 THEN
    NEW := NULL;
    RETURN NEW;
  ELSIF NEW.id = 8 THEN
    SELECT 80 AS id, 'eighty'::text AS a, NEW.b AS b INTO NEW;
    NEW.a := NEW.a || '!';
  ELSIF NEW.id = 9 THEN
    RETURN (90, 'ninety'::text, NEW.b)::r;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER r_before BEFORE INSERT ON r FOR EACH ROW EXECUTE FUNCTION r_before();
INSERT INTO r SELECT i, 'a' || i FROM generate_series(1, 11) i RETURNING *;
-- NEW gets other columns in one call
CREATE OR REPLACE FUNCTION r_before() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  other record;
BEGIN
  IF NEW.id = 3 THEN
    SELECT 1 AS x, NEW.id AS id, 2.5 AS a INTO NEW;
    NEW.a := NEW.a + 1;
    SELECT NEW.id, NEW.a::text || ' of ' || NEW.x, 'b'::text INTO NEW;
    RETURN NEW;
  ELSIF NEW.id = 5 THEN
    other := NEW;
  END IF;
  NEW.a := 'changed';
  RETURN NEW;
END $$;
INSERT INTO r SELECT i, 'a' || i FROM generate_series(1, 6) i RETURNING *;
-- what is not assigned in this call is not assigned; the rows before it are not there either
CREATE OR REPLACE FUNCTION r_before() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  other record;
BEGIN
  IF NEW.id = 3 THEN
    NEW.a := other.id;
  END IF;
  other := NEW;
  RETURN NEW;
END $$;
INSERT INTO r SELECT i, 'a' || i FROM generate_series(1, 6) i;
CREATE OR REPLACE FUNCTION r_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.id = 3 THEN
    RETURN (1, 2);
  ELSIF NEW.id = 4 THEN
    NEW.nothing := 4;
  ELSIF NEW.id = 6 THEN
    NULL;
  ELSE
    RETURN NEW;
  END IF;
END $$;
INSERT INTO r SELECT i, 'a' || i FROM generate_series(1, 6) i;
INSERT INTO r SELECT i, 'a' || i FROM generate_series(4, 6) i;
INSERT INTO r SELECT i, 'a' || i FROM generate_series(5, 7) i;
-- A column takes a value as an assignment does.
CREATE DOMAIN r_even AS int CHECK (VALUE % 2 = 0);
CREATE TYPE r_pair AS (x int, y text);
CREATE TABLE r_types (id int, i int, s smallint, n numeric(5,2), v varchar(4), c char(4), d date, t timestamp,
                      z timestamptz(0), f real, o bool, g int[], e r_even, p r_pair, y "char", m name);
CREATE FUNCTION r_assign() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  text_of text := NEW.v;
BEGIN
  NEW.i := NEW.id + 1.5;
  NEW.s := NEW.i;
  NEW.n := NEW.id / 3.0;
  NEW.v := NEW.id;
  NEW.c := 'c' || NEW.id;
  NEW.d := '2024-01-31';
  NEW.t := NEW.d;
  NEW.z := timestamp '2024-01-31 12:00:00.6';
  NEW.f := NEW.n;
  NEW.o := CASE WHEN NEW.id = 2 THEN NULL ELSE NEW.id > 1 END;
  NEW.g := ARRAY[NEW.id, 2];
  NEW.g[2] := NEW.id * 2;
  NEW.e := NEW.id * 2;
  NEW.p := (NEW.id, text_of);
  NEW.p.x := 2.7;
  NEW.y := 'yes';
  NEW.m := repeat('m', 70);
  IF NEW.id = 3 THEN
    NEW.v := NULL;
    NEW.t := now();
    NEW.t := NEW.t - NEW.t + date '2024-02-01';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER r_assign BEFORE INSERT ON r_types FOR EACH ROW EXECUTE FUNCTION r_assign();
SET timezone = 'UTC';
INSERT INTO r_types (id, v) SELECT i, 'v' || i FROM generate_series(1, 3) i RETURNING *;
CREATE OR REPLACE FUNCTION r_assign() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.id = 2 THEN NEW.i := 'two';
  ELSIF NEW.id = 4 THEN NEW.s := NEW.i + 70000;
  ELSIF NEW.id = 6 THEN NEW.v := 'too long';
  ELSIF NEW.id = 8 THEN NEW.n := 1234.5;
  ELSIF NEW.id = 10 THEN NEW.o := NEW.id;
  ELSIF NEW.id = 12 THEN NEW.e := NEW.id + 1;
  ELSIF NEW.id = 14 THEN NEW.d := NEW.v || 'x';
  ELSIF NEW.id = 16 THEN NEW.g := NEW.d;
  ELSIF NEW.id = 18 THEN NEW.i := 1 / (NEW.id - 18);
  ELSIF NEW.id = 20 THEN NEW.i := interval '1 day';
  END IF;
  RETURN NEW;
END $$;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(1, 3) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(3, 5) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(5, 7) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(7, 9) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(9, 11) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(11, 13) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(13, 15) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(15, 17) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(17, 19) i;
INSERT INTO r_types (id, i) SELECT i, i FROM generate_series(19, 21) i;
SELECT count(*) FROM r_types;
-- The first row that fails is named, be it for its call, its completion or its place.
CREATE TABLE r_kept (id int PRIMARY KEY, a int NOT NULL, b int GENERATED ALWAYS AS (100 / a) STORED, CHECK (a < 50));
CREATE FUNCTION r_fails() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.a := 60 / (NEW.a - 7);
  RETURN NEW;
END $$;
CREATE TRIGGER r_fails BEFORE INSERT ON r_kept FOR EACH ROW EXECUTE FUNCTION r_fails();
INSERT INTO r_kept SELECT i, i FROM generate_series(1, 5) i RETURNING *;
INSERT INTO r_kept SELECT i + 10, i FROM generate_series(1, 9) i;
INSERT INTO r_kept VALUES (11, 1), (12, 80), (13, 7);
INSERT INTO r_kept VALUES (11, 1), (12, 8), (13, 7);
INSERT INTO r_kept VALUES (11, 1), (12, NULL), (1, 1), (13, 7);
INSERT INTO r_kept VALUES (11, 1), (1, 1), (12, NULL), (13, 7);
INSERT INTO r_kept VALUES (11, 1), (11, 1), (13, 7);
SELECT * FROM r_kept;
-- Triggers after rows: of several tables and commands in one statement.
DROP TRIGGER r_before ON r;
CREATE FUNCTION r_after() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  id int := CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END;
  kept int;
BEGIN
  INSERT INTO r_log (op, tab, id, a, depth)
    VALUES (TG_OP, TG_TABLE_NAME, id, concat_ws(',', OLD.a, NEW.a, kept), pg_trigger_depth());
  kept := id;
  OLD := NULL;
  RETURN NEW;
END $$;
CREATE TABLE r_parts (id int, a text) PARTITION BY HASH (id);
CREATE TABLE r_parts_0 PARTITION OF r_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE r_parts_1 (gone int, a text, id int);
ALTER TABLE r_parts_1 DROP gone;
ALTER TABLE r_parts ATTACH PARTITION r_parts_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TRIGGER r_after AFTER INSERT OR UPDATE OR DELETE ON r_parts FOR EACH ROW EXECUTE FUNCTION r_after();
INSERT INTO r_parts SELECT i, 'a' || i FROM generate_series(1, 8) i;
UPDATE r_parts SET a = a || '+' WHERE id < 7;
UPDATE r_parts SET id = id + 10 WHERE id = 7;
DELETE FROM r_parts WHERE id < 4;
SELECT * FROM r_log ORDER BY n;
TRUNCATE r_log;
CREATE TABLE r_key (id int PRIMARY KEY, a text);
CREATE TRIGGER r_after AFTER INSERT OR UPDATE OR DELETE ON r_key FOR EACH ROW EXECUTE FUNCTION r_after();
INSERT INTO r_key SELECT i, 'old' FROM generate_series(2, 6, 2) i;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 7) i ON CONFLICT (id) DO UPDATE SET a = 'updated';
SELECT op, tab, id, a, depth FROM r_log ORDER BY n;
SELECT nextval('r_log_n_seq') - max(n) FROM r_log;
TRUNCATE r_log;
-- within each other
CREATE OR REPLACE FUNCTION r_after() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept text;
BEGIN
  kept := NEW.a;
  IF NEW.id < 100 THEN
    INSERT INTO r_key SELECT NEW.id * 100 + i, 'by ' || NEW.id FROM generate_series(1, 2) i;
  END IF;
  INSERT INTO r_log (op, id, a, depth) VALUES (TG_OP, NEW.id, kept, pg_trigger_depth());
  RETURN NULL;
END $$;
DELETE FROM r_key;
TRUNCATE r_log;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 3) i;
SELECT op, id, a, depth FROM r_log ORDER BY n;
-- An error in a call, after rows that were held, and one that is caught.
CREATE OR REPLACE FUNCTION r_after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO r_log (op, id, a) VALUES (TG_OP, NEW.id, 'before');
  IF NEW.id = 3 THEN
    NEW.a := 1 / 0;
  END IF;
  RETURN NULL;
END $$;
TRUNCATE r_key, r_log;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 5) i;
DO $$
BEGIN
  INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 5) i;
EXCEPTION WHEN division_by_zero THEN
  INSERT INTO r_key VALUES (10, 'other');
END $$;
SELECT op, id, a FROM r_log ORDER BY n;
-- What a call changes for the next one: settings, the table's and the function's own.
CREATE OR REPLACE FUNCTION r_after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO r_log (op, id, a) VALUES (TG_OP, NEW.id, to_char(timestamptz '2024-01-31 12:00Z', 'HH24') || current_setting('r.x', true));
  IF NEW.id = 2 THEN
    SET LOCAL timezone = 'Asia/Tokyo';
  ELSIF NEW.id = 3 THEN
    PERFORM set_config('r.x', ' three', true);
  END IF;
  RETURN NULL;
END $$;
TRUNCATE r_key, r_log;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 5) i;
SELECT op, id, a FROM r_log ORDER BY n;
ALTER FUNCTION r_after SET timezone = 'America/New_York';
TRUNCATE r_key, r_log;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 5) i;
SELECT op, id, a FROM r_log ORDER BY n;
ALTER FUNCTION r_after RESET timezone;
-- Calls are counted one by one.
SET track_functions = 'all';
TRUNCATE r_key, r_log;
BEGIN;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 5) i;
INSERT INTO r_kept SELECT i, i FROM generate_series(20, 25) i;
SELECT funcname, calls FROM pg_stat_xact_user_functions ORDER BY 1;
COMMIT;
RESET track_functions;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) INSERT INTO r_kept SELECT i, i FROM generate_series(30, 35) i;
TRUNCATE r_key;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 5) i;
-- WHEN, a second trigger, a switched one, a deferred one
CREATE FUNCTION r_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO r_log (op, id, a) VALUES (TG_NAME, NEW.id, TG_WHEN);
  RETURN NEW;
END $$;
TRUNCATE r_key, r_log;
ALTER TABLE r_key DISABLE TRIGGER r_after;
CREATE TRIGGER r_some AFTER INSERT ON r_key FOR EACH ROW WHEN (NEW.id % 2 = 0) EXECUTE FUNCTION r_again();
INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 5) i;
CREATE CONSTRAINT TRIGGER r_late AFTER INSERT ON r_key DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION r_again();
BEGIN;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(6, 9) i;
SELECT op, id, a FROM r_log ORDER BY n;
COMMIT;
DROP TRIGGER r_some ON r_key;
TRUNCATE r_key;
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(1, 3) i;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(4, 6) i;
SELECT op, id, a FROM r_log ORDER BY n DESC LIMIT 4;
COMMIT;
SELECT op, id, a FROM r_log ORDER BY n;
SET session_replication_role = replica;
INSERT INTO r_key SELECT i, 'new' FROM generate_series(11, 13) i;
INSERT INTO r_kept SELECT i, i FROM generate_series(40, 43) i RETURNING *;
RESET session_replication_role;
SELECT count(*) FROM r_log;
RESET timezone;
DROP TABLE r, r_log, r_types, r_kept, r_parts, r_key;
DROP FUNCTION r_before, r_assign, r_fails, r_after, r_again;
DROP TYPE r_pair;
DROP DOMAIN r_even;
