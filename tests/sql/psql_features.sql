-- Things that psql does with a server: \gset, \gdesc, \gexec, \bind, \crosstabview, formats.
CREATE TABLE t (id integer PRIMARY KEY, name varchar(10), amount numeric(8, 2));
INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL), (3, 'a|b', -3);
SELECT max(id) AS top, 'x' AS word FROM t \gset
\echo :top :'word' :"word"
SELECT :top + 1, :'word';
SELECT id, name, amount, now() AS at, NULL AS nothing FROM t \gdesc
SELECT 'SELECT ' || id || ' AS executed' FROM t ORDER BY id \gexec
SELECT id, name FROM t ORDER BY id \gx
SELECT * FROM t ORDER BY id \g
\x on
SELECT * FROM t ORDER BY id;
\x off
\a
SELECT * FROM t ORDER BY id;
\a
\t on
SELECT * FROM t ORDER BY id;
\t off
\pset format csv
SELECT * FROM t ORDER BY id;
\pset format html
SELECT id FROM t WHERE id = 1;
\pset format aligned
\pset border 2
SELECT * FROM t ORDER BY id;
\pset border 1
\pset null 'NULL'
SELECT * FROM t ORDER BY id;
\set AUTOCOMMIT off
INSERT INTO t VALUES (4, 'four', 4);
ROLLBACK;
SELECT count(*) FROM t;
COMMIT;
\set AUTOCOMMIT on
\set ON_ERROR_ROLLBACK on
BEGIN;
INSERT INTO t VALUES (5, 'five', 5);
SELECT 1 / 0;
SELECT nope;
INSERT INTO t VALUES (1, 'dup', 0);
COMMIT;
SELECT id FROM t ORDER BY id;
\set ON_ERROR_ROLLBACK off
\if :top
SELECT 'taken';
\else
SELECT 'not taken';
\endif
SELECT 1 AS a \; SELECT 2 AS b \;
SELECT 3 AS c;
SELECT name, id, amount FROM t \crosstabview name id amount
\set VERBOSITY sqlstate
SELECT 1 / 0;
\set VERBOSITY terse
SELECT 1 / 0;
INSERT INTO t VALUES (1);
\set VERBOSITY default
INSERT INTO t VALUES (1);
\set ECHO_HIDDEN off
\set QUIET off
CREATE TABLE tags (a integer);
INSERT INTO tags VALUES (1), (2);
UPDATE tags SET a = a + 1;
DELETE FROM tags WHERE a = 2;
SELECT * FROM tags;
SELECT 1 INTO tags_copy;
CREATE TABLE tags_as AS SELECT * FROM tags;
CREATE INDEX tags_a ON tags (a);
TRUNCATE tags;
BEGIN;
SAVEPOINT s;
ROLLBACK TO s;
RELEASE s;
SET work_mem = '1MB';
SHOW work_mem;
DECLARE c CURSOR FOR SELECT 1;
FETCH c;
MOVE c;
CLOSE c;
LOCK tags;
PREPARE p AS SELECT 1;
EXECUTE p;
DEALLOCATE p;
COMMIT;
VACUUM tags;
ANALYZE tags;
ALTER TABLE tags ADD COLUMN b integer;
DROP INDEX tags_a;
DROP TABLE tags;
CREATE SEQUENCE sq;
ALTER SEQUENCE sq RESTART;
DROP SEQUENCE sq;
RESET work_mem;
DISCARD ALL;
COPY t (id) FROM stdin;
10
11
\.
SELECT id FROM t WHERE id > 9;
