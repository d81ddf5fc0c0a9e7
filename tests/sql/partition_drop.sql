-- What goes silently with a partitioned table: its partitions with their defaults, and what its
-- serial columns own. What depends on a partition does not.
CREATE SCHEMA places;
CREATE TABLE places.p (id serial, a int) PARTITION BY RANGE (a);
CREATE TABLE places.p1 PARTITION OF places.p FOR VALUES FROM (1) TO (2);
CREATE TABLE places.p2 PARTITION OF places.p FOR VALUES FROM (2) TO (3);
CREATE VIEW places.v AS SELECT * FROM places.p1;
DROP TABLE places.p;
-- Partitions are not told of.
DROP SCHEMA places CASCADE;
CREATE TABLE p (id serial, a int) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (2);
DROP TABLE p;
CREATE SEQUENCE numbers;
CREATE TABLE t (a int DEFAULT nextval('numbers'), b int) PARTITION BY RANGE (b);
CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1) TO (2);
DROP SEQUENCE numbers;
DROP SEQUENCE numbers CASCADE;
INSERT INTO t (b) VALUES (1) RETURNING *;
DROP TABLE t;
-- Made, changed and dropped within one transaction.
BEGIN;
CREATE TABLE t (a int PRIMARY KEY, b text) PARTITION BY LIST (a);
CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);
INSERT INTO t VALUES (1, 'one');
SAVEPOINT before_drop;
DROP TABLE t1;
CREATE TABLE t1 PARTITION OF t (b DEFAULT 'of t1') FOR VALUES IN (2);
INSERT INTO t VALUES (2, 'two');
SELECT tableoid::regclass, * FROM t;
ROLLBACK TO before_drop;
SELECT tableoid::regclass, * FROM t;
ALTER TABLE t RENAME b TO c;
COMMIT;
SELECT tableoid::regclass, * FROM t;
DROP TABLE t;
