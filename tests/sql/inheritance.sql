-- Plain inheritance: what a parent's statements read and change.
-- PostgreSQL 15 differs: EXPLAIN ANALYZE's rows have no decimals there
create table p(a int, b text);
create table c(c int, b text, a int);
alter table c inherit p;
create table d(e text default 'e') inherits (p);
create table e(f int) inherits (c, d);
insert into p values (1,'p1'),(2,'p2');
insert into c(a,b,c) values (3,'c3',33),(1,'c1',11);
insert into d values (4,'d4','e4');
insert into e(c,b,a,e,f) values (55,'e5',5,'ee',5);
insert into e(a,b) values (6,'e6');
select tableoid::regclass as t, * from p order by t::text, a;
select tableoid::regclass as t, p from p order by t::text, a;
select tableoid::regclass as t, * from only p order by a;
select tableoid::regclass as t, * from c order by t::text, a;
-- Columns that only a child has stay as they are, wherever they stand.
with u as (update p set b = b || '!' where a in (1,3,4,5) returning tableoid::regclass as t, *)
    select * from u order by t::text, a;
update only p set b = b || '?';
update p set a = 3 where a = 4 returning tableoid::regclass, *;
select * from c order by a, c;
select * from d order by a, b;
select * from e order by a;
with u as (update p set b = 'x' from c where p.a = c.a returning p.tableoid::regclass as t, p.*, c.c)
    select * from u order by t::text, a;
begin;
select tableoid::regclass as t, * from p where a = 3 for update;
select p.a, c.c from p join c using (a) order by 1, 2 for update of p;
rollback;
with x as (delete from p where a > 4 returning tableoid::regclass as t, *) select * from x order by a;
select count(*), sum(a), min(a), max(a) from p;
delete from only c;
delete from c returning *;
select tableoid::regclass as t, * from p order by t::text, a;
begin;
truncate only p;
select count(*) from p;
rollback;
begin;
truncate p;
select count(*) from p;
select count(*) from d;
rollback;
-- INSERT, COPY and ON CONFLICT are of the parent alone.
alter table p add primary key (a);
insert into p values (3,'second') on conflict (a) do nothing;
insert into p values (3,'third') on conflict (a) do update set b = excluded.b returning tableoid::regclass, *;
copy p from stdin;
7	copied
\.
copy (select * from p order by a, b) to stdout;
create view v as select * from only p;
create view w as select * from p;
select pg_get_viewdef('v'::regclass), pg_get_viewdef('w'::regclass);
select (select count(*) from v), (select count(*) from w);
update w set b = 'w' where a = 3;
update v set b = 'v' where a = 3;
select tableoid::regclass as t, * from p where a = 3 order by 1;
-- Plans follow the tree.
prepare s(int) as select tableoid::regclass as t, b from p where a = $1 order by t::text;
execute s(3);
create table f(a int not null, b text);
insert into f values (3,'f3');
alter table f inherit p;
execute s(3);
alter table f no inherit p;
execute s(3);
-- Joins, sub-selects, aggregates.
insert into c values (99, 'c3', 3);
select x.a, x.b, y.b from p x left join d y using (a) order by 1, 2, 3;
select a, count(*) from p group by a having count(*) > 1 order by a;
select a, b from p where exists (select from c where c.a = p.a) order by 1, 2;
select (select max(b) from p x where x.a = y.a) as m from p y order by 1;
select a from p union all select a from only p order by 1;
select a, b from p order by a, b limit 2;
explain (costs off) select * from c where a = 3;
explain (costs off) select * from c x where a = 3 and b = 'x';
explain (costs off) delete from c where a = 3;
explain (costs off) select * from only c where a = 3;
explain (costs off) select * from c where a = 3 for update;
explain (costs off, analyze, timing off, summary off, buffers off) select * from c where a = 100;
select inhrelid::regclass, inhparent::regclass, inhseqno from pg_inherits
    where inhparent::regclass::text in ('p', 'c', 'd') order by 1, 3;
select relname, relhassubclass from pg_class where relname in ('p', 'c', 'd', 'e') order by 1;
drop table d;
drop table p cascade;
