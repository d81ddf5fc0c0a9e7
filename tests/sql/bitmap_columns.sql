-- Rows of bitmaps, handed up as columns: whatever is above, the rows, their order and the first
-- error are the same.
-- Views that PostgreSQL reads back as others, too: 2
CREATE TABLE bc (id int PRIMARY KEY, a int, b int, n numeric(8, 2), t text, d date);
INSERT INTO bc
SELECT i, i * 7 % 500, nullif(i % 11, 3), (i % 300) / 4.0, CASE WHEN i % 9 <> 0 THEN 'text ' || i % 50 END,
       DATE '2020-01-01' + i % 700
FROM generate_series(1, 12000) AS i;
CREATE INDEX ON bc (a);
CREATE INDEX ON bc (d);
ANALYZE bc;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT sum(n) FROM bc WHERE a BETWEEN 5 AND 60 AND b < 7;

SELECT count(*), sum(n), min(t), max(t), count(b), sum(id) FROM bc WHERE a BETWEEN 5 AND 60 AND b < 7;
SELECT b, count(*), sum(n), avg(id) FROM bc WHERE d BETWEEN '2020-03-01' AND '2020-09-30' AND t > 'text 2' GROUP BY b ORDER BY b;
SELECT id, t, n * 2 FROM bc WHERE a = 5 OR a = 7 LIMIT 6;
SELECT x.id, y.id, y.t FROM bc AS x JOIN bc AS y ON x.b = y.b AND x.n = y.n WHERE x.a < 3 AND y.a > 496 ORDER BY 1, 2 LIMIT 12;
SELECT a, (SELECT sum(n) FROM bc AS i WHERE i.a = o.a AND i.b > 2), EXISTS (SELECT FROM bc AS i WHERE i.a = o.a + 490) FROM bc AS o WHERE d = '2020-02-02' ORDER BY id;

-- An error comes when its row does
SELECT id, 100 / (b - 1) FROM bc WHERE a = 2 LIMIT 2;
SELECT id, 100 / (b - 1) FROM bc WHERE a = 2 LIMIT 9;
SELECT sum(100 / (b - 1)) FROM bc WHERE a = 2;
SELECT count(*) FROM bc WHERE a = 2 AND 100 / (b - 1) > 3;
SELECT count(*) FROM bc WHERE a = 2 AND b <> 1 AND 100 / (b - 1) > 3;
BEGIN;
DECLARE c CURSOR FOR SELECT id, 100 / (b - 1) FROM bc WHERE a = 2;
FETCH 1 FROM c;
FETCH 1 FROM c;
FETCH 30 FROM c;
ROLLBACK;

-- What this transaction has changed, and what it has not seen when the cursor was opened
BEGIN;
UPDATE bc SET a = 77, n = n + 1 WHERE id % 400 = 0;
DELETE FROM bc WHERE id % 400 = 1;
INSERT INTO bc VALUES (20001, 77, 1, NULL, repeat('long', 3000), NULL);
SELECT count(*), sum(n), max(length(t)), sum(id) FROM bc WHERE a = 77 OR a = 7 AND b > 1;
DECLARE c CURSOR FOR SELECT id, n, length(t) FROM bc WHERE a = 77 AND id > 9000 ORDER BY id;
UPDATE bc SET a = 78 WHERE a = 77;
SELECT count(*), sum(n) FROM bc WHERE a = 77;
SELECT count(*), sum(n) FROM bc WHERE a BETWEEN 77 AND 78;
FETCH ALL FROM c;
SAVEPOINT s;
DELETE FROM bc WHERE a = 78;
SELECT count(*), sum(n) FROM bc WHERE a BETWEEN 77 AND 78;
ROLLBACK TO s;
SELECT count(*), sum(n) FROM bc WHERE a BETWEEN 77 AND 78;
ROLLBACK;
SELECT count(*), sum(n) FROM bc WHERE a BETWEEN 77 AND 78;

-- Columns that rows are too old to have
ALTER TABLE bc ADD COLUMN later int DEFAULT 5, DROP COLUMN t;
INSERT INTO bc VALUES (20002, 77, 1, 2.5, NULL, 6);
SELECT later, count(*), sum(n), sum(later) FROM bc WHERE a BETWEEN 77 AND 80 GROUP BY later ORDER BY later;

-- So little memory that blocks are lossy, and others are not
CREATE TABLE many (id int, a int, b int);
INSERT INTO many SELECT i, i / 1000 * 7919 % 500, i % 10 FROM generate_series(1, 420000) AS i;
CREATE INDEX ON many (a);
CREATE INDEX ON many (b);
ANALYZE many;
SET work_mem = '64kB';
SELECT count(*), sum(id), min(a), max(a) FROM many WHERE b = 3;
SELECT count(*), sum(id), min(a), max(a) FROM many WHERE b = 3 OR a = 400;
SELECT count(*), sum(id) FROM many WHERE b < 8 AND a > 200 AND id % 3 = 0;
SELECT id, a FROM many WHERE b = 3 AND a > 490 ORDER BY id LIMIT 3;
SELECT id / (b - 3) FROM many WHERE b IN (2, 3) LIMIT 1;
SELECT id / (b - 3) FROM many WHERE b IN (2, 3) LIMIT 2;
RESET work_mem;
DROP TABLE bc, many;
