-- Orders that an index gives to what stands above scans: incremental sorts, DISTINCT and GROUP BY of
-- ordered rows, LIMIT that needs few of them.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t (id int PRIMARY KEY, k int, s text, v int);
INSERT INTO t SELECT i, (i * 7919) % 200, md5(i::text), (i * 31) % 5000 FROM generate_series(1, 20000) AS i;
CREATE INDEX t_k ON t (k, id);
ANALYZE t;

EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY k, s LIMIT 1;
SELECT * FROM t ORDER BY k, s LIMIT 1;
SELECT id, k, s FROM t ORDER BY k, s OFFSET 95 LIMIT 10;
SELECT id, k, s FROM t ORDER BY k DESC, s DESC OFFSET 95 LIMIT 10;
-- Groups of few rows, and of one.
SELECT id, k, v FROM t ORDER BY id, v OFFSET 60 LIMIT 8;
SELECT count(*), min(n), max(n) FROM (SELECT id - lag(id) OVER () AS n FROM (SELECT id, v FROM t ORDER BY id, v) AS x) AS y;
-- Each row once, however the groups lie.
SELECT count(*), count(DISTINCT id), sum(rank) FROM
    (SELECT id, rank() OVER (PARTITION BY k ORDER BY s) FROM t) AS x;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) * FROM t ORDER BY k LIMIT 10;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) * FROM t ORDER BY k, id LIMIT 3;
SELECT DISTINCT ON (k) * FROM t ORDER BY k, id LIMIT 3;
SELECT DISTINCT k FROM t ORDER BY k DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM t GROUP BY k ORDER BY k LIMIT 3;
SELECT k, count(*) FROM t GROUP BY k ORDER BY k LIMIT 3;
SELECT k, count(DISTINCT v), string_agg(s, ',' ORDER BY id DESC) = string_agg(s, ',' ORDER BY id) FROM t
    GROUP BY k HAVING k < 3 ORDER BY k DESC;
EXPLAIN (COSTS OFF) SELECT v, count(*) FROM t GROUP BY v ORDER BY v LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE k = 5 ORDER BY k, id LIMIT 3;
SELECT id, k FROM t WHERE k = 5 ORDER BY k, id LIMIT 3;
SET enable_incremental_sort = off;
EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY k, s LIMIT 1;
RESET enable_incremental_sort;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT DISTINCT v FROM t;
EXPLAIN (COSTS OFF) SELECT v, k, count(*) FROM t GROUP BY v, k ORDER BY k DESC, v;
SELECT v, k, count(*) FROM t GROUP BY v, k ORDER BY k DESC, v LIMIT 3;
RESET enable_hashagg;

-- NULLs, and keys that come twice or are fixed.
INSERT INTO t SELECT 20000 + i, NULL, 'n' || i, i FROM generate_series(1, 70) AS i;
SELECT id, k, s FROM t ORDER BY k DESC NULLS LAST, s LIMIT 2;
SELECT id, k, s FROM t ORDER BY k DESC, s OFFSET 68 LIMIT 4;
SELECT id, k, s FROM t ORDER BY k, k DESC, s DESC OFFSET 20068 LIMIT 4;
SELECT DISTINCT k IS NULL, k FROM t WHERE k IS NULL OR k = 3 ORDER BY k;

-- What a LIMIT leaves is computed once.
CREATE SEQUENCE q;
SELECT id, nextval('q') FROM t ORDER BY k, s LIMIT 2;
SELECT nextval('q');

-- A cursor that goes back over it.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, k FROM t ORDER BY k, s LIMIT 100;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ABSOLUTE 33 FROM c;
COMMIT;
-- Again for each outer row.
SELECT a.id, b.id, b.s FROM (VALUES (1), (3), (2)) AS a (id),
    LATERAL (SELECT id, s FROM t WHERE k >= a.id ORDER BY k, s LIMIT 2) AS b;
