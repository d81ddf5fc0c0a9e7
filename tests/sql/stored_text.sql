-- Definitions that the catalog keeps, with backslashes and quotes in their constants.
-- PostgreSQL 15 differs: it prints columns of views with their table

CREATE TABLE kept (
    bytes bytea DEFAULT '\x00',
    path text DEFAULT 'C:\temp',
    lines text DEFAULT E'one\ntwo\ttab''s',
    pattern text CHECK (pattern LIKE 'a\%%' ESCAPE '\'),
    CHECK (path <> E'\\' AND bytes <> '\xff'::bytea));
\d kept
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'kept'::regclass ORDER BY adnum;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'kept'::regclass
    ORDER BY conname;
CREATE INDEX kept_index ON kept ((path || '\')) WHERE bytes > '\x0102';
SELECT pg_get_indexdef('kept_index'::regclass);
CREATE VIEW shown AS SELECT path || '\''s' AS p, bytes = '\x5c' AS b FROM kept WHERE path ~ '^\d+\\$';
SELECT pg_get_viewdef('shown');
SELECT pg_get_viewdef('shown', true);
INSERT INTO kept (pattern) VALUES ('a%x');
INSERT INTO kept (pattern) VALUES ('a\x');
SELECT bytes, path, lines, pattern FROM kept;
SELECT * FROM shown;
DROP INDEX kept_index;
EXPLAIN (COSTS OFF) SELECT * FROM kept WHERE bytes > '\x5c' AND path = '\';

CREATE TABLE parted (b bytea, t text) PARTITION BY LIST (b);
CREATE TABLE parted_zero PARTITION OF parted FOR VALUES IN ('\x00', '\x5c');
CREATE TABLE parted_text PARTITION OF parted FOR VALUES IN (NULL) PARTITION BY RANGE (t);
CREATE TABLE parted_range PARTITION OF parted_text FOR VALUES FROM ('\') TO ('\\''');
\d+ parted
\d+ parted_text
\d+ parted_range
SELECT quote_literal('a\b'), quote_nullable('\'), quote_literal('it''s');
DROP TABLE kept, parted CASCADE;
