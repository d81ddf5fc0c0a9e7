-- Sub-selects of one value among the conditions of scans and joins by columns: they run once, when
-- the first row needs them, and not where none does.
CREATE TABLE cs (id int PRIMARY KEY, a int, n numeric(8, 2), t text);
INSERT INTO cs SELECT i, i * 7 % 500, (i % 300) / 4.0, CASE WHEN i % 9 <> 0 THEN 'text ' || i % 50 END FROM generate_series(1, 12000) AS i;
CREATE TABLE two (v int);
INSERT INTO two VALUES (1), (2);
CREATE TABLE none (v int, n numeric);
CREATE SEQUENCE runs;
ANALYZE cs, two, none;

SELECT count(*), sum(id), sum(n) FROM cs WHERE n > (SELECT avg(n) FROM cs);
SELECT count(*), sum(id) FROM cs WHERE a < 100 AND n > (SELECT avg(n) FROM cs WHERE a < 100) AND t > (SELECT min(t) FROM cs);
SELECT count(*), sum(id) FROM cs WHERE n > (SELECT max(n) FROM none) OR a = 3;
SELECT count(*), sum(id) FROM cs WHERE (SELECT max(v) FROM none) IS NULL AND a = 4;
SELECT count(*), sum(n + (SELECT max(v) FROM two)), sum(CASE WHEN a < 10 THEN (SELECT min(v) FROM two) ELSE 0 END) FROM cs;
SELECT a % 5, sum(n * (SELECT sum(v) FROM two)) FROM cs WHERE a <> (SELECT count(*) FROM two) GROUP BY 1 HAVING sum(n) > (SELECT max(v) FROM two) ORDER BY 1;
SELECT count(*), sum(x.id - y.id) FROM cs AS x JOIN cs AS y ON x.a = y.a AND x.n > y.n + (SELECT max(v) FROM two) WHERE x.id < 900;
SELECT count(*) FROM cs AS x LEFT JOIN cs AS y ON x.id = y.a AND y.n > (SELECT avg(n) FROM cs) WHERE y.id IS NULL AND x.id < 700;
SELECT count(*) FROM cs WHERE a = ANY (ARRAY[(SELECT max(v) FROM two), 7, 9]);
SELECT count(*) FROM cs WHERE (a, n) > ((SELECT max(v) FROM two), 3);
SELECT count(*) FROM cs WHERE a IN (SELECT v FROM two) AND EXISTS (SELECT FROM two WHERE v = 2) AND NOT EXISTS (SELECT FROM none);

-- One that fails, where a row needs it and where none does
SELECT count(*) FROM cs WHERE a > (SELECT v FROM two);
SELECT count(*) FROM cs WHERE a > 1000 AND a > (SELECT v FROM two);
SELECT count(*) FROM cs WHERE a >= 0 OR a > (SELECT v FROM two);
SELECT sum(CASE WHEN a >= 0 THEN 1 ELSE (SELECT v FROM two) END) FROM cs;
SELECT id FROM cs WHERE id < 3 OR n > (SELECT 1 / v FROM two WHERE v < 1) ORDER BY id;
SELECT count(*) FROM cs WHERE n > (SELECT 1 / max(v - 2) FROM two);

-- One run, however many rows
SELECT count(*) FROM cs WHERE id > (SELECT nextval('runs') FROM two WHERE v = 2);
SELECT count(*) FROM cs WHERE a < 0 AND id > (SELECT nextval('runs') FROM two WHERE v = 2);
SELECT count(*) FROM (SELECT id FROM cs WHERE a >= 0 OR id > (SELECT nextval('runs') FROM two WHERE v = 2) LIMIT 5) AS s;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM (SELECT FROM cs JOIN two ON a % 2 + 1 = v AND (id < 7 OR id + v > (SELECT nextval('runs') FROM two WHERE v = 2)) LIMIT 5) AS s;
RESET enable_mergejoin;
RESET enable_nestloop;
SELECT last_value FROM runs;

-- Another value for each row around it
SELECT v, (SELECT count(*) FROM cs WHERE a > (SELECT max(i.v) * o.v FROM two AS i)) FROM two AS o ORDER BY v;
SELECT v, s.* FROM two AS o, LATERAL (SELECT count(*), sum(n) FROM cs WHERE a < (SELECT sum(i.v) + o.v FROM two AS i)) AS s ORDER BY v;
PREPARE p (int) AS SELECT count(*), sum(n) FROM cs WHERE a < (SELECT max(v) + $1 FROM two);
EXECUTE p (10);
EXECUTE p (100);
DROP TABLE cs, two, none;
DROP SEQUENCE runs;
