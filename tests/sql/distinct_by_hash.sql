-- DISTINCT arguments whose values may be added in any order, and those that may not, in groups of
-- many rows: in memory, with too little of it, row by row, and beside sorted calls.
CREATE TABLE d (id int, k int, g text, c char(4), n numeric, f float8, b bigint, s smallint, o bool);
INSERT INTO d SELECT i, i * 7919 % 97, CASE WHEN i % 11 > 0 THEN 'g' || i * 31 % 501 END, chr(97 + i % 5),
    i * 37 % 203 / 100.0, CASE WHEN i % 50 = 0 THEN 'NaN' WHEN i % 51 = 0 THEN '-0' ELSE i * 13 % 101 / 7.0 END,
    CASE WHEN i % 13 > 0 THEN i * 1000003::bigint % 1009 END, i % 300, i % 3 = 0 FROM generate_series(1, 6000) AS i;
ANALYZE d;
SELECT k, count(DISTINCT g), count(DISTINCT c), sum(DISTINCT n), avg(DISTINCT b), min(DISTINCT g), bool_or(DISTINCT o)
    FROM d GROUP BY k HAVING k % 20 = 3 ORDER BY k;
SELECT c, count(DISTINCT f), count(DISTINCT k) FILTER (WHERE o), count(DISTINCT b % 7), sum(DISTINCT s), bit_xor(DISTINCT s)
    FROM d GROUP BY c ORDER BY c;
SELECT count(*), sum(x), sum(y), min(z) FROM
    (SELECT g, count(DISTINCT id) AS x, sum(DISTINCT b) AS y, max(DISTINCT n) AS z FROM d GROUP BY g) AS q;
-- What needs an order has one: sums of floats, what shows all values.
SELECT o, sum(DISTINCT f), string_agg(DISTINCT c, ','), count(DISTINCT g), stddev(DISTINCT k)::numeric(9, 4) FROM d WHERE f <> 'NaN' GROUP BY o ORDER BY o;
SELECT k, array_agg(DISTINCT c), count(DISTINCT b) FROM d WHERE k < 3 GROUP BY k ORDER BY k;
-- Too little memory.
SET work_mem = '64kB';
SELECT count(DISTINCT id), count(DISTINCT g), sum(DISTINCT b), count(DISTINCT (g, id)) FROM d;
SELECT o, count(DISTINCT id), count(DISTINCT g || id), sum(DISTINCT id::numeric), avg(DISTINCT id) FROM d GROUP BY o ORDER BY o;
SELECT count(*), sum(x), sum(y) FROM (SELECT id / 2 AS h, count(DISTINCT g) AS x, count(DISTINCT n) AS y FROM d GROUP BY 1) AS q;
SELECT g IS NULL AS is_null, k % 2 AS odd, count(DISTINCT id), sum(DISTINCT s) FROM d GROUP BY CUBE (1, 2) ORDER BY 1, 2;
RESET work_mem;
-- No row, no value, and rows that come one by one.
SELECT count(DISTINCT id), sum(DISTINCT n), min(DISTINCT g) FROM d WHERE id < 0;
SELECT k, count(DISTINCT g) FROM d WHERE id < 0 GROUP BY k;
SELECT count(DISTINCT NULL::int), sum(DISTINCT b) FROM d WHERE b IS NULL;
CREATE SEQUENCE q;
SELECT o, count(DISTINCT nextval('q') % 50), count(*) FROM d GROUP BY o ORDER BY o;
SELECT currval('q');
-- Errors come with the row that makes them.
SELECT k, count(DISTINCT 10 / (id - 5000)) FROM d GROUP BY k;
DROP TABLE d;
DROP SEQUENCE q;
