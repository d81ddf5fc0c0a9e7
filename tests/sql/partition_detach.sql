-- DETACH PARTITION CONCURRENTLY and FINALIZE.
-- PostgreSQL 15 differs: \d shows NOT NULL constraints nowhere, and some texts are others
create table p(a int, b text, primary key (a)) partition by range(a);
create table p1 partition of p for values from (0) to (10);
create table p2 partition of p for values from (10) to (20);
insert into p values (1),(11);
begin;
alter table p detach partition p1 concurrently;
rollback;
begin;
alter table p detach partition p1 finalize;
rollback;
alter table p detach partition p1 finalize;
alter table if exists nowhere detach partition p1 concurrently;
alter table nowhere detach partition p1 concurrently;
alter table p detach partition p concurrently;
alter table p detach partition p1 concurrently;
\d+ p
\d+ p1
insert into p1 values (50);
insert into p values (1);
select tableoid::regclass, * from p;
select tableoid::regclass, * from p1;
alter table p detach partition p1 concurrently;
alter table p detach partition p1 finalize;
alter table p attach partition p1 for values from (0) to (10);
select tableoid::regclass, * from p order by 2;
alter table p detach partition p1 concurrently;
\d p1
create table pd partition of p default;
alter table p detach partition p2 concurrently;
alter table p detach partition pd concurrently;
alter table p detach partition nope concurrently;
alter table p1 detach partition p2 concurrently;
create table l(a text, b int) partition by list(a);
create table l1 partition of l for values in ('x');
create table l2 partition of l for values in ('z') partition by range(b);
create table l21 partition of l2 for values from (1) to (10);
alter table l detach partition l1 concurrently;
alter table l2 detach partition l21 concurrently;
\d+ l21
alter table l detach partition l2 concurrently;
\d+ l1
\d+ l2
create table h(a int, b int) partition by hash(a, b);
create table h1 partition of h for values with (modulus 2, remainder 1);
alter table h detach partition h1 concurrently;
\d+ h1
create table e(a int, b int) partition by range((a+b), lower(b::text));
create table e1 partition of e for values from (1, minvalue) to (10, 'x');
alter table e detach partition e1 concurrently;
\d+ e1
-- The bound that is left behind is a constraint, with its lists as constants.
create table m(a int, b text) partition by list(b);
create table m1 partition of m for values in ('x', 'y', null);
create table m2 partition of m for values in ('it''s', 'b,c');
alter table m detach partition m1 concurrently;
select pg_get_partition_constraintdef('m2'::regclass);
alter table m detach partition m2 concurrently;
select conrelid::regclass, pg_get_constraintdef(oid) from pg_constraint
    where conrelid in ('m1'::regclass, 'm2'::regclass) order by 1;
alter table m attach partition m2 for values in ('b,c', 'it''s');
create table a(a int, b int[]) partition by list(b);
create table a1 partition of a for values in ('{1,2}', '{3}');
select pg_get_partition_constraintdef('a1'::regclass);
alter table a detach partition a1 concurrently;
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'a1'::regclass;
