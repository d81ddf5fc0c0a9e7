-- What ANALYZE finds of columns: pg_stats and pg_statistic, of tables that are read whole.
create table s (
    id int primary key,
    small smallint,
    big bigint,
    t text,
    v varchar(20),
    c char(6),
    n numeric,
    f float8,
    b bool,
    d date,
    ts timestamptz,
    u uuid,
    bin bytea,
    nulls int,
    one int,
    wide text,
    few text,
    x xid,
    j pg_snapshot,
    na name,
    iv interval,
    unseen int
);
insert into s select g, g % 300, g / 3, 't' || g % 90, case when g % 4 = 0 then null else 'v' || g % 40 end,
    'c' || g % 12, (g % 15)::numeric / 7, case when g % 9 = 0 then 'NaN' else g::float8 / 3 end, g % 3 = 0,
    '2020-01-01'::date + g % 25, '2021-05-01 00:00:00+00'::timestamptz + g * interval '1 hour',
    ('00000000-0000-0000-0000-' || lpad((g % 21)::text, 12, '0'))::uuid, decode(lpad((g % 7)::text, 4, '0'), 'hex'),
    null, 1, case when g % 2 = 0 then repeat('x', 1100) else 'w' || g % 60 end,
    case when g % 50 = 1 then repeat('y', 1020 + g % 3) else 'few' end, (g % 5)::text::xid, '10:20:', 'n' || g % 3,
    g % 11 * interval '1 day', case when g < 997 then null else g end
from generate_series(1, 1000) g;
set timezone = 'UTC';
select count(*) from pg_stats where tablename = 's';
analyze s;
select attname, inherited, null_frac, case when attname <> 'j' then avg_width end as width, n_distinct, correlation from pg_stats where tablename = 's' order by attname;
select attname, most_common_vals, most_common_freqs from pg_stats where tablename = 's' and attname not in ('wide', 'few') order by attname;
select attname, array_length(most_common_freqs, 1), most_common_freqs from pg_stats where tablename = 's' and attname in ('wide', 'few') order by attname;
select attname, histogram_bounds from pg_stats where tablename = 's' order by attname;
-- Values are shown as the session has it.
set timezone = 'Asia/Tokyo';
set datestyle = 'SQL, DMY';
select attname, (most_common_vals::text::text[])[1:2], (histogram_bounds::text::text[])[1:2] from pg_stats
where tablename = 's' and attname in ('d', 'ts') order by attname;
reset timezone;
reset datestyle;
select pg_typeof(most_common_vals), pg_typeof(histogram_bounds), pg_typeof(most_common_freqs), array_length(histogram_bounds, 1)
from pg_stats where tablename = 's' and attname = 'id';
select attname, staattnum, stainherit, stakind1, stakind2, stakind3, stakind4, staop1, staop2, staop3, staop4,
    stacoll1 <> 0 as c1, stacoll2 <> 0 as c2, stacoll3 <> 0 as c3,
    stanumbers2, stanumbers3, stavalues1 is null as v1, stavalues2 is null as v2, stavalues3 is null as v3
from pg_statistic join pg_attribute on attrelid = starelid and attnum = staattnum
where starelid = 's'::regclass order by staattnum;

-- So many values are kept of each.
alter table s alter t set statistics 5, alter id set statistics 3, alter u set statistics 0, alter big set (n_distinct = -0.5);
select attname, coalesce(attstattarget, -1) from pg_attribute where attrelid = 's'::regclass and attname in ('id', 't', 'u', 'v') order by 1;
set default_statistics_target = 4;
delete from s where id > 900;
analyze s;
select attname, n_distinct, most_common_vals, histogram_bounds from pg_stats
where tablename = 's' and attname not in ('wide', 'few') order by attname;
alter table s alter t set statistics -1, alter id set statistics -1, alter big reset (n_distinct);
alter table s alter t set statistics 10001;
alter table s alter t set statistics -2;
select attname, coalesce(attstattarget, -1) from pg_attribute where attrelid = 's'::regclass and attname in ('id', 't') order by 1;
-- Only the columns that are named.
delete from s where id > 100;
analyze s (id, b);
select attname, n_distinct, array_length(histogram_bounds, 1), null_frac from pg_stats
where tablename = 's' and attname in ('id', 'b', 'big', 'small') order by attname;
select reltuples from pg_class where relname = 's';
-- A column that has another type, or is gone, has none; an empty table keeps what was known.
alter table s alter small type int, drop column big, add column later int default 3;
select attname from pg_stats where tablename = 's' and attname in ('small', 'big', 'id', 'later') order by attname;
delete from s;
analyze s;
select attname, n_distinct from pg_stats where tablename = 's' and attname in ('id', 'b') order by attname;
select reltuples from pg_class where relname = 's';
reset default_statistics_target;
drop table s;

-- Of a table's rows, and of those of all that inherits from it.
create table parent (a int, b text);
create table child (extra int, c int) inherits (parent);
create table grandchild (d int) inherits (child);
insert into parent select g, 'p' from generate_series(1, 10) g;
insert into child (a, b, extra) select g, 'c' || g % 3, g from generate_series(101, 130) g;
insert into grandchild (a, b, d) select g, 'p', g from generate_series(201, 210) g;
analyze parent, child, grandchild;
select tablename, attname, inherited, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, correlation
from pg_stats where tablename in ('parent', 'child', 'grandchild') order by 1, 2, 3;
select tablename, attname, inherited, histogram_bounds from pg_stats
where tablename in ('parent', 'child', 'grandchild') and attname = 'a' order by 1, 2, 3;
alter table parent alter a set (n_distinct = 7, n_distinct_inherited = -0.25);
analyze parent, child, grandchild;
select attname, inherited, n_distinct from pg_stats where tablename = 'parent' order by 1, 2;
select relname, reltuples from pg_class where relname in ('parent', 'child') order by 1;
drop table parent cascade;
create table parted (a int, b text) partition by range (a);
create table parted1 partition of parted for values from (0) to (100);
create table parted2 (b text, gone int, a int);
alter table parted2 drop column gone;
alter table parted attach partition parted2 for values from (100) to (200);
insert into parted select g, 'b' || g % 5 from generate_series(0, 149) g;
analyze parted;
select tablename, attname, inherited, n_distinct, most_common_vals, correlation from pg_stats
where tablename like 'parted%' order by 1, 2;
drop table parted;
