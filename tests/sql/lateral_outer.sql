-- LATERAL inside outer joins.
CREATE TABLE a (id integer, x integer);
CREATE TABLE b (id integer, y integer);
CREATE TABLE c (id integer, z integer);
INSERT INTO a VALUES (1, 10), (2, 20), (3, NULL);
INSERT INTO b VALUES (1, 100), (2, 200), (4, 400);
INSERT INTO c VALUES (1, 1), (1, 2), (2, 3), (5, 9);
-- The LATERAL item names a table outside the join that it stands in.
SELECT a.id, b.id, s.v FROM a, b LEFT JOIN LATERAL (SELECT a.x + b.y AS v) AS s ON true ORDER BY 1, 2;
SELECT a.id, b.id, s.v FROM a JOIN (b LEFT JOIN LATERAL (SELECT a.x + b.y AS v WHERE a.id <= b.id) AS s ON true) ON true ORDER BY 1, 2;
SELECT a.id, b.id, s.z FROM a, b LEFT JOIN LATERAL (SELECT z FROM c WHERE c.id = a.id AND z < b.y LIMIT 1) AS s ON b.id > 1 ORDER BY 1, 2;
SELECT a.id, b.id, s.z FROM a, b LEFT JOIN LATERAL (SELECT z FROM c WHERE c.id = a.id) AS s ON b.id > 1 ORDER BY 1, 2, 3;
SELECT a.id, b.id, s.n FROM a LEFT JOIN (b LEFT JOIN LATERAL (SELECT count(*) AS n FROM c WHERE c.id = a.id) AS s ON true) ON a.id = b.id ORDER BY 1, 2;
SELECT a.id, b.id, s.n FROM a LEFT JOIN (b LEFT JOIN LATERAL (SELECT max(z) AS n FROM c WHERE c.id = a.id OR c.id = b.id) AS s ON s.n > 1) ON a.id <= b.id ORDER BY 1, 2;
SELECT a.id, g, b.id FROM a, generate_series(1, a.id) AS g LEFT JOIN b ON b.id = g ORDER BY 1, 2;
SELECT a.id, g, b.id FROM a, LATERAL generate_series(1, a.id) AS g FULL JOIN b ON b.id = g ORDER BY 1, 2, 3;
SELECT a.id, v.k, b.y FROM a, (VALUES (1), (2)) AS w (j), LATERAL (VALUES (a.id), (w.j)) AS v (k) LEFT JOIN b ON b.id = v.k ORDER BY 1, 2, 3;
SELECT a.id, r.id, r.q FROM a, LATERAL (SELECT a.x AS q) AS s RIGHT JOIN b AS r (id, q) ON true WHERE r.id < 3 ORDER BY 1, 2;
SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, t.v FROM b LEFT JOIN LATERAL (SELECT a.x * b.id AS v) AS t ON t.v > 10) AS s ORDER BY 1, 2;
SELECT a.id, b.id, s.k, t.m FROM a, b LEFT JOIN LATERAL (SELECT a.id + b.id AS k) AS s ON true LEFT JOIN LATERAL (SELECT s.k + a.id AS m WHERE s.k > 3) AS t ON true ORDER BY 1, 2;
SELECT a.id FROM a WHERE EXISTS (SELECT 1 FROM b LEFT JOIN LATERAL (SELECT a.x + b.y AS v) AS s ON true WHERE s.v = 110);
SELECT a.id, b.id, s.z FROM a CROSS JOIN b LEFT JOIN LATERAL (SELECT z FROM c WHERE c.id = a.id AND c.id = b.id ORDER BY z DESC LIMIT 1) AS s ON true WHERE a.id = b.id ORDER BY 1;
SELECT * FROM a RIGHT JOIN LATERAL (SELECT a.x) AS s ON true;
SELECT * FROM a FULL JOIN LATERAL generate_series(1, a.x) AS s ON true;
EXPLAIN (COSTS OFF) SELECT a.id, b.id, s.n FROM a, b LEFT JOIN LATERAL (SELECT count(*) AS n FROM c WHERE c.id = a.id) AS s ON true WHERE b.id = 1;
