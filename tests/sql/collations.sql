-- COLLATE of columns, keys and expressions. The collations that sort by code point are there.
-- PostgreSQL 15 differs: ucs_basic has another OID there

CREATE TABLE words (
    id int PRIMARY KEY,
    c text COLLATE "C",
    p varchar(20) COLLATE "POSIX" NOT NULL DEFAULT 'x',
    u char(4) COLLATE pg_catalog.ucs_basic,
    d text COLLATE "default",
    plain text,
    list text[] COLLATE "C",
    n name);
\d words
SELECT attname, attcollation::regcollation FROM pg_attribute
    WHERE attrelid = 'words'::regclass AND attnum > 0 ORDER BY attnum;
SELECT column_name, collation_schema, collation_name FROM information_schema.columns
    WHERE table_name = 'words' ORDER BY ordinal_position;

-- Keys: what is said beside the column's own is kept.
CREATE INDEX words_c ON words (c, plain COLLATE "C" DESC, d);
CREATE INDEX words_same ON words (c COLLATE "C");
CREATE INDEX words_other ON words (c COLLATE "POSIX" text_pattern_ops, lower(plain) COLLATE "C");
CREATE UNIQUE INDEX words_default ON words (p COLLATE "default" NULLS FIRST);
ALTER TABLE words ADD CONSTRAINT words_key UNIQUE (u, plain);
\d words
SELECT c.relname, i.indcollation FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
    WHERE indrelid = 'words'::regclass ORDER BY 1;
SELECT c.relname, attnum, attcollation FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
    WHERE relname LIKE 'words_%' ORDER BY 1, 2;

-- Order is by code point.
INSERT INTO words (id, c, p, u, d, plain) VALUES (1, 'b', '1', 'é', 'b', 'Z'), (2, 'B', '2', 'z', 'B', 'é'),
    (3, 'a', '3', 'Z', 'a', 'a'), (4, 'é', '4', 'a', 'é', 'z'), (5, '_', '5', '-', '_', '_');
SELECT c FROM words ORDER BY c;
SELECT plain FROM words ORDER BY plain COLLATE "C" DESC;
SELECT d FROM words WHERE d COLLATE "POSIX" > 'Z' ORDER BY d COLLATE ucs_basic;
SELECT max(c), min(plain COLLATE "C") FROM words;

-- Changes.
ALTER TABLE words ADD COLUMN later text COLLATE "C" DEFAULT 'l';
ALTER TABLE words ALTER COLUMN plain TYPE varchar(9);
ALTER TABLE words ALTER COLUMN c TYPE text;
\d words
SELECT c.relname, i.indcollation FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
    WHERE indrelid = 'words'::regclass ORDER BY 1;
CREATE TABLE copied (LIKE words);
\d copied

-- Inheritance and partitions.
CREATE TABLE base (a text COLLATE "C", b text);
CREATE TABLE heir (a text COLLATE "POSIX") INHERITS (base);
CREATE TABLE heir (b text) INHERITS (base);
\d heir
CREATE TABLE other (b text COLLATE "C");
CREATE TABLE both_of () INHERITS (base, other);
CREATE TABLE stranger (a text, b text);
ALTER TABLE stranger INHERIT base;
CREATE TABLE parted (a text COLLATE "C", b text) PARTITION BY RANGE (a, b COLLATE "POSIX", lower(b) COLLATE "C");
\d+ parted
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('a', 'a', 'a') TO ('m', 'm', 'm');
\d+ parted_1
SELECT partcollation FROM pg_partitioned_table WHERE partrelid = 'parted'::regclass;
ALTER TABLE parted ATTACH PARTITION stranger DEFAULT;

-- Mistakes.
CREATE TABLE wrong (a int COLLATE "C");
CREATE TABLE wrong (a text COLLATE "nowhere");
CREATE TABLE wrong (a text COLLATE public."C");
CREATE TABLE wrong (a text COLLATE nowhere."C");
ALTER TABLE words ADD COLUMN wrong int COLLATE "C";
ALTER TABLE words ALTER COLUMN id TYPE bigint COLLATE "C";
ALTER TABLE words ALTER COLUMN c TYPE text COLLATE nowhere;
CREATE INDEX ON words (id COLLATE "C");
CREATE INDEX ON words (c COLLATE nowhere);
CREATE TABLE wrong (a int) PARTITION BY LIST (a COLLATE "C");
CREATE TABLE wrong (a text) PARTITION BY LIST (a COLLATE nowhere);
SELECT id COLLATE "C" FROM words;
SELECT c COLLATE nowhere FROM words;
SELECT c COLLATE nowhere."C" FROM words;
DROP TABLE words, copied, base, other, stranger, parted CASCADE;
