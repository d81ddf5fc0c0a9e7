-- WHEN and UPDATE OF, seen through a trigger that skips updates which change nothing.
CREATE TABLE t (a int PRIMARY KEY, b text, c int DEFAULT 0);
INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2), (3, NULL, 3);
UPDATE t SET b = b;
CREATE TRIGGER skip BEFORE UPDATE ON t FOR EACH ROW WHEN (old.a > 1) EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE t SET b = b;
UPDATE t SET b = b WHERE a = 2 RETURNING *;
UPDATE t SET b = 'z' WHERE a = 2 RETURNING *;
UPDATE t SET b = b WHERE a = 1 RETURNING *;
PREPARE u (int) AS UPDATE t SET c = c WHERE a >= $1;
EXECUTE u (2);
EXECUTE u (1);
DROP TRIGGER skip ON t;
EXECUTE u (1);
CREATE TRIGGER skip BEFORE UPDATE OF c ON t FOR EACH ROW WHEN (new.b IS NOT NULL) EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE t SET b = b;
UPDATE t SET c = c;
EXECUTE u (1);
INSERT INTO t VALUES (1, 'x', 1) ON CONFLICT (a) DO UPDATE SET c = t.c RETURNING a;
INSERT INTO t VALUES (1, 'x', 1) ON CONFLICT (a) DO UPDATE SET b = t.b RETURNING a;
INSERT INTO t VALUES (1, 'x', 9) ON CONFLICT (a) DO UPDATE SET c = excluded.c RETURNING a, c;
ALTER TABLE t DISABLE TRIGGER skip;
EXECUTE u (1);
ALTER TABLE t ENABLE REPLICA TRIGGER skip;
EXECUTE u (1);
SET session_replication_role = replica;
EXECUTE u (1);
ALTER TABLE t ENABLE TRIGGER skip;
EXECUTE u (1);
ALTER TABLE t ENABLE ALWAYS TRIGGER skip;
EXECUTE u (1);
RESET session_replication_role;
EXECUTE u (1);
SHOW session_replication_role;
SET session_replication_role = nobody;

-- The condition follows the columns' names.
CREATE OR REPLACE TRIGGER skip BEFORE UPDATE ON t FOR EACH ROW WHEN (old.c IS NOT DISTINCT FROM new.c AND upper(new.b) <> 'Z' OR (old.*) IS NOT DISTINCT FROM (new.*)) EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) FROM pg_trigger WHERE tgname = 'skip';
ALTER TABLE t RENAME COLUMN c TO "Count";
SELECT pg_get_triggerdef(oid, true) FROM pg_trigger WHERE tgname = 'skip';
UPDATE t SET b = b;
ALTER TABLE t ALTER COLUMN "Count" TYPE bigint;
ALTER TABLE t ALTER COLUMN a TYPE bigint;
ALTER TABLE t DROP COLUMN "Count";
ALTER TABLE t ADD COLUMN d int DEFAULT 7;
UPDATE t SET b = b;
UPDATE t SET d = d + 1 WHERE a = 1 RETURNING *;
ALTER TABLE t DROP COLUMN "Count" CASCADE;
UPDATE t SET b = b;
\d t

-- Conditions over system columns, and calls.
CREATE TRIGGER skip BEFORE UPDATE ON t FOR EACH ROW WHEN (old.tableoid = 't'::regclass) EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE t SET b = b;
DROP TRIGGER skip ON t;
CREATE TRIGGER skip BEFORE UPDATE ON t FOR EACH ROW WHEN (1 / (old.a - 2) = 0) EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE t SET b = b;
UPDATE t SET b = b WHERE a <> 2;
DROP TRIGGER skip ON t;
CREATE TRIGGER skip BEFORE UPDATE ON t FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE t SET b = b;
DROP TABLE t;

-- Virtual generated columns are computed for the condition.
CREATE TABLE g (a int, s int GENERATED ALWAYS AS (a * 2) STORED);
INSERT INTO g VALUES (1), (2);
CREATE TRIGGER skip BEFORE UPDATE ON g FOR EACH ROW WHEN (old.s = 4) EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE g SET a = a;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'g'::regclass;
DROP TABLE g;
