-- A hash join tells the scan of its outer side which keys it looks for: rows and errors are those of any join.
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE facts AS SELECT g AS id, CASE WHEN g % 17 > 0 THEN g % 5000 END AS k, (g % 3000)::bigint AS big, (g % 900 / 4.0)::numeric(8, 2) AS n,
  'word ' || g % 1200 AS t, (g % 1200)::text::char(8) AS c, g % 40 AS d, (g % 77)::float8 / 2 AS f, date '2020-01-01' + g % 1000 AS day
  FROM generate_series(1, 30000) AS g;
CREATE TABLE keys AS SELECT g * 31 AS id, (g * 7)::smallint AS k, g * 11 AS big, (g * 1.5)::numeric AS n, 'word ' || g * 13 AS t, (g * 17)::text::char(8) AS c, g AS d,
  g::float8 AS f, date '2020-01-01' + g * 9 AS day FROM generate_series(1, 60) AS g;
INSERT INTO keys (id) VALUES (NULL), (100000);
CREATE TABLE nothing (id integer, k integer);
ANALYZE facts, keys, nothing;

SELECT count(*), sum(facts.id), max(facts.t) FROM facts JOIN keys ON facts.k = keys.k;
SELECT count(*), sum(facts.id), max(facts.t) FROM facts JOIN keys ON facts.big = keys.big;
SELECT count(*), sum(facts.id), max(facts.t) FROM facts JOIN keys ON facts.n = keys.n;
SELECT count(*), sum(facts.id), max(facts.t) FROM facts JOIN keys ON facts.t = keys.t;
SELECT count(*), sum(facts.id), max(facts.t) FROM facts JOIN keys ON facts.c = keys.c;
SELECT count(*), sum(facts.id), max(facts.t) FROM facts JOIN keys ON facts.f = keys.f AND facts.d = keys.d;
SELECT count(*), sum(facts.id), max(facts.t) FROM facts JOIN keys ON facts.day = keys.day WHERE facts.d < 30;
SELECT count(*), sum(id), max(t) FROM facts WHERE k IN (SELECT k FROM keys);
SELECT count(DISTINCT f.d), sum(f.id) FROM facts AS f WHERE EXISTS (SELECT FROM keys AS a WHERE a.k = f.k AND a.d <> f.d);
SELECT count(*), sum(id), max(t) FROM facts WHERE k NOT IN (SELECT k FROM keys WHERE k IS NOT NULL);
SELECT count(*), sum(id), max(t) FROM facts WHERE NOT EXISTS (SELECT FROM keys WHERE keys.k = facts.k);
SELECT count(*), sum(facts.id), count(keys.d) FROM facts LEFT JOIN keys ON facts.k = keys.k;
SELECT count(*), sum(facts.id), sum(keys.d), count(facts.id) FROM facts RIGHT JOIN keys ON facts.k = keys.k AND facts.id % 3 = 0;
SELECT count(*), sum(facts.id), sum(keys.d), count(facts.id) FROM facts FULL JOIN keys ON facts.k = keys.k;
SELECT count(*), sum(d) FROM keys WHERE EXISTS (SELECT FROM facts WHERE facts.k = keys.k);
SELECT count(*), sum(d) FROM keys WHERE NOT EXISTS (SELECT FROM facts WHERE facts.k = keys.k);
SELECT facts.id, facts.t, keys.d FROM facts JOIN keys ON facts.k = keys.k ORDER BY facts.id LIMIT 4;
SELECT count(*) FROM facts JOIN nothing ON facts.k = nothing.k;

-- Errors that the join would never meet, and those that it does.
SELECT count(*), sum(r) FROM (SELECT k, 100 / (d - 39) AS r FROM facts OFFSET 0) AS f JOIN keys ON f.k = keys.k;
SELECT count(*) FROM facts JOIN keys ON facts.k = keys.k WHERE 100 / (facts.d - 39) > 0;
SELECT count(*) FROM facts JOIN keys ON facts.k = keys.k AND 100 / (facts.d + keys.d - 45) > 0;
SELECT count(*) FROM facts JOIN keys ON facts.id = keys.id AND 100 / (facts.d + keys.d - 99) > -1000;

-- Another table each time, and the same again.
SELECT g, (SELECT count(facts.t) FROM facts JOIN (SELECT * FROM keys WHERE d <= g * 15) AS keys ON facts.k = keys.k) FROM generate_series(1, 4) AS g;
SELECT g, (SELECT count(facts.t) FROM facts JOIN keys ON facts.k = keys.k WHERE facts.id > g * 7000) FROM generate_series(1, 4) AS g;
SELECT g, (SELECT sum(f.id) FROM facts AS f JOIN keys AS a ON f.k = a.k JOIN keys AS b ON f.d = b.d AND b.d < g * 10) FROM generate_series(1, 3) AS g;
BEGIN;
DECLARE c CURSOR FOR SELECT facts.id, facts.t FROM facts JOIN keys ON facts.k = keys.k;
FETCH 2 FROM c;
SELECT count(facts.t) FROM facts JOIN keys ON facts.big = keys.big;
MOVE 300 IN c;
FETCH 2 FROM c;
COMMIT;
-- Batches.
SET work_mem = '64kB';
SELECT count(*), sum(a.id), max(a.t) FROM facts AS a JOIN facts AS b ON a.id = b.k;
SELECT count(*), sum(a.id), max(a.t) FROM facts AS a JOIN (SELECT * FROM facts WHERE id < 3000) AS b ON a.id = b.id;
RESET work_mem;
DROP TABLE facts, keys, nothing;
