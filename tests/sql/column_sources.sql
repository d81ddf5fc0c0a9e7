-- Rows of index scans, of partitions and of UNION ALL, handed up as columns: the rows, their order
-- and the first error are the same.
-- Views that PostgreSQL reads back as others, too: 2 3 5 8 10 11 12 22
CREATE TABLE ic (id int PRIMARY KEY, a int, b int, n numeric(8, 2), t text, d date);
INSERT INTO ic
SELECT i, i * 7 % 500, nullif(i % 11, 3), (i % 300) / 4.0, CASE WHEN i % 9 <> 0 THEN 'text ' || i % 50 END,
       DATE '2020-01-01' + i % 700
FROM generate_series(1, 12000) AS i;
CREATE INDEX ON ic (a, b);
CREATE INDEX ON ic (d DESC);
ANALYZE ic;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT sum(n) FROM ic WHERE a BETWEEN 5 AND 60 AND b < 7 AND t > 'text 2';

SELECT count(*), sum(n), min(t), max(t), count(b), sum(id) FROM ic WHERE a BETWEEN 5 AND 60 AND b < 7;
SELECT b, count(*), sum(n), avg(id) FROM ic WHERE d BETWEEN '2020-03-01' AND '2020-09-30' AND t > 'text 2' GROUP BY b ORDER BY b;
SELECT array_agg(id) FROM (SELECT id FROM ic WHERE a BETWEEN 5 AND 6 AND b IS NOT NULL) AS s;
SELECT string_agg(t, ',') FROM ic WHERE a IN (3, 5, 4) AND b < 4;
SELECT array_agg(id) FROM ic WHERE d BETWEEN '2020-03-01' AND '2020-03-03' AND n > 20;
SELECT count(*), sum(length(t)) FROM ic WHERE b = 7;
SELECT x.id, y.id, y.t FROM ic AS x JOIN ic AS y ON x.b = y.b AND x.n = y.n WHERE x.a < 3 AND y.a > 496 ORDER BY 1, 2 LIMIT 12;
SELECT a, (SELECT sum(n) FROM ic AS i WHERE i.a BETWEEN o.a AND o.a + 3 AND i.b > 2) FROM ic AS o WHERE d = '2020-02-02' ORDER BY id;

-- An error comes when its row does
SELECT sum(100 / (b - 1)) FROM ic WHERE a BETWEEN 2 AND 9;
SELECT count(*) FROM ic WHERE a BETWEEN 2 AND 9 AND 100 / (b - 1) > 3;
SELECT sum(100 / (b - 1)), count(*) FROM ic WHERE a BETWEEN 2 AND 9 AND b <> 1;
SELECT EXISTS (SELECT FROM ic AS x JOIN ic AS y USING (b) WHERE x.a BETWEEN 2 AND 40 AND y.a BETWEEN 50 AND 90 AND 100 / (y.id - 5007) < 5);

-- What this transaction has changed
BEGIN;
UPDATE ic SET a = a + 500, n = n + 1 WHERE id % 40 = 0;
DELETE FROM ic WHERE id % 40 = 1;
INSERT INTO ic SELECT 20000 + i, 77, 1, NULL, repeat('long', 30 * i), NULL FROM generate_series(1, 100) AS i;
SELECT count(*), sum(n), max(length(t)), sum(id) FROM ic WHERE a BETWEEN 60 AND 90;
SELECT count(*), sum(n), max(length(t)), sum(id) FROM ic WHERE a BETWEEN 560 AND 590;
DECLARE c CURSOR FOR SELECT count(*), sum(n), sum(id) FROM ic WHERE a BETWEEN 560 AND 590;
SAVEPOINT s;
UPDATE ic SET a = a - 500 WHERE a > 500;
FETCH c;
DECLARE d CURSOR FOR SELECT count(*), sum(n), sum(id) FROM ic WHERE a BETWEEN 60 AND 90;
UPDATE ic SET a = a + 20 WHERE a < 70;
FETCH d;
UPDATE ic SET a = a - 20 WHERE a < 90 AND id % 40 = 0;
SELECT count(*), sum(n), sum(id) FROM ic WHERE a BETWEEN 60 AND 90;
SELECT count(*), sum(n), sum(id) FROM ic WHERE a >= 500;
ROLLBACK TO s;
SELECT count(*), sum(n), sum(id) FROM ic WHERE a BETWEEN 60 AND 90;
SELECT count(*), sum(n), sum(id) FROM ic WHERE a >= 500;
ROLLBACK;
SELECT count(*), sum(n), sum(id) FROM ic WHERE a BETWEEN 60 AND 90;

-- UNION ALL, of like things and of others
SELECT count(*), sum(x), min(t), max(t) FROM (
    SELECT id AS x, t FROM ic WHERE a BETWEEN 10 AND 30
    UNION ALL SELECT a, 'two ' || b FROM ic WHERE d > '2021-06-01'
    UNION ALL SELECT b, t FROM ic WHERE a = 400) AS u;
SELECT x % 5, count(*), sum(x) FROM (
    SELECT n AS x FROM ic WHERE a BETWEEN 10 AND 30
    UNION ALL SELECT id + 0.125 FROM ic WHERE a BETWEEN 20 AND 40
    UNION ALL SELECT * FROM (VALUES (1.5), (NULL)) AS v) AS u GROUP BY 1 ORDER BY 1 LIMIT 9;
SELECT u.t, count(*) FROM (SELECT b, t FROM ic WHERE a < 9 UNION ALL SELECT a, 'z' FROM ic WHERE a < 5) AS u JOIN ic ON ic.id = u.b AND ic.a < 300 GROUP BY 1 ORDER BY 1 NULLS LAST LIMIT 5;
SELECT sum(1 / x) FROM (SELECT b AS x FROM ic WHERE a = 3 AND b <> 0 UNION ALL SELECT b FROM ic WHERE a BETWEEN 9 AND 20) AS u;

-- Partitions: of several layouts, without rows, gone, with rows that are too old for a column
RESET enable_seqscan;
RESET enable_bitmapscan;
CREATE TABLE pc (id int, k int, n numeric, t text) PARTITION BY RANGE (k);
CREATE TABLE pc1 PARTITION OF pc FOR VALUES FROM (0) TO (100);
CREATE TABLE pc2 (t text, gone int, n numeric, k int, id int);
ALTER TABLE pc2 DROP gone;
ALTER TABLE pc ATTACH PARTITION pc2 FOR VALUES FROM (100) TO (200);
CREATE TABLE pc3 PARTITION OF pc FOR VALUES FROM (200) TO (300) PARTITION BY LIST (id);
CREATE TABLE pc3a PARTITION OF pc3 FOR VALUES IN (1, 2, 3);
CREATE TABLE pc3b PARTITION OF pc3 DEFAULT;
CREATE TABLE pc4 PARTITION OF pc FOR VALUES FROM (300) TO (400);
INSERT INTO pc SELECT i, i % 300, i / 8.0, 'text ' || i % 30 FROM generate_series(1, 9000) AS i;
CREATE INDEX ON pc (id);
ALTER TABLE pc ADD later int DEFAULT 7;
INSERT INTO pc VALUES (9001, 150, 1, NULL, 8), (9002, NULLIF(5, 6), NULL, 'new', NULL);
ANALYZE pc;
SELECT count(*), sum(n), min(t), max(t), sum(later) FROM pc WHERE id % 3 <> 1;
SELECT later, t, count(*), sum(n) FROM pc WHERE k BETWEEN 90 AND 210 GROUP BY later, t ORDER BY later, t LIMIT 5;
SELECT count(*), sum(x.n + y.n) FROM pc AS x JOIN pc AS y ON x.id = y.k AND x.t = y.t;
SELECT tableoid::regclass, count(*), sum(n) FROM pc GROUP BY 1 ORDER BY 1;
SELECT sum(n / (k - 120)) FROM pc;
SELECT sum(n / (k - 120)) FROM pc WHERE k < 120 OR k > 125;
SELECT k, id FROM pc WHERE id > 8990 ORDER BY k, id LIMIT 4;
SELECT o.id, (SELECT sum(n) FROM pc WHERE pc.k BETWEEN o.id AND o.id * 60) FROM (VALUES (1), (2), (3), (9)) AS o (id);
PREPARE p AS SELECT count(*), sum(n) FROM pc WHERE k >= $1 AND k < $2;
EXECUTE p (0, 100);
EXECUTE p (50, 250);
EXECUTE p (350, 370);
ALTER TABLE pc DETACH PARTITION pc2;
EXECUTE p (50, 250);
DROP TABLE ic, pc, pc2;
