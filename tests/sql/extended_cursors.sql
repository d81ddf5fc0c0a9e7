-- Messages: DECLARE CURSOR and its kin with parameters; FETCH, MOVE and Execute on portals, whoever made them.
A: Query CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t SELECT g, 'r' || g FROM generate_series(1, 9) g
A: Query BEGIN
A: Parse d DECLARE c CURSOR FOR SELECT a, b FROM t WHERE a > $1 ORDER BY a ;; Describe S d ;; Bind - d 3 ;; Describe P - ;; Execute - ;; Sync
A: Run FETCH 2 FROM c ;; Sync
A: Parse - FETCH 2 FROM c ;; Describe S - ;; Bind - - ;; Execute - ;; Sync
A: Describe P c ;; Execute c 1 ;; Execute c ;; Execute c ;; Sync
A: Query FETCH BACKWARD 1 FROM c; CLOSE c
A: Parse - DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT $1 AS x, a FROM t WHERE a < $2 ORDER BY a ;; Describe S - ;; Bind - - txt 4 ;; Execute - ;; Sync
A: Query COMMIT
A: Query FETCH ALL FROM h; FETCH FIRST FROM h
A: Execute h 1 ;; Execute h ;; Sync
A: Query CLOSE h
A: Parse - CREATE TABLE made AS SELECT a, $1::text AS x FROM t WHERE a = $2 ;; Describe S - ;; Bind - - y 2 ;; Execute - ;; Sync
A: Query SELECT * FROM made
A: Parse - EXPLAIN (COSTS OFF) DECLARE c CURSOR FOR SELECT a FROM t WHERE b = $1 ;; Describe S - ;; Sync
A: Parse - EXPLAIN (COSTS OFF) SELECT a FROM made WHERE x = $1 ;; Describe S - ;; Bind - - q ;; Execute - ;; Sync
A: Query DECLARE c CURSOR WITH HOLD FOR SELECT $1
-- FETCH and MOVE on what Bind has made.
A: Query BEGIN
A: Parse q SELECT a FROM t WHERE a >= $1 ORDER BY a
A: Bind p q 2 ;; Execute p 2 ;; Sync
A: Query MOVE 2 FROM p; FETCH 1 FROM p
A: Run FETCH 1 FROM p ;; Execute p 1 ;; Sync
A: Execute p ;; Sync
A: Query FETCH 1 FROM p
A: Bind p2 q 7 ;; Sync
A: Query MOVE FORWARD 1 IN p2; FETCH ALL FROM p2; FETCH NEXT FROM p2
A: Bind p3 q 7 ;; Sync
A: Query FETCH ALL p3; MOVE ALL p3
A: Bind p4 q 7 ;; Sync
A: Query FETCH PRIOR FROM p4
A: Query ROLLBACK
A: Query BEGIN
A: Bind p5 q 5 ;; Execute p5 1 ;; Sync
A: Query SELECT name, is_holdable, is_scrollable FROM pg_cursors ORDER BY name
A: Query FETCH ABSOLUTE 3 FROM p5; FETCH RELATIVE 1 FROM p5; CLOSE p5
A: Query COMMIT
-- What has no plan gives its rows when it has ended.
A: Query PREPARE f AS SELECT 1 / (3 - a) FROM t ORDER BY a
A: Query EXECUTE f
A: Run EXECUTE f ;; Sync
A: Query select $65536
-- What changes rows has changed all of them when its first row is fetched.
A: Query CREATE TABLE changed (a int PRIMARY KEY, b int); INSERT INTO changed SELECT g, g FROM generate_series(1, 5) g
A: Query BEGIN
A: Parse u UPDATE changed SET b = b + 1 RETURNING a, b ;; Bind pu u ;; Execute pu 2 ;; Sync
A: Query FETCH 1 FROM pu; MOVE 1 FROM pu; FETCH ALL FROM pu; FETCH 1 FROM pu
A: Query SELECT sum(b) FROM changed
A: Query FETCH BACKWARD 1 FROM pu
A: Query ROLLBACK
A: Query BEGIN
A: Parse i INSERT INTO changed VALUES (7, 7), (8, 8) RETURNING a ;; Bind pi i ;; Sync
A: Query FETCH 1 FROM pi
A: Query SELECT count(*) FROM changed
A: Query MOVE 0 FROM pi; FETCH ALL FROM pi; MOVE ALL FROM pi
A: Query UPDATE changed SET b = 9 WHERE CURRENT OF pi
A: Query ROLLBACK
A: Query BEGIN
A: Parse w WITH gone AS (DELETE FROM changed WHERE a < 4 RETURNING a) SELECT a FROM gone ;; Bind pw w ;; Sync
A: Query MOVE 1 FROM pw; FETCH ALL FROM pw
A: Query SELECT count(*) FROM changed
A: Query ROLLBACK
A: Query BEGIN
A: Parse n DELETE FROM changed ;; Bind pn n ;; Sync
A: Query FETCH 1 FROM pn
A: Query ROLLBACK
A: Query BEGIN
A: Bind pn n ;; Sync
A: Query MOVE 1 FROM pn
A: Query ROLLBACK
A: Query BEGIN READ ONLY
A: Bind pi i ;; Sync
A: Query FETCH 1 FROM pi
A: Query ROLLBACK
A: Query SELECT count(*) FROM changed
