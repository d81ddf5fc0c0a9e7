-- CREATE TABLE and DROP TABLE: columns, defaults, constraints, what is refused.
CREATE TABLE plain (a integer, b text);
CREATE TABLE plain (a integer);
CREATE TABLE IF NOT EXISTS plain (z integer);
SELECT * FROM plain;
CREATE TABLE nothing ();
SELECT count(*) FROM nothing;
SELECT * FROM nothing;
INSERT INTO nothing DEFAULT VALUES;
SELECT count(*) FROM nothing;
CREATE TABLE twice (a integer, a text);
CREATE TABLE untyped (a no_such_type);
CREATE TABLE system_name (ctid integer);
CREATE TABLE "Mixed Case" ("Column One" integer, "select" text);
INSERT INTO "Mixed Case" VALUES (1, 'one');
SELECT "Column One", "select" FROM "Mixed Case";
SELECT column_one FROM "Mixed Case";
SELECT * FROM mixed_case;

-- Defaults.
CREATE TABLE defaults (
    id integer DEFAULT 7,
    name text DEFAULT 'nobody',
    total numeric(8, 2) DEFAULT 1.005,
    doubled integer DEFAULT 2 * 21,
    empty text
);
INSERT INTO defaults DEFAULT VALUES;
INSERT INTO defaults (name) VALUES (DEFAULT), ('somebody'), (NULL);
INSERT INTO defaults VALUES (1);
INSERT INTO defaults VALUES (2, DEFAULT, 3, DEFAULT, 'x');
SELECT * FROM defaults ORDER BY id, name, total;
CREATE TABLE bad_default (a integer DEFAULT 'x');
CREATE TABLE bad_default (a integer DEFAULT b, b integer);
CREATE TABLE bad_default (a integer DEFAULT (SELECT 1));
CREATE TABLE bad_default (a integer DEFAULT sum(1));
CREATE TABLE bad_default (a boolean DEFAULT 5);
INSERT INTO defaults VALUES (1, 2, 3, 4, 5, 6);
INSERT INTO defaults (id, nope) VALUES (1, 2);
INSERT INTO defaults (id, id) VALUES (1, 2);
INSERT INTO defaults (id, name) VALUES (1);
INSERT INTO defaults (id) VALUES (1, 2);

-- Keys.
CREATE TABLE keyed (a integer PRIMARY KEY, b integer UNIQUE, c integer NOT NULL);
\d keyed
CREATE TABLE two_keys (a integer PRIMARY KEY, b integer PRIMARY KEY);
CREATE TABLE no_column (a integer, PRIMARY KEY (b));
CREATE TABLE same_column (a integer, UNIQUE (a, a));
CREATE TABLE named (
    a integer CONSTRAINT a_present NOT NULL,
    b integer,
    c text CONSTRAINT c_short CHECK (length(c) < 5),
    CONSTRAINT named_key PRIMARY KEY (a, b),
    CONSTRAINT named_unique UNIQUE (c, b),
    CHECK (a <> b)
);
\d named
CREATE TABLE nulls (a integer NULL NOT NULL);

-- LIKE and AS.
CREATE TABLE copied (LIKE keyed);
\d copied
CREATE TABLE selected AS SELECT a, a * 2 AS double, 'x' || a AS name FROM generate_series(1, 3) AS a;
SELECT * FROM selected ORDER BY a;
\d selected
CREATE TABLE empty_copy AS SELECT * FROM selected WITH NO DATA;
SELECT * FROM empty_copy;
CREATE TABLE renamed (x, y) AS VALUES (1, 'one'), (2, 'two');
SELECT * FROM renamed ORDER BY x;
CREATE TABLE too_many (x, y, z) AS SELECT 1, 2;
SELECT 1 AS a, 2 AS b INTO from_select;
SELECT * FROM from_select;

-- DROP.
DROP TABLE no_such_table;
DROP TABLE IF EXISTS no_such_table;
DROP TABLE plain, nothing;
SELECT * FROM plain;
DROP TABLE keyed_pkey;
DROP INDEX keyed_pkey;
DROP TABLE keyed;
SELECT * FROM keyed;
