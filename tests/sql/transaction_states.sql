-- Messages: each command that cares for transactions, alone, in a text of several, in a block and in a failed one: tags, warnings, and what is left.
S: Query CREATE TABLE t (a int); CREATE TABLE p (a int) PARTITION BY LIST (a); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE INDEX i ON t (a)
-- BEGIN
A: Query BEGIN
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); BEGIN
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query BEGIN
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); BEGIN; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query BEGIN
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- START TRANSACTION READ ONLY
A: Query START TRANSACTION READ ONLY
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query START TRANSACTION READ ONLY; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); START TRANSACTION READ ONLY; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); START TRANSACTION READ ONLY
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query START TRANSACTION READ ONLY
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); START TRANSACTION READ ONLY; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query START TRANSACTION READ ONLY
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); START TRANSACTION READ ONLY; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- COMMIT
A: Query COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query COMMIT; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query COMMIT
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); COMMIT; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query COMMIT
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ROLLBACK
A: Query ROLLBACK
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query ROLLBACK; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ROLLBACK; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ROLLBACK
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query ROLLBACK
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); ROLLBACK; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query ROLLBACK
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); ROLLBACK; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- COMMIT AND CHAIN
A: Query COMMIT AND CHAIN
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query COMMIT AND CHAIN; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); COMMIT AND CHAIN; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); COMMIT AND CHAIN
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query COMMIT AND CHAIN
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); COMMIT AND CHAIN; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query COMMIT AND CHAIN
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); COMMIT AND CHAIN; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ROLLBACK AND CHAIN
A: Query ROLLBACK AND CHAIN
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query ROLLBACK AND CHAIN; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ROLLBACK AND CHAIN; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ROLLBACK AND CHAIN
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query ROLLBACK AND CHAIN
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); ROLLBACK AND CHAIN; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query ROLLBACK AND CHAIN
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); ROLLBACK AND CHAIN; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- SAVEPOINT s
A: Query SAVEPOINT s
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SAVEPOINT s; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SAVEPOINT s
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query SAVEPOINT s
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); SAVEPOINT s; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query SAVEPOINT s
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- RELEASE s
A: Query RELEASE s
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query RELEASE s; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); RELEASE s; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); RELEASE s
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query RELEASE s
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); RELEASE s; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query RELEASE s
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); RELEASE s; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ROLLBACK TO s
A: Query ROLLBACK TO s
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query ROLLBACK TO s; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ROLLBACK TO s; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ROLLBACK TO s
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query ROLLBACK TO s
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); ROLLBACK TO s; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query ROLLBACK TO s
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); ROLLBACK TO s; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- PREPARE TRANSACTION 'x'
A: Query PREPARE TRANSACTION 'x'
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query PREPARE TRANSACTION 'x'; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); PREPARE TRANSACTION 'x'; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); PREPARE TRANSACTION 'x'
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query PREPARE TRANSACTION 'x'
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); PREPARE TRANSACTION 'x'; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query PREPARE TRANSACTION 'x'
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'x'; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(gid, ',') FROM pg_prepared_xacts WHERE database = current_database())
S: Query ROLLBACK PREPARED 'x'
S: Query DELETE FROM t
-- COMMIT PREPARED 'none'
A: Query COMMIT PREPARED 'none'
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query COMMIT PREPARED 'none'; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); COMMIT PREPARED 'none'; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); COMMIT PREPARED 'none'
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query COMMIT PREPARED 'none'
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); COMMIT PREPARED 'none'; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query COMMIT PREPARED 'none'
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); COMMIT PREPARED 'none'; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ROLLBACK PREPARED 'none'
A: Query ROLLBACK PREPARED 'none'
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query ROLLBACK PREPARED 'none'; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ROLLBACK PREPARED 'none'; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ROLLBACK PREPARED 'none'
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query ROLLBACK PREPARED 'none'
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); ROLLBACK PREPARED 'none'; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query ROLLBACK PREPARED 'none'
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); ROLLBACK PREPARED 'none'; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
A: Query SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- SET LOCAL work_mem = '1MB'
A: Query SET LOCAL work_mem = '1MB'
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query SET LOCAL work_mem = '1MB'; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SET LOCAL work_mem = '1MB'; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SET LOCAL work_mem = '1MB'
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query SET LOCAL work_mem = '1MB'
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); SET LOCAL work_mem = '1MB'; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query SET LOCAL work_mem = '1MB'
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); SET LOCAL work_mem = '1MB'; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- SET CONSTRAINTS ALL IMMEDIATE
A: Query SET CONSTRAINTS ALL IMMEDIATE
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SET CONSTRAINTS ALL IMMEDIATE
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query SET CONSTRAINTS ALL IMMEDIATE
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query SET CONSTRAINTS ALL IMMEDIATE
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- LOCK TABLE t
A: Query LOCK TABLE t
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query LOCK TABLE t; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); LOCK TABLE t; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); LOCK TABLE t
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query LOCK TABLE t
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); LOCK TABLE t; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query LOCK TABLE t
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); LOCK TABLE t; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- DECLARE c CURSOR FOR SELECT 1
A: Query DECLARE c CURSOR FOR SELECT 1
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query DECLARE c CURSOR FOR SELECT 1; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); DECLARE c CURSOR FOR SELECT 1; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); DECLARE c CURSOR FOR SELECT 1
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query DECLARE c CURSOR FOR SELECT 1
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); DECLARE c CURSOR FOR SELECT 1; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query DECLARE c CURSOR FOR SELECT 1
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); DECLARE c CURSOR FOR SELECT 1; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- DECLARE c CURSOR WITH HOLD FOR SELECT 1
A: Query DECLARE c CURSOR WITH HOLD FOR SELECT 1
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query DECLARE c CURSOR WITH HOLD FOR SELECT 1; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); DECLARE c CURSOR WITH HOLD FOR SELECT 1; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); DECLARE c CURSOR WITH HOLD FOR SELECT 1
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query DECLARE c CURSOR WITH HOLD FOR SELECT 1
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); DECLARE c CURSOR WITH HOLD FOR SELECT 1; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query DECLARE c CURSOR WITH HOLD FOR SELECT 1
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); DECLARE c CURSOR WITH HOLD FOR SELECT 1; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
A: Query CLOSE ALL
S: Query DELETE FROM t
S: Query DROP INDEX i
-- VACUUM t
A: Query VACUUM t
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query VACUUM t; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); VACUUM t; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); VACUUM t
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query VACUUM t
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); VACUUM t; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query VACUUM t
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); VACUUM t; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ANALYZE t
A: Query ANALYZE t
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query ANALYZE t; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ANALYZE t; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ANALYZE t
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query ANALYZE t
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); ANALYZE t; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query ANALYZE t
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); ANALYZE t; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- CREATE INDEX CONCURRENTLY i ON t (a)
A: Query CREATE INDEX CONCURRENTLY i ON t (a)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query CREATE INDEX CONCURRENTLY i ON t (a); INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); CREATE INDEX CONCURRENTLY i ON t (a); INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); CREATE INDEX CONCURRENTLY i ON t (a)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query CREATE INDEX CONCURRENTLY i ON t (a)
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); CREATE INDEX CONCURRENTLY i ON t (a); INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query CREATE INDEX CONCURRENTLY i ON t (a)
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); CREATE INDEX CONCURRENTLY i ON t (a); INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DROP INDEX IF EXISTS i
S: Query DELETE FROM t
S: Query CREATE INDEX i ON t (a)
-- DROP INDEX CONCURRENTLY i
A: Query DROP INDEX CONCURRENTLY i
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query DROP INDEX CONCURRENTLY i; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); DROP INDEX CONCURRENTLY i; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); DROP INDEX CONCURRENTLY i
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query DROP INDEX CONCURRENTLY i
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); DROP INDEX CONCURRENTLY i; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query DROP INDEX CONCURRENTLY i
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); DROP INDEX CONCURRENTLY i; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query CREATE INDEX IF NOT EXISTS i ON t (a)
S: Query DELETE FROM t
-- REINDEX INDEX CONCURRENTLY i
A: Query REINDEX INDEX CONCURRENTLY i
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query REINDEX INDEX CONCURRENTLY i; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); REINDEX INDEX CONCURRENTLY i; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); REINDEX INDEX CONCURRENTLY i
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query REINDEX INDEX CONCURRENTLY i
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); REINDEX INDEX CONCURRENTLY i; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query REINDEX INDEX CONCURRENTLY i
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); REINDEX INDEX CONCURRENTLY i; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT string_agg(relname, ',') FROM pg_class WHERE relname LIKE 'i%' AND relkind = 'i' AND relnamespace = 'public'::regnamespace)
S: Query DELETE FROM t
-- DISCARD ALL
A: Query DISCARD ALL
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query DISCARD ALL; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); DISCARD ALL; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); DISCARD ALL
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query DISCARD ALL
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); DISCARD ALL; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query DISCARD ALL
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); DISCARD ALL; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
-- ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY
A: Query ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t), (SELECT count(*) FROM pg_inherits)
S: Query DROP TABLE p1; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)
S: Query DELETE FROM t
-- SELECT nothing
A: Query SELECT nothing
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query SELECT nothing; INSERT INTO t VALUES (1)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SELECT nothing; INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query INSERT INTO t VALUES (1); SELECT nothing
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1)
A: Query SELECT nothing
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1)
A: Query INSERT INTO t VALUES (2); SELECT nothing; INSERT INTO t VALUES (3)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; SAVEPOINT s; SELECT nothing
A: Query SELECT nothing
A: Query INSERT INTO t VALUES (2)
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
A: Query BEGIN; INSERT INTO t VALUES (1); SELECT nothing; INSERT INTO t VALUES (2); COMMIT
A: Query ROLLBACK
S: Query SELECT (SELECT string_agg(a::text, ',' ORDER BY a) FROM t)
S: Query DELETE FROM t
