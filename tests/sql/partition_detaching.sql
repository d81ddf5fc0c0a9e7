-- Sessions: a new DEFAULT partition while another one is being detached: its bound is still taken.
S: create table p (a int, b text) partition by range (a);
S: create table p1 partition of p for values from (0) to (10);
S: create table p2 partition of p for values from (10) to (20);
S: insert into p values (1, 'x'), (11, 'y');
A: begin;
A: select count(*) from p;
B: alter table p detach partition p1 concurrently;
B: \cancel
A: commit;
S: create table pd partition of p default;
S: insert into p values (1, 'z');
S: insert into p values (100, 'v'), (1, 'z');
S: insert into p values (100, 'w');
S: insert into p values (null, 'n');
S: insert into pd values (2, 'z');
S: select pg_get_partition_constraintdef('pd'::regclass);
S: update p set a = 3 where a = 100;
S: update pd set a = 3 where a = 100;
S: update p set a = 12 where a = 100 returning tableoid::regclass;
S: insert into p values (1, 'z') on conflict do nothing;
S: insert into p1 values (15, 'u');
S: insert into p1 values (5, 'u');
S: create table pf partition of p for values from (5) to (7);
-- A table with such rows is no default partition.
S: create table pe (a int, b text);
S: insert into pe values (4, 'x');
S: drop table pd;
S: alter table p attach partition pe default;
S: delete from pe;
S: alter table p attach partition pe default;
S: insert into p values (4, 'x');
S: alter table p detach partition pe;
-- A default partition that is partitioned again is named itself.
S: create table ps partition of p default partition by list (b);
S: create table ps1 partition of ps for values in ('z');
S: insert into p values (1, 'z');
S: insert into p values (1, 'q');
S: insert into p values (100, 'q');
S: insert into ps values (1, 'z');
S: insert into ps1 values (1, 'z');
S: insert into p values (100, 'z') returning tableoid::regclass;
S: alter table p detach partition p1 finalize;
T: insert into p values (1, 'z') returning tableoid::regclass;
-- Lists, and NULL among them.
S: create table l (a text) partition by list (a);
S: create table l1 partition of l for values in ('a', 'b', null);
A: begin;
A: select count(*) from l;
B: alter table l detach partition l1 concurrently;
B: \cancel
A: commit;
S: create table ld partition of l default;
S: insert into l values ('b');
S: insert into l values (null);
S: insert into l values ('c');
S: alter table l detach partition l1 finalize;
T: insert into l values ('b'), (null);
T: select tableoid::regclass, a from l order by a;
