-- Names of what is there but out of reach.
-- PostgreSQL 15 differs: it has a hint for what is a detail since 16
CREATE TABLE a (x integer, name text, grp integer);
CREATE TABLE b (x integer, title text, grp integer);
select ctid from a join b on true;
select other.a.x from a;
select * from a, (select a.x) s;
select * from a, (select name) s;
select * from a left join (select a.x) s on true;
select * from a, b left join (select 1 as y) c on a.x = c.y;
insert into a values (x);
update a q set a.x = 1;
delete from a q where a.x = 1;
update a set a.x = 1;
select date '2020-13-01';
select a.ctid from a join b on true;
select ctid from a join b using (x);
select cmax from a q, b;
select * from a join lateral (select b.x) s on true, b;
select * from a full join lateral (select name) s on true;
select * from a, b where exists (select 1 from b b2 join (select a.x) s on true);
select * from a, (select 1 from b where b.x = grp and a.x = 1) s;
select * from (a join b on a.x = b.x) j where a.x = 1;
select * from (a join b on a.x = b.x) j where name = 'x' and titl = 'y';
select * from (a join b using (x)) where a.titel = 'x';
insert into a (x) select 1 from b returning title;
delete from a using b q where b.x = 1;
update a set x = (select b.x);
with a2 as (select * from a) select a.x from a2;
