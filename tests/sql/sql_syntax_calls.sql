-- Calls in SQL's own syntax are shown in it: in views, keys, indexes, checks, defaults and plans.
-- PostgreSQL 15 differs: views qualify their columns
create table s (ts timestamptz, t timestamp, d date, x text, i interval);
create view v as select extract(year from ts) as a, extract('month' from d) as b, extract(epoch from i) as c,
  ts at time zone 'UTC' as e, t at time zone 'UTC' as f, position('a' in x) as g, substring(x from 2 for 3) as h,
  substring(x from 2) as h2, substring(x from 'a.') as h3, trim(x) as j, trim(both 'a' from x) as k,
  trim(leading from x) as l, trim(trailing 'b' from x) as m, overlay(x placing 'b' from 2 for 1) as n,
  overlay(x placing 'b' from 2) as o, (ts, ts) overlaps (ts, ts) as p, current_date as u,
  extract(year from ts) + 1 as w, date_part('year', ts) as y, "extract"('year', ts) as z, btrim(x) as z3 from s;
\d+ v
select pg_get_viewdef('v');
create view v2 as select extract(year from d) as y from s where extract(year from d) > 2000 and position('a' in x) > 1
  order by extract(year from d), trim(x), t at time zone 'UTC';
select pg_get_viewdef('v2');
select pg_get_viewdef('v2', true);
create table g (t timestamp, y numeric generated always as (extract(year from t)) stored,
  z timestamptz generated always as (t at time zone 'UTC') stored, check (extract(year from t) > 2000),
  check ((t at time zone 'UTC') > '2000-01-01'::timestamptz at time zone 'UTC' at time zone 'UTC'),
  x text default trim(' a ') check (position('q' in x) = 0));
create index on g (extract(year from t));
create index on g ((t at time zone 'UTC'));
create index on g (trim(x), (extract(year from t) + 1));
create index on g (x) where substring(x from 1 for 1) = 'a';
\d g
select indexdef from pg_indexes where tablename = 'g' order by indexname;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'g'::regclass order by 1;
insert into g (t) values ('2024-02-03') returning *;
create table pe (t timestamp) partition by range (extract(year from t));
create table pe1 partition of pe for values from (2000) to (2010);
create table pt (t timestamp) partition by range ((t at time zone 'UTC'));
\d+ pe
\d+ pe1
\d+ pt
insert into pe values ('2005-06-07');
insert into pe values ('2015-06-07');
alter table pe rename t to renamed;
select pg_get_partkeydef('pe'::regclass);
explain (costs off) select * from pe where extract(year from renamed) = 2005;
explain (costs off) select * from pe where "extract"('year', renamed) = 2015;
select extract(year from date '2020-01-01'), trim(' a '), position('a' in 'ba'), overlay('abc' placing 'x' from 2);
drop view v, v2;
drop table s, g, pe, pt;
