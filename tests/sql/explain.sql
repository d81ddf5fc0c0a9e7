-- EXPLAIN: the plans of simple statements, without costs.
-- PostgreSQL 15 differs: subplans are named otherwise
CREATE TABLE t (id integer PRIMARY KEY, grp integer, name text);
INSERT INTO t SELECT n, n % 100, 'name ' || n FROM generate_series(1, 10000) AS n;
CREATE INDEX t_grp ON t (grp);
CREATE TABLE u (id integer PRIMARY KEY, t_id integer);
INSERT INTO u SELECT n, n * 10 FROM generate_series(1, 1000) AS n;
ANALYZE t, u;
EXPLAIN (COSTS OFF) SELECT 1;
EXPLAIN (COSTS OFF) SELECT * FROM t;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = 5;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = 5 AND name = 'x';
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE name = 'x';
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE name LIKE 'x%' OR grp + 1 = 7;
EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY id DESC LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY name;
EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY name DESC NULLS LAST, id LIMIT 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE name <> 'x';
EXPLAIN (COSTS OFF) SELECT name, count(*) FROM t GROUP BY name HAVING count(*) > 1;
EXPLAIN (COSTS OFF) SELECT * FROM generate_series(1, 3) AS g;
EXPLAIN (COSTS OFF) VALUES (1), (2);
EXPLAIN (COSTS OFF) SELECT 1 WHERE false;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE false;
EXPLAIN (COSTS OFF) SELECT 1 UNION ALL SELECT 2;
EXPLAIN (COSTS OFF) SELECT * FROM u JOIN t ON t.id = u.t_id WHERE u.id = 3;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = (SELECT max(t_id) FROM u WHERE t_id < 5);
EXPLAIN (COSTS OFF) INSERT INTO u VALUES (1000, 1);
EXPLAIN (COSTS OFF) INSERT INTO u SELECT id, grp FROM t WHERE name = 'x';
EXPLAIN (COSTS OFF) UPDATE t SET name = 'y' WHERE id = 7;
EXPLAIN (COSTS OFF) DELETE FROM t WHERE id = 7;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = 7 FOR UPDATE;
EXPLAIN (COSTS OFF, VERBOSE) SELECT name, id + 1 FROM t WHERE id = 7;
EXPLAIN (COSTS OFF, FORMAT json) SELECT * FROM t WHERE id = 7;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT id FROM t WHERE id = 7;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT count(*) FROM t WHERE name <> 'name 7';
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) UPDATE u SET t_id = 0 WHERE id = 7;
SELECT t_id FROM u WHERE id = 7;
BEGIN;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) DELETE FROM u WHERE id = 8;
ROLLBACK;
PREPARE p (integer) AS SELECT name FROM t WHERE id = $1;
EXPLAIN (COSTS OFF) EXECUTE p (3);
EXPLAIN (NOPE) SELECT 1;
EXPLAIN (COSTS maybe) SELECT 1;
EXPLAIN (TIMING) SELECT 1;
EXPLAIN SELECT nope;
EXPLAIN CREATE TABLE x (a integer);
EXPLAIN (COSTS OFF) CREATE TABLE x AS SELECT 1;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM u WHERE id > 50 ORDER BY id;
RESET enable_seqscan;
-- Conditions with constants in them.
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE 1 = 1 AND id = 3;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = 1 + 2;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE NULL;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = 3 AND 1 > 2;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = 3 AND current_date > '2020-01-01';
EXPLAIN (COSTS OFF) SELECT 1 WHERE now() > '2020-01-01' OR 2 + 2 = 5;
-- Sub-selects.
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id NOT IN (SELECT t_id FROM u);
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = (SELECT max(t_id) FROM u) AND grp = 3;
EXPLAIN (COSTS OFF) SELECT name, count(*) AS c FROM t GROUP BY name ORDER BY c;
EXPLAIN (COSTS OFF, VERBOSE) INSERT INTO u SELECT id + 20000, grp FROM t;
-- Formats.
EXPLAIN (COSTS OFF, FORMAT yaml) SELECT * FROM t WHERE id = 7 ORDER BY name, grp DESC;
EXPLAIN (COSTS OFF, FORMAT xml) SELECT name FROM t WHERE id < 7 AND name <> 'x&y';
EXPLAIN (COSTS OFF, FORMAT json, VERBOSE) SELECT grp, max(name) FROM t GROUP BY grp HAVING max(id) > 5;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT json) SELECT 1;
EXPLAIN (COSTS OFF) SELECT id FROM u WHERE id IN (3, 5) AND t_id > 30;
-- Options.
SET enable_nestloop = off;
EXPLAIN (COSTS OFF, SETTINGS) SELECT 1;
RESET enable_nestloop;
EXPLAIN (COSTS OFF, GENERIC_PLAN) SELECT * FROM t WHERE id = $1;
EXPLAIN (ANALYZE, GENERIC_PLAN) SELECT 1;
EXPLAIN (WAL) SELECT 1;
EXPLAIN (SERIALIZE) SELECT 1;
EXPLAIN (ANALYZE, SERIALIZE maybe) SELECT 1;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, SERIALIZE) SELECT 1;
EXPLAIN (FORMAT nope) SELECT 1;
-- Names that need quotes.
CREATE TABLE "Odd table" ("Some column" integer, x integer);
EXPLAIN (COSTS OFF) SELECT "Some column" FROM "Odd table" AS "A.b" WHERE "Some column" > x;
EXPLAIN (COSTS OFF, VERBOSE) SELECT * FROM "Odd table" AS "A.b" WHERE "Some column" = 1 ORDER BY x;
-- Conditions stand in the order in which they are evaluated: cheap ones first.
create table cheap (a int, b int, c varchar);
explain (costs off) select * from cheap where abs(b) < 1 and a = 1;
explain (costs off) select * from cheap where a = 1 and b in (1, 2, 3) and abs(b) = 1;
explain (costs off) select * from cheap where a = 1 and c in ('a', 'b');
explain (costs off) select * from cheap where c in ('a', 'b', 'c') and a = 1;
explain (costs off) select * from cheap where lower(c) = 'x' and a > 1 and abs(b) = 1 and b = 8;
explain (costs off) select * from cheap where a > (select 1) and b > 2 and c is not null;
explain (costs off) select * from cheap where a + b > 2 and a > b and (a > 3 or b > 5);
explain (costs off) select * from cheap where a in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) and a + b * 2 > 4 and b > 3;
explain (costs off) select * from cheap where a = any (array[b, 2, 3, 4]) and a > 3 and b <> 4;
-- Constants in HAVING.
explain (costs off) select a from cheap group by a having avg(b) < 15 and sum(b) > 1 + 2;
