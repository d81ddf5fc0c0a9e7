-- Partitions that change places within one transaction, what a dropped parent takes along, and
-- partitioned tables as models.
-- PostgreSQL 15 differs: pg_get_viewdef names the table of every column
CREATE TABLE places (k int NOT NULL, id serial, PRIMARY KEY (k, id)) PARTITION BY RANGE (k);
CREATE TABLE places_1 PARTITION OF places FOR VALUES FROM (0) TO (10);
CREATE TABLE places_2 PARTITION OF places FOR VALUES FROM (10) TO (20);

-- They swap.
BEGIN;
ALTER TABLE places DETACH PARTITION places_1;
ALTER TABLE places DETACH PARTITION places_2;
ALTER TABLE places ATTACH PARTITION places_1 FOR VALUES FROM (10) TO (20);
ALTER TABLE places ATTACH PARTITION places_2 FOR VALUES FROM (0) TO (10);
COMMIT;
INSERT INTO places (k) VALUES (5), (15);
SELECT tableoid::regclass, k, id FROM places ORDER BY k;

-- One takes the other's place.
BEGIN;
ALTER TABLE places DETACH PARTITION places_1;
ALTER TABLE places DETACH PARTITION places_2;
SAVEPOINT sp;
DROP TABLE places_2;
ALTER TABLE places ATTACH PARTITION places_1 FOR VALUES FROM (0) TO (20);
INSERT INTO places (k) VALUES (7);
SELECT tableoid::regclass, k, id FROM places ORDER BY k;
ROLLBACK TO sp;
ALTER TABLE places ATTACH PARTITION places_1 FOR VALUES FROM (8) TO (20);
COMMIT;
SELECT tableoid::regclass, k FROM places ORDER BY k;
INSERT INTO places (k) VALUES (9);
INSERT INTO places (k) VALUES (7);
SELECT tableoid::regclass, k FROM places ORDER BY k;

-- A partitioned table as a model: the copy is a plain table.
CREATE TABLE places_copy (LIKE places INCLUDING ALL);
\d places_copy
INSERT INTO places_copy (k) VALUES (100);
SELECT k FROM places_copy;

-- The partitions' defaults call a sequence that goes with the parent, and they go, too; those of
-- others keep it.
DROP TABLE places;
DROP TABLE places_copy, places_2;
DROP TABLE places;
SELECT relname FROM pg_class WHERE relname LIKE 'places%' ORDER BY relname;

-- Views over functions in FROM are shown with an alias that names their columns.
CREATE VIEW places_words AS SELECT word FROM pg_get_keywords() WHERE catcode = 'R';
SELECT pg_get_viewdef('places_words');
CREATE VIEW places_numbers AS SELECT * FROM generate_series(1, 3);
SELECT pg_get_viewdef('places_numbers');
CREATE VIEW places_more AS SELECT * FROM generate_series(1, 3) WITH ORDINALITY AS n(a, b);
SELECT pg_get_viewdef('places_more');
SELECT * FROM places_more;
DROP VIEW places_words, places_numbers, places_more;
