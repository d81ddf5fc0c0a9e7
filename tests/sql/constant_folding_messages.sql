-- Messages: constants that fail do so at Query and Bind, before RowDescription; Parse and Describe do not plan.
A: Query CREATE TABLE t (a int)
A: Query SELECT 1/0
A: Query SELECT 1; SELECT 1/0; SELECT 2
A: Query SELECT CASE WHEN a > 5 THEN 1/0 END FROM t
A: Query SELECT 1; SELECT CASE WHEN a > 5 THEN 1/0 END FROM t
A: Query INSERT INTO t VALUES (1/0) RETURNING a
A: Query EXPLAIN (COSTS OFF) SELECT CASE WHEN a > 5 THEN 1/0 END FROM t
A: Parse s SELECT CASE WHEN a > 5 THEN 1/0 END FROM t ;; Describe S s ;; Sync
A: Bind - s ;; Describe P - ;; Execute - ;; Sync
A: Bind - s ;; Sync
A: Describe S s ;; Sync
A: Parse r SELECT CASE WHEN $1 = 1 THEN 1/0 ELSE 2 END ;; Describe S r ;; Sync
A: Bind - r 2 ;; Describe P - ;; Execute - ;; Sync
A: Bind - r 1 ;; Describe P - ;; Execute - ;; Sync
A: Bind - r 2 ;; Execute - ;; Sync
A: Bind - r 2 ;; Execute - ;; Sync
A: Bind - r 2 ;; Execute - ;; Sync
A: Bind - r 2 ;; Execute - ;; Sync
-- The sixth plan is for any parameter.
A: Bind - r 2 ;; Execute - ;; Sync
A: Bind - r 2 ;; Execute - ;; Sync
-- In a block, the failure fails it.
A: Query BEGIN
A: Bind - s ;; Sync
A: Query SELECT 1
A: Query ROLLBACK
A: Run SELECT 1/0 ;; Run SELECT 2 ;; Sync
