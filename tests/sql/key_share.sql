-- Sessions: FOR KEY SHARE beside changes that leave the key alone, and the row lock that INSERT …
-- ON CONFLICT DO UPDATE takes.
-- PostgreSQL 15 differs: it takes every generated column for one that the UPDATE sets
S: CREATE TABLE r (id integer PRIMARY KEY, v integer, u integer, p integer);
S: CREATE UNIQUE INDEX ON r (u) WHERE u > 0;
S: CREATE UNIQUE INDEX ON r ((p + 1));
S: INSERT INTO r SELECT n, n * 10, n, n FROM generate_series(1, 6) AS n;

-- REPEATABLE READ: a change of no key, committed after the snapshot, is nothing to FOR KEY SHARE
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET v = v + 1 WHERE id = 1;
B: UPDATE r SET v = v + 1 WHERE id = 1;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE;
B: SELECT id FROM r WHERE id = 1 FOR UPDATE NOWAIT;
B: UPDATE r SET v = v + 1 WHERE id = 1;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE NOWAIT;
A: SELECT * FROM r WHERE id = 1 FOR SHARE;
A: ROLLBACK;

-- … nor one that has not ended
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET v = v + 1 WHERE id = 1;
B: BEGIN;
B: UPDATE r SET v = v + 1 WHERE id = 1;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE NOWAIT;
B: COMMIT;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE;
A: UPDATE r SET v = 0 WHERE id = 1;
A: ROLLBACK;

-- A partial index and one on an expression have no key columns
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET u = u + 100, p = p + 100 WHERE id = 1;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE;
A: ROLLBACK;

-- The key has changed, and then something else
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET id = 11 WHERE id = 1;
B: UPDATE r SET v = v + 1 WHERE id = 11;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE;
A: ROLLBACK;
B: UPDATE r SET id = 1 WHERE id = 11;

-- … the latter by one who has not ended
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET id = 11 WHERE id = 1;
B: BEGIN;
B: UPDATE r SET v = v + 1 WHERE id = 11;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE;
A: ROLLBACK;
B: COMMIT;
B: UPDATE r SET id = 1 WHERE id = 11;

-- The key was changed and changed back
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET id = 11 WHERE id = 1;
B: UPDATE r SET id = 1 WHERE id = 11;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE;
A: ROLLBACK;

-- Both by one transaction
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: BEGIN;
B: UPDATE r SET v = v + 1 WHERE id = 1;
B: UPDATE r SET id = 11 WHERE id = 1;
B: UPDATE r SET v = v + 1 WHERE id = 11;
A: SELECT * FROM r WHERE id = 1 FOR KEY SHARE;
B: ROLLBACK;
A: ROLLBACK;

-- Deleted
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET v = v + 1 WHERE id = 6;
B: DELETE FROM r WHERE id = 6;
A: SELECT * FROM r WHERE id = 6 FOR KEY SHARE;
A: ROLLBACK;

-- SERIALIZABLE
A: BEGIN ISOLATION LEVEL SERIALIZABLE;
A: SELECT count(*) FROM r;
B: UPDATE r SET v = v + 1 WHERE id = 2;
A: SELECT * FROM r WHERE id = 2 FOR KEY SHARE;
A: COMMIT;

-- READ COMMITTED: the statement has waited at one row while another changed
A: BEGIN;
A: UPDATE r SET id = 12 WHERE id = 2;
B: SELECT * FROM r WHERE id IN (2, 3) ORDER BY id FOR KEY SHARE;
C: UPDATE r SET v = v + 1 WHERE id = 3;
A: ROLLBACK;

-- … in its key, too
A: BEGIN;
A: UPDATE r SET id = 12 WHERE id = 2;
B: SELECT * FROM r WHERE id IN (2, 3) OR v > 25 ORDER BY id FOR KEY SHARE;
C: UPDATE r SET id = 13 WHERE id = 3;
C: UPDATE r SET v = v + 1 WHERE id = 13;
A: ROLLBACK;
C: UPDATE r SET id = 3 WHERE id = 13;

-- … where the last to change it has not ended
A: BEGIN;
A: UPDATE r SET id = 12 WHERE id = 2;
B: SELECT * FROM r WHERE id IN (2, 3) OR v > 25 ORDER BY id FOR KEY SHARE;
C: UPDATE r SET id = 13 WHERE id = 3;
C: BEGIN;
C: UPDATE r SET v = v + 1 WHERE id = 13;
A: ROLLBACK;
C: COMMIT;
C: UPDATE r SET id = 3 WHERE id = 13;

-- … and is not waited for
A: BEGIN;
A: SELECT pg_advisory_xact_lock(1);
B: SELECT id, v, pg_advisory_lock_shared(1) IS NULL FROM (SELECT id, v FROM r WHERE id = 3 FOR KEY SHARE NOWAIT) AS q;
A: COMMIT;

-- Who may have the row beside those that have it does not stand behind those that wait for it
A: BEGIN;
A: SELECT id FROM r WHERE id = 4 FOR SHARE;
B: UPDATE r SET v = v WHERE id = 4;
C: SELECT id FROM r WHERE id = 4 FOR SHARE;
C: SELECT id FROM r WHERE id = 4 FOR SHARE NOWAIT;
A: COMMIT;
A: BEGIN;
A: SELECT id FROM r WHERE id = 4 FOR KEY SHARE;
B: SELECT id FROM r WHERE id = 4 FOR UPDATE;
C: UPDATE r SET v = v + 1 WHERE id = 4;
A: COMMIT;
A: BEGIN;
A: SELECT id FROM r WHERE id = 4 FOR NO KEY UPDATE;
B: SELECT id FROM r WHERE id = 4 FOR UPDATE;
C: SELECT id FROM r WHERE id = 4 FOR SHARE;
D: SELECT id FROM r WHERE id = 4 FOR KEY SHARE;
A: COMMIT;

-- … only the key
A: BEGIN;
A: SELECT id FROM r WHERE id = 4 FOR KEY SHARE;
B: SELECT id FROM r WHERE id = 4 FOR UPDATE;
C: SELECT id FROM r WHERE id = 4 FOR KEY SHARE;
C: SELECT id FROM r WHERE id = 4 FOR KEY SHARE NOWAIT;
A: COMMIT;

-- DO UPDATE locks the row as UPDATE would: no key columns are set
A: BEGIN;
A: SELECT id FROM r WHERE id = 4 FOR KEY SHARE;
B: INSERT INTO r VALUES (4, 0) ON CONFLICT (id) DO UPDATE SET v = r.v + 1 RETURNING *;
B: INSERT INTO r VALUES (4, 0, 0, 900) ON CONFLICT (id) DO UPDATE SET u = r.u, p = excluded.p RETURNING *;
A: COMMIT;

-- … a key column is, if only to what it was
A: BEGIN;
A: SELECT id FROM r WHERE id = 4 FOR KEY SHARE;
B: INSERT INTO r VALUES (4, 0) ON CONFLICT (id) DO UPDATE SET id = excluded.id, v = r.v + 1 RETURNING *;
A: COMMIT;

-- The lock is taken before WHERE is looked at, and stays
A: BEGIN;
A: INSERT INTO r VALUES (4, 0) ON CONFLICT (id) DO UPDATE SET v = 0 WHERE false RETURNING *;
B: SELECT id FROM r WHERE id = 4 FOR KEY SHARE NOWAIT;
B: SELECT id FROM r WHERE id = 4 FOR SHARE NOWAIT;
A: INSERT INTO r VALUES (4, 0) ON CONFLICT (id) DO UPDATE SET id = 4 WHERE false RETURNING *;
B: SELECT id FROM r WHERE id = 4 FOR KEY SHARE NOWAIT;
A: ROLLBACK;

-- REPEATABLE READ: the row in the way has been changed since, or deleted
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET v = v + 1 WHERE id = 4;
A: INSERT INTO r VALUES (4, 0) ON CONFLICT (id) DO UPDATE SET v = 1;
A: ROLLBACK;
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: UPDATE r SET v = v + 1 WHERE id = 4;
A: INSERT INTO r VALUES (4, 0) ON CONFLICT (id) DO NOTHING;
A: ROLLBACK;
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT count(*) FROM r;
B: BEGIN;
B: DELETE FROM r WHERE id = 4;
A: INSERT INTO r VALUES (4, 0) ON CONFLICT (id) DO UPDATE SET v = 1 RETURNING *;
B: COMMIT;
A: ROLLBACK;

-- What a generated column of a key is computed from; a partition's key
S: CREATE TABLE q (id integer PRIMARY KEY, g integer GENERATED ALWAYS AS (id * 2) STORED UNIQUE, v integer);
S: INSERT INTO q (id, v) VALUES (1, 1);
A: BEGIN;
A: SELECT id FROM q WHERE id = 1 FOR KEY SHARE;
B: INSERT INTO q VALUES (1) ON CONFLICT (id) DO UPDATE SET v = 2 RETURNING *;
A: COMMIT;
S: CREATE TABLE k (a integer, id integer, v integer, PRIMARY KEY (id)) PARTITION BY RANGE (id);
S: CREATE TABLE k1 (id integer, v integer, a integer);
S: ALTER TABLE k1 ALTER id SET NOT NULL, ADD UNIQUE (a);
S: ALTER TABLE k ATTACH PARTITION k1 FOR VALUES FROM (0) TO (10);
S: INSERT INTO k VALUES (1, 1, 1);
A: BEGIN;
A: SELECT id FROM k WHERE id = 1 FOR KEY SHARE;
B: INSERT INTO k VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET v = 2 RETURNING *;
B: INSERT INTO k VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET a = 1 RETURNING *;
A: COMMIT;
