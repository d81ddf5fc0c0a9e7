-- EXPLAIN of CREATE TABLE AS and SELECT INTO: with ANALYZE the table is made and filled.
-- PostgreSQL 15 differs: EXPLAIN ANALYZE shows whole rows.
create table old (a int);

-- Without ANALYZE nothing is made.
explain (costs off) create table made as select 1 as x;
explain (costs off) select 1 as x into made;
select to_regclass('made');

-- With it there is a table; the plan is the query's.
explain (analyze, costs off, timing off, summary off, buffers off)
  create table made as select i, repeat('x', i % 7) as t from generate_series(1, 5000) i where i % 2 = 0;
select count(*), sum(i), sum(length(t)) from made;
\d made
explain (analyze, costs off, timing off, summary off, buffers off) select 1 as x into into_made;
table into_made;
explain (analyze, costs off, timing off, summary off, buffers off)
  create table no_data (n) as select i from generate_series(1, 3) i with no data;
table no_data;
explain (analyze, costs off, timing off, summary off, buffers off)
  create temporary table temp_made as select i from generate_series(1, 3) i;
select sum(i) from temp_made;

-- Of a prepared statement.
prepare p (int) as select i from generate_series(1, 4) i where i > $1;
explain (costs off) create table executed (n) as execute p (1);
explain (analyze, costs off, timing off, summary off, buffers off)
  create table executed (n) as execute p (2);
table executed;

-- A name that is taken.
explain (costs off) create table old as select 1;
explain (analyze, costs off) create table old as select 1;
explain (costs off) select 1 as x into old;
explain (costs off) create table if not exists old as select 1;
explain (analyze) create table if not exists old as select 1;
explain (format json) create table if not exists old as select 1;
explain (format yaml) create table if not exists old as select 1;
explain (format xml) create table if not exists old as select 1;
explain (costs off) create table nosuch.made as select 1;

-- A query that fails leaves no table; nor does a rollback.
explain (analyze, costs off) create table failed as select 1 / (3 - i) from generate_series(1, 5) i;
select to_regclass('failed');
begin;
explain (analyze, costs off, timing off, summary off, buffers off) create table undone as select 1 as x;
table undone;
rollback;
select to_regclass('undone');
explain (analyze, costs off) create table wide (a, b, c) as select 1;
