-- A reference to a whole row is NULL where an outer join has no row, not a row of NULLs.
-- PostgreSQL 15 differs: there the alias of a join is not NULL as a whole
create table parents (a int);
create table children (b int, c text);
insert into parents values (1), (2), (3);
insert into children values (1, 'x'), (3, null);
select a, children from parents left join children on a = b order by a;
select count(children), count(*) from parents left join children on a = b;
select count(children) from children right join parents on a = b;
select a, children is null, children is not null, children is distinct from null
  from parents left join children on a = b order by a;
select a, (children).b, coalesce(children::text, 'none')
  from parents left join children on a = b order by a;
select a from parents left join children on a = b where children is null order by a;
select a from parents left join children on a = b where not children is null order by a;
select children, count(*) from parents left join children on a = b
  group by children order by children;
select distinct children from parents full join children on a = b + 1 order by 1;
select p, children from parents p full join children on p.a = b + 1 order by p, children;
select a, (select children) from parents left join children on a = b order by a;
select a, (select count(children)) from parents left join children on a = b group by a order by a;
select array_agg(children order by a) from parents left join children on a = b;
select a, row(children.*), children.* from parents left join children on a = b order by a;
-- A row of NULLs that is there is none that is not.
insert into children values (null, null);
select a, children from parents full join children on a = b order by a;
select count(children) from parents full join children on a = b;
select a from parents left join children on a = b group by a having children is null;
-- Not tables only.
select a, s from parents left join (select b, 1 as k from children) s on a = b order by a;
select a, s from parents left join (values (1, 2)) s (b, c) on a = b order by a;
select a, s from parents left join (select b from children union select 2) s on a = b order by a;
select a, s from parents
  left join lateral (select parents.a + 1 as q from children where b = parents.a) s on true
  order by a;
select a, s from parents left join generate_series(1, 1) s on a = s order by a;
select a, s from parents
  left join lateral generate_series(1, a - 2) with ordinality s (n, o) on true order by a;
with w as (select * from children) select a, w from parents left join w on a = b order by a;
with w as materialized (select * from children), v as materialized (select 1 as one)
  select a, w, (select x.one from (select v.one from v) x)
    from parents left join (w cross join v) on a = w.b order by a;
with recursive r as (select 1 as n union all select n + 1 from r where n < 2)
  select a, r from parents left join r on n = a order by a;
select a, p is null, p from parents left join pg_class p on p.relname = 'none' order by a;
-- A join's alias, and joins in joins.
select x, j from (values (1), (9)) x (n)
  left join (parents left join children on a = b) j on j.a = x.n order by n;
select j from (parents left join children on a = b) j order by a;
select x, j from (values (1), (9)) x (n)
  left join (parents p join children c on a = b) as j (u, v, w) on j.u = x.n order by n;
select a, m, c from parents left join (children m join children c on m.b = c.b) on m.b = a
  order by a;
select a, m from parents left join (children m left join children c on m is null) on m.b = a
  order by a;
select a, v from parents left join (select children as whole from children) v
  on (v.whole).b = a order by a;
-- Views, changes, what is partitioned or inherited.
create view families as select a, children from parents left join children on a = b;
select * from families order by a;
select x.n, f from (values (1), (2), (9)) x (n) left join families f on f.a = x.n order by n;
create table kept (a int, whole text);
insert into kept select a, children::text from parents left join children on a = b;
select * from kept order by a;
update kept set whole = coalesce(c::text, 'gone')
  from parents p left join children c on p.a = c.b and c.b = 1 where p.a = kept.a
  returning kept.a, c;
with gone as (
  delete from kept using parents p left join children c on p.a = c.b
    where p.a = kept.a and c is null returning kept.a, c
) select * from gone order by a;
create table halves (b int, c text) partition by range (b);
create table low partition of halves for values from (0) to (2);
create table high partition of halves for values from (2) to (9);
insert into halves values (1, 'l'), (3, 'h');
select a, halves from parents left join halves on a = b order by a;
create table grown (d int) inherits (children);
insert into grown values (2, 'g', 2);
select a, children from parents left join children on a = b order by a;
prepare whole as select children from parents left join children on a = b where a = $1;
execute whole(1);
execute whole(7);
select a, children from parents left join children on false group by a order by a;
-- A row of NULLs IS NULL, and is distinct from NULL all the same.
select c is distinct from null, c is not distinct from null, c is null,
  row(b, c) is distinct from null, row(b, c) is not distinct from null, row(b, c) is null
  from only children c order by b;
select row(null, null) is distinct from null, null is distinct from row(1, null),
  row() is distinct from null;
