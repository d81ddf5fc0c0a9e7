-- pg_column_size and pg_column_compression of what is stored, and of what is not.
-- PostgreSQL 15 differs: pg_get_viewdef qualifies columns there.
CREATE TABLE s (id int PRIMARY KEY, t text, n numeric, b bytea, c char(10), a int[], i bigint, v varchar(3000), note name);
INSERT INTO s VALUES (1, 'abc', 1.5, '\x0102', 'xy', '{1,2,3}', 5, '', 'named'),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, repeat('é', 63), 123456789012345678901234567890, repeat('x', 126)::bytea, '', '{}', 0, repeat('y', 127), ''),
    (4, repeat('x', 1000), 0, repeat('x', 127)::bytea, 'abcdefghij', array_fill(7, ARRAY[50]), 1, repeat('z', 300), 'n'),
    (5, repeat('long words, ', 2000), -1e100, decode(repeat('00ff', 3000), 'hex'), 'c', NULL, 2, NULL, NULL);
INSERT INTO s (id, t) SELECT 6, string_agg(md5(i::text), '') FROM generate_series(1, 200) AS i;
ALTER TABLE s ALTER COLUMN t SET STORAGE external;
SELECT id, pg_column_size(id), pg_column_size(t), pg_column_size(n), pg_column_size(c), pg_column_size(i), pg_column_size(v), pg_column_size(note)
    FROM s WHERE id < 5 ORDER BY id;
SELECT id, pg_column_size(b) FROM s WHERE id < 5 ORDER BY id;
SELECT id, pg_column_compression(id), pg_column_compression(t), pg_column_compression(n) FROM s WHERE id < 5 ORDER BY id;
-- Compressed where it is worth it.
SELECT id, length(t), pg_column_size(t) < length(t) / 10 AS smaller, pg_column_compression(t) IS NOT NULL AS compressed FROM s WHERE id >= 5 ORDER BY id;
SELECT pg_column_size(t) FROM s WHERE id = 6;
SELECT pg_column_size(b) < 1000, pg_column_compression(b) IS NOT NULL FROM s WHERE id = 5;
-- Not of the row any more.
SELECT pg_column_size(t || ''), pg_column_size(upper(t)), pg_column_compression(t || '') FROM s WHERE id IN (1, 5) ORDER BY id;
SELECT pg_column_size('abc'::text), pg_column_size('abc'), pg_column_size(1.5), pg_column_size(NULL::text);
-- Wherever a statement asks.
SELECT id FROM s WHERE pg_column_size(t) < 10;
SELECT id FROM s WHERE pg_column_compression(t) IS NOT NULL ORDER BY id;
SELECT sum(pg_column_size(v)), max(pg_column_size(note)), count(pg_column_size(t)), count(pg_column_compression(t)) FROM s;
SELECT pg_column_compression(t) IS NOT NULL AS compressed, count(*) FROM s GROUP BY pg_column_compression(t) IS NOT NULL ORDER BY 1;
SELECT pg_column_compression(n), count(*) FROM s GROUP BY 1;
SELECT id, pg_column_size(v) AS size FROM s ORDER BY pg_column_size(v) DESC NULLS LAST, id LIMIT 3;
SELECT o.id, pg_column_size(s.t), pg_column_size(s.v) FROM (VALUES (1), (2), (4), (99)) AS o (id) LEFT JOIN s ON s.id = o.id ORDER BY o.id;
SELECT id, (SELECT pg_column_size(inside.v) FROM s AS inside WHERE inside.id = s.id) FROM s WHERE id IN (3, 4) ORDER BY id;
SELECT id, size FROM (SELECT id, pg_column_size(v) AS size FROM s) AS part WHERE size > 100 ORDER BY id;
WITH sized AS (SELECT id, pg_column_size(v) AS size FROM s) SELECT max(size) FROM sized;
CREATE VIEW sizes AS SELECT id, pg_column_size(v) AS size FROM s;
SELECT * FROM sizes WHERE size IS NOT NULL ORDER BY id;
SELECT pg_get_viewdef('sizes'::regclass);
EXPLAIN (COSTS OFF) SELECT id FROM s WHERE pg_column_size(t) > 10;
-- Of partitions and children, whose columns stand elsewhere.
CREATE TABLE parts (id int, filler int, t text) PARTITION BY LIST (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 (t text, id int, filler int);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES IN (2);
INSERT INTO parts VALUES (1, 0, 'one'), (2, 0, 'second'), (2, 0, repeat('x', 50000));
SELECT id, length(t), pg_column_size(t) < 5000, pg_column_compression(t) IS NOT NULL FROM parts ORDER BY id, length(t);
SELECT id, pg_column_size(t) FROM parts WHERE pg_column_size(t) < 20 ORDER BY id;
CREATE TABLE parent (id int, t text);
CREATE TABLE child (extra int) INHERITS (parent);
CREATE TABLE other (t text, id int);
ALTER TABLE other INHERIT parent;
INSERT INTO parent VALUES (1, 'a');
INSERT INTO child VALUES (2, 'bc', 0);
INSERT INTO other VALUES ('def', 3);
SELECT id, pg_column_size(t) FROM parent WHERE pg_column_size(t) > 1 ORDER BY id;
ALTER TABLE s ADD COLUMN later text DEFAULT 'later';
SELECT id, pg_column_size(later) FROM s WHERE id < 3 ORDER BY id;
DROP VIEW sizes;
DROP TABLE s, parts, parent, child, other;
