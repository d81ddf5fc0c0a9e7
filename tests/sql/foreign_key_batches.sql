-- Many rows of one statement: their keys are looked up together, in the order of the index.
CREATE TABLE fkb_p (a text PRIMARY KEY);
CREATE TABLE fkb_c (id int, a text REFERENCES fkb_p);
INSERT INTO fkb_p SELECT 'k' || i FROM generate_series(1, 3000) i;
-- keys that are too long to be whole in the index, beside short ones
INSERT INTO fkb_p SELECT repeat(md5(i::text), 300) || i FROM generate_series(1, 20) i;
INSERT INTO fkb_c SELECT i, 'k' || 1 + i * 7 % 3000 FROM generate_series(1, 5000) i;
INSERT INTO fkb_c SELECT i, CASE WHEN i % 2 = 0 THEN 'k' || i ELSE repeat(md5((1 + i % 20)::text), 300) || 1 + i % 20 END
  FROM generate_series(1, 200) i;
SELECT count(*), count(DISTINCT a) FROM fkb_c;
-- the first row without its key is named, in any place of the order
INSERT INTO fkb_c SELECT i, CASE i WHEN 1500 THEN 'zz' WHEN 1700 THEN 'aa' ELSE 'k' || i END FROM generate_series(1, 2000) i;
INSERT INTO fkb_c VALUES (1, 'k1'), (2, 'missing 2'), (3, NULL), (4, 'a missing 4');
INSERT INTO fkb_c SELECT i, repeat(md5(i::text), 300) || CASE i WHEN 9 THEN 'x' ELSE i::text END FROM generate_series(1, 20) i;
COPY fkb_c FROM STDIN;
1	k5
2	k6
3	\N
4	k3001
5	a
\.
COPY fkb_c FROM STDIN;
1	k5
2	k5
3	\N
4	k3000
\.
-- a key that has been deleted and inserted many times in the transaction
BEGIN;
DELETE FROM fkb_p WHERE a = 'k3000' AND NOT EXISTS (SELECT FROM fkb_c c WHERE c.a = fkb_p.a);
INSERT INTO fkb_p VALUES ('again');
DELETE FROM fkb_p WHERE a = 'again';
INSERT INTO fkb_p VALUES ('again');
DELETE FROM fkb_p WHERE a = 'again';
INSERT INTO fkb_p VALUES ('again');
DELETE FROM fkb_p WHERE a = 'again';
INSERT INTO fkb_p VALUES ('again');
INSERT INTO fkb_c SELECT i, 'again' FROM generate_series(1, 3) i;
INSERT INTO fkb_c VALUES (9, 'again');
SAVEPOINT s;
DELETE FROM fkb_p WHERE a = 'again';
ROLLBACK TO s;
DELETE FROM fkb_c WHERE a = 'again';
DELETE FROM fkb_p WHERE a = 'again';
SAVEPOINT s;
INSERT INTO fkb_c SELECT i, 'again' FROM generate_series(1, 3) i;
ROLLBACK TO s;
INSERT INTO fkb_c VALUES (9, 'again');
ROLLBACK;
-- the statement changes referenced rows itself
CREATE TABLE fkb_s (id int PRIMARY KEY, up int REFERENCES fkb_s);
INSERT INTO fkb_s SELECT i, 2001 - i FROM generate_series(1, 2000) i;
INSERT INTO fkb_s SELECT i, i + 1 FROM generate_series(2001, 2100) i;
UPDATE fkb_s SET id = id + 5000, up = up + 5000;
SELECT min(id), max(up), count(*) FROM fkb_s;
-- keys of several columns, in partitions
CREATE TABLE fkb_q (a int, b text, PRIMARY KEY (b, a)) PARTITION BY HASH (a);
CREATE TABLE fkb_q0 PARTITION OF fkb_q FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE fkb_q1 PARTITION OF fkb_q FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE fkb_d (x int, a bigint, b text, FOREIGN KEY (a, b) REFERENCES fkb_q (a, b));
INSERT INTO fkb_q SELECT i, 'b' || i % 10 FROM generate_series(1, 2000) i;
INSERT INTO fkb_d SELECT i, i, 'b' || i % 10 FROM generate_series(1, 2000) i;
INSERT INTO fkb_d SELECT i, i, 'b' || CASE i WHEN 1999 THEN 8 ELSE i % 10 END FROM generate_series(1, 2000) i;
INSERT INTO fkb_d SELECT i, 2147483640 + i::bigint, 'b1' FROM generate_series(1, 20) i;
INSERT INTO fkb_d SELECT i, 1 + i::bigint << 32, 'b1' FROM generate_series(1, 20) i;
-- a key that is whole in the index, beside longer ones that the index shortens to bytes which begin with its own
CREATE TABLE fkb_b (a bytea PRIMARY KEY);
CREATE TABLE fkb_e (id int, a bytea REFERENCES fkb_b);
INSERT INTO fkb_b SELECT convert_to(repeat('b', 1957), 'UTF8') || '\x00' || m
  FROM (SELECT convert_to(repeat('m' || i || '-', 20), 'UTF8') m FROM generate_series(1, 3000) i) s
  WHERE get_byte(sha256('\xff' || m || '\x0000'), 0) = 0;
INSERT INTO fkb_e SELECT i, a FROM fkb_b, generate_series(1, 3) i;
INSERT INTO fkb_e SELECT i, convert_to(repeat('b', 1957), 'UTF8') FROM generate_series(1, 2) i;
INSERT INTO fkb_b SELECT convert_to(repeat('b', 1957), 'UTF8');
INSERT INTO fkb_e SELECT i, convert_to(repeat('b', 1957), 'UTF8') FROM generate_series(1, 2) i;
SELECT count(*), count(DISTINCT a) FROM fkb_e;
DROP TABLE fkb_b, fkb_e;
DROP TABLE fkb_c, fkb_p, fkb_s, fkb_d, fkb_q;
