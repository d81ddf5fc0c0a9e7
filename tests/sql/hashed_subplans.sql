-- IN and NOT IN that stay sub-selects, looked up in a hash table.
-- PostgreSQL 15 differs: it prints the comparison of a hashed sub-select in another way
CREATE TABLE hs_a (id int, v varchar(10), c char(4), n numeric);
CREATE TABLE hs_b (id bigint, s smallint, v varchar(20), t text, c char(6), n numeric);
INSERT INTO hs_a VALUES (1, 'a', 'a', 1.0), (2, 'b', 'b', 2.50), (3, NULL, NULL, NULL), (NULL, 'd', 'd', 4), (5, 'e', 'e', 5);
INSERT INTO hs_b VALUES (1, 1, 'a', 'a', 'a', 1.00), (2, 2, 'x', 'b', 'b', 2.5), (7, 7, 'd', 'q', 'zz', 9);
ANALYZE hs_a, hs_b;
EXPLAIN (COSTS OFF) SELECT * FROM hs_a WHERE v NOT IN (SELECT v FROM hs_b);
EXPLAIN (COSTS OFF) SELECT * FROM hs_a WHERE id NOT IN (SELECT id FROM hs_b);
EXPLAIN (COSTS OFF) SELECT * FROM hs_a WHERE (id, v) NOT IN (SELECT id, v FROM hs_b);
EXPLAIN (COSTS OFF) SELECT * FROM hs_a WHERE n > 100 OR id IN (SELECT s FROM hs_b);
SELECT id FROM hs_a WHERE v NOT IN (SELECT v FROM hs_b) ORDER BY 1;
SELECT id FROM hs_a WHERE v NOT IN (SELECT t FROM hs_b) ORDER BY 1;
SELECT id FROM hs_a WHERE c NOT IN (SELECT c FROM hs_b) ORDER BY 1;
SELECT id FROM hs_a WHERE id NOT IN (SELECT id FROM hs_b) ORDER BY 1;
SELECT id, id IN (SELECT id FROM hs_b), id NOT IN (SELECT s FROM hs_b) FROM hs_a ORDER BY 1;
SELECT id, (id, v) IN (SELECT id, v FROM hs_b), (id, v) NOT IN (SELECT s, t FROM hs_b) FROM hs_a ORDER BY 1;
SELECT id, n IN (SELECT n FROM hs_b), id IN (SELECT n FROM hs_b) FROM hs_a ORDER BY 1;
SELECT id FROM hs_a WHERE n > 100 OR id IN (SELECT s FROM hs_b) ORDER BY 1;
INSERT INTO hs_b VALUES (NULL, NULL, NULL, NULL, NULL, NULL);
SELECT id, id IN (SELECT id FROM hs_b), id NOT IN (SELECT s FROM hs_b), v IN (SELECT v FROM hs_b) FROM hs_a ORDER BY 1;
SELECT id, (id, v) IN (SELECT id, v FROM hs_b), (id, v) NOT IN (SELECT s, t FROM hs_b WHERE s > 0) FROM hs_a ORDER BY 1;
SELECT id, id IN (SELECT id FROM hs_b WHERE false), id NOT IN (SELECT s FROM hs_b WHERE false) FROM hs_a ORDER BY 1;
SELECT id FROM hs_a WHERE id NOT IN (SELECT 10 / s FROM hs_b WHERE s > 0) ORDER BY 1;
SELECT id FROM hs_a WHERE id NOT IN (SELECT 10 / (s - 1) FROM hs_b) ORDER BY 1;
UPDATE hs_a SET n = 0 WHERE id NOT IN (SELECT id FROM hs_b WHERE id > 1) OR v IN (SELECT t FROM hs_b) RETURNING id;
DROP TABLE hs_a, hs_b;
