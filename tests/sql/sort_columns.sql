-- Sorts of many rows, which are taken as columns: types, directions, NULLs, ties, bounds, files.
CREATE TABLE s (id int PRIMARY KEY, k int, t text, c char(5), n numeric, m numeric, f float8, b bigint, o bool, d date, r real);
INSERT INTO s SELECT i, CASE WHEN i % 17 > 0 THEN i * 7919 % 41 END, CASE WHEN i % 13 > 0 THEN 'text ' || i * 31 % 211 END,
    repeat(chr(97 + i % 7), i % 3), (i * 37 % 203) / 100.0, CASE i % 3 WHEN 0 THEN 'NaN' WHEN 1 THEN i * 1e20 ELSE i END,
    CASE WHEN i % 50 = 0 THEN 'NaN' WHEN i % 51 = 0 THEN '-0' WHEN i % 52 = 0 THEN '-Infinity' ELSE (i * 13 % 101 - 50) / 7.0 END,
    i::bigint * 1000000007 % 100003 - 50000, CASE WHEN i % 5 > 0 THEN i % 2 = 0 END, date '2020-02-28' + i % 90, i % 77 / 3.0
    FROM generate_series(1, 5000) AS i;
ANALYZE s;
CREATE VIEW orders AS
    SELECT 1 AS w, id, row_number() OVER () AS n FROM (SELECT * FROM s ORDER BY k, id) AS q
    UNION ALL SELECT 2, id, row_number() OVER () FROM (SELECT * FROM s ORDER BY k DESC NULLS LAST, t, id) AS q
    UNION ALL SELECT 3, id, row_number() OVER () FROM (SELECT * FROM s ORDER BY t DESC, c, id DESC) AS q
    UNION ALL SELECT 4, id, row_number() OVER () FROM (SELECT * FROM s ORDER BY c DESC, n, id) AS q
    UNION ALL SELECT 5, id, row_number() OVER () FROM (SELECT * FROM s ORDER BY m, f DESC, id) AS q
    UNION ALL SELECT 6, id, row_number() OVER () FROM (SELECT * FROM s ORDER BY f, o NULLS FIRST, id) AS q
    UNION ALL SELECT 7, id, row_number() OVER () FROM (SELECT * FROM s ORDER BY o DESC, d, b) AS q
    UNION ALL SELECT 8, id, row_number() OVER () FROM (SELECT * FROM s ORDER BY b % 100, length(t) DESC, id) AS q
    UNION ALL SELECT 9, id, row_number() OVER () FROM (SELECT * FROM s ORDER BY r DESC, upper(t) NULLS FIRST, id) AS q;
SELECT w, count(*), sum(id::bigint * n), max(id) FILTER (WHERE n = 1), max(id) FILTER (WHERE n = 5000) FROM orders GROUP BY w ORDER BY w;
SELECT k, t, c, id FROM s ORDER BY k NULLS FIRST, t DESC, id LIMIT 5 OFFSET 290;
SELECT id, f, n FROM s ORDER BY f DESC, id OFFSET 98 LIMIT 5;
SELECT id, t FROM s WHERE id > 30 ORDER BY t, id DESC LIMIT 3;
SELECT id, m FROM s ORDER BY m DESC, id LIMIT 3 OFFSET 1666;
SELECT k, count(*), min(t) FROM (SELECT * FROM s ORDER BY t, id LIMIT 4000) AS q GROUP BY k HAVING count(*) > 120 ORDER BY k;
SELECT DISTINCT ON (k, o) k, o, id FROM s WHERE k < 3 OR k IS NULL ORDER BY k, o, id;
SELECT t FROM s ORDER BY t FETCH FIRST 2 ROWS WITH TIES;
-- More than the memory.
SET work_mem = '64kB';
SELECT w, count(*), sum(id::bigint * n), max(id) FILTER (WHERE n = 1), max(id) FILTER (WHERE n = 5000) FROM orders GROUP BY w ORDER BY w;
SELECT id, t FROM s ORDER BY t DESC NULLS LAST, id LIMIT 3 OFFSET 2400;
RESET work_mem;
-- A row that fails does so with those before it, and a condition above the sort keeps what it keeps.
SELECT id FROM s ORDER BY 10 / (id - 3333), id LIMIT 3;
SELECT id, n FROM (SELECT id, b, row_number() OVER (ORDER BY b, id) AS n FROM s) AS q WHERE n % 1000 = 7 ORDER BY n;
BEGIN;
DECLARE x SCROLL CURSOR FOR SELECT id, k FROM s ORDER BY k DESC, id;
FETCH 2 FROM x;
MOVE 2000 FROM x;
FETCH 2 FROM x;
FETCH PRIOR FROM x;
FETCH LAST FROM x;
COMMIT;
SELECT count(*), sum(q.id) FROM generate_series(1, 3) AS g, LATERAL (SELECT id FROM s WHERE id > g * 1000 ORDER BY t, id LIMIT 100) AS q;
-- Of equal rows the first one.
SET enable_hashagg = off;
SELECT count(*), sum(k), count(t), min(n) FROM (SELECT DISTINCT k, t, c, n FROM s) AS q;
SELECT DISTINCT f FROM s ORDER BY f DESC LIMIT 4;
SELECT DISTINCT c, o FROM s WHERE id > 100 ORDER BY c, o NULLS FIRST;
SELECT count(*), sum(id), sum(id) FILTER (WHERE t IS NULL) FROM (SELECT DISTINCT ON (t, o) * FROM s ORDER BY t, o, id DESC) AS q WHERE id % 3 > 0;
SELECT DISTINCT 10 / (id / 1000 - 3) FROM s;
RESET enable_hashagg;
DROP VIEW orders;
DROP TABLE s;
