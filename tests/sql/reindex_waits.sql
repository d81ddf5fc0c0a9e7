-- Sessions: REINDEX that waits for a table finds its indexes as they are then, and is in nobody's way meanwhile.
S: create table t (a int);
S: create index ti on t (a);
S: insert into t values (1);
A: begin;
A: insert into t values (2);
B: reindex index ti;
A: drop index ti;
A: commit;
S: create index ti on t (a);
A: begin;
A: insert into t values (3);
B: reindex index ti;
A: alter index ti rename to tj;
A: commit;
S: select count(*) from t where a > 0;
S: create table p (a int, b int) partition by range (a);
S: create table p1 partition of p for values from (0) to (10);
S: create table p2 partition of p for values from (10) to (20);
S: create index pb on p (b);
S: create index p2own on p2 (a);
S: insert into p values (1, 1), (11, 2);
-- An index of a leaf goes while the leaf is waited for.
A: begin;
A: insert into p2 values (12, 3);
B: reindex table p;
A: drop index p2own;
A: commit;
S: select count(*) from p where b > 0;
-- Another comes.
A: begin;
A: create index p2own on p2 (a);
A: insert into p2 values (13, 4);
B: reindex table p;
A: commit;
S: select count(*) from p2 where a > 0;
-- Without indexes nobody is waited for.
S: create table bare (a int);
A: begin;
A: insert into bare values (1);
B: reindex table concurrently bare;
A: commit;
S: drop table bare;
