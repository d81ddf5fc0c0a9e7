-- Sub-selects and VALUES in FROM that are merged, also those that refer to what they stand beside.
-- PostgreSQL 15 differs: it joins to a sub-select without FROM that has a WHERE
CREATE TABLE lm_a (id int PRIMARY KEY, x int, k int NOT NULL);
CREATE TABLE lm_b (id int PRIMARY KEY, aid int, v int);
INSERT INTO lm_a VALUES (1, 1, 0), (2, NULL, 1), (3, 7, 0), (4, 2, 2);
INSERT INTO lm_b VALUES (1, 1, 5), (2, 1, NULL), (3, 4, 0), (4, NULL, 7), (5, 3, 2);
ANALYZE lm_a, lm_b;
SET enable_mergejoin = off; SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT * FROM lm_a, LATERAL (SELECT lm_a.x + 1 AS z) l;
EXPLAIN (COSTS OFF) SELECT * FROM lm_a, LATERAL (VALUES (lm_a.x + 1, lm_a.k)) l (y, z) WHERE z > 0;
EXPLAIN (COSTS OFF) SELECT * FROM lm_a LEFT JOIN LATERAL (SELECT lm_a.x + 1 AS z) l ON true;
EXPLAIN (COSTS OFF) SELECT * FROM lm_a, LATERAL (SELECT lm_a.x + 1 AS z WHERE lm_a.k = 0) l WHERE z > 2;
EXPLAIN (COSTS OFF) SELECT * FROM (VALUES (1, 2)) l (y, z);
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT 3 AS z) l JOIN lm_a ON k = z;
SELECT * FROM lm_a, LATERAL (SELECT lm_a.x + 1 AS z) l ORDER BY id;
SELECT * FROM lm_a, LATERAL (VALUES (lm_a.x + 1, lm_a.k)) l (y, z) WHERE z > 0 ORDER BY id;
SELECT * FROM lm_a, LATERAL (VALUES (lm_a.x), (lm_a.k)) l (y), lm_b WHERE lm_b.id = y ORDER BY 1, 4, 5;
SELECT * FROM lm_a LEFT JOIN LATERAL (SELECT lm_a.x + 1 AS z) l ON true ORDER BY id;
SELECT * FROM lm_a LEFT JOIN LATERAL (SELECT lm_a.x + 1 AS z) l ON lm_a.k = 0 ORDER BY id;
SELECT * FROM lm_a LEFT JOIN LATERAL (SELECT lm_a.x + 1 AS z WHERE lm_a.k = 0) l ON true ORDER BY id;
SELECT * FROM lm_a LEFT JOIN (SELECT 1 AS one) l ON one = k ORDER BY id;
SELECT * FROM (SELECT 1 AS one) l LEFT JOIN lm_a ON one = k;
SELECT * FROM (SELECT 1 AS one) l FULL JOIN lm_a ON one = k ORDER BY id;
SELECT * FROM (SELECT 1 AS one WHERE false) l RIGHT JOIN lm_a ON one = k ORDER BY id;
SELECT count(*), max(s) FROM (SELECT 4 AS s) l;
SELECT * FROM (SELECT 1 AS one) l WHERE one IN (SELECT k FROM lm_a);
-- The select list where rows are padded.
SELECT lm_a.id, s FROM lm_a LEFT JOIN (SELECT aid, v + 1 AS s FROM lm_b) l ON aid = lm_a.id ORDER BY 1, 2;
SELECT lm_a.id, s FROM lm_a LEFT JOIN (SELECT aid, coalesce(v, 9) AS s FROM lm_b) l ON aid = lm_a.id ORDER BY 1, 2;
SELECT lm_a.id, s FROM lm_a LEFT JOIN (SELECT aid, 9 AS s FROM lm_b) l ON aid = lm_a.id ORDER BY 1, 2;
SELECT lm_a.id, s, l FROM lm_a LEFT JOIN (SELECT aid, v + 1 AS s FROM lm_b WHERE v > 0) l ON aid = lm_a.id AND s < 7 ORDER BY 1, 2;
SELECT lm_a.id, s FROM lm_a LEFT JOIN (SELECT aid, v + 1 AS s FROM lm_b) l ON aid = lm_a.id WHERE s IS NULL ORDER BY 1;
SELECT lm_a.id, s FROM lm_a LEFT JOIN LATERAL (SELECT lm_a.x + v AS s FROM lm_b WHERE aid = lm_a.id) l ON true ORDER BY 1, 2;
SELECT lm_a.id, s FROM lm_a LEFT JOIN LATERAL (SELECT lm_a.x + lm_a.k AS s FROM lm_b WHERE aid = lm_a.id) l ON true ORDER BY 1, 2;
SELECT lm_a.id, s FROM lm_a LEFT JOIN (SELECT aid, 10 / v AS s FROM lm_b) l ON aid = lm_a.id AND v > 0 ORDER BY 1, 2;
SELECT lm_a.id, s FROM lm_a LEFT JOIN (SELECT aid, 10 / v AS s FROM lm_b) l ON aid = lm_a.id ORDER BY 1, 2;
-- Outer joins, sub-selects and functions inside.
SELECT * FROM lm_a, LATERAL (SELECT b.id, c.v FROM lm_b b LEFT JOIN lm_b c ON c.id = b.id AND c.v > lm_a.k WHERE b.aid = lm_a.id) l ORDER BY 1, 4;
SELECT * FROM lm_a, LATERAL (SELECT b.id, c.n FROM lm_b b, (SELECT count(*) AS n FROM lm_b c WHERE c.aid = lm_a.id) c WHERE b.aid = lm_a.id) l ORDER BY 1, 4;
SELECT * FROM lm_a, LATERAL (SELECT b.id, g FROM lm_b b, generate_series(1, lm_a.k) g WHERE b.aid = lm_a.id) l ORDER BY 1, 4, 5;
SELECT * FROM lm_a, LATERAL (SELECT b.id FROM lm_b b WHERE EXISTS (SELECT FROM lm_b c WHERE c.aid = lm_a.id AND c.v = b.v)) l ORDER BY 1, 4;
SELECT * FROM lm_a, LATERAL (SELECT * FROM (SELECT lm_a.k + b.v AS s FROM lm_b b WHERE b.aid = lm_a.id) i, LATERAL (VALUES (s, lm_a.x)) j (y, z)) l ORDER BY 1, 4;
SELECT lm_a.id, l.* FROM lm_a LEFT JOIN lm_b ON aid = lm_a.id LEFT JOIN LATERAL (VALUES (lm_a.x, lm_b.v), (7, 7)) l (y, z) ON y = lm_a.k + 1 WHERE z IS NULL ORDER BY 1;
-- What joins to nothing but such an item comes after it.
SELECT * FROM lm_b, lm_a, LATERAL (SELECT b.id FROM lm_b b WHERE b.aid = lm_a.id OFFSET 0) l WHERE lm_b.id = l.id ORDER BY 1;
SELECT * FROM lm_a JOIN LATERAL (SELECT b.id, c.v FROM lm_b b LEFT JOIN lm_b c ON c.id = b.id AND c.v > lm_a.k WHERE b.aid = lm_a.id) l ON true JOIN lm_b ON lm_b.id = l.v ORDER BY 1, 4;
-- Volatile functions and sets are not merged.
CREATE SEQUENCE lm_s;
SELECT z, z FROM lm_a, LATERAL (SELECT nextval('lm_s') AS z) l WHERE id = 1 ORDER BY 1;
SELECT z, z FROM (VALUES (nextval('lm_s'))) l (z);
SELECT id, z FROM lm_a, LATERAL (SELECT generate_series(1, k) AS z) l ORDER BY 1, 2;
SELECT y, z, grouping(y), grouping(z) FROM lm_a, LATERAL (VALUES (k, k)) l (y, z) GROUP BY GROUPING SETS ((y), (z)) ORDER BY 1, 2;
SELECT l FROM lm_a, LATERAL (VALUES (k, 'a')) l (y, z) ORDER BY 1;
INSERT INTO lm_b SELECT id + 10, l.z, l.y FROM lm_a, LATERAL (VALUES (k, x)) l (y, z) RETURNING *;
UPDATE lm_b SET v = l.z FROM lm_a, LATERAL (SELECT lm_a.x * 10 AS z) l WHERE lm_b.aid = lm_a.id RETURNING lm_b.*, l.z;
DELETE FROM lm_b USING (VALUES (1)) l (z) WHERE aid = z RETURNING id;
DROP SEQUENCE lm_s;
DROP TABLE lm_a, lm_b;
