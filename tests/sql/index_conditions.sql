-- What an index decides beyond its first range: rows, arrays, later columns, columns stepped over.
CREATE TABLE ic (k int, id int PRIMARY KEY, c int, flag boolean, pad text);
CREATE INDEX ic_k_id ON ic (k, id);
INSERT INTO ic SELECT i * 7 % 100, i, i % 10, i % 50 = 0, repeat('x', 100) FROM generate_series(1, 20000) AS i;
ANALYZE ic;

-- Keyset paging
EXPLAIN (COSTS OFF) SELECT k, id FROM ic WHERE (k, id) > (50, 1000) ORDER BY k, id LIMIT 3;
SELECT k, id FROM ic WHERE (k, id) > (50, 1000) ORDER BY k, id LIMIT 3;
EXPLAIN (COSTS OFF) SELECT k, id, pad FROM ic WHERE (k, id) <= (50, 1000) ORDER BY k DESC, id DESC LIMIT 3;
SELECT k, id FROM ic WHERE (k, id) <= (50, 1000) ORDER BY k DESC, id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id, pad FROM ic WHERE k = 5 AND (k, id) >= (5, 2000) ORDER BY id LIMIT 3;
SELECT id FROM ic WHERE k = 5 AND (k, id) >= (5, 2000) ORDER BY id LIMIT 3;
SELECT k, id FROM ic WHERE (k, id) > (99, 5000000000) ORDER BY k, id LIMIT 3;
SELECT k, id FROM ic WHERE (k, id) > (98, -5000000000) AND (k, id) < (98, 600) ORDER BY k, id;
SELECT count(*) FROM ic WHERE (k, id) > (98, NULL);

-- Arrays keep the order of the index
EXPLAIN (COSTS OFF) SELECT k, id, pad FROM ic WHERE k IN (7, 5, 6) ORDER BY k, id LIMIT 4;
SELECT k, id FROM ic WHERE k IN (7, 5, 6) AND id IN (15, 11, 3, 8) ORDER BY k DESC, id DESC;
EXPLAIN (COSTS OFF) SELECT k, id, pad FROM ic WHERE k IN (5, 6, 7) AND id BETWEEN 5 AND 60;
SELECT k, id FROM ic WHERE k IN (5, 6, 7) AND id BETWEEN 5 AND 300 ORDER BY k, id;

-- A column that is stepped over
CREATE INDEX ic_c_pad ON ic (flag, c, k);
ANALYZE ic;
EXPLAIN (COSTS OFF) SELECT flag, c, k FROM ic WHERE c = 3 AND k = 21;
SELECT count(*), min(flag::int) FROM ic WHERE c = 3 AND k = 21;
SELECT count(*) FROM ic WHERE flag AND k BETWEEN 3 AND 60;
DROP TABLE ic;

-- NULLs and directions
CREATE TABLE nd (a int, b int, c numeric);
INSERT INTO nd SELECT nullif(i % 7, 3), nullif(i % 5, 2), nullif(i % 4, 1) FROM generate_series(1, 140) AS i;
CREATE INDEX nd_mixed ON nd (a, b DESC, c);
CREATE INDEX nd_first ON nd (b NULLS FIRST, a DESC NULLS LAST);
SET enable_seqscan = off;
SELECT a, b, c, count(*) FROM nd WHERE (a, b, c) > (4, 1, 2) GROUP BY a, b, c ORDER BY a, b, c;
SELECT a, b, count(*) FROM nd WHERE (b, a) <= (1, 2) GROUP BY a, b ORDER BY b, a;
SELECT a, b, count(*) FROM nd WHERE (b, a) <= (1, NULL) GROUP BY a, b ORDER BY b, a;
SELECT a, b, count(*) FROM nd WHERE b IS NULL AND (a, c) > (4, 0) GROUP BY a, b ORDER BY b, a;
SELECT count(*) FROM nd WHERE a IN (1, 2, NULL) AND c IS NOT NULL AND b IS NULL;
SELECT count(*) FROM nd WHERE a > 2 AND c IN (2, 3) AND b >= 1;
DROP TABLE nd;
