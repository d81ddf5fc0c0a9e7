-- Bitmap scans: which indexes, how they are combined, and what is looked at again.
-- Views that PostgreSQL reads back as others, too: 3
CREATE TABLE bt (id int PRIMARY KEY, a int, b int, c int, pad text);
INSERT INTO bt SELECT i, i * 7 % 500, i * 13 % 400, i % 10, repeat('x', 80) FROM generate_series(1, 20000) AS i;
CREATE INDEX ON bt (a);
CREATE INDEX ON bt (b);
ANALYZE bt;

EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE a = 5;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE a = 5 AND b = 7;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE a = 5 OR b = 7;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE a BETWEEN 5 AND 10 AND b BETWEEN 7 AND 20;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE (a = 5 AND c = 3) OR (b = 7 AND c = 4);
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE a IN (5, 6, 7);
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE id BETWEEN 5 AND 100;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE id BETWEEN 5 AND 100 OR id BETWEEN 1000 AND 1100;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE id < 15000;

SELECT count(*), sum(id) FROM bt WHERE a = 5 OR b = 7;
SELECT count(*), sum(id) FROM bt WHERE (a = 5 AND c = 3) OR (b = 7 AND c = 4);
SELECT id FROM bt WHERE a BETWEEN 5 AND 60 AND b BETWEEN 7 AND 20 ORDER BY id LIMIT 5;

-- Without one or the other
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE id = 5 OR id = 7 AND c = 7;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE a = 5;
RESET enable_bitmapscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM bt WHERE a < 400;

-- With little memory
SET work_mem = '64kB';
SELECT count(*), sum(id), min(a), max(a) FROM bt WHERE a < 400;
SELECT count(*), sum(id) FROM bt WHERE a < 400 AND b > 30 AND c = 3;
SELECT count(*), sum(id) FROM bt WHERE a < 400 OR b > 300;
RESET work_mem;

-- Versions: what a transaction has changed itself, what others have not seen
BEGIN;
UPDATE bt SET a = -1 WHERE id <= 10;
SELECT id, a FROM bt WHERE a < 0 OR b < 0 ORDER BY id;
SELECT count(*) FROM bt WHERE a IN (7, 14, 21);
DELETE FROM bt WHERE a = -1 AND id > 5;
SELECT id FROM bt WHERE a = -1 ORDER BY id;
ROLLBACK;
SELECT count(*) FROM bt WHERE a = -1 OR a = 7;
SELECT id FROM bt WHERE a = 7 OR b = 13 ORDER BY id LIMIT 3 FOR UPDATE;

-- The inner side of a join
EXPLAIN (COSTS OFF)
SELECT * FROM (VALUES (5, 7), (6, 8)) AS v (x, y), bt WHERE bt.a = v.x OR bt.b = v.y;
SELECT count(*), sum(id) FROM (VALUES (5, 7), (6, 8)) AS v (x, y), bt WHERE bt.a = v.x OR bt.b = v.y;

-- Each leaf by its own indexes
CREATE TABLE pt (id int, a int, b int) PARTITION BY LIST (b);
CREATE TABLE pt1 PARTITION OF pt FOR VALUES IN (1);
CREATE TABLE pt2 (b int, gone int, a int, id int);
ALTER TABLE pt2 DROP gone;
ALTER TABLE pt ATTACH PARTITION pt2 FOR VALUES IN (2);
CREATE INDEX ON pt (a);
CREATE INDEX ON pt (id);
INSERT INTO pt SELECT i, i * 7 % 500, 1 + i % 2 FROM generate_series(1, 2000) AS i;
ANALYZE pt;
EXPLAIN (COSTS OFF) SELECT * FROM pt WHERE a = 5 OR id = 7;
SELECT * FROM pt WHERE a = 5 OR id = 7 ORDER BY id;
DROP TABLE bt, pt;
