-- A view whose grouping depends on a primary key depends on that constraint.
CREATE SCHEMA k;
SET search_path TO k;
CREATE TABLE t (id integer PRIMARY KEY, a text, b numeric);
CREATE TABLE u (x integer, y integer, z integer, PRIMARY KEY (x, y));
CREATE VIEW grouped AS SELECT id, a, count(*) AS n FROM t GROUP BY id;
CREATE VIEW plain AS SELECT id, count(*) AS n FROM t GROUP BY id;
CREATE VIEW inner_one AS SELECT 1 AS one WHERE EXISTS (SELECT z FROM u GROUP BY x, y HAVING z > 0);
CREATE VIEW over AS SELECT n FROM grouped;
SELECT v.relname, o.conname, d.refobjsubid, d.deptype
  FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
  JOIN pg_constraint o ON o.oid = d.refobjid
 WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_constraint'::regclass
 ORDER BY 1, 2;
ALTER TABLE t DROP CONSTRAINT t_pkey;
ALTER TABLE t DROP CONSTRAINT t_pkey RESTRICT;
ALTER TABLE t DROP CONSTRAINT nosuch;
ALTER TABLE t DROP COLUMN b;
SELECT * FROM over;
ALTER TABLE t DROP CONSTRAINT t_pkey CASCADE;
SELECT relname FROM pg_class WHERE relnamespace = 'k'::regnamespace AND relkind = 'v' ORDER BY 1;
ALTER TABLE u DROP CONSTRAINT u_pkey CASCADE;
CREATE OR REPLACE VIEW plain AS SELECT z AS id, count(*) AS n FROM u GROUP BY x, z;
ALTER TABLE u ADD PRIMARY KEY (x);
CREATE OR REPLACE VIEW grouped AS SELECT x, z FROM u GROUP BY x;
ALTER TABLE u DROP CONSTRAINT u_pkey;
CREATE OR REPLACE VIEW grouped AS SELECT x, z FROM u;
ALTER TABLE u DROP CONSTRAINT u_pkey;
ALTER TABLE u ADD PRIMARY KEY (x);
CREATE OR REPLACE VIEW grouped AS SELECT x, z FROM u GROUP BY x;
DROP TABLE u CASCADE;
DROP SCHEMA k CASCADE;
