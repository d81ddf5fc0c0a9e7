-- Deferred events that do not fit work_mem: a foreign key, a unique key, a constraint trigger.
SET work_mem = '64kB';
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int, parent int, b text,
  CONSTRAINT child_key UNIQUE (id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT child_parent FOREIGN KEY (parent) REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE seen (op text, id int, b text, was text);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO seen VALUES (TG_OP, NEW.id, NEW.b);
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO seen VALUES (TG_OP, NEW.id, NEW.b, OLD.b);
  ELSE
    INSERT INTO seen VALUES (TG_OP, OLD.id, NULL, OLD.b);
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON child DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION see();
BEGIN;
INSERT INTO child SELECT i, i, 'row ' || i FROM generate_series(1, 5000) i;
SAVEPOINT a;
INSERT INTO child SELECT i, -i, 'gone' FROM generate_series(5001, 9000) i;
ROLLBACK TO a;
UPDATE child SET b = b || '!' WHERE id <= 2000;
SAVEPOINT b;
DELETE FROM child WHERE id > 4000;
UPDATE child SET id = 1 WHERE id <= 50;
ROLLBACK TO b;
DELETE FROM child WHERE id = 5000;
SELECT count(*) FROM seen;
INSERT INTO parent SELECT generate_series(1, 5000);
COMMIT;
SELECT op, count(*), min(id), max(id), min(b), max(was) FROM seen GROUP BY op ORDER BY op;
-- The order of the events.
SELECT count(*) FILTER (WHERE id <> n), count(*)
  FROM (SELECT id, row_number() OVER () n FROM seen WHERE op = 'INSERT') s;
-- SET CONSTRAINTS runs some of them; a rollback of it makes them wait again.
TRUNCATE seen;
BEGIN;
INSERT INTO child SELECT i, i - 10000, 'second' FROM generate_series(10001, 13000) i;
SAVEPOINT a;
SET CONSTRAINTS see IMMEDIATE;
SELECT count(*) FROM seen;
INSERT INTO child VALUES (20000, 1, 'at once');
SELECT count(*) FROM seen;
ROLLBACK TO a;
SELECT count(*) FROM seen;
SET CONSTRAINTS child_parent IMMEDIATE;
INSERT INTO child VALUES (20001, -1, 'no parent');
ROLLBACK TO a;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT count(*) FROM seen;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO child SELECT i, i - 20000, 'third' FROM generate_series(20001, 22000) i;
SELECT count(*) FROM seen;
ALTER TABLE child ADD c int;
ROLLBACK TO a;
COMMIT;
SELECT count(*) FROM seen;
-- The first event that fails decides the error.
BEGIN;
INSERT INTO child SELECT i, CASE WHEN i IN (33000, 34000) THEN -i ELSE 1 END, 'x' FROM generate_series(30001, 35000) i;
COMMIT;
BEGIN;
INSERT INTO child SELECT CASE WHEN i IN (33000, 34000) THEN i - 1 ELSE i END, 1, 'x' FROM generate_series(30001, 35000) i;
COMMIT;
SELECT count(*), sum(id) FROM child;
DROP TABLE child, parent, seen;
