-- COLLATE in expressions: which of them an expression has, and what that decides.
-- PostgreSQL 15 differs: it has no collation pg_c_utf8, and its database sorts by another provider.
create table words (d text, c text collate "C", p text collate "POSIX", u text collate pg_c_utf8, n name);
insert into words values ('b', 'B', 'a', 'A', 'x'), ('É', 'é', 'Z', 'z', 'y');
select d from words order by d collate "C";
select d < 'c' collate "C", d collate "C" < c, c < p collate "POSIX" from words order by d;
select d collate pg_c_utf8 || 'x' from words order by d;
-- Two that COLLATE names.
select 'a' collate "C" < 'b' collate "POSIX";
select d collate "C" || (c collate "POSIX") from words;
select coalesce(d collate "C", c collate "POSIX") < 'x' from words;
select ('a' collate "C") collate "POSIX" < 'b';
select case when true then d collate "C" else c collate "POSIX" end = 'x' from words;
-- Two that columns have.
select c < p from words;
select c = p from words;
select c like p from words;
select c || p < 'x' from words;
select c || p < 'x' collate "C" from words order by d;
select d < c from words order by d;
select x.c < x.p from (select c, p from words) x;
-- What has no collation, or names none.
select 1 collate "C";
select now() collate "C";
select 'a' collate no_such;
select 'a' collate nowhere."C";
select 'a' collate "C" is null;
-- Case under the database's own collation.
select lower(d), upper(d), lower(u), initcap(d collate pg_c_utf8) from words order by d;
select d ilike 'é', u ilike 'Z' from words order by d;
select c ~ '^b', c ~ 'é' from words order by d;
select lower(n), n ~* 'X' from words order by d;
drop table words;

-- Views keep it.
create table kept(c text, d varchar(5) collate "C");
create view keeps as select c collate "C" as c, length(d) as l from kept where c collate "POSIX" > 'a' order by d || c collate "C";
select pg_get_viewdef('keeps');
select pg_get_viewdef('keeps', true);
drop view keeps;
drop table kept;
