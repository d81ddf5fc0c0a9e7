-- NOT NULL constraints that have names: what drops them, what they do to children and partitions, and which names they may have.
-- PostgreSQL 15 differs: NOT NULL is no constraint there
-- Keys and identities need theirs.
CREATE TABLE keyed (a integer CONSTRAINT keyed_a NOT NULL PRIMARY KEY, b integer GENERATED ALWAYS AS IDENTITY CONSTRAINT keyed_b NOT NULL);
ALTER TABLE keyed DROP CONSTRAINT keyed_a;
ALTER TABLE keyed DROP CONSTRAINT keyed_b;
ALTER TABLE keyed ALTER a DROP NOT NULL;
ALTER TABLE keyed ALTER b DROP NOT NULL;
INSERT INTO keyed OVERRIDING SYSTEM VALUE VALUES (NULL, 1);
INSERT INTO keyed OVERRIDING SYSTEM VALUE VALUES (1, NULL);
-- Down to children and away again.
CREATE TABLE top (a integer, b integer);
CREATE TABLE middle () INHERITS (top);
CREATE TABLE low () INHERITS (middle);
ALTER TABLE top ADD CONSTRAINT top_a NOT NULL a;
SELECT conrelid::regclass, conislocal, coninhcount, connoinherit, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'top_a' ORDER BY conrelid::regclass::text;
ALTER TABLE middle DROP CONSTRAINT top_a;
ALTER TABLE middle ALTER a DROP NOT NULL;
INSERT INTO low VALUES (NULL, 1);
ALTER TABLE top DROP CONSTRAINT top_a;
INSERT INTO middle VALUES (NULL, 1);
INSERT INTO low VALUES (NULL, 1);
TRUNCATE top;
ALTER TABLE top ADD CONSTRAINT top_a NOT NULL a;
ALTER TABLE top ALTER a DROP NOT NULL;
SELECT attrelid::regclass, attnotnull FROM pg_attribute WHERE attname = 'a' AND attrelid IN ('top'::regclass, 'middle'::regclass, 'low'::regclass) ORDER BY attrelid::regclass::text;
SELECT count(*) FROM pg_constraint WHERE conname = 'top_a';
-- A child that has its own keeps it.
ALTER TABLE middle ADD CONSTRAINT middle_b NOT NULL b;
ALTER TABLE top ADD CONSTRAINT top_b NOT NULL b;
SELECT conrelid::regclass, conname, conislocal, coninhcount FROM pg_constraint WHERE conname IN ('top_b', 'middle_b') ORDER BY conrelid::regclass::text;
ALTER TABLE middle DROP CONSTRAINT middle_b;
ALTER TABLE top DROP CONSTRAINT top_b;
SELECT conrelid::regclass, conname, conislocal, coninhcount FROM pg_constraint WHERE conname IN ('top_b', 'middle_b') ORDER BY conrelid::regclass::text;
INSERT INTO low VALUES (1, NULL);
ALTER TABLE middle DROP CONSTRAINT middle_b;
INSERT INTO low VALUES (1, NULL);
-- Partitions: made before and after, attached, detached.
CREATE TABLE parts (a integer, b integer) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
ALTER TABLE parts ADD CONSTRAINT parts_b NOT NULL b;
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10) TO (20);
CREATE TABLE parts_3 (a integer, b integer CONSTRAINT own_b NOT NULL);
CREATE TABLE parts_4 (a integer, b integer);
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM (20) TO (30);
ALTER TABLE parts ATTACH PARTITION parts_4 FOR VALUES FROM (30) TO (40);
SELECT conrelid::regclass, conname, conislocal, coninhcount FROM pg_constraint WHERE conname IN ('parts_b', 'own_b') ORDER BY conrelid::regclass::text;
ALTER TABLE parts_1 DROP CONSTRAINT parts_b;
ALTER TABLE parts_3 DROP CONSTRAINT own_b;
ALTER TABLE parts_3 ALTER b DROP NOT NULL;
ALTER TABLE parts DETACH PARTITION parts_3;
SELECT conname, conislocal, coninhcount FROM pg_constraint WHERE conname = 'own_b';
ALTER TABLE parts_3 DROP CONSTRAINT own_b;
INSERT INTO parts_3 VALUES (1, NULL);
ALTER TABLE parts DROP CONSTRAINT parts_b;
INSERT INTO parts VALUES (1, NULL), (11, NULL);
-- ONLY the parent loses it.
CREATE TABLE alone (a integer);
CREATE TABLE below () INHERITS (alone);
ALTER TABLE ONLY alone ADD CONSTRAINT alone_a NOT NULL a;
ALTER TABLE alone ADD CONSTRAINT alone_a NOT NULL a;
ALTER TABLE ONLY alone DROP CONSTRAINT alone_a;
SELECT conrelid::regclass, conname, conislocal, coninhcount FROM pg_constraint WHERE conname = 'alone_a';
INSERT INTO below VALUES (NULL);
-- Of two parents one is enough.
CREATE TABLE left_one (a integer CONSTRAINT left_a NOT NULL);
CREATE TABLE right_one (a integer NOT NULL);
CREATE TABLE of_both () INHERITS (left_one, right_one);
ALTER TABLE left_one DROP CONSTRAINT left_a;
INSERT INTO of_both VALUES (NULL);
ALTER TABLE right_one ALTER a DROP NOT NULL;
INSERT INTO of_both VALUES (NULL);
-- A child's own name for what it inherits.
CREATE TABLE parent_a (a integer CONSTRAINT parent_a_nn NOT NULL);
CREATE TABLE child_a (a integer CONSTRAINT child_a_nn NOT NULL) INHERITS (parent_a);
SELECT conname, conislocal, coninhcount FROM pg_constraint WHERE conrelid = 'child_a'::regclass;
ALTER TABLE child_a DROP CONSTRAINT child_a_nn;
ALTER TABLE child_a NO INHERIT parent_a;
SELECT conname, conislocal, coninhcount FROM pg_constraint WHERE conrelid = 'child_a'::regclass;
ALTER TABLE child_a INHERIT parent_a;
SELECT conname, conislocal, coninhcount FROM pg_constraint WHERE conrelid = 'child_a'::regclass;
ALTER TABLE child_a RENAME CONSTRAINT child_a_nn TO child_a_own;
ALTER TABLE child_a NO INHERIT parent_a;
ALTER TABLE child_a RENAME CONSTRAINT child_a_nn TO child_a_own;
ALTER TABLE child_a DROP CONSTRAINT child_a_own;
INSERT INTO child_a VALUES (NULL);
ALTER TABLE child_a INHERIT parent_a;
-- What the parent has not it cannot drop.
CREATE TABLE free (a integer);
CREATE TABLE bound () INHERITS (free);
ALTER TABLE bound ALTER a SET NOT NULL;
ALTER TABLE free ALTER a DROP NOT NULL;
INSERT INTO bound VALUES (NULL);
-- Names.
CREATE TABLE names (a integer CONSTRAINT names_a NOT NULL, b integer, c integer NOT NULL);
ALTER TABLE names RENAME CONSTRAINT names_a TO names_x;
ALTER TABLE names ADD CONSTRAINT names_x NOT NULL b;
ALTER TABLE names ADD CONSTRAINT names_x CHECK (b > 0);
ALTER TABLE names ADD CONSTRAINT names_y NOT NULL a;
ALTER TABLE names ADD CONSTRAINT names_x NOT NULL a;
ALTER TABLE names ADD CONSTRAINT names_c NOT NULL c;
ALTER TABLE names ADD CONSTRAINT names_d NOT NULL d;
ALTER TABLE names VALIDATE CONSTRAINT names_x;
ALTER TABLE names DROP CONSTRAINT names_x;
ALTER TABLE names DROP CONSTRAINT names_x;
ALTER TABLE names DROP CONSTRAINT IF EXISTS names_x;
CREATE TABLE refused (a integer CONSTRAINT x NOT NULL, b integer CONSTRAINT x NOT NULL);
CREATE TABLE refused (a integer CONSTRAINT x NOT NULL, CONSTRAINT y NOT NULL a);
CREATE TABLE refused (a integer, CONSTRAINT y NOT NULL a, CONSTRAINT z NOT NULL a);
CREATE TABLE refused (a integer, CONSTRAINT y NOT NULL zz);
CREATE TABLE twice (a integer CONSTRAINT x NOT NULL CONSTRAINT x NOT NULL, CONSTRAINT x NOT NULL a);
SELECT conname, conkey FROM pg_constraint WHERE conrelid = 'twice'::regclass;
