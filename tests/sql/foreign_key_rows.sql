-- ADD FOREIGN KEY and VALIDATE CONSTRAINT over rows that are there. Each case has one row without
-- its key at most, so that the order in which rows are found does not matter.
CREATE TABLE p (a int, b text, PRIMARY KEY (a, b));
CREATE TABLE ch (x int, a bigint, b varchar, c int);
INSERT INTO p SELECT i, 'k' || i FROM generate_series(1, 100) i;
INSERT INTO ch SELECT i, 1 + i % 100, 'k' || (1 + i % 100), i FROM generate_series(1, 1000) i;
INSERT INTO ch VALUES (0, NULL, 'zz', 1), (0, 1, NULL, 1), (0, NULL, NULL, NULL);
-- MATCH SIMPLE and FULL
ALTER TABLE ch ADD CONSTRAINT f1 FOREIGN KEY (a, b) REFERENCES p;
ALTER TABLE ch ADD CONSTRAINT f2 FOREIGN KEY (a, b) REFERENCES p MATCH FULL;
DELETE FROM ch WHERE (a IS NULL) <> (b IS NULL);
ALTER TABLE ch ADD CONSTRAINT f2 FOREIGN KEY (a, b) REFERENCES p MATCH FULL;
ALTER TABLE ch DROP CONSTRAINT f1, DROP CONSTRAINT f2;
-- both halves of a key are there, and not together
INSERT INTO ch VALUES (0, 7, 'k8', 1);
ALTER TABLE ch ADD CONSTRAINT f1 FOREIGN KEY (a, b) REFERENCES p;
ALTER TABLE ch ADD CONSTRAINT f1 FOREIGN KEY (a, b) REFERENCES p NOT VALID;
ALTER TABLE ch VALIDATE CONSTRAINT f1;
UPDATE ch SET b = 'k7' WHERE x = 0 AND b = 'k8';
ALTER TABLE ch VALIDATE CONSTRAINT f1;
-- a value that the referenced type cannot hold
ALTER TABLE ch DROP CONSTRAINT f1;
INSERT INTO ch VALUES (0, 3000000000, 'k1', 1);
ALTER TABLE ch ADD CONSTRAINT f1 FOREIGN KEY (a, b) REFERENCES p;
-- the transaction's own rows count, and an update within it
BEGIN;
INSERT INTO p VALUES (901, 'o');
CREATE TABLE own (a int, b text);
INSERT INTO own VALUES (901, 'o');
ALTER TABLE own ADD FOREIGN KEY (a, b) REFERENCES p;
ALTER TABLE own DROP CONSTRAINT own_a_b_fkey;
DELETE FROM p WHERE a = 901;
ALTER TABLE own ADD FOREIGN KEY (a, b) REFERENCES p;
ROLLBACK;
-- a table that refers to itself, with a column added later
CREATE TABLE tree (id int PRIMARY KEY);
INSERT INTO tree SELECT generate_series(1, 50);
ALTER TABLE tree ADD COLUMN parent int DEFAULT 50;
ALTER TABLE tree ADD FOREIGN KEY (parent) REFERENCES tree;
ALTER TABLE tree DROP CONSTRAINT tree_parent_fkey;
UPDATE tree SET parent = 51 WHERE id = 9;
ALTER TABLE tree ADD FOREIGN KEY (parent) REFERENCES tree;
-- temporary tables, names in quotes, serializable
CREATE TEMP TABLE "t""p" ("a b" int PRIMARY KEY);
CREATE TEMP TABLE "t""c" ("z z" int);
INSERT INTO "t""c" VALUES (1);
INSERT INTO "t""p" VALUES (1);
BEGIN ISOLATION LEVEL SERIALIZABLE;
ALTER TABLE "t""c" ADD FOREIGN KEY ("z z") REFERENCES "t""p";
COMMIT;
-- columns of two collations
CREATE TABLE cp (a text COLLATE "C" PRIMARY KEY);
CREATE TABLE cc (a text);
INSERT INTO cc VALUES ('x');
ALTER TABLE cc ADD FOREIGN KEY (a) REFERENCES cp;
INSERT INTO cp VALUES ('x');
ALTER TABLE cc ADD FOREIGN KEY (a) REFERENCES cp;
-- other types
CREATE TYPE level AS ENUM ('low', 'high');
CREATE TABLE ep (a level, b int[], c numeric, PRIMARY KEY (a, b, c));
CREATE TABLE ec (a level, b int[], c smallint);
INSERT INTO ec VALUES ('high', '{1,2}', 3);
ALTER TABLE ec ADD FOREIGN KEY (a, b, c) REFERENCES ep;
INSERT INTO ep VALUES ('high', '{1,2}', 3.00);
ALTER TABLE ec ADD FOREIGN KEY (a, b, c) REFERENCES ep;
-- inheritance: the rows of children do not count
CREATE TABLE ip (id int PRIMARY KEY);
CREATE TABLE ip2 () INHERITS (ip);
CREATE TABLE ic (id int);
CREATE TABLE ic2 () INHERITS (ic);
INSERT INTO ic2 VALUES (5);
ALTER TABLE ic ADD FOREIGN KEY (id) REFERENCES ip;
ALTER TABLE ic DROP CONSTRAINT ic_id_fkey;
INSERT INTO ic VALUES (6);
INSERT INTO ip2 VALUES (6);
ALTER TABLE ic ADD FOREIGN KEY (id) REFERENCES ip;
-- partitions on both sides
CREATE TABLE pp (id int PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE pp0 PARTITION OF pp FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE pp1 PARTITION OF pp FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE pc (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE pc0 PARTITION OF pc FOR VALUES FROM (0) TO (50);
CREATE TABLE pc1 (v int, id int);
ALTER TABLE pc ATTACH PARTITION pc1 FOR VALUES FROM (50) TO (200);
INSERT INTO pp SELECT generate_series(1, 100);
INSERT INTO pc SELECT i, i FROM generate_series(1, 100) i;
CREATE TABLE ps (id int PRIMARY KEY);
INSERT INTO ps SELECT generate_series(1, 100);
ALTER TABLE pc ADD CONSTRAINT to_pp FOREIGN KEY (id) REFERENCES pp;
ALTER TABLE pc ADD CONSTRAINT to_ps FOREIGN KEY (id) REFERENCES ps;
ALTER TABLE pc DROP CONSTRAINT to_pp;
ALTER TABLE pc DROP CONSTRAINT to_ps;
INSERT INTO pc VALUES (150, 1);
ALTER TABLE pc ADD FOREIGN KEY (id) REFERENCES pp;
ALTER TABLE pc ADD FOREIGN KEY (id) REFERENCES ps;
