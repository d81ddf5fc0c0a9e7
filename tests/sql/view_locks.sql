-- Sessions: what reads or changes rows through a view locks the view, and the views below it;
-- CREATE VIEW locks what it reads, and sees what it waited for.
S: CREATE TABLE t (id integer PRIMARY KEY, a integer);
S: INSERT INTO t VALUES (1, 1);
S: CREATE VIEW v AS SELECT id, a FROM t;
S: CREATE VIEW over AS SELECT id FROM v;

-- A reader keeps the view as it is, through another view, too.
A: BEGIN;
A: SELECT * FROM over;
A: SELECT relation::regclass, mode FROM pg_locks WHERE locktype = 'relation' AND relation::regclass::text IN ('t', 'v', 'over') ORDER BY 1;
B: COMMENT ON VIEW v IS 'nothing to wait for';
B: CREATE OR REPLACE VIEW v AS SELECT id, a + 1 AS a FROM t;
A: COMMIT;
A: BEGIN;
A: SELECT * FROM over;
B: ALTER VIEW v SET (security_barrier);
A: COMMIT;
A: BEGIN;
A: SELECT * FROM over;
B: ALTER VIEW over RENAME TO above;
A: COMMIT;
B: ALTER VIEW above RENAME TO over;

-- So does a writer.
A: BEGIN;
A: UPDATE v SET a = 2;
A: SELECT relation::regclass, mode FROM pg_locks WHERE locktype = 'relation' AND relation::regclass::text IN ('t', 'v') ORDER BY 1, 2;
B: ALTER VIEW v RESET (security_barrier);
A: ROLLBACK;

-- A reader that waits for the view has what came of it.
A: BEGIN;
A: CREATE OR REPLACE VIEW v AS SELECT id, a + 10 AS a FROM t;
B: SELECT * FROM v;
A: COMMIT;
A: BEGIN;
A: DROP VIEW over;
B: SELECT * FROM over;
A: COMMIT;
A: BEGIN;
A: ALTER VIEW v RENAME TO w;
B: INSERT INTO v VALUES (2);
A: ROLLBACK;
A: BEGIN;
A: ALTER VIEW v RENAME COLUMN a TO b;
B: EXPLAIN (COSTS OFF) SELECT b FROM v;
A: COMMIT;
A: ALTER VIEW v RENAME COLUMN b TO a;

-- What is prepared, as well.
B: PREPARE p AS SELECT a FROM v;
B: EXECUTE p;
A: BEGIN;
A: CREATE OR REPLACE VIEW v AS SELECT id, a + 20 AS a FROM t;
B: EXECUTE p;
A: COMMIT;

-- CREATE VIEW keeps its tables and views as they are.
A: BEGIN;
A: CREATE VIEW n AS SELECT v.a FROM v JOIN t USING (id);
A: SELECT relation::regclass, mode FROM pg_locks WHERE locktype = 'relation' AND relation::regclass::text IN ('t', 'v') ORDER BY 1;
B: ALTER TABLE t ADD COLUMN x integer;
A: ROLLBACK;
A: BEGIN;
A: CREATE VIEW n AS SELECT v.a FROM v;
B: ALTER VIEW v SET (security_invoker);
A: ROLLBACK;

-- It waits for whoever changes them, and has what came of it.
A: BEGIN;
A: ALTER TABLE t ADD COLUMN b integer;
B: CREATE VIEW n AS SELECT b FROM t;
A: COMMIT;
B: SELECT * FROM n;
A: BEGIN;
A: ALTER TABLE t DROP COLUMN b CASCADE;
B: CREATE VIEW m AS SELECT b FROM t;
A: COMMIT;
A: BEGIN;
A: ALTER TABLE t RENAME TO u;
B: CREATE VIEW m AS SELECT a FROM t;
A: COMMIT;
B: CREATE VIEW m AS SELECT a FROM u;
A: BEGIN;
A: SELECT * FROM m;
B: CREATE OR REPLACE VIEW m AS SELECT a + 1 AS a FROM u;
A: COMMIT;
B: SELECT * FROM m;

-- A cursor over a view is none over the view's own relation.
A: BEGIN;
A: DECLARE c CURSOR FOR SELECT * FROM m;
A: DROP VIEW m;
A: FETCH c;
A: ROLLBACK;
