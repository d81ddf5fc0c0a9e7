-- AFTER ROW triggers whose functions insert a row for each row of the statement. Such rows may be
-- stored together. Nothing that the functions or the client can look at tells when that happens.
CREATE TABLE t (id int, a text);
CREATE TABLE log (n serial, op text, id int, a text, was text);
CREATE TABLE plain (op text, id int NOT NULL, a text, at timestamp DEFAULT now(), CONSTRAINT short CHECK (true));
CREATE TABLE bare (op text, id int NOT NULL, a text, at timestamp DEFAULT now());
CREATE INDEX ON bare (id, at);
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  processed bigint;
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO bare VALUES (TG_OP, OLD.id, OLD.a);
  ELSE
    INSERT INTO bare VALUES (TG_OP, NEW.id, upper(NEW.a));
  END IF;
  GET DIAGNOSTICS processed = ROW_COUNT;
  IF NOT FOUND OR processed <> 1 THEN
    RAISE EXCEPTION 'found %, processed %', FOUND, processed;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION audit();
BEGIN;
INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 3000) i;
SELECT op, count(*), min(a), max(a), count(DISTINCT at), bool_and(at = now()::timestamp) FROM bare GROUP BY op;
-- Each row is of a command of its own, and they are in the order of the calls.
SELECT count(DISTINCT cmin::text), max(cmin::text::int) - min(cmin::text::int),
       count(*) FILTER (WHERE id <> n)
  FROM (SELECT cmin, id, row_number() OVER () n FROM bare) s;
SAVEPOINT a;
UPDATE t SET a = a || '!' WHERE id % 2 = 0;
DELETE FROM t WHERE id % 3 = 0;
SELECT op, count(*), min(a), max(a), max(cmin::text::int) - min(cmin::text::int) FROM bare GROUP BY op ORDER BY op;
ROLLBACK TO a;
SELECT op, count(*) FROM bare GROUP BY op ORDER BY op;
COMMIT;
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM bare WHERE id > 2990;
RESET enable_seqscan;
ALTER TABLE bare ALTER at SET DEFAULT '2024-01-01';
-- A NULL where none may be, a row that is too long, a value that fails: the call that has it fails.
INSERT INTO t SELECT CASE WHEN i <> 5 THEN i END, 'x' FROM generate_series(1, 9) i;
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare
    VALUES (TG_OP, 100 / (NEW.id - 5), NEW.a);
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 9) i;
SELECT count(*) FROM bare;
TRUNCATE bare, t;
INSERT INTO t SELECT i + 10, repeat(md5(i::text), 2000) FROM generate_series(1, 9) i;
SELECT id, length(a), md5(a) FROM bare;
TRUNCATE bare, t;
-- A function that looks at what it has inserted.
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare VALUES (TG_OP, NEW.id, (SELECT count(*)::text FROM bare));
  INSERT INTO bare VALUES (TG_OP, -NEW.id, 'second');
  IF NEW.id % 2 = 0 THEN
    RAISE NOTICE 'now %', (SELECT count(*) FROM bare);
  END IF;
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 5) i;
SELECT id, a FROM bare;
TRUNCATE bare, t;
-- It looks through functions: VOLATILE, STABLE, in SQL, in a condition, in the values.
CREATE FUNCTION seen() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM bare); END';
CREATE FUNCTION seen_stable() RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT count(*) FROM bare); END';
CREATE FUNCTION seen_sql() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM bare';
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  found_before bigint := seen();
BEGIN
  INSERT INTO bare VALUES (TG_OP, NEW.id, 'first');
  IF seen_sql() <> found_before + 1 OR seen_stable() <> found_before + 1 THEN
    RAISE NOTICE '% % %', found_before, seen_sql(), seen_stable();
  END IF;
  INSERT INTO bare VALUES (TG_OP, NEW.id, 'second');
  INSERT INTO bare VALUES (TG_OP, seen(), 'third ' || seen_stable());
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 4) i;
SELECT id, a FROM bare;
TRUNCATE bare, t;
-- Several tables, and several statements for one of them.
CREATE TABLE other (id int, a text);
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare (op, id) VALUES ('a', NEW.id);
  INSERT INTO other VALUES (NEW.id, 'of all');
  IF NEW.id % 3 = 0 THEN
    INSERT INTO bare (op, id) VALUES ('b', NEW.id);
  ELSIF NEW.id % 3 = 1 THEN
    INSERT INTO other SELECT NEW.id, 'by SELECT';
    INSERT INTO plain VALUES ('c', NEW.id);
  END IF;
  INSERT INTO log (op, id) VALUES ('d', NEW.id);
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 8) i;
SELECT op, id FROM bare;
SELECT * FROM other;
SELECT op, id FROM plain;
SELECT n, op, id FROM log;
TRUNCATE bare, t, other, plain, log;
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare (op, id) VALUES ('a', NEW.id);
  INSERT INTO other VALUES (NEW.id, 'between');
  INSERT INTO bare (op, id) VALUES ('b', NEW.id);
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 3) i;
SELECT op, id FROM bare;
SELECT * FROM other;
TRUNCATE bare, t, other;
-- Exception blocks.
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare VALUES (TG_OP, NEW.id, 'before');
  BEGIN
    INSERT INTO bare VALUES (TG_OP, NEW.id, 'inside');
    IF NEW.id % 2 = 0 THEN
      RAISE EXCEPTION 'no';
    END IF;
    INSERT INTO bare VALUES (TG_OP, nullif(NEW.id, 3), 'end');
  EXCEPTION WHEN OTHERS THEN
    INSERT INTO bare VALUES (TG_OP, NEW.id, SQLERRM);
  END;
  INSERT INTO bare VALUES (TG_OP, NEW.id, 'after');
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 5) i;
SELECT id, a FROM bare;
TRUNCATE bare, t;
-- In a function that the trigger's function calls, which has the exception block or is called in it.
CREATE FUNCTION put(int, text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare VALUES ('put', $1, $2);
END $$;
CREATE FUNCTION try_put(int, text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare VALUES ('try', $1, $2);
  PERFORM 1 / ($1 % 2);
EXCEPTION WHEN division_by_zero THEN
END $$;
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare VALUES (TG_OP, NEW.id, 'before');
  PERFORM put(NEW.id, 'outside'), try_put(NEW.id, 'tried');
  BEGIN
    PERFORM put(NEW.id, 'inside');
    IF NEW.id = 2 THEN
      RAISE EXCEPTION 'no';
    END IF;
  EXCEPTION WHEN raise_exception THEN
  END;
  INSERT INTO bare VALUES (TG_OP, NEW.id, 'after');
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 3) i;
SELECT op, id, a FROM bare;
TRUNCATE bare, t;
-- A setting that the values depend on.
SET timezone = 'UTC';
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare VALUES (TG_OP, NEW.id, to_char(timestamptz '2024-01-01 12:00+00', 'HH24:MI TZ'), timestamptz '2024-01-01 12:00+00');
  IF NEW.id = 2 THEN
    SET LOCAL timezone = 'Asia/Tokyo';
  ELSIF NEW.id = 4 THEN
    EXECUTE 'SET LOCAL timezone = ''America/New_York''';
  END IF;
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 6) i;
SELECT id, a, at FROM bare;
TRUNCATE bare, t;
-- The table changes in a call.
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bare VALUES (TG_OP, NEW.id, 'x');
  IF NEW.id = 2 THEN
    ALTER TABLE bare ADD c int DEFAULT 7;
  ELSIF NEW.id = 4 THEN
    ALTER TABLE bare ADD CONSTRAINT few CHECK (id < 7);
  END IF;
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 6) i;
SELECT id, a, c FROM bare;
INSERT INTO t SELECT i, 'x' FROM generate_series(5, 8) i;
ALTER TABLE bare DROP c, DROP CONSTRAINT few;
TRUNCATE bare, t;
-- A table with rules of its own: a trigger, a unique key, partitions, a foreign key.
CREATE TABLE keyed (id int PRIMARY KEY, a text);
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO keyed VALUES (NEW.id % 4, NEW.a);
  RETURN NULL;
END $$;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 6) i;
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 4) i;
SELECT * FROM keyed;
ALTER TABLE keyed DROP CONSTRAINT keyed_pkey;
CREATE FUNCTION looks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % %', TG_WHEN, NEW.id, (SELECT count(*) FROM keyed);
  RETURN NEW;
END $$;
CREATE TRIGGER looks AFTER INSERT ON keyed FOR EACH ROW EXECUTE FUNCTION looks();
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 3) i;
DROP TABLE keyed;
CREATE TABLE keyed (id int, a text) PARTITION BY LIST (id);
CREATE TABLE keyed_few PARTITION OF keyed FOR VALUES IN (1, 2);
INSERT INTO t SELECT i, 'x' FROM generate_series(1, 4) i;
SELECT * FROM keyed;
DROP TABLE keyed;
-- Read only; SERIALIZABLE; a temporary table.
CREATE TABLE keyed (id int, a text);
CREATE TEMP TABLE mine (id int, a text);
CREATE TRIGGER audit AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION audit();
BEGIN READ ONLY;
INSERT INTO mine VALUES (1, 'a'), (2, 'b');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO mine VALUES (1, 'a'), (2, 'b');
SELECT count(DISTINCT cmin::text) FROM keyed;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO mine VALUES (3, 'a'), (5, 'b'), (6, 'c');
SELECT id, count(*) OVER () FROM keyed;
COMMIT;
DROP TABLE t, log, plain, bare, other, keyed, mine;
DROP FUNCTION audit, looks, seen, seen_stable, seen_sql, put, try_put;
-- The variables of a trigger's function, by all the ways of naming one.
CREATE TABLE v (id int, gone int, a text, b text);
ALTER TABLE v DROP gone;
CREATE FUNCTION names() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  x ALIAS FOR tg_op;
  y ALIAS FOR x;
BEGIN
  NEW.b := y || ' ' || U&"tg\005fname" || ' ' || "tg_when" || ' ' || names.TG_LEVEL || ' ' || Tg_Argv[1];
  TG_ARGV[1] := 'changed';
  NEW.a := TG_ARGV[1];
  RETURN NEW;
END $$;
CREATE TRIGGER names BEFORE INSERT ON v FOR EACH ROW EXECUTE FUNCTION names('one', 'two');
INSERT INTO v SELECT i FROM generate_series(1, 3) i RETURNING *;
CREATE OR REPLACE FUNCTION names() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  was v;
BEGIN
  was := NEW;
  NEW.a := 'changed';
  IF NEW.id = 1 THEN
    NEW := was;
  ELSIF NEW.id = 2 THEN
    SELECT 20, 'into', was.a INTO NEW;
  ELSIF NEW.id = 3 THEN
    RETURN was;
  END IF;
  was.b := NEW.a;
  RETURN NEW;
END $$;
INSERT INTO v SELECT i, 'a' || i, 'b' || i FROM generate_series(1, 4) i RETURNING *;
CREATE OR REPLACE FUNCTION names() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  OLD.a := OLD.a || ' old';
  IF TG_OP = 'UPDATE' THEN
    NEW.b := OLD.a;
    RETURN CASE WHEN NEW.id = 4 THEN OLD ELSE NEW END;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER more BEFORE UPDATE OR DELETE ON v FOR EACH ROW EXECUTE FUNCTION names();
UPDATE v SET b = 'new' WHERE id > 1 RETURNING *;
DELETE FROM v WHERE id > 1 RETURNING *;
DROP TABLE v;
DROP FUNCTION names;
