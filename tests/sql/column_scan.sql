-- Scans of tables whose rows are not alike: what a full scan shows of old, long, NULL and changed
-- rows, with a consumer of columns (an aggregate) and one of rows.
-- PostgreSQL 15 differs: EXPLAIN ANALYZE shows whole rows.
CREATE TABLE every (
    id integer, b boolean, i2 smallint, i8 bigint, o oid, r4 real, r8 double precision, n numeric,
    t text, c character(4), v varchar(10), nm name, d date, tm time, tz timetz, ts timestamp,
    tstz timestamptz, iv interval, u uuid, by bytea, a integer[], j json
);
INSERT INTO every SELECT i, i % 2 = 0, i, i * 1000000007::bigint, i, i / 4.0, i / 8.0, i / 100.0,
    'text ' || i, 'c' || i % 10, 'v' || i, 'n' || i, date '2020-01-01' + i, time '00:00' + i * interval '1 second',
    timetz '12:00:00+02', timestamp '2020-01-01' + i * interval '1 hour',
    timestamptz '2020-01-01 00:00:00+00' + i * interval '1 day', i * interval '1 minute',
    ('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid, decode(lpad(i::text, 6, '0'), 'hex'),
    ARRAY[i, NULL, -i], json_build_object('i', i)
    FROM generate_series(1, 300) i;
-- NULL in each column in turn, and everywhere
INSERT INTO every (id) SELECT i FROM generate_series(301, 303) i;
UPDATE every SET b = NULL WHERE id % 23 = 1;
UPDATE every SET i2 = NULL WHERE id % 23 = 2;
UPDATE every SET i8 = NULL, o = NULL WHERE id % 23 = 3;
UPDATE every SET r4 = NULL, r8 = NULL WHERE id % 23 = 4;
UPDATE every SET n = NULL WHERE id % 23 = 5;
UPDATE every SET t = NULL, c = NULL, v = NULL, nm = NULL WHERE id % 23 = 6;
UPDATE every SET d = NULL, tm = NULL, tz = NULL WHERE id % 23 = 7;
UPDATE every SET ts = NULL, tstz = NULL, iv = NULL WHERE id % 23 = 8;
UPDATE every SET u = NULL, by = NULL, a = NULL, j = NULL WHERE id % 23 = 9;
UPDATE every SET id = NULL WHERE id = 250;
SELECT count(*), count(id), count(b), count(i2), count(i8), count(o), count(r4), count(r8), count(n), count(t), count(c), count(v),
    count(nm), count(d), count(tm), count(tz), count(ts), count(tstz), count(iv), count(u), count(by), count(a), count(j) FROM every;
SELECT sum(id), sum(i2), sum(i8), max(o), sum(r4), sum(r8), sum(n), min(t), max(c), max(v), max(d), min(tm), max(ts), sum(iv) FROM every;
SELECT md5(string_agg(e::text, '|' ORDER BY n, id, r8)) FROM every e;
SELECT * FROM every WHERE n > 2.99 ORDER BY id;
SELECT id, n, t FROM every WHERE b AND n < 0.10 ORDER BY id;
SELECT count(*) FROM every WHERE t LIKE 'text 1%' AND d > date '2020-03-01' AND r8 < 20;
SELECT i2, count(*), sum(n) FROM every WHERE i2 < 4 GROUP BY i2 ORDER BY i2;

-- numerics of several scales, of many digits, and those that are none
CREATE TABLE numbers (id integer, n numeric);
INSERT INTO numbers VALUES (1, 1.50), (2, 1.5), (3, 'NaN'), (4, 123456789012345678901234567890.5), (5, NULL),
    (6, 'Infinity'), (7, '-Infinity'), (8, 0), (9, 0.00), (10, -0.000001);
SELECT id, n FROM numbers WHERE n >= 0 ORDER BY id;
SELECT id, n FROM numbers WHERE n = 'NaN';
SELECT count(*), count(n), max(n), min(n) FROM numbers;
SELECT sum(n), avg(n) FROM numbers WHERE id NOT IN (3, 6, 7);
SELECT n, count(*) FROM numbers GROUP BY n ORDER BY n;

-- rows that are older than a column, among rows that are not
CREATE TABLE old (id integer, t text);
INSERT INTO old SELECT i, 'old ' || i FROM generate_series(1, 5) i;
ALTER TABLE old ADD COLUMN plain integer;
ALTER TABLE old ADD COLUMN filled numeric DEFAULT 7.25, ADD COLUMN named text DEFAULT 'added';
SELECT * FROM old ORDER BY id;
SELECT sum(filled), count(plain), max(named), count(*) FROM old;
UPDATE old SET plain = id * 10 WHERE id IN (2, 4);
INSERT INTO old VALUES (6, 'new', 60, 1.5, 'given'), (7, NULL, NULL, NULL, NULL);
SELECT * FROM old ORDER BY id;
SELECT id, filled, named FROM old WHERE filled = 7.25 AND named = 'added' ORDER BY id;
SELECT sum(filled), count(plain), sum(plain), max(named), min(t) FROM old WHERE id > 1;
ALTER TABLE old DROP COLUMN t, ADD COLUMN t integer DEFAULT 3;
SELECT sum(t), count(*) FROM old WHERE t = 3 AND named IS NOT NULL;

-- values and rows that are kept out of line
CREATE TABLE long (id integer, a text, n numeric, b text, z integer);
ALTER TABLE long ALTER COLUMN a SET STORAGE EXTERNAL;
INSERT INTO long SELECT i, CASE WHEN i % 5 = 0 THEN repeat('a' || i, 3000) ELSE 'short ' || i END, i + 0.5,
    CASE WHEN i % 7 = 0 THEN repeat('ü', 2500) END, -i FROM generate_series(1, 60) i;
SELECT count(*), sum(length(a)), sum(length(b)), sum(octet_length(b)), sum(n), sum(z), count(b) FROM long;
SELECT id, left(a, 10), length(a), length(b), z FROM long WHERE z < -50 AND length(a) > 100 ORDER BY id;
SELECT id, length(a) FROM long WHERE a LIKE 'a15a15%';
SELECT id FROM long WHERE b LIKE 'üü%' AND n > 40 ORDER BY id;
CREATE TABLE wide (id integer, c1 text, c2 text, c3 text, c4 text, c5 text, c6 text, c7 text, c8 text, c9 text, c10 text, c11 text, c12 text, c13 text, c14 text, c15 text, c16 text, c17 text, c18 text, c19 text, c20 text, c21 text, c22 text, c23 text, c24 text, c25 text, c26 text, c27 text, c28 text, c29 text, c30 text, c31 text, c32 text, c33 text, c34 text, c35 text, c36 text, c37 text, c38 text, c39 text, c40 text, c41 text, c42 text, c43 text, c44 text, c45 text, c46 text, c47 text, c48 text, c49 text, c50 text, c51 text, c52 text, c53 text, c54 text, c55 text, c56 text, c57 text, c58 text, c59 text, c60 text, c61 text, c62 text, c63 text, c64 text, c65 text, c66 text, c67 text, c68 text, c69 text, c70 text, c71 text, c72 text, c73 text, c74 text, c75 text, c76 text, c77 text, c78 text, c79 text, c80 text);
INSERT INTO wide (id, c1, c2, c80) VALUES (1, 'one', NULL, 'last');
INSERT INTO wide SELECT 2, x || '1', x || '2', x || '3', x || '4', x || '5', x || '6', x || '7', x || '8', x || '9', x || '0', x || '1', x || '2', x || '3', x || '4', x || '5', x || '6', x || '7', x || '8', x || '9', x || '0', x || '1', x || '2', x || '3', x || '4', x || '5', x || '6', x || '7', x || '8', x || '9', x || '0', x || '1', x || '2', x || '3', x || '4', x || '5', x || '6', x || '7', x || '8', x || '9', x || '0', x || '1', x || '2', x || '3', x || '4', x || '5', x || '6', x || '7', x || '8', x || '9', x || '0', x || '1', x || '2', x || '3', x || '4', x || '5', x || '6', x || '7', x || '8', x || '9', x || '0', x || '1', x || '2', x || '3', x || '4', x || '5', x || '6', x || '7', x || '8', x || '9', x || '0', x || '1', x || '2', x || '3', x || '4', x || '5', x || '6', x || '7', x || '8', x || '9', x || '0' FROM repeat('w', 47) x;
INSERT INTO wide (id, c3, c80) VALUES (3, 'three', 'end');
SELECT id, c1, c2, c3, c80 FROM wide ORDER BY id;
SELECT count(c1), count(c2), max(length(c80)), min(c3) FROM wide WHERE id > 1;

-- an error in the middle: the rows before it are there for one who wants no more
CREATE TABLE fails (id integer, d integer);
INSERT INTO fails SELECT i, 100 - i FROM generate_series(1, 200) i;
SELECT id FROM fails WHERE 1000 / d > 10 LIMIT 3;
SELECT id FROM fails WHERE 1000 / d > 10 LIMIT 99;
SELECT id FROM fails WHERE 1000 / d > 10 LIMIT 100;
SELECT id FROM (SELECT id FROM fails WHERE 1000 / d > 0 LIMIT 99) s ORDER BY id DESC LIMIT 1;
SELECT sum(id) FROM (SELECT id FROM fails WHERE 1000 / d > 0 LIMIT 99) s;
SELECT sum(id) FROM fails WHERE 1000 / d > 0;
SELECT count(*) FROM fails WHERE id < 100 AND 1000 / d > 0;
SELECT 1000 / d FROM fails LIMIT 2;
SELECT sum(q) FROM (SELECT 1000 / d AS q FROM fails LIMIT 99) s;
SELECT sum(1000 / d) FROM fails;
SELECT EXISTS (SELECT FROM fails WHERE 1000 / d = 10);
SELECT EXISTS (SELECT FROM fails WHERE 1000 / d = 11);

-- a scan that begins again and again
SELECT count(*), sum(f.id) FROM generate_series(1, 1000) g, LATERAL (SELECT id FROM fails WHERE id > g % 200 LIMIT 2) f;
SELECT (SELECT count(*) FROM numbers WHERE id <= g) FROM generate_series(1, 3) g;

-- what EXPLAIN counts
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT id FROM fails WHERE d < 0 AND id > 120;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT id FROM fails WHERE d < 90 LIMIT 3;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT id FROM fails LIMIT 1;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT sum(id) FROM fails WHERE d < 90;

-- a changed row through older eyes
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE before CURSOR FOR SELECT id, d FROM fails WHERE id < 4;
SAVEPOINT s;
UPDATE fails SET d = d + 1000 WHERE id < 4;
DELETE FROM fails WHERE id = 2;
INSERT INTO fails VALUES (3, -3);
SELECT id, d FROM fails WHERE id < 4 ORDER BY id, d;
SELECT count(*), sum(d) FROM fails WHERE id < 4;
FETCH ALL FROM before;
ROLLBACK TO s;
SELECT count(*), sum(d) FROM fails WHERE id < 4;
COMMIT;
