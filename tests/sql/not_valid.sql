-- CHECK … NOT VALID: what it holds for, what may be concluded from it, VALIDATE CONSTRAINT, and how it meets inheritance.
-- PostgreSQL 15 differs: a parent that is NOT VALID itself refuses no such child; NOT NULL constraints
CREATE TABLE stock (id integer, amount integer);
INSERT INTO stock VALUES (1, 5), (2, -5);
ALTER TABLE stock ADD CONSTRAINT positive CHECK (amount > 0) NOT VALID;
INSERT INTO stock VALUES (3, -1);
UPDATE stock SET amount = -6 WHERE id = 2;
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'stock'::regclass;
\d stock
SET constraint_exclusion = on;
SELECT * FROM stock WHERE amount < 0;
EXPLAIN (COSTS OFF) SELECT * FROM stock WHERE amount < 0;
ALTER TABLE stock VALIDATE CONSTRAINT positive;
UPDATE stock SET amount = 6 WHERE id = 2;
ALTER TABLE stock VALIDATE CONSTRAINT positive;
ALTER TABLE stock VALIDATE CONSTRAINT positive;
SELECT convalidated FROM pg_constraint WHERE conname = 'positive';
EXPLAIN (COSTS OFF) SELECT * FROM stock WHERE amount < 0;
RESET constraint_exclusion;
\d stock
-- A new table has no rows that could break it.
CREATE TABLE fresh (a integer, CONSTRAINT fresh_a CHECK (a > 0) NOT VALID);
SELECT convalidated FROM pg_constraint WHERE conname = 'fresh_a';
-- What inherits has it NOT VALID, too, and is validated with the parent.
CREATE TABLE parent (a integer);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child VALUES (-1);
ALTER TABLE parent ADD CONSTRAINT above CHECK (a > 0) NOT VALID;
CREATE TABLE late () INHERITS (parent);
SELECT conrelid::regclass, convalidated, conislocal, coninhcount FROM pg_constraint WHERE conname = 'above' ORDER BY 1;
ALTER TABLE ONLY parent VALIDATE CONSTRAINT above;
ALTER TABLE parent VALIDATE CONSTRAINT above;
SELECT conrelid::regclass, convalidated FROM pg_constraint WHERE conname = 'above' ORDER BY 1;
DELETE FROM child;
ALTER TABLE child VALIDATE CONSTRAINT above;
ALTER TABLE ONLY parent VALIDATE CONSTRAINT above;
ALTER TABLE parent VALIDATE CONSTRAINT above;
SELECT conrelid::regclass, convalidated FROM pg_constraint WHERE conname = 'above' ORDER BY 1;
ALTER TABLE parent ADD CONSTRAINT alone CHECK (a > 1) NO INHERIT NOT VALID;
ALTER TABLE ONLY parent VALIDATE CONSTRAINT alone;
\d parent
-- A child's that is NOT VALID is none of a parent's that is valid.
ALTER TABLE child ADD CONSTRAINT own CHECK (a < 100) NOT VALID;
ALTER TABLE parent ADD CONSTRAINT own CHECK (a < 100);
ALTER TABLE parent ADD CONSTRAINT own CHECK (a < 100) NOT VALID;
SELECT conrelid::regclass, convalidated, conislocal, coninhcount FROM pg_constraint WHERE conname = 'own' ORDER BY 1;
CREATE TABLE lone (a integer);
ALTER TABLE lone ADD CONSTRAINT above CHECK (a > 0) NOT VALID;
ALTER TABLE lone ADD CONSTRAINT own CHECK (a < 100) NOT VALID;
ALTER TABLE lone INHERIT parent;
ALTER TABLE lone VALIDATE CONSTRAINT above;
ALTER TABLE lone INHERIT parent;
SELECT conname, convalidated, coninhcount FROM pg_constraint WHERE conrelid = 'lone'::regclass ORDER BY 1;
ALTER TABLE parent VALIDATE CONSTRAINT missing;
ALTER TABLE parent ADD CONSTRAINT only_one UNIQUE (a);
ALTER TABLE parent VALIDATE CONSTRAINT only_one;
-- Partitions.
CREATE TABLE part (a integer, b integer) PARTITION BY LIST (a);
CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1);
INSERT INTO part VALUES (1, -1);
ALTER TABLE part ADD CONSTRAINT part_b CHECK (b > 0) NOT VALID;
INSERT INTO part VALUES (1, -2);
ALTER TABLE part VALIDATE CONSTRAINT part_b;
CREATE TABLE part2 (a integer, b integer);
ALTER TABLE part2 ADD CONSTRAINT part_b CHECK (b > 0) NOT VALID;
ALTER TABLE part ATTACH PARTITION part2 FOR VALUES IN (2);
UPDATE part SET b = 1;
ALTER TABLE part VALIDATE CONSTRAINT part_b;
SELECT conrelid::regclass, convalidated FROM pg_constraint WHERE conname = 'part_b' ORDER BY 1;
CREATE TABLE part3 (a integer, b integer);
ALTER TABLE part3 ADD CONSTRAINT part_b CHECK (b > 0) NOT VALID;
ALTER TABLE part ATTACH PARTITION part3 FOR VALUES IN (3);
-- NO INHERIT is copied with its constraint.
CREATE TABLE model (a integer CONSTRAINT model_a CHECK (a > 0) NO INHERIT);
CREATE TABLE copy (LIKE model INCLUDING ALL);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'copy'::regclass;
CREATE TABLE copied (LIKE model INCLUDING ALL) PARTITION BY LIST (a);
