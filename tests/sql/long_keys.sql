-- Index keys of more bytes than a page would take: in order, unique, and found by their whole value.
SET enable_seqscan = off;
SET enable_sort = off;

-- Many that begin alike, and some between them.
CREATE TABLE k (id int, t text);
INSERT INTO k SELECT i, repeat('x', 20000) || to_char(i * 7919 % 1000, 'FM0000') FROM generate_series(0, 499) AS i;
CREATE INDEX k_t ON k (t);
INSERT INTO k SELECT i, repeat('x', 20000) || to_char(i * 7919 % 1000, 'FM0000') FROM generate_series(500, 999) AS i;
INSERT INTO k SELECT 2000 + i, repeat('x', 1950 + i * 2) FROM generate_series(0, 40) AS i;
INSERT INTO k VALUES (3000, ''), (3001, NULL), (3002, repeat('x', 40000)), (3003, repeat('x', 20000)), (3004, 'y'),
    (3005, repeat('w', 24000)), (3006, repeat('x', 1957) || 'w'), (3007, repeat('x', 1958) || 'y'), (3008, NULL);
ANALYZE k;
SELECT count(*), count(DISTINCT t) FROM k;
SELECT id, length(t), right(t, 4) FROM k ORDER BY t LIMIT 8;
SELECT id, length(t), right(t, 4) FROM k ORDER BY t OFFSET 20 LIMIT 8;
SELECT id, length(t), right(t, 4) FROM k ORDER BY t DESC OFFSET 2 LIMIT 8;
SELECT sum((a <= b)::int), count(*) FROM (SELECT t AS a, lead(t) OVER (ORDER BY t) AS b FROM k) AS pairs;
SELECT id FROM k WHERE t = repeat('x', 20000) || '0123';
SELECT id FROM k WHERE t = repeat('x', 20000) || '0123456';
SELECT count(*) FROM k WHERE t > repeat('x', 20000) || '0989';
SELECT count(*) FROM k WHERE t >= repeat('x', 20000) || '0989';
SELECT count(*) FROM k WHERE t < repeat('x', 20000) || '0010';
SELECT count(*) FROM k WHERE t <= repeat('x', 20000) || '0010';
SELECT id, right(t, 4) FROM k WHERE t BETWEEN repeat('x', 20000) || '0100' AND repeat('x', 20000) || '0103' ORDER BY t;
SELECT id, right(t, 4) FROM k WHERE t > repeat('x', 20000) || '0100' AND t < repeat('x', 20000) || '0104' ORDER BY t DESC;
SELECT id FROM k WHERE t > repeat('x', 1990) AND t < repeat('x', 2000) ORDER BY t;
SELECT id FROM k WHERE t >= repeat('x', 1990) AND t <= repeat('x', 2000) ORDER BY t DESC;
SELECT id, right(t, 4) FROM k WHERE t IN (repeat('x', 20000) || '0500', 'y', repeat('x', 20000) || '0499', repeat('x', 40000), 'z') ORDER BY t;
SELECT length(min(t)), length(max(t)) FROM k WHERE t < 'y' AND t > 'w';
SELECT length(t) FROM k WHERE t > 'x' ORDER BY t DESC LIMIT 3;
SET work_mem = '64kB';
SELECT md5(string_agg(id::text, ',')) FROM (SELECT id FROM k ORDER BY t, id) AS ordered;
SELECT count(*) FROM (SELECT id FROM k ORDER BY t DESC) AS ordered;
RESET work_mem;

-- Joins by them.
CREATE TABLE other (t text, n int);
INSERT INTO other SELECT repeat('x', 20000) || to_char(i, 'FM0000'), i FROM generate_series(0, 2000, 250) AS i;
INSERT INTO other VALUES (NULL, 0), ('y', 1), (repeat('x', 40000), 2);
CREATE INDEX ON other (t);
ANALYZE other;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT k.id, o.n FROM k JOIN other AS o ON k.t = o.t ORDER BY o.n, k.id;
SET enable_nestloop = on;
SET enable_mergejoin = off;
SELECT k.id, o.n FROM other AS o JOIN k ON k.t = o.t ORDER BY o.n, k.id;
SET enable_hashjoin = on;
SET enable_mergejoin = on;

-- What changes.
BEGIN;
UPDATE k SET t = t || '!' WHERE t = repeat('x', 20000) || '0123';
SELECT count(*) FROM k WHERE t = repeat('x', 20000) || '0123';
SELECT id FROM k WHERE t = repeat('x', 20000) || '0123!';
DELETE FROM k WHERE t > repeat('x', 20000) || '0500' AND t < repeat('x', 20000) || '0600';
SELECT count(*) FROM k WHERE t > repeat('x', 20000) || '0499' AND t < repeat('x', 20000) || '0601';
SAVEPOINT a;
UPDATE k SET t = repeat('x', 20000) || '0550' WHERE id = 3004;
SELECT id FROM k WHERE t > repeat('x', 20000) || '0499' AND t < repeat('x', 20000) || '0601' ORDER BY t;
ROLLBACK TO a;
SELECT id FROM k WHERE t = 'y';
ROLLBACK;
SELECT count(*) FROM k WHERE t > repeat('x', 20000) || '0499' AND t < repeat('x', 20000) || '0601';
DELETE FROM k WHERE t > repeat('x', 20000) || '0500' AND t < repeat('x', 20000) || '0990';
VACUUM k;
SELECT id, right(t, 4) FROM k WHERE t > repeat('x', 20000) || '0498' AND t < repeat('x', 20000) || '0992' ORDER BY t;
REINDEX INDEX k_t;
SELECT id, right(t, 4) FROM k WHERE t > repeat('x', 20000) || '0498' AND t < repeat('x', 20000) || '0992' ORDER BY t;

-- Unique ones: primary key, ON CONFLICT, and an index that is made when it is too late.
CREATE TABLE u (t text PRIMARY KEY, n int);
INSERT INTO u SELECT repeat('k', 12000) || i, i FROM generate_series(1, 50) AS i;
INSERT INTO u VALUES (repeat('k', 1990) || 1, 0), (repeat('k', 1959), -1), (repeat('k', 1988), -2);
\set VERBOSITY terse
INSERT INTO u VALUES (repeat('k', 12000) || 7, 0);
UPDATE u SET t = repeat('k', 12000) || 7 WHERE n = 8;
\set VERBOSITY verbose
SELECT n FROM u WHERE t = repeat('k', 12000) || 7;
SELECT n FROM u WHERE t IN (repeat('k', 12000) || 7, repeat('k', 12000) || 51, repeat('k', 1959), repeat('k', 1988)) ORDER BY t;
INSERT INTO u VALUES (repeat('k', 12000) || 7, 70), (repeat('k', 12000) || 51, 51) ON CONFLICT (t) DO UPDATE SET n = excluded.n RETURNING n;
INSERT INTO u VALUES (repeat('k', 12000) || 7, 71), (repeat('k', 12000) || 52, 52) ON CONFLICT DO NOTHING RETURNING n;
UPDATE u SET n = n + 100 WHERE t = repeat('k', 12000) || 7 RETURNING n;
DELETE FROM u WHERE t = repeat('k', 12000) || 7 RETURNING n;
INSERT INTO u VALUES (repeat('k', 12000) || 7, 7);
SELECT n FROM u WHERE t = repeat('k', 12000) || 7 FOR UPDATE;
SELECT string_agg(n::text, ' ' ORDER BY t) FROM u;
SELECT n FROM u ORDER BY t DESC LIMIT 5;
CREATE TABLE twice AS SELECT repeat('k', 12000) || i / 2 AS t FROM generate_series(2, 9) AS i;
\set VERBOSITY terse
CREATE UNIQUE INDEX ON twice (t);
\set VERBOSITY verbose
CREATE TABLE late (t text, n int, UNIQUE (t) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO late SELECT repeat('k', 12000) || i, i FROM generate_series(1, 3) AS i;
BEGIN;
UPDATE late SET t = repeat('k', 12000) || (4 - n);
COMMIT;
SELECT n FROM late ORDER BY t;
BEGIN;
UPDATE late SET t = repeat('k', 12000) || 1;
\set VERBOSITY terse
COMMIT;
\set VERBOSITY verbose

-- What does not compress, up to what PostgreSQL takes.
CREATE TABLE noise (t text UNIQUE, b bytea, n int);
CREATE INDEX ON noise (b);
INSERT INTO noise SELECT left(h, 2690), left(h, 2690)::bytea, n
    FROM (SELECT n, (SELECT string_agg(md5((n * 100 + i)::text), '') FROM generate_series(1, 85) AS i) AS h
        FROM generate_series(1, 40) AS n) AS hashes;
SELECT n FROM noise WHERE t = (SELECT t FROM noise WHERE n = 17);
SELECT n FROM noise WHERE b = (SELECT b FROM noise WHERE n = 18);
SELECT string_agg(n::text, ' ') FROM (SELECT n FROM noise ORDER BY t) AS ordered;
SELECT string_agg(n::text, ' ') FROM (SELECT n FROM noise ORDER BY b DESC) AS ordered;

-- Other types, several columns, DESC, expressions, conditions.
CREATE TABLE many (id int, n numeric, a int[], b bytea, c char(5000), d text);
INSERT INTO many SELECT i, (repeat('9', 9000) || i || '.5')::numeric, array_fill(i % 3, ARRAY[3000]) || i, decode(repeat('00ff', 5000) || to_hex(i + 16), 'hex'), repeat('c', 3000) || i, repeat('d', 20000) || i % 4
    FROM generate_series(1, 30) AS i;
INSERT INTO many (id) VALUES (100);
CREATE INDEX many_n ON many (n DESC);
CREATE INDEX many_a ON many (a);
CREATE INDEX many_b ON many (b);
CREATE INDEX many_c ON many (c);
CREATE INDEX many_di ON many (d DESC NULLS LAST, id);
CREATE INDEX many_e ON many ((d || id)) WHERE id % 2 = 0;
CREATE UNIQUE INDEX many_iu ON many (id, d);
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM many ORDER BY n DESC) AS ordered;
SELECT id FROM many WHERE n BETWEEN (repeat('9', 9000) || '14')::numeric AND (repeat('9', 9000) || '17')::numeric ORDER BY n;
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM many ORDER BY a) AS ordered;
SELECT id FROM many WHERE a = array_fill(2, ARRAY[3000]) || 14;
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM many ORDER BY b) AS ordered;
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM many ORDER BY c) AS ordered;
SELECT id FROM many WHERE c = repeat('c', 3000) || '12';
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM many ORDER BY d DESC NULLS LAST, id) AS ordered;
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM many WHERE d = repeat('d', 20000) || 2 ORDER BY id) AS ordered;
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM many WHERE d = repeat('d', 20000) || 2 AND id > 13 ORDER BY id) AS ordered;
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM many WHERE d < repeat('d', 20000) || 2 ORDER BY d DESC, id) AS ordered;
SELECT id FROM many WHERE d || id = repeat('d', 20000) || 2 || 22 AND id % 2 = 0;
SELECT id FROM many WHERE id = 7 AND d = repeat('d', 20000) || 3;
SELECT id FROM many WHERE d IS NULL;

-- Answered from the index.
VACUUM many;
SELECT id, md5(d) FROM many WHERE d = repeat('d', 20000) || 2 AND id BETWEEN 5 AND 15 ORDER BY id;
SELECT count(*), md5(min(d)) FROM (SELECT d FROM many WHERE d > repeat('d', 20000) || 1) AS part;

DROP TABLE k, other, u, twice, late, noise, many;
