-- PostgreSQL 15 differs: a constraint of a partition whose name is taken is named after table and columns
-- The internal triggers of foreign keys in pg_trigger.
CREATE TABLE pk (a int PRIMARY KEY, b int UNIQUE, c int, d int, UNIQUE (c, d));
CREATE TABLE fk (
  id int PRIMARY KEY,
  a int CONSTRAINT plain REFERENCES pk,
  b int CONSTRAINT cascades REFERENCES pk (b) ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE,
  c int,
  d int,
  self int CONSTRAINT own REFERENCES fk ON DELETE SET NULL ON UPDATE SET DEFAULT,
  CONSTRAINT both_columns FOREIGN KEY (c, d) REFERENCES pk (c, d) ON DELETE RESTRICT ON UPDATE RESTRICT
    DEFERRABLE INITIALLY DEFERRED
);
CREATE VIEW key_triggers AS
  SELECT tgrelid::regclass AS on_table, regexp_replace(tgname, '[0-9]+$', '') AS name,
    tgname LIKE '%\_' || t.oid AS named_by_oid, tgfoid::regproc AS function, tgtype AS type, tgenabled AS enabled,
    tgisinternal AS internal, tgconstrrelid::regclass AS other, tgconstrindid::regclass AS index,
    conname AS constraint, tgdeferrable AS can_wait, tginitdeferred AS waits, tgnargs AS args, tgattr::text AS attr,
    tgqual IS NULL AS no_condition, (SELECT p.tgrelid::regclass FROM pg_trigger p WHERE p.oid = t.tgparentid) AS parent
  FROM pg_trigger t JOIN pg_constraint c ON c.oid = t.tgconstraint WHERE contype = 'f'
  ORDER BY conname, tgrelid::regclass::text, tgfoid::regproc::text, tgconstrrelid::regclass::text;
SELECT * FROM key_triggers;
SELECT count(DISTINCT oid) = count(*) AS all_distinct FROM pg_trigger;
SELECT pg_get_triggerdef(t.oid) LIKE 'CREATE CONSTRAINT TRIGGER "RI_ConstraintTrigger_%', regexp_replace(
  pg_get_triggerdef(t.oid), 'Trigger_([ac])_[0-9]+', 'Trigger_\1') FROM pg_trigger t JOIN pg_constraint c
  ON c.oid = tgconstraint WHERE conname IN ('plain', 'both_columns') ORDER BY 2;
SELECT relname, relhastriggers FROM pg_class WHERE relname IN ('pk', 'fk') ORDER BY 1;
\d fk
\d pk

-- DISABLE and ENABLE TRIGGER ALL.
ALTER TABLE fk DISABLE TRIGGER USER;
SELECT on_table, function, enabled FROM key_triggers WHERE "constraint" = 'plain';
INSERT INTO fk (id, a) VALUES (1, 1);
ALTER TABLE fk DISABLE TRIGGER ALL;
SELECT on_table, function, enabled FROM key_triggers WHERE "constraint" IN ('plain', 'own');
INSERT INTO fk (id, a) VALUES (1, 1);
ALTER TABLE fk ENABLE TRIGGER ALL;
INSERT INTO fk (id, a) VALUES (2, 1);
INSERT INTO pk VALUES (2);
INSERT INTO fk (id, a) VALUES (2, 2);
DELETE FROM pk;
ALTER TABLE pk DISABLE TRIGGER ALL;
SELECT on_table, function, enabled FROM key_triggers WHERE "constraint" = 'plain';
DELETE FROM pk;
ALTER TABLE pk ENABLE TRIGGER ALL;
SELECT id, a FROM fk ORDER BY id;

-- Partitions.
CREATE TABLE parted (id int, a int REFERENCES pk) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_2 (id int, a int);
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (10) TO (20);
SELECT * FROM key_triggers WHERE "constraint" LIKE 'parted%' OR on_table::text LIKE 'parted%';
\d parted
\d parted_1
ALTER TABLE parted DETACH PARTITION parted_2;
SELECT on_table, name, function, other, "constraint", parent FROM key_triggers WHERE "constraint" LIKE 'parted%';
ALTER TABLE parted DROP CONSTRAINT parted_a_fkey;
SELECT on_table, name, function, other, "constraint", parent FROM key_triggers WHERE "constraint" LIKE 'parted%';

-- A name that the partition has gets a number.
CREATE TABLE named (id int, a int CONSTRAINT x REFERENCES pk) PARTITION BY RANGE (id);
CREATE TABLE named_1 (id int CONSTRAINT x CHECK (id > -100), a int);
ALTER TABLE named ATTACH PARTITION named_1 FOR VALUES FROM (0) TO (10);
CREATE TABLE named_2 (a int, id int CONSTRAINT x CHECK (id > -100) CONSTRAINT x_1 CHECK (id > -200));
ALTER TABLE named ATTACH PARTITION named_2 FOR VALUES FROM (10) TO (20);
SELECT conrelid::regclass, conname, contype FROM pg_constraint WHERE conname LIKE 'x%' ORDER BY 1, 2;
INSERT INTO named VALUES (1, 77);
INSERT INTO named VALUES (11, 77);
DROP TABLE named;

-- What is dropped has none.
ALTER TABLE fk DROP CONSTRAINT cascades;
ALTER TABLE fk ALTER CONSTRAINT both_columns NOT DEFERRABLE;
SELECT function, can_wait, waits FROM key_triggers WHERE "constraint" = 'both_columns';
DROP TABLE fk, parted, parted_2;
SELECT * FROM key_triggers;
