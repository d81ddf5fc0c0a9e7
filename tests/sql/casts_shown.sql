-- PostgreSQL 15 differs: views over one table name its columns with the table
-- Users' casts in the texts that the catalog shows: as x::type where they are explicit, not at all where implicit.
CREATE TYPE pair AS (a int, b int);
CREATE TYPE level AS ENUM ('low', 'high');
CREATE FUNCTION to_level(int) RETURNS level LANGUAGE sql IMMUTABLE
  AS $$ SELECT CASE WHEN $1 > 10 THEN 'high'::public.level ELSE 'low'::public.level END $$;
CREATE FUNCTION to_int(level) RETURNS int LANGUAGE plpgsql IMMUTABLE
  AS $$ BEGIN RETURN CASE WHEN $1::text = 'high' THEN 20 ELSE 1 END; END $$;
CREATE FUNCTION to_bool(level) RETURNS bool LANGUAGE sql IMMUTABLE AS $$ SELECT $1::text = 'high' $$;
CREATE FUNCTION to_pair(int) RETURNS pair LANGUAGE sql IMMUTABLE AS $$ SELECT ROW($1, $1)::pair $$;
CREATE CAST (int AS level) WITH FUNCTION to_level(int) AS ASSIGNMENT;
CREATE CAST (level AS int) WITH FUNCTION to_int(level) AS IMPLICIT;
CREATE CAST (level AS bool) WITH FUNCTION to_bool(level) AS IMPLICIT;
CREATE CAST (int AS pair) WITH FUNCTION to_pair(int);
CREATE TABLE t (
  id int CHECK (id::level::text = 'low' OR id > 5),
  l level DEFAULT 15,
  g level GENERATED ALWAYS AS (id) STORED,
  CONSTRAINT implicit CHECK (l OR id < 100),
  CONSTRAINT argument CHECK (abs(l) < 50 AND l + 1 > 0),
  CONSTRAINT nested CHECK (((id + 1)::level)::int < 99)
);
CREATE INDEX by_level ON t ((id::level)) WHERE l AND to_int(id::level) = 20;
CREATE INDEX by_sum ON t ((l + 1), abs(l));
CREATE VIEW v AS SELECT id::level AS e, l + 1 AS i, abs(l) AS a, (id::pair).a AS p, id::pair AS q, l::int::text AS c
  FROM t WHERE l AND (id::level::text = 'low' OR NOT l) ORDER BY id::level;
CREATE VIEW cases AS SELECT CASE WHEN l THEN id::level ELSE l END AS c, coalesce(l::int, id) AS d, l IN (1, 20) AS i,
  l BETWEEN 1 AND 5 AND id > 0 AS b FROM t;
CREATE FUNCTION f(x int) RETURNS level LANGUAGE sql RETURN x::level;
CREATE FUNCTION d(x int, y level DEFAULT 11::level, z level DEFAULT 11) RETURNS level LANGUAGE sql RETURN y;
CREATE TRIGGER fires AFTER UPDATE ON t FOR EACH ROW WHEN (new.l AND old.id::level::text = 'low')
  EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint
  WHERE conrelid = 't'::regclass ORDER BY conname;
SELECT attname, pg_get_expr(adbin, adrelid), pg_get_expr(adbin, adrelid, true) FROM pg_attrdef, pg_attribute
  WHERE adrelid = 't'::regclass AND attrelid = adrelid AND attnum = adnum ORDER BY attnum;
SELECT pg_get_indexdef('by_level'::regclass), pg_get_indexdef('by_level'::regclass, 1, true),
  pg_get_expr(indpred, indrelid, true) FROM pg_index WHERE indexrelid = 'by_level'::regclass;
SELECT pg_get_indexdef('by_sum'::regclass), pg_get_indexdef('by_sum'::regclass, 2, true);
SELECT pg_get_viewdef('v');
SELECT pg_get_viewdef('v', true);
SELECT pg_get_viewdef('cases');
SELECT pg_get_functiondef('f'::regproc);
SELECT pg_get_function_arguments('d'::regproc);
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'fires';
\d t
INSERT INTO t VALUES (15, 'high'), (4, 'low');
INSERT INTO t (id) VALUES (3);
INSERT INTO t VALUES (7, 'low') RETURNING *;
SELECT * FROM v;
SELECT * FROM cases ORDER BY c, b;
SELECT d(1), f(11);
-- The texts mean the same once the casts are gone, which depend on nothing in them.
DROP CAST (int AS level);
DROP CAST (level AS bool);
SELECT * FROM v;
INSERT INTO t VALUES (8, 'low') RETURNING *;
INSERT INTO t (id) VALUES (9) RETURNING *;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY conname;
SELECT pg_get_viewdef('v');
-- But on the functions.
DROP FUNCTION to_level(int);
ALTER FUNCTION to_level(int) RENAME TO leveled;
SELECT pg_get_viewdef('v');
SELECT d(1), f(11);

-- Comparisons with the elements of an array keep their parentheses as operands.
CREATE VIEW any_of AS SELECT id FROM t WHERE id = ANY (ARRAY[1, 2]) AND NOT id > ALL (ARRAY[5, 6]) OR id IN (7, 8);
CREATE VIEW any_alone AS SELECT id FROM t WHERE id = ANY ('{1,2}'::int[]);
CREATE VIEW any_names AS SELECT relname FROM pg_class WHERE relname::varchar(5) IN ('a', 'b') AND relkind IN ('r', 'v')
  AND (relname = ANY (ARRAY['a', 'b'])) IS TRUE AND (relname = ANY (ARRAY['a', 'b']))::text = 'true';
CREATE TABLE checked (a int, b varchar(5), CHECK (a IN (1, 2) AND b IN ('x', 'y') OR a > 5), CHECK (b IN ('x', 'y')));
SELECT pg_get_viewdef('any_of', true);
SELECT pg_get_viewdef('any_alone', true);
SELECT pg_get_viewdef('any_names', true);
\d checked
