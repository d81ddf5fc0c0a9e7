-- Sessions: the change that a REPEATABLE READ transaction is told of is the first one after its snapshot.
S: CREATE TABLE t (id integer PRIMARY KEY, v integer DEFAULT 0);
S: CREATE TABLE part (id integer PRIMARY KEY, v integer DEFAULT 0) PARTITION BY RANGE (id);
S: CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (10);
S: CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (10) TO (20);
S: INSERT INTO t SELECT n FROM generate_series(1, 12) AS n;
S: INSERT INTO part VALUES (1), (2);
S: CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN CASE TG_OP WHEN ''DELETE'' THEN OLD ELSE NEW END; END';

-- Deleted
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM t;
B: DELETE FROM t WHERE id = 1;
A: UPDATE t SET v = 1 WHERE id = 1;
A: ROLLBACK;

-- Updated and deleted by one transaction, which is waited for
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM t;
B: BEGIN;
B: UPDATE t SET v = 1 WHERE id = 2;
B: DELETE FROM t WHERE id = 2;
A: UPDATE t SET v = v + 1 WHERE id = 2;
B: COMMIT;
A: ROLLBACK;

-- By several, and one change that was taken back
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM t;
B: UPDATE t SET v = 1 WHERE id = 3;
B: UPDATE t SET v = 2 WHERE id = 3;
B: DELETE FROM t WHERE id = 3;
A: DELETE FROM t WHERE id = 3;
A: ROLLBACK;
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM t;
B: BEGIN;
B: SAVEPOINT s;
B: UPDATE t SET v = 1 WHERE id = 4;
B: ROLLBACK TO s;
B: DELETE FROM t WHERE id = 4;
B: COMMIT;
A: DELETE FROM t WHERE id = 4;
A: ROLLBACK;

-- After a change of its own, and one before its snapshot
B: UPDATE t SET v = 1 WHERE id IN (5, 6);
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: UPDATE t SET v = 3 WHERE id = 7;
B: DELETE FROM t WHERE id IN (5, 6);
A: UPDATE t SET v = 1 WHERE id > 4 AND id < 7;
A: ROLLBACK;

-- Where the row is locked before triggers
S: CREATE TRIGGER pass BEFORE UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION pass();
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM t;
B: UPDATE t SET v = 1 WHERE id = 8;
B: DELETE FROM t WHERE id IN (8, 9, 10);
A: SAVEPOINT s;
A: DELETE FROM t WHERE id = 8;
A: ROLLBACK TO s;
A: DELETE FROM t WHERE id = 9;
A: ROLLBACK TO s;
A: SELECT * FROM t WHERE id = 10 FOR UPDATE;
A: ROLLBACK;

-- Updated, then moved to another partition
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM part;
B: UPDATE part SET id = 11 WHERE id = 1;
B: UPDATE part SET v = 1 WHERE id = 2;
B: DELETE FROM part WHERE id = 2;
A: SAVEPOINT s;
A: DELETE FROM part WHERE id = 1;
A: ROLLBACK TO s;
A: UPDATE part SET id = 12 WHERE id = 2;
A: ROLLBACK;
