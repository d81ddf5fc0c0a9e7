-- Sessions: what pg_locks, pg_stat_activity and pg_blocking_pids say of transactions, and of those who wait
-- for a row.
S: CREATE TABLE t (id integer PRIMARY KEY, v integer);
S: INSERT INTO t SELECT g, g FROM generate_series(1, 3) g;
-- Locks on indexes are left out, and those of the player's own look at who waits. Whether a relation's lock is on the
-- fast path depends on what other sessions of the whole server lock meanwhile: tests/observe.rs looks at it.
S: CREATE VIEW locks AS SELECT query, l.locktype, relation::regclass, page IS NOT NULL AND tuple IS NOT NULL AS row, virtualxid = virtualtransaction AS own, transactionid IS NOT NULL AS xid, virtualtransaction ~ '^[0-9]+/[0-9]+$' AS by, mode, granted, fastpath AND locktype <> 'relation' AS fastpath, waitstart BETWEEN query_start AND clock_timestamp() AS since, cardinality(pg_blocking_pids(pid)) AS blockers FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE datname = current_database() AND pid <> pg_backend_pid() AND query NOT LIKE '%pg_safe_snapshot%' AND (relation IS NULL OR relation = 't'::regclass);

-- One who has read, and one who has written
A: BEGIN;
A: SELECT count(*) FROM t;
S: SELECT * FROM locks ORDER BY 1, 2, 8;
A: UPDATE t SET v = v + 1 WHERE id = 1;
S: SELECT * FROM locks ORDER BY 1, 2, 8;
-- Who locks a row, and nobody waits for it, has nothing to show
A: SELECT id FROM t WHERE id = 2 FOR UPDATE;
S: SELECT count(*) FROM locks WHERE locktype = 'tuple';

-- The first to wait for a row has it next, and waits for the transaction that has it now; the others wait
-- for the first
B: BEGIN; UPDATE t SET v = v * 2 WHERE id = 1;
C: SELECT v FROM t WHERE id = 1 FOR UPDATE;
D: BEGIN; LOCK TABLE t IN SHARE MODE;
S: SELECT * FROM locks WHERE query NOT LIKE 'SELECT%' ORDER BY 1, 2, 8;
S: SELECT locktype, mode, granted, since, blockers FROM locks WHERE query LIKE '%FOR UPDATE;' AND locktype <> 'transactionid' AND blockers > 0 ORDER BY 1;
S: SELECT query, wait_event_type, wait_event, state FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' ORDER BY 1;
S: SELECT b.query AS waits, a.query AS for_this FROM pg_stat_activity b JOIN pg_stat_activity a ON a.pid = ANY (pg_blocking_pids(b.pid)) WHERE b.datname = current_database() ORDER BY 1, 2;
-- The query that everybody has, which looks for who holds what another wants
S: SELECT DISTINCT wa.query AS waits, ha.query AS holds FROM pg_locks w JOIN pg_locks h ON h.granted AND h.pid <> w.pid AND h.locktype = w.locktype AND h.database IS NOT DISTINCT FROM w.database AND h.relation IS NOT DISTINCT FROM w.relation AND h.page IS NOT DISTINCT FROM w.page AND h.tuple IS NOT DISTINCT FROM w.tuple AND h.transactionid IS NOT DISTINCT FROM w.transactionid JOIN pg_stat_activity wa ON wa.pid = w.pid JOIN pg_stat_activity ha ON ha.pid = h.pid WHERE NOT w.granted AND wa.datname = current_database() AND w.locktype <> 'relation' ORDER BY 1, 2;
-- (A has changed nothing then: after a change B and C may go on in either order.)
A: ROLLBACK;
B: COMMIT;
D: COMMIT;
S: SELECT count(*) FROM locks;

-- Two who can have a row beside one another wait for its owner both
A: BEGIN;
A: DELETE FROM t WHERE id = 3;
B: SELECT id FROM t WHERE id = 3 FOR SHARE;
C: SELECT id FROM t WHERE id = 3 FOR KEY SHARE;
S: SELECT query, locktype, mode, granted, blockers FROM locks WHERE locktype IN ('tuple', 'transactionid') AND query LIKE '%SHARE;' AND NOT (locktype = 'transactionid' AND granted) ORDER BY 1, 2;
A: ROLLBACK;

-- Where the client is
S: SELECT client_addr, client_port > 0 AS port, client_hostname FROM pg_stat_activity WHERE pid = pg_backend_pid();
S: SELECT inet_client_addr(), inet_server_addr(), inet_client_port() > 0 AS client, inet_server_port() > 0 AS server;

-- The snapshot that a session holds
A: BEGIN ISOLATION LEVEL REPEATABLE READ;
A: SELECT 1;
B: BEGIN;
B: SELECT 2;
S: SELECT query, backend_xid, backend_xmin IS NOT NULL AS xmin FROM pg_stat_activity WHERE datname = current_database() AND query IN ('SELECT 1;', 'SELECT 2;') ORDER BY 1;
A: COMMIT;
B: COMMIT;
