-- The settings of costs reach what is done above scans: a sort by operators that cost much is
-- worse than an index that is read at random.
create table shuffled (k int, v text);
insert into shuffled select (i * 7919) % 20011, repeat('v', 400) from generate_series(1, 20000) i;
create index on shuffled (k);
analyze shuffled;
set max_parallel_workers_per_gather = 0;
set work_mem = '64MB';
explain (costs off) select * from shuffled order by k;
set cpu_operator_cost = 0.2;
explain (costs off) select * from shuffled order by k;
reset cpu_operator_cost;
set random_page_cost = 1;
set seq_page_cost = 1;
explain (costs off) select * from shuffled order by k;
drop table shuffled;
