-- The rows of a nested loop's inner side are kept for the parameters that it ran with.
create table outers (id int, k int, n numeric, t text);
insert into outers select i, case when i % 13 = 0 then null else i % 40 end, (i % 7)::numeric, 't' || i % 5 from generate_series(1, 4000) i;
create table inners (k int, v int, n numeric, t text);
insert into inners select i % 2000, i, (i % 500)::numeric, 't' || i % 900 from generate_series(1, 20000) i;
create index on inners (k);
create index on inners (n);
create index on inners (t);
create unique index on inners (v);
analyze outers;
analyze inners;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_bitmapscan = off;
set enable_material = off;
set max_parallel_workers_per_gather = 0;

explain (costs off) select * from outers o join inners i on i.v = o.k;
explain (costs off) select * from outers o left join inners i on i.v = o.k and i.k < 1500;
set enable_memoize = off;
explain (costs off) select * from outers o join inners i on i.v = o.k;
select count(*), sum(o.id), sum(i.v) from outers o join inners i on i.v = o.k;
select count(*), sum(o.id), sum(i.v) from outers o left join inners i on i.k = o.k and i.v % 3 = 0;
select count(*), sum(o.id), sum(i.v) from outers o left join inners i on i.k = o.k and i.v > o.k * 100;
select count(*), sum(o.id), sum(i.v) from outers o join inners i on i.n = o.n;
select count(*), sum(o.id), sum(i.v) from outers o join inners i on i.t = o.t where o.id < 500;
select o.id, (select count(*) from outers p join inners i on i.v = p.k and i.k > o.id where p.id < 30) from outers o where o.id < 5 order by 1;
set enable_memoize = on;
select count(*), sum(o.id), sum(i.v) from outers o join inners i on i.v = o.k;
select count(*), sum(o.id), sum(i.v) from outers o left join inners i on i.k = o.k and i.v % 3 = 0;
select count(*), sum(o.id), sum(i.v) from outers o left join inners i on i.k = o.k and i.v > o.k * 100;
select count(*), sum(o.id), sum(i.v) from outers o join inners i on i.n = o.n;
select count(*), sum(o.id), sum(i.v) from outers o join inners i on i.t = o.t where o.id < 500;
-- what else the inner side reads makes all that is kept stale
select o.id, (select count(*) from outers p join inners i on i.v = p.k and i.k > o.id where p.id < 30) from outers o where o.id < 5 order by 1;
-- too little memory for all, and read but in part
set work_mem = '64kB';
set hash_mem_multiplier = 1;
select count(*), sum(o.id), sum(i.v) from outers o left join inners i on i.k = o.k and i.v % 3 = 0;
select count(*), sum(o.id), sum(length(i.t)), sum(i.v) from outers o join inners i on i.n = o.n;
select o.id, i.v from outers o join inners i on i.v = o.k order by o.id limit 3;
reset work_mem;
reset hash_mem_multiplier;
drop table outers, inners;
