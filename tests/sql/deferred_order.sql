-- The order of deferred events: a statement's come before those of the statements within its triggers.
CREATE TABLE t (id integer PRIMARY KEY, v text);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % old % new %', TG_NAME, TG_OP, OLD, NEW;
  RETURN NULL;
END $$;
CREATE FUNCTION remove_last() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% for %', TG_NAME, NEW;
  IF pg_trigger_depth() < 2 THEN DELETE FROM t WHERE id = (SELECT max(id) FROM t); END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER z_later AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER a_now AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION remove_last();
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
UPDATE t SET v = v || '!' WHERE id < 3;

-- A trigger asks for other modes: those of its own round stay
CREATE FUNCTION switch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% for %', TG_NAME, NEW;
  EXECUTE TG_ARGV[0];
  INSERT INTO t VALUES (NEW.id + 100, 'within');
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER y_later AFTER INSERT ON t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER b_switch AFTER INSERT ON t FOR EACH ROW WHEN (NEW.id < 100) EXECUTE FUNCTION switch('SET CONSTRAINTS y_later DEFERRED');
BEGIN;
INSERT INTO t VALUES (11, 'x'), (12, 'y');
COMMIT;
DROP TRIGGER b_switch ON t;
CREATE TRIGGER b_switch AFTER INSERT ON t FOR EACH ROW WHEN (NEW.id < 100) EXECUTE FUNCTION switch('SET CONSTRAINTS ALL IMMEDIATE');
BEGIN;
INSERT INTO t VALUES (21, 'x'), (22, 'y');
COMMIT;
DROP TABLE t;

-- Foreign keys and other triggers: the check of the statement's rows comes first
CREATE TABLE p (id integer PRIMARY KEY);
CREATE TABLE c (id integer PRIMARY KEY, p integer CONSTRAINT c_p REFERENCES p DEFERRABLE INITIALLY DEFERRED, q integer CONSTRAINT c_q REFERENCES p DEFERRABLE INITIALLY DEFERRED);
CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() < 2 THEN INSERT INTO c VALUES (NEW.id + 100, NEW.p + 100); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER more AFTER INSERT ON c FOR EACH ROW EXECUTE FUNCTION more();
INSERT INTO c VALUES (1, 1), (2, 2);
BEGIN;
INSERT INTO p VALUES (1);
INSERT INTO c VALUES (1, 1), (2, 2);
COMMIT;

-- Two constraints of a row come before those of the next
BEGIN;
INSERT INTO p VALUES (1), (2), (101), (102);
INSERT INTO c VALUES (1, 1, 5), (2, 6, 1);
COMMIT;
SELECT * FROM c;
DROP TABLE c, p;
DROP FUNCTION more, switch, remove_last, tell;
