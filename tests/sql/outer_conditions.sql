-- Conditions inside a sub-select that name columns of the query around it only.
CREATE TABLE inside (a integer, b integer);
CREATE TABLE beside (b integer, c text);
CREATE TABLE outside (a integer, c text);
INSERT INTO inside SELECT g % 5, g % 3 FROM generate_series(1, 12) g;
INSERT INTO beside SELECT g % 4, 'x' || g FROM generate_series(1, 7) g;
INSERT INTO outside VALUES (1, 'x1'), (2, 'y'), (NULL, 'x3'), (4, NULL);

SELECT a, (SELECT count(*) FROM inside i JOIN beside b ON i.b = b.b AND outside.a = 2)
FROM outside ORDER BY a;
SELECT a FROM outside
WHERE a = 4 OR NOT EXISTS (
    SELECT 1 FROM inside i JOIN beside b ON i.b = b.b AND outside.c LIKE 'x%'
        LEFT JOIN inside j ON b.b = j.a)
ORDER BY a;
SELECT a FROM outside
WHERE a > ALL (SELECT i.b FROM inside i WHERE outside.a IN (SELECT b FROM beside) GROUP BY i.b)
ORDER BY a;
SELECT o.a, i.a FROM outside o FULL JOIN inside i ON o.a = i.a
WHERE NOT EXISTS (
    SELECT 1 FROM beside WHERE o.a >= ANY (SELECT x.b FROM inside x WHERE x.b IS NOT NULL))
ORDER BY 1, 2;

-- An aggregate belongs to the innermost query that it takes a column from, FILTER included.
SELECT a FROM outside
WHERE a NOT IN (SELECT min(outside.a) FILTER (WHERE i.a > outside.a) FROM inside i)
ORDER BY a;

-- Sub-selects in WHERE over what LATERAL items compute.
SELECT o.a, l.n FROM outside o LEFT JOIN inside i ON o.a = i.a
    CROSS JOIN LATERAL (SELECT i.b * o.a FROM beside) AS l(n)
WHERE l.n IN (SELECT b FROM beside) ORDER BY 1, 2;
SELECT o.a, l.n FROM outside o, LATERAL (SELECT o.a + b FROM beside) AS l(n)
WHERE NOT EXISTS (SELECT 1 FROM inside WHERE inside.a = l.n) ORDER BY 1, 2;
DROP TABLE inside, beside, outside;
