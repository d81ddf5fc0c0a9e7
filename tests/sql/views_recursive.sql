-- RECURSIVE views, views that come back to themselves, and where a recursive query may name itself.
create recursive view counted (n) as
  values (1) union all select n + 1 from counted where n < 5;
select * from counted;
create or replace recursive view counted (n) as
  select 1 union all select n + 2 from counted where n < 9;
select * from counted;
drop view counted;
create recursive view "Of Two" ("A b", c) as
  select 1, 'x' union all select "A b" + 1, c || 'y' from "Of Two" where "A b" < 3;
table "Of Two";
drop view "Of Two";
create view one as select 1 as a;
create view two as select * from one;
create or replace view one as select * from two;
select * from one;
select * from two;
select * from two as t, two as u;
insert into one values (1);
update two set a = 1;
delete from one;
explain (costs off) select * from one;
create or replace view one as select 2 as a;
select * from two;
drop view one cascade;
create table numbers (n int);
insert into numbers values (1), (2), (3);
with recursive x(n) as (select 1 union all select n + 1 from x where n in (select * from x))
select * from x;
with recursive x(n) as (select 1 union all select (select n from x) from x) select * from x;
with recursive x(n) as (select 1 union all
  select x.n + 1 from x left join numbers y on x.n = y.n where x.n < 10) select count(*) from x;
with recursive x(n) as (select 1 union all
  select x.n + 1 from numbers y left join x on x.n = y.n where x.n < 10) select * from x;
with recursive x(n) as (select 1 union all
  select x.n + 1 from x right join numbers y on x.n = y.n where x.n < 10) select * from x;
with recursive x(n) as (select 1 union all
  select x.n + 1 from x full join numbers y on x.n = y.n where x.n < 10) select * from x;
with recursive x(n) as (select 1 union all
  select a.n + 1 from x a, x b where a.n < 10) select * from x;
with recursive x(n) as (select 1 union all
  (select n + 1 from x where n < 10 intersect select 2)) select * from x;
with recursive x(n) as (select 1 union all
  (select n + 1 from x where n < 3 except select 9)) select * from x;
with recursive x(n) as (select 1 union all
  (select n from numbers except select n from x)) select * from x;
with recursive x(n) as (select 1 union all
  select s.n + 1 from (select * from x where n < 4) s) select * from x;
with recursive x(n) as (select 1 union all
  (select n + 1 from x where n < 10 intersect all select 2)) select * from x;
with recursive x(n) as (select 1 union all
  (select n + 1 from x where n < 10 except all select 2)) select * from x;
drop table numbers;
