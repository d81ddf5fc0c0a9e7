-- Messages: PREPARE TRANSACTION in a pipeline.
-- PostgreSQL 15 differs: without BEGIN it prepares nothing, and commits
S: Query CREATE TABLE t (a int); CREATE TABLE p (a int) PARTITION BY LIST (a); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE INDEX i ON t (a)
-- PREPARE TRANSACTION 'x'
A: Run PREPARE TRANSACTION 'x' ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts)
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Run PREPARE TRANSACTION 'x' ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts)
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run PREPARE TRANSACTION 'x' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts)
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run PREPARE TRANSACTION 'x' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts)
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run PREPARE TRANSACTION 'x' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts)
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run PREPARE TRANSACTION 'x' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts)
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run PREPARE TRANSACTION 'x' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts)
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
