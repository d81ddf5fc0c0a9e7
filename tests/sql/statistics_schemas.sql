-- Statistics objects have schemas of their own.
create schema one;
create schema two;
create table t (a int, b int, c int);
create table one.t (a int, b int);
create statistics one.s on a, b from t;
create statistics s on a, b from t;
create statistics two.s (ndistinct) on a, b from one.t;
create statistics one.s on a, c from t;
create statistics if not exists one.s on a, c from t;
create statistics nope.s on a, c from t;
create statistics if not exists nope.s on a, c from t;
create statistics pg_catalog.s on a, b from t;
create view objects as select stxname, stxnamespace::regnamespace, stxrelid::regclass from pg_statistic_ext
    order by stxnamespace::regnamespace::text, stxname;
select stxname, stxnamespace::regnamespace, stxrelid::regclass, pg_get_statisticsobjdef(oid) from pg_statistic_ext
    order by stxnamespace::regnamespace::text, stxname;
-- By the search path.
set search_path = two, one, public;
create statistics made on b, c from public.t;
create view seen as select stxname, stxnamespace::regnamespace, pg_statistics_obj_is_visible(oid), pg_get_statisticsobjdef(oid),
    pg_describe_object('pg_statistic_ext'::regclass, oid, 0) from pg_statistic_ext order by stxnamespace::regnamespace::text, stxname;
select * from seen;
comment on statistics s is 'found first';
drop statistics s;
comment on statistics s is 'found then';
select stxname, stxnamespace::regnamespace, obj_description(oid, 'pg_statistic_ext') from pg_statistic_ext
    order by stxnamespace::regnamespace::text, stxname;
select pg_statistics_obj_is_visible(0);
-- What they depend on.
select pg_describe_object(classid, objid, objsubid), pg_describe_object(refclassid, refobjid, refobjsubid), deptype
    from pg_depend where classid = 'pg_statistic_ext'::regclass order by 1, 2;
-- SET SCHEMA and RENAME.
alter statistics one.s set schema two;
alter statistics s set schema two;
alter statistics s set schema nope;
alter statistics nope set schema two;
alter statistics nope.s set schema two;
alter statistics if exists nope set schema two;
alter statistics made set schema pg_temp;
alter statistics made set schema pg_catalog;
alter statistics pg_catalog.made set schema two;
alter statistics one.s rename to made;
alter statistics two.s rename to made;
alter statistics made set schema one;
alter statistics one.made set schema two;
alter statistics nope.s rename to made;
alter statistics nope.s set statistics 5;
alter statistics if exists nope.s set statistics 5;
alter statistics nope.s owner to current_user;
comment on statistics nope.s is 'x';
begin;
alter statistics one.made set schema public;
savepoint a;
alter statistics public.made set schema pg_catalog;
rollback to a;
select * from public.objects;
rollback;
-- They stay where they are when their table moves.
set search_path = public, one;
select * from objects;
alter table t set schema two;
select * from objects;
alter table one.t set schema public;
alter table two.t set schema one;
insert into t select g % 10, g % 5 from generate_series(1, 100) g;
analyze t;
create statistics one.of_t (ndistinct) on a, (b + 1) from t;
analyze t;
select schemaname, tablename, statistics_schemaname, statistics_name, n_distinct from pg_stats_ext order by 1, 2, 3, 4;
select schemaname, tablename, statistics_schemaname, statistics_name, expr, n_distinct from pg_stats_ext_exprs;
-- And go with their schema, their table or a column of it.
create statistics two."Odd name" on a, b from t;
drop schema two;
drop schema one;
drop schema two cascade;
select * from objects;
drop statistics s;
drop statistics s, s;
drop statistics nope.s;
drop statistics if exists nope.s, one.nope, one.of_t;
drop schema two, one cascade;
drop schema one cascade;
select * from objects;
create schema one;
create statistics one.q on a, b from t;
create statistics one.r on a, b from t;
drop schema one;
alter table t drop column b;
drop schema one;
drop table t;
-- Both its schema and its table go.
create schema one;
create schema two;
create table one.t (a int, b int);
create table one.p (a int, b int) partition by list (a);
create table two.p1 partition of one.p default;
create table u (a int, b int) partition by list (a);
create table one.u1 partition of u default;
create statistics one.q on a, b from one.t;
create statistics two.q on a, b from one.t;
create statistics two.p on a, b from one.p;
create statistics one.p1 on a, b from two.p1;
create statistics one.u on a, b from u;
drop schema one;
drop schema two;
drop schema one, two;
begin;
drop schema one, two cascade;
select * from objects;
rollback;
drop schema one cascade;
select * from objects;
drop schema two cascade;
select * from objects;
-- Temporary ones are never found by their names alone.
create temp table t (a int, b int);
create statistics pg_temp.s on a, b from t;
create statistics here on a, b from t;
drop statistics s;
alter statistics pg_temp.s set schema public;
drop statistics pg_temp.s, here;
drop table t, u;
drop statistics pg_catalog.s;
select count(*) from pg_statistic_ext;
