-- COPY to and from files on the server in functions.
-- PostgreSQL 15 differs: it has no ON_ERROR.
CREATE SCHEMA cff;
SET search_path = cff, public;
select :'scratch' || '/copied' as file \gset
CREATE TABLE p (id int PRIMARY KEY);
INSERT INTO p VALUES (1), (2);
CREATE TABLE t (a int REFERENCES p, b text);
CREATE TABLE place (name text);
INSERT INTO place VALUES (:'file');
-- The contexts name the file, which lies elsewhere at each run.
CREATE FUNCTION run(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int; ctx text; file text := (SELECT name FROM place);
BEGIN
  EXECUTE format(query, file);
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n || ' ' || FOUND;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS ctx = PG_EXCEPTION_CONTEXT;
  RETURN SQLSTATE || ' ' || SQLERRM || E'\n' || replace(ctx, file, 'FILE');
END $$;
SELECT run('COPY (SELECT g, ''v'' || g FROM generate_series(1, 2) g) TO %L');
SELECT run('COPY t FROM %L');
SELECT * FROM t;
SELECT run('COPY t (a) TO %L');
SELECT run('COPY t (a) FROM %L WHERE a > 1');
SELECT * FROM t;
-- The formats.
SELECT run('COPY t TO %L (FORMAT csv, HEADER, NULL ''-'')');
TRUNCATE t;
SELECT run('COPY t FROM %L (FORMAT csv, HEADER MATCH, NULL ''-'')');
SELECT run('COPY t TO %L (FORMAT binary)');
TRUNCATE t;
SELECT run('COPY t FROM %L (FORMAT binary)');
SELECT * FROM t;
-- Many rows.
CREATE TABLE many (a int, b text);
SELECT run('COPY (SELECT g, repeat(''x'', 100) FROM generate_series(1, 5000) g) TO %L');
SELECT run('COPY many FROM %L');
SELECT count(*), sum(a), max(length(b)) FROM many;
ALTER TABLE many ADD CHECK (a < 3000);
TRUNCATE many;
ALTER TABLE many ADD CHECK (a < 3000);
SELECT run('COPY many FROM %L');
SELECT count(*) FROM many;
-- RETURNING, and queries that return nothing.
SELECT run('COPY (INSERT INTO t VALUES (1, ''i''), (2, ''j'') RETURNING b) TO %L');
SELECT run('COPY (INSERT INTO t VALUES (1, ''i'')) TO %L');
SELECT run('COPY (INSERT INTO t VALUES (9, ''fk'') RETURNING b) TO %L');
-- Errors of the data, of the file and of names.
SELECT run('COPY (SELECT 7, ''x'') TO %L');
SELECT run('COPY t FROM %L');
SELECT run('COPY (VALUES (''1'', ''x''), (''y'', ''z'')) TO %L');
SELECT run('COPY t FROM %L');
SELECT run('COPY t FROM %L (ON_ERROR ignore)');
SELECT run('COPY (SELECT 1) TO %L');
SELECT run('COPY t FROM %L');
SELECT run('COPY t FROM ''/no_such_folder/file''');
SELECT run('COPY t TO ''/no_such_folder/file''');
SELECT run('COPY t TO ''relative''');
SELECT run('COPY t FROM ''/tmp''');
SELECT run('COPY nosuch FROM %L');
SELECT run('COPY nosuch TO %L');
SELECT run('COPY t (nosuch) FROM %L');
SELECT run('COPY (SELECT nosuch FROM t) TO %L');
SELECT run('COPY (SELECT 1 / 0) TO %L');
SELECT run('COPY t TO %L (FORMAT nosuch)');
SELECT run('COPY p FROM %L');
CREATE VIEW v AS SELECT 1 AS a;
SELECT run('COPY v TO %L');
SELECT run('COPY v FROM %L');
-- A variable of the function is no column, and COPY gives no rows.
DO $$ DECLARE n int := 7; BEGIN COPY (SELECT n) TO '/dev/null'; END $$;
DO $$ DECLARE r record; BEGIN EXECUTE 'COPY t TO ''/dev/null''' INTO r; END $$;
DO $$ DECLARE n int; BEGIN COPY t TO '/dev/null'; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '%', n; END $$;
-- Triggers.
CREATE FUNCTION tg() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE NOTICE '% % %', tg_op, tg_when, CASE WHEN tg_level = 'ROW' THEN new END;
  IF tg_level = 'ROW' AND new.b = 'bad' THEN RAISE EXCEPTION 'bad'; END IF;
  RETURN new; END $$;
CREATE TRIGGER tb BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION tg();
CREATE TRIGGER ta AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION tg();
CREATE TRIGGER tc AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION tg();
SELECT run('COPY (VALUES (1, ''c1''), (2, ''c2'')) TO %L (FORMAT csv)');
SELECT run('COPY t FROM %L (FORMAT csv)');
SELECT run('COPY (VALUES (1, ''c1''), (2, ''bad'')) TO %L (FORMAT csv)');
SELECT run('COPY t FROM %L (FORMAT csv)');
SELECT run('COPY (VALUES (1, ''c1''), (9, ''fk'')) TO %L (FORMAT csv)');
SELECT run('COPY t FROM %L (FORMAT csv)');
SELECT count(*) FROM t;
-- A trigger that copies.
CREATE FUNCTION copies() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE NOTICE '%', cff.run('COPY (SELECT a FROM cff.w) TO %L');
  RAISE NOTICE '%', cff.run('COPY cff.w2 FROM %L');
  RETURN NULL; END $$;
CREATE TABLE w (a int);
CREATE TABLE w2 (a int);
CREATE TRIGGER copies AFTER INSERT ON w FOR EACH STATEMENT EXECUTE FUNCTION copies();
INSERT INTO w VALUES (1), (2);
INSERT INTO w VALUES (3);
SELECT * FROM w2;
-- Functions in SQL, and ones that are not VOLATILE.
CREATE FUNCTION in_sql() RETURNS bigint LANGUAGE sql AS
  $$ COPY cff.w2 TO '/dev/null'; COPY cff.w2 FROM '/dev/null'; SELECT count(*) FROM cff.w2 $$;
SELECT in_sql();
CREATE FUNCTION stable_to() RETURNS void STABLE LANGUAGE plpgsql AS $$ BEGIN COPY cff.w TO '/dev/null'; END $$;
SELECT stable_to();
CREATE FUNCTION stable_from() RETURNS void STABLE LANGUAGE plpgsql AS $$ BEGIN COPY cff.w FROM '/dev/null'; END $$;
SELECT stable_from();
BEGIN READ ONLY;
DO $$ BEGIN COPY cff.w TO '/dev/null'; COPY cff.w FROM '/dev/null'; END $$;
ROLLBACK;
-- Changes of the function are seen, and a procedure commits between two.
CREATE PROCEDURE between() LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO cff.w2 VALUES (100);
  RAISE NOTICE '%', cff.run('COPY (SELECT max(a) FROM cff.w2) TO %L');
  COMMIT;
  CREATE TABLE cff.made (a int);
  RAISE NOTICE '%', cff.run('COPY cff.made FROM %L');
  ROLLBACK;
  RAISE NOTICE '%', cff.run('COPY cff.w2 FROM %L');
END $$;
CALL between();
SELECT count(*) FROM w2 WHERE a = 100;
SET client_min_messages = warning;
DROP SCHEMA cff CASCADE;
\setenv COPIED_FILE :file
\! rm -f "$COPIED_FILE"
