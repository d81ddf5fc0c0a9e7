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
-- What goes down from the parent does not come to what is being detached; what goes away goes there, too.
S: drop table p, p1;
S: create table p (a int, b text, primary key (a)) partition by range (a);
S: create table p1 partition of p for values from (0) to (10);
S: create table p2 partition of p for values from (10) to (20);
S: create index pb on p (b);
S: insert into p values (1, 'x'), (11, 'y');
A: begin;
A: select count(*) from p;
B: alter table p detach partition p1 concurrently;
B: \cancel
A: commit;
S: select relid, parentrelid, isleaf, level from pg_partition_tree('p');
S: create index pba on p (b, a);
S: alter table p add constraint c check (a < 1000);
S: alter table p alter b set not null;
S: truncate p;
S: select count(*) from p1;
S: select indisvalid from pg_index where indexrelid = 'pba'::regclass;
S: select c.relname from pg_index i join pg_class c on c.oid = indexrelid where indrelid = 'p1'::regclass order by 1;
S: select conname from pg_constraint where conrelid = 'p1'::regclass and contype = 'c' order by 1;
S: alter table p drop constraint c, alter b drop not null;
S: drop index p1_b_idx;
S: drop index pb;
S: select c.relname from pg_index i join pg_class c on c.oid = indexrelid where indrelid = 'p1'::regclass order by 1;
S: alter table p1 add column c int;
S: alter table p1 drop column b;
S: alter table p1 alter b set default 'z';
S: alter table p detach partition p2 finalize;
S: alter table p1 rename to p0;
S: update p0 set a = 15;
S: insert into p0 values (15, 'x');
S: alter table p detach partition p0 finalize;
S: alter table p0 add column c int;
S: drop table p, p0;
-- Its own partitions are altered no more than it is; the constraint goes to them.
S: create table p (a int, b text) partition by range (a);
S: create table p1 partition of p for values from (0) to (10) partition by list (a);
S: create table p11 partition of p1 for values in (1, 2, 3);
A: begin;
A: select count(*) from p;
B: alter table p detach partition p1 concurrently;
B: \cancel
A: commit;
S: alter table p1 detach partition p11;
S: alter table p1 detach partition p11 concurrently;
S: create table p12 partition of p1 for values in (4, 40);
S: insert into p1 values (4, 'x');
S: insert into p1 values (40, 'x');
S: insert into p12 values (40, 'x');
S: drop table p;
S: select count(*) from p12;
-- The hash that a row has is checked to the end, and no longer.
S: create table h (a int) partition by hash (a);
S: create table h0 partition of h for values with (modulus 2, remainder 0);
S: create table h1 partition of h for values with (modulus 2, remainder 1);
A: begin;
A: select count(*) from h;
B: alter table h detach partition h0 concurrently;
B: \cancel
A: commit;
S: insert into h0 select g from generate_series(1, 9) g;
S: alter table h detach partition h0 finalize;
S: insert into h0 select g from generate_series(1, 9) g;
