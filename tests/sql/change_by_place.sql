-- Changes of rows that are found by where they are, and changes that are read twice.
CREATE TABLE t (id integer PRIMARY KEY, v integer, d integer GENERATED ALWAYS AS (v * 2) STORED);
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
UPDATE t SET v = v + 1 WHERE ctid = '(0,1)' RETURNING id, v, d;
UPDATE t SET v = 31 WHERE id = 3 AND ctid = (SELECT ctid FROM t WHERE id = 3);
UPDATE t SET v = 0 WHERE id = 3 AND ctid = (SELECT ctid FROM t WHERE id = 2);
WITH changed AS (UPDATE t SET v = v + 1 WHERE ctid IN (SELECT ctid FROM t WHERE v < 30 FOR UPDATE) RETURNING *)
SELECT * FROM changed ORDER BY id;
UPDATE t SET v = v + 1 WHERE tableoid = 't'::regclass AND id = 2 RETURNING tableoid::regclass, *;
UPDATE t SET v = tableoid::integer - 't'::regclass::integer WHERE id = 2 RETURNING *;
DELETE FROM t USING (SELECT ctid AS place FROM t WHERE id = 2) AS found WHERE t.ctid = found.place RETURNING t.*;
DELETE FROM t AS a USING t AS b WHERE a.ctid <> b.ctid AND a.id > b.id RETURNING a.id, b.id;
SELECT * FROM t;
DELETE FROM t WHERE tableoid <> 't'::regclass;
DROP TABLE t;

CREATE TABLE p (id integer, v integer) PARTITION BY LIST (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
INSERT INTO p VALUES (1, 1), (2, 2);
UPDATE p SET v = v + 10 WHERE ctid = (SELECT ctid FROM p1) AND tableoid = 'p1'::regclass RETURNING tableoid::regclass, *;
DELETE FROM p WHERE (tableoid, ctid) = (SELECT 'p2'::regclass::oid, ctid FROM p2) RETURNING *;
SELECT * FROM p;

-- The changed rows are read where they are computed, too
WITH changed AS (UPDATE p SET v = 5 RETURNING id) SELECT (SELECT id FROM changed) AS again, * FROM changed;
WITH more AS (INSERT INTO p VALUES (2, 7), (1, 8) RETURNING id, v)
SELECT *, (SELECT sum(v) FROM more) AS total, EXISTS (SELECT FROM more AS m WHERE m.v > more.v) AS larger FROM more ORDER BY v;
WITH gone AS (DELETE FROM p WHERE id = 1 RETURNING v)
SELECT v FROM gone WHERE v < (SELECT max(v) FROM gone);
WITH numbers AS MATERIALIZED (SELECT g FROM generate_series(1, 5) AS g)
SELECT g, (SELECT count(*) FROM numbers) FROM numbers WHERE g > (SELECT avg(g) FROM numbers);
SELECT * FROM p;
DROP TABLE p;
