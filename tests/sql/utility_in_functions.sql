-- Statements without a plan in functions: EXPLAIN, SHOW, LOCK, CREATE TABLE AS, cursors of SQL.
CREATE SCHEMA uif;
SET search_path = uif, public;
CREATE TABLE t (id int PRIMARY KEY, a int DEFAULT 7);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
-- EXPLAIN returns rows.
CREATE FUNCTION lines(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE l text; BEGIN FOR l IN EXECUTE q LOOP RETURN NEXT l; END LOOP; END $$;
SELECT * FROM lines('explain (costs off) select * from t where id = 1');
CREATE FUNCTION explained(v int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE l text; BEGIN
  FOR l IN EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = v LOOP RETURN NEXT l; END LOOP;
END $$;
SELECT * FROM explained(3);
DO $$ DECLARE l text; BEGIN
  EXECUTE 'explain (costs off) select 1' INTO l; RAISE NOTICE '%', l;
  EXPLAIN (COSTS OFF) SELECT 2 INTO l; RAISE NOTICE '%', l;
END $$;
CREATE FUNCTION returned() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN
  RETURN QUERY EXECUTE 'explain (costs off) delete from t where id = 2';
  RETURN QUERY EXPLAIN (COSTS OFF) SELECT 1;
END $$;
SELECT * FROM returned();
DO $$ DECLARE j json; BEGIN
  EXECUTE 'explain (format json, costs off) select 1' INTO j;
  RAISE NOTICE '%', substring(j::text FROM '"Node Type": "[a-zA-Z]*"');
END $$;
DO $$ DECLARE l text; n int; BEGIN
  FOR l IN EXECUTE 'explain (analyze, costs off, timing off, summary off, buffers off) insert into t values (4)' LOOP
    RAISE NOTICE '%', split_part(l, ' (', 1);
  END LOOP;
  SELECT count(*) INTO n FROM t; RAISE NOTICE '%', n;
END $$;
DO $$ BEGIN EXPLAIN SELECT 1; END $$;
DO $$ BEGIN EXECUTE 'explain select nosuch'; END $$;
CREATE FUNCTION stable_one() RETURNS text STABLE LANGUAGE plpgsql AS $$
DECLARE l text; BEGIN EXECUTE 'explain select 1' INTO l; RETURN l; END $$;
SELECT stable_one();
-- SHOW.
DO $$ DECLARE l text; r record; BEGIN
  SET LOCAL work_mem = '5MB';
  EXECUTE 'show work_mem' INTO l; RAISE NOTICE '%', l;
  FOR r IN SHOW datestyle LOOP RAISE NOTICE '%', r; END LOOP;
  SHOW work_mem INTO l; RAISE NOTICE '%', l;
  RESET work_mem;
  SHOW work_mem INTO l; RAISE NOTICE '%', l;
END $$;
DO $$ BEGIN SHOW work_mem; END $$;
DO $$ DECLARE l text; BEGIN SHOW nosuch INTO l; END $$;
-- LOCK TABLE.
CREATE TABLE child () INHERITS (t);
CREATE VIEW v AS SELECT * FROM t;
DO $$ DECLARE l text; BEGIN
  LOCK TABLE t IN SHARE MODE;
  FOR l IN SELECT relation::regclass || ' ' || mode FROM pg_locks
    WHERE relation IN ('t'::regclass, 'child'::regclass, 'v'::regclass) AND mode LIKE 'S%' ORDER BY 1 LOOP
    RAISE NOTICE '%', l;
  END LOOP;
END $$;
DO $$ DECLARE l text; BEGIN
  EXECUTE 'lock table v, only t in share row exclusive mode nowait';
  FOR l IN SELECT relation::regclass || ' ' || mode FROM pg_locks
    WHERE relation IN ('t'::regclass, 'child'::regclass, 'v'::regclass) AND mode LIKE 'S%' ORDER BY 1 LOOP
    RAISE NOTICE '%', l;
  END LOOP;
END $$;
DO $$ BEGIN EXECUTE 'lock table nosuch'; END $$;
DO $$ BEGIN LOCK TABLE t_pkey; END $$;
CREATE FUNCTION locks() RETURNS int LANGUAGE sql AS 'LOCK TABLE t IN EXCLUSIVE MODE; SELECT 1';
SELECT locks();
-- CREATE TABLE AS and SELECT INTO.
DO $$ DECLARE v int = 2; n int; BEGIN
  CREATE TABLE t3 AS SELECT * FROM t WHERE id = v;
  GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% %', n, found;
  CREATE TEMP TABLE t4 AS SELECT * FROM t WITH NO DATA;
  GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% %', n, found;
  CREATE TABLE IF NOT EXISTS t3 AS SELECT 1;
  EXECUTE 'create table t5 (x) as select id from t';
  GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% %', n, found;
  INSERT INTO t5 SELECT count(*) FROM t4;
END $$;
SELECT * FROM t3;
SELECT * FROM t5 ORDER BY 1;
DO $$ BEGIN CREATE TABLE t3 AS SELECT 1; END $$;
DO $$ BEGIN EXECUTE 'select * into t7 from t'; END $$;
DO $$ BEGIN SELECT * INTO t8 FROM t; END $$;
CREATE FUNCTION copies() RETURNS bigint LANGUAGE sql AS
  'CREATE TABLE t6 AS SELECT * FROM t; SELECT * INTO t7 FROM t WHERE id > 1; SELECT count(*) FROM t';
SELECT copies();
SELECT count(*) FROM t7;
-- Cursors of SQL.
DO $$ DECLARE x int; c refcursor = 'cc'; n int; BEGIN
  EXECUTE 'declare cc scroll cursor for select id from t order by id';
  FETCH c INTO x; RAISE NOTICE '%', x;
  EXECUTE 'fetch 2 from cc' INTO x; RAISE NOTICE '%', x;
  EXECUTE 'move backward 2 in cc'; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '%', n;
  FOR x IN EXECUTE 'fetch all from cc' LOOP RAISE NOTICE 'row %', x; END LOOP;
  EXECUTE 'close cc';
  FETCH c INTO x;
END $$;
DO $$ BEGIN EXECUTE 'fetch nosuch'; END $$;
DO $$ BEGIN EXECUTE 'close nosuch'; END $$;
BEGIN;
DO $$ BEGIN EXECUTE 'declare mine cursor for select id from t order by id'; END $$;
FETCH 2 FROM mine;
SELECT name, statement FROM pg_cursors;
COMMIT;
-- Others.
DO $$ BEGIN COPY t TO stdout; END $$;
DO $$ BEGIN EXECUTE 'copy t from stdin'; END $$;
DO $$ BEGIN CHECKPOINT; LOAD 'plpgsql'; UNLISTEN *; ANALYZE t; COMMENT ON TABLE t IS 'x'; END $$;
DO $$ BEGIN DISCARD PLANS; DISCARD SEQUENCES; DISCARD TEMP; END $$;
DO $$ BEGIN DISCARD ALL; END $$;
DO $$ BEGIN VACUUM t; END $$;
DO $$ BEGIN EXECUTE 'begin'; END $$;
DO $$ BEGIN SAVEPOINT a; END $$;
DROP SCHEMA uif CASCADE;
