-- Errors: SQLSTATE, position, and a session that goes on.
SELECT 1 +;
SELECT (1;
SELECT 1);
SELECT FROM WHERE;
SELECT 'a' 'b';
SELECT "unterminated;
";
SELECT 1a;
SELECT 1.5.5;
SELECT 1__0;
SELECT $1;
SELECT E'\xZZ', E'\u12';
SELECT U&'\zzzz';
SELECT E'\xff';
SELECT 'nul: ' || chr(0);
SELECT * FROM;
INSERT INTO;
UPDATE SET a = 1;
CREATE TABLE (a integer);
CREATE TABLE x (a);
CREATE TABLE x a integer;
DROP;
DROP NONSENSE x;
FOO BAR;
EXPLAIN;
;
;;
SELECT 1;;
-- a comment only
/* a block /* nested */ comment */ SELECT 'after comment';
/* unterminated
*/ SELECT 2 -- trailing
;
SELECT 1 AS select;
SELECT 1 AS "select";
SELECT 1 user;
SELECT user AS from_user FROM (SELECT 1) AS user;
CREATE TABLE table (a integer);
SELECT a.b.c.d.e FROM a;
SELECT *, * FROM (SELECT 1) AS q;
SELECT q.* FROM (SELECT 1 AS a, 2 AS a) AS q;
SELECT a FROM (SELECT 1 AS a, 2 AS a) AS q;
SELECT count(*) FROM pg_class WHERE relname = ANY (1);
SELECT 1 = ANY (SELECT 1, 2);
SELECT 1 IN ();
SELECT (1, 2) IN (SELECT 1);
SELECT (1, 2) = (1, 2, 3);
SELECT ROW(1, 2) = 1;
SELECT NOT 1;
SELECT 1 AND true;
SELECT 1 IS TRUE;
SELECT 'x' IS TRUE;
SELECT - true;
SELECT 1 LIKE 1;
SELECT now() + 1;
SELECT date '2026-01-01' + date '2026-01-01';
SELECT ARRAY[1, 2] + 1;
SELECT (1).a;
SELECT (SELECT 1).a;
SELECT 1::integer::nope::text;
SELECT repeat('x', 2000000000);
SELECT lpad('x', 2000000000);
SELECT 10000000000000000000000000000000000::integer;
SELECT cast('abc' AS integer) FROM pg_class WHERE false;
SELECT 1 FROM (SELECT 1) AS a JOIN (SELECT 2) AS b;
SELECT 1 FROM (SELECT 1) AS a, LATERAL nope;
SELECT 1 GROUP BY 2;
SELECT 1 ORDER BY 2;
SELECT 1 ORDER BY 'x';
SELECT 1 LIMIT 1 LIMIT 2;
SELECT 1 HAVING 1;
SELECT 1 FOR UPDATE;
SELECT nope.* FROM pg_am;
SELECT identifier_that_is_much_longer_than_sixty_three_characters_and_is_therefore_cut_off;
SELECT 1 AS identifier_that_is_much_longer_than_sixty_three_characters_and_is_therefore_cut_off;
SELECT 'still alive' AS state;
\echo :LAST_ERROR_SQLSTATE
SELECT 1 / 0;
\echo :ERROR :SQLSTATE :LAST_ERROR_MESSAGE
\errverbose
SELECT 1;
\echo :ERROR :SQLSTATE :ROW_COUNT
