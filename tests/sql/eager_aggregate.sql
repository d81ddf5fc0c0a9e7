-- Aggregates of joined rows, where rows may be aggregated before they are joined: the answers are
-- those of aggregating the joined rows.
create table facts (id int, k int, m int, n numeric(10,2), q numeric, t text, c char(4), d date, f float8);
insert into facts
  select i, case when i % 17 > 0 then i % 40 end, i % 6,
    case when i % 19 > 0 then (i % 200) / 4.0 end, (i % 5)::numeric,
    case when i % 23 > 0 then 't' || i % 7 end, 'c' || i % 3, date '2024-01-01' + i % 30, (i % 8) / 8.0
  from generate_series(1, 6000) as i;
-- Keys that are there several times, not at all, and NULL.
create table names (id int, g text, w int);
insert into names select case when i % 11 > 0 then i % 45 end, 'g' || i % 4, i % 3 from generate_series(1, 90) as i;
create table kinds (m int, h int);
insert into kinds select i % 5, i % 3 from generate_series(1, 12) as i;
analyze facts;
analyze names;
analyze kinds;

-- One join.
select g, count(*), count(n), sum(n), avg(n), min(n), max(n) from facts join names on k = names.id group by g order by g;
select g, sum(m), avg(m), sum(facts.id), avg(facts.id::bigint), sum(facts.id::bigint) from facts join names on k = names.id group by g order by g;
select count(*), sum(n), max(t) from facts join names on k = names.id;
select count(*), sum(n), max(t) from facts join names on k = names.id where g = 'none';
select g, count(*) from facts join names on k = names.id where g = 'none' group by g;
select g, count(*) from facts join names on k = names.id where facts.id < 0 group by g;
select count(*) from facts, kinds where facts.id < 0;
select h, count(*) from facts, kinds where facts.id < 0 group by h;
select h, count(*), sum(facts.m) from facts, kinds group by h order by h;
select g, min(t), max(t), min(d), max(d), bool_and(n > 3), bool_or(n is null), every(m < 5) from facts join names on k = names.id group by g order by g;
select g, bit_and(m), bit_or(m), bit_xor(facts.id), stddev(m), var_pop(n), variance(m) from facts join names on k = names.id group by g order by g;
select g, k, count(*) from facts join names on k = names.id group by g, k order by g, k;
select g, sum(w), count(*) from facts join names on k = names.id group by g order by g;
select g, m, sum(n) from facts join names on k = names.id group by g, m having sum(n) > 9000 order by g, m;
select g, sum(n) from facts join names on k = names.id group by g having count(*) > 2200 and max(g) > 'g0' order by sum(n) desc;

-- Conditions that look at more of a row.
select g, sum(n) from facts join names on k = names.id and m > w group by g order by g;
select g, sum(n) from facts join names on k = names.id where (m = 1 and w = 0) or (m = 2 and w = 1) group by g order by g;
select g, count(*) from facts join names on k = names.id and coalesce(t, 'x') <> g group by g order by g;
select g, count(*) from facts join names on q = names.id group by g order by g;
select w, q, count(*) from facts join names on k = names.id group by w, q order by w, q;
select g, c, count(*), min(c) from facts join names on k = names.id group by g, c order by g, c;
select g, extract(day from d) % 2 as odd, count(*) from facts join names on k = names.id group by g, odd order by g, odd;
select g || m, sum(n) from facts join names on k = names.id group by g || m order by 1 limit 5;

-- Calls with conditions and expressions.
select g, count(*) filter (where n > 20), sum(n * m - 1) filter (where t is not null) from facts join names on k = names.id group by g order by g;
select g, sum(case when m = 1 then n else 0 end), sum(coalesce(n, 1)), count(nullif(m, 1)) from facts join names on k = names.id group by g order by g;
select g, sum(case when m = 1 then n else 0 end), sum(coalesce(n, 1)), sum(case m when 2 then 3::bigint when 3 then 4 end) from facts join names on k = names.id group by g order by g;
select g, sum(n) filter (where w = 1), sum(n + w) from facts join names on k = names.id group by g order by g;
select g, count(distinct m), string_agg(distinct t, ',' order by t), sum(f) from facts join names on k = names.id group by g order by g;
select g, min(q), max(q), sum(q) from facts join names on k = names.id group by g order by g;
-- Values that meet no row are not asked.
select g, sum(100 / (k - 44)) from facts join names on k = names.id group by g order by g;
select g, sum(6 / (m - 5)) from facts join kinds using (m) join names on k = names.id group by g order by g;

-- Numerics of several scales: equal, and not the same.
create table scaled (n numeric, v int);
insert into scaled select case i % 3 when 0 then 1.0 when 1 then 1.00 else 2.5 end, i from generate_series(1, 3000) as i;
create table scales (n numeric, s text);
insert into scales values (1.000, 'a'), (1, 'b'), (2.50, 'c'), (2.5, 'd');
analyze scaled;
analyze scales;
select s, count(*), sum(v), max(scaled.n) from scaled join scales using (n) group by s order by s;
select s, count(*) from scaled join scales on scaled.n = scales.n and scale(scaled.n) = scale(scales.n) group by s order by s;
select s, count(*) from scaled join scales on scaled.n::text = scales.n::text group by s order by s;
select s, count(*) from scaled join scales using (n) where scale(scaled.n) <> length(s) group by s order by s;
create table zeros (f float8, v int);
insert into zeros select case i % 2 when 0 then '-0'::float8 else 0 end, i from generate_series(1, 2000) as i;
create table signs (f float8, s text);
insert into signs values ('-0', 'minus'), (0, 'plus');
analyze zeros;
analyze signs;
select s, count(*) from zeros join signs using (f) where zeros.f::text = signs.f::text group by s order by s;

-- Outer joins: rows of the side that is kept, and of the one that is padded.
select g, count(*), count(n), sum(n), max(t) from facts left join names on k = names.id group by g order by g;
select g, count(*), count(m), sum(n), min(d) from names left join facts on k = names.id group by g order by g;
select g, count(*), sum(coalesce(m, 100)) from names left join facts on k = names.id and n > 49 group by g order by g;
select g, h, count(*), sum(n) from facts left join names on k = names.id left join kinds using (m) group by g, h order by g, h;
select g, h, count(*), sum(n) from facts left join (names join kinds on w = m) on k = names.id group by g, h order by g, h;
select h, count(*), sum(n), sum(case when g is null then 1 else 0 end) from facts left join names on k = names.id join kinds using (m) group by h order by h;
select g, count(*), sum(n) from facts full join names on k = names.id group by g order by g;
select g, h, count(*), sum(n) from facts full join names on k = names.id left join kinds using (m) group by g, h order by g, h;
select g, count(*), sum(n) from names right join facts on k = names.id and w = 1 group by g order by g;

-- Rows that meet others, or none.
select m, count(*), sum(n) from facts where exists (select from names where id = k) group by m order by m;
select m, count(*), sum(n) from facts where not exists (select from names where id = k and w = 2) group by m order by m;
select h, count(*), sum(n) from facts join kinds using (m) where k in (select id from names where g = 'g1') group by h order by h;

-- Several levels of joins.
select g, h, sum(n), count(*) from facts join names on k = names.id join kinds using (m) group by g, h order by g, h;
select g, sum(n * h) from facts join names on k = names.id join kinds using (m) group by g order by g;
select a.g, b.g, count(*), sum(n) from facts join names a on k = a.id join names b on k = b.id where a.w <> b.w group by a.g, b.g order by 1, 2;
select h, sum(s), max(c) from (select g, m, sum(n) as s, count(*) as c from facts join names on k = names.id group by g, m) as x join kinds using (m) group by h order by h;
select g, (select count(*) from facts join kinds using (m) where k = w) from names group by g, w order by g, w;
select g, rank() over (order by sum(n) desc), sum(sum(m)) over (order by g) from facts join names on k = names.id group by g order by g;
select distinct count(*) from facts join names on k = names.id group by g order by 1;
select g, count(*) from facts join names on k = names.id group by rollup (g) order by g;
prepare sums(int, text) as select g, sum(n), count(*) from facts join names on k = names.id where m <> $1 and g > $2 group by g order by g;
execute sums(1, 'g1');
execute sums(99, '');
execute sums(null, 'g1');
-- Sums that a bigint does not hold.
create table large (k int, v bigint);
insert into large select i % 3, 9223372036854775807 - i from generate_series(1, 900) as i;
analyze large;
select w, sum(v), avg(v) from large join names on k = names.id group by w order by w;
