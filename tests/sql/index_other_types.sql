-- An index is searched by values of other types of its operator family, and what constants decide
-- is never reached.
create table moments (id int, d date, ts timestamp, f real, g double precision);
insert into moments
  select i, date '2020-01-01' + i / 10, timestamp '2020-01-01' + i * interval '1 hour', i / 8.0, i / 8.0
  from generate_series(1, 5000) i;
insert into moments values (-1, 'infinity', 'infinity', 'NaN', 'Infinity'), (-2, '-infinity', '-infinity', '-Infinity', 'NaN'), (-3, null, null, null, null);
create index on moments (d);
create index on moments (ts);
create index on moments (f);
create index on moments (g);
analyze moments;
set enable_seqscan = off;
set enable_bitmapscan = off;

explain (costs off) select * from moments where d >= timestamp '2020-03-01 12:00' and d < timestamp '2020-03-03';
explain (costs off) select * from moments where date '2020-03-01' <= ts and ts < date '2020-03-01' + interval '1 day';
explain (costs off) select * from moments where f > 100.1::float8 and f < 100.6::float8;
explain (costs off) select * from moments where g = 100.5::float4;

-- between days, at midnight, beyond all
select count(*), min(id), max(id) from moments where d < timestamp '2020-03-01 12:00';
select count(*), min(id), max(id) from moments where d <= timestamp '2020-03-01 12:00';
select count(*), min(id), max(id) from moments where d > timestamp '2020-03-01 12:00';
select count(*), min(id), max(id) from moments where d >= timestamp '2020-03-01 12:00';
select count(*), min(id), max(id) from moments where d = timestamp '2020-03-01 12:00';
select count(*), min(id), max(id) from moments where d < timestamp '2020-03-01';
select count(*), min(id), max(id) from moments where d <= timestamp '2020-03-01';
select count(*), min(id), max(id) from moments where d > timestamp '2020-03-01';
select count(*), min(id), max(id) from moments where d >= timestamp '2020-03-01';
select count(*), min(id), max(id) from moments where d = timestamp '2020-03-01';
select count(*), min(id), max(id) from moments where timestamp 'infinity' <= d;
select count(*), min(id), max(id) from moments where timestamp '-infinity' >= d;
select count(*), min(id), max(id) from moments where d < timestamp 'infinity' and d > timestamp '-infinity';
select count(*), min(id), max(id) from moments where d > null::timestamp;
select count(*), min(id), max(id) from moments where ts >= date '2020-03-01' and ts < date '2020-03-02';
select count(*), min(id), max(id) from moments where ts = date '2020-03-01';
select count(*), min(id), max(id) from moments where ts < date '5874897-12-31';
select count(*), min(id), max(id) from moments where ts <= date '5874897-12-31';
select count(*), min(id), max(id) from moments where ts >= date '5874897-12-31';
select count(*), min(id), max(id) from moments where ts = date '5874897-12-31';
select count(*), min(id), max(id) from moments where ts >= date 'infinity';
select count(*), min(id), max(id) from moments where f > 100.1::float8 and f < 100.6::float8;
select count(*), min(id), max(id) from moments where f = 100.125::float8;
select count(*), min(id), max(id) from moments where f = 100.1::float8;
select count(*), min(id), max(id) from moments where f >= 'NaN'::float8;
select count(*), min(id), max(id) from moments where g < '-Infinity'::float4 or g = 'Infinity'::float4;
select count(*), min(id), max(id) from moments where g <= -0.0::float4;
reset enable_seqscan;
reset enable_bitmapscan;

-- a constant beside a sub-select decides first
create table none (a int);
select 1 from none where exists (select 2 from none where greatest(0, 2147483647 + 1) = 1) and 0 = 2;
select 1 where exists (select 2 from none where greatest(0, 2147483647 + 1) = 1) and 0 = 2;
select 1 where 0 = 0 or exists (select 2 from none where greatest(0, 2147483647 + 1) = 1);
select 1 where exists (select 2 from none where greatest(0, 2147483647 + 1) = 1) or 0 = 0;
select exists (select 2 from none where 2147483647 + 1 = 1) and 0 = 2;
select 1 where exists (select 2 from none where greatest(0, 2147483647 + 1) = 1) and 0 = 0;

create table few (a int, b int);
insert into few values (1, 2), (3, 4);
select count(*) from (select 1 as c, b from few) x join few y on 0 > x.c and x.b in ((array[0, 1])[2], 2147483647 + 1);
select count(*) from few x join few y on 0 = 1 and x.b in ((array[0, 1])[2], 2147483647 + 1);

-- conditions beside an OR are no bitmap of its own
create table parts (k int, q int, s text);
insert into parts select i % 1000, i % 50, 's' || i % 3 from generate_series(1, 20000) i;
create index on parts (k);
analyze parts;
explain (costs off) select * from parts where k = 7 and (q < 5 and s = 's1' or q > 40 and s = 's2');
drop table moments, none, few, parts;
