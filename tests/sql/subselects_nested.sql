-- Sub-selects among the conditions of EXISTS and IN: scalar ones are asked of the rows of a join.
create table a (id int primary key, kind int not null);
create table b (id int primary key, a_id int, qty int not null);
create table c (b_id int, n int not null, day int);
insert into a select i, i % 10 from generate_series(1, 200) i;
insert into b select i, case when i % 50 > 0 then 1 + (i * 7) % 240 end, i % 40 from generate_series(1, 600) i;
insert into c select case when i % 70 > 0 then 1 + (i * 11) % 750 end, i % 60, i % 13 from generate_series(1, 1800) i;
create index on b (a_id);
create index on c (b_id);
analyze a;
analyze b;
analyze c;
set max_parallel_workers_per_gather = 0;
-- They name the sub-select's columns only.
select count(*) from a where exists (select from b where b.a_id = a.id and exists (select from c where c.b_id = b.id and n = 50));
select count(*) from a where kind < 4 and not exists (select from b where b.a_id = a.id
    and exists (select from c where c.b_id = b.id and n = 50));
select count(*) from a where exists (select from b where b.a_id = a.id and not exists (select from c where c.b_id = b.id and n > 20));
select count(*) from a where not exists (select from b where b.a_id = a.id and not exists (select from c where c.b_id = b.id and n > 20));
select count(*) from a where exists (select from b where b.a_id = a.id and b.id in (select b_id from c where n > 55));
select count(*) from a where exists (select from b where b.a_id = a.id and b.id not in (select b_id from c where n > 55));
select count(*) from a where exists (select from b where b.a_id = a.id and b.id not in (select b_id from c where n > 55 and b_id is not null));
select count(*) from a where id in (select a_id from b where qty > a.kind and exists (select from c where c.b_id = b.id and n > 50));
select count(*) from a where exists (select from b left join c on c.b_id = b.id where b.a_id = a.id
    and exists (select from c i where i.b_id = b.id and i.n = c.n + 1));
-- Scalar ones.
explain (costs off) select count(*) from a where kind = 3 and exists (select from b where b.a_id = a.id
    and qty > (select avg(n) from c where c.b_id = b.id));
select count(*) from a where kind = 3 and exists (select from b where b.a_id = a.id and qty > (select avg(n) from c where c.b_id = b.id));
explain (costs off) select count(*) from a where kind = 3 and not exists (select from b where b.a_id = a.id
    and qty > (select avg(n) from c where c.b_id = b.id));
select count(*) from a where not exists (select from b where b.a_id = a.id and qty > (select avg(n) from c where c.b_id = b.id));
select count(*) from a where exists (select from b where b.a_id = a.id and qty > (select avg(n) from c));
-- The columns of the query around, too, or only those.
select count(*) from a where exists (select from b where b.a_id = a.id and exists (select from c where c.b_id = b.id and n = a.kind));
select count(*) from a where not exists (select from b where b.a_id = a.id and exists (select from c where c.b_id = b.id and n = a.kind));
select count(*) from a where exists (select from b where b.a_id = a.id and exists (select from c where c.b_id = a.id and n > 30));
select count(*) from a where not exists (select from b where b.a_id = a.id and exists (select from c where c.b_id = a.id and n > 30));
select count(*) from a where exists (select from b where b.a_id = a.id and not exists (select from c where c.b_id = a.id and n > 30));
select count(*) from a where exists (select from b where b.a_id = a.id and a.kind < (select max(day) from c where c.b_id = a.id));
select count(*) from a where exists (select from b where b.a_id = a.id and a.kind < (select max(day) from c where c.b_id = b.id));
select count(*) from a, c o where a.id = o.n and exists (select from b where b.a_id = a.id
    and qty < (select max(day) from c where c.b_id = o.b_id and c.n > a.kind));
-- Three deep, with columns of all of them.
select count(*) from a where exists (select from b where b.a_id = a.id and exists (select from c where c.b_id = b.id
    and exists (select from b d where d.id = c.n and d.qty = b.qty)));
select count(*) from a where exists (select from b where b.a_id = a.id and exists (select from c where c.b_id = b.id
    and not exists (select from b d where d.id = c.n and d.qty > a.kind)));
select count(*) from a where not exists (select from b where b.a_id = a.id and not exists (select from c where c.b_id = b.id
    and not exists (select from b d where d.id = c.n and d.qty > a.kind)));
select count(*) from a where kind in (select qty from b where b.a_id = a.id and b.id in (select b_id from c where c.day = a.kind));
-- With WITH, and in outer joins.
with w as materialized (select * from c where n > 30)
    select count(*) from a where exists (select from b where b.a_id = a.id and exists (select from w where w.b_id = b.id));
with w as materialized (select * from c where n > 30)
    select count(*) from a where exists (select from b where b.a_id = a.id and qty > (select min(n) / 2 from w where w.b_id = b.id));
select count(*), count(x.id) from a left join (select * from b where exists (select from c where c.b_id = b.id
    and exists (select from a i where i.id = c.n and i.kind = b.qty % 10))) x on x.a_id = a.id;
select count(*) from a left join b on b.a_id = a.id where exists (select from c where c.b_id = b.id
    and exists (select from a i where i.id = c.n and i.kind > a.kind));
begin;
delete from a where exists (select from b where b.a_id = a.id and exists (select from c where c.b_id = b.id and n > 50));
select count(*), sum(id) from a;
update b set qty = -1 where exists (select from c where c.b_id = b.id and exists (select from a where a.id = c.n));
select count(*) from b where qty = -1;
rollback;
drop table a, b, c;
