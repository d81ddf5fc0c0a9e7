-- CASE, NULL and three-valued logic.
SELECT CASE WHEN true THEN 1 ELSE 2 END, CASE WHEN NULL THEN 1 ELSE 2 END, CASE WHEN false THEN 1 END;
SELECT CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END;
SELECT CASE NULL WHEN NULL THEN 'null' ELSE 'not' END;
SELECT n, CASE WHEN n % 15 = 0 THEN 'fizzbuzz' WHEN n % 5 = 0 THEN 'buzz' WHEN n % 3 = 0 THEN 'fizz' ELSE n::text END FROM generate_series(1, 15) AS n;
SELECT CASE WHEN true THEN 1 ELSE 1 / 0 END;
SELECT n, CASE WHEN n = 0 THEN NULL ELSE 10 / n END FROM generate_series(-1, 1) AS n;
SELECT CASE WHEN true THEN 1 ELSE 2.5 END, pg_typeof(CASE WHEN true THEN 1 ELSE 2.5 END);
SELECT CASE WHEN true THEN 1 ELSE 'x' END;
SELECT CASE WHEN 1 THEN 2 END;
SELECT CASE 'x' WHEN 1 THEN 2 END;
SELECT pg_typeof(CASE WHEN true THEN 'a' END), pg_typeof(CASE WHEN true THEN NULL ELSE 1 END);

SELECT NULL = NULL, NULL <> NULL, NULL IS NULL, 1 IS NULL, 1 IS NOT NULL, NULL + 1, NULL || 'x';
SELECT a, b, a AND b AS "and", a OR b AS "or", NOT a AS "not"
FROM (VALUES (true), (false), (NULL)) AS x (a), (VALUES (true), (false), (NULL)) AS y (b)
ORDER BY a, b;
SELECT a, a IS TRUE AS t, a IS NOT TRUE AS nt, a IS FALSE AS f, a IS NOT FALSE AS nf, a IS UNKNOWN AS u, a IS NOT UNKNOWN AS nu
FROM (VALUES (true), (false), (NULL)) AS x (a) ORDER BY a;
SELECT a = b AS eq, a <> b AS ne, a < b AS lt, a IS DISTINCT FROM b AS df FROM (VALUES (true, false), (true, true), (NULL, true), (NULL, NULL)) AS x (a, b);
SELECT 1 IS DISTINCT FROM NULL, NULL IS DISTINCT FROM NULL, 1 IS DISTINCT FROM 1, 1 IS NOT DISTINCT FROM 1;
SELECT 1 IN (1, NULL), 2 IN (1, NULL), 2 NOT IN (1, NULL), NULL IN (1), 1 IN (NULL);
SELECT NULL BETWEEN 1 AND 2, 1 BETWEEN NULL AND 0, 1 BETWEEN NULL AND 2, 1 NOT BETWEEN 2 AND NULL;
SELECT NULL LIKE 'x', 'x' LIKE NULL;
SELECT row(1, NULL) IS NULL, row(1, NULL) IS NOT NULL, row(NULL, NULL) IS NULL, row(1, 2) IS NOT NULL;
SELECT row(1, NULL, 3) < row(1, 2, 3), row(1, 2, NULL) < row(1, 3, 0), row(1, 2) = row(1, 3);
SELECT row(1, NULL) IS DISTINCT FROM row(1, NULL);

SELECT coalesce(NULL, NULL, 3, 4), coalesce(NULL, 'x'), coalesce(1, 1 / 0), coalesce(NULL, NULL);
SELECT coalesce(1, 'x');
SELECT coalesce(NULL, 2.5, 1), pg_typeof(coalesce(1, 2.5));
SELECT nullif(1, 1), nullif(1, 2), nullif(NULL, 1), nullif(1, NULL), nullif('a', 'b');
SELECT nullif(1, 'x');
SELECT greatest(1, 3, 2), least(1, 3, 2), greatest(NULL, 2), least(NULL, NULL), greatest('a', 'B');
SELECT greatest(1, 2.5), pg_typeof(greatest(1, 2.5)), greatest('2026-01-01'::date, '2025-01-01');
SELECT greatest(1, 'x');
SELECT num_nulls(1, NULL, NULL), num_nonnulls(1, NULL, 'x');

CREATE TABLE n (a integer, b text, c boolean);
INSERT INTO n VALUES (NULL, NULL, NULL), (1, '', false), (2, 'x', true);
SELECT * FROM n WHERE a = NULL;
SELECT * FROM n WHERE c;
SELECT * FROM n WHERE NOT c;
SELECT * FROM n WHERE c IS NOT TRUE ORDER BY a;
SELECT * FROM n WHERE a <> 1 OR b <> 'x';
SELECT a, b = '', b || 'y' FROM n ORDER BY a;
SELECT count(*), count(a), count(b), count(c) FROM n;
SELECT a FROM n GROUP BY a ORDER BY a;
SELECT DISTINCT c FROM n ORDER BY c NULLS FIRST;
SELECT x.a, y.a FROM n AS x JOIN n AS y ON x.a = y.a ORDER BY 1;
\pset null '(null)'
SELECT * FROM n ORDER BY a NULLS FIRST;
