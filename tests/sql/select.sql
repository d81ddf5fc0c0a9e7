-- Views that PostgreSQL reads back as others, too: 25
-- SELECT: lists, WHERE, ORDER BY, LIMIT, DISTINCT, names and what is refused.
CREATE TABLE s (id integer PRIMARY KEY, grp text, val integer, note varchar(20));
INSERT INTO s VALUES
    (1, 'a', 10, 'ten'), (2, 'b', 20, 'twenty'), (3, 'a', 30, NULL), (4, NULL, 40, 'forty'),
    (5, 'b', NULL, 'none'), (6, 'c', 20, 'twenty'), (7, 'c', -5, '');
SELECT 1;
SELECT;
SELECT 1 AS one, 'two' AS "Two", 3.0, NULL, true, 'x' || 'y';
SELECT * FROM s ORDER BY id;
SELECT s.*, id + 1 AS next FROM s WHERE id < 3 ORDER BY id;
SELECT val, id FROM s ORDER BY val, id;
SELECT val, id FROM s ORDER BY val DESC, id DESC;
SELECT val, id FROM s ORDER BY val NULLS FIRST, id LIMIT 3;
SELECT val, id FROM s ORDER BY 1 DESC NULLS LAST, 2 LIMIT 3 OFFSET 1;
SELECT id * -1 AS negative FROM s ORDER BY negative;
SELECT id FROM s ORDER BY -id;
SELECT id FROM s ORDER BY grp USING >, id;
SELECT id FROM s ORDER BY id LIMIT 0;
SELECT id FROM s ORDER BY id LIMIT NULL OFFSET 5;
SELECT id FROM s ORDER BY id FETCH FIRST 2 ROWS ONLY;
SELECT val FROM s ORDER BY val DESC NULLS LAST FETCH FIRST 2 ROWS WITH TIES;
SELECT id FROM s ORDER BY id LIMIT 2 OFFSET 100;
SELECT id FROM s LIMIT -1;
SELECT id FROM s OFFSET -1;
SELECT id FROM s LIMIT 'x';

-- WHERE.
SELECT id FROM s WHERE val = 20 ORDER BY id;
SELECT id FROM s WHERE val <> 20 ORDER BY id;
SELECT id FROM s WHERE NOT val = 20 ORDER BY id;
SELECT id FROM s WHERE val IS NULL OR grp IS NULL ORDER BY id;
SELECT id FROM s WHERE val BETWEEN 10 AND 30 AND grp = 'a' ORDER BY id;
SELECT id FROM s WHERE val NOT BETWEEN 10 AND 30 ORDER BY id;
SELECT id FROM s WHERE val BETWEEN SYMMETRIC 30 AND 10 ORDER BY id;
SELECT id FROM s WHERE id IN (1, 3, 5) ORDER BY id;
SELECT id FROM s WHERE id NOT IN (1, 3, 5) ORDER BY id;
SELECT id FROM s WHERE id NOT IN (1, NULL) ORDER BY id;
SELECT id FROM s WHERE (grp, val) = ('a', 10);
SELECT id FROM s WHERE (grp, val) IN (('a', 30), ('b', 20)) ORDER BY id;
SELECT id FROM s WHERE (id, val) < (3, 0) ORDER BY id;
SELECT id FROM s WHERE note LIKE 't%' ORDER BY id;
SELECT id FROM s WHERE note = '' OR note IS NULL ORDER BY id;
SELECT id FROM s WHERE true AND id > 6;
SELECT id FROM s WHERE false;
SELECT id FROM s WHERE NULL;
SELECT id FROM s WHERE id % 2 = 0 AND NOT (val > 20) ORDER BY id;
SELECT id FROM s WHERE val IS DISTINCT FROM 20 ORDER BY id;
SELECT id FROM s WHERE val IS NOT DISTINCT FROM NULL;

-- DISTINCT.
SELECT DISTINCT grp FROM s ORDER BY grp;
SELECT DISTINCT val, note FROM s ORDER BY val, note;
SELECT DISTINCT ON (grp) grp, id, val FROM s ORDER BY grp, val DESC NULLS LAST;
SELECT DISTINCT grp FROM s ORDER BY id;
SELECT DISTINCT ON (grp) grp, id FROM s ORDER BY id;
SELECT count(DISTINCT grp) FROM s;

-- Names.
SELECT x.id FROM s AS x WHERE x.id = 1;
SELECT s.id FROM s AS x;
SELECT a, b FROM (SELECT id, val FROM s WHERE id < 3) AS q (a, b) ORDER BY a;
SELECT public.s.id FROM public.s WHERE s.id = 2;
SELECT nope FROM s;
SELECT s.nope FROM s;
SELECT nope.id FROM s;
SELECT idd FROM s;
SELECT * FROM nope;
SELECT * FROM nope.s;
SELECT id FROM s, s;
SELECT id FROM s AS a, s AS b;
SELECT nope(1);
SELECT length(1, 2);
SELECT 1 + 'x';
SELECT 1 + true;
SELECT -'x'::text;
SELECT * FROM s WHERE id;
SELECT * FROM s WHERE id = 'x';
SELECT * FROM s ORDER BY nope;
SELECT * FROM s ORDER BY 9;
SELECT (SELECT id, val FROM s);
SELECT * WHERE true;
SELECT s FROM s WHERE id = 1;
SELECT (s).grp FROM s WHERE id = 1;
TABLE s;
VALUES (1, 'one'), (2, 'two'), (3, NULL) ORDER BY 1 DESC;
VALUES (1), (2, 3);
VALUES (1), ('x');
SELECT 1 SELECT 2;
SELEC 1;
SELECT 'unfinished
;
';
