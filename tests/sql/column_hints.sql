-- What a column's definition recommends: statistics targets and storage; and skipped relations.
-- PostgreSQL 15 differs: it knows no SET STORAGE DEFAULT, and writes -1 for no target
CREATE TABLE st (a integer, b text);
CREATE TABLE st_child () INHERITS (st);
ALTER TABLE st ALTER a SET STATISTICS 200;
ALTER TABLE st ALTER b SET STORAGE EXTERNAL;
ALTER TABLE ONLY st ALTER b SET STORAGE main;
ALTER TABLE st ALTER a SET STORAGE main;
ALTER TABLE st ALTER a SET STORAGE plain;
ALTER TABLE st ALTER a SET STORAGE nope;
ALTER TABLE st ALTER a SET STATISTICS -2;
ALTER TABLE ONLY st ALTER a SET STATISTICS 20000;
ALTER TABLE st ALTER 2 SET STATISTICS 20;
ALTER TABLE st ALTER nope SET STATISTICS 20;
SELECT attrelid::regclass, attname, attstattarget, attstorage FROM pg_attribute
WHERE attrelid IN ('st'::regclass, 'st_child'::regclass) AND attnum > 0 ORDER BY 1, 2;
CREATE TABLE st_late () INHERITS (st);
\d+ st
\d+ st_late
ALTER TABLE st ALTER a SET STATISTICS -1;
ALTER TABLE ONLY st_child ALTER a SET STATISTICS DEFAULT;
ALTER TABLE st ALTER b SET STORAGE DEFAULT;
\d+ st_child
CREATE VIEW skipped AS SELECT 1 AS a;
VACUUM skipped;
ANALYZE skipped;
VACUUM ANALYZE st, skipped;
COMMENT ON SEQUENCE nope IS 'x';
COMMENT ON VIEW nope IS 'x';
SELECT tablename FROM pg_tables WHERE tablename LIKE 'st%' ORDER BY 1;
CREATE TABLE st_parts (a integer) PARTITION BY RANGE (a);
SELECT tablename FROM pg_tables WHERE tablename LIKE 'st\_p%';

-- How many values there are is told rather than found.
CREATE TABLE told (a int, b text COMPRESSION pglz);
CREATE TABLE told_child () INHERITS (told);
ALTER TABLE told ALTER a SET (n_distinct = 5);
ALTER TABLE told ALTER a SET (n_distinct = -2);
ALTER TABLE told ALTER a SET (n_distinct = 'x');
ALTER TABLE told ALTER a SET (nope = 1);
ALTER TABLE told ALTER a SET (n_distinct_inherited = -0.5, n_distinct = -1);
SELECT attrelid::regclass, attname, attoptions FROM pg_attribute
WHERE attrelid IN ('told'::regclass, 'told_child'::regclass) AND attnum > 0 ORDER BY 1, 2;
ALTER TABLE told ALTER a RESET (n_distinct);
ALTER TABLE told ALTER a RESET (nope);
ALTER TABLE told ALTER a RESET (n_distinct = 3);
ALTER TABLE told ALTER nope SET (n_distinct = 3);
ALTER TABLE told ALTER ctid SET (n_distinct = 3);
ALTER TABLE told ALTER a SET (toast.n_distinct = 3);
ALTER TABLE told ALTER a SET (n_distinct);
ALTER TABLE told ALTER a SET (n_distinct = 3, n_distinct = 4);
CREATE INDEX told_i ON told (b, a);
CREATE VIEW told_view AS SELECT a FROM told;
ALTER TABLE told_i ALTER a SET (n_distinct = 3);
ALTER VIEW told_view ALTER a RESET (n_distinct);
INSERT INTO told SELECT i % 7, repeat('x', i % 3) FROM generate_series(1, 90) AS i;
ALTER TABLE told ALTER a SET (n_distinct = -0.2), ALTER b SET (n_distinct = 0);
ANALYZE told;
SELECT attname, n_distinct, avg_width FROM pg_stats WHERE tablename = 'told' AND NOT inherited ORDER BY 1;
CREATE TABLE told_like (LIKE told INCLUDING ALL);
SELECT attname, attoptions FROM pg_attribute WHERE attrelid = 'told_like'::regclass AND attnum > 0;
SELECT attname, attcompression FROM pg_attribute WHERE attrelid = 'told_i'::regclass;
ALTER TABLE told RENAME a TO c;
ALTER TABLE told DROP COLUMN b;
SELECT attname, attoptions FROM pg_attribute WHERE attrelid = 'told'::regclass AND attnum > 0;
DROP TABLE told CASCADE;
CREATE TABLE told (k int) PARTITION BY LIST (k);
CREATE TABLE told_1 PARTITION OF told FOR VALUES IN (1, 2);
ALTER TABLE told ALTER k SET (n_distinct = 7, n_distinct_inherited = 8);
INSERT INTO told VALUES (1), (1), (2), (2);
ANALYZE told;
SELECT tablename, inherited, n_distinct FROM pg_stats WHERE tablename LIKE 'told%' ORDER BY 1;
DROP TABLE told;

-- The width of values as they are stored.
CREATE TABLE widths (a smallint, b int, c bigint, d text, e numeric, f timestamptz, g boolean, h uuid, i bytea, j interval);
INSERT INTO widths SELECT i, i, i, repeat('x', 9), i * 1000, now(), true, gen_random_uuid(), '\x0102', '1 day' FROM generate_series(1, 9) AS i;
ANALYZE widths;
SELECT attname, avg_width FROM pg_stats WHERE tablename = 'widths' ORDER BY 1;
DROP TABLE widths;
