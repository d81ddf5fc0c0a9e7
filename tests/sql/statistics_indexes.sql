-- ANALYZE of what indexes compute: the index itself has the statistics.
create table s (a int, b text, c int);
insert into s select g, 'B' || g % 5, g % 50 from generate_series(1, 400) g;
create index s_lower on s (lower(b));
create index s_two on s (c, (a % 3), (b || 'x'));
create index s_part on s ((a * 2)) where c < 10;
create index s_plain on s (a) where b = 'B1';
create unique index s_nulls on s (nullif(a, 7)) include (c);
analyze s;
select tablename, attname, inherited, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, correlation
from pg_stats where tablename like 's\_%' order by 1, 2;
select tablename, attname, array_length(histogram_bounds, 1), (histogram_bounds::text::int[])[1:3] from pg_stats
where tablename in ('s_part', 's_nulls') order by 1, 2;
select relname, reltuples from pg_class where relname like 's\_%' order by 1;
select c.relname, staattnum, stakind1, staop1, stakind2, staop2 from pg_statistic join pg_class c on c.oid = starelid
where c.relname like 's\_%' order by 1, 2;
-- How many values are kept.
alter index s_part alter column 1 set statistics 4;
alter index s_two alter column 1 set statistics 4;
alter index s_nulls alter column 2 set statistics 4;
alter index s_two alter column 4 set statistics 4;
alter index s_lower alter column lower set statistics 3;
select c.relname, attname, coalesce(attstattarget, -1) from pg_attribute join pg_class c on c.oid = attrelid
where c.relname in ('s_part', 's_lower') order by 1;
analyze s;
select tablename, most_common_vals, histogram_bounds from pg_stats where tablename in ('s_part', 's_lower') order by 1;
-- Named columns leave indexes as they are.
delete from s where a > 30;
analyze s (a);
select tablename, n_distinct from pg_stats where tablename in ('s', 's_lower') and attname in ('a', 'b', 'lower') order by 1, 2;
drop index s_two;
select count(*) from pg_stats where tablename = 's_two';
drop table s;
