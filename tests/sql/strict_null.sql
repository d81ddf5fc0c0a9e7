-- What is evaluated when: strict functions of NULL, HAVING false, output columns nothing reads.
CREATE TABLE t (a int PRIMARY KEY, b text);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
SELECT null::int <= a / 0 AS n FROM t;
SELECT a FROM t WHERE null::int <= a / 0;
SELECT a FROM t WHERE (null::int <= a / 0) IS NULL ORDER BY a;
SELECT (null::int <> a / 0) IS NULL AS n FROM t;
SELECT null || (a / 0)::text AS n FROM t;
SELECT (null::int) IN (1 / 0);
SELECT count(*) FROM t WHERE a / 0 = 1 HAVING false;
SELECT sum(a / 0) FROM t HAVING false;
SELECT a / 0 FROM t WHERE a = 1 GROUP BY a HAVING null;
SELECT x FROM (SELECT a AS x, (SELECT 1 / 0) AS y FROM t) s ORDER BY x;
SELECT x FROM (SELECT a AS x, (SELECT b::int FROM t LIMIT 1) AS y FROM t) s ORDER BY x;
SELECT x FROM (SELECT a AS x, (SELECT count(*) / 0 FROM t) AS y FROM t OFFSET 0) s ORDER BY x;
SELECT count(*) FROM (SELECT a AS x, (SELECT 1 / 0) AS y FROM t) s;
SELECT x FROM (SELECT DISTINCT a AS x, (SELECT 1 / 0) AS y FROM t) s;
SELECT x FROM (SELECT a AS x, b::int AS y FROM t ORDER BY y) s;
SELECT s.x, (SELECT max(u.a) FROM t u WHERE u.a <= s.y) AS m
  FROM (SELECT a AS x, a + 1 AS y, (SELECT 1 / 0) AS z FROM t OFFSET 0) s ORDER BY 1;
SELECT s.x FROM (SELECT a AS x, a + 1 AS y FROM t OFFSET 0) s WHERE s.y > 2;
SELECT l.z FROM (SELECT a AS x, a + 1 AS y FROM t OFFSET 0) s, LATERAL (SELECT s.y + 1 AS z) l
 ORDER BY 1;
SELECT count(s) FROM (SELECT a AS x, a + 1 AS y FROM t OFFSET 0) s;
SELECT s FROM (SELECT a AS x, a + 1 AS y FROM t OFFSET 0) s ORDER BY s;
