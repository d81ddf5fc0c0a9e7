-- The parts of an ALTER TABLE have their turns, whatever is written first: what goes, types, columns, what is said of columns.
-- PostgreSQL 15 differs: texts about NOT NULL
CREATE TABLE swapped (a integer, b text, c text);
INSERT INTO swapped VALUES (1, '10', 'x'), (2, '20', 'y');
-- Every new value is the old row's.
ALTER TABLE swapped ALTER a TYPE text USING b || c, ALTER b TYPE bigint USING a * 10, DROP COLUMN c;
SELECT * FROM swapped ORDER BY b;
ALTER TABLE swapped ALTER a TYPE bigint USING b, ALTER b TYPE text USING a;
SELECT * FROM swapped ORDER BY b;
ALTER TABLE swapped ALTER a TYPE text, ALTER a TYPE varchar;
ALTER TABLE swapped ALTER a TYPE boolean USING 1;
ALTER TABLE swapped ALTER a TYPE boolean;
-- A constraint over a column that the same statement adds, over one that changes its type, and one that is in the way.
ALTER TABLE swapped ADD CONSTRAINT late CHECK (d > 0), ADD COLUMN d integer DEFAULT 1;
ALTER TABLE swapped ADD CONSTRAINT number CHECK (d < 100), ALTER d TYPE text, DROP CONSTRAINT late;
ALTER TABLE swapped ADD CONSTRAINT worded CHECK (d < 'x'), ALTER d TYPE text, DROP CONSTRAINT late, ALTER d DROP DEFAULT, ALTER d SET DEFAULT 'e';
INSERT INTO swapped VALUES (3, 'z');
INSERT INTO swapped VALUES (3, 'z', 'y');
SELECT * FROM swapped ORDER BY a;
ALTER TABLE swapped ALTER d SET NOT NULL, ADD PRIMARY KEY (e), ADD COLUMN e integer GENERATED ALWAYS AS IDENTITY;
\d swapped
-- What is dropped is in the way of no type.
CREATE TABLE made (a integer, b integer, x integer GENERATED ALWAYS AS (a + b) STORED, CHECK (a < b));
INSERT INTO made VALUES (1, 2);
ALTER TABLE made DROP COLUMN x, ALTER a TYPE bigint, ALTER b TYPE bigint, ADD COLUMN x bigint GENERATED ALWAYS AS ((a + b) * 2) STORED;
SELECT * FROM made;
ALTER TABLE made ALTER a TYPE text, DROP COLUMN x, DROP COLUMN b;
ALTER TABLE made ADD COLUMN y integer GENERATED ALWAYS AS (nowhere + 1) STORED;
SELECT * FROM made;
CREATE TABLE counted (n integer GENERATED ALWAYS AS IDENTITY);
ALTER TABLE counted ALTER n DROP IDENTITY, ALTER n DROP NOT NULL, ALTER n TYPE bigint;
\d counted
-- The column that a CHECK reads names it, wherever it is written.
CREATE TABLE naming (a integer CHECK (a > 0), b integer CHECK (b > a), c integer CHECK (a < 9), d integer CHECK (true));
ALTER TABLE naming ADD COLUMN e integer CHECK (d > 0);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'naming'::regclass ORDER BY 1;
-- With children and partitions.
CREATE TABLE base (a integer, b integer);
CREATE TABLE derived (c text) INHERITS (base);
INSERT INTO derived VALUES (1, 2, 'x');
ALTER TABLE base ALTER a TYPE text USING b, ALTER b TYPE text USING a;
ALTER TABLE base ALTER a TYPE text USING b::text, ALTER b TYPE text USING a::text;
SELECT tableoid::regclass, * FROM base;
ALTER TABLE derived ALTER c TYPE varchar(5), ALTER a TYPE integer USING 1;
CREATE TABLE top (k integer, a integer, b integer) PARTITION BY LIST (k);
CREATE TABLE top1 (b integer, a integer, k integer);
ALTER TABLE top ATTACH PARTITION top1 FOR VALUES IN (1);
INSERT INTO top VALUES (1, 2, 3);
ALTER TABLE top ALTER a TYPE bigint USING b * 100, ALTER b TYPE numeric USING a / 4.0;
SELECT * FROM top;
ALTER TABLE top ALTER a TYPE text, ALTER k TYPE text;
-- What is written beside a text is as immutable as its own text.
CREATE TABLE labelled (n integer, d date, l text GENERATED ALWAYS AS ('no. ' || n) STORED);
INSERT INTO labelled VALUES (7, '2020-01-02') RETURNING *;
CREATE INDEX ON labelled ((n || ' pieces'));
CREATE INDEX ON labelled ((d || ' day'));
\d labelled
-- A table that is below another one in two ways has everything once, and loses it once.
CREATE TABLE far (a integer, b integer);
CREATE TABLE middle () INHERITS (far);
CREATE TABLE near () INHERITS (middle, far);
ALTER TABLE far ADD CONSTRAINT positive CHECK (a > 0) NOT VALID;
SELECT conrelid::regclass, conislocal, coninhcount FROM pg_constraint WHERE conname = 'positive' ORDER BY conrelid;
ALTER TABLE far VALIDATE CONSTRAINT positive;
SELECT conrelid::regclass, convalidated FROM pg_constraint WHERE conname = 'positive' ORDER BY conrelid;
ALTER TABLE far ADD COLUMN x integer CHECK (x > 0);
\d near
ALTER TABLE far DROP CONSTRAINT positive;
SELECT conrelid::regclass FROM pg_constraint WHERE conname = 'positive';
ALTER TABLE far DROP COLUMN x;
\d near
-- SET CONSTRAINTS.
BEGIN;
SET CONSTRAINTS worded IMMEDIATE;
SET CONSTRAINTS nowhere IMMEDIATE;
ROLLBACK;
