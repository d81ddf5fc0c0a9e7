-- CREATE INDEX and DROP INDEX; the answers do not depend on the way to the rows.
CREATE TABLE t (a integer, b text, c numeric);
INSERT INTO t SELECT n % 100, 'name ' || n % 37, n / 3.0 FROM generate_series(1, 2000) AS n;
INSERT INTO t VALUES (NULL, 'null a', 0), (5, NULL, 0), (NULL, NULL, NULL);
CREATE INDEX t_a ON t (a);
CREATE INDEX t_a ON t (b);
CREATE INDEX IF NOT EXISTS t_a ON t (b);
CREATE INDEX t_b_a ON t (b DESC, a ASC NULLS FIRST);
CREATE INDEX ON t (c DESC NULLS LAST);
CREATE INDEX ON t (c);
CREATE TABLE one_duplicate (a integer);
INSERT INTO one_duplicate VALUES (1), (2), (3), (2);
CREATE UNIQUE INDEX nope ON one_duplicate (a);
DROP TABLE one_duplicate;
CREATE UNIQUE INDEX t_unique ON t (c, a, b);
CREATE INDEX bad ON t (nope);
CREATE INDEX bad ON nope (a);
CREATE INDEX bad ON t USING nope (a);
\d t
\di

SELECT count(*) FROM t WHERE a = 5;
SELECT count(*) FROM t WHERE a > 95;
SELECT count(*) FROM t WHERE a BETWEEN 10 AND 12;
SELECT count(*) FROM t WHERE a IS NULL;
SELECT count(*) FROM t WHERE a IS NOT NULL;
SELECT count(*) FROM t WHERE a IN (1, 2, 3, 3, NULL, 500);
SELECT count(*) FROM t WHERE a = ANY ('{1,2,NULL}');
SELECT count(*) FROM t WHERE a < 3 OR a > 97;
SELECT count(*) FROM t WHERE a = 5 AND b = 'name 5';
SELECT count(*) FROM t WHERE b = 'name 5' AND a > 50;
SELECT a, b FROM t WHERE c < 3 ORDER BY c;
SELECT a FROM t ORDER BY a LIMIT 3;
SELECT a FROM t ORDER BY a DESC LIMIT 3;
SELECT a FROM t ORDER BY a DESC NULLS LAST LIMIT 3;
SELECT a FROM t ORDER BY a NULLS FIRST LIMIT 3;
SELECT b, a FROM t ORDER BY b DESC, a NULLS FIRST LIMIT 4;
SELECT min(a), max(a), min(b), max(b) FROM t;

SET enable_seqscan = off;
SELECT count(*), sum(c)::numeric(12, 3) FROM t WHERE a = 5;
SELECT count(*), sum(c)::numeric(12, 3) FROM t WHERE a >= 98;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SELECT count(*), sum(c)::numeric(12, 3) FROM t WHERE a = 5;
SELECT count(*), sum(c)::numeric(12, 3) FROM t WHERE a >= 98;
RESET ALL;

-- The indexes follow the rows.
UPDATE t SET a = 1000 WHERE a = 5;
SELECT count(*) FROM t WHERE a = 5;
SELECT count(*) FROM t WHERE a = 1000;
UPDATE t SET b = 'same a' WHERE a = 1000;
SELECT count(*) FROM t WHERE a = 1000 AND b = 'same a';
DELETE FROM t WHERE a = 1000;
SELECT count(*) FROM t WHERE a = 1000;
SELECT count(*) FROM t WHERE a >= 1000;

-- Unique indexes and transactions.
CREATE TABLE u (k text, v integer);
CREATE UNIQUE INDEX u_k ON u (k);
INSERT INTO u VALUES ('a', 1), ('b', 2);
INSERT INTO u VALUES ('a', 3);
BEGIN;
DELETE FROM u WHERE k = 'a';
INSERT INTO u VALUES ('a', 3);
ROLLBACK;
SELECT * FROM u ORDER BY k;
BEGIN;
CREATE INDEX u_v ON u (v);
INSERT INTO u VALUES ('c', 3);
SELECT * FROM u WHERE v = 3;
ROLLBACK;
DROP INDEX u_v;
DROP INDEX IF EXISTS u_v;
DROP INDEX u;
DROP INDEX u_k;
INSERT INTO u VALUES ('a', 3);
SELECT * FROM u ORDER BY k, v;
CREATE UNIQUE INDEX u_k ON u (k);

-- Expression and partial indexes.
CREATE INDEX u_lower ON u (lower(k));
SELECT count(*) FROM u WHERE lower(k) = 'a';
CREATE UNIQUE INDEX u_big ON u (k) WHERE v > 2;
INSERT INTO u VALUES ('a', 1);
INSERT INTO u VALUES ('a', 5);
\d u

-- What CLUSTER would order a table by.
CREATE TABLE ordered (a int PRIMARY KEY, b int);
CREATE INDEX ordered_b ON ordered (b);
CREATE INDEX ordered_some ON ordered (b) WHERE a > 0;
CREATE TABLE other_ordered (a int PRIMARY KEY);
ALTER TABLE ordered CLUSTER ON ordered_b;
SELECT indexrelid::regclass, indisclustered FROM pg_index WHERE indrelid = 'ordered'::regclass ORDER BY indexrelid::regclass::text;
ALTER TABLE ordered CLUSTER ON ordered_pkey;
ALTER INDEX ordered_pkey RENAME TO ordered_key;
REINDEX TABLE ordered;
ALTER TABLE ordered ALTER a TYPE bigint;
SELECT indexrelid::regclass, indisclustered FROM pg_index WHERE indrelid = 'ordered'::regclass ORDER BY indexrelid::regclass::text;
ALTER TABLE ordered CLUSTER ON nosuch;
ALTER TABLE ordered CLUSTER ON other_ordered_pkey;
ALTER TABLE ordered CLUSTER ON other_ordered;
ALTER TABLE ordered CLUSTER ON ordered_some;
BEGIN; ALTER TABLE ordered SET WITHOUT CLUSTER; ROLLBACK;
SELECT count(*) FROM pg_index WHERE indisclustered AND indrelid = 'ordered'::regclass;
ALTER TABLE ordered SET WITHOUT CLUSTER;
ALTER TABLE ordered SET WITHOUT CLUSTER;
SELECT count(*) FROM pg_index WHERE indisclustered AND indrelid = 'ordered'::regclass;
CREATE VIEW ordered_view AS SELECT 1 AS a;
ALTER TABLE ordered_view CLUSTER ON ordered_b;
ALTER TABLE ordered_view SET WITHOUT CLUSTER;
CREATE TABLE ordered_parts (a int PRIMARY KEY) PARTITION BY LIST (a);
ALTER TABLE ordered_parts CLUSTER ON ordered_parts_pkey;
ALTER TABLE ordered_parts SET WITHOUT CLUSTER;
ALTER TABLE ordered CLUSTER ON ordered_b;
CREATE TABLE ordered_like (LIKE ordered INCLUDING ALL);
SELECT count(*) FROM pg_index WHERE indisclustered AND indrelid = 'ordered_like'::regclass;
DROP VIEW ordered_view;
DROP TABLE ordered, ordered_like, other_ordered, ordered_parts;
