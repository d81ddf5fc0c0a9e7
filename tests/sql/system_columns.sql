-- xmin, xmax, cmin, cmax, ctid: what is true of them whatever the numbers are
-- PostgreSQL 15 differs: RETURNING has no old and new there
CREATE TABLE t (id integer PRIMARY KEY, v integer, s text);
CREATE INDEX ON t (v);
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');
SELECT ctid, xmax, cmin, cmax, id FROM t ORDER BY id;
SELECT count(DISTINCT xmin::text), count(DISTINCT ctid), pg_typeof(min(xmin::text::bigint)),
  bool_and(xmin::text::bigint > 2) FROM t;
SELECT pg_typeof(xmin), pg_typeof(xmax), pg_typeof(cmin), pg_typeof(cmax), pg_typeof(ctid) FROM t WHERE id = 1;

-- The transaction's own number
BEGIN;
UPDATE t SET v = 11 WHERE id = 1;
INSERT INTO t VALUES (4, 40, 'd');
SELECT id, xmin = pg_current_xact_id()::xid AS mine, xmin::text = (txid_current() % (2^32)::bigint)::text AS same,
  pg_visible_in_snapshot(pg_current_xact_id(), pg_current_snapshot()) AS seen FROM t ORDER BY id;
SELECT id, cmin, cmax FROM t WHERE xmin = pg_current_xact_id()::xid ORDER BY id;
UPDATE t SET v = 12 WHERE id = 1;
SELECT id, cmin FROM t WHERE xmin = pg_current_xact_id()::xid ORDER BY id;
COMMIT;
SELECT count(DISTINCT xmin::text) FROM t;
SELECT pg_xact_status(xmin::text::xid8) FROM t WHERE id = 1;

-- xmin as a token: the row as it was read, or nothing
SELECT xmin AS token FROM t WHERE id = 2 \gset
UPDATE t SET v = 21 WHERE id = 2 AND xmin = :'token' RETURNING id, xmin::text <> :'token' AS is_new;
UPDATE t SET v = 22 WHERE id = 2 AND xmin = :'token' RETURNING id;
DELETE FROM t WHERE id = 2 AND xmin = :'token';
SELECT xmin AS token FROM t WHERE id = 2 \gset
UPDATE t SET v = v WHERE id = 2;
DELETE FROM t WHERE id = 2 AND xmin = :'token';
SELECT v FROM t WHERE xmin = (SELECT xmin FROM t WHERE id = 2);

-- ctid: another with each version, and found by it
SELECT ctid AS place FROM t WHERE id = 3 \gset
SELECT id FROM t WHERE ctid = :'place';
UPDATE t SET v = 31 WHERE ctid = :'place' RETURNING id, ctid <> :'place' AS moved;
SELECT id FROM t WHERE ctid = :'place';
UPDATE t SET v = 32 WHERE ctid = (SELECT ctid FROM t WHERE id = 3) RETURNING id, v;
WITH u AS (UPDATE t SET v = v + 1 WHERE ctid = ANY (ARRAY(SELECT ctid FROM t WHERE id > 2 FOR UPDATE SKIP LOCKED)) RETURNING id, v)
SELECT * FROM u ORDER BY id;
SELECT count(*) FROM t WHERE ctid IN (SELECT min(ctid) FROM t);
SELECT a.id FROM t a JOIN t b ON a.ctid = b.ctid ORDER BY 1;
CREATE TABLE twice (k integer);
INSERT INTO twice SELECT n % 3 FROM generate_series(1, 10) AS n;
UPDATE twice SET k = k WHERE k = 1;
DELETE FROM twice WHERE ctid NOT IN (SELECT min(ctid) FROM twice GROUP BY k);
SELECT * FROM twice ORDER BY k;
DELETE FROM twice a USING twice b WHERE a.k = b.k AND a.ctid < b.ctid;
SELECT count(*), count(DISTINCT ctid) FROM twice;

-- RETURNING
INSERT INTO t VALUES (5, 50, 'e') RETURNING xmin = pg_current_xact_id()::xid, xmax, cmin, cmax;
INSERT INTO t VALUES (5, 51, 'f'), (6, 60, 'g') ON CONFLICT (id) DO UPDATE SET v = excluded.v
  RETURNING id, (xmax = 0) AS inserted, xmax = pg_current_xact_id()::xid AS own;
SELECT id, xmax = 0 AS never FROM t WHERE id IN (5, 6) ORDER BY id;
INSERT INTO t VALUES (5, 52, 'f') ON CONFLICT (id) DO UPDATE SET v = t.v + 1 WHERE t.xmin::text <> '2' AND t.xmax <> 0
  RETURNING id, v;
INSERT INTO t VALUES (5, 52, 'f') ON CONFLICT (id) DO UPDATE SET s = (t.ctid IS NOT NULL)::text RETURNING s;
UPDATE t SET v = 53 WHERE id = 5 RETURNING xmin = pg_current_xact_id()::xid, xmax, cmin;
UPDATE t SET v = 54 WHERE id = 5
  RETURNING old.xmin <> new.xmin, old.xmax = new.xmin, new.xmax, old.ctid <> new.ctid, new.ctid = t.ctid, ctid = t.ctid;
DELETE FROM t WHERE id = 5 RETURNING xmax = pg_current_xact_id()::xid, xmin <> xmax, cmin;
DELETE FROM t WHERE id = 6 RETURNING old.xmax = pg_current_xact_id()::xid, new.xmin, new.ctid, old.ctid = ctid;
INSERT INTO t VALUES (7, 70, 'h') RETURNING old.xmin, new.xmin = xmin, old.ctid, new.ctid = ctid;
WITH u AS (UPDATE t SET v = 71 WHERE id = 7 RETURNING xmin, ctid)
SELECT u.xmin = pg_current_xact_id()::xid, t.xmin <> u.xmin, t.ctid <> u.ctid, t.xmax = u.xmin FROM t, u WHERE id = 7;

-- xmax: who has locked the row
BEGIN;
SELECT id FROM t WHERE id = 1 FOR UPDATE;
SELECT id, xmax = pg_current_xact_id()::xid AS own FROM t WHERE id < 3 ORDER BY id;
UPDATE t SET v = 13 WHERE id = 1 RETURNING xmax = pg_current_xact_id()::xid AS locked_first;
UPDATE t SET v = 23 WHERE id = 2 RETURNING xmax;
ROLLBACK;

-- Joins, sub-selects, views, whole rows
SELECT a.id, b.id, a.xmin = b.xmin FROM t a LEFT JOIN t b ON b.id = a.id + 1 AND b.id = 2 ORDER BY 1;
SELECT a.id, b.xmin, b.ctid FROM t a LEFT JOIN t b ON b.id = a.id + 100 WHERE a.id = 1;
SELECT (SELECT u.xmin = t.xmin FROM t u WHERE u.id = t.id) FROM t ORDER BY id;
SELECT x = xmin FROM (SELECT xmin AS x, xmin FROM t) s LIMIT 1;
SELECT xmin FROM (SELECT id FROM t) s;
CREATE VIEW tv AS SELECT id, v FROM t;
SELECT xmin FROM tv;
SELECT ctid FROM tv;
UPDATE tv SET v = v WHERE xmin IS NOT NULL;
CREATE VIEW tx AS SELECT id, xmin AS x FROM t;
SELECT count(DISTINCT x::text) > 1 FROM tx;
UPDATE tx SET x = '3';
UPDATE t SET xmin = '3';
INSERT INTO t (id, ctid) VALUES (9, '(0,1)');
SELECT t FROM t WHERE id = 1;
SELECT id, max(xmin::text::bigint) IS NOT NULL FROM t GROUP BY id, xmin ORDER BY id;
SELECT id FROM t WHERE xmin = 2.5;
SELECT id FROM t WHERE xmin < '5';
SELECT id FROM t ORDER BY xmin;

-- Partitions and inheritance
CREATE TABLE p (k integer PRIMARY KEY, v integer) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (v integer, k integer NOT NULL);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
INSERT INTO p VALUES (1, 1), (11, 11), (2, 2), (12, 12);
INSERT INTO p VALUES (5, 5) RETURNING ctid IS NOT NULL;
INSERT INTO p VALUES (6, 6) RETURNING tableoid::regclass, xmin;
SELECT tableoid::regclass, ctid, k, xmax FROM p WHERE k <> 5 ORDER BY k;
UPDATE p SET v = v + 1 WHERE tableoid = 'p2'::regclass AND ctid = '(0,1)' RETURNING k, v;
UPDATE p SET k = k + 12 WHERE k = 2 RETURNING k, ctid IS NOT NULL;
UPDATE p SET k = 13 WHERE k = 1
  RETURNING tableoid::regclass, xmin = pg_current_xact_id()::xid, xmax, old.xmax = new.xmin, old.tableoid::regclass;
INSERT INTO p VALUES (3, 0), (13, 0) ON CONFLICT (k) DO UPDATE SET v = -1 RETURNING k, (xmax = 0) AS inserted;
INSERT INTO p VALUES (11, 0) ON CONFLICT (k) DO UPDATE SET v = -1 RETURNING k, (xmax = 0) AS inserted;
DELETE FROM p WHERE xmin IN (SELECT xmin FROM p WHERE k = 11) RETURNING k, xmax = pg_current_xact_id()::xid;
CREATE TABLE parent (a integer);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child VALUES (1);
INSERT INTO parent VALUES (2);
UPDATE parent SET a = a + 10 RETURNING tableoid::regclass, a, xmin = pg_current_xact_id()::xid, xmax;

-- Not a placeholder either
SELECT count(*) FROM pg_tablespace_databases(1663) AS d JOIN pg_database ON pg_database.oid = d
  WHERE datname = current_database();
SELECT count(*) FROM pg_tablespace t, pg_tablespace_databases(t.oid) AS d, pg_database
  WHERE pg_database.oid = d AND datname = current_database() AND spcname = 'pg_default';
