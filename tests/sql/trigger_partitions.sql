-- Row triggers of partitioned tables: a clone on each partition.
-- PostgreSQL 15 differs: the SQLSTATE of renaming a clone
CREATE TABLE p (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (10);
CREATE TABLE p2 (junk int, b text, a int);
ALTER TABLE p2 DROP COLUMN junk;
CREATE TRIGGER skip BEFORE UPDATE OF b ON p FOR EACH ROW WHEN (new.a > 1) EXECUTE FUNCTION suppress_redundant_updates_trigger('x');
CREATE TRIGGER stmt AFTER TRUNCATE ON p FOR EACH STATEMENT EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (40) PARTITION BY RANGE (a);
CREATE TABLE p31 PARTITION OF p3 FOR VALUES FROM (20) TO (30);
SELECT tgrelid::regclass, tgname, tgattr, tgqual IS NOT NULL AS has_when, (SELECT u.tgrelid::regclass FROM pg_trigger u WHERE u.oid = t.tgparentid) AS parent FROM pg_trigger t WHERE tgname IN ('skip', 'stmt') ORDER BY tgrelid::regclass::text, tgname;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'p2'::regclass;
\d p
\d p2
\d p31
INSERT INTO p VALUES (1, 'a'), (5, 'b'), (15, 'c'), (25, 'd');
UPDATE p SET b = b;
UPDATE p SET b = b RETURNING *;
UPDATE p1 SET b = b;
UPDATE p31 SET b = b;
UPDATE p SET a = a;
UPDATE p SET b = b || '!' WHERE a > 10 RETURNING *;

-- A clone is part of its parent's trigger.
DROP TRIGGER skip ON p1;
DROP TRIGGER skip ON p31;
ALTER TRIGGER skip ON p31 RENAME TO other;
CREATE TRIGGER skip BEFORE UPDATE ON p1 FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE OR REPLACE TRIGGER skip BEFORE UPDATE ON p1 FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE p1 DISABLE TRIGGER skip;
UPDATE p SET b = b;
ALTER TABLE p DISABLE TRIGGER skip;
UPDATE p SET b = b;
ALTER TABLE ONLY p ENABLE TRIGGER skip;
SELECT tgrelid::regclass, tgenabled FROM pg_trigger WHERE tgname = 'skip' ORDER BY tgrelid::regclass::text;
ALTER TABLE p ENABLE TRIGGER ALL;
SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'p%' ORDER BY tgrelid::regclass::text, tgname;
ALTER TRIGGER skip ON p RENAME TO jump;
SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'p%' ORDER BY tgrelid::regclass::text, tgname;
CREATE OR REPLACE TRIGGER jump BEFORE UPDATE ON p FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE p SET a = a;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'jump' ORDER BY tgrelid::regclass::text;

-- Detached partitions lose their clones, those below them as well.
ALTER TABLE p DETACH PARTITION p3;
SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgname = 'jump' ORDER BY tgrelid::regclass::text;
CREATE TRIGGER jump AFTER UPDATE ON p31 FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20) TO (40);
DROP TRIGGER jump ON p31;
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20) TO (40);
CREATE TRIGGER own AFTER UPDATE ON p1 FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE TRIGGER own AFTER UPDATE ON p FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE p DROP COLUMN b;
ALTER TABLE p DROP COLUMN b CASCADE;
DROP TRIGGER own ON p1;
DROP TRIGGER jump ON p;
SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'p%' ORDER BY tgrelid::regclass::text, tgname;

-- What a partition cannot have.
CREATE TABLE q (a int, b text);
CREATE TRIGGER tr AFTER INSERT ON q REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE p ATTACH PARTITION q FOR VALUES FROM (50) TO (60);
CREATE TABLE parent (a int, b text);
ALTER TABLE q INHERIT parent;
DROP TRIGGER tr ON q;
CREATE TRIGGER tr AFTER INSERT ON q REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE q INHERIT parent;
CREATE TABLE like_q (LIKE q INCLUDING ALL);
\d like_q
DROP TABLE p, q, parent, like_q;
