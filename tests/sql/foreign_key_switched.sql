-- ENABLE and DISABLE TRIGGER ALL, and session_replication_role, switch foreign keys off and on.
CREATE TABLE pk (a int PRIMARY KEY);
CREATE TABLE fk (a int REFERENCES pk ON DELETE CASCADE ON UPDATE SET NULL);
CREATE TABLE late (a int REFERENCES pk DEFERRABLE INITIALLY DEFERRED);
INSERT INTO pk SELECT generate_series(1, 9);
INSERT INTO fk VALUES (1), (2), (3), (4);

-- The checks are triggers of the referencing table.
ALTER TABLE fk DISABLE TRIGGER ALL;
INSERT INTO fk VALUES (100);
UPDATE fk SET a = 200 WHERE a = 4;
DELETE FROM pk WHERE a = 1;
SELECT * FROM fk ORDER BY a;
-- They come back without a look at the rows.
ALTER TABLE fk ENABLE TRIGGER ALL;
SELECT * FROM fk ORDER BY a;
INSERT INTO fk VALUES (101);
UPDATE fk SET a = a WHERE a = 100;
UPDATE fk SET a = 102 WHERE a = 100;
DELETE FROM fk WHERE a >= 100;

-- The actions are triggers of the referenced table.
ALTER TABLE pk DISABLE TRIGGER ALL;
DELETE FROM pk WHERE a = 2;
UPDATE pk SET a = 30 WHERE a = 3;
INSERT INTO fk VALUES (102);
SELECT * FROM fk ORDER BY a;
ALTER TABLE pk ENABLE TRIGGER ALL;
UPDATE fk SET a = 30 WHERE a = 3;
DELETE FROM pk WHERE a = 30;
SELECT * FROM fk ORDER BY a;
DELETE FROM fk;

-- USER leaves them alone.
ALTER TABLE fk DISABLE TRIGGER USER;
ALTER TABLE pk DISABLE TRIGGER USER;
INSERT INTO fk VALUES (103);
INSERT INTO fk VALUES (5);
DELETE FROM pk WHERE a = 5;
SELECT * FROM fk;

-- A session that replays another server's changes.
SET session_replication_role = replica;
INSERT INTO fk VALUES (104);
INSERT INTO fk VALUES (6);
DELETE FROM pk WHERE a = 6;
COPY fk FROM stdin;
105
\.
SET session_replication_role = origin;
SELECT * FROM fk ORDER BY a;
INSERT INTO fk VALUES (106);
COPY fk FROM stdin;
107
\.
DELETE FROM fk;
SET session_replication_role = local;
INSERT INTO fk VALUES (108);
RESET session_replication_role;

-- The role counts when the change is made, not when it is checked.
BEGIN;
SET LOCAL session_replication_role = replica;
INSERT INTO late VALUES (109);
SET LOCAL session_replication_role = origin;
COMMIT;
BEGIN;
INSERT INTO late VALUES (110);
SET LOCAL session_replication_role = replica;
COMMIT;
SELECT * FROM late;
DELETE FROM late;

-- Prepared statements see the change.
PREPARE put (int) AS INSERT INTO fk VALUES ($1);
EXECUTE put (7);
EXECUTE put (111);
ALTER TABLE fk DISABLE TRIGGER ALL;
EXECUTE put (111);
ALTER TABLE fk ENABLE TRIGGER ALL;
EXECUTE put (112);
SET session_replication_role = replica;
EXECUTE put (113);
SET session_replication_role = origin;
EXECUTE put (114);
SELECT * FROM fk ORDER BY a;
DELETE FROM fk;

-- A rollback.
BEGIN;
ALTER TABLE fk DISABLE TRIGGER ALL;
INSERT INTO fk VALUES (115);
ROLLBACK;
INSERT INTO fk VALUES (115);

-- A table that refers to itself has both kinds.
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE);
ALTER TABLE tree DISABLE TRIGGER ALL;
INSERT INTO tree VALUES (1, 2), (3, 4);
DELETE FROM tree WHERE id = 1;
ALTER TABLE tree ENABLE TRIGGER ALL;
INSERT INTO tree VALUES (5, 6);

-- Partitions: with ONLY they keep theirs.
CREATE TABLE parts (a int REFERENCES pk) PARTITION BY LIST (a);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1, 7, 21);
CREATE TABLE part2 PARTITION OF parts DEFAULT;
ALTER TABLE ONLY parts DISABLE TRIGGER ALL;
INSERT INTO parts VALUES (21);
ALTER TABLE parts DISABLE TRIGGER ALL;
INSERT INTO parts VALUES (21), (22);
ALTER TABLE part1 ENABLE TRIGGER ALL;
INSERT INTO parts VALUES (23);
INSERT INTO parts VALUES (21);
ALTER TABLE parts ENABLE TRIGGER ALL;
INSERT INTO parts VALUES (24);
SELECT * FROM parts ORDER BY a;
CREATE TABLE keys (a int PRIMARY KEY) PARTITION BY LIST (a);
CREATE TABLE keys1 PARTITION OF keys FOR VALUES IN (1, 2);
CREATE TABLE keys2 PARTITION OF keys DEFAULT;
CREATE TABLE refs (a int REFERENCES keys);
INSERT INTO keys VALUES (1), (2), (3), (4);
INSERT INTO refs VALUES (1), (2), (3), (4);
-- Whether a key may be removed. (The message names the partition's own constraint.)
CREATE FUNCTION removed(key int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM keys WHERE a = key;
  RETURN true;
EXCEPTION WHEN foreign_key_violation THEN
  RETURN false;
END $$;
ALTER TABLE keys1 DISABLE TRIGGER ALL;
SELECT removed(1), removed(3);
ALTER TABLE keys DISABLE TRIGGER ALL;
SELECT removed(3);
ALTER TABLE keys ENABLE TRIGGER ALL;
SELECT removed(2), removed(4);
SELECT * FROM keys ORDER BY a;
