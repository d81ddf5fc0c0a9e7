-- PostgreSQL 15 differs: it names the table before each column of a view
-- A view's text means what the view means: each of these queries is made a view, the text that
-- pg_get_viewdef gives of it another one, and both have the same text, types and collations.
CREATE TABLE t (a int, b text, c varchar(10), d numeric(8,2), e text COLLATE "C");
CREATE TABLE u (a bigint, b text, x int[], y timestamptz);
CREATE TABLE w (a smallint, z char(3));
CREATE TABLE queries (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, query text);
COPY queries (query) FROM stdin;
select a from t join u using (a)
select a, t.a as ta, u.a as ua from t join u using (a)
select a, t.a as ta, u.a as ua from t left join u using (a)
select a, t.a as ta, u.a as ua from t right join u using (a)
select a, t.a as ta, u.a as ua from t full join u using (a)
select * from t full join u using (a, b)
select * from t natural join u
select * from t natural full join u natural left join w
select a, z from t full join u using (a) full join w using (a)
select a + 1 as n, pg_typeof(a) as ty from t full join u using (a) where a > 3 group by a order by a
select j.a, j.b from (t join w using (a)) as j
select j.* from (t join w using (a)) as j
select k.a, t.b from t join w using (a) as k
select k.* from t full join w using (a) as k
select (t).b from t
select (x.whole).b from (select t as whole from t) x
select v.* from (values (1, 'x'), (2, 'y')) v
select * from (values (1, null), (2, 'y'::varchar(3))) v(p, q)
values (1, 'a'), (2, 'b')
values (1, 'a'), (2, 'b') order by 1 limit 1
select s.* from (select 1 as one, 'x'::varchar(5) as two) s
select f from generate_series(1, 3) f
select f.* from generate_series(1, 3) f(n)
select f from generate_series(1, 3) with ordinality f
select * from unnest(array[1,2]) with ordinality as f(n, o)
select b collate "C" as bc from t
select b collate "C" as bc, e from t order by b collate "C"
select e || b as eb from t
select max(e) as m, min(b collate "POSIX") as n from t
select b from t where b < 'x' collate "C"
select b collate "C" from t union select e from t
select case when a > 1 then e else e end as ce from t
select coalesce(b, e) as ce from t
select 'x' collate "C" as k
select array[e] as ar from t
select c || 'x' as cx, c::varchar(3) as c3, c::text as ct, d::numeric(4,1) as d4, d::int as di from t
select null as n, 'u' as un, 1 as i, 1.5 as nu, 1e10 as ex, -1 as neg, 9999999999 as big, true as tr, -1.5 as nn, 99999999999999999999 as huge, '-5'::int as cast
select null union select null
select 1 as a union select null
select 'a' as a union select 'b'
select 1 as a union all select 2.5 union all select 3::float8
select a from t union select a from u order by 1
(select a from t order by a limit 1) union all (select a from w limit 2) order by a
select a from t except (select a from u intersect select a from w)
(select a from t union select a from u) intersect select a from w
select a, rank() over (partition by b order by a desc) as r from t
select first_value(a) over (order by y range between '1 day'::interval preceding and '2 days' following) as fv from u
select b, a, sum(d) as s, grouping(b, a) as g from t group by rollup (b, a)
select b, a, sum(d) as s from t group by grouping sets ((b), (a, b), ())
select b, count(*) from t group by b, ()
select distinct on (b) b, a from t order by b, a desc nulls last
select * from t for update
select a from t where (a, b) in (select a::int, b from u)
select a from t where (a, b) = (select a::int, b from u limit 1)
select a from t where (a, b) <> all (select a::int, b from u)
select a from t where (a, b) < (select a::int, b from u limit 1)
select a from t where a = any (select a from u) and a > all (select a from w) and a not in (select a from w)
select a from t where not exists (select 1 from u where u.a = t.a)
select a, (select max(u.a) from u where u.b = t.b) as m, array(select a from w order by a) as ar from t
select a from t where (a, b) in ((1, 'x'), (2, 'y'))
select row(a, b)::text as r from t
select (row(1, 'x')).f1 as f
select a[1] as one from (select x as a from u) q
select x[1] as one, x[1:2] as two, x[:2] as three, (array[1,2])[1] as four from u
select b like 'x%' as l, b not like 'x' as nl, b ilike 'y' as il, b similar to 'z' as s, b ~ 'r' as r, b between 'a' and 'b' as bt, a between symmetric 3 and 1 as bs from t
select substring(b from 2) as s1, substring(b from 1 for 2) as s2, substring(b for 3) as s3, substring(b from 'x.y') as s4, position('x' in b) as p, overlay(b placing 'x' from 2 for 1) as o, trim(both 'x' from b) as tr, trim(b) as tb, nullif(a, 1) as nu, greatest(a, 2) as g, least(a, 3) as l, collation for (b) as cf from t
select a is null as n, a is not null as nn, (a > 1) is true as t1, (a > 1) is not unknown as nk, not a > 1 as no, a is distinct from 2 as d, a is not distinct from 3 as nd from t
with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r
with recursive r as (select 1 as n, 'x'::varchar(5) as v union all select n + 1, v from r where n < 5) select n as m, v from r
with x(p, q) as (values (1, 'a'), (2, 'b')) select q, p from x
select * from t, lateral (select a + 1 as a1 from u where u.a = t.a) s
select t.a as p, t2.a as q from t, t t2 where t.a = t2.a
select * from t as tt(p, q)
select tt.* from t as tt(p, q, r, s, v)
select "T".a as "A b", "T".b as "select" from t "T"
select a as "user", b as "order" from t order by a using >
select a from t order by b, a desc nulls first limit 3 offset 2
select a from t order by a fetch first 2 rows with ties
select a from t limit all
select a from t limit null
select distinct a, b from t
select a as x, count(*) from t group by a having a > 1 order by count(*) desc
select a + 1 as x from t group by a + 1
select substr(b, 1, 2) as s from t group by substr(b, 1, 2)
select t.ctid, t.xmin, tableoid from t
select interval '1 month' * 2 as i, date '2020-01-01' + 1 as d, timestamp '2020-01-01' as ts, timestamptz '2020-01-01 00:00+00' as tz
select array[1,2] as i, array['a', 'b'] as s, array[]::int[] as e, array[[1,2],[3,4]] as m, '{1,2}'::int[] as l, array[a, 1]::bigint[] as c from t
select a::text as at, a::bigint as ab, '5'::int as l, cast(b as int) as bi, x::text[] as xt from t, (select x from u) s
select 1 as a where false
select * from (select a, b from t) as s(p) where p > 1
select * from (select a from t) join w using (a)
select a b from t group by a order by b
select jsonb_build_object('a', a) as j, to_jsonb(t) as k, row_to_json(t) as l from t
select xmlelement from (select 1 as xmlelement) q
select format('%s', a) as f, concat(a, b) as c, concat_ws(',', variadic array['a', b]) as d from t
select * from rows from (generate_series(1, 2), generate_series(1, 3)) as r(p, q)
select * from generate_series(1, 2) g, generate_series(g, 3) h
select generate_series(1, 3) as g, unnest(array[1, 2]) as u
select (select a from t t limit 1) as a, a as b from t
select exists (select from t) as e
select a from t where a in (select a from u where b in (select b from w where z = t.b))
select sum(sum(a)) over (order by b) as ss from t group by b
select t.a, (select count(*) from t) as c, (select t.a) as d from t
select * from (select a from t union select a from w) s
select a from ((select a from t)) s
select (a = 1) = true as x, - a as m, + a as p, a ^ 2 as po, @ a as ab, |/ 4.0 as sq, a % 2 as mo, (a + 1) * 2 as pr, a + 1 * 2 as pp, a - (1 - 2) as mi, -(-1) as mm, - (1) as m1 from t
select (a > 1 or a < 0) and b = 'x' as c, not (a > 1 and a < 3) as n, a > 1 and (a < 2 and a < 3) as k from t
select * from t where a = 1 and (b = 'x' or b = 'y') and not (c = 'z') or a is null
\.
\set ECHO none
SELECT format('CREATE VIEW v%s AS %s', id, query) FROM queries ORDER BY id \gexec
SELECT format('CREATE VIEW again%s AS %s', id, pg_get_viewdef(format('v%s', id)::regclass))
  FROM queries ORDER BY id \gexec
SELECT format('CREATE VIEW pretty%s AS %s', id, pg_get_viewdef(format('v%s', id)::regclass, true))
  FROM queries ORDER BY id \gexec
\set ECHO all
CREATE VIEW shapes AS
  SELECT c.relname, pg_get_viewdef(c.oid) AS text,
    (SELECT array_agg(format('%s %s %s', a.attname, format_type(a.atttypid, a.atttypmod),
              (SELECT l.collname FROM pg_collation l WHERE l.oid = a.attcollation))
              ORDER BY a.attnum)
       FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0) AS columns
    FROM pg_class c WHERE c.relkind = 'v';
-- None that reads back as another.
SELECT q.query, v.columns, other.relname, other.text, other.columns
  FROM queries q
  JOIN shapes v ON v.relname = format('v%s', q.id)
  LEFT JOIN shapes other ON other.relname IN (format('again%s', q.id), format('pretty%s', q.id))
 WHERE (v.text, v.columns) IS DISTINCT FROM (other.text, other.columns)
 ORDER BY q.id, other.relname;
-- What they are.
\t on
\pset format unaligned
SELECT q.query, pg_get_viewdef(format('v%s', q.id)::regclass, true), v.columns
  FROM queries q JOIN shapes v ON v.relname = format('v%s', q.id) ORDER BY q.id;
-- Under another search path names are qualified, and the views are the same.
SET search_path = pg_catalog;
SELECT pg_get_viewdef(format('public.v%s', id)::regclass)
  FROM public.queries WHERE id % 10 = 1 ORDER BY id;
RESET search_path;
-- They follow a rename.
ALTER TABLE u RENAME TO u2;
SELECT pg_get_viewdef(format('v%s', id)::regclass) FROM queries WHERE query LIKE '%using (a)%' AND id < 3;

-- pg_views and information_schema.views print them as pg_get_viewdef does, by the session's path.
CREATE SCHEMA apart;
CREATE TABLE apart.base (a int, b text);
CREATE VIEW apart.plain AS SELECT a, upper(b) AS shout FROM apart.base WHERE a > 0;
SELECT definition, definition = pg_get_viewdef('apart.plain'::regclass) AS same FROM pg_views WHERE viewname = 'plain';
SET search_path = apart;
SELECT definition, definition = pg_get_viewdef('plain'::regclass) AS same FROM pg_views WHERE viewname = 'plain';
SELECT view_definition FROM information_schema.views WHERE table_name = 'plain';
RESET search_path;
DROP SCHEMA apart CASCADE;

-- One cast to a type with a length stays one.
CREATE VIEW lengths AS SELECT 2::numeric(6,2) AS a, (1 + 1)::varchar(3) AS b, now()::timestamp(3) AS c,
  2::bigint::numeric(4,1) AS d, current_date::timestamp(0) AS e, 'x'::text::char(2) AS f;
SELECT pg_get_viewdef('lengths'::regclass);
