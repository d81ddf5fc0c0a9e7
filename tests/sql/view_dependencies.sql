-- PostgreSQL 15 differs: it names the table before each column of a view
-- What views are kept as, what depends on them, and what they depend on.
CREATE SCHEMA s;
CREATE TABLE t (a integer PRIMARY KEY, b text, c numeric DEFAULT 0);
CREATE TABLE s.u (a integer, d text);
INSERT INTO t VALUES (1, 'one', 10), (2, 'two', 20);
INSERT INTO s.u VALUES (1, 'x'), (1, 'y');
CREATE VIEW v1 AS SELECT a, b FROM t WHERE c > 5;
CREATE VIEW v2 AS SELECT v1.a, u.d, upper(v1.b) FROM v1 JOIN s.u ON v1.a = u.a;
CREATE VIEW v3 (x, y) AS SELECT count(*), max(d) FROM v2 GROUP BY a HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 10;
CREATE VIEW v4 AS SELECT DISTINCT b FROM t AS other WHERE EXISTS (SELECT 1 FROM s.u WHERE u.a = other.a) AND a IN (SELECT a FROM s.u);
CREATE VIEW v5 AS SELECT a FROM t UNION ALL SELECT a FROM s.u ORDER BY 1;
CREATE VIEW v6 AS WITH q AS (SELECT a, c * 2 AS double FROM t) SELECT q.a, double FROM q LEFT JOIN t USING (a);
CREATE VIEW v7 AS VALUES (1, 'a'), (2, 'b');
CREATE VIEW v8 AS SELECT g, CASE WHEN g > 1 THEN 'big' ELSE 'small' END AS size FROM generate_series(1, 3) AS g;
CREATE VIEW v9 AS SELECT s.n, (SELECT max(c) FROM t) AS top FROM (SELECT b AS n FROM t) AS s, t AS t2 WHERE t2.a = 1;
SELECT pg_get_viewdef('v1'::regclass);
SELECT pg_get_viewdef('v2'::regclass);
SELECT pg_get_viewdef('v3'::regclass);
SELECT pg_get_viewdef('v4'::regclass);
SELECT pg_get_viewdef('v5'::regclass);
SELECT pg_get_viewdef('v6'::regclass);
SELECT pg_get_viewdef('v7'::regclass);
SELECT pg_get_viewdef('v8'::regclass);
SELECT pg_get_viewdef('v9'::regclass);
\d+ v1
\d+ v2
\d+ v4
\d+ v9
SELECT * FROM v1 ORDER BY a;
SELECT * FROM v2 ORDER BY d;
SELECT * FROM v3;
SELECT * FROM v4;
SELECT * FROM v5;
SELECT * FROM v6 ORDER BY a;
SELECT * FROM v9 ORDER BY n;

-- The search path plays no part.
SET search_path = s;
SELECT * FROM public.v1 ORDER BY a;
SELECT pg_get_viewdef('public.v2'::regclass, true);
RESET search_path;

-- Renames are followed.
ALTER TABLE t RENAME TO renamed;
ALTER TABLE renamed RENAME b TO bb;
ALTER TABLE s.u RENAME a TO aa;
ALTER VIEW v1 RENAME COLUMN b TO label;
ALTER VIEW v2 RENAME TO v2_renamed;
SELECT * FROM v2_renamed ORDER BY d;
SELECT * FROM v3;
SELECT pg_get_viewdef('v1'::regclass);
SELECT pg_get_viewdef('v2_renamed'::regclass);
SELECT pg_get_viewdef('v4'::regclass, true);

-- Dependencies.
DROP TABLE renamed;
DROP VIEW v1;
DROP TABLE renamed, s.u;
ALTER TABLE renamed DROP COLUMN bb;
ALTER TABLE renamed DROP COLUMN c;
ALTER TABLE renamed ALTER bb TYPE varchar(5);
ALTER TABLE s.u DROP COLUMN d;
ALTER TABLE s.u DROP COLUMN d CASCADE;
SELECT * FROM v3;
DROP SCHEMA s;
DROP SCHEMA s CASCADE;
SELECT viewname FROM pg_views WHERE schemaname = 'public' ORDER BY 1;
DROP VIEW v1 CASCADE;
DROP TABLE renamed CASCADE;
SELECT viewname FROM pg_views WHERE schemaname = 'public' ORDER BY 1;
CREATE SEQUENCE sq;
CREATE TABLE owner (id integer DEFAULT nextval('sq'), n serial);
DROP SEQUENCE sq;
DROP SEQUENCE owner_n_seq;
DROP SEQUENCE sq CASCADE;
\d owner
