-- Queries of a WITH RECURSIVE that name later ones, and what may not be recursive.
-- PostgreSQL 15 differs: it prints a view's columns with their table's name.

with recursive y (id) as (values (1)), x (id) as (select * from y union all select id + 1 from x where id < 5)
select * from x order by id;
with recursive x (id) as (select * from y union all select id + 1 from x where id < 5), y (id) as (values (1))
select * from x order by id;
with recursive x (id) as (values (1) union all select id + 1 from x where id < 5),
    y (id) as (values (1) union all select id + 1 from y where id < 10)
select y.*, x.* from y left join x using (id) order by y.id;
with recursive x (id) as (values (1) union all select id + 1 from x where id < 3),
    y (id) as (values (1) union all select id + 1 from x where id < 5),
    z (id) as (select * from x union all select id + 1 from z where id < 5)
select * from z order by id;
with recursive z (id) as (select * from y union all select id + 1 from z where id < 4),
    y (id) as (select * from x union all select id + 10 from y where id < 4),
    x (id) as (values (3))
select id from z order by id;

-- A later query is also named below a sub-select, a join, an expression and a WITH inside.
with recursive a as (select (select max(n) from b) as m), b as (select 7 as n) select * from a;
with recursive a as (select * from c join (select * from b) s on true), b as (select 7 as n), c as (select 1 as x)
select * from a;
with recursive a as (with i as (select * from b) select * from i), b as (select 7 as n) select * from a;
with recursive a as (select array(select n from b where n in (select n from c)) as l from generate_series(1, (select max(n) from c)) g limit 1),
    b as (select 7 as n), c as (select n from b)
select * from a;
with recursive a as (select case when exists (select 1 from b) then coalesce((select n from b), 0) end as n), b as (select 7 as n)
select n from a;
-- Not where a WITH inside has that name.
with recursive a as (with b as (select 1 as n) select * from b), b as (select n + 1 as n from a) select * from b;
-- Without RECURSIVE a later query is no table.
with a as (select * from b), b as (select 1) select * from a;

-- Round and round.
with recursive x (id) as (select 1 union all select id + 1 from y where id < 5),
    y (id) as (select 1 union all select id + 1 from x where id < 5)
select * from x;
with recursive x as (select * from y), y as (select * from z), z as (select * from x) select 1;
with recursive w as (select 1), x as (select * from y), y as (select * from x, w) select 1;

-- Forms that a query which names itself must have.
with recursive x (n) as (select n from x) select * from x;
with recursive x (n) as (select 1 intersect select n + 1 from x) select * from x;
with recursive x (n) as (select 1 except all select n + 1 from x) select * from x;
with recursive x (n) as (values (1), ((select n from x))) select * from x;
with recursive x (n) as (select n from x union all select 1) select * from x;
with recursive x (n) as (select n from (select * from x) s union all select 1) select * from x;
with recursive x (n) as (with w as (select * from x) select 1 union all select n from w) select * from x;
with recursive x (n) as (select 1 union all select n + 1 from x order by 1) select * from x;
with recursive x (n) as (select n from x union all select n + 1 from x order by 1) select * from x;
with recursive x (n) as (select 1 union all select n + 1 from x limit 10) select * from x;
with recursive x (n) as (select 1 union all select 1 from x, x as x1) select * from x;
with recursive x (n) as (select 1 union all select n from x where exists (select * from x)) select * from x;
create table t (n int);
with recursive t as (insert into t select * from t returning n) select * from t;
with recursive s as (insert into t select * from s returning n) select * from s;
with recursive s as (insert into t select 1 union all select n + 1 from z where n < 3 returning n), z as (select 1 as n)
select * from s order by n;
with recursive u as (delete from t where n = (select max(n) from m) returning n), m as (select n from t) select * from u;
with recursive u as (update t set n = n + (select k from v) returning n), v as (select 10 as k) select * from u order by n;
table t order by n;

-- The UNION may have a WITH of its own.
with recursive x (n) as (with w as (select 1 as a), s as (select 2 as b) select a from w union all select n + b from x, s where n < 6)
select * from x;
with recursive x (n) as (with recursive w as (select 1 as a union all select a + 1 from w where a < 3) select a from w union all select n + 10 from x where n in (select a from w))
select * from x order by n;

-- In views, printed in an order that reads back.
create view v as with recursive x (id) as (select * from y union all select id + 1 from x where id < 5), y (id) as (values (1))
    select * from x;
select pg_get_viewdef('v');
select * from v order by id;
create view w as with recursive a as (select * from b), b as (select 1 as n) select * from a;
select * from w;
drop view v, w;
drop table t;
