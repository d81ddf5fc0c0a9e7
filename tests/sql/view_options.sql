-- CREATE OR REPLACE VIEW keeps the columns' names, types and collations; a view's options.
CREATE TABLE t (a int PRIMARY KEY, b text, c varchar(5));
CREATE VIEW v AS SELECT a, b, c FROM t;
CREATE OR REPLACE VIEW v AS SELECT a::bigint, b, c FROM t;
CREATE OR REPLACE VIEW v AS SELECT a AS z, b, c FROM t;
CREATE OR REPLACE VIEW v AS SELECT a FROM t;
CREATE OR REPLACE VIEW v AS SELECT b, a, c FROM t;
CREATE OR REPLACE VIEW v AS SELECT a, b COLLATE "C" AS b, c FROM t;
CREATE OR REPLACE VIEW v AS SELECT a, b, c::varchar(6) AS c FROM t;
CREATE OR REPLACE VIEW v AS SELECT a, b, c, 1 AS d FROM t;
-- What is no view.
CREATE VIEW bad AS SELECT 1 AS a INTO made;
CREATE VIEW bad AS SELECT 1 AS a, 2 AS b, 3 AS b, 4 AS a;
CREATE VIEW bad AS SELECT row(1, 2) AS r;
CREATE VIEW bad AS SELECT s FROM (SELECT 1 AS x) s;
CREATE VIEW bad AS SELECT v FROM (VALUES (1, 'x')) v;
-- Options.
CREATE VIEW bad WITH (nonsense = 1) AS SELECT 1 AS a;
CREATE VIEW bad WITH (fillfactor = 10) AS SELECT 1 AS a;
CREATE VIEW bad WITH (security_barrier = maybe) AS SELECT 1 AS a;
CREATE VIEW bad WITH (security_barrier, security_barrier = off) AS SELECT 1 AS a;
CREATE VIEW bad WITH (check_option = 'all') AS SELECT a FROM t;
CREATE VIEW bad WITH (check_option = 'local') AS SELECT 1 AS a;
CREATE VIEW o1 WITH (security_barrier) AS SELECT a, b FROM t WHERE a > 0;
CREATE VIEW o2 WITH (security_barrier = off, security_invoker = yes) AS SELECT 1 AS a;
CREATE VIEW o3 WITH (security_barrier = true) AS SELECT a FROM t WHERE a > 0
  WITH LOCAL CHECK OPTION;
SELECT relname, reloptions FROM pg_class WHERE relname ~ '^(o\d|bad)$' ORDER BY 1;
ALTER VIEW o1 SET (security_barrier = false, check_option = local);
ALTER VIEW o1 SET (nonsense = false);
ALTER VIEW o2 SET (check_option = local);
ALTER VIEW o2 RESET (security_invoker);
INSERT INTO o1 VALUES (-1, 'x');
CREATE OR REPLACE VIEW o3 AS SELECT a FROM t;
SELECT relname, reloptions FROM pg_class WHERE relname ~ '^(o\d|bad)$' ORDER BY 1;
-- A barrier's own conditions come before those of the statement that reads it.
INSERT INTO t VALUES (1, '5', 'x'), (2, 'none', 'y');
CREATE VIEW numbers WITH (security_barrier) AS SELECT a, b FROM t WHERE b ~ '^\d+$';
SELECT a FROM numbers WHERE b::int > 1;
-- Columns by the view's full name.
CREATE SCHEMA s;
CREATE VIEW s.n AS SELECT a AS id FROM t;
SELECT s.n.id FROM s.n ORDER BY 1;
SELECT s.n.* FROM s.n ORDER BY 1;
