-- Partitions that never had a row, or have lost the file they had: no scan looks at them, and what a
-- statement sees of them is what it would see of any other.
CREATE TABLE part_unwritten (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE part_unwritten_1 PARTITION OF part_unwritten FOR VALUES FROM (0) TO (10);
CREATE TABLE part_unwritten_2 PARTITION OF part_unwritten FOR VALUES FROM (10) TO (20)
  PARTITION BY LIST (k);
CREATE TABLE part_unwritten_2a PARTITION OF part_unwritten_2 FOR VALUES IN (10, 11);
CREATE TABLE part_unwritten_2b PARTITION OF part_unwritten_2 DEFAULT;
CREATE TABLE part_unwritten_3 PARTITION OF part_unwritten FOR VALUES FROM (20) TO (30);
CREATE INDEX ON part_unwritten (v);

SELECT count(*), max(v) FROM part_unwritten;
UPDATE part_unwritten SET v = 'none';
DELETE FROM part_unwritten;
SELECT v, count(*) FROM part_unwritten GROUP BY v;

-- The rows of one's own transaction; a savepoint's go, the file stays.
BEGIN;
DECLARE before CURSOR FOR SELECT k FROM part_unwritten ORDER BY k;
INSERT INTO part_unwritten VALUES (11, 'a');
SAVEPOINT one;
INSERT INTO part_unwritten VALUES (1, 'b'), (21, 'c');
SELECT tableoid::regclass, * FROM part_unwritten ORDER BY k;
ROLLBACK TO one;
SELECT tableoid::regclass, * FROM part_unwritten ORDER BY k;
FETCH ALL FROM before;
COMMIT;
SELECT * FROM part_unwritten ORDER BY v, k LIMIT 1;
SELECT * FROM part_unwritten WHERE v = 'a' FOR UPDATE;

-- A statement does not see what it inserts into the leaves that it has still to read.
INSERT INTO part_unwritten SELECT k + 10, v || 'x' FROM part_unwritten RETURNING tableoid::regclass, *;
INSERT INTO part_unwritten SELECT 15, 'y' FROM part_unwritten WHERE k IN (11, 15);
SELECT tableoid::regclass, * FROM part_unwritten ORDER BY k;
WITH moved AS (UPDATE part_unwritten SET k = k - 10 RETURNING k)
SELECT (SELECT count(*) FROM moved), count(*) FROM part_unwritten;
SELECT tableoid::regclass, * FROM part_unwritten ORDER BY k;

-- TRUNCATE, in a transaction that is taken back and in one that is not.
BEGIN;
TRUNCATE part_unwritten_1;
SELECT tableoid::regclass, * FROM part_unwritten ORDER BY k;
ROLLBACK;
SELECT count(*) FROM part_unwritten;
TRUNCATE part_unwritten;
SELECT count(*) FROM part_unwritten;
INSERT INTO part_unwritten VALUES (12, 'z');
SELECT tableoid::regclass, * FROM part_unwritten;
PREPARE all_of AS SELECT tableoid::regclass, * FROM part_unwritten ORDER BY k;
EXECUTE all_of;
INSERT INTO part_unwritten VALUES (2, 'later');
EXECUTE all_of;
SELECT a.k, b.k FROM part_unwritten a LEFT JOIN part_unwritten b ON a.k = b.k + 10 ORDER BY 1;
DROP TABLE part_unwritten;
