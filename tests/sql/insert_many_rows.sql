-- INSERT of many rows of values: what goes into the columns, and which row's error it is.
-- (The statements are made by others, since they are long.)

CREATE TABLE many (
    id int PRIMARY KEY, big bigint, num numeric(10, 2), dbl float8, name varchar(8), yes bool,
    at date, note text DEFAULT 'none', code char(3), UNIQUE (big)
);
CREATE SEQUENCE numbers;

-- Literals of each kind.
SELECT 'INSERT INTO many VALUES ' || string_agg(replace('(#, #, #.25, #.5, ''n#'', true, ''2024-02-29'', ''it''''s #'', ''c'')', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 50) AS i \gexec
SELECT count(*), sum(id), sum(big), sum(num), sum(dbl), max(name), bool_and(yes), max(at) FROM many;
SELECT * FROM many WHERE id = 50;
DELETE FROM many;

-- Negative numbers, the smallest ones, NULL in some rows, a cast, what each row computes, DEFAULT.
SELECT 'INSERT INTO many (id, big, num, dbl) VALUES ' || string_agg(replace('(-#, -#, -#.5, -1e-3)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 80) AS i \gexec
SELECT min(id), max(id), sum(big), sum(num), sum(dbl) FROM many;
DELETE FROM many;
SELECT 'INSERT INTO many (id, big, num, name) VALUES '
    || string_agg(format('(%s, %s, %s, %s)', -2147483648 + i, coalesce((-9223372036854775807 - 1 + nullif(i, 5))::text, 'NULL'),
        CASE i % 3 WHEN 0 THEN 'null' WHEN 1 THEN i::text ELSE i || '.125' END,
        CASE WHEN i % 2 = 0 THEN 'NULL' ELSE quote_literal(i || '''s') END), ',' ORDER BY i)
FROM generate_series(0, 299) AS i \gexec
SELECT min(id), min(big), count(big), sum(num), count(num), count(name), max(name) FROM many;
DELETE FROM many;
SELECT 'INSERT INTO many (at, id, note) VALUES ' || string_agg(replace('(''2024-01-31''::date, #, DEFAULT)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT DISTINCT at, note FROM many;
DELETE FROM many;
SELECT 'INSERT INTO many (id, big, note) VALUES ' || string_agg(replace('(#, nextval(''numbers''), lower(''ABC''))', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT sum(big - id), min(note), max(note) FROM many;
DELETE FROM many;

-- Numbers of several types in one column, and where they make a difference.
SELECT 'INSERT INTO many (id, dbl, note) VALUES '
    || string_agg(format('(%s, %s, %s)', i, CASE i % 3 WHEN 0 THEN '5' WHEN 1 THEN '3000000000' ELSE '0.5' END,
        CASE i % 2 WHEN 0 THEN '7' ELSE '7.50' END), ',' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT note, dbl, count(*) FROM many GROUP BY 1, 2 ORDER BY 1, 2;
DELETE FROM many;
SELECT 'INSERT INTO many (id, yes) VALUES '
    || string_agg(format('(%s, %s)', i, CASE i WHEN 299 THEN '3000000000' ELSE '7' END), ',' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec

-- RETURNING and ON CONFLICT.
SELECT 'INSERT INTO many (id, big, num, dbl, name, at) VALUES ' || string_agg(replace('(#, #, #, #, ''#'', ''2024-02-29'')', '#', i::text), ', ' ORDER BY i) || ' RETURNING id % 100 AS some, name, note'
FROM generate_series(1, 42) AS i \gexec
DELETE FROM many;
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, -#)', '#', i::text), ', ' ORDER BY i) || ' ON CONFLICT (id) DO UPDATE SET note = ''again'', big = -excluded.big - 1000'
FROM generate_series(1, 150) AS i \gexec
SELECT note, count(*), sum(big) FROM many GROUP BY note ORDER BY note;
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, 7000 + #)', '#', i::text), ', ' ORDER BY i) || ' ON CONFLICT DO NOTHING'
FROM generate_series(1, 170) AS i \gexec
SELECT count(*) FROM many;
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, -#)', '#', i::text), ', ' ORDER BY i) || ' ON CONFLICT (id) DO UPDATE SET big = (SELECT 5) - many.id'
FROM generate_series(1, 130) AS i \gexec
SELECT sum(big) FROM many WHERE id <= 130;
DELETE FROM many;

-- The first row that fails decides, by whichever constraint.
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(500 + #, 500 + #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 10) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(format('(%s, %s)', 801 - i, 801 - i), ',' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(format('(%s, %s)', CASE i WHEN 290 THEN 505 ELSE i END,
    CASE i WHEN 10 THEN 503 ELSE i END), ',' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(format('(%s, %s)', CASE i WHEN 150 THEN 'NULL' ELSE i::text END,
    CASE i WHEN 160 THEN 503 ELSE i END), ',' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(format('(%s, %s)', CASE i WHEN 160 THEN 'NULL' ELSE i::text END,
    CASE i WHEN 150 THEN 503 ELSE i END), ',' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(format('(%s, %s)', i % 200, i), ',' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT count(*) FROM many;

-- What a literal cannot be is found before anything is done.
SELECT 'INSERT INTO many (id, big, name) VALUES ' || string_agg(replace('(#, nextval(''numbers''), ''123456#'')', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT nextval('numbers');
\set VERBOSITY terse
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(format('(%s, %L)', i, CASE i WHEN 250 THEN 'x' ELSE i::text END), ',' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(3000000#, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, num) VALUES ' || string_agg(replace('(#, 999999#)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, yes) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, #, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, big, num) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i) || ', (1)'
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i) || ', (1, DEFAULT, 2)'
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, missing) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i) || ' RETURNING missing'
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, id)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, count(*))', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, generate_series(1, 2))', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i) || ', (1, ''x'
FROM generate_series(1, 130) AS i \gexec
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, $1)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 130) AS i \gexec
\set VERBOSITY default
SELECT count(*) FROM many;

-- Sub-selects run for each row, and so does what has ORDER BY or LIMIT behind it.
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, 1000 + (SELECT nextval(''numbers'')))', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 130) AS i \gexec
SELECT count(DISTINCT big) FROM many WHERE id <= 130;
DELETE FROM many;
SELECT 'INSERT INTO many (id, big) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i) || ' ORDER BY 1 DESC LIMIT 3'
FROM generate_series(1, 130) AS i \gexec
SELECT id FROM many ORDER BY id;
DELETE FROM many;

-- Other tables: partitions, generated columns, CHECK, identity, a view.
CREATE TABLE parted (k int, v text, twice int GENERATED ALWAYS AS (k * 2) STORED, CHECK (k <> 777)) PARTITION BY RANGE (k);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (200);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (200) TO (1000);
SELECT 'INSERT INTO parted (k, v) VALUES ' || string_agg(replace('(#, ''v#'')', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 400) AS i \gexec
SELECT tableoid::regclass, count(*), sum(twice) FROM parted GROUP BY 1 ORDER BY 1;
SELECT 'INSERT INTO parted (k, v) VALUES ' || string_agg(replace('(#, ''v#'')', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 800) AS i \gexec
SELECT 'INSERT INTO parted (k, v) VALUES ' || string_agg(replace('(1#, ''v#'')', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 1000) AS i \gexec
CREATE TABLE counted (id int GENERATED ALWAYS AS IDENTITY, a int);
SELECT 'INSERT INTO counted (a) VALUES ' || string_agg(replace('(#)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT sum(id - a) FROM counted;
\set VERBOSITY terse
SELECT 'INSERT INTO counted (id, a) VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
\set VERBOSITY default
SELECT 'INSERT INTO counted (id, a) OVERRIDING USER VALUE VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT max(id) FROM counted;
CREATE VIEW few AS SELECT id, big FROM many WHERE big < 200 WITH CHECK OPTION;
SELECT 'INSERT INTO few VALUES ' || string_agg(replace('(#, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 150) AS i \gexec
SELECT 'INSERT INTO few VALUES ' || string_agg(replace('(1000 + #, #)', '#', i::text), ', ' ORDER BY i)
FROM generate_series(1, 300) AS i \gexec
SELECT count(*) FROM many;
DROP VIEW few;
DROP TABLE many, parted, counted;
DROP SEQUENCE numbers;
