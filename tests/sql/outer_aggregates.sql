-- Aggregates in a sub-select that belong to a query around it.
CREATE TABLE o (g integer, x integer, y integer);
CREATE TABLE i (x integer, w integer);
INSERT INTO o VALUES (1, 1, 10), (1, 2, 20), (2, 3, 30), (2, NULL, 40), (3, NULL, NULL);
INSERT INTO i VALUES (1, 1), (2, 2), (3, 5);
SELECT (SELECT count(o.x)) FROM o;
SELECT g, (SELECT sum(o.x)) FROM o GROUP BY g ORDER BY g;
SELECT g, (SELECT sum(o.x) + max(i.w) FROM i) FROM o GROUP BY g ORDER BY g;
SELECT g, (SELECT max(i.w) FROM i WHERE i.x <= count(o.x)) FROM o GROUP BY g ORDER BY g;
SELECT g, (SELECT sum(o.x + i.x) FROM i WHERE i.w = 1) FROM o GROUP BY g, o.x ORDER BY g, 2;
SELECT g FROM o GROUP BY g HAVING EXISTS (SELECT 1 FROM i WHERE i.x = count(o.x)) ORDER BY g;
SELECT g FROM o GROUP BY g HAVING sum(o.y) IN (SELECT 10 * i.x * max(o.x) FROM i) ORDER BY g;
SELECT g, (SELECT (SELECT count(o.y) + count(j.x)) FROM i AS j) FROM o GROUP BY g ORDER BY g;
SELECT (SELECT (SELECT sum(o.x * j.w)) FROM i AS j WHERE j.x = 3) FROM o GROUP BY o.x ORDER BY 1;
SELECT g, ARRAY(SELECT i.x FROM i WHERE i.x < max(o.y) / 10 ORDER BY i.x) FROM o GROUP BY g ORDER BY g;
SELECT g, (SELECT count(*) FROM (SELECT max(o.x) AS m FROM i) AS s WHERE s.m > 1) FROM o GROUP BY g ORDER BY g;
SELECT g, (SELECT string_agg(o.y::text, ',' ORDER BY o.y DESC) FILTER (WHERE true)) FROM o GROUP BY g ORDER BY g;
SELECT g FROM o GROUP BY g ORDER BY (SELECT -count(o.x)), g;
SELECT g, count(*) OVER (ORDER BY (SELECT sum(o.x)) NULLS FIRST) FROM o GROUP BY g ORDER BY g;
SELECT g, (SELECT s.t FROM (VALUES (1), (2)) AS s (t) WHERE s.t = max(o.x)) FROM o GROUP BY g ORDER BY g;
WITH q AS (SELECT 2 AS two) SELECT g, (SELECT two * count(o.x) FROM q) FROM o GROUP BY g ORDER BY g;
-- Where they are not allowed.
SELECT g FROM o WHERE (SELECT count(o.x)) > 0;
SELECT (SELECT o.x) FROM o GROUP BY g;
SELECT sum((SELECT count(o.x))) FROM o;
SELECT (SELECT sum(sum(o.x))) FROM o;
SELECT * FROM o JOIN i ON (SELECT count(o.x)) = 1;
SELECT (SELECT count(o.x) FROM i WHERE i.x = o.x) FROM o;
