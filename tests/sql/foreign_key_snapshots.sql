-- Sessions that refer to keys of a partitioned table which others insert and delete.
A: CREATE TABLE fks_p (id int PRIMARY KEY, v int DEFAULT 0) PARTITION BY RANGE (id);
A: CREATE TABLE fks_low PARTITION OF fks_p FOR VALUES FROM (MINVALUE) TO (10);
A: CREATE TABLE fks_high PARTITION OF fks_p FOR VALUES FROM (10) TO (MAXVALUE);
A: CREATE TABLE fks_c (id int PRIMARY KEY, p int REFERENCES fks_p);
A: CREATE TABLE fks_plain (id int PRIMARY KEY);
A: CREATE TABLE fks_d (id int PRIMARY KEY, p int REFERENCES fks_plain DEFERRABLE INITIALLY DEFERRED, q int REFERENCES fks_p DEFERRABLE INITIALLY DEFERRED);
A: INSERT INTO fks_p VALUES (1), (2), (3), (11);
A: INSERT INTO fks_plain VALUES (1), (2);
-- Keys that are deleted and inserted after the snapshot.
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT id FROM fks_p ORDER BY id;
B: DELETE FROM fks_p WHERE id = 1;
B: INSERT INTO fks_p VALUES (4), (12);
A: INSERT INTO fks_c VALUES (1, 4), (2, 12), (3, 11);
A: SAVEPOINT s;
A: INSERT INTO fks_c VALUES (4, 1);
A: ROLLBACK TO s;
A: UPDATE fks_c SET p = 2 WHERE id = 3;
A: SELECT id FROM fks_p ORDER BY id;
A: COMMIT;
B: SELECT * FROM fks_c ORDER BY id;
A: DELETE FROM fks_c;
-- A key whose row has changed since, but not the key.
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM fks_c;
B: UPDATE fks_p SET v = 1 WHERE id = 2;
A: INSERT INTO fks_c VALUES (6, 2);
A: COMMIT;
-- The check at COMMIT.
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM fks_c;
B: INSERT INTO fks_p VALUES (6);
A: INSERT INTO fks_d VALUES (1, 1, 6);
A: COMMIT;
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM fks_c;
B: INSERT INTO fks_plain VALUES (3);
A: INSERT INTO fks_d VALUES (2, 3, 6);
A: COMMIT;
A: DROP TABLE fks_c, fks_d, fks_p, fks_plain;
