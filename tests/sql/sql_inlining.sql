-- Functions in SQL that become part of the query that calls them.
CREATE TABLE si_t (a int, b int, c text);
INSERT INTO si_t SELECT n, n % 10, 'c' || n FROM generate_series(1, 2000) n;
CREATE FUNCTION si_inc(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE FUNCTION si_named(x int, y int) RETURNS int LANGUAGE sql AS 'SELECT x * y';
CREATE FUNCTION si_strict(int, int) RETURNS int LANGUAGE sql STRICT AS 'SELECT $1 + $2';
CREATE FUNCTION si_not_strict(int, int) RETURNS int LANGUAGE sql STRICT AS 'SELECT coalesce($1, $2)';
CREATE FUNCTION si_unused(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION si_unused_strict(int, int) RETURNS int LANGUAGE sql STRICT AS 'SELECT $1';
CREATE FUNCTION si_twice(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * $1';
CREATE FUNCTION si_volatile() RETURNS double precision LANGUAGE sql AS 'SELECT random()';
CREATE FUNCTION si_lies() RETURNS double precision LANGUAGE sql IMMUTABLE AS 'SELECT random()';
CREATE FUNCTION si_stable() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT now()';
CREATE FUNCTION si_from(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT a FROM si_t WHERE a = $1';
CREATE FUNCTION si_sub(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT (SELECT $1)';
CREATE FUNCTION si_two(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1; SELECT $1';
CREATE FUNCTION si_nested(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT si_inc(si_inc($1))';
CREATE FUNCTION si_coerced(int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION si_settings(int) RETURNS int LANGUAGE sql SET work_mem = '1MB' AS 'SELECT $1 + 1';
CREATE FUNCTION si_definer(int) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT $1 + 1';
CREATE FUNCTION si_first(anyarray) RETURNS anyelement LANGUAGE sql IMMUTABLE AS 'SELECT $1[1]';
EXPLAIN (COSTS OFF) SELECT * FROM si_t WHERE si_inc(a) = 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT si_inc(a), si_named(a, b), si_nested(b), si_coerced(a) FROM si_t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT si_named(y => a, x => b), si_strict(a, b), si_not_strict(a, b),
  si_unused(a, b), si_unused_strict(a, b) FROM si_t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT si_twice(a), si_twice(a + b), si_twice((random() * a)::int) FROM si_t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT si_from(a), si_sub(a), si_two(a), si_settings(a), si_definer(a)
  FROM si_t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT si_first(ARRAY[a, b]), si_first(ARRAY[c]) FROM si_t;
EXPLAIN (COSTS OFF) SELECT * FROM si_t WHERE si_stable() > '2000-01-01' AND a < 5;
EXPLAIN (VERBOSE, COSTS OFF) SELECT CASE a WHEN 1 THEN si_inc(b) ELSE si_twice(b) END FROM si_t;
SELECT count(*) FROM si_t WHERE si_inc(a) % 7 = 3 AND si_nested(b) > 4;
-- Indexes.
CREATE INDEX si_i ON si_t (si_inc(a));
CREATE INDEX si_j ON si_t ((b + 1)) WHERE si_inc(a) > 100;
ANALYZE si_t;
EXPLAIN (COSTS OFF) SELECT * FROM si_t WHERE si_inc(a) = 3;
EXPLAIN (COSTS OFF) SELECT * FROM si_t WHERE a + 1 = 3;
SELECT * FROM si_t WHERE a + 1 = 3;
INSERT INTO si_t VALUES (5000, 1, 'x');
UPDATE si_t SET a = 6000 WHERE si_inc(a) = 5001;
SELECT a FROM si_t WHERE si_inc(a) = 6001;
-- Functions in FROM.
CREATE FUNCTION si_rows(int) RETURNS SETOF si_t LANGUAGE sql STABLE AS
  'SELECT * FROM si_t WHERE a <= $1';
CREATE FUNCTION si_table(n int) RETURNS TABLE (x int, y text) LANGUAGE sql STABLE AS
  'SELECT a, c FROM si_t WHERE b = n ORDER BY a LIMIT 3';
CREATE FUNCTION si_set(int) RETURNS SETOF int LANGUAGE sql IMMUTABLE AS 'SELECT generate_series(1, $1)';
CREATE FUNCTION si_set_volatile(int) RETURNS SETOF si_t LANGUAGE sql AS
  'SELECT * FROM si_t WHERE a <= $1';
CREATE FUNCTION si_set_strict(int) RETURNS SETOF si_t LANGUAGE sql STABLE STRICT AS
  'SELECT * FROM si_t WHERE a <= $1';
EXPLAIN (COSTS OFF) SELECT * FROM si_rows(5) r WHERE r.b = 3;
EXPLAIN (COSTS OFF) SELECT * FROM si_table(3) WHERE x > 0;
EXPLAIN (COSTS OFF) SELECT * FROM si_set_volatile(5);
EXPLAIN (COSTS OFF) SELECT * FROM si_set_strict(5);
EXPLAIN (COSTS OFF) SELECT * FROM si_rows(5) WITH ORDINALITY;
EXPLAIN (COSTS OFF) SELECT * FROM si_rows((random() * 3)::int);
SELECT * FROM si_rows(2) ORDER BY a;
SELECT * FROM si_table(3);
SELECT t.a, s.x FROM si_t t, si_table(t.b) s WHERE t.a < 3 ORDER BY 1, 2;
SELECT t.a, n FROM si_t t, LATERAL si_set(t.a) n WHERE t.a < 4 ORDER BY 1, 2;
SELECT count(*) FROM si_rows(100) r JOIN si_rows(50) s ON r.a = s.a;
PREPARE si_p(int) AS SELECT count(*) FROM si_rows($1);
EXECUTE si_p(7);
CREATE OR REPLACE FUNCTION si_rows(int) RETURNS SETOF si_t LANGUAGE sql STABLE AS
  'SELECT * FROM si_t WHERE a < $1';
EXECUTE si_p(7);
-- A function that is replaced, or hidden by another one, changes the plan.
PREPARE si_q AS SELECT si_inc(1);
EXECUTE si_q;
CREATE FUNCTION si_inc(bigint) RETURNS text LANGUAGE sql AS 'SELECT ''bigint''';
EXECUTE si_q;
SELECT si_inc(1::bigint);
CREATE VIEW si_v AS SELECT si_twice(a) AS x FROM si_t WHERE si_named(a, 2) = 8;
EXPLAIN (COSTS OFF) SELECT * FROM si_v;
SELECT * FROM si_v;
-- Errors keep their place in the body.
CREATE FUNCTION si_fails(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1 / $1';
SELECT si_fails(a - 1) FROM si_t WHERE a = 1;
SET check_function_bodies = off;
CREATE FUNCTION si_lost(int) RETURNS int LANGUAGE sql AS 'SELECT si_nosuch($1)';
RESET check_function_bodies;
SELECT si_lost(1);
-- Arguments with parameters of their own.
CREATE FUNCTION inl_given(a text) RETURNS TABLE (x text) LANGUAGE sql STABLE AS $$ SELECT a || (SELECT a) $$;
DO $$ DECLARE r record; g text; BEGIN SELECT 'f'::text AS c INTO r; SELECT x INTO g FROM inl_given(r.c); RAISE NOTICE '%', g; END $$;
DO $$ DECLARE t text := 'v'; g text; BEGIN SELECT x INTO g FROM inl_given(t || t); RAISE NOTICE '%', g; END $$;
PREPARE inl_given(text, text) AS SELECT x FROM inl_given($2 || $1);
EXECUTE inl_given('one', 'two');
DEALLOCATE inl_given;
DROP FUNCTION inl_given;
