-- Aggregates over many rows of every type: by columns where the plan's input has them.
SET extra_float_digits = 1;
CREATE TABLE reading (
    id integer, two smallint, four integer, eight bigint, exact numeric, cents numeric(12, 2),
    float double precision, single real, yes boolean, word text, code char(6), name varchar(20),
    day date, at timestamp, zoned timestamptz, clock time, span interval, key uuid, bytes bytea);
INSERT INTO reading SELECT
    n,
    CASE WHEN n % 7 <> 0 THEN n % 300 - 150 END,
    CASE WHEN n % 11 <> 0 THEN n * 1009 % 100003 - 50000 END,
    CASE WHEN n % 13 <> 0 THEN n * 123456789::bigint % 1000000007 END,
    CASE WHEN n % 17 <> 0 THEN round((n * 7919 % 100000)::numeric / 64, n % 5) END,
    CASE WHEN n % 5 <> 0 THEN (n * 31 % 10007)::numeric / 100 END,
    CASE WHEN n % 19 <> 0 THEN (n * 37 % 1013) / 7.0 END,
    CASE WHEN n % 23 <> 0 THEN (n % 91) / 8.0 END,
    CASE n % 3 WHEN 0 THEN true WHEN 1 THEN false END,
    CASE WHEN n % 29 <> 0 THEN 'word ' || n * 13 % 50 END,
    CASE WHEN n % 31 <> 0 THEN repeat('x', n % 5) END,
    CASE WHEN n % 37 <> 0 THEN repeat('é', n % 4) || repeat(' ', n % 3) END,
    CASE WHEN n % 41 <> 0 THEN date '2020-01-01' + n % 400 END,
    CASE WHEN n % 43 <> 0 THEN timestamp '2020-01-01 00:00' + n % 1000 * interval '1 minute' END,
    CASE WHEN n % 47 <> 0 THEN timestamptz '2020-01-01 00:00+00' + n % 999 * interval '1 hour' END,
    CASE WHEN n % 53 <> 0 THEN time '00:00' + n % 1440 * interval '1 minute' END,
    CASE WHEN n % 59 <> 0 THEN n % 97 * interval '1 hour' END,
    CASE WHEN n % 61 <> 0 THEN ('00000000-0000-0000-0000-0000000000' || lpad(to_hex(n % 200), 2, '0'))::uuid END,
    CASE WHEN n % 67 <> 0 THEN decode(lpad(to_hex(n % 500), 4, '0'), 'hex') END
FROM generate_series(1, 5000) AS n;

-- One group of all rows, and none.
SELECT count(*), count(two), count(four), count(eight), count(exact), count(cents), count(float), count(yes), count(word), count(code), count(day), count(span), count(bytes) FROM reading;
SELECT sum(two), sum(four), sum(eight), sum(exact), sum(cents), round(sum(float)::numeric, 6), sum(single), sum(span) FROM reading;
SELECT avg(two), avg(four), avg(eight), avg(exact), avg(cents), round(avg(float)::numeric, 6), avg(single), avg(span) FROM reading;
SELECT min(two), min(four), min(eight), min(exact), min(cents), min(float), min(single), min(word), min(code), min(name) FROM reading;
SELECT max(two), max(four), max(eight), max(exact), max(cents), max(float), max(single), max(word), max(code), max(name) FROM reading;
SELECT min(day), max(day), min(at), max(at), min(zoned) = '2020-01-01 00:00+00', min(clock), max(clock), min(span), max(span) FROM reading;
SELECT bool_and(yes), bool_or(yes), every(four < 60000), bit_and(two), bit_or(four), bit_xor(eight) FROM reading;
SELECT variance(two), stddev(four), var_pop(eight), stddev_pop(exact), var_samp(float) > 0, stddev_samp(cents) FROM reading;
SELECT regr_count(float, single), round(corr(float, single)::numeric, 8), round(regr_slope(four, two)::numeric, 8) FROM reading;
SELECT length(string_agg(word, ',')), array_length(array_agg(four), 1), length(string_agg(bytes, '\x00')) FROM reading;
SELECT count(*), count(four), sum(two), sum(eight), sum(cents), avg(float), min(word), max(day), bool_and(yes), array_agg(id) FROM reading WHERE id < 0;
SELECT word, count(*), sum(cents) FROM reading WHERE id < 0 GROUP BY word;
SELECT count(*), sum(cents) FROM (SELECT * FROM reading WHERE id < 0) AS none GROUP BY ();

-- Groups by keys of each type.
SELECT yes, count(*), count(two), sum(two), sum(four), sum(eight), sum(exact), sum(cents) FROM reading GROUP BY yes ORDER BY yes;
SELECT yes, avg(two), avg(four), avg(eight), avg(exact), avg(cents), round(sum(float)::numeric, 6), round(avg(float)::numeric, 6), sum(single) FROM reading GROUP BY yes ORDER BY yes;
SELECT two % 4 AS k, min(two), max(four), min(eight), max(exact), min(cents), max(float), min(word), max(code), min(day), max(at), min(clock) FROM reading GROUP BY k ORDER BY k;
SELECT code, '[' || min(code) || ']', '[' || max(code) || ']', count(*), sum(four) FROM reading GROUP BY code ORDER BY code;
SELECT '[' || name || ']' AS shown, count(*) FROM (SELECT name, id FROM reading) AS r GROUP BY name ORDER BY name;
SELECT word, yes, count(*), sum(cents), max(float) FROM reading GROUP BY word, yes ORDER BY word, yes LIMIT 12;
SELECT count(*), sum(n), min(n), max(n) FROM (SELECT four, count(*) AS n FROM reading GROUP BY four) AS g;
SELECT count(*), sum(n), min(n), max(n) FROM (SELECT day, at, count(*) AS n FROM reading GROUP BY day, at) AS g;
SELECT count(*), sum(n), min(n), max(n) FROM (SELECT eight, word, code, count(*) AS n FROM reading GROUP BY eight, word, code) AS g;
SELECT count(*), max(n) FROM (SELECT key, span, bytes, count(*) AS n FROM reading GROUP BY key, span, bytes) AS g;
SELECT count(*), max(n) FROM (SELECT zoned, clock, count(*) AS n FROM reading GROUP BY zoned, clock) AS g;
SELECT count(*), max(n), sum(s) FROM (SELECT float, count(*) AS n, sum(cents) AS s FROM reading GROUP BY float) AS g;
SELECT id % 5 AS k, string_agg(word, '' ORDER BY id) LIKE 'word%', count(DISTINCT two), array_length(array_agg(yes), 1) FROM reading GROUP BY k ORDER BY k;
SELECT word, count(*) FROM reading GROUP BY word HAVING count(*) > 97 AND min(two) IS NOT NULL ORDER BY word LIMIT 5;

-- Numerics of several scales are one group, shown as its first row has it; so are the floats' zeros.
CREATE TABLE scaled (id serial, n numeric, f double precision);
INSERT INTO scaled (n, f) VALUES (1.0, 0), (1.00, '-0'), (1, 'NaN'), (2.50, 'Infinity'), (2.5, 'NaN'), (NULL, NULL), (100, '-Infinity'), (1e2, 'Infinity'), (NULL, NULL), ('NaN', 1), ('Infinity', 1), ('-Infinity', 2), ('NaN', 2), (12345678901234567890.10, 3), (12345678901234567890.1, 3), (0.00, 1), (0, 1);
SELECT n, count(*), min(id) FROM scaled GROUP BY n ORDER BY min(id);
SELECT f, count(*), min(id) FROM scaled GROUP BY f ORDER BY min(id);
SELECT sum(n), avg(n), max(n), min(n), sum(f), max(f), min(f) FROM scaled;
SELECT sum(n), avg(n), max(n), min(n), sum(f), avg(f) FROM scaled WHERE id < 3;
SELECT id / 4 AS k, sum(n), avg(n), min(n), max(n), sum(f), min(f), max(f) FROM scaled GROUP BY k ORDER BY k;
SELECT sum(n), avg(n), max(n) FROM scaled WHERE n IN (1, 2.5, 100, 0) AND id > 0;
SELECT max(n), min(n) FROM (VALUES (1.5), (1.50), (1.500)) AS v (n);

-- FILTER, and arguments that fail only for rows that it leaves out.
SELECT count(*) FILTER (WHERE yes), count(four) FILTER (WHERE two > 0), sum(cents) FILTER (WHERE word < 'word 3'), round((sum(float) FILTER (WHERE NOT yes))::numeric, 6), sum(eight) FILTER (WHERE false) FROM reading;
SELECT yes, count(*) FILTER (WHERE two > 0), sum(1000 / two) FILTER (WHERE two <> 0), max(exact) FILTER (WHERE exact < 100) FROM reading GROUP BY yes ORDER BY yes;
SELECT id % 3 AS k, sum(CASE WHEN yes THEN cents ELSE 0 END), sum(cents * (1 - 0.05)), sum(cents * (1 + 0.07) * two) FROM reading GROUP BY k ORDER BY k;
SELECT sum(four + eight), avg(exact * cents), round(sum(float * 2)::numeric, 6), max(word || code), min(day + 1) FROM reading;

-- What fails in the middle.
SELECT sum(1000 / (four - 1)) FROM reading WHERE four = 1 OR id < 3;
SELECT sum(1000 / two) FROM reading;
SELECT yes, sum(1000 / two) FROM reading GROUP BY yes;
SELECT count(*) FROM reading GROUP BY 1000 / two;
SELECT sum(two * 1000::smallint) FROM reading;
SELECT sum(four * 100000) FROM reading;
SELECT sum(float * 1e308) FROM reading;
SELECT yes, sum(float * 1e306) FROM reading GROUP BY yes;
SELECT avg(float * 1e306) FROM reading;
SELECT sum(eight * 9000000000000) FROM reading WHERE eight < 1000000;
SELECT id % 2, sum(eight * 9000000000) FROM reading GROUP BY id % 2 ORDER BY 1;
SELECT count(*) FILTER (WHERE 1 / two > 0) FROM reading;
SELECT sum(s) FROM (SELECT 9223372036854775807 AS s FROM generate_series(1, 3)) AS g;
SELECT sum(n::integer) FROM (SELECT 2147483647 AS n FROM generate_series(1, 5)) AS g;

-- More groups than work_mem holds.
CREATE TABLE many AS SELECT n AS id, n * 7919 % 30011 AS k, 'key ' || n % 20011 AS t, (n % 1000)::numeric / 8 AS x, (n % 77) / 3.0::float8 AS f FROM generate_series(1, 100000) AS n;
SET work_mem = '64kB';
SELECT count(*), sum(c), sum(s), min(m), max(m) FROM (SELECT k, count(*) AS c, sum(x) AS s, max(f) AS m FROM many GROUP BY k) AS g;
SELECT count(*), sum(c), sum(s), min(t), max(t) FROM (SELECT t, count(*) AS c, avg(x) AS s FROM many GROUP BY t) AS g;
SELECT count(*), sum(c), round(sum(s)::numeric, 6) FROM (SELECT t, k, count(x) AS c, sum(f) AS s FROM many GROUP BY t, k) AS g;
SELECT k, count(*), sum(x), round(avg(f)::numeric, 8), min(t) FROM many GROUP BY k ORDER BY k LIMIT 5;
SELECT count(*), sum(length(l)) FROM (SELECT k % 3000 AS m, string_agg(t, ',') AS l FROM many GROUP BY m) AS g;
SELECT sum(s) FROM (SELECT k, sum(1 / (id - 99999)) AS s FROM many GROUP BY k) AS g;
-- Groups as columns: filtered, computed, joined, sorted; sums that leave 64 bits on the way, and scales that differ.
SELECT k, sum(x) FROM many GROUP BY k HAVING sum(x) > 450 ORDER BY 2 DESC, 1 LIMIT 5;
SELECT k % 7 AS r, count(*) FROM (SELECT k, sum(x) * 2 AS s, max(f) AS m FROM many GROUP BY k HAVING count(*) > 3 AND min(f) < 9) AS g GROUP BY r ORDER BY r;
SELECT count(*), sum(s) FROM many AS m JOIN (SELECT k, sum(x) AS s FROM many GROUP BY k HAVING sum(x) > 300) AS g ON m.id = g.k;
SELECT k, sum(eight), avg(eight), count(nothing), sum(nothing), max(nothing) FROM (SELECT k % 10000 AS k, 2305843009213693952 + id AS eight, CASE WHEN id < 0 THEN id::bigint END AS nothing FROM many) AS g GROUP BY k ORDER BY sum(eight) DESC, k LIMIT 3;
SELECT count(*), sum(s), min(scale(s)), max(scale(s)) FROM (SELECT k, sum(CASE WHEN id % 50000 = 0 THEN 1.123456789 ELSE x END) AS s FROM many GROUP BY k) AS g;
SELECT k, sum(x) FROM many GROUP BY k HAVING 100 / (k - 3) > 20 ORDER BY k;
SELECT count(*) FROM (SELECT DISTINCT t, k % 100 FROM many) AS g;
RESET work_mem;
SELECT o.k, (SELECT count(*) FROM many AS m WHERE m.k = o.k), (SELECT sum(x) FROM many AS m WHERE m.k < o.k) FROM (VALUES (1), (5), (7)) AS o (k) ORDER BY o.k;
DROP TABLE reading, scaled, many;
