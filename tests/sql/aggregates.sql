-- Aggregates, GROUP BY and HAVING.
CREATE TABLE sale (shop text, item text, qty integer, price numeric(8, 2), day date, paid boolean);
INSERT INTO sale VALUES
    ('north', 'tea', 2, 3.50, '2026-01-01', true), ('north', 'tea', 1, 3.50, '2026-01-02', false),
    ('north', 'cup', 5, 8.00, '2026-01-02', true), ('south', 'tea', 7, 3.25, '2026-01-01', true),
    ('south', 'cup', NULL, 8.50, '2026-01-03', NULL), ('west', 'pot', 1, NULL, NULL, true),
    (NULL, 'tea', 4, 3.00, '2026-01-04', false);
SELECT count(*), count(qty), count(DISTINCT item), sum(qty), avg(qty), min(qty), max(qty) FROM sale;
SELECT sum(price), avg(price), min(price), max(price) FROM sale;
SELECT min(day), max(day), min(item), max(item) FROM sale;
SELECT bool_and(paid), bool_or(paid), every(paid) FROM sale;
SELECT shop, count(*), sum(qty * price) FROM sale GROUP BY shop ORDER BY shop;
SELECT shop, item, sum(qty) FROM sale GROUP BY shop, item ORDER BY 1, 2;
SELECT item, count(*) AS n FROM sale GROUP BY item HAVING count(*) > 1 ORDER BY n DESC, item;
SELECT shop FROM sale GROUP BY shop HAVING sum(qty) > 5 ORDER BY shop;
SELECT upper(shop) AS s, max(price) FROM sale GROUP BY s ORDER BY s;
SELECT length(shop), count(*) FROM sale GROUP BY 1 ORDER BY 1;
SELECT qty % 2 = 0 AS even, count(*) FROM sale GROUP BY qty % 2 = 0 ORDER BY even;
SELECT count(*) FROM sale WHERE false;
SELECT sum(qty), avg(qty), min(qty), count(qty) FROM sale WHERE false;
SELECT shop, sum(qty) FROM sale WHERE false GROUP BY shop;
SELECT count(*) FROM sale GROUP BY ();
SELECT 1 FROM sale HAVING count(*) > 100;
SELECT 1 FROM sale HAVING true;

-- DISTINCT, ORDER BY and FILTER inside.
SELECT sum(DISTINCT qty), count(DISTINCT price), avg(DISTINCT qty) FROM sale;
SELECT string_agg(item, ',' ORDER BY item, qty), string_agg(DISTINCT item, '-') FROM sale;
SELECT string_agg(shop, ', ' ORDER BY shop DESC) FROM sale;
SELECT array_agg(qty ORDER BY qty NULLS FIRST), array_agg(DISTINCT item ORDER BY item DESC) FROM sale;
SELECT count(*) FILTER (WHERE paid), sum(qty) FILTER (WHERE item = 'tea') FROM sale;
SELECT shop, count(*) FILTER (WHERE item = 'tea') AS tea, count(*) FILTER (WHERE item <> 'tea') AS rest FROM sale GROUP BY shop ORDER BY shop;

-- Result types.
SELECT pg_typeof(sum(n::smallint)), pg_typeof(sum(n::int)), pg_typeof(sum(n::bigint)), pg_typeof(sum(n::real)), pg_typeof(sum(n::numeric)) FROM generate_series(1, 3) AS n;
SELECT pg_typeof(avg(n::int)), pg_typeof(avg(n::float8)), pg_typeof(count(*)), pg_typeof(min(n::smallint)) FROM generate_series(1, 3) AS n;
SELECT sum(n), avg(n) FROM (VALUES (9223372036854775807), (9223372036854775807)) AS v (n);
SELECT sum(n::float8), avg(n::float8), sum(n::float4) FROM generate_series(1, 10) AS n;
SELECT avg(n) FROM (VALUES (1), (2), (2)) AS v (n);
SELECT avg(n), sum(n) FROM (VALUES (1.10), (2.2), (3.345)) AS v (n);
SELECT sum(n) FROM (VALUES ('NaN'::numeric), (1)) AS v (n);
SELECT max(n), min(n) FROM (VALUES ('NaN'::float8), (1), ('Infinity')) AS v (n);
SELECT sum(i) FROM (VALUES (interval '1 day'), (interval '36 hours')) AS v (i);
SELECT avg(i) FROM (VALUES (interval '1 day'), (interval '2 days')) AS v (i);

-- Statistics.
SELECT stddev(n), variance(n), stddev_pop(n), var_pop(n), stddev_samp(n), var_samp(n) FROM generate_series(1, 5) AS n;
SELECT stddev(n), var_pop(n) FROM (VALUES (3)) AS v (n);
SELECT round(stddev(n::float8)::numeric, 10), round(variance(n::float8)::numeric, 10) FROM generate_series(1, 5) AS n;
SELECT bit_and(n), bit_or(n), bit_xor(n) FROM (VALUES (12), (10)) AS v (n);
SELECT corr(y, x), covar_pop(y, x), covar_samp(y, x), regr_slope(y, x), regr_intercept(y, x), regr_count(y, x) FROM (VALUES (1.0, 1.0), (2, 2), (3, 3)) AS v (y, x);
SELECT mode() WITHIN GROUP (ORDER BY item), percentile_cont(0.5) WITHIN GROUP (ORDER BY qty), percentile_disc(0.5) WITHIN GROUP (ORDER BY qty) FROM sale;

-- What is refused.
SELECT shop, sum(qty) FROM sale;
SELECT qty FROM sale GROUP BY shop;
SELECT sum(sum(qty)) FROM sale;
SELECT sum(item) FROM sale;
SELECT * FROM sale WHERE sum(qty) > 1;
SELECT shop FROM sale GROUP BY sum(qty);
SELECT sum(qty) FROM sale GROUP BY 5;
SELECT count(*) FILTER (WHERE qty) FROM sale;
SELECT sum(n) FROM (VALUES (32767::smallint), (1::smallint)) AS v (n);
SELECT sum(n)::integer FROM (VALUES (2147483647), (1)) AS v (n);
-- A key lets its table's columns be named.
CREATE TABLE keyed (id integer PRIMARY KEY, name text);
INSERT INTO keyed VALUES (1, 'x'), (2, 'y');
SELECT id, name, count(*) FROM keyed GROUP BY id ORDER BY id;
SELECT name, count(*) FROM keyed GROUP BY name HAVING id > 1;

-- Many groups, little memory.
SET work_mem = '64kB';
SELECT count(*), sum(c), max(c) FROM (SELECT n % 5000 AS k, count(*) AS c FROM generate_series(1, 20000) AS n GROUP BY k) AS q;
SELECT count(DISTINCT n % 3000) FROM generate_series(1, 20000) AS n;
RESET work_mem;
SELECT shop, item, sum(qty) FROM sale GROUP BY ROLLUP (shop, item) ORDER BY 1, 2, 3;
SELECT shop, item, sum(qty), grouping(shop, item) FROM sale GROUP BY GROUPING SETS ((shop), (item), ()) ORDER BY 4, 1, 2;

-- ORDER BY names the argument as it was before it was coerced.
create table short(c varchar(10), n smallint);
insert into short values ('b', 2), ('a', 1), ('b', 2);
select string_agg(distinct c, ',' order by c), string_agg(c, ',' order by c desc), sum(distinct n order by n) from short;
select string_agg(distinct c, ',' order by n) from short;
drop table short;
