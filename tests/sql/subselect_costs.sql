-- A condition costs what its sub-select costs for each row that is asked: few rows are looked up by an index where they would be
-- joined by a hash were it one operator.
create table a (id int primary key, kind int not null, name text);
create table b (a_id int not null, s int not null, qty int not null, primary key (a_id, s));
create table l (a_id int not null, s int not null, n int not null, day int not null);
insert into a select i, i % 100, 'name ' || i from generate_series(1, 2000) i;
insert into b select i, s, (i * 7 + s) % 100 from generate_series(1, 2000) i, generate_series(1, 4) s;
insert into l select 1 + (i * 13) % 2000, 1 + i % 4, i % 50, i % 1000 from generate_series(1, 60000) i;
create index on l (a_id, s);
analyze a;
analyze b;
analyze l;
set max_parallel_workers_per_gather = 0;
-- One operator.
explain (costs off) select count(*) from a join b on b.a_id = a.id where a.kind < 20 and b.qty > 50;
-- One sub-select.
explain (costs off) select count(*) from a join b on b.a_id = a.id
    where a.kind < 20 and b.qty > (select sum(n) / 12 from l where l.a_id = b.a_id and l.s = b.s);
select count(*) from a join b on b.a_id = a.id
    where a.kind < 20 and b.qty > (select sum(n) / 12 from l where l.a_id = b.a_id and l.s = b.s);
explain (costs off) select count(*) from b
    where a_id in (select id from a where kind < 20) and qty > (select sum(n) / 12 from l where l.a_id = b.a_id and l.s = b.s);
explain (costs off) select count(*), count(b.s) from a left join b on b.a_id = a.id
    and b.qty > (select sum(n) / 12 from l where l.a_id = b.a_id and l.s = b.s) where a.kind < 20;
select count(*), count(b.s) from a left join b on b.a_id = a.id
    and b.qty > (select sum(n) / 12 from l where l.a_id = b.a_id and l.s = b.s) where a.kind < 20;
-- Within other expressions.
explain (costs off) select count(*) from a, b where a.id = b.a_id and kind < 20
    and b.qty > case when s = 1 then 70 else (select min(n) from l where l.a_id = b.a_id and l.s = b.s) end;
select count(*) from a, b where a.id = b.a_id and kind < 20
    and b.qty > case when s = 1 then 70 else (select min(n) from l where l.a_id = b.a_id and l.s = b.s) end;
explain (costs off) select count(*) from a, b where a.id = b.a_id and kind < 20
    and (select min(n) from l where l.a_id = b.a_id and l.s = b.s) in (1, 2, 3);
select count(*) from a, b where a.id = b.a_id and kind < 20
    and (select min(n) from l where l.a_id = b.a_id and l.s = b.s) in (1, 2, 3);
-- As in TPC-H's Q20.
select count(*) from a where kind = 3 and id in (select a_id from b where s in (select s from l where day = 6)
    and qty > (select sum(n) / 12 from l where l.a_id = b.a_id and l.s = b.s));
explain (costs off) select name from a where kind = 3 and id in (select a_id from b
    where s = 3 and qty > (select sum(n) / 12 from l where l.a_id = b.a_id and l.s = b.s));
select name from a where kind = 3 and id in (select a_id from b
    where s = 3 and qty > (select sum(n) / 12 from l where l.a_id = b.a_id and l.s = b.s)) order by id limit 3;
select count(*) from l where s in (select s from b where a_id in (select id from a where kind = 3)
    and qty > (select sum(n) / 12 from l i where i.a_id = b.a_id and i.s = b.s));
-- EXPLAIN says of which row a sub-select asks: an aggregate's argument is not asked of its result.
explain (costs off) select sum(qty + (select max(day) from l where l.a_id = b.a_id and l.s = b.s)) from b where qty = 3;
explain (costs off) select s, sum(qty) from b where a_id = 3 group by s having sum(qty) > (select max(day) from l where l.s = b.s);
drop table a, b, l;
