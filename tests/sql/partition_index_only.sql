-- An index that a partition has ONLY of its own is taken over as it is, and what else was refused
-- or shown otherwise of partitions.
CREATE TABLE p (a int) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (1000) PARTITION BY RANGE (a);
CREATE TABLE p21 PARTITION OF p2 FOR VALUES FROM (100) TO (200);
CREATE TABLE p22 PARTITION OF p2 FOR VALUES FROM (200) TO (300);
CREATE INDEX ON p22 (a);
CREATE INDEX ON ONLY p2 (a);
CREATE INDEX ON p (a);
CREATE VIEW parts AS
  SELECT indexrelid::regclass, indisvalid, inhparent::regclass
  FROM pg_index LEFT JOIN pg_inherits ON indexrelid = inhrelid WHERE indexrelid::regclass::text ~ '^p\d*_a' ORDER BY indexrelid::regclass::text COLLATE "C";
TABLE parts;
\d p2
ALTER INDEX p2_a_idx ATTACH PARTITION p22_a_idx;
TABLE parts;
CREATE INDEX ON p21 (a);
ALTER INDEX p2_a_idx ATTACH PARTITION p21_a_idx;
TABLE parts;
ALTER INDEX p ATTACH PARTITION p1_a_idx;
ALTER TABLE p_a_idx ATTACH PARTITION p1_a_idx FOR VALUES FROM (1) TO (2);
DROP VIEW parts;
DROP TABLE p;

-- A temporary one is dropped at once.
CREATE TEMP TABLE tp (a int) PARTITION BY RANGE (a);
CREATE TEMP TABLE tp1 PARTITION OF tp FOR VALUES FROM (0) TO (10);
CREATE INDEX tp_idx ON tp (a);
DROP INDEX CONCURRENTLY tp_idx;
SELECT relname FROM pg_class WHERE relname ~ '^tp' ORDER BY 1;
DROP TABLE tp;

-- Operator classes of hash keys.
CREATE TABLE h (a int) PARTITION BY HASH (a no_such_ops);
CREATE TABLE h (a int) PARTITION BY HASH (a text_ops);
CREATE TABLE h (a int, b text) PARTITION BY HASH (a int4_ops, b text_ops);
SELECT pg_get_partkeydef('h'::regclass);
DROP TABLE h;
CREATE TABLE h (a text) PARTITION BY HASH (a text_pattern_ops);
SELECT pg_get_partkeydef('h'::regclass);
CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO h SELECT g::text FROM generate_series(1, 20) g;
SELECT tableoid::regclass, count(*) FROM h GROUP BY 1 ORDER BY 1;
SELECT tableoid::regclass FROM h WHERE a = '7';
DROP TABLE h;

-- The default partition's condition, in the order of the bounds.
CREATE TABLE r (a text, b bigint) PARTITION BY RANGE (a, b);
CREATE TABLE r3 PARTITION OF r FOR VALUES FROM ('b', 20) TO ('b', 30);
CREATE TABLE r2 PARTITION OF r FOR VALUES FROM ('b', 1) TO ('b', 20);
CREATE TABLE r1 PARTITION OF r FOR VALUES FROM ('a', 1) TO ('a', 10);
CREATE TABLE rd PARTITION OF r DEFAULT;
SELECT pg_get_partition_constraintdef('rd'::regclass);
DROP TABLE r;
CREATE TABLE l (a int) PARTITION BY LIST (a);
CREATE TABLE l2 PARTITION OF l FOR VALUES IN (9, 2, NULL);
CREATE TABLE l1 PARTITION OF l FOR VALUES IN (5, 1);
CREATE TABLE ld PARTITION OF l DEFAULT;
SELECT pg_get_partition_constraintdef('ld'::regclass);
DROP TABLE l;

-- Small things.
CREATE TABLE s (a int GENERATED ALWAYS AS IDENTITY, b int DEFAULT 1);
SELECT column_name, column_default, is_identity FROM information_schema.columns WHERE table_name = 's' ORDER BY 1;
ALTER TABLE s DROP COLUMN xmin;
ALTER TABLE s DROP COLUMN IF EXISTS ctid;
DROP TABLE s;
CREATE TABLE s () WITH (oids);
CREATE TABLE s () WITH (oids = true);
CREATE TABLE s () WITH (oids = false);
DROP TABLE s;
CREATE UNLOGGED TABLE pg_temp.s (a int);
