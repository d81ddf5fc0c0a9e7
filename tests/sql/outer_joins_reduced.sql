-- Outer joins that conditions make inner, one-sided or anti joins; joins that change nothing.
-- PostgreSQL 15 differs: it keeps tests of NOT NULL columns
CREATE TABLE oj_a (id int PRIMARY KEY, x int, y int, k int NOT NULL);
CREATE TABLE oj_b (id int PRIMARY KEY, aid int, v int, w int NOT NULL);
CREATE TABLE oj_u (id int PRIMARY KEY, x int UNIQUE NOT NULL, y int UNIQUE, n int);
CREATE TABLE oj_d (id int UNIQUE DEFERRABLE, x int);
INSERT INTO oj_a VALUES (1, 1, NULL, 0), (2, 2, 2, 1), (3, NULL, 3, 0), (4, 2, NULL, 1), (5, 7, 1, 0);
INSERT INTO oj_b VALUES (1, 1, NULL, 1), (2, 1, 5, 2), (3, 4, 6, 3), (4, NULL, 7, 4), (5, 9, NULL, 5);
INSERT INTO oj_u SELECT i, i * 2, CASE WHEN i <> 3 THEN i END, i % 2 FROM generate_series(1, 6) i;
INSERT INTO oj_d VALUES (1, 1), (2, 2);
ANALYZE oj_a, oj_b, oj_u, oj_d;
SET enable_mergejoin = off; SET enable_nestloop = off;
-- Padded rows do not pass.
EXPLAIN (COSTS OFF) SELECT * FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE v > 3;
EXPLAIN (COSTS OFF) SELECT * FROM oj_a FULL JOIN oj_b ON aid = oj_a.id WHERE v > 3 AND oj_a.k = 1;
SELECT oj_a.id, oj_b.id FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE v > 3 ORDER BY 1, 2;
SELECT oj_a.id, oj_b.id FROM oj_a RIGHT JOIN oj_b ON aid = oj_a.id WHERE oj_a.k >= 0 ORDER BY 1, 2;
SELECT oj_a.id, oj_b.id FROM oj_a FULL JOIN oj_b ON aid = oj_a.id WHERE oj_a.k >= 0 ORDER BY 1, 2;
SELECT oj_a.id, oj_b.id FROM oj_a FULL JOIN oj_b ON aid = oj_a.id WHERE oj_b.w >= 0 ORDER BY 1, 2;
SELECT oj_a.id, oj_b.id FROM oj_a FULL JOIN oj_b ON aid = oj_a.id WHERE oj_a.k + oj_b.w > 1 ORDER BY 1, 2;
-- Conditions that padded rows pass.
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE coalesce(v, 9) > 5 ORDER BY 1, 2;
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE v > 5 OR k = 1 ORDER BY 1, 2;
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE (v > 5) IS NOT TRUE ORDER BY 1, 2;
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE NOT (v > 5 AND k = 1) ORDER BY 1, 2;
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE v > ALL (ARRAY[]::int[]) ORDER BY 1, 2;
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE NOT (v = ANY (ARRAY[]::int[])) ORDER BY 1, 2;
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE v > 5 OR w < 2 ORDER BY 1, 2;
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE (v > 5 OR w < 2) AND oj_b IS NOT NULL ORDER BY 1, 2;
-- Only padded rows pass.
EXPLAIN (COSTS OFF) SELECT * FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE aid IS NULL;
SELECT oj_a.id, oj_b.*, oj_b, w + 1 FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE aid IS NULL ORDER BY 1, w;
SELECT oj_a.id, count(w), coalesce(v, 0) FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE aid IS NULL GROUP BY oj_a.id, v ORDER BY 1;
SELECT oj_a.id, v FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE v IS NULL ORDER BY 1;
SELECT oj_a.id, oj_b.id, oj_u.id FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id LEFT JOIN oj_u ON coalesce(oj_b.w, 2) = oj_u.x WHERE aid IS NULL ORDER BY 1;
SELECT oj_u.id, q.id, w FROM oj_u LEFT JOIN (SELECT oj_a.id, w FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE aid IS NULL) q ON q.id = oj_u.id ORDER BY 1;
SELECT oj_a.id, l.* FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id, LATERAL (SELECT oj_b.w, oj_a.k LIMIT 1) l WHERE aid IS NULL ORDER BY 1;
-- A unique right side that nothing reads.
EXPLAIN (COSTS OFF) SELECT oj_a.* FROM oj_a LEFT JOIN oj_u ON oj_u.x = oj_a.id LEFT JOIN oj_b ON oj_b.id = oj_u.n;
EXPLAIN (COSTS OFF) SELECT oj_a.* FROM oj_a LEFT JOIN (SELECT DISTINCT v FROM oj_b) s ON s.v = oj_a.x;
EXPLAIN (COSTS OFF) SELECT oj_a.* FROM oj_a LEFT JOIN (SELECT v, count(*) AS n FROM oj_b GROUP BY v) s ON s.v = oj_a.x AND n > 1;
EXPLAIN (COSTS OFF) SELECT oj_a.* FROM oj_a LEFT JOIN oj_d ON oj_d.id = oj_a.id;
SELECT oj_a.id FROM oj_a LEFT JOIN oj_u ON oj_u.x = oj_a.id AND 1 / (oj_u.id - oj_u.id) = 1 ORDER BY 1;
SELECT oj_a.id FROM oj_a LEFT JOIN oj_u ON oj_u.y = oj_a.id AND oj_u.n > 0 ORDER BY 1;
SELECT oj_a.id FROM oj_a LEFT JOIN oj_u ON oj_u.y < oj_a.id ORDER BY 1;
SELECT count(*) FROM oj_a LEFT JOIN (SELECT v FROM oj_b UNION SELECT w FROM oj_b) s ON s.v = oj_a.x;
SELECT count(*) FROM oj_a LEFT JOIN (SELECT v FROM oj_b UNION ALL SELECT w FROM oj_b) s ON s.v = oj_a.k;
-- A semi join with a unique right side.
EXPLAIN (COSTS OFF) SELECT * FROM oj_a WHERE y = 3 AND x IN (SELECT x FROM oj_u);
SELECT * FROM oj_a WHERE x IN (SELECT x FROM oj_u) ORDER BY id;
SELECT * FROM oj_a WHERE EXISTS (SELECT FROM oj_u WHERE oj_u.id = oj_a.k AND n = 1) ORDER BY id;
-- Columns that are never NULL.
EXPLAIN (COSTS OFF) SELECT * FROM oj_a WHERE k IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT * FROM oj_a WHERE k IS NULL;
EXPLAIN (COSTS OFF) SELECT * FROM oj_a WHERE k IS NULL OR id IS NULL;
EXPLAIN (COSTS OFF) SELECT * FROM oj_a WHERE k IS NULL OR x = 2;
SELECT oj_a.id, w FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id AND w IS NOT NULL WHERE w IS NULL ORDER BY 1;
SELECT oj_a.id, w FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id AND w IS NULL ORDER BY 1;
SELECT oj_a.id, w FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE w IS NULL ORDER BY 1;
SELECT oj_a.id, w FROM oj_a LEFT JOIN oj_b ON aid = oj_a.id WHERE w IS NOT NULL OR k = 1 ORDER BY 1, 2;
-- Changes.
UPDATE oj_a SET y = 10 + coalesce(q.v, 0) FROM oj_u LEFT JOIN oj_b q ON q.id = oj_u.id WHERE oj_u.id = oj_a.id AND q.w > 3 RETURNING oj_a.*, q.w;
UPDATE oj_a SET y = coalesce(q.w, -1) FROM oj_u LEFT JOIN oj_b q ON q.id = oj_u.n WHERE oj_u.id = oj_a.id AND q.id IS NULL RETURNING oj_a.*, q.w;
DELETE FROM oj_a USING oj_u LEFT JOIN oj_b q ON q.id = oj_u.id WHERE oj_u.id = oj_a.id AND oj_u.n = 1 RETURNING oj_a.id;
DROP TABLE oj_a, oj_b, oj_u, oj_d;
