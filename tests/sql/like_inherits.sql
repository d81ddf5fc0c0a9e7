-- LIKE and INHERITS together: columns that both have are merged, with their defaults, identities and constraints.
CREATE TABLE model (a integer DEFAULT 1, b text COLLATE "C", c integer GENERATED ALWAYS AS IDENTITY, d integer NOT NULL, e integer DEFAULT 5, CONSTRAINT above CHECK (a > 0));
COMMENT ON COLUMN model.a IS 'of the model';
CREATE TABLE parent (a integer DEFAULT 2, z integer, CONSTRAINT above CHECK (a > 0));
CREATE TABLE plain (LIKE model) INHERITS (parent);
CREATE TABLE whole (LIKE model INCLUDING ALL, x integer) INHERITS (parent);
CREATE TABLE moved (x integer, LIKE model INCLUDING DEFAULTS) INHERITS (parent);
CREATE TABLE commented (LIKE model INCLUDING COMMENTS) INHERITS (parent);
SELECT attrelid::regclass, attname, attnum, atttypid::regtype, attnotnull, attislocal, attinhcount, attidentity, CASE WHEN attidentity = '' THEN pg_get_expr(adbin, adrelid) END AS default FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid IN ('plain'::regclass, 'whole'::regclass, 'moved'::regclass) AND attnum > 0 ORDER BY attrelid::regclass::text, attnum;
SELECT conrelid::regclass, conname, conislocal, coninhcount FROM pg_constraint WHERE conname = 'above' ORDER BY conrelid::regclass::text;
SELECT col_description('commented'::regclass, 1), col_description('plain'::regclass, 1);
INSERT INTO whole (d) VALUES (3) RETURNING *;
INSERT INTO plain DEFAULT VALUES;
INSERT INTO whole (a, d) VALUES (0, 3);
-- They are merged in the parents' places.
CREATE TABLE ordered (a integer, b integer, c integer);
CREATE TABLE reversed (c integer, a integer);
CREATE TABLE places (LIKE reversed, y integer) INHERITS (ordered);
SELECT attname, attnum, attislocal, attinhcount FROM pg_attribute WHERE attrelid = 'places'::regclass AND attnum > 0 ORDER BY attnum;
-- What both have must be alike.
CREATE TABLE wide (a bigint);
CREATE TABLE refused (LIKE model) INHERITS (wide);
CREATE TABLE collated (b text);
CREATE TABLE refused (LIKE model) INHERITS (collated);
CREATE TABLE refused (a integer, LIKE model) INHERITS (parent);
CREATE TABLE refused (LIKE model, a integer) INHERITS (parent);
CREATE TABLE refused (LIKE model, LIKE model) INHERITS (parent);
CREATE TABLE refused (LIKE model, LIKE model);
CREATE TABLE refused (LIKE nothing) INHERITS (parent);
CREATE TABLE limits (a integer, CONSTRAINT above CHECK (a > 5));
CREATE TABLE refused (LIKE model INCLUDING CONSTRAINTS) INHERITS (limits);
CREATE TABLE unshared (a integer, CONSTRAINT above CHECK (a > 0) NO INHERIT);
CREATE TABLE from_unshared (LIKE model INCLUDING CONSTRAINTS) INHERITS (unshared);
CREATE TABLE refused (LIKE unshared INCLUDING CONSTRAINTS) INHERITS (parent);
-- Defaults: the model's takes the place of the parent's, but does not settle what two disagree about.
CREATE TABLE seven (a integer DEFAULT 7);
CREATE TABLE refused (LIKE model) INHERITS (parent, seven);
CREATE TABLE refused (LIKE model INCLUDING DEFAULTS) INHERITS (parent, seven);
CREATE TABLE settled (a integer DEFAULT 8) INHERITS (parent, seven);
-- Identities and generated columns.
CREATE TABLE counted (c integer);
CREATE TABLE counts (LIKE model INCLUDING IDENTITY) INHERITS (counted);
INSERT INTO counts (d) VALUES (1), (2) RETURNING c, d;
CREATE TABLE doubled (g integer, h integer GENERATED ALWAYS AS (g * 2) STORED);
CREATE TABLE three (h integer DEFAULT 3);
CREATE TABLE tripled (LIKE three) INHERITS (doubled);
INSERT INTO tripled (g) VALUES (4) RETURNING *;
CREATE TABLE refused (LIKE three INCLUDING DEFAULTS) INHERITS (doubled);
CREATE TABLE numbered (h integer GENERATED ALWAYS AS IDENTITY);
CREATE TABLE refused (LIKE numbered INCLUDING IDENTITY) INHERITS (doubled);
-- Keys and indexes of the model are over the merged columns.
CREATE TABLE indexed (k integer UNIQUE CHECK (k > 1), g integer PRIMARY KEY);
CREATE INDEX ON indexed (k, g);
CREATE TABLE indexes (LIKE indexed INCLUDING ALL) INHERITS (doubled);
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'indexes' ORDER BY 1;
INSERT INTO indexes (g, k) VALUES (1, 2), (1, 3);
