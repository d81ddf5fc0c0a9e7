-- Merge joins of sides that come in the order of the keys by themselves.
create table big (id int primary key, x int, t text);
create table also (id int primary key, big_id int, y int);
create table many (a int, b int, c int, primary key (a, b));
create table more (a int, b int, d int, primary key (a, b));
insert into big select i, i % 100, 't' || i from generate_series(1, 20000) i;
insert into also select i * 2, 20001 - i, i % 7 from generate_series(1, 20000) i;
insert into many select i / 10, i % 10, i from generate_series(0, 9999) i;
insert into more select i / 5, i % 5, i from generate_series(0, 9999) i;
create index on also (big_id);
vacuum analyze big, also, many, more;
set max_parallel_workers_per_gather = 0;
-- By itself: both sides by their primary keys, as far as LIMIT needs them.
explain (costs off) select * from big join also using (id) order by id limit 10;
select * from big join also using (id) order by id limit 5;
explain (costs off) select * from big b join also a on a.id = b.id order by b.id limit 10;
explain (costs off) select * from big b left join also a on a.id = b.id order by b.id limit 10;
set enable_hashjoin = off;
set enable_nestloop = off;
-- What is in order is not sorted; what is not is.
explain (costs off) select count(*) from big join also using (id);
explain (costs off) select count(*) from big b join also a on a.big_id = b.id;
explain (costs off) select max(b.x + a.y) from big b join also a on a.y = b.x;
select count(*), sum(y), sum(x) from big join also using (id);
select count(*), sum(y), sum(x) from big b join also a on a.big_id = b.id;
-- Several keys.
explain (costs off) select count(c), count(d) from many join more using (a, b);
select count(*), sum(c), sum(d) from many join more using (a, b);
select count(*), sum(c), sum(d) from many join more on many.a = more.a and many.c = more.d;
-- The result is in the outer side's order, and inner joins' in the inner side's.
explain (costs off) select a.id, b.t from big b join also a on a.id = b.id order by a.id;
explain (costs off) select b.id, count(*) from big b join also a on a.id = b.id group by b.id;
explain (costs off) select distinct on (b.id) b.id, a.y from big b join also a on a.id = b.id order by b.id;
select count(*), sum(b.x), sum(c.y) from big b join also a on a.id = b.id join also c on c.big_id = a.id;
-- A row without a partner is not in the inner side's order.
select a.id, b.id from big b left join also a on a.id = b.id where b.id < 6 order by a.id, b.id;
select a.id, b.id from big b full join also a on a.id = b.id where b.id < 6 or a.id > 39996 order by a.id, b.id;
select count(*) from big b where not exists (select from also a where a.id = b.id);
select count(*) from big b where exists (select from also a where a.id = b.id and a.y > 3);
-- A sub-select's order.
set enable_hashagg = off;
explain (costs off) select count(b.n) from (select x, count(*) n from big group by x) b join also a on a.id = b.x;
select count(b.n), sum(b.n) from (select x, count(*) n from big group by x) b join also a on a.id = b.x;
reset enable_hashagg;
-- NULLs first, and a condition that leaves one value of the first key.
create table holes (k int, v int);
insert into holes select nullif(i % 50, 7), i from generate_series(1, 500) i;
create index holes_first on holes (k nulls first);
vacuum analyze holes;
set enable_seqscan = off;
set enable_sort = off;
select count(*), sum(v) from holes join big on big.id = k;
select count(*), count(id), sum(v) from holes left join big on big.id = k;
select k, v, id from holes left join big on big.id = k where v < 60 and v > 52 order by k, v;
select count(*), sum(d) from more join big on big.id = more.b where more.a = 77;
drop table big, also, many, more, holes;
