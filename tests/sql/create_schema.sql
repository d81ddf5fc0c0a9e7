-- CREATE SCHEMA with what is in it.
CREATE SCHEMA whole
    CREATE INDEX whole_b ON t (b)
    CREATE VIEW v AS SELECT a, b FROM t WHERE a > 1
    CREATE TABLE t (a int PRIMARY KEY DEFAULT nextval('s'), b text)
    CREATE TABLE whole.u (x int, CHECK (x > 0))
    CREATE SEQUENCE s;
INSERT INTO whole.t (b) VALUES ('one'), ('two'), ('three');
SELECT * FROM whole.v ORDER BY a;
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'whole'::regnamespace ORDER BY relname;
SHOW search_path;
CREATE TABLE outside (a int);
SELECT 'outside'::regclass;
DROP TABLE outside;

-- An element of another schema, and one that fails: nothing stays.
CREATE SCHEMA other CREATE TABLE whole.t2 (a int);
CREATE SCHEMA other CREATE TABLE t2 (a int) CREATE VIEW v AS SELECT nothing FROM t2;
CREATE SCHEMA other CREATE TABLE t2 (a int) CREATE INDEX ON t3 (a);
SELECT nspname FROM pg_namespace WHERE nspname = 'other';
CREATE SCHEMA IF NOT EXISTS other CREATE TABLE t2 (a int);
CREATE SCHEMA whole CREATE TABLE t3 (a int);
CREATE SCHEMA pg_whole CREATE TABLE t3 (a int);

-- Named after a role.
CREATE SCHEMA AUTHORIZATION postgres CREATE TABLE own (a int);
SELECT relname FROM pg_class WHERE relnamespace = 'postgres'::regnamespace;
DROP SCHEMA postgres CASCADE;
CREATE SCHEMA AUTHORIZATION CURRENT_USER;
DROP SCHEMA postgres;
CREATE SCHEMA AUTHORIZATION nobody_at_all;
BEGIN;
CREATE SCHEMA later CREATE TABLE t (a int);
SELECT * FROM later.t;
ROLLBACK;
SELECT nspname FROM pg_namespace WHERE nspname = 'later';
DROP SCHEMA whole CASCADE;
