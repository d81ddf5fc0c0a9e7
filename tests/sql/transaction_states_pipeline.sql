-- Messages: each command that cares for transactions in a pipeline: tags, warnings, and what is left.
-- PostgreSQL 15 differs: what follows in a pipeline is in no implicit block
S: Query CREATE TABLE t (a int); CREATE TABLE p (a int) PARTITION BY LIST (a); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE INDEX i ON t (a)
-- BEGIN
A: Run BEGIN ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run BEGIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run BEGIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run BEGIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run BEGIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run BEGIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- START TRANSACTION READ ONLY
A: Run START TRANSACTION READ ONLY ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run START TRANSACTION READ ONLY ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run START TRANSACTION READ ONLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run START TRANSACTION READ ONLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run START TRANSACTION READ ONLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run START TRANSACTION READ ONLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run START TRANSACTION READ ONLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- COMMIT
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run COMMIT ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run COMMIT ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run COMMIT ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run COMMIT ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ROLLBACK
A: Run ROLLBACK ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run ROLLBACK ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run ROLLBACK ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run ROLLBACK ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run ROLLBACK ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run ROLLBACK ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run ROLLBACK ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- COMMIT AND CHAIN
A: Run COMMIT AND CHAIN ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run COMMIT AND CHAIN ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run COMMIT AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run COMMIT AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run COMMIT AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run COMMIT AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ROLLBACK AND CHAIN
A: Run ROLLBACK AND CHAIN ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run ROLLBACK AND CHAIN ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run ROLLBACK AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run ROLLBACK AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run ROLLBACK AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run ROLLBACK AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run ROLLBACK AND CHAIN ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- SAVEPOINT s
A: Run SAVEPOINT s ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run SAVEPOINT s ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run SAVEPOINT s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run SAVEPOINT s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run SAVEPOINT s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run SAVEPOINT s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run SAVEPOINT s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- RELEASE s
A: Run RELEASE s ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run RELEASE s ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run RELEASE s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run RELEASE s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run RELEASE s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run RELEASE s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run RELEASE s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ROLLBACK TO s
A: Run ROLLBACK TO s ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run ROLLBACK TO s ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run ROLLBACK TO s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run ROLLBACK TO s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run ROLLBACK TO s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run ROLLBACK TO s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run ROLLBACK TO s ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- PREPARE TRANSACTION 'pipelined'
A: Run PREPARE TRANSACTION 'pipelined' ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'pipelined'
S: Query DELETE FROM t
A: Run PREPARE TRANSACTION 'pipelined' ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'pipelined'
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run PREPARE TRANSACTION 'pipelined' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'pipelined'
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run PREPARE TRANSACTION 'pipelined' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'pipelined'
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run PREPARE TRANSACTION 'pipelined' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'pipelined'
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run PREPARE TRANSACTION 'pipelined' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'pipelined'
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run PREPARE TRANSACTION 'pipelined' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'pipelined'
S: Query DELETE FROM t
-- COMMIT PREPARED 'none'
A: Run COMMIT PREPARED 'none' ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run COMMIT PREPARED 'none' ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run COMMIT PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run COMMIT PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run COMMIT PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run COMMIT PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ROLLBACK PREPARED 'none'
A: Run ROLLBACK PREPARED 'none' ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run ROLLBACK PREPARED 'none' ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run ROLLBACK PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run ROLLBACK PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run ROLLBACK PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run ROLLBACK PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run ROLLBACK PREPARED 'none' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
A: Run SET TRANSACTION ISOLATION LEVEL SERIALIZABLE ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run SET TRANSACTION ISOLATION LEVEL SERIALIZABLE ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run SET TRANSACTION ISOLATION LEVEL SERIALIZABLE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run SET TRANSACTION ISOLATION LEVEL SERIALIZABLE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run SET TRANSACTION ISOLATION LEVEL SERIALIZABLE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run SET TRANSACTION ISOLATION LEVEL SERIALIZABLE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run SET TRANSACTION ISOLATION LEVEL SERIALIZABLE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- SET LOCAL work_mem = '1MB'
A: Run SET LOCAL work_mem = '1MB' ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run SET LOCAL work_mem = '1MB' ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run SET LOCAL work_mem = '1MB' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run SET LOCAL work_mem = '1MB' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run SET LOCAL work_mem = '1MB' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run SET LOCAL work_mem = '1MB' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run SET LOCAL work_mem = '1MB' ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- SET CONSTRAINTS ALL IMMEDIATE
A: Run SET CONSTRAINTS ALL IMMEDIATE ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run SET CONSTRAINTS ALL IMMEDIATE ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run SET CONSTRAINTS ALL IMMEDIATE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run SET CONSTRAINTS ALL IMMEDIATE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run SET CONSTRAINTS ALL IMMEDIATE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run SET CONSTRAINTS ALL IMMEDIATE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run SET CONSTRAINTS ALL IMMEDIATE ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- LOCK TABLE t
A: Run LOCK TABLE t ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run LOCK TABLE t ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run LOCK TABLE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run LOCK TABLE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run LOCK TABLE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run LOCK TABLE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run LOCK TABLE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- DECLARE c CURSOR FOR SELECT 1
A: Run DECLARE c CURSOR FOR SELECT 1 ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run DECLARE c CURSOR FOR SELECT 1 ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run DECLARE c CURSOR FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run DECLARE c CURSOR FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run DECLARE c CURSOR FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run DECLARE c CURSOR FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run DECLARE c CURSOR FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- DECLARE c CURSOR WITH HOLD FOR SELECT 1
A: Run DECLARE c CURSOR WITH HOLD FOR SELECT 1 ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Run DECLARE c CURSOR WITH HOLD FOR SELECT 1 ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run DECLARE c CURSOR WITH HOLD FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run DECLARE c CURSOR WITH HOLD FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run DECLARE c CURSOR WITH HOLD FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run DECLARE c CURSOR WITH HOLD FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run DECLARE c CURSOR WITH HOLD FOR SELECT 1 ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
S: Query DROP INDEX i
-- VACUUM t
A: Run VACUUM t ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run VACUUM t ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run VACUUM t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run VACUUM t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run VACUUM t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run VACUUM t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run VACUUM t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ANALYZE t
A: Run ANALYZE t ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run ANALYZE t ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run ANALYZE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run ANALYZE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run ANALYZE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run ANALYZE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run ANALYZE t ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- CREATE INDEX CONCURRENTLY i ON t (a)
A: Run CREATE INDEX CONCURRENTLY i ON t (a) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Run CREATE INDEX CONCURRENTLY i ON t (a) ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run CREATE INDEX CONCURRENTLY i ON t (a) ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run CREATE INDEX CONCURRENTLY i ON t (a) ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run CREATE INDEX CONCURRENTLY i ON t (a) ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run CREATE INDEX CONCURRENTLY i ON t (a) ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run CREATE INDEX CONCURRENTLY i ON t (a) ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
S: Query CREATE INDEX i ON t (a)
-- DROP INDEX CONCURRENTLY i
A: Run DROP INDEX CONCURRENTLY i ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Run DROP INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run DROP INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run DROP INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run DROP INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run DROP INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run DROP INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
-- REINDEX INDEX CONCURRENTLY i
A: Run REINDEX INDEX CONCURRENTLY i ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Run REINDEX INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run REINDEX INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run REINDEX INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run REINDEX INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run REINDEX INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run REINDEX INDEX CONCURRENTLY i ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
-- DISCARD ALL
A: Run DISCARD ALL ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run DISCARD ALL ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run DISCARD ALL ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run DISCARD ALL ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run DISCARD ALL ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run DISCARD ALL ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run DISCARD ALL ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY
A: Run ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Run ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
-- SELECT nothing
A: Run SELECT nothing ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run SELECT nothing ;; Run INSERT INTO t VALUES (1) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run SELECT nothing ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run BEGIN ;; Run INSERT INTO t VALUES (1) ;; Run SELECT nothing ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Run COMMIT ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Run SELECT nothing ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Run SELECT nothing ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Run INSERT INTO t VALUES (1) ;; Run COMMIT ;; Run SELECT nothing ;; Run INSERT INTO t VALUES (2) ;; Sync
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
