-- Views that PostgreSQL reads back as others, too: 45 46
-- Arrays of rows (record[]), as queries that note the way to a row use them.

SELECT row(1,2) = ANY (ARRAY[row(1,2), row(3,4)]);
SELECT row(1,2) = ANY ('{"(1,2)"}');
SELECT ARRAY[row(1,2), row(3,4)];
SELECT pg_typeof(ARRAY[row(1,2), row(3,4)]);
SELECT ARRAY[row(1,2), row(3,4)] || row(5,6);
SELECT row(0,1) || ARRAY[row(1,2), row(3,4)] ;
SELECT ARRAY[row(1,2)] || ARRAY[row(5,6)];
SELECT row(1,2) <> ALL (ARRAY[row(1,2), row(3,4)]);
SELECT row(1,2) < ALL (ARRAY[row(1,3), row(3,4)]);
SELECT row(1,2) in (row(1,3), row(1,2));
SELECT row(1,2) = ANY (ARRAY[row(1,'a'::text), row(3,'b')]);
SELECT row(1,2) = ANY (ARRAY[row(1,2,3)]);
SELECT row(1,null) = ANY (ARRAY[row(1,2)]);
SELECT row(1,null) = ANY (ARRAY[row(1,null)]);
SELECT null::record = ANY (ARRAY[row(1,null)]);
SELECT ARRAY[row(1,2)] = ARRAY[row(1,2)], ARRAY[row(1,2)] < ARRAY[row(1,3)], ARRAY[row(1,2)] <> ARRAY[row(1,2)];
SELECT ARRAY[row(1,2)] = ARRAY[row(1,'a'::text)];
SELECT ARRAY[row(1,2)] < ARRAY[row(1,2,3)];
SELECT array_append(ARRAY[row(1,2)], row(3,4)), array_prepend(row(3,4), ARRAY[row(1,2)]), array_cat(ARRAY[row(1,2)], ARRAY[row(1,2)]);
SELECT * FROM unnest(ARRAY[row(1,2), row(3,4)]) ;
SELECT unnest(ARRAY[row(1,2), row(3,4)]);
SELECT array_agg(row(x, x*2)) from generate_series(1,3) x;
SELECT (ARRAY[row(1,2), row(3,4)])[1];
SELECT (ARRAY[row(1,2), row(3,4)])[1:1];
SELECT array_length(ARRAY[row(1,2), row(3,4)],1), cardinality(ARRAY[row(1,2), row(3,4)]);
SELECT '{}'::record[];
SELECT '{"(1,2)"}'::record[];
SELECT array_position(ARRAY[row(1,2), row(3,4)], row(3,4));
SELECT array_remove(ARRAY[row(1,2), row(3,4)], row(3,4));
SELECT array_replace(ARRAY[row(1,2), row(3,4)], row(3,4), row(5,6));
SELECT ARRAY[row(1,2), row(3,4)]::text, ARRAY[row(1,2), row(3,4)]::text[];
SELECT array_to_string(ARRAY[row(1,2), row(3,4)], ';');
SELECT ARRAY[row(1,2), row(3,4)] @> ARRAY[row(1,2)], ARRAY[row(1,2)] && ARRAY[row(3,2)], ARRAY[row(1,2)] <@ ARRAY[row(3,2)];
SELECT x FROM (VALUES (ARRAY[row(2,1)]), (ARRAY[row(1,2)]), (ARRAY[row(1,1)])) v(x) ORDER BY x;
SELECT DISTINCT x FROM (VALUES (ARRAY[row(1,2)]), (ARRAY[row(1,2)])) v(x);
SELECT x, count(*) FROM (VALUES (ARRAY[row(1,2)]), (ARRAY[row(1,2)])) v(x) GROUP BY x;
SELECT ARRAY[ARRAY[row(1,2)], ARRAY[row(3,4)]];
SELECT ARRAY[row(1,2), null];
SELECT ARRAY[row(1,2), 1];
SELECT ARRAY[row(1,'it"s, \a'), row(null,'')];
SELECT row(1,2) = ANY (ARRAY[1,2]);
SELECT row(1,2) = ANY (1);
SELECT ARRAY[row(1,2)] || 1;
SELECT row(1,2) = ANY (SELECT row(1,2));
create table rr (a record[]);
-- Rows of other columns are found when it comes to them.
select row(1, 2)::record = row(1, 2, 3)::record;
select row(1, 2)::record = row(2, 2, 3)::record;
select r = s from (select row(1, 2) r, row(1, 2, 3) s offset 0) x;
select r = s from (select row(1, 2) r, row(1, 'a'::text) s offset 0) x;
select a = b from (values (array[row(1, 2)], array[row(1, 2), row(3, 4)])) v(a, b);
select a = b from (values (array[row(1, 2)], array[row(1, 2, 3)])) v(a, b);
select a = b from (values (array[row(2, 2)], array[row(1, 2, 3)])) v(a, b);
select a[1] = b[1], a[1] < b[1] from (values (array[row(1, 2)], array[row(1, 3)])) v(a, b);
-- The way noted by hand.
create table arcs (f int, t int, label text);
insert into arcs values (1, 2, '1 to 2'), (1, 3, '1 to 3'), (2, 3, '2 to 3'), (1, 4, '1 to 4'), (4, 5, '4 to 5'), (5, 1, '5 to 1');
with recursive w (f, t, label, is_cycle, path) as (
    select *, false, array[row(a.f, a.t)] from arcs a
    union distinct
    select a.*, row(a.f, a.t) = any (path), path || row(a.f, a.t) from arcs a, w where a.f = w.t and not is_cycle)
select * from w order by path, label;
with recursive w as (
    select f, t, array[row(f, t)] as path, false as c from arcs
    union all
    select e.f, e.t, path || row(e.f, e.t), row(e.f, e.t) = any (path) from arcs e, w where e.f = w.t and not c)
select * from w order by path;
select a = any (array[row(1, 2, '1 to 2'::text)]) from arcs a order by f, t;
select array_agg(a order by f, t) from arcs a;
select a.f from arcs a where row(a.f, a.t) <> all (array[row(1, 2), row(1, 3)]) order by f, t;
drop table arcs;
