-- Right semi and anti joins hand up the rows of the hashed side, by whose names EXPLAIN calls them.
-- PostgreSQL 15 differs: only 18 hashes the outer side of semi joins
create table small (id int, name text); insert into small select i, 'n' || i from generate_series(1, 50) i;
create table large (id int, w int); insert into large select i % 1000, i from generate_series(1, 5000) i;
analyze small; analyze large;
set enable_nestloop = off; set enable_mergejoin = off; set max_parallel_workers_per_gather=0;
explain (costs off) select name from small s where exists (select from large l where l.id = s.id and l.w <> s.id) order by name;
explain (costs off) select name from small s where not exists (select from large l where l.id = s.id and l.w <> s.id) order by name;
drop table small, large;
