-- Which unique indexes ON CONFLICT's target means: by collation and operator class, through an
-- alias or a view, and what is said where there is none.
-- PostgreSQL 15 differs: no hint on a SET target with its relation's name
CREATE TABLE t (key int4, fruit text);
CREATE UNIQUE INDEX by_class ON t (key, fruit text_pattern_ops);
CREATE UNIQUE INDEX by_collation ON t (key, fruit COLLATE "C");
CREATE UNIQUE INDEX by_both ON t (key, fruit COLLATE "C" text_pattern_ops);
CREATE UNIQUE INDEX by_expression ON t (key, lower(fruit) COLLATE "C", upper(fruit) text_pattern_ops);
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (0, 'a') ON CONFLICT (key, fruit) DO NOTHING;
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (0, 'a') ON CONFLICT (key, fruit text_pattern_ops) DO NOTHING;
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (0, 'a') ON CONFLICT (key, fruit text_ops) DO NOTHING;
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (0, 'a') ON CONFLICT (key, fruit COLLATE "C") DO NOTHING;
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (0, 'a') ON CONFLICT (fruit COLLATE "C" text_pattern_ops, key) DO NOTHING;
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (0, 'a') ON CONFLICT (fruit, key, fruit text_pattern_ops, key) DO NOTHING;
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (0, 'a') ON CONFLICT (lower(fruit) COLLATE "C", key, upper(fruit)) DO NOTHING;
EXPLAIN (COSTS OFF) INSERT INTO t VALUES (0, 'a') ON CONFLICT (lower(fruit) text_pattern_ops, key, upper(fruit)) DO NOTHING;
INSERT INTO t VALUES (0, 'a') ON CONFLICT (key, fruit COLLATE "POSIX") DO NOTHING;
INSERT INTO t VALUES (0, 'a') ON CONFLICT (key, fruit no_such_ops) DO NOTHING;
INSERT INTO t VALUES (0, 'a') ON CONFLICT (key, fruit COLLATE no_such) DO NOTHING;

-- Mistakes in what is to be done come before the lack of an index.
INSERT INTO t VALUES (1, 'a') ON CONFLICT (keyy) DO UPDATE SET fruit = excluded.fruit;
INSERT INTO t VALUES (1, 'a') ON CONFLICT (keyy) DO NOTHING;
INSERT INTO t VALUES (1, 'a') ON CONFLICT (key) DO UPDATE SET t.fruit = 'b';
INSERT INTO t VALUES (1, 'a') ON CONFLICT (key) DO UPDATE SET fruit = excluded.ctid::text;
INSERT INTO t VALUES (1, 'a') ON CONFLICT (key) DO UPDATE SET fruit = 'b';
INSERT INTO t VALUES (1, 'a') ON CONFLICT (t.key) DO NOTHING;
INSERT INTO t VALUES (1, 'a') ON CONFLICT ((excluded.key)) DO NOTHING;

-- Predicates, under an alias and through a view with other names.
DROP INDEX by_class, by_collation, by_both, by_expression;
CREATE UNIQUE INDEX partial ON t (key) WHERE fruit LIKE '%berry';
CREATE VIEW v AS SELECT fruit AS f, key AS k FROM t;
INSERT INTO t VALUES (23, 'Blackberry') ON CONFLICT (key) WHERE fruit LIKE '%berry' DO NOTHING;
INSERT INTO t AS s VALUES (23, 'Blackberry') ON CONFLICT (key) WHERE s.fruit LIKE '%berry' AND s.fruit = 'x' DO NOTHING;
INSERT INTO t AS s VALUES (23, 'Blackberry') ON CONFLICT (key) WHERE t.fruit LIKE '%berry' DO NOTHING;
INSERT INTO v VALUES ('Blackberry', 23) ON CONFLICT (k) WHERE f LIKE '%berry' DO UPDATE SET f = excluded.f || '!' RETURNING f, k;
INSERT INTO v AS w VALUES ('Cranberry', 24) ON CONFLICT (k) WHERE w.f LIKE '%berry' DO UPDATE SET f = 'no' RETURNING f, k;
INSERT INTO v VALUES ('Blackberry', 23) ON CONFLICT (key) WHERE f LIKE '%berry' DO NOTHING;
INSERT INTO v VALUES ('Blackberry', 23) ON CONFLICT ((k)) WHERE f LIKE '%berry' DO NOTHING;
SELECT * FROM t ORDER BY key;
DROP VIEW v;
DROP TABLE t;

-- An index that lacks parts decides nothing.
CREATE TABLE p (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (1000) PARTITION BY RANGE (a);
CREATE TABLE p11 PARTITION OF p1 FOR VALUES FROM (0) TO (500);
CREATE UNIQUE INDEX ON ONLY p1 (a);
INSERT INTO p1 VALUES (40, 'x') ON CONFLICT (a) DO NOTHING;
CREATE UNIQUE INDEX p11_a ON p11 (a);
ALTER INDEX p1_a_idx ATTACH PARTITION p11_a;
INSERT INTO p1 VALUES (40, 'x') ON CONFLICT (a) DO NOTHING;
DROP TABLE p;
