-- ORs of comparisons with one key, looked up in an index as an array.
-- PostgreSQL 15 differs: it combines bitmaps, only 18 makes arrays
CREATE TABLE ol_a (id int PRIMARY KEY, x int, t text);
CREATE TABLE ol_b (id int PRIMARY KEY, x int, y int);
INSERT INTO ol_a SELECT i, i % 100, 't' || i FROM generate_series(1, 5000) i;
INSERT INTO ol_b SELECT i, i * 3, CASE WHEN i % 3 > 0 THEN i * 7 END FROM generate_series(1, 100) i;
CREATE INDEX ol_a_t ON ol_a (t);
VACUUM ANALYZE ol_a, ol_b;
EXPLAIN (COSTS OFF) SELECT * FROM ol_a WHERE id = 1 OR id = 2 OR 3 = id;
EXPLAIN (COSTS OFF) SELECT * FROM ol_a WHERE (id = 1 OR id = 2) AND x = 2;
EXPLAIN (COSTS OFF) SELECT * FROM ol_a WHERE x = 1 OR x = 2;
EXPLAIN (COSTS OFF) SELECT * FROM ol_a JOIN ol_b ON ol_a.id = ol_b.x OR ol_a.id = ol_b.y;
EXPLAIN (COSTS OFF) SELECT * FROM ol_a WHERE id IN (VALUES (1), (2));
SELECT * FROM ol_a WHERE id = 1 OR id = 2 OR 3 = id OR id = 2 ORDER BY id;
SELECT * FROM ol_a WHERE id IN (VALUES (1), (NULL), (2)) ORDER BY id;
SELECT * FROM ol_a WHERE id = 1 OR id = NULL OR id = 4 ORDER BY id;
SELECT * FROM ol_a WHERE (id = 1 OR id = 2 OR id = 102) AND x = 2 ORDER BY id;
SELECT * FROM ol_a WHERE id = 1 OR id = 2::bigint OR id = 7::smallint ORDER BY id;
SELECT * FROM ol_a WHERE t = 't5' OR t = 't6'::varchar OR 't7' = t ORDER BY id;
SELECT count(*), sum(ol_a.id), sum(ol_b.id) FROM ol_a JOIN ol_b ON ol_a.id = ol_b.x OR ol_a.id = ol_b.y;
SELECT ol_b.id, ol_a.id FROM ol_b LEFT JOIN ol_a ON (ol_a.id = ol_b.x OR ol_a.id = ol_b.y) AND ol_a.x < 50 WHERE ol_b.id < 6 ORDER BY 1, 2;
SELECT count(*) FROM ol_b WHERE NOT EXISTS (SELECT FROM ol_a WHERE ol_a.id = ol_b.x + 4900 OR ol_a.id = ol_b.y);
PREPARE ol (int, int) AS SELECT * FROM ol_a WHERE id = $1 OR id = $2 OR id = $1 ORDER BY id;
EXECUTE ol (3, 4);
EXECUTE ol (3, NULL);
SELECT * FROM ol_a WHERE id = 3 OR id = 1 / (x - x);
UPDATE ol_a SET t = 'changed' WHERE id = 10 OR id = 11 RETURNING id;
DELETE FROM ol_a WHERE id = 10 OR id = 12 RETURNING id, t;
DROP TABLE ol_a, ol_b;
