-- ANALYZE reads some of a large table's pages: 300 for each value that statistics are to keep.
CREATE TABLE wide (id int, ten int, pad text, nothing int);
ALTER TABLE wide ALTER pad SET STORAGE PLAIN;
INSERT INTO wide SELECT g, g % 10, repeat('x', 900), null FROM generate_series(1, 20000) AS g;
SET default_statistics_target = 1;
ANALYZE wide;
SELECT relpages > 1000 AS more_than_read, reltuples BETWEEN 18000 AND 22000 AS estimated FROM pg_class WHERE relname = 'wide';
SELECT attname, CASE attname WHEN 'ten' THEN n_distinct = 10 WHEN 'id' THEN n_distinct = -1 END AS counted, null_frac,
       CASE attname WHEN 'id' THEN correlation > 0.999 END AS in_order,
       cardinality(histogram_bounds::text::text[]) AS bounds
FROM pg_stats WHERE tablename = 'wide' AND attname <> 'pad' ORDER BY attname;
-- Both ends of the table are met, and what is between them.
SELECT bool_and(bound[1]::int < 3000 AND bound[2]::int > 17000)
FROM (SELECT histogram_bounds::text::text[] AS bound FROM pg_stats WHERE tablename = 'wide' AND attname = 'id') AS bounds;
DELETE FROM wide WHERE id % 4 <> 0;
VACUUM wide;
SET default_statistics_target = 2;
ANALYZE wide;
SELECT reltuples BETWEEN 4400 AND 5600 AS estimated FROM pg_class WHERE relname = 'wide';
SELECT cardinality(histogram_bounds::text::text[]) AS bounds, n_distinct FROM pg_stats WHERE tablename = 'wide' AND attname = 'id';
-- All of a small one is read, and all counted.
RESET default_statistics_target;
ANALYZE wide;
SELECT reltuples FROM pg_class WHERE relname = 'wide';
SELECT attname, n_distinct, cardinality(most_common_vals::text::text[]) AS common, cardinality(histogram_bounds::text::text[]) AS bounds
FROM pg_stats WHERE tablename = 'wide' AND attname IN ('id', 'ten') ORDER BY attname;
SET default_statistics_target = 0;
SET default_statistics_target = 10001;

-- VACUUM counts them.
CREATE TABLE counted (a int PRIMARY KEY);
SELECT reltuples FROM pg_class WHERE relname = 'counted';
VACUUM counted;
SELECT relpages, reltuples FROM pg_class WHERE relname = 'counted';
INSERT INTO counted SELECT generate_series(1, 5000);
DELETE FROM counted WHERE a % 5 = 0;
VACUUM counted;
SELECT relpages > 10 AS pages, reltuples FROM pg_class WHERE relname = 'counted';
DROP TABLE counted;
-- Every level of a partitioned table knows how many rows it has, and that it has no pages.
create table tree(a int, b int, gone int, c text) partition by range(a);
alter table tree drop column gone;
create table tree1 partition of tree for values from (0) to (10);
create table tree2(c text, b int, a int) partition by list(b);
create table tree2a partition of tree2 for values in (1);
create table tree2d partition of tree2 default;
alter table tree attach partition tree2 for values from (10) to (100);
insert into tree select g, g % 3, 'c' || g % 7 from generate_series(0, 59) g;
select relname, reltuples, relpages from pg_class where relname in ('tree', 'tree2') order by relname;
analyze tree2;
select relname, reltuples, relpages from pg_class where relname in ('tree', 'tree2') order by relname;
analyze tree;
select relname, reltuples, relpages from pg_class where relname in ('tree', 'tree2') order by relname;
select relname, reltuples from pg_class where relname in ('tree1', 'tree2a', 'tree2d') order by relname;
select tablename, attname, inherited, n_distinct from pg_stats where tablename in ('tree', 'tree2') and attname <> 'a' order by 1, 2;
-- The entries of an index that has none of its own are not counted.
create index tree_b on tree (b);
select relname, relkind, reltuples, relpages from pg_class where relname = 'tree_b';
analyze tree;
select relname, relkind, reltuples, relpages from pg_class where relname = 'tree_b';
drop table tree;

-- A column is named once.
CREATE TABLE named (a int, b int);
ANALYZE named (a, b, a);
VACUUM ANALYZE named (b, b);
ANALYZE named (c, a, a);
DROP TABLE named;
