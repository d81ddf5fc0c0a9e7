-- Temporary tables, sequences and views.
CREATE TABLE t (a integer);
INSERT INTO t VALUES (1);
CREATE TEMP TABLE t (a integer, b text DEFAULT 'temporary');
INSERT INTO t (a) VALUES (2), (3);
SELECT * FROM t ORDER BY a;
SELECT * FROM public.t;
SELECT * FROM pg_temp.t ORDER BY a;
SELECT relpersistence, relkind FROM pg_class WHERE oid = 't'::regclass;
SELECT relnamespace = pg_my_temp_schema(), pg_is_other_temp_schema(relnamespace) FROM pg_class WHERE oid = 't'::regclass;
SELECT count(*) FROM pg_class WHERE relname = 't' AND pg_table_is_visible(oid);
SELECT table_type FROM information_schema.tables WHERE table_name = 't' ORDER BY 1;
SHOW search_path;
SELECT current_schema();
SELECT current_schemas(false);
DROP TABLE t;
SELECT * FROM t;

-- Where they can be.
CREATE TEMP TABLE public.nope (a integer);
CREATE TABLE pg_temp.there (a integer);
SELECT relpersistence FROM pg_class WHERE relname = 'there';
CREATE TEMPORARY TABLE pg_temp.there (a integer);
CREATE TEMP TABLE IF NOT EXISTS there (b text);
CREATE TABLE perm (a integer) ON COMMIT DROP;
DROP TABLE pg_temp.there;

-- ON COMMIT.
BEGIN;
CREATE TEMP TABLE d (a integer) ON COMMIT DROP;
INSERT INTO d VALUES (1);
SELECT * FROM d;
COMMIT;
SELECT * FROM d;
CREATE TEMP TABLE e (a integer PRIMARY KEY) ON COMMIT DELETE ROWS;
INSERT INTO e VALUES (1);
SELECT * FROM e;
BEGIN;
INSERT INTO e VALUES (2), (3);
SAVEPOINT s;
INSERT INTO e VALUES (4);
ROLLBACK TO s;
SELECT * FROM e ORDER BY a;
COMMIT;
SELECT * FROM e;
BEGIN;
INSERT INTO e VALUES (2), (3);
SELECT count(*) FROM e;
COMMIT;
SELECT count(*) FROM e;
CREATE TEMP TABLE k (a integer) ON COMMIT PRESERVE ROWS;
INSERT INTO k VALUES (1);
SELECT * FROM k;
BEGIN;
CREATE TEMP TABLE back (a integer);
ROLLBACK;
SELECT * FROM back;

-- As the result of a query.
CREATE TEMP TABLE q AS SELECT generate_series(1, 3) AS n;
SELECT sum(n) FROM q;
SELECT n * 2 AS n INTO TEMP q2 FROM q;
SELECT * FROM q2 ORDER BY n;
BEGIN;
CREATE TEMP TABLE q3 ON COMMIT DROP AS SELECT 1 AS a;
SELECT * FROM q3;
COMMIT;
SELECT * FROM q3;

-- Sequences, indexes, views.
CREATE TEMP TABLE s (id serial PRIMARY KEY, v text UNIQUE);
INSERT INTO s (v) VALUES ('a'), ('b') RETURNING *;
\set VERBOSITY default
INSERT INTO s (v) VALUES ('a');
\set VERBOSITY verbose
CREATE INDEX s_lower ON s (lower(v));
CREATE TEMP SEQUENCE sq START 5;
SELECT nextval('sq'), nextval('pg_temp.sq');
SELECT relname, relkind, relpersistence FROM pg_class WHERE relpersistence = 't' AND relkind <> 't' AND relname !~ '^pg_toast' ORDER BY relname;
CREATE TEMP VIEW v AS SELECT a FROM t;
SELECT * FROM v;
CREATE VIEW v2 AS SELECT id FROM s;
SELECT * FROM v2 ORDER BY id;
SELECT relpersistence FROM pg_class WHERE relname = 'v2';
TRUNCATE s;
ALTER TABLE s ADD COLUMN more integer DEFAULT 7;
INSERT INTO s (v) VALUES ('c') RETURNING *;
DROP VIEW v2;

-- pg_temp in the search path.
SET search_path = pg_temp, public;
CREATE TABLE first (a integer);
SELECT relpersistence FROM pg_class WHERE relname = 'first';
SELECT a FROM t;
SET search_path = public, pg_temp;
CREATE TEMP TABLE t (a integer);
SELECT a FROM t;
RESET search_path;
SELECT a FROM t;

-- They go with the session.
SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relkind = 'r';
DISCARD TEMP;
SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relname !~ '^pg_toast';
SELECT a FROM t;
CREATE TEMP TABLE last (a integer);
\c
SELECT * FROM last;
SET search_path = pg_temp;
CREATE TABLE made_first (a integer);
SELECT relpersistence FROM pg_class WHERE relname = 'made_first';
SELECT current_schema() LIKE 'pg_temp%';
-- What goes with its parent at the end is not emptied first.
BEGIN;
CREATE TEMP TABLE going (a int) PARTITION BY LIST (a) ON COMMIT DROP;
CREATE TEMP TABLE going_1 PARTITION OF going FOR VALUES IN (1) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE going_2 PARTITION OF going FOR VALUES IN (2) ON COMMIT DROP;
INSERT INTO going VALUES (1), (2);
CREATE TEMP TABLE leaving (a int) ON COMMIT DROP;
CREATE TEMP TABLE leaving_1 () INHERITS (leaving) ON COMMIT DELETE ROWS;
INSERT INTO leaving_1 VALUES (1);
COMMIT;
SELECT relname FROM pg_class WHERE relname ~ '^(going|leaving)';
