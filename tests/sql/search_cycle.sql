-- SEARCH and CYCLE of recursive WITH queries.
-- PostgreSQL 15 differs: it prints a view's columns with their table's name.

create table arcs (f int, t int, label text);
insert into arcs values
    (1, 2, '1 to 2'), (1, 3, '1 to 3'), (2, 3, '2 to 3'), (1, 4, '1 to 4'), (4, 5, '4 to 5');

-- The order in which rows are found.
with recursive w (f, t, label) as (select * from arcs a union all select a.* from arcs a, w s where a.f = s.t)
    search depth first by f, t set seq
select * from w order by seq;
with recursive w (f, t, label) as (select * from arcs a union distinct select a.* from arcs a, w s where a.f = s.t)
    search depth first by f, t set seq
select * from w order by seq;
with recursive w (f, t, label) as (select * from arcs a union all select a.* from arcs a, w s where a.f = s.t)
    search breadth first by f, t set seq
select * from w order by seq;
with recursive w (f, t, label) as (select * from arcs a union distinct select a.* from arcs a, w s where a.f = s.t)
    search breadth first by label, t set "A seq"
select * from w order by "A seq";
with recursive n as (select 1 as x union all select x + 1 from n) search depth first by x set y
select * from n limit 3;
with recursive n as (select 1 as x union all select x + 1 from n) search breadth first by x set y
select x, y, pg_typeof(y), y = row(0::bigint, 1) from n limit 3;

-- Rows on the way to themselves.
insert into arcs values (5, 1, '5 to 1');
with recursive w (f, t, label) as (select * from arcs a union all select a.* from arcs a, w s where a.f = s.t)
    cycle f, t set is_cycle using path
select * from w order by path;
with recursive w (f, t, label) as (select * from arcs a union distinct select a.* from arcs a, w s where a.f = s.t)
    cycle f, t set is_cycle to 'Y' default 'N' using path
select * from w order by path;
with recursive n as (select 1 as b union all select * from n) cycle b set c using p
select * from n;
with recursive n as (select 1 as b union all select * from n) cycle b set c to 5 default 3.5 using p
select *, pg_typeof(c), pg_typeof(p) from n;
with recursive n as (select 1 as b union select * from n) cycle b set c to null default null using p
select * from n limit 2;
with recursive n as (select 1 as b union select * from n) cycle b set c to date '2020-01-02' default date '2020-01-01' using p
select * from n;

-- Both.
with recursive w (f, t, label) as (select * from arcs a union all select a.* from arcs a, w s where a.f = s.t)
    search depth first by f, t set seq cycle f, t set is_cycle using path
select * from w order by seq;
with recursive w (f, t, label) as (select * from arcs a union all select a.* from arcs a, w s where a.f = s.t)
    search breadth first by f, t set seq cycle f, t set is_cycle to 'yes' default 'no' using path
select * from w order by seq;

-- The recursive term may name the added columns; its stars leave them out.
with recursive w (f, t, label) as (select * from arcs a union all select a.* from arcs a, w s where a.f = s.t and not is_cycle and array_length(s.path, 1) < 3)
    cycle f, t set is_cycle using path
select * from w order by path;
with recursive w (f, t) as (select f, t from arcs union all select w.* from w where array_length(w.seq, 1) < 2)
    search depth first by f, t set seq
select * from w order by seq;
with recursive w (f, t) as (select f, t from arcs union all select * from w where cardinality(w.seq) < 2)
    search depth first by f, t set seq
select w.*, (select count(*) from w x where x.seq <= w.seq), (select s from (select w.*) s) from w order by seq limit 4;
with recursive n (x) as (select 1 union all select x + 1 from n where x < 3) search breadth first by x set o
select n from n order by o;
with recursive n (x) as (select 1 union all select x + 1 from n where x < 3) search breadth first by x set o,
    m as (select x, o from n)
select m1.x, m1.o, m2.x from m m1 join m m2 using (o) order by m1.o desc;
with recursive n (x) as (values (1), (5) union all select x + 1 from n where x % 3 <> 0) search depth first by x set o
select * from n order by o;
with recursive n (x) as (with s as (select 1 as one) select one from s union all select x + one from n, s where x < 3) search depth first by x set o
select * from n order by o;

-- Below other recursive queries.
with recursive a (x) as (
    select 1 union all
    select s.y from a, lateral (with recursive b (y) as (select a.x + 1 union all select y + 1 from b where y < a.x + 3)
        search breadth first by y set o select y from b order by o desc limit 1) s where a.x < 8)
    search depth first by x set seq
select * from a order by seq;
with recursive a (x) as (
    select 1 union all
    (with recursive b (y) as (select 2 union all select y + 1 from b where y < 4) cycle y set c using p
     select a.x + y from a, b where x < 4 and not c))
    cycle x set c using p
select * from a order by p;

-- What the clauses may name.
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    search depth first by foo, bar set seq select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    search depth first by f, t, f set seq select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    search depth first by f, t set t select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    cycle foo, bar set c using p select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    cycle f, t, f set c using p select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    cycle f, t set t using p select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    cycle f, t set c using f select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    cycle f, t set c using c select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    search depth first by f, t set c cycle f, t set c using p select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    search depth first by f, t set p cycle f, t set c using p select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    cycle f, t set c to true default 55 using p select * from w;
-- What queries may have them.
with w (f, t) as (select f, t from arcs) search depth first by f set seq select * from w;
with recursive w (f, t) as (select f, t from arcs) cycle f set c using p select * from w;
with recursive w as (insert into arcs values (1, 1, '') returning f) cycle f set c using p select * from w;
with recursive w (f, t) as (select f, t from arcs union all select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t)
    search depth first by f, t set seq select * from w;
with recursive w (f, t) as (select f, t from arcs union all (select f, t from arcs union all select a.f, a.t from arcs a, w where a.f = w.t))
    search depth first by f, t set seq select * from w;
with recursive w (f, t) as (select f, t from arcs union all select a.f, a.t from arcs a, (select * from w) s where a.f = s.t)
    search depth first by f, t set seq select * from w;

-- In views.
create view v_search as with recursive w (f, t, label) as
    (select * from arcs a union all select a.* from arcs a, w where a.f = w.t and a.f <> 5) search depth first by f, t set seq
    select f, t, label, cardinality(seq) from w order by seq;
select pg_get_viewdef('v_search');
select * from v_search;
create view v_cycle as with recursive w (f, t, label) as
    (select * from arcs a union all select a.* from arcs a, w where a.f = w.t) cycle f, t set is_cycle using "The path"
    select f, t, label, is_cycle from w order by "The path";
select pg_get_viewdef('v_cycle');
select count(*), count(*) filter (where is_cycle) from v_cycle;
create view v_both as with recursive w (f, t, label) as
    (select * from arcs a union select a.* from arcs a, w where a.f = w.t)
    search breadth first by f set "S q" cycle f, t set is_cycle to 'Y' default 'N' using path
    select f, t, label, is_cycle from w order by "S q", t;
select pg_get_viewdef('v_both');
alter table arcs rename column t to target;
alter table arcs rename to ways;
select pg_get_viewdef('v_both');
select * from v_both limit 7;
create view v_bad as with recursive w (f) as (select f from ways union all select a.f from ways a, w where a.f = w.f) search depth first by f set seq select * from w;
create view v_bad as with recursive w (f) as (select f from ways union all select a.f from ways a, w where a.f = w.f) search breadth first by f set seq select * from w;
drop view v_search, v_cycle, v_both;
drop table ways;
