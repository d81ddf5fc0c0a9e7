-- Messages: statements of the extended protocol that wait for ALTER TABLE, and those that were prepared before it.
S: Query create table w (a int primary key, b int); insert into w values (1, 10)
-- All together: the shape is the one after the wait.
A: Query begin; alter table w add column c int default 3
B: Parse - select * from w ;; Bind - - ;; Describe P - ;; Execute - ;; Sync
C: Run update w set b = 11 where a = 9 returning * ;; Sync
D: Parse s select * from w where a = $1 ;; Describe S s ;; Sync
E: Run explain (costs off) select c from w ;; Sync
F: Parse - select c from w ;; Describe S - ;; Sync
G: Run select nothing from w ;; Sync
A: Query commit
D: Bind - s 1 ;; Describe P - ;; Execute - ;; Sync
-- Prepared, and described or not: it must keep its shape. What drivers know the error by.
D: Parse u select a from w ;; Sync
D: Parse - select * from w ;; Sync
S: Query alter table w add column d int
D: Bind - - ;; Execute - ;; Sync
D: Bind - s 1 ;; Describe P - ;; Execute - ;; Sync
D: Describe S s ;; Sync
D: Bind - u ;; Describe P - ;; Execute - ;; Sync
-- The statement is of use again when the shape is.
S: Query alter table w drop column d
D: Bind - s 1 ;; Describe P - ;; Execute - ;; Sync
S: Query alter table w rename column c to d
D: Bind - s 1 ;; Describe P - ;; Execute - ;; Sync
S: Query alter table w rename column d to c
D: Bind - s 1 ;; Describe P - ;; Execute - ;; Sync
-- In a block the prepared statement's failure fails the block; so drivers prepare anew after it.
S: Query alter table w rename column c to d
D: Query begin
D: Bind - s 1 ;; Execute - ;; Sync
D: Close S s ;; Parse s select * from w where a = $1 ;; Sync
D: Query rollback
D: Close S s ;; Parse s select * from w where a = $1 ;; Describe S s ;; Sync
D: Bind - s 1 ;; Execute - ;; Sync
-- Bind waits for what Parse did not.
A: Query begin; alter table w add column e int
D: Bind - s 1 ;; Sync
A: Query rollback
A: Query begin; alter table w add column e int
D: Bind - s 1 ;; Describe P - ;; Execute - ;; Sync
A: Query commit
-- Parse keeps its lock in a block.
D: Query begin
D: Parse t select a from w ;; Sync
A: Query alter table w drop column e
D: Bind - t ;; Execute - ;; Sync
D: Query commit
-- Parameters whose types come of the columns.
D: Parse p select a from w where b = $1 ;; Describe S p ;; Sync
A: Query begin; alter table w alter column b type text
B: Parse - select a from w where b = $1 ;; Describe S - ;; Sync
C: Parse - select a from w where b = $1 ;; Bind - - 10 ;; Execute - ;; Sync
A: Query commit
D: Bind - p 10 ;; Execute - ;; Sync
