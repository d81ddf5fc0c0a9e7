-- CREATE STATISTICS on expressions, alone and beside columns.
-- PostgreSQL 15 differs: a statistics object has a name made up for it only since 16.
create table t (a int, b int, c text, x xid, d int[]);
insert into t select g % 10, g % 5, 'x' || g % 7, null, array[g % 3, g % 4] from generate_series(1, 1000) g;
create statistics on (a + b) from t;
create statistics s2 on (a + b), c from t;
create statistics s3 on (a + b), lower(c), a from t;
create statistics s4 (mcv) on (a + b), a from t;
create statistics s5 on (d || a) from t;
create statistics s6 on (a), b from t;
select stxname, stxkeys, stxkind, stxexprs is null as plain from pg_statistic_ext order by 1;
select pg_get_statisticsobjdef(oid), pg_get_statisticsobjdef_columns(oid), pg_get_statisticsobjdef_expressions(oid)
from pg_statistic_ext order by stxname;
analyze t;
select statistics_name, attnames, exprs, kinds, n_distinct, dependencies from pg_stats_ext order by 1;
select statistics_name, array_dims(most_common_vals) from pg_stats_ext order by 1;
select statistics_name, most_common_vals from pg_stats_ext where statistics_name = 's4';
select statistics_name, expr, inherited, null_frac, avg_width, n_distinct,
    (select array_agg(v order by v) from unnest(most_common_vals::text::text[]) v) as vals, cardinality(most_common_freqs) as freqs,
    histogram_bounds, round(correlation::numeric, 4) as correlation
from pg_stats_ext_exprs where statistics_name <> 's5' order by 1, 2;
select expr, n_distinct, array_dims(most_common_elem_freqs) from pg_stats_ext_exprs where statistics_name = 's5';
-- Refused.
create statistics e (ndistinct) on (a + b) from t;
create statistics e on (a) from t;
create statistics e on (a + b), (a + b) from t;
create statistics e on (count(a)) from t;
create statistics e on ((select 1)) from t;
create statistics e on (generate_series(1, a)) from t;
create statistics e on (ctid) from t;
create statistics e on (tableoid), a from t;
create statistics e on (ctid::text) from t;
create statistics e on (nope + 1) from t;
create statistics e on (coalesce(x, x)), a from t;
create statistics e on (a + b), (a - b), (a * b), (a + 1), (a + 2), (a + 3), (a + 4), (a + 5), (a + 6) from t;
create table v (a int, b int generated always as (a + 1) virtual);
create statistics e on (b * 2) from v;
drop table v;
-- They follow their columns.
alter table t rename b to "B b";
select pg_get_statisticsobjdef(oid) from pg_statistic_ext order by stxname;
alter table t alter a type bigint;
select pg_get_statisticsobjdef(oid), exists (select from pg_stats_ext where statistics_name = stxname) as found
from pg_statistic_ext order by stxname;
analyze t;
select expr, n_distinct, pg_typeof(most_common_vals::text) from pg_stats_ext_exprs order by 1, statistics_name;
create table l (like t including statistics);
select pg_get_statisticsobjdef(oid) from pg_statistic_ext where stxrelid = 'l'::regclass order by stxname;
alter table t drop "B b";
select pg_get_statisticsobjdef(oid) from pg_statistic_ext where stxrelid = 't'::regclass order by stxname;
drop table t, l;
-- Of the rows of what inherits, too; of a partitioned table.
create table p (a int, b int) partition by range (a);
create table p1 partition of p for values from (0) to (50);
create table p2 partition of p for values from (50) to (100);
create statistics p_s on (a % 4) from p;
insert into p select g % 100, g from generate_series(1, 1000) g;
analyze p;
select expr, inherited, n_distinct from pg_stats_ext_exprs;
drop table p;
-- Conditions are estimated by them: 50 rows by default, each looked up, then a seventh of the table.
create table f (k int, v int);
create table g (id int primary key, w int);
insert into f select g, g from generate_series(1, 10000) g;
insert into g select g, g from generate_series(1, 30000) g;
analyze f;
analyze g;
set enable_mergejoin to off;
explain (costs off) select * from f join g on g.id = f.v where f.k % 7 = 3;
create statistics f_s on (k % 7) from f;
analyze f;
explain (costs off) select * from f join g on g.id = f.v where f.k % 7 = 3;
drop table f, g;
-- Functions of any volatility: what they gave when the table was analyzed.
CREATE TABLE ticks (a int, at timestamptz);
INSERT INTO ticks SELECT i % 5, '2020-01-01 00:00+00'::timestamptz + i * interval '1 hour' FROM generate_series(1, 500) AS i;
CREATE STATISTICS ticks_age ON (now() - at) FROM ticks;
CREATE STATISTICS ticks_random ON a, (a + random()) FROM ticks;
CREATE STATISTICS ticks_day ON (date_trunc('day', at)), a FROM ticks;
ANALYZE ticks;
SELECT statistics_name, expr, n_distinct FROM pg_stats_ext_exprs WHERE tablename = 'ticks' ORDER BY 1;
DROP TABLE ticks;
