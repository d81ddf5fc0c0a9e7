-- How wide rows, and how many arguments there may be.
CREATE TABLE wide AS SELECT 1 AS a;
SELECT 'CREATE TABLE thousand (' || string_agg('c' || g || ' int', ',' ORDER BY g) || ')' FROM generate_series(1, 1000) g
\gexec
-- Rows that are read.
SELECT * FROM thousand a, thousand b;
SELECT count(*) FROM (SELECT * FROM thousand a, thousand b) both_of_them;
SELECT count(*) FROM thousand a JOIN thousand b USING (c1);
WITH RECURSIVE r AS (SELECT * FROM thousand a, thousand b) SELECT 1 FROM r;
SELECT 'SELECT ' || string_agg('1', ',') || ' WHERE false' FROM generate_series(1, 1665)
\gexec
SELECT 'SELECT ' || string_agg('1', ',') FROM generate_series(1, 1665)
\gexec
SELECT 'VALUES (' || string_agg('1', ',') || ')' FROM generate_series(1, 1665)
\gexec
SELECT 'VALUES (' || string_agg('1', ',') || '), (2)' FROM generate_series(1, 1665)
\gexec
SELECT 'SELECT * FROM (VALUES (' || string_agg('1', ',') || ')) v' FROM generate_series(1, 1665)
\gexec
SELECT 'SELECT 1 WHERE EXISTS (SELECT ' || string_agg('1', ',') || ')' FROM generate_series(1, 1665)
\gexec
SELECT 'SELECT ' || string_agg('1', ',') || ' UNION ALL SELECT ' || string_agg('1', ',') FROM generate_series(1, 1665)
\gexec
-- What only ORDER BY names.
SELECT 'SELECT 1 FROM wide ORDER BY ' || string_agg('a+' || g, ',' ORDER BY g) FROM generate_series(1, 1700) g
\gexec
-- Rows that are written.
INSERT INTO thousand DEFAULT VALUES RETURNING *, thousand.*;
SELECT 'INSERT INTO wide SELECT ' || string_agg('1', ',') FROM generate_series(1, 1665)
\gexec
SELECT 'INSERT INTO wide VALUES (' || string_agg('1', ',') || ')' FROM generate_series(1, 1665)
\gexec
SELECT 'CREATE VIEW v AS SELECT ' || string_agg('1 AS c' || g, ',' ORDER BY g) FROM generate_series(1, 1665) g
\gexec
SELECT 'CREATE VIEW v AS SELECT ' || string_agg('1 AS c' || g, ',' ORDER BY g) FROM generate_series(1, 1601) g
\gexec
SELECT 'CREATE TABLE t AS SELECT ' || string_agg('1 AS c' || g, ',' ORDER BY g) FROM generate_series(1, 1601) g
\gexec
-- Rows in expressions.
SELECT 'SELECT ROW(' || string_agg('1', ',') || ') IS NULL' FROM generate_series(1, 1664)
\gexec
SELECT 'SELECT ROW(' || string_agg('1', ',') || ') IS NULL' FROM generate_series(1, 1665)
\gexec
SELECT 'SELECT (' || string_agg('1', ',') || ')' FROM generate_series(1, 1665)
\gexec
SELECT 'SELECT (' || string_agg('1', ',') || ') = (' || string_agg('1', ',') || ')' FROM generate_series(1, 1665)
\gexec
-- Arguments.
SELECT 'SELECT concat(' || string_agg('1', ',') || ')' FROM generate_series(1, 100)
\gexec
SELECT 'SELECT concat(' || string_agg('1', ',') || ')' FROM generate_series(1, 101)
\gexec
SELECT 'SELECT nope(' || string_agg('1', ',') || ')' FROM generate_series(1, 101)
\gexec
SELECT 'SELECT greatest(' || string_agg('1', ',') || '), cardinality(ARRAY[' || string_agg('1', ',') || '])' FROM generate_series(1, 1700)
\gexec
SELECT 'SELECT percentile_disc(0.1) WITHIN GROUP (ORDER BY ' || string_agg('1', ',') || ')' FROM generate_series(1, 101)
\gexec
-- What only GROUP BY and windows name; each counts once.
SELECT 'SELECT count(*) FROM wide GROUP BY ' || string_agg('a+' || g % 1663, ',' ORDER BY g) FROM generate_series(1, 1700) g
\gexec
SELECT 'SELECT count(*) FROM wide GROUP BY ' || string_agg('a+' || g, ',' ORDER BY g) FROM generate_series(1, 1664) g
\gexec
SELECT 'SELECT sum(a) OVER (PARTITION BY ' || string_agg('a+' || g, ',' ORDER BY g) || ') FROM wide' FROM generate_series(1, 1664) g
\gexec
