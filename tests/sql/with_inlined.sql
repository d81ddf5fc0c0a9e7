-- WITH queries that become sub-selects where they are read: in chains, in copies, at any depth, and with references to what is
-- outside them.
create table t (a int primary key, b int);
insert into t select i, i % 3 from generate_series(1, 9) i;

with c0 as (select a, b from t), c1 as (select a + 1 as a, b from c0), c2 as (select a * 2 as a, b from c1 where b > 0)
select * from c2 order by a;
explain (costs off) with c0 as (select a, b from t), c1 as (select a + 1 as a, b from c0) select * from c1 where b = 1;

-- Copies of copies.
with c0 as not materialized (select a, b from t where a < 4),
  c1 as not materialized (select x.a + y.a as s from c0 x join c0 y using (b)),
  c2 as (select count(*) as n, (select max(s) from c1) as m from c1)
select * from c2;
with c0 as not materialized (select a from t where b = 1),
  c1 as not materialized (select x.a + y.a as s from c0 x join c0 y on x.a < y.a)
select * from c1 union all select * from c1 order by s;

-- One that is read by one that nobody reads.
with c0 as (select 1 / (a - 1) as q from t), c1 as (select q from c0) select 1;

-- Within sub-selects, and about the query around them.
select a, (with c0 as (select t.a as v), c1 as (select v + 1 as v from c0) select sum(v) from c1) from t order by a limit 3;
select a, (with c0 as (select count(*) filter (where u.a < t.a) as n from t u), c1 as (select (select n from c0) as n)
  select n from c1 where n >= 0) from t order by a limit 3;
with c0 as (select a, b from t)
select b, (select (select max(a) from c0 where c0.b = o.b)) from (select distinct b from t) o order by b;
with c0 as (select 5 as k), c1 as (select b, (with d as (select k from c0), e as (select k + t.b as k from d) select k from e) as k from t)
select distinct b, k from c1 order by b;
select b, grouping(b), (with c0 as (select sum(t.a) as s), c1 as (select s + 1 as s from c0) select s from c1)
  from t group by rollup (b) order by b nulls last;

-- What may not be repeated stays as it is, and so does what it reads if that is asked for.
create sequence s;
with c0 as (select a from t where a < 3), c1 as (select nextval('s') as n, a from c0), c2 as (select n from c1)
select count(distinct x.n) from c2 x, c2 y where x.n = y.n;
select last_value from s;
explain (costs off) with c0 as materialized (select a from t), c1 as (select a from c0), c2 as (select a from c1) select * from c2;
with recursive c0 as (select 1 as n), c1 as (select n from c0 union all select n + 1 from c1 where n < 4),
  c2 as (select n * 10 as n from c1) select * from c2 order by n;

-- Set operations, changes, LATERAL, sub-selects in FROM that stay ones.
with c0 as (select a from t), c1 as (select a from c0 where a < 3 union select a from c0 where a > 8) select * from c1 order by a;
with c0 as (select a from t where b = 2), c1 as (select a from c0) update t set b = 7 where a in (select a from c1) returning a, b;
select x.a, y.* from t x, lateral (with c0 as (select x.b as b), c1 as (select b from c0) select b from c1) y order by 1 limit 2;
select count(*) from (select distinct b from (select distinct b, a % 2 as p from (select distinct a, b from t) q1) q2 where p = 1) q3
  where b < 9;
drop table t;
drop sequence s;
