-- GENERATED ALWAYS AS (…) VIRTUAL: columns that are computed when they are read.
-- PostgreSQL 15 differs: it has stored generated columns only
CREATE TABLE gv (a integer PRIMARY KEY, b integer GENERATED ALWAYS AS (a * 2) VIRTUAL, c text GENERATED ALWAYS AS ('x' || a), n integer);
\d gv
INSERT INTO gv VALUES (1);
INSERT INTO gv VALUES (2, DEFAULT, DEFAULT, 5), (3, DEFAULT, DEFAULT, 7) RETURNING *;
INSERT INTO gv (a, n) SELECT i, i FROM generate_series(100, 102) AS i RETURNING b, c, gv;
INSERT INTO gv VALUES (4, 3);
INSERT INTO gv VALUES (4, 3), (5, DEFAULT);
INSERT INTO gv (a, b) VALUES (4, 3);
INSERT INTO gv SELECT 1, 2;
INSERT INTO gv (b) VALUES (DEFAULT);
INSERT INTO gv (a, b) OVERRIDING SYSTEM VALUE VALUES (4, 5);
SELECT * FROM gv ORDER BY a;
SELECT gv FROM gv ORDER BY a LIMIT 2;
SELECT gv::text, num_nulls(gv.b, g.b), g IS NOT NULL, gv = g FROM gv JOIN gv AS g USING (a) WHERE a < 3 ORDER BY a;
SELECT a, (SELECT gv.b), (SELECT max(g.b) FROM gv AS g WHERE g.b < gv.b) FROM gv WHERE b < 10 ORDER BY b DESC;
SELECT b, c FROM gv WHERE b = 4;
SELECT b % 4 AS m, count(*), sum(b), string_agg(c, ',' ORDER BY b) FROM gv GROUP BY b % 4 HAVING sum(b) > 3 ORDER BY m;
SELECT b, sum(a) OVER (ORDER BY b), lag(c) OVER (PARTITION BY b > 50 ORDER BY a) FROM gv ORDER BY b;
SELECT DISTINCT b > 100 AS big FROM gv ORDER BY big;
SELECT DISTINCT ON (b % 3) b % 3 AS k, b FROM gv ORDER BY b % 3, b;
SELECT b FROM gv UNION ALL SELECT a FROM gv EXCEPT SELECT n FROM gv ORDER BY 1;
WITH w AS (SELECT * FROM gv), m AS MATERIALIZED (SELECT b FROM gv WHERE b > 100) SELECT w.b, m.b FROM w JOIN m ON m.b = w.b ORDER BY 1;
SELECT b, c FROM gv WHERE b IN (SELECT b FROM gv WHERE n IS NOT NULL) AND EXISTS (SELECT FROM gv AS g WHERE g.b = gv.a * 2 AND g.c <> 'x2') ORDER BY 1;
SELECT x.s FROM gv, LATERAL (SELECT gv.b + g.b AS s FROM gv AS g WHERE g.a = 1) AS x ORDER BY 1;
SELECT b, a FROM gv ORDER BY c DESC, b LIMIT 2 OFFSET 1;
SELECT a, b FROM gv WHERE a < 3 ORDER BY a FOR UPDATE;
SELECT a FROM ONLY gv WHERE b = 2 AND c = 'x1';
-- An outer join's missing row has no values, not even those of a constant.
CREATE TABLE gk (k integer, v integer GENERATED ALWAYS AS (7), w integer GENERATED ALWAYS AS (coalesce(k, 100)), r text GENERATED ALWAYS AS (coalesce('k' || k, 'none')));
INSERT INTO gk VALUES (1), (2), (NULL);
SELECT gv.a, gk.v, gk.w, gk.r, gk FROM gv LEFT JOIN gk ON gk.k = gv.a ORDER BY a;
SELECT gv.a, gk.v FROM gk RIGHT JOIN gv ON gk.w = gv.b ORDER BY a;
SELECT gv.a, gv.b, gk.v, gk.w FROM gv FULL JOIN gk ON gk.w = gv.a ORDER BY a, w;
SELECT gv.a, gk.v FROM gv LEFT JOIN gk ON gk.w = gv.a WHERE gk.v IS NULL ORDER BY a;
SELECT gv.a, gk.v FROM gv LEFT JOIN gk ON gk.w = gv.a WHERE gk.v = 7 ORDER BY a;
SELECT gv.a, count(gk.v), sum(gk.w) FROM gv LEFT JOIN gk ON gk.w = gv.a GROUP BY gv.a ORDER BY a;
SELECT x.a, x.v, y.v FROM (gv LEFT JOIN gk ON gk.k = gv.a) AS x LEFT JOIN gk AS y ON y.w = x.v OR y.w = x.b ORDER BY 1, 2, 3;
SELECT a.v, b.v, c.v FROM gk AS a LEFT JOIN (gk AS b JOIN gk AS c ON b.w = c.w) ON a.k = b.k ORDER BY a.k;
SELECT gv.a, (SELECT gk.v), (SELECT gk.w WHERE gk.w IS NULL) FROM gv LEFT JOIN gk ON gk.k = gv.a WHERE gv.a < 4 ORDER BY a;
SELECT w, k FROM gk AS x FULL JOIN (SELECT a AS w, b AS bb FROM gv WHERE a < 3) AS y USING (w) ORDER BY w, k;
SELECT * FROM gv NATURAL JOIN gv AS g ORDER BY a LIMIT 2;
SELECT a.v FROM gk AS a FULL JOIN gk AS b ON a.w = b.w AND a.v = b.v ORDER BY 1;
SELECT a.a, q.v FROM gv AS a LEFT JOIN (SELECT k, v FROM gk WHERE w < 50) AS q ON q.k = a.a ORDER BY a.a LIMIT 3;
-- Grouping sets tell apart what looks the same.
CREATE TABLE gg (a integer, same integer GENERATED ALWAYS AS (a), again integer GENERATED ALWAYS AS (a), ten integer GENERATED ALWAYS AS (10), twice integer GENERATED ALWAYS AS (a * 2));
INSERT INTO gg VALUES (1), (1), (2);
SELECT a, same, again, count(*) FROM gg GROUP BY GROUPING SETS ((a), (same), (again), ()) ORDER BY 1, 2, 3, 4;
SELECT ten, twice, a * 2 AS mult, count(*), grouping(ten, twice) FROM gg GROUP BY GROUPING SETS ((ten), (twice), (a * 2), ()) ORDER BY 1, 2, 3, 4;
SELECT ten, 10 AS lit, count(*) FROM gg GROUP BY ROLLUP (ten) ORDER BY 1, 3;
SELECT twice, sum(ten) FROM gg GROUP BY CUBE (twice, same) HAVING twice IS NULL OR twice > 2 ORDER BY 1, 2;
-- Changes.
UPDATE gv SET n = b WHERE c = 'x1' RETURNING *;
UPDATE gv SET a = a + 10 WHERE b = 4 RETURNING old.b, new.b, b, old.c, old, new;
UPDATE gv SET b = 3;
UPDATE gv SET b = DEFAULT, n = b + 1 WHERE a = 1 RETURNING *;
UPDATE gv SET (n, b) = (b, DEFAULT) WHERE a = 1 RETURNING n, b;
UPDATE gv SET n = g.b FROM gv AS g WHERE g.b = gv.b AND gv.c = 'x3' RETURNING gv.*, g.c;
WITH u AS (UPDATE gv SET n = gk.v FROM gv AS g LEFT JOIN gk ON gk.k = g.a WHERE g.a = gv.a RETURNING gv.a, gv.n, gk.v) SELECT * FROM u ORDER BY a;
INSERT INTO gv VALUES (50) RETURNING old.b, new.b, old, new;
INSERT INTO gv VALUES (50, DEFAULT, DEFAULT, 1) ON CONFLICT (a) DO UPDATE SET n = gv.b + excluded.b + excluded.n RETURNING *, old.n, old.b;
INSERT INTO gv VALUES (50) ON CONFLICT (a) DO UPDATE SET n = 0 WHERE gv.b <> excluded.b RETURNING *;
INSERT INTO gv VALUES (50) ON CONFLICT (a) DO UPDATE SET b = DEFAULT, n = 77 WHERE excluded.c = 'x50' RETURNING *;
INSERT INTO gv VALUES (50) ON CONFLICT (b) DO NOTHING;
INSERT INTO gv VALUES (50) ON CONFLICT (a) DO UPDATE SET b = 3;
DELETE FROM gv WHERE b = 100 RETURNING *, old.b, new.b, new;
WITH d AS (DELETE FROM gv USING gk WHERE gk.w * 2 = gv.b RETURNING gv.a, gv.b, gk.w) SELECT * FROM d ORDER BY a;
PREPARE by_b (integer) AS SELECT a, b, c FROM gv WHERE b = $1;
EXECUTE by_b (24);
EXECUTE by_b (6);
PREPARE ins (integer) AS INSERT INTO gv VALUES ($1) RETURNING b, c;
EXECUTE ins (70);
EXECUTE ins (71);
WITH i AS (INSERT INTO gv VALUES (72), (73) RETURNING a, b), u AS (UPDATE gv SET n = -b WHERE b = 140 RETURNING *) SELECT i.b, u.b, u.n FROM i, u ORDER BY 1;
CREATE TABLE gv_copy AS SELECT * FROM gv WHERE b > 140;
SELECT * FROM gv_copy ORDER BY a;
SELECT attname, attgenerated FROM pg_attribute WHERE attrelid = 'gv_copy'::regclass AND attnum > 0 ORDER BY attnum;
INSERT INTO gv SELECT b + 1000 FROM gv WHERE b > 140 ORDER BY a RETURNING *;
BEGIN;
DECLARE cur CURSOR FOR SELECT a, b FROM gv WHERE b = 142 FOR UPDATE;
FETCH cur;
UPDATE gv SET n = b WHERE CURRENT OF cur RETURNING *;
COMMIT;
-- Values that cannot be computed are found when they are read.
INSERT INTO gv VALUES (2000000000);
SELECT a FROM gv WHERE a > 1999;
SELECT b FROM gv WHERE a > 1999;
SELECT count(*) FROM gv WHERE b = 1;
DELETE FROM gv WHERE a > 1999;
-- COPY.
COPY gv FROM stdin;
5	1
6	2
\.
COPY gv (a, b) FROM stdin;
COPY gv (a) FROM stdin WHERE b > 3;
COPY gv (b) TO stdout;
COPY (SELECT * FROM gv WHERE a < 10 ORDER BY a) TO stdout;
BEGIN;
DELETE FROM gv WHERE a >= 10;
COPY gv TO stdout (HEADER);
ROLLBACK;
-- Views.
CREATE VIEW vgv AS SELECT a, b, c FROM gv WHERE b < 20 WITH CHECK OPTION;
SELECT pg_get_viewdef('vgv'::regclass);
SELECT * FROM vgv ORDER BY a;
INSERT INTO vgv VALUES (7) RETURNING *;
INSERT INTO vgv VALUES (8, DEFAULT) RETURNING *;
INSERT INTO vgv VALUES (9, 1);
INSERT INTO vgv VALUES (10);
UPDATE vgv SET a = 9 WHERE b = 14 RETURNING *, old.b;
UPDATE vgv SET b = 5;
UPDATE vgv SET a = 13 WHERE b = 18;
DELETE FROM vgv WHERE c = 'x9' RETURNING *;
CREATE VIEW vj AS SELECT gv.a, gk.v, gk.w FROM gv LEFT JOIN gk ON gk.k = gv.b;
SELECT * FROM vj WHERE a < 9 ORDER BY a;
ALTER TABLE gk DROP COLUMN v;
DROP VIEW vj, vgv;
-- Constraints.
CREATE TABLE gc (a integer, b integer GENERATED ALWAYS AS (a * 2) CHECK (b < 50), n integer GENERATED ALWAYS AS (nullif(a, 0)) VIRTUAL NOT NULL, z text);
INSERT INTO gc VALUES (10), (20);
INSERT INTO gc VALUES (30);
INSERT INTO gc VALUES (0, DEFAULT, DEFAULT, 'last');
INSERT INTO gc (a) VALUES (NULL);
UPDATE gc SET a = 0 WHERE a = 10;
UPDATE gc SET a = 25 WHERE a = 10;
UPDATE gc SET z = 'ok' WHERE b = 20 RETURNING *;
INSERT INTO gc (a) VALUES (2), (0);
COPY gc FROM stdin;
3	three
0	zero
\.
COPY gc FROM stdin;
60	sixty
\.
SELECT * FROM gc ORDER BY a;
ALTER TABLE gc ADD CONSTRAINT small CHECK (b < 40);
ALTER TABLE gc ADD CONSTRAINT small CHECK (b < 41);
ALTER TABLE gc ADD CONSTRAINT later CHECK (b < 30) NOT VALID;
ALTER TABLE gc VALIDATE CONSTRAINT later;
DELETE FROM gc WHERE b = 40;
ALTER TABLE gc VALIDATE CONSTRAINT later;
ALTER TABLE gc ADD CONSTRAINT whole CHECK (gc IS NOT NULL);
UPDATE gc SET z = 'z';
ALTER TABLE gc ADD CONSTRAINT whole CHECK (gc IS NOT NULL);
INSERT INTO gc (a) VALUES (5);
ALTER TABLE gc ALTER n DROP NOT NULL;
INSERT INTO gc (a, z) VALUES (0, 'z');
ALTER TABLE gc DROP CONSTRAINT whole;
\d gc
INSERT INTO gc (a, z) VALUES (0, 'z') RETURNING *;
ALTER TABLE gc ALTER n SET NOT NULL;
DELETE FROM gc WHERE n IS NULL;
ALTER TABLE gc ALTER n SET NOT NULL;
ALTER TABLE gc DROP CONSTRAINT gc_n_not_null;
ALTER TABLE gc ADD CONSTRAINT nn NOT NULL n NOT VALID;
INSERT INTO gc (a) VALUES (0);
ALTER TABLE gc VALIDATE CONSTRAINT nn;
SELECT conname, contype, convalidated, conkey FROM pg_constraint WHERE conrelid = 'gc'::regclass ORDER BY 1;
ALTER TABLE gc ADD COLUMN m integer GENERATED ALWAYS AS (nullif(a, 10)) NOT NULL;
ALTER TABLE gc ADD COLUMN m integer GENERATED ALWAYS AS (nullif(a, 11)) NOT NULL CHECK (m < 10);
ALTER TABLE gc ADD COLUMN m integer GENERATED ALWAYS AS (nullif(a, 11)) NOT NULL CHECK (m < 11);
ALTER TABLE gc ADD COLUMN r float8 DEFAULT random() CHECK (m < 10);
INSERT INTO gc (a, z) VALUES (11, 'z');
SELECT a, b, n, z, m FROM gc ORDER BY a;
CREATE TABLE gi (a integer, b integer GENERATED ALWAYS AS (a + 1) NOT NULL, c integer GENERATED ALWAYS AS (a + 1) STORED NOT NULL, d integer NOT NULL, CHECK (b > c - 1), CHECK (b < 10));
INSERT INTO gi (a) VALUES (NULL);
INSERT INTO gi VALUES (NULL, DEFAULT, DEFAULT, 1);
INSERT INTO gi VALUES (9, DEFAULT, DEFAULT, 1);
INSERT INTO gi VALUES (8, DEFAULT, DEFAULT, 1) RETURNING *;
-- Inheritance.
CREATE TABLE ip (a integer, b integer GENERATED ALWAYS AS (a * 2));
CREATE TABLE ic () INHERITS (ip);
CREATE TABLE id (b integer GENERATED ALWAYS AS (a * 22) VIRTUAL, x integer) INHERITS (ip);
INSERT INTO ip VALUES (1);
INSERT INTO ic VALUES (2);
INSERT INTO id (a, x) VALUES (3, 30);
SELECT tableoid::regclass, * FROM ip ORDER BY a;
SELECT * FROM id WHERE b = 66;
SELECT * FROM ip WHERE b = 66;
UPDATE ip SET a = a + 1 WHERE b = 6 RETURNING tableoid::regclass, *, old.b;
SELECT * FROM id;
\d ic
\d id
CREATE TABLE ie (b integer GENERATED ALWAYS AS (a * 22) STORED) INHERITS (ip);
CREATE TABLE ie (b integer DEFAULT 10) INHERITS (ip);
CREATE TABLE ie (b integer GENERATED ALWAYS AS IDENTITY) INHERITS (ip);
CREATE TABLE np (a integer, b integer);
CREATE TABLE nc (b integer GENERATED ALWAYS AS (a * 2)) INHERITS (np);
CREATE TABLE nc (a integer, b integer GENERATED ALWAYS AS (a * 2));
ALTER TABLE nc INHERIT np;
CREATE TABLE sp (a integer, b integer GENERATED ALWAYS AS (a * 2) STORED);
ALTER TABLE nc INHERIT sp;
ALTER TABLE sp INHERIT ip;
CREATE TABLE vs (b integer GENERATED ALWAYS AS (a * 2) VIRTUAL) INHERITS (sp);
ALTER TABLE np INHERIT ip;
ALTER TABLE nc INHERIT ip;
CREATE TABLE two () INHERITS (ip, np);
CREATE TABLE two () INHERITS (ip, sp);
CREATE TABLE iq (x integer, b integer GENERATED ALWAYS AS (x * 22));
CREATE TABLE two () INHERITS (ip, iq);
CREATE TABLE two (b integer GENERATED ALWAYS AS (x + 1)) INHERITS (ip, iq);
\d two
ALTER TABLE ip ADD COLUMN t text GENERATED ALWAYS AS ('t' || a);
SELECT tableoid::regclass, * FROM ip ORDER BY a;
ALTER TABLE ip DROP COLUMN t;
-- Partitions.
CREATE TABLE pv (k integer NOT NULL, n bigint, v bigint GENERATED ALWAYS AS (n * 2) NOT NULL CHECK (v < 1000)) PARTITION BY RANGE (k);
CREATE TABLE pv1 PARTITION OF pv FOR VALUES FROM (0) TO (10);
CREATE TABLE pv2 PARTITION OF pv (v GENERATED ALWAYS AS (n * 22)) FOR VALUES FROM (10) TO (20);
CREATE TABLE pv3 PARTITION OF pv (v DEFAULT 42) FOR VALUES FROM (20) TO (30);
CREATE TABLE pv3 PARTITION OF pv (v GENERATED ALWAYS AS (n * 2) STORED) FOR VALUES FROM (20) TO (30);
CREATE TABLE pv3 (v bigint GENERATED ALWAYS AS (n * 33) STORED NOT NULL CHECK (v < 1000), n bigint, k integer NOT NULL);
ALTER TABLE pv ATTACH PARTITION pv3 FOR VALUES FROM (20) TO (30);
DROP TABLE pv3;
CREATE TABLE pv3 (v bigint, n bigint, k integer NOT NULL);
ALTER TABLE pv ATTACH PARTITION pv3 FOR VALUES FROM (20) TO (30);
DROP TABLE pv3;
CREATE TABLE pv3 (v bigint GENERATED ALWAYS AS (n * 33) NOT NULL CONSTRAINT pv_v_check CHECK (v < 1000), n bigint, k integer NOT NULL);
ALTER TABLE pv ATTACH PARTITION pv3 FOR VALUES FROM (20) TO (30);
INSERT INTO pv (k, n) VALUES (1, 1), (11, 2), (21, 3) RETURNING *, tableoid::regclass;
SELECT tableoid::regclass, * FROM pv ORDER BY k;
SELECT * FROM pv1 UNION ALL SELECT * FROM pv2 UNION ALL SELECT k, n, v FROM pv3 ORDER BY 1;
INSERT INTO pv (k, n) VALUES (2, 499), (3, 500);
INSERT INTO pv (k, n) VALUES (12, 45), (13, 46);
INSERT INTO pv (k, n) VALUES (22, 31);
INSERT INTO pv (k) VALUES (22);
UPDATE pv SET k = k + 10 WHERE v = 2 RETURNING *;
UPDATE pv SET n = 46 WHERE k = 11 AND v = 2;
UPDATE pv SET n = 46 WHERE k = 11;
DELETE FROM pv WHERE v = 6 RETURNING *;
SELECT k, n, v FROM pv2 ORDER BY 1, 2;
COPY pv FROM stdin;
1	4
25	40
\.
\d pv2
CREATE TABLE px (a integer, b integer GENERATED ALWAYS AS (a * 2)) PARTITION BY RANGE (b);
CREATE TABLE px (a integer, b integer GENERATED ALWAYS AS (a * 2)) PARTITION BY LIST ((b * 3));
CREATE TABLE px (a integer, b integer GENERATED ALWAYS AS (a * 2)) PARTITION BY LIST ((px IS NOT NULL));
CREATE TABLE pn (k integer, v integer) PARTITION BY RANGE (k);
CREATE TABLE pn1 PARTITION OF pn (v GENERATED ALWAYS AS (k * 2)) FOR VALUES FROM (0) TO (10);
-- LIKE.
CREATE TABLE lk (LIKE gv INCLUDING GENERATED);
\d lk
CREATE TABLE lk2 (LIKE gv INCLUDING DEFAULTS);
\d lk2
CREATE TABLE lk3 (LIKE gc INCLUDING ALL, b2 integer GENERATED ALWAYS AS (a) STORED);
\d lk3
-- Definitions.
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (c), c integer GENERATED ALWAYS AS (a));
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (b));
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (num_nulls(gb)));
CREATE TABLE gb (a integer, b float8 GENERATED ALWAYS AS (random()));
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (sum(a)));
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (row_number() OVER (ORDER BY a)));
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS ((SELECT 1)) VIRTUAL);
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (generate_series(1, a)));
CREATE TABLE gb (a integer, b integer DEFAULT 5 GENERATED ALWAYS AS (a) VIRTUAL);
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS IDENTITY GENERATED ALWAYS AS (a) VIRTUAL);
CREATE TABLE gb (a integer, b serial GENERATED ALWAYS AS (a));
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (nope));
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (a) STORED GENERATED ALWAYS AS (a) VIRTUAL);
CREATE TABLE gb (a integer, b integer GENERATED BY DEFAULT AS (a) VIRTUAL);
CREATE TABLE gb (a timestamptz, b text GENERATED ALWAYS AS (a::text) VIRTUAL);
CREATE TABLE gb (a text, b integer GENERATED ALWAYS AS (a));
CREATE TABLE gb (a integer, b bool GENERATED ALWAYS AS (xmin <> '37') VIRTUAL);
CREATE TABLE gb (a integer PRIMARY KEY, b integer GENERATED ALWAYS AS (a) UNIQUE);
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (a) PRIMARY KEY);
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (a), PRIMARY KEY (a, b));
CREATE TABLE gb (a integer, b integer GENERATED ALWAYS AS (a), UNIQUE (a) INCLUDE (b));
CREATE INDEX ON gv (b);
CREATE UNIQUE INDEX ON gv (n, b);
CREATE INDEX ON gv ((b + 1));
CREATE INDEX ON gv ((b));
CREATE INDEX ON gv (n) WHERE b > 3;
CREATE INDEX ON gv (n) INCLUDE (b);
CREATE INDEX CONCURRENTLY ON gv (b);
ALTER TABLE gv ADD UNIQUE (b);
ALTER TABLE gk ADD PRIMARY KEY (w);
ALTER TABLE gk ADD PRIMARY KEY (k, w);
ALTER TABLE gv ALTER b SET DEFAULT 5;
ALTER TABLE gv ALTER b DROP DEFAULT;
ALTER TABLE gv ALTER b ADD GENERATED ALWAYS AS IDENTITY;
ALTER TABLE gv ALTER b DROP EXPRESSION;
ALTER TABLE gv ALTER b DROP EXPRESSION IF EXISTS;
ALTER TABLE gv ALTER n DROP EXPRESSION IF EXISTS;
ALTER TABLE ip ALTER b DROP EXPRESSION;
ALTER TABLE ONLY ip ALTER b DROP EXPRESSION;
ALTER TABLE ic ALTER b DROP EXPRESSION;
ALTER TABLE gv ADD COLUMN d integer GENERATED ALWAYS AS (b + 1);
ALTER TABLE gv ADD COLUMN d integer GENERATED ALWAYS AS (nope + 1);
ALTER TABLE gv ADD COLUMN d integer GENERATED ALWAYS AS (n + 1), ADD COLUMN e integer DEFAULT 3, ADD COLUMN f integer GENERATED ALWAYS AS (e * 2) VIRTUAL;
SELECT a, d, e, f FROM gv WHERE a < 9 ORDER BY a;
ALTER TABLE gv ALTER a TYPE bigint;
ALTER TABLE gv ALTER b TYPE bigint;
ALTER TABLE gv ALTER b TYPE numeric(10, 2);
SELECT * FROM gv WHERE b < 10 ORDER BY a;
ALTER TABLE gv ALTER b TYPE boolean USING b <> 0;
ALTER TABLE gv ALTER b TYPE boolean;
ALTER TABLE gv ALTER c TYPE varchar(2), ALTER n TYPE text;
ALTER TABLE gc ALTER b TYPE bigint;
ALTER TABLE gc ALTER n TYPE text;
INSERT INTO gc (a, z) VALUES (25, 'z');
INSERT INTO gc (a, z) VALUES (0, 'z');
ALTER TABLE ip ALTER b TYPE bigint;
SELECT tableoid::regclass, * FROM ip ORDER BY a;
ALTER TABLE gv ALTER b TYPE integer;
ALTER TABLE gv RENAME a TO aa;
ALTER TABLE gv RENAME b TO bb;
\d gv
SELECT aa, bb, c FROM gv WHERE bb < 10 ORDER BY 1;
ALTER TABLE gv DROP COLUMN n;
ALTER TABLE gv DROP COLUMN f, DROP COLUMN e;
ALTER TABLE gv DROP COLUMN c, DROP COLUMN bb;
ALTER TABLE gv DROP COLUMN aa;
\d gv
SELECT attname, attgenerated, atthasdef, attnotnull FROM pg_attribute WHERE attrelid = 'gc'::regclass AND attnum > 0 ORDER BY attnum;
SELECT adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'gc'::regclass ORDER BY adnum;
SELECT column_name, is_generated, generation_expression, column_default, is_updatable, is_nullable FROM information_schema.columns WHERE table_name = 'gc' ORDER BY 1;
COMMENT ON COLUMN gc.b IS 'twice a';
ANALYZE gc;
SELECT attname FROM pg_stats WHERE tablename = 'gc' ORDER BY 1;
-- tableoid and the types of a row.
CREATE TABLE gt (a integer, o regclass GENERATED ALWAYS AS (tableoid) NOT NULL CHECK (o > '0'));
ALTER TABLE gt ADD COLUMN p boolean GENERATED ALWAYS AS (tableoid = 'gt'::regclass) VIRTUAL;
CREATE TABLE gtc () INHERITS (gt);
INSERT INTO gt VALUES (1) RETURNING *;
INSERT INTO gtc VALUES (2) RETURNING *;
SELECT * FROM gt ORDER BY a;
SELECT x.a, y.o FROM gt AS x LEFT JOIN gtc AS y ON x.a = y.a ORDER BY 1;
UPDATE gt SET a = a + 1 RETURNING *, old.o;
CREATE TABLE oc (a integer PRIMARY KEY, n text, o regclass GENERATED ALWAYS AS (tableoid));
INSERT INTO oc VALUES (1);
INSERT INTO oc VALUES (1) ON CONFLICT (a) DO UPDATE SET n = oc.o || ' ' || oc.tableoid::regclass WHERE oc.o = 'oc'::regclass RETURNING *;
CREATE TEMPORARY TABLE tt (a varchar, b varchar(3) GENERATED ALWAYS AS (a), d date, y integer GENERATED ALWAYS AS (extract(year FROM d)), arr integer[], f integer GENERATED ALWAYS AS (arr[1]));
INSERT INTO tt VALUES ('abc', DEFAULT, '2026-02-03', DEFAULT, '{4,5}');
SELECT * FROM tt;
INSERT INTO tt VALUES ('abcd');
SELECT a FROM tt ORDER BY 1;
SELECT b FROM tt;
EXPLAIN (COSTS OFF) SELECT * FROM gi WHERE b = 9;
EXPLAIN (VERBOSE, COSTS OFF) SELECT b FROM gi WHERE b = 9 ORDER BY b;
-- The value is one of the column's type, as an assignment makes it.
CREATE TABLE ty (a integer, b bigint GENERATED ALWAYS AS (a), c varchar(3) GENERATED ALWAYS AS (a::text), n numeric(5, 1) GENERATED ALWAYS AS (a / 3.0), sb bigint GENERATED ALWAYS AS (a) STORED, sn numeric(5, 1) GENERATED ALWAYS AS (a / 3.0) STORED, sc char(5) GENERATED ALWAYS AS (a) STORED);
INSERT INTO ty VALUES (7) RETURNING *;
ALTER TABLE ty ADD COLUMN sd bigint GENERATED ALWAYS AS (a) STORED, ADD COLUMN d bigint GENERATED ALWAYS AS (a);
SELECT *, pg_typeof(b), pg_typeof(n), pg_typeof(d) FROM ty;
INSERT INTO ty VALUES (70000);
SELECT a, b, n FROM ty ORDER BY a;
SELECT c FROM ty ORDER BY a;
ALTER TABLE ty ALTER sb TYPE integer, ALTER n TYPE text;
ALTER TABLE ty ALTER sd TYPE text USING 'x';
SELECT a, sb, n FROM ty ORDER BY a;
INSERT INTO ty VALUES (8) RETURNING a, sb, n;
CREATE TABLE tm (t timestamptz, d date GENERATED ALWAYS AS (t));
CREATE TABLE po (k integer, o regclass GENERATED ALWAYS AS (tableoid) STORED, v regclass GENERATED ALWAYS AS (tableoid) NOT NULL, CHECK (v > '0')) PARTITION BY LIST (k);
CREATE TABLE po1 PARTITION OF po FOR VALUES IN (1);
CREATE TABLE po2 PARTITION OF po FOR VALUES IN (2);
INSERT INTO po VALUES (1), (2) RETURNING *;
UPDATE po SET k = 3 - k RETURNING k, o = tableoid, old.v, new.v;
SELECT * FROM po ORDER BY k;
