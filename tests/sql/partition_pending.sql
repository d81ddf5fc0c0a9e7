-- Sessions: what a table is open to while its detaching was cancelled.
-- s1describe, s1alter.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: select 'd3' as root, * from pg_partition_tree('d3') union all select 'd3_1', * from pg_partition_tree('d3_1');
A: alter table d3_1 alter a drop not null;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s1insert.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: insert into d3 values (1);
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s1insertpart.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: insert into d3_1 values (1);
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s1spart.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: select * from d3_1;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s2detach2.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
B: alter table d3 detach partition d3_2 concurrently;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s2detachfinal.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
B: alter table d3 detach partition d3_1 finalize;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s1droppart.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: drop table d3_1;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s1drop, s1list.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: drop table d3;
A: select relname from pg_class where relname like 'd3%' order by 1;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s1trunc, s1spart.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: truncate table d3;
A: select * from d3_1;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- s1noop, s2detach2.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: select 1;
B: alter table d3 detach partition d3_2 concurrently;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: select * from d3_1;
A: insert into d3 values (1);
A: commit;
B: alter table d3 detach partition d3_1 finalize;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
B: alter table d3 detach partition d3_1 finalize;
A: commit;
S: select relname, relispartition from pg_class where relname like 'd3%' order by 1;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
A: begin;
A: select * from d3_1;
B: begin;
B: drop table d3_1;
A: commit;
B: commit;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
B: begin;
B: select * from d3_1;
A: alter table d3 detach partition d3_1 finalize;
B: commit;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin isolation level repeatable read;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: select * from d3;
A: insert into d3 values (1);
A: rollback;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin isolation level repeatable read;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: prepare f (int) as insert into d3 values ($1);
A: execute f (1);
A: rollback;
A: deallocate f;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin isolation level repeatable read;
A: prepare f (int) as insert into d3 values ($1);
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: execute f (1);
A: select * from d3;
A: commit;
A: execute f (1);
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: prepare f (int) as insert into d3 values ($1);
A: execute f (1);
B: alter table d3 detach partition d3_1 concurrently;
A: execute f (2);
A: execute f (1);
A: commit;
A: execute f (1);
A: deallocate all;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
-- In the middle.
S: create table d3 (a int) partition by list (a);
S: create table d3_1 partition of d3 for values in (1);
S: create table d3_2 partition of d3 for values in (2);
S: insert into d3 values (1);
A: begin;
A: select * from d3;
B: alter table d3 detach partition d3_1 concurrently;
B: \cancel
A: commit;
S: create index on d3 (a);
S: select relname from pg_class where relname like 'd3%' order by 1;
S: alter table d3 add column b int;
S: alter table d3 add constraint c check (a > 0);
S: select conname, conrelid::regclass from pg_constraint where conname in ('c') order by 2;
S: alter table d3 attach partition d3_1 for values in (1);
S: create table d3_3 partition of d3 for values in (1);
S: alter table d3 detach partition d3_1;
S: vacuum d3;
S: analyze d3;
S: reindex table d3;
S: alter table d3_1 rename to d3_9;
S: alter table d3 rename column a to z;
S: drop table if exists d3_3;
S: drop table if exists d3_9;
S: drop table if exists d3;
S: drop table if exists d3_1;
S: drop table if exists d3_2;
