-- PostgreSQL 15 differs: ANALYZE and CREATE INDEX run with the search path of the session
-- Users' functions in what tables keep: SQL that is inlined, SQL that is not, PL/pgSQL; and their errors.
CREATE SCHEMA helpers;
CREATE FUNCTION inlined(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT $1 + 1 $$;
CREATE FUNCTION strict_sql(int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT coalesce($1, 0) + 1 $$;
CREATE FUNCTION two(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 1; SELECT $1 * 2 $$;
CREATE FUNCTION code(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 * 3; END $$;
CREATE FUNCTION queries(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  found int;
BEGIN
  SELECT sum(i) INTO found FROM generate_series(1, $1) AS i;
  RETURN found;
END $$;
CREATE FUNCTION fails(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF $1 = 13 THEN
    RAISE EXCEPTION 'no %', $1 USING ERRCODE = 'P0123', DETAIL = 'it is bad', HINT = 'take another';
  END IF;
  RETURN 100 / ($1 - 7);
END $$;
CREATE FUNCTION sql_fails(int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT coalesce(100 / ($1 - 7), 0) $$;
CREATE FUNCTION is_even(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 % 2 = 0; END $$;

CREATE TABLE t (id int, n int);
CREATE INDEX ON t (inlined(n));
CREATE INDEX ON t (strict_sql(n), two(n));
CREATE INDEX by_code ON t (code(n)) WHERE is_even(n);
CREATE INDEX ON t (queries(n));
INSERT INTO t SELECT i, i FROM generate_series(1, 40) AS i;
UPDATE t SET n = n + 100 WHERE id < 4;
DELETE FROM t WHERE id = 40;
COPY t FROM stdin;
41	41
42	42
\.
ANALYZE t;
SELECT id FROM t WHERE code(n) = 12 AND is_even(n);
SELECT id FROM t WHERE queries(n) = 15;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE code(n) = 12 AND is_even(n);
SELECT id FROM t WHERE code(n) = 12 AND is_even(n);
SELECT id FROM t WHERE queries(n) = 15;
SELECT id FROM t WHERE strict_sql(n) = 102;
RESET enable_seqscan;
RESET enable_bitmapscan;
CREATE UNIQUE INDEX one_only ON t (code(id));
INSERT INTO t VALUES (5, 1);
INSERT INTO t VALUES (5, 1) ON CONFLICT (code(id)) DO UPDATE SET n = 1000 RETURNING *;
INSERT INTO t VALUES (5, 2) ON CONFLICT DO NOTHING RETURNING *;
REINDEX TABLE t;

-- Errors.
CREATE TABLE failing (n int, m int);
CREATE INDEX ON failing (fails(n));
CREATE INDEX partial ON failing (n) WHERE sql_fails(m) > 0;
INSERT INTO failing VALUES (1, 1);
INSERT INTO failing VALUES (7, 1);
INSERT INTO failing VALUES (13, 1);
INSERT INTO failing VALUES (1, 7);
UPDATE failing SET n = 7;
SELECT * FROM failing;
DROP INDEX failing_fails_idx;
INSERT INTO failing VALUES (7, 2);
CREATE INDEX ON failing (fails(n));
CREATE INDEX ON failing (n) WHERE fails(n) > 1;

-- CHECK, generated columns, defaults and partition keys.
CREATE TABLE checked (
  n int CHECK (fails(n) <> 20),
  m int CHECK (queries(m) < 100) CHECK (sql_fails(m) <> 0),
  g int GENERATED ALWAYS AS (fails(n) + queries(m)) STORED,
  d int DEFAULT code(5)
);
INSERT INTO checked VALUES (8, 4) RETURNING *;
INSERT INTO checked VALUES (12, 4);
INSERT INTO checked VALUES (7, 4);
INSERT INTO checked VALUES (13, 4);
INSERT INTO checked VALUES (8, 7);
INSERT INTO checked VALUES (8, 20);
UPDATE checked SET n = 7;
UPDATE checked SET n = 9 RETURNING *;
COPY checked (n, m) FROM stdin;
9	5
7	5
\.
ALTER TABLE checked ADD CHECK (queries(n) < 10);
ALTER TABLE checked ADD CHECK (strict_sql(n) < 100);
ALTER TABLE checked ADD COLUMN more int GENERATED ALWAYS AS (two(n)) STORED;
SELECT * FROM checked;
CREATE TABLE parted (n int, m int) PARTITION BY LIST (code(n));
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES IN (3);
CREATE TABLE parted_rest PARTITION OF parted DEFAULT;
INSERT INTO parted VALUES (1, 1), (2, 2);
SELECT tableoid::regclass, * FROM parted ORDER BY n;
UPDATE parted SET n = 1 WHERE n = 2;
SELECT tableoid::regclass, * FROM parted ORDER BY m;
CREATE TABLE routed (n int) PARTITION BY RANGE (fails(n));
CREATE TABLE routed_all PARTITION OF routed FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
INSERT INTO routed VALUES (8), (9);
INSERT INTO routed VALUES (13);
INSERT INTO routed VALUES (7);
SELECT * FROM routed ORDER BY n;

-- ANALYZE and the build of an index look names up in pg_catalog only.
CREATE FUNCTION helpers.help(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT $1 + 1 $$;
CREATE FUNCTION helped(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN help($1); END $$;
CREATE FUNCTION path(int) RETURNS text LANGUAGE plpgsql IMMUTABLE
  AS $$ BEGIN RETURN current_setting('search_path') || ' ' || $1 % 2; END $$;
SET search_path = public, helpers;
CREATE TABLE named (n int);
CREATE INDEX by_path ON named (path(n));
CREATE INDEX by_help ON named (helped(n));
CREATE STATISTICS by_both ON (path(n)), n FROM named;
INSERT INTO named SELECT i FROM generate_series(1, 10) AS i;
SELECT helped(n) FROM named WHERE n = 1;
ANALYZE named;
DROP INDEX by_help;
ANALYZE named;
SELECT attname, most_common_vals FROM pg_stats WHERE tablename = 'by_path';
SELECT expr, most_common_vals FROM pg_stats_ext_exprs WHERE statistics_name = 'by_both';
CREATE INDEX ON named (helped(n));
SHOW search_path;
