-- Scalar, IN, EXISTS, ANY and ALL subqueries; WITH.
CREATE TABLE o (id integer PRIMARY KEY, grp integer, amount integer);
INSERT INTO o VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5), (4, 2, NULL), (5, 3, 50), (6, NULL, 60);
CREATE TABLE g (id integer, label text);
INSERT INTO g VALUES (1, 'first'), (2, 'second'), (4, 'fourth');

SELECT (SELECT 1), (SELECT NULL), (SELECT max(amount) FROM o);
SELECT id, (SELECT label FROM g WHERE g.id = o.grp) AS label FROM o ORDER BY id;
SELECT (SELECT id FROM o WHERE id > 100);
SELECT (SELECT id FROM o);
SELECT id FROM o WHERE amount = (SELECT max(amount) FROM o);
SELECT id FROM o AS x WHERE amount > (SELECT avg(amount) FROM o AS y WHERE y.grp = x.grp) ORDER BY id;
SELECT id, amount - (SELECT avg(amount) FROM o) > 0 AS above FROM o ORDER BY id;
SELECT label, (SELECT count(*) FROM o WHERE o.grp = g.id), (SELECT sum(amount) FROM o WHERE o.grp = g.id) FROM g ORDER BY label;

SELECT id FROM o WHERE grp IN (SELECT id FROM g) ORDER BY id;
SELECT id FROM o WHERE grp NOT IN (SELECT id FROM g) ORDER BY id;
SELECT id FROM g WHERE id NOT IN (SELECT grp FROM o) ORDER BY id;
SELECT id, grp IN (SELECT id FROM g) AS known FROM o ORDER BY id;
SELECT 1 IN (SELECT 1 WHERE false), NULL IN (SELECT 1 WHERE false), NULL IN (SELECT 1);
SELECT 2 IN (SELECT amount FROM o), 10 IN (SELECT amount FROM o), 2 NOT IN (SELECT amount FROM o);
SELECT id FROM o WHERE (grp, amount) IN (SELECT grp, max(amount) FROM o GROUP BY grp) ORDER BY id;
SELECT id FROM o WHERE id IN (SELECT grp FROM o AS inner_o WHERE inner_o.amount > o.amount) ORDER BY id;
SELECT id FROM o WHERE grp IN (SELECT id, label FROM g);
SELECT id FROM o WHERE id IN (SELECT label FROM g);

SELECT id FROM g WHERE EXISTS (SELECT * FROM o WHERE o.grp = g.id) ORDER BY id;
SELECT id FROM g WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.grp = g.id AND amount > 10) ORDER BY id;
SELECT EXISTS (SELECT 1 FROM o WHERE id = 3), EXISTS (SELECT 1 FROM o WHERE id = 33);
SELECT id, EXISTS (SELECT FROM o WHERE o.grp = g.id) AS used FROM g ORDER BY id;
SELECT id FROM g WHERE EXISTS (SELECT 1 FROM o WHERE o.grp = g.id AND EXISTS (SELECT 1 FROM o AS p WHERE p.grp = o.grp AND p.id > o.id)) ORDER BY id;

SELECT id FROM o WHERE amount > ANY (SELECT amount FROM o WHERE grp = 1) ORDER BY id;
SELECT id FROM o WHERE amount >= ALL (SELECT amount FROM o WHERE amount IS NOT NULL) ORDER BY id;
SELECT id FROM o WHERE amount >= ALL (SELECT amount FROM o) ORDER BY id;
SELECT id FROM o WHERE amount <> ALL (SELECT amount FROM o WHERE grp = 1) ORDER BY id;
SELECT 5 = ANY ('{1,5}'::int[]), 5 = ALL ('{5,5}'::int[]), 5 > ANY ('{}'::int[]), 5 > ALL ('{}'::int[]), 5 = ANY (NULL::int[]);
SELECT ARRAY (SELECT id FROM o WHERE grp = 1 ORDER BY id);
SELECT (SELECT row(1, 2)) = row(1, 2), row(1, NULL) = row(1, 2), row(2, NULL) = row(1, 2);
SELECT id FROM o WHERE (grp, id) = (SELECT grp, id FROM o WHERE amount = 5);

-- In FROM.
SELECT * FROM (SELECT grp, sum(amount) AS total FROM o GROUP BY grp) AS q WHERE total > 10 ORDER BY grp;
SELECT * FROM (SELECT id FROM o ORDER BY amount DESC NULLS LAST LIMIT 2) AS q ORDER BY id;
SELECT q.a + q.b FROM (VALUES (1, 2), (3, 4)) AS q (a, b) ORDER BY 1;
SELECT max(c) FROM (SELECT grp, count(*) AS c FROM o GROUP BY grp) AS q;

-- WITH.
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a, b;
WITH big AS (SELECT * FROM o WHERE amount > 15) SELECT a.id, b.id FROM big AS a JOIN big AS b ON a.id < b.id ORDER BY 1, 2;
WITH q (n) AS MATERIALIZED (SELECT count(*) FROM o) SELECT n, n + 1 FROM q;
WITH q AS NOT MATERIALIZED (SELECT id FROM o) SELECT count(*) FROM q WHERE id > 2;
WITH o AS (SELECT 42 AS id) SELECT * FROM o;
WITH q AS (SELECT 1), q AS (SELECT 2) SELECT 1;
SELECT * FROM q;
WITH q AS (SELECT nope FROM o) SELECT 1;
WITH moved AS (DELETE FROM g WHERE id = 4 RETURNING *) SELECT * FROM moved;
WITH added AS (INSERT INTO g VALUES (7, 'seventh') RETURNING id) SELECT id, (SELECT count(*) FROM g) AS before FROM added;
SELECT * FROM g ORDER BY id;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i), count(*) FROM n;
WITH RECURSIVE path (a, b) AS (SELECT 1, 2 UNION SELECT b, (b * 2) % 7 FROM path) SELECT * FROM path ORDER BY 1;

-- Correlated more deeply, and in every clause.
SELECT id FROM o WHERE amount = (SELECT max(p.amount) FROM o AS p WHERE p.grp = (SELECT g.id FROM g WHERE g.id = o.grp)) ORDER BY id;
SELECT grp, count(*) FROM o GROUP BY grp HAVING count(*) = (SELECT max(c) FROM (SELECT count(*) AS c FROM o GROUP BY grp) AS q) ORDER BY grp;
SELECT id FROM o ORDER BY (SELECT label FROM g WHERE g.id = o.grp) NULLS LAST, id;
SELECT CASE WHEN EXISTS (SELECT 1 FROM g WHERE g.id = o.grp) THEN 'yes' ELSE 'no' END, count(*) FROM o GROUP BY 1 ORDER BY 1;
SELECT id FROM o LIMIT (SELECT count(*) FROM g WHERE id < 3);

-- What would be of all rows of a recursion.
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x ORDER BY 1) SELECT * FROM x;
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x LIMIT 10) SELECT * FROM x;
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x LIMIT 10 OFFSET 1) SELECT * FROM x;
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x FOR UPDATE) SELECT * FROM x;
