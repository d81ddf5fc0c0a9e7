-- A data-modifying WITH RECURSIVE query must not name itself.
CREATE TABLE t (a int PRIMARY KEY, b text);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
WITH RECURSIVE x AS (INSERT INTO t SELECT a + 1000, 'q' FROM x RETURNING a) SELECT * FROM x;
WITH RECURSIVE x AS (UPDATE t SET b = 'u' WHERE a IN (SELECT a FROM x) RETURNING a)
  SELECT * FROM x;
WITH RECURSIVE x AS (DELETE FROM t USING x WHERE t.a = x.a RETURNING t.a) SELECT * FROM x;
WITH RECURSIVE x AS (INSERT INTO t VALUES (30, 'p') RETURNING a),
  y AS (SELECT a FROM x UNION ALL SELECT a + 1 FROM y WHERE a < 33) SELECT * FROM y ORDER BY 1;
-- Several columns of a sub-select, on conflict.
INSERT INTO t VALUES (1, 'n') ON CONFLICT (a) DO UPDATE SET (a, b) = (SELECT 5, 'five');
INSERT INTO t VALUES (2, 'n')
  ON CONFLICT (a) DO UPDATE SET (a, b) = (SELECT excluded.a + 6, excluded.b || t.b);
INSERT INTO t VALUES (8, 'n')
  ON CONFLICT (a) DO UPDATE SET (b, a) = (SELECT max(u.b), t.a + 1 FROM t u WHERE u.a < t.a)
  RETURNING *;
INSERT INTO t VALUES (9, 'n') ON CONFLICT (a) DO UPDATE SET (a, b) = (SELECT 1);
INSERT INTO t VALUES (9, 'n') ON CONFLICT (a) DO UPDATE SET (b) = (SELECT u.b FROM t u WHERE false);
SELECT * FROM t ORDER BY a;
