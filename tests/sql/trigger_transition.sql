-- Transition tables.
CREATE TABLE t (a int PRIMARY KEY, b text);
CREATE FUNCTION show_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % new: %', TG_NAME, TG_OP, (SELECT string_agg(n::text, ' ' ORDER BY n.a) FROM newtab n);
  RETURN NULL;
END $$;
CREATE FUNCTION show_old() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % old: %', TG_NAME, TG_OP, (SELECT string_agg(a || '=' || b, ' ' ORDER BY a) FROM oldtab);
  RETURN NULL;
END $$;
CREATE FUNCTION show_both() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN SELECT o.a, o.b AS was, n.b AS now FROM oldtab o FULL JOIN newtab n USING (a) ORDER BY a LOOP
    RAISE NOTICE '% %: % % -> %', TG_NAME, TG_LEVEL, r.a, r.was, r.now;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER ins AFTER INSERT ON t REFERENCING NEW TABLE AS newtab FOR EACH STATEMENT EXECUTE FUNCTION show_new();
CREATE TRIGGER del AFTER DELETE ON t REFERENCING OLD TABLE AS oldtab FOR EACH STATEMENT EXECUTE FUNCTION show_old();
CREATE TRIGGER upd AFTER UPDATE ON t REFERENCING OLD TABLE AS oldtab NEW TABLE AS newtab FOR EACH STATEMENT EXECUTE FUNCTION show_both();
INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
UPDATE t SET b = upper(b) WHERE a < 3;
UPDATE t SET b = b WHERE false;
INSERT INTO t VALUES (1, 'again'), (4, 'four') ON CONFLICT (a) DO UPDATE SET b = excluded.b;
DELETE FROM t WHERE a = 4;
COPY t FROM STDIN;
7	seven
8	eight
\.
WITH x AS (INSERT INTO t VALUES (9, 'nine')) INSERT INTO t VALUES (10, 'ten');
INSERT INTO t VALUES (20, 'x'), (20, 'y');
DELETE FROM t;
CREATE TRIGGER each AFTER UPDATE ON t REFERENCING OLD TABLE AS oldtab NEW TABLE AS newtab FOR EACH ROW EXECUTE FUNCTION show_both();
INSERT INTO t VALUES (1, 'one'), (2, 'two');
UPDATE t SET b = b || '+';
SELECT * FROM newtab;
CREATE FUNCTION write_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM newtab;
  RETURN NULL;
END $$;
CREATE TRIGGER write AFTER INSERT ON t REFERENCING NEW TABLE AS newtab FOR EACH STATEMENT EXECUTE FUNCTION write_it();
INSERT INTO t VALUES (5, 'five');
DROP TRIGGER write ON t;
ALTER TABLE t DROP COLUMN b CASCADE;
ALTER TABLE t ADD COLUMN b text DEFAULT 'd';
INSERT INTO t VALUES (6);
DROP TABLE t;

-- Partitioned tables: rows of all leaves, with the columns of the table that the statement names.
CREATE TABLE p (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (junk int, b text, a int);
ALTER TABLE p2 DROP COLUMN junk;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
CREATE TRIGGER ins AFTER INSERT ON p REFERENCING NEW TABLE AS newtab FOR EACH STATEMENT EXECUTE FUNCTION show_new();
CREATE TRIGGER del AFTER DELETE ON p REFERENCING OLD TABLE AS oldtab FOR EACH STATEMENT EXECUTE FUNCTION show_old();
CREATE TRIGGER upd AFTER UPDATE ON p REFERENCING OLD TABLE AS oldtab NEW TABLE AS newtab FOR EACH STATEMENT EXECUTE FUNCTION show_both();
INSERT INTO p VALUES (1, 'one'), (11, 'eleven'), (2, 'two');
UPDATE p SET b = b || '!';
UPDATE p SET a = a + 10 WHERE a = 2;
UPDATE p1 SET b = 'alone';
COPY p FROM STDIN;
3	three
13	thirteen
\.
DELETE FROM p WHERE a > 10;
CREATE TRIGGER own AFTER INSERT ON p1 REFERENCING NEW TABLE AS newtab FOR EACH STATEMENT EXECUTE FUNCTION show_new();
INSERT INTO p VALUES (5, 'five');
INSERT INTO p1 VALUES (6, 'six');
DROP TABLE p;
CREATE TABLE parent (a int, b text);
CREATE TABLE child (c int) INHERITS (parent);
CREATE TRIGGER upd AFTER UPDATE ON parent REFERENCING OLD TABLE AS oldtab NEW TABLE AS newtab FOR EACH STATEMENT EXECUTE FUNCTION show_both();
INSERT INTO parent VALUES (1, 'p');
INSERT INTO child VALUES (2, 'c', 3);
UPDATE parent SET b = b || b;
UPDATE child SET b = 'x';
DROP TABLE parent CASCADE;

-- Many rows.
CREATE TABLE m (a int, b text);
CREATE FUNCTION total() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% rows, sum %', (SELECT count(*) FROM newtab), (SELECT sum(a) FROM newtab);
  RETURN NULL;
END $$;
CREATE TRIGGER total AFTER INSERT ON m REFERENCING NEW TABLE AS newtab FOR EACH STATEMENT EXECUTE FUNCTION total();
SET work_mem = '64kB';
INSERT INTO m SELECT i, 'some text that takes room ' || i FROM generate_series(1, 20000) i;
DROP TABLE m;
DROP FUNCTION show_new(), show_old(), show_both(), total(), write_it();
