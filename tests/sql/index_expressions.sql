-- Indexes on expressions and partial indexes.
CREATE TABLE t (a integer, b text, c timestamp with time zone, ok boolean DEFAULT true);
CREATE INDEX ON t (lower(b));
CREATE INDEX ON t (lower(b), (a + 1), (b || 'x'));
CREATE INDEX ON t ((a));
CREATE INDEX ON t (a, a);
CREATE INDEX t_desc ON t ((a * 2) DESC NULLS LAST, upper(b) text_pattern_ops);

-- What cannot be indexed.
CREATE INDEX ON t (date_trunc('day', c));
CREATE INDEX ON t (a) WHERE c > now();
CREATE INDEX ON t (random());
CREATE INDEX ON t (count(*));
CREATE INDEX ON t (generate_series(1, a));
CREATE INDEX ON t ((a + (SELECT 1)));
CREATE INDEX ON t (a) WHERE a;
CREATE INDEX ON t (a) WHERE count(*) > 1;
CREATE INDEX ON t (a) WHERE EXISTS (SELECT 1);
CREATE INDEX ON t (ctid);
CREATE INDEX ON t ((a + nope));
CREATE INDEX ON t (a) WHERE nope > 1;
CREATE INDEX ON t (a text_ops);
CREATE INDEX ON t (a nope_ops);
CREATE INDEX ON t (('x'));
CREATE INDEX ON t (a) INCLUDE ((a + 1));
CREATE INDEX ON t (a) INCLUDE (nope);

-- Uniqueness of expressions, of some rows.
CREATE UNIQUE INDEX uu ON t (lower(b)) WHERE a > 1;
INSERT INTO t VALUES (2, 'A'), (1, 'A');
INSERT INTO t VALUES (2, 'a');
INSERT INTO t VALUES (1, 'a');
UPDATE t SET a = 3 WHERE a = 1;
UPDATE t SET a = 3, b = b || a WHERE a = 1;
INSERT INTO t VALUES (2, 'a') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (2, 'a') ON CONFLICT (lower(b)) DO NOTHING;
INSERT INTO t VALUES (2, 'a') ON CONFLICT (lower(b)) WHERE a > 1 DO UPDATE SET ok = false RETURNING a, b, ok;
INSERT INTO t VALUES (2, 'a') ON CONFLICT (lower(b)) WHERE a > 5 DO NOTHING;
INSERT INTO t VALUES (2, 'a') ON CONFLICT (lower(b)) WHERE a > 0 DO NOTHING;
INSERT INTO t VALUES (1, 'a') ON CONFLICT (lower(b)) WHERE a > 1 DO UPDATE SET ok = false RETURNING a, b, ok;
INSERT INTO t VALUES (7, 'k', NULL, false);
CREATE UNIQUE INDEX ON t ((a * 0));
SELECT a, b, ok FROM t ORDER BY a, b;

\d t
SELECT indexrelid::regclass, indkey, pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid)
  FROM pg_index WHERE indrelid = 't'::regclass ORDER BY 1::text;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 't'::regclass ORDER BY indexrelid::regclass::text;
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 't_lower_expr_expr1_idx'::regclass ORDER BY attnum;

-- They follow changes of the table.
ALTER TABLE t RENAME b TO bb;
\d t
ALTER TABLE t ALTER bb TYPE varchar(20);
\d t
SELECT a FROM t WHERE lower(bb) = 'a' ORDER BY a;
ALTER TABLE t DROP COLUMN bb;
\d t

-- The planner uses them.
CREATE TABLE p (id integer PRIMARY KEY, name text, state text, n integer);
INSERT INTO p SELECT i, 'Name ' || i, CASE WHEN i % 100 = 0 THEN 'open' ELSE 'done' END, i % 50
  FROM generate_series(1, 5000) AS i;
CREATE INDEX p_lower ON p (lower(name));
CREATE INDEX p_open ON p (id) WHERE state = 'open';
CREATE INDEX p_big ON p (n) WHERE n > 40;
CREATE INDEX p_sum ON p ((id + n));
ANALYZE p;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM p WHERE lower(name) = 'name 7';
EXPLAIN (COSTS OFF) SELECT * FROM p WHERE state = 'open' AND id > 4000;
EXPLAIN (COSTS OFF) SELECT * FROM p WHERE n > 45;
EXPLAIN (COSTS OFF) SELECT * FROM p WHERE id + n = 100;
EXPLAIN (COSTS OFF) SELECT name FROM p WHERE id + n > 4990 ORDER BY id + n;
SELECT id FROM p WHERE lower(name) = 'name 7';
SELECT count(*), sum(id) FROM p WHERE state = 'open' AND id > 4000;
SELECT count(*) FROM p WHERE n > 45;
SELECT count(*) FROM p WHERE n > 35;
SELECT id, n FROM p WHERE id + n = 100 ORDER BY id;
SELECT id FROM p WHERE id + n IN (100, 101, 5000) ORDER BY id;
UPDATE p SET state = 'open' WHERE id BETWEEN 4001 AND 4005;
UPDATE p SET state = 'done' WHERE id = 4100;
DELETE FROM p WHERE id = 4200;
SELECT count(*), sum(id) FROM p WHERE state = 'open' AND id > 4000;
UPDATE p SET n = n + 10 WHERE id < 200;
SELECT count(*) FROM p WHERE n > 45;
SELECT count(*) FROM p WHERE id + n = 100;
PREPARE q (text) AS SELECT count(*) FROM p WHERE state = $1 AND id > 4000;
EXECUTE q ('open');
EXECUTE q ('done');
