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
