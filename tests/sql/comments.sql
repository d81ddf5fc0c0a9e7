-- COMMENT ON, and where comments are shown.
CREATE SCHEMA sch;
CREATE TABLE t (a integer PRIMARY KEY, b text CHECK (b <> ''));
CREATE INDEX t_b ON t (b);
CREATE VIEW v AS SELECT a FROM t;
CREATE SEQUENCE sq;
COMMENT ON TABLE t IS 'a table';
COMMENT ON COLUMN t.a IS 'a column';
COMMENT ON COLUMN t.b IS 'another';
COMMENT ON INDEX t_b IS 'an index';
COMMENT ON VIEW v IS 'a view';
COMMENT ON COLUMN v.a IS 'its column';
COMMENT ON SEQUENCE sq IS 'a sequence';
COMMENT ON SCHEMA sch IS 'a schema';
COMMENT ON CONSTRAINT t_b_check ON t IS 'a constraint';
SELECT obj_description('t'::regclass, 'pg_class'), col_description('t'::regclass, 2), obj_description('v'::regclass);
SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'sch';
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 't_b_check';
SELECT classoid::regclass, objsubid, description FROM pg_description WHERE objoid >= 16384 ORDER BY 3;
\d+ t
\dd
COMMENT ON COLUMN t.b IS NULL;
COMMENT ON TABLE t IS '';
SELECT obj_description('t'::regclass), col_description('t'::regclass, 2), col_description('t'::regclass, 1);
COMMENT ON TABLE nope IS 'x';
COMMENT ON COLUMN t.nope IS 'x';
COMMENT ON CONSTRAINT nope ON t IS 'x';
COMMENT ON SCHEMA nope IS 'x';
COMMENT ON VIEW t IS 'x';
COMMENT ON TABLE v IS 'x';
COMMENT ON INDEX t IS 'x';
COMMENT ON COLUMN sq.last_value IS 'x';
ALTER TABLE t RENAME a TO aa;
SELECT col_description('t'::regclass, 1);
DROP TABLE t CASCADE;
SELECT count(*) FROM pg_description WHERE description LIKE 'a%' AND objoid >= 16384;
-- Of partitioned tables and their parts.
CREATE TABLE part (a integer PRIMARY KEY, b text) PARTITION BY RANGE (a);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (1) TO (10);
CREATE INDEX part_b ON part (b);
COMMENT ON TABLE part IS 'a partitioned table';
COMMENT ON TABLE part1 IS 'a partition';
COMMENT ON COLUMN part.b IS 'a column of it';
COMMENT ON COLUMN part1.b IS 'a column of a partition';
COMMENT ON INDEX part_b IS 'a partitioned index';
COMMENT ON CONSTRAINT part_pkey ON part IS 'its key';
COMMENT ON INDEX part IS 'no index';
COMMENT ON TABLE part_b IS 'no table';
COMMENT ON COLUMN part_b.b IS 'no column';
\d+ part
\d+ part1
SELECT objsubid, description FROM pg_description WHERE objoid = 'part'::regclass ORDER BY 1;
SELECT obj_description('part_b'::regclass, 'pg_class'), col_description('part'::regclass, 2);
