-- Casts: which are there, implicit, assignment and explicit.
SELECT cast('1' AS integer), '1'::integer, integer '1', int4 '1', cast(1 AS text), 1::text || 'x';
SELECT cast(1.7 AS integer), cast('1.7' AS numeric)::integer, 1::float8, 1::numeric(4, 2), '12'::text::integer, ' 7'::varchar::bigint;
SELECT 1::date;
SELECT true::float8;
SELECT '2026-01-01'::date::integer;
SELECT 1::timestamp;
SELECT '1'::text + 1;
SELECT '1' + 1, '2' * '3'::integer, 1 = '1', 1.5 > '1';
SELECT '1' + '1';
SELECT 1 = '1'::text;
SELECT 1 || 2;
SELECT 'a' || 1, 1 || 'a', 'x'::varchar = 'x'::text, 'x'::char(3) = 'x'::text, 'x '::char(3) || 'y';
SELECT length(5);
SELECT length(5::text), upper('x'::varchar(3)), upper('x'::char(3)) || '|', round('2.5'), abs('-5');
SELECT cast(NULL AS integer), NULL::text, pg_typeof(NULL), pg_typeof(NULL::date);
SELECT '{1,2,3}'::integer[], '{}'::text[], '{a,"b c",NULL,"NULL"}'::text[], '{{1,2},{3,4}}'::int[], ARRAY[1, 2]::text[], ARRAY[1.5, 2]::integer[], ARRAY['1', '2']::int[];
SELECT '{1,2'::integer[];
SELECT '{1,x}'::integer[];
SELECT '{{1,2},{3}}'::integer[];
SELECT ARRAY[1, 'x'];
SELECT ARRAY[]::integer[], pg_typeof(ARRAY[1, 2.5]), ARRAY[NULL]::text[];
SELECT ARRAY[];
SELECT (ARRAY[10, 20, 30])[2], (ARRAY[10, 20, 30])[5], (ARRAY[10, 20, 30])[2:3], array_length(ARRAY[1, 2, 3], 1), cardinality(ARRAY[1, 2]), ARRAY[1, 2] || 3, ARRAY[1] || ARRAY[2], 2 = ANY (ARRAY[1, 2]), array_upper('{1,2}'::int[], 1), unnest(ARRAY[1]);
SELECT ARRAY[1, 2] = ARRAY[1, 2], ARRAY[1, 2] < ARRAY[1, 3], ARRAY[1, 2] @> ARRAY[2], ARRAY[1] && ARRAY[2], array_position(ARRAY['a', 'b'], 'b'), array_append(ARRAY[1], 2), array_to_string(ARRAY[1, 2], '+');
SELECT unnest(ARRAY['a', 'b', NULL]);
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['x', 'y', 'z']) AS u (a, b);

-- On assignment.
CREATE TABLE target (s smallint, i integer, n numeric(4, 1), f real, v varchar(3), c char(3), b boolean, d date, t text);
INSERT INTO target VALUES (1.5, 2.5, 3.25, 4.1, 'abc', 'a', true, '2026-01-01', 5);
INSERT INTO target (s) VALUES ('12');
INSERT INTO target (t) VALUES (12), (1.50), (true), ('2026-01-01'::date), (now()::date - now()::date);
INSERT INTO target (v) VALUES (12);
INSERT INTO target (i) VALUES ('1.5');
INSERT INTO target (i) VALUES ('1'::text);
INSERT INTO target (i) VALUES (true);
INSERT INTO target (b) VALUES (1);
INSERT INTO target (d) VALUES ('2026-01-01 12:34:56'::timestamp);
INSERT INTO target (d) VALUES (20260101);
INSERT INTO target (f) VALUES ('1e10'), (1::bigint), (0.1::float8);
INSERT INTO target (s) VALUES (40000);
SELECT * FROM target ORDER BY s, i, t, v, d, f;

-- In comparisons and lists the types meet.
SELECT pg_typeof(CASE WHEN true THEN 1::smallint ELSE 2::bigint END), pg_typeof(coalesce(1::real, 2::numeric)), pg_typeof(greatest('2026-01-01'::date, '2026-01-01'::timestamp)), pg_typeof(coalesce('x'::varchar, 'y'::text));
SELECT 1 IN (1.0, 2), 1 IN ('1', '2'), 'a' IN ('a'::varchar, 'b');
SELECT 1 IN ('x', '2');
SELECT * FROM (VALUES (1, 'x'), (2.5, NULL)) AS v (a, b) ORDER BY a;
SELECT pg_typeof(a) FROM (VALUES (1), (2::bigint), (3::smallint)) AS v (a) LIMIT 1;
SELECT pg_typeof(1 + 1.0), pg_typeof(1::smallint * 1::smallint), pg_typeof('1 day'::interval + '2026-01-01'), pg_typeof(date '2026-01-01' - 1);
SELECT ''::integer::text;
SELECT '1'::nope;
SELECT cast(1 AS nope);
SELECT 1::integer(5);
SELECT 'x'::varchar(-1);
SELECT 1::numeric(5, 2, 1);
-- A cast to the plain type takes length and scale from the type.
CREATE TABLE measured (n numeric(10, 2), v varchar(5), c char(4), s timestamp(2), i interval hour to minute, a numeric(5, 1)[]);
INSERT INTO measured VALUES (1.5, 'abc', 'ab', '2020-02-03 04:05:06.789', '3:04:05', '{1.25}');
CREATE TABLE plain AS SELECT n::numeric, v::varchar, c::bpchar, s::timestamp, i::interval, a::numeric[],
  n AS kept, n::numeric(10, 2) AS same, n::numeric(10, 2)::numeric AS twice, cast(n AS numeric(4, 1)) AS less, coalesce(n, n) AS both, coalesce(n, n::numeric) AS mixed FROM measured;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'plain'::regclass AND attnum > 0 ORDER BY attnum;
SELECT * FROM plain;
SELECT n::numeric * 1.001, v::varchar || 'x', c::bpchar || 'x', pg_typeof(n::numeric) FROM measured WHERE n::numeric = 1.5 AND v::varchar = 'abc';
CREATE VIEW as_plain AS SELECT n::numeric, v::varchar, s::timestamp AS s FROM measured;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'as_plain'::regclass ORDER BY attnum;
CREATE INDEX ON measured (n);
SET enable_seqscan = off;
SELECT v FROM measured WHERE n::numeric = 1.5;
RESET enable_seqscan;
DROP VIEW as_plain;
DROP TABLE measured, plain;
