-- Messages: what follows others in a pipeline is in an implicit block: LOCK and cursors.
-- PostgreSQL 15 differs: it is in none
A: Query CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT g FROM generate_series(1, 9) g
A: Query BEGIN
A: Parse q SELECT a FROM t WHERE a >= $1 ORDER BY a ;; Sync
A: Query COMMIT
A: Bind p q 8 ;; Execute p 1 ;; Run FETCH 1 FROM p ;; Run LOCK TABLE t ;; Run DECLARE c CURSOR FOR SELECT a FROM t ORDER BY a ;; Run FETCH 1 FROM c ;; Sync
A: Run LOCK TABLE t ;; Sync
