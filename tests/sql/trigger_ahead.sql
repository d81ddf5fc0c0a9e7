-- BEFORE ROW triggers of statements that insert many rows. A trigger that only computes cannot tell
-- when it is called; the others see the rows before theirs, and their messages come in turn.
CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL, c int CHECK (c < 1000), d int GENERATED ALWAYS AS (c + 1) STORED);
CREATE FUNCTION computes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.a % 10 = 3 THEN
    RETURN NULL;
  ELSIF NEW.a = 77 THEN
    RAISE EXCEPTION 'no % here', NEW.a;
  END IF;
  NEW.c := NEW.c * 2;
  RETURN NEW;
END $$;
CREATE TRIGGER computes BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION computes();
INSERT INTO t (a, b, c) SELECT i, 'row ' || i, i FROM generate_series(1, 12) i RETURNING *;
-- The first row that fails decides the error: a key, a trigger, a constraint.
INSERT INTO t (a, b, c) SELECT i, 'x', i FROM (VALUES (70), (71), (12), (77)) v (i);
INSERT INTO t (a, b, c) SELECT i, 'x', i FROM (VALUES (70), (71), (77), (12)) v (i);
INSERT INTO t (a, b, c) SELECT i, 'x', i FROM (VALUES (70), (600), (12), (77)) v (i);
INSERT INTO t (a, b, c) SELECT i, nullif('x' || i, 'x71'), i FROM (VALUES (12), (71)) v (i);
INSERT INTO t (a, b, c) SELECT i, nullif('x' || i, 'x71'), i FROM (VALUES (71), (12)) v (i);
INSERT INTO t (a, b, c) SELECT i, 'x', i FROM (VALUES (80), (81), (80)) v (i);
INSERT INTO t (a, b, c) SELECT i, 'x', i FROM (VALUES (70), (12), (2)) v (i);
INSERT INTO t (a, b, c) SELECT i, 'x', i FROM (VALUES (3), (13), (23)) v (i);
SELECT count(*), sum(c), sum(d) FROM t;
-- Messages.
CREATE FUNCTION speaks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.a >= 22 THEN
    RAISE NOTICE 'row % of %', NEW.a, TG_TABLE_NAME;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER speaks BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION speaks();
INSERT INTO t (a, b, c) SELECT i, 'spoken', i FROM generate_series(20, 25) i;
INSERT INTO t (a, b, c) SELECT i, 'spoken', i FROM (VALUES (30), (31), (12), (32)) v (i);
INSERT INTO t (a, b, c) SELECT i, 'spoken', i FROM (VALUES (30), (31), (32), (12), (33)) v (i);
DROP TRIGGER speaks ON t;
-- A look at the table, in each call, and in the later ones only.
CREATE FUNCTION looks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.a > 102 THEN
    NEW.b := NEW.b || ' after ' || (SELECT string_agg(a::text, ' ' ORDER BY a) FROM t WHERE a > 100);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER looks BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION looks();
INSERT INTO t (a, b, c) SELECT i, 'row', 0 FROM generate_series(101, 106) i RETURNING a, b;
DELETE FROM t WHERE a > 100;
ALTER FUNCTION looks STABLE;
INSERT INTO t (a, b, c) SELECT i, 'row', 0 FROM generate_series(101, 106) i RETURNING a, b;
DELETE FROM t WHERE a > 100;
-- Through a user's function in an expression.
CREATE FUNCTION rows_above(int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM t WHERE a > $1); END';
CREATE OR REPLACE FUNCTION looks() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  NEW.c := rows_above(100);
  RETURN NEW;
END $$;
INSERT INTO t (a, b, c) SELECT i, 'row', 0 FROM generate_series(101, 106) i RETURNING a, c;
DELETE FROM t WHERE a > 100;
-- An exception block, a sequence, a setting, another table.
CREATE SEQUENCE numbers;
CREATE TABLE seen (n bigint, a int);
CREATE OR REPLACE FUNCTION looks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.a = 102 THEN
    BEGIN
      NEW.c := 1 / (NEW.a - 102);
    EXCEPTION WHEN division_by_zero THEN
      NEW.c := (SELECT count(*) FROM t WHERE a > 100);
    END;
  ELSIF NEW.a = 104 THEN
    NEW.c := nextval('numbers') + 10;
  ELSIF NEW.a = 105 THEN
    INSERT INTO seen SELECT count(*), NEW.a FROM t WHERE a > 100;
  ELSIF NEW.a = 106 THEN
    PERFORM set_config('my.own', (coalesce(nullif(current_setting('my.own', true), ''), '0')::int + 1)::text, false);
  END IF;
  RETURN NEW;
END $$;
INSERT INTO t (a, b, c) SELECT i, 'row', 0 FROM generate_series(101, 106) i RETURNING a, c;
SELECT * FROM seen;
SELECT currval('numbers'), current_setting('my.own');
DELETE FROM t WHERE a > 100;
INSERT INTO t (a, b, c) SELECT i, 'row', 0 FROM generate_series(104, 106) i RETURNING a, c;
SELECT currval('numbers'), current_setting('my.own');
DELETE FROM t WHERE a > 100;
-- A condition; AFTER ROW triggers behind; a key that is DEFERRABLE.
DROP TRIGGER looks ON t;
CREATE TRIGGER looks BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.c > 100) EXECUTE FUNCTION looks();
CREATE FUNCTION after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'after % % %', NEW.a, NEW.c, NEW.d;
  RETURN NULL;
END $$;
CREATE TRIGGER after AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION after();
INSERT INTO t (a, b, c) SELECT i, 'row', i FROM generate_series(102, 106) i;
ALTER TABLE t ADD UNIQUE (c) DEFERRABLE;
INSERT INTO t (a, b, c) SELECT i + 200, 'row', i % 2 FROM generate_series(1, 3) i;
DROP TABLE t, seen;
