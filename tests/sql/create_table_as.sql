-- CREATE TABLE AS, SELECT INTO.
CREATE TABLE src (a integer PRIMARY KEY, b varchar(10), c numeric(10, 2) DEFAULT 1, d timestamp);
INSERT INTO src SELECT i, 'b' || i, i / 4.0, '2024-01-01'::timestamp + i * interval '1 day' FROM generate_series(1, 5) AS i;
CREATE TABLE copy1 AS SELECT * FROM src;
\d copy1
SELECT * FROM copy1 ORDER BY a;
CREATE TABLE copy2 (x, y) AS SELECT a + 1, b || 'z', c FROM src WHERE a < 3 ORDER BY a;
\d copy2
SELECT * FROM copy2 ORDER BY x;
CREATE TABLE copy3 AS SELECT a, 'text' AS t, NULL AS n FROM src WITH NO DATA;
\d copy3
SELECT count(*) FROM copy3;
CREATE TABLE IF NOT EXISTS copy3 AS SELECT 1 AS q;
CREATE TABLE copy3 AS SELECT 1 AS q;
CREATE TABLE many (x, y) AS SELECT 1;
CREATE TABLE twice AS SELECT 1 AS a, 2 AS a;
CREATE TABLE fails AS SELECT 1 / (a - 3) AS q FROM src;
SELECT * FROM fails;
CREATE TABLE vals AS VALUES (1, 'one'), (2, 'two');
SELECT * FROM vals ORDER BY column1;
CREATE TABLE both_ AS SELECT a FROM src UNION ALL SELECT a * 10 FROM src;
SELECT count(*), sum(a) FROM both_;
CREATE TABLE w AS WITH q AS (SELECT a FROM src WHERE a > 3) SELECT * FROM q;
SELECT * FROM w ORDER BY a;
SELECT a, b INTO into1 FROM src WHERE a = 2;
SELECT * FROM into1;
SELECT a INTO into2 FROM src WHERE a < 2 UNION SELECT 7;
SELECT * FROM into2 ORDER BY a;
SELECT * FROM (SELECT 1 AS a INTO into3) AS s;
PREPARE p (integer) AS SELECT a, b FROM src WHERE a >= $1;
CREATE TABLE prepared AS EXECUTE p (4);
SELECT * FROM prepared ORDER BY a;
CREATE TABLE prepared2 AS EXECUTE p (1) WITH NO DATA;
SELECT count(*) FROM prepared2;
CREATE TABLE opt WITH (fillfactor = 70) AS SELECT 1 AS a;
SELECT reloptions FROM pg_class WHERE relname = 'opt';
BEGIN;
CREATE TABLE gone AS SELECT 1 AS a;
SELECT * FROM gone;
ROLLBACK;
SELECT * FROM gone;
BEGIN READ ONLY;
CREATE TABLE gone AS SELECT 1 AS a;
ROLLBACK;
CREATE TABLE nope AS SELECT nope FROM src;
CREATE TABLE rec AS SELECT ROW(1, 2) AS r;
CREATE TABLE large AS SELECT i, repeat('x', 3000) AS filler FROM generate_series(1, 300) AS i;
SELECT count(*), sum(length(filler)) FROM large;
