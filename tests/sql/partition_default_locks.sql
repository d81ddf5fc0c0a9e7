-- Sessions: rows that come to a partitioned default partition while a new partition takes their keys.
S: CREATE TABLE p (id integer, j text) PARTITION BY RANGE (id);
S: CREATE TABLE rest PARTITION OF p DEFAULT PARTITION BY LIST (j);
S: CREATE TABLE rest_rest PARTITION OF rest DEFAULT;
S: CREATE TABLE hundreds (LIKE p);
S: INSERT INTO hundreds VALUES (110, 'there'), (120, 'there');

-- Rows that wait are routed by the bounds that are in force then
A: BEGIN;
A: ALTER TABLE p ATTACH PARTITION hundreds FOR VALUES FROM (100) TO (200);
B: BEGIN;
B: INSERT INTO p VALUES (130, 'x');
A: COMMIT;
B: COMMIT;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;
S: ALTER TABLE p DETACH PARTITION hundreds;
A: BEGIN;
A: ALTER TABLE p ATTACH PARTITION hundreds FOR VALUES FROM (100) TO (200);
B: INSERT INTO p SELECT g, 'x' FROM generate_series(98, 101) AS g;
A: COMMIT;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;
S: ALTER TABLE p DETACH PARTITION hundreds;
A: BEGIN;
A: ALTER TABLE p ATTACH PARTITION hundreds FOR VALUES FROM (100) TO (200);
B: INSERT INTO p SELECT g, 'x' FROM generate_series(98, 99) AS g;
A: COMMIT;
S: ALTER TABLE p DETACH PARTITION hundreds;

-- Rows that are not committed are waited for (a session that has met the partitions before may
-- have an old constraint in mind in PostgreSQL)
C: BEGIN;
C: INSERT INTO p VALUES (150, 'y');
A: ALTER TABLE p ATTACH PARTITION hundreds FOR VALUES FROM (100) TO (200);
C: COMMIT;
C: BEGIN;
C: INSERT INTO rest_rest VALUES (160, 'z');
A: CREATE TABLE later PARTITION OF p FOR VALUES FROM (160) TO (170);
C: ROLLBACK;
S: SELECT tableoid::regclass, * FROM p ORDER BY id;
S: SELECT relname FROM pg_class WHERE relispartition ORDER BY relname;
