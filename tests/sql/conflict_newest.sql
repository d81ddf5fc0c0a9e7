-- ON CONFLICT judges by a row's newest version, whatever the statement's snapshot shows
CREATE TABLE t (k integer PRIMARY KEY, v integer);
INSERT INTO t VALUES (1, 0);
-- The command itself has taken the key away
INSERT INTO t VALUES (1, 1), (1, 2) ON CONFLICT (k) DO UPDATE SET k = t.k + 100;
SELECT * FROM t ORDER BY k;
-- … and the key that was new is taken
INSERT INTO t VALUES (1, 3), (1, 4), (1, 5) ON CONFLICT (k) DO UPDATE SET k = t.k + 200 RETURNING *;
INSERT INTO t VALUES (1, 3), (201, 4) ON CONFLICT (k) DO UPDATE SET k = t.k + 200;
SELECT * FROM t ORDER BY k;
-- The key stays: a second time
INSERT INTO t VALUES (1, 3), (1, 4) ON CONFLICT (k) DO UPDATE SET v = excluded.v;
INSERT INTO t VALUES (1, 3), (1, 4) ON CONFLICT (k) DO UPDATE SET v = t.v;
INSERT INTO t VALUES (7, 3), (7, 4) ON CONFLICT (k) DO UPDATE SET v = excluded.v;
-- Key and back within one command
INSERT INTO t VALUES (1, 1), (1, 1), (1, 2) ON CONFLICT (k) DO UPDATE SET k = excluded.k + 500;
SELECT * FROM t ORDER BY k;
-- DO NOTHING and no arbiter named
INSERT INTO t VALUES (101, 1), (101, 2) ON CONFLICT DO NOTHING RETURNING *;
WITH u AS (UPDATE t SET k = 102 WHERE k = 101 RETURNING k)
INSERT INTO t SELECT 101, count(*) FROM u ON CONFLICT DO NOTHING RETURNING *;
-- A deletion feeds the insert
WITH d AS (DELETE FROM t WHERE k > 100 RETURNING *)
INSERT INTO t SELECT k, v + 10 FROM d ORDER BY k ON CONFLICT (k) DO UPDATE SET v = -1 RETURNING *;
SELECT * FROM t ORDER BY k;
WITH d AS (DELETE FROM t WHERE k > 100 RETURNING *)
INSERT INTO t SELECT k, v FROM d CROSS JOIN generate_series(1, 2) ON CONFLICT (k) DO UPDATE SET v = -1;
WITH u AS (UPDATE t SET v = v + 1 RETURNING *)
INSERT INTO t SELECT k, v FROM u ON CONFLICT (k) DO UPDATE SET v = excluded.v;
WITH u AS (UPDATE t SET k = k + 1000 RETURNING *)
INSERT INTO t SELECT k - 1000, v FROM u ON CONFLICT (k) DO UPDATE SET v = -1;
SELECT * FROM t ORDER BY k;

-- Keys of expressions
CREATE TABLE e (a integer, b text);
CREATE UNIQUE INDEX ON e (lower(b));
CREATE UNIQUE INDEX ON e (a) WHERE a > 0;
INSERT INTO e VALUES (1, 'X');
INSERT INTO e VALUES (2, 'x'), (3, 'X') ON CONFLICT (lower(b)) DO UPDATE SET b = e.b || excluded.b;
SELECT * FROM e ORDER BY a;
INSERT INTO e VALUES (3, 'y'), (3, 'z') ON CONFLICT (a) WHERE a > 0 DO UPDATE SET a = -e.a;
SELECT * FROM e ORDER BY a, b;
INSERT INTO e VALUES (3, 'q'), (4, 'Q') ON CONFLICT (lower(b)) DO UPDATE SET b = upper(e.b);
INSERT INTO e VALUES (3, 'p'), (4, 'P') ON CONFLICT (lower(b)) DO UPDATE SET a = 0;

-- Generated keys
CREATE TABLE g (a integer, k integer GENERATED ALWAYS AS (a / 10) STORED UNIQUE);
INSERT INTO g VALUES (10);
INSERT INTO g VALUES (11), (12) ON CONFLICT (k) DO UPDATE SET a = g.a + 100;
SELECT * FROM g ORDER BY a;
INSERT INTO g VALUES (11), (13) ON CONFLICT (k) DO UPDATE SET a = g.a + 1;
INSERT INTO g VALUES (11), (13) ON CONFLICT (k) DO UPDATE SET a = excluded.a;

-- Two unique keys: the one that is no arbiter is an error
CREATE TABLE two (a integer UNIQUE, b integer UNIQUE);
INSERT INTO two VALUES (1, NULL);
INSERT INTO two VALUES (1, NULL), (1, NULL) ON CONFLICT (a) DO UPDATE SET a = 10;
SELECT * FROM two ORDER BY a;
INSERT INTO two VALUES (1, 5), (2, 5) ON CONFLICT (a) DO UPDATE SET b = excluded.b;
INSERT INTO two VALUES (1, 6), (10, 6) ON CONFLICT (a) DO UPDATE SET b = excluded.b;

-- Partitions: the key goes within its leaf, or may not
CREATE TABLE p (k integer, r integer, v integer, PRIMARY KEY (r, k)) PARTITION BY RANGE (r);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 (v integer, k integer NOT NULL, r integer NOT NULL);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200);
INSERT INTO p VALUES (1, 1, 0), (1, 101, 0);
INSERT INTO p VALUES (1, 1, 1), (1, 1, 2), (1, 101, 3), (1, 101, 4)
  ON CONFLICT (r, k) DO UPDATE SET r = p.r + 50;
SELECT tableoid::regclass, * FROM p ORDER BY r, k;
INSERT INTO p VALUES (1, 1, 1), (1, 1, 2) ON CONFLICT (r, k) DO UPDATE SET r = p.r + 100;
INSERT INTO p VALUES (1, 1, 1), (1, 1, 2) ON CONFLICT (r, k) DO UPDATE SET v = excluded.v;
WITH m AS (UPDATE p SET r = r + 100 WHERE r < 100 RETURNING *)
INSERT INTO p SELECT k, r - 100, v + 7 FROM m ON CONFLICT (r, k) DO UPDATE SET v = -1;
SELECT tableoid::regclass, * FROM p ORDER BY r, k;
