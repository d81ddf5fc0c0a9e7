-- Scans by ctid.
CREATE TABLE td (id int, pad text);
INSERT INTO td SELECT i, repeat('x', 200) FROM generate_series(1, 5000) AS i;
ANALYZE td;
EXPLAIN (COSTS OFF) SELECT id FROM td WHERE ctid = '(0,1)';
SELECT id FROM td WHERE ctid = '(0,1)';
SELECT id FROM td WHERE '(0,2)' = ctid AND id = 2;
EXPLAIN (COSTS OFF) SELECT id FROM td WHERE ctid IN ('(0,3)', '(0,1)', '(0,3)');
SELECT id FROM td WHERE ctid IN ('(0,3)', '(0,1)', '(0,3)');
EXPLAIN (COSTS OFF) SELECT id FROM td WHERE ctid = '(0,2)' OR ctid = '(0,5)';
SELECT id FROM td WHERE ctid = '(0,2)' OR ctid = '(0,5)';
SELECT id FROM td WHERE ctid = ANY ('{"(0,4)",NULL,"(0,2)","(99999,1)"}'::tid[]);
SELECT id FROM td WHERE ctid = NULL;
EXPLAIN (COSTS OFF) SELECT id FROM td WHERE ctid > '(0,2)' AND ctid <= '(0,5)';
SELECT id FROM td WHERE ctid > '(0,2)' AND ctid <= '(0,5)';
SELECT id FROM td WHERE ctid < '(0,3)' AND id > 1;
SELECT count(*) FROM td WHERE ctid >= '(0,0)';
SELECT count(*) FROM td WHERE ctid > '(4294967295,65535)';
SET enable_tidscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM td WHERE ctid = '(0,1)';
SELECT id FROM td WHERE ctid = '(0,1)';
RESET enable_tidscan;

-- Another version of a row has another ctid
UPDATE td SET pad = 'y' WHERE ctid = '(0,1)' RETURNING id, pad;
SELECT id FROM td WHERE ctid = '(0,1)';
SELECT a.id FROM td a WHERE a.ctid = (SELECT ctid FROM td WHERE id = 1);
SELECT a.id, b.id FROM td a JOIN td b ON a.ctid = b.ctid WHERE b.ctid = '(0,7)';
DELETE FROM td WHERE ctid = ANY (ARRAY(SELECT ctid FROM td WHERE id IN (3, 4)));
SELECT id FROM td WHERE ctid IN ('(0,2)', '(0,3)', '(0,4)') FOR UPDATE;
DROP TABLE td;

-- In each leaf
CREATE TABLE tp (id int) PARTITION BY LIST (id);
CREATE TABLE tp1 PARTITION OF tp FOR VALUES IN (1, 2);
CREATE TABLE tp2 PARTITION OF tp FOR VALUES IN (3, 4);
INSERT INTO tp VALUES (1), (2), (3), (4);
SELECT tableoid::regclass, id FROM tp WHERE ctid = '(0,2)' ORDER BY id;
SELECT tableoid::regclass, id FROM tp WHERE ctid > '(0,1)' ORDER BY id;
DROP TABLE tp;
