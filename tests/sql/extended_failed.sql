-- Messages: a client hears of the rows before the one that failed.
A: Query CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT g FROM generate_series(1, 9) g
A: Query SELECT 12 / (4 - a) FROM t
A: Run SELECT 12 / (4 - a) FROM t ;; Sync
A: Run SELECT 12 / (4 - n) FROM generate_series(1, 1000) n ;; Sync
A: Run SELECT a FROM t WHERE 12 / (4 - a) > 0 ;; Sync
A: Run SELECT x + 1 FROM (SELECT 12 / (4 - a) AS x FROM t OFFSET 0) s WHERE x > 4 ;; Sync
A: Run SELECT a FROM t WHERE a < 3 UNION ALL SELECT 12 / (4 - a) FROM t ;; Sync
A: Run SELECT DISTINCT ON (x / 2) x FROM (SELECT 12 / (4 - a) AS x FROM t OFFSET 0) s ;; Sync
A: Parse - SELECT 12 / (4 - a) FROM t ;; Bind - - ;; Execute - 2 ;; Execute - 2 ;; Sync
-- A row that nobody wants does not fail.
A: Run SELECT 12 / (4 - a) FROM t LIMIT 3 ;; Sync
A: Run SELECT x FROM (SELECT 12 / (4 - a) AS x FROM t OFFSET 0) s WHERE x > 3 LIMIT 3 ;; Sync
A: Run SELECT x, row_number() OVER () FROM (SELECT 12 / (4 - a) AS x FROM t OFFSET 0) s LIMIT 2 ;; Sync
-- Portals that have failed are there until the transaction, or what is after its savepoint, ends.
A: Query BEGIN
A: Parse q SELECT 12 / (4 - a) FROM t WHERE a >= $1
A: Bind p q 1 ;; Bind other q 8 ;; Execute p 1 ;; Sync
A: Execute p 5 ;; Sync
A: Execute p ;; Sync
A: Execute other ;; Sync
A: Describe P p ;; Sync
A: Execute none ;; Sync
A: Close P p ;; Sync
A: Execute p ;; Sync
A: Query ROLLBACK
A: Query BEGIN
A: Execute other ;; Sync
A: Query ROLLBACK
A: Query BEGIN; DECLARE c CURSOR FOR SELECT 12 / (4 - a) FROM t; DECLARE d CURSOR FOR SELECT a FROM t
A: Bind p q 1 ;; Execute p 1 ;; Sync
A: Query SAVEPOINT s
A: Bind deeper q 1 ;; Execute deeper 1 ;; Sync
A: Query FETCH ALL FROM c
A: Execute p ;; Sync
A: Execute deeper ;; Sync
A: Query ROLLBACK TO s
A: Query FETCH c
A: Query ROLLBACK TO s
A: Execute deeper ;; Sync
A: Query ROLLBACK TO s; SELECT name FROM pg_cursors ORDER BY name
A: Query FETCH d; CLOSE c
A: Execute p ;; Sync
A: Query ROLLBACK TO s
A: Execute p ;; Sync
A: Query ROLLBACK
A: Query BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT 12 / (4 - a) FROM t; SAVEPOINT s
A: Query FETCH ALL FROM h
A: Query ROLLBACK TO s; COMMIT
A: Query FETCH h
