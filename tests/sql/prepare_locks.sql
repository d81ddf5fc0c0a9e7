-- Sessions: what PREPARE locks, and the snapshot it takes.
S: create table t (a int primary key, b int);
S: create table p (a int primary key, b int) partition by range (a);
S: create table p1 partition of p for values from (0) to (10);
S: insert into t values (1, 10);
S: insert into p values (1, 10);
A: begin;
A: prepare reads as select b from p where a = $1;
S: select c.relname, l.mode from pg_locks l join pg_class c on c.oid = l.relation where c.relname in ('t', 'p', 'p1') order by 1, 2;
A: prepare writes (int) as insert into t values ($1, 0);
S: select c.relname, l.mode from pg_locks l join pg_class c on c.oid = l.relation where c.relname in ('t', 'p', 'p1') order by 1, 2;
B: drop table t;
A: execute writes (2);
A: commit;
S: select relname from pg_class where relname = 't';
A: execute writes (3);
A: deallocate writes;
-- The snapshot of a transaction that has one is taken by PREPARE, too.
S: create table t (a int primary key, b int);
S: insert into t values (1, 10);
A: begin isolation level repeatable read;
A: prepare own as select b from t where a = $1;
S: update t set b = 11;
A: execute own (1);
A: commit;
A: execute own (1);
A: begin isolation level read committed;
A: deallocate own;
A: prepare own as select b from t where a = $1;
S: update t set b = 12;
A: execute own (1);
A: set transaction isolation level serializable;
A: rollback;
-- So it does where there is no table.
A: begin;
A: prepare late as select 1;
A: set transaction isolation level serializable;
A: rollback;
-- Outside of a block nothing is kept.
A: prepare alone as select b from t;
S: drop table t;
A: execute alone;
S: drop table p;
