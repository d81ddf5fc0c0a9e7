-- Rows that an index scan fetches as the whole statement: stored columns of all kinds, of rows of
-- all ages, in any order and number, and by cursors.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TABLE r (id int PRIMARY KEY, i2 int2, i8 int8, f float8, n numeric, b bool, t text,
                c char(6), v varchar(9), y bytea, d date, ts timestamp, u uuid, a int[],
                iv interval, o oid, q "char");
INSERT INTO r
SELECT g, g, g * 10000000000, g / 4.0, g / 8.0, g % 2 = 0, 'text ' || g, 'c' || g, 'v' || g,
       decode(lpad(g::text, 4, '0'), 'hex'), date '2026-01-01' + g,
       timestamp '2026-01-01 00:00' + g * interval '1 hour 0.25 second',
       ('00000000-0000-0000-0000-' || lpad(g::text, 12, '0'))::uuid, ARRAY[g, NULL, g + 1],
       g * interval '1 day 1 minute', g, chr(64 + g)::"char"
FROM generate_series(1, 20) g;
EXPLAIN (COSTS OFF) SELECT * FROM r WHERE id BETWEEN 4 AND 6;
SELECT * FROM r WHERE id BETWEEN 4 AND 6;
SELECT t, id, t FROM r WHERE id > 17;
SELECT v, c || '|' FROM r WHERE id < 3;
SELECT f FROM r WHERE id >= 18 ORDER BY id DESC;
SELECT FROM r WHERE id > 18;

-- NULLs, and columns that are younger than rows.
UPDATE r SET t = NULL, n = NULL, a = NULL, i8 = NULL WHERE id IN (5, 7);
ALTER TABLE r ADD COLUMN young text DEFAULT 'young', ADD COLUMN none int;
INSERT INTO r (id, young, none) VALUES (21, NULL, 1), (22, 'own', NULL);
SELECT id, t, n, a, i8, young, none FROM r WHERE id BETWEEN 4 AND 8;
SELECT none, young, id FROM r WHERE id > 19;
ALTER TABLE r DROP COLUMN f;
SELECT id, i2, v, o FROM r WHERE id BETWEEN 2 AND 3;

-- Values and rows that are kept elsewhere.
UPDATE r SET t = repeat('long ', 3000) WHERE id = 10;
UPDATE r SET t = repeat('x', 1900), young = repeat('y', 1900), y = decode(repeat('ab', 1900), 'hex')
WHERE id = 11;
SELECT id, length(t), v FROM r WHERE id BETWEEN 9 AND 12;
SELECT t FROM r WHERE id > 9 AND id < 11;
SELECT md5(s.t), md5(s.young), md5(s.y) FROM (SELECT t, young, y FROM r WHERE id > 10 AND id < 12 OFFSET 0) s;

-- What the snapshot sees: own changes, deleted rows, keys that have moved.
BEGIN;
DELETE FROM r WHERE id = 13;
UPDATE r SET id = 30, v = 'moved' WHERE id = 14;
UPDATE r SET v = 'once' WHERE id = 15;
UPDATE r SET v = 'twice' WHERE id = 15;
SELECT id, v FROM r WHERE id BETWEEN 12 AND 16;
SELECT v FROM r WHERE id > 22;
ROLLBACK;
SELECT id, v FROM r WHERE id BETWEEN 12 AND 16;

-- As prepared, and in parts.
PREPARE part AS SELECT v FROM r WHERE id BETWEEN $1 AND $2;
EXECUTE part(1, 3);
EXECUTE part(3, 1);
EXECUTE part(NULL, 3);
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, v FROM r WHERE id >= 12;
FETCH 2 FROM c;
FETCH 2 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
COMMIT;
CREATE TABLE many (id int PRIMARY KEY, t text);
INSERT INTO many SELECT g, 'row ' || g FROM generate_series(1, 3000) g;
SELECT count(*), min(t), max(length(t)) FROM (SELECT t FROM many WHERE id > 500 OFFSET 0) s;
\copy (SELECT t FROM many WHERE id > 2997) TO STDOUT
SELECT t FROM many WHERE id > 2000 ORDER BY id LIMIT 3;
DROP TABLE r, many;
