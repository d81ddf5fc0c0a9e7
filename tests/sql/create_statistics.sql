-- CREATE STATISTICS on columns, what is said of it, and what ANALYZE finds.
-- PostgreSQL 15 differs: a statistics object has a name made up for it only since 16.
create table s (a int, b int, c text, d int, x xid);
insert into s select g % 10, g % 5, case when g % 10 < 2 then null else 'c' || g % 20 end, g from generate_series(1, 1000) g;
create statistics s_all on a, b, c from s;
create statistics s_dist (ndistinct) on d, a from s;
create statistics public.s_some (mcv, dependencies) on b, a from s;
create statistics on c, a from s;
create statistics on c, a from s;
select stxname, stxrelid::regclass, stxnamespace::regnamespace, stxkeys, stxkind, stxexprs is null as plain, pg_get_statisticsobjdef(oid),
    pg_get_statisticsobjdef_columns(oid)
from pg_statistic_ext order by stxname;
select statistics_name, attnames, kinds, inherited, n_distinct, dependencies, most_common_freqs from pg_stats_ext where tablename = 's' order by 1;
analyze s;
select schemaname, tablename, statistics_schemaname, statistics_name, attnames, exprs, kinds, inherited, n_distinct, dependencies
from pg_stats_ext where tablename = 's' order by statistics_name;
select statistics_name, n.v, f.v as freq, round(bf.v::numeric, 8) as base
from pg_stats_ext, unnest(most_common_freqs) with ordinality f(v, at), unnest(most_common_base_freqs) with ordinality bf(v, at),
    unnest(most_common_vals) with ordinality n(v, at)
where tablename = 's' and statistics_name in ('s_some', 's_all') and f.at = bf.at and n.at = f.at order by 1, 2;
select statistics_name, array_dims(most_common_vals), array_dims(most_common_val_nulls), array_dims(most_common_freqs)
from pg_stats_ext where tablename = 's' order by 1;
comment on statistics s_all is 'all of them';
select stxname, obj_description(oid, 'pg_statistic_ext') from pg_statistic_ext order by 1 limit 1;
-- Refused.
create statistics s_all on a, b from s;
create statistics if not exists s_all on a, b from s;
create statistics bad on a from s;
create statistics bad on a, a from s;
create statistics bad on a, nope from s;
create statistics bad on a, ctid from s;
create statistics bad on a, x from s;
create statistics bad (nope) on a, b from s;
create statistics bad on a, b from s, s as t;
create statistics bad on a, b from nope;
create statistics nope.bad on a, b from s;
create statistics bad on relname, relkind from pg_class;
create table many (a int, b int, c int, d int, e int, f int, g int, h int, i int);
create statistics bad on a, b, c, d, e, f, g, h, i from many;
create view v as select * from s;
create statistics bad on a, b from v;
comment on statistics nope is 'x';
drop statistics nope;
drop statistics if exists nope;
drop statistics s_some, s_dist;
select stxname from pg_statistic_ext order by 1;
create table t (z int, like s including statistics including comments);
create table u (like s including all);
create table w (like s);
select stxname, stxrelid::regclass, stxkeys, stxkind, obj_description(oid, 'pg_statistic_ext') from pg_statistic_ext order by stxname;
drop table t, u, w;
-- They go with their columns and their table; another type takes what was found.
drop view v;
alter table s alter a type bigint;
select statistics_name, inherited, n_distinct from pg_stats_ext order by 1;
alter table s drop column b;
select stxname, stxkeys from pg_statistic_ext order by 1;
drop table s, many;
select count(*) from pg_statistic_ext;
-- Of the rows of what inherits, too; of a partitioned table.
create table p (a int, b int);
create table q () inherits (p);
create statistics p_ab on a, b from p;
insert into p select g, g % 3 from generate_series(1, 12) g;
insert into q select g % 4, g % 2 from generate_series(1, 12) g;
analyze p;
select statistics_name, inherited, n_distinct, dependencies from pg_stats_ext order by 1, 2;
drop table p cascade;
-- One without a name is where its table is, one with a name where the search path says.
create schema one;
create table one.p (a int, b int);
create statistics on a, b from one.p;
create statistics named on a, b from one.p;
set search_path = nope;
create statistics other on a, b from one.p;
reset search_path;
select stxname, stxnamespace::regnamespace from pg_statistic_ext order by stxname;
drop schema one cascade;
create table p (a int, b int) partition by list (a);
create table p1 partition of p for values in (1, 2);
create table p2 partition of p default;
create statistics p_ab on a, b from p;
insert into p select g % 4, g % 2 from generate_series(1, 12) g;
analyze p;
select statistics_name, inherited, n_distinct, dependencies from pg_stats_ext order by 1, 2;
drop table p;
