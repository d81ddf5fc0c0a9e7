-- Joins of every kind; each is asked for by all three methods.
CREATE TABLE l (id integer, name text);
CREATE TABLE r (id integer, l_id integer, qty integer);
INSERT INTO l VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four'), (NULL, 'null'), (2, 'deux');
INSERT INTO r VALUES (10, 1, 5), (11, 1, 6), (12, 2, 7), (13, 9, 8), (14, NULL, 9);
SELECT * FROM l, r ORDER BY l.id, l.name, r.id LIMIT 5;
SELECT count(*) FROM l CROSS JOIN r;
SELECT * FROM l JOIN r ON l.id = r.l_id ORDER BY l.id, l.name, r.id;
SELECT * FROM l LEFT JOIN r ON l.id = r.l_id ORDER BY l.id, l.name, r.id;
SELECT * FROM l RIGHT JOIN r ON l.id = r.l_id ORDER BY r.id, l.name;
SELECT * FROM l FULL JOIN r ON l.id = r.l_id ORDER BY l.id, l.name, r.id;
SELECT * FROM l LEFT JOIN r ON l.id = r.l_id AND r.qty > 5 ORDER BY l.id, l.name, r.id;
SELECT * FROM l LEFT JOIN r ON l.id = r.l_id WHERE r.qty > 5 ORDER BY l.id, l.name, r.id;
SELECT * FROM l LEFT JOIN r ON l.id = r.l_id AND l.name <> 'one' ORDER BY l.id, l.name, r.id;
SELECT l.name FROM l LEFT JOIN r ON l.id = r.l_id WHERE r.id IS NULL ORDER BY l.name;
SELECT * FROM l FULL JOIN r ON l.id = r.l_id AND r.qty > 6 ORDER BY l.id, l.name, r.id;
SELECT * FROM l FULL JOIN r ON false ORDER BY l.id, l.name, r.id;

-- USING and NATURAL merge columns.
SELECT * FROM l JOIN r USING (id);
SELECT * FROM l LEFT JOIN (SELECT l_id AS id, qty FROM r) AS q USING (id) ORDER BY id, name, qty;
SELECT id, l.id, q.id, qty FROM l FULL JOIN (SELECT l_id AS id, qty FROM r) AS q USING (id) ORDER BY 1, 2, 4;
SELECT * FROM (SELECT 1 AS a, 2 AS b) AS x NATURAL JOIN (SELECT 1 AS a, 3 AS c) AS y;
SELECT * FROM (SELECT 1 AS a) AS x NATURAL JOIN (SELECT 2 AS b) AS y;
SELECT * FROM l JOIN r USING (nope);
SELECT * FROM l JOIN r ON l.id = nope.id;
SELECT id FROM l JOIN r ON true;
SELECT * FROM l JOIN r ON l.id;
SELECT * FROM l JOIN r ON l.name = r.id;

-- Not equal, several conditions, self joins, more than two tables.
SELECT l.id, r.qty FROM l JOIN r ON r.qty > l.id * 2 AND l.id > 2 ORDER BY 1, 2;
SELECT a.id, b.id FROM l AS a JOIN l AS b ON a.id < b.id ORDER BY 1, 2;
SELECT l.name, r.qty, x.label FROM l JOIN r ON r.l_id = l.id
    JOIN (VALUES (5, 'five'), (7, 'seven')) AS x (qty, label) ON x.qty = r.qty ORDER BY 2, 1;
SELECT a.id, b.id, c.id FROM r AS a LEFT JOIN l AS b ON b.id = a.l_id LEFT JOIN r AS c ON c.l_id = b.id AND c.id <> a.id ORDER BY 1, 2, 3;
SELECT * FROM (l JOIN r ON l.id = r.l_id) AS j (lid, name, rid, l_id, qty) WHERE qty = 7 ORDER BY name;
SELECT l.id, q.total FROM l, LATERAL (SELECT sum(qty) AS total FROM r WHERE r.l_id = l.id) AS q WHERE l.id IS NOT NULL ORDER BY 1, 2;
SELECT l.id, g FROM l CROSS JOIN LATERAL generate_series(1, l.id) AS g WHERE l.id < 3 ORDER BY 1, 2;
SELECT l.id, q.id FROM l LEFT JOIN LATERAL (SELECT r.id FROM r WHERE r.l_id = l.id ORDER BY r.id DESC LIMIT 1) AS q ON true ORDER BY 1, 2;

-- Semi and anti joins.
SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.l_id = l.id) ORDER BY id, name;
SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.l_id = l.id) ORDER BY id, name;
SELECT * FROM l WHERE id IN (SELECT l_id FROM r) ORDER BY id, name;
SELECT * FROM l WHERE id NOT IN (SELECT l_id FROM r) ORDER BY id, name;
SELECT * FROM l WHERE id NOT IN (SELECT l_id FROM r WHERE l_id IS NOT NULL) ORDER BY id, name;

-- The three methods agree.
CREATE TABLE big_l (id integer, k integer);
INSERT INTO big_l SELECT n, n % 50 FROM generate_series(1, 500) AS n;
CREATE TABLE big_r (id integer, k integer);
INSERT INTO big_r SELECT n, CASE WHEN n % 7 = 0 THEN NULL ELSE n % 60 END FROM generate_series(1, 300) AS n;
ANALYZE big_l, big_r;
SET enable_mergejoin = off; SET enable_nestloop = off;
SELECT count(*), sum(a.id), sum(b.id) FROM big_l AS a JOIN big_r AS b ON a.k = b.k;
SELECT count(*), sum(a.id), sum(b.id) FROM big_l AS a LEFT JOIN big_r AS b ON a.k = b.k AND b.id > 150;
SELECT count(*), sum(a.id), sum(b.id) FROM big_l AS a FULL JOIN big_r AS b ON a.k = b.k;
SET enable_mergejoin = on; SET enable_hashjoin = off;
SELECT count(*), sum(a.id), sum(b.id) FROM big_l AS a JOIN big_r AS b ON a.k = b.k;
SELECT count(*), sum(a.id), sum(b.id) FROM big_l AS a LEFT JOIN big_r AS b ON a.k = b.k AND b.id > 150;
SELECT count(*), sum(a.id), sum(b.id) FROM big_l AS a FULL JOIN big_r AS b ON a.k = b.k;
SET enable_nestloop = on; SET enable_mergejoin = off;
SELECT count(*), sum(a.id), sum(b.id) FROM big_l AS a JOIN big_r AS b ON a.k = b.k;
SELECT count(*), sum(a.id), sum(b.id) FROM big_l AS a LEFT JOIN big_r AS b ON a.k = b.k AND b.id > 150;
RESET ALL;
SELECT count(*) FROM big_l AS a FULL JOIN big_r AS b ON a.k < b.k;
SELECT count(*) FROM big_l AS a JOIN big_r AS b ON a.k < b.k;
SET work_mem = '64kB';
SELECT count(*), sum(a.k) FROM big_l AS a JOIN big_l AS b ON a.k = b.k;
