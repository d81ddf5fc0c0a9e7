-- Ends of indexes: min and max beside other things, and UNION merged in the order of its inputs.
-- Views that PostgreSQL reads back as others, too: 14
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t (id int PRIMARY KEY, k int, v int);
INSERT INTO t SELECT i, i * 7 % 1000, i * 31 % 50 FROM generate_series(1, 10000) AS i;
CREATE INDEX t_k ON t (k, id);
CREATE TABLE u (id int PRIMARY KEY, x int NOT NULL);
INSERT INTO u SELECT i, i * 3 % 100 FROM generate_series(1, 10000) AS i;
CREATE INDEX u_x ON u (x, id);
CREATE TABLE none (id int PRIMARY KEY);
ANALYZE t;
ANALYZE u;
-- PostgreSQL 15 differs: it looks for NULLs in a key
EXPLAIN (COSTS OFF) SELECT min(id), 5, now() IS NULL FROM t;
SELECT min(id), max(k), min(k) + max(id), 5 FROM t;
SELECT min(k), (SELECT count(*) FROM u), (SELECT max(id) FROM none) FROM t;
SELECT min(k), (SELECT count(*) FROM u WHERE u.id < min(t.k) + 3) FROM t;
SELECT min(k), max(id) FROM t WHERE v < 10 AND k > 3;
SELECT min(k) FROM t HAVING max(k) > 3;
SELECT min(k) FROM t HAVING max(k) > 3000;
SELECT max(id), min(id), 1 FROM none HAVING min(id) IS NULL;
SELECT max(id) FROM t WHERE k = 5000;
SELECT count(*), min(id) FROM t;
SELECT (SELECT min(id) FROM t WHERE t.k > u.x) FROM u WHERE u.id IN (3, 4);
SELECT min(id) FROM t WHERE id IN (SELECT max(id) FROM u);

EXPLAIN (COSTS OFF) SELECT id, k FROM t UNION ALL SELECT id, x FROM u ORDER BY id LIMIT 5;
SELECT id, k FROM t UNION ALL SELECT id, x FROM u ORDER BY id, k LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT id, k FROM t UNION ALL SELECT id, x FROM u) AS s WHERE k > 5 ORDER BY id LIMIT 5;
SELECT * FROM (SELECT id, k FROM t UNION ALL SELECT id, x FROM u) AS s WHERE k > 90 ORDER BY id DESC, k LIMIT 5;
SELECT id + 1, k FROM (SELECT id, k FROM t UNION ALL SELECT id, x FROM u UNION ALL SELECT 0, NULL) AS s ORDER BY k NULLS FIRST, id OFFSET 1 LIMIT 3;
SELECT k FROM t UNION ALL SELECT x FROM u ORDER BY 1 FETCH FIRST 3 ROWS WITH TIES;
SELECT id, k FROM t UNION SELECT id, x FROM u UNION ALL SELECT 1, 7 ORDER BY 1, 2 LIMIT 4;
SELECT k FROM t UNION SELECT x FROM u ORDER BY 1 DESC OFFSET 3 LIMIT 4;
SELECT k FROM t UNION SELECT x FROM u UNION SELECT v FROM t ORDER BY 1 LIMIT 4;
SELECT x FROM u UNION ALL SELECT k::bigint FROM t ORDER BY 1 DESC LIMIT 2;
(SELECT k FROM t ORDER BY k DESC LIMIT 2) UNION ALL SELECT x FROM u ORDER BY 1 DESC LIMIT 3;
PREPARE p(int, int) AS SELECT id FROM t UNION ALL SELECT id FROM u ORDER BY 1 OFFSET $1 LIMIT $2;
EXECUTE p(1, 3);
EXECUTE p(0, 0);
EXECUTE p(0, -1);
