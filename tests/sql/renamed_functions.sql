-- PostgreSQL 15 differs: it prints the columns of a view with their table.
-- Views, columns, constraints, indexes and functions keep calling a function whose name or schema
-- changes, and none takes over a function that is made later.
CREATE SCHEMA tools;
CREATE FUNCTION twice(n bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN n * 2; END';
CREATE FUNCTION is_small(n bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN n < 100; END';
CREATE DOMAIN small AS bigint CHECK (is_small(VALUE)) DEFAULT twice(3);
CREATE TABLE numbers (
    n bigint DEFAULT twice(7) CONSTRAINT small_numbers CHECK (is_small(n)),
    doubled bigint GENERATED ALWAYS AS (twice(n)) STORED,
    s small
);
CREATE INDEX numbers_twice ON numbers (twice(n)) WHERE is_small(n);
CREATE STATISTICS numbers_statistics ON twice(n), n FROM numbers;
CREATE VIEW doubles AS SELECT n, twice(n) AS d, twice(d.d) FROM numbers, twice(n) AS d (d) WHERE is_small(n);
CREATE FUNCTION with_default(n bigint DEFAULT twice(5)) RETURNS bigint LANGUAGE sql AS 'SELECT n';
CREATE FUNCTION atomic(a bigint) RETURNS bigint BEGIN ATOMIC SELECT twice(a) + 1; END;
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''noted %'', NEW.n; RETURN NULL; END';
CREATE TRIGGER noted AFTER INSERT ON numbers FOR EACH ROW WHEN (is_small(NEW.n)) EXECUTE FUNCTION noted();
CREATE TABLE leaves (n bigint) PARTITION BY RANGE (twice(n));
CREATE TABLE leaves_1 PARTITION OF leaves FOR VALUES FROM (0) TO (100);
INSERT INTO numbers DEFAULT VALUES;

-- One that fits better comes later: the calls stay what they are.
CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN n * 3; END';
INSERT INTO numbers DEFAULT VALUES RETURNING *;
SELECT * FROM doubles;
SELECT with_default(), atomic(4);
DROP FUNCTION twice(integer);

ALTER FUNCTION twice RENAME TO "Double It";
ALTER FUNCTION is_small SET SCHEMA tools;
ALTER FUNCTION noted RENAME TO told;
INSERT INTO numbers DEFAULT VALUES RETURNING *;
INSERT INTO numbers VALUES (100);
INSERT INTO numbers (n, s) VALUES (1, 101);
INSERT INTO leaves VALUES (49);
INSERT INTO leaves VALUES (50);
SELECT * FROM doubles;
SELECT with_default(), atomic(4);
\d numbers
\d+ doubles
SELECT pg_get_viewdef('doubles'::regclass);
SELECT pg_get_indexdef('numbers_twice'::regclass);
SELECT pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conname IN ('small_numbers', 'small_check') ORDER BY 1;
SELECT pg_get_statisticsobjdef(oid), pg_get_statisticsobjdef_expressions(oid) FROM pg_statistic_ext WHERE stxname = 'numbers_statistics';
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'noted';
SELECT pg_get_partkeydef('leaves'::regclass);
SELECT pg_get_functiondef('atomic'::regproc), pg_get_function_arguments('with_default'::regproc);
SELECT adrelid::regclass, adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'numbers'::regclass ORDER BY adnum;
SELECT column_name, column_default, generation_expression FROM information_schema.columns WHERE table_name = 'numbers' ORDER BY ordinal_position;
SELECT view_definition FROM information_schema.views WHERE table_name = 'doubles';
SELECT check_clause FROM information_schema.check_constraints WHERE constraint_name IN ('small_numbers', 'small_check') ORDER BY 1;

-- The search path.
SET search_path = tools, public;
SELECT pg_get_viewdef('doubles'::regclass);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'small_numbers';
RESET search_path;
-- Replaced: the new body counts at once.
CREATE OR REPLACE FUNCTION "Double It"(n bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN n * 20; END';
SELECT with_default(), atomic(4);
-- What depends on them.
DROP FUNCTION "Double It"(bigint);
DROP SCHEMA tools;
DROP SCHEMA tools CASCADE;
\d numbers
DROP FUNCTION "Double It"(bigint) CASCADE;
\d numbers
-- The column of an index is named after the function that it calls.
CREATE SCHEMA s;
CREATE FUNCTION s.plus_one(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT n + 1';
CREATE INDEX numbers_plus ON numbers (s.plus_one(n), (s.plus_one(n) + 1), s.plus_one(n), lower(n::text));
SELECT attname FROM pg_attribute WHERE attrelid = 'numbers_plus'::regclass ORDER BY attnum;
-- pg_depend shows what expressions call.
CREATE TABLE calling (a bigint DEFAULT s.plus_one(1), CHECK (s.plus_one(a) > 0));
SELECT classid::regclass, deptype FROM pg_depend WHERE refobjid = 's.plus_one'::regproc ORDER BY 1;
-- An aggregate as a window function.
CREATE AGGREGATE s.total(bigint) (SFUNC = int8pl, STYPE = bigint, INITCOND = '0');
CREATE VIEW running AS SELECT n, s.total(n) OVER (ORDER BY n) FROM numbers;
SELECT * FROM running;
ALTER AGGREGATE s.total(bigint) RENAME TO "Sum";
SELECT * FROM running;
SELECT pg_get_viewdef('running'::regclass);
DROP AGGREGATE s."Sum"(bigint);
