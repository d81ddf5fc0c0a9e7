-- ANALYZE of arrays: of the values, and of their elements.
create table s (i int[], t text[], d date[], n numeric[], empty int[], x xid[]);
insert into s select
    case when g % 10 = 0 then null when g % 10 = 1 then '{}' else array[g % 3, g % 5, g % 7, case when g % 4 = 0 then null else g % 3 end] end,
    (select array_agg('t' || v % 11) from generate_series(1, g % 6) v),
    array['2020-01-01'::date + g % 4], array[(g % 3)::numeric, 1.5], '{}', array[(g % 2)::text::xid]
from generate_series(1, 500) g;
analyze s;
select attname, null_frac, avg_width, n_distinct, correlation, (most_common_vals::text::text[])[1:4] as common, (most_common_freqs)[1:4],
    array_length(histogram_bounds, 1) as bounds
from pg_stats where tablename = 's' order by attname;
select attname, most_common_elems, most_common_elem_freqs from pg_stats where tablename = 's' order by attname;
select attname, elem_count_histogram[1:5] as first, elem_count_histogram[97:] as last, array_length(elem_count_histogram, 1) as n
from pg_stats where tablename = 's' order by attname;
select attname, stakind1, stakind2, stakind3, stakind4, stakind5, staop1, staop2, staop3, staop4, staop5, stacoll1 <> 0 as collated
from pg_statistic join pg_attribute on attrelid = starelid and attnum = staattnum where starelid = 's'::regclass order by attname;
set default_statistics_target = 3;
analyze s;
select attname, most_common_elems, elem_count_histogram from pg_stats where tablename = 's' and attname in ('i', 't') order by attname;
-- What arrays take.
select pg_column_size(array[1, 2, 3]), pg_column_size(array['a', 'bcd']), pg_column_size('{}'::int[]), pg_column_size(array[1, null]),
    pg_column_size(array[[1, 2], [3, 4]]), pg_column_size(array[1::int8]), pg_column_size(array[true]), pg_column_size('[2:3]={1,2}'::int2[]);
drop table s;
