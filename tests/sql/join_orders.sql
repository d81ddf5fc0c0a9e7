-- Joins in other orders than they were written in, each condition decided once.
create table a (id int primary key, x int, y int);
create table b (id int primary key, x int, y int);
create table c (id int primary key, x int, y int);
create table d (id int primary key, x int, y int);
insert into a select i, i % 5, nullif(i % 4, 0) from generate_series(1, 12) i;
insert into b select i, i % 3, nullif(i % 5, 0) from generate_series(1, 9) i;
insert into c select i, nullif(i % 4, 1), i % 2 from generate_series(1, 7) i;
insert into d select i, i % 6, nullif(i % 3, 2) from generate_series(1, 400) i;
create index on d (x);
analyze a, b, c, d;
-- (A left B) left C = A left (B left C), if the second condition rejects NULLs of B.
select count(*), sum(a.id), sum(b.id), sum(c.id) from a left join b on a.x = b.x left join c on b.y = c.x;
select count(*), sum(a.id), sum(b.id), sum(c.id) from a left join b on a.x = b.x left join c on coalesce(b.y, 2) = c.x;
select count(*), sum(a.id), sum(b.id), sum(c.id) from a left join (b left join c on b.y = c.x) on a.x = b.x;
select count(*), sum(a.id), sum(b.id), sum(c.id) from a left join (b left join c on b.y is null) on a.x = b.x;
-- What inner joins join on the padded side stays there; on the kept side it may come first.
select count(*), sum(a.id), sum(b.id), sum(c.id) from a left join (b join c on b.y = c.x) on a.x = b.x;
select count(*), sum(a.id), sum(b.id), sum(d.id) from a left join b on a.x = b.x join d on d.id = a.id;
select count(*), sum(a.id), sum(b.id), sum(d.id) from a left join b on a.x = b.x join d on d.id = coalesce(b.id, 40);
select count(*), sum(a.id), sum(b.id), sum(c.id) from a left join b on a.x = b.x, c where c.y = a.y or b.id is null;
-- Conditions on what is padded come above.
select a.id from a left join b on a.x = b.x and b.id > 3 where b.id is null order by 1;
select count(*), sum(a.id), sum(c.id) from a left join b on a.x = b.x full join c on c.id = a.id and b.y = c.y;
-- ON that names one side, no side, or nothing that connects.
select count(*), sum(a.id), sum(b.id) from a left join b on a.x > 2;
select count(*), sum(a.id), sum(b.id) from a left join b on b.x = 1;
select count(*), sum(a.id), sum(b.id), sum(c.id) from a left join (b join c on 1 > random() + 5) on a.x = b.x;
select count(*), sum(a.id), sum(b.id) from a left join (b cross join c) on a.x = b.x and a.y = c.x;
-- Equalities that follow from others.
select count(*), sum(a.id + b.id + c.id + d.id) from a, b, c, d where a.x = b.x and b.x = c.x and c.x = d.x;
select count(*), sum(a.id + b.id) from a, b where a.x = b.x and b.x = a.y and b.y = a.y;
select count(*), sum(a.id + b.id + c.id) from a, b, c where a.x + 1 = b.y + 1 and b.y + 1 = c.x + 1;
-- Semi and anti joins before and after others.
select count(*), sum(a.id + b.id) from a join b on a.x = b.x where exists (select from d where d.x = a.x and d.y = b.y);
select count(*), sum(a.id + b.id) from a join b on a.x = b.x where not exists (select from d where d.x = a.id and d.y = b.y);
select count(*), sum(a.id) from a left join b on a.x = b.x where a.y in (select c.x from c left join d on d.id = c.y);
select count(*), sum(a.id) from a left join b on a.x = b.x where not exists (select from c join d on c.id = d.x where c.x = b.y);
-- The smaller side is hashed, whichever it is.
set enable_nestloop = off;
set enable_mergejoin = off;
select a.id from a where exists (select from d where d.y = a.x and d.id <> a.y) order by 1;
select a.id from a where not exists (select from d where d.y = a.x and d.id <> a.y) order by 1;
explain (costs off) select count(*) from a left join d on d.y = a.x;
select count(*), sum(a.id), sum(d.id) from a left join d on d.y = a.x and d.id < 20;
-- Also where they do not fit in memory.
set work_mem = '64kB';
select count(*), sum(b.id) from d b where exists (select from d where d.id = b.x * 2 and d.y is not distinct from b.y);
select count(*), sum(b.id) from d b where not exists (select from d where d.id = b.x * 2 and d.y is not distinct from b.y);
select count(*), sum(a.id), sum(d.id) from d a left join d on d.id = a.x * 70;
reset work_mem;
reset enable_nestloop;
reset enable_mergejoin;
-- In the order in which they were written.
set join_collapse_limit = 1;
select count(*), sum(a.id), sum(b.id), sum(c.id), sum(d.id) from d join (c join (b left join a on a.x = b.x) on c.x = b.y) on d.id = a.id;
reset join_collapse_limit;
set geqo_threshold = 2;
select count(*), sum(a.id), sum(b.id), sum(c.id), sum(d.id) from a join b on a.x = b.x left join c on c.x = b.y left join d on d.id = c.id and d.x = a.x;
