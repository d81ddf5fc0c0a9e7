-- Foreign keys: their definitions, errors, catalogs and dependencies.
-- PostgreSQL 15 differs: types of incompatible key columns are reported in other words; NOT NULL has no constraint there; NOT ENFORCED.
\set VERBOSITY default
create table fkd_parent (id int primary key, a int, b text, unique (a, b), d int);
create table fkd_child (id int primary key, pid int references fkd_parent, x int, y text,
  constraint fkd_xy foreign key (x, y) references fkd_parent (a, b) on update cascade on delete set null);
\d fkd_child
\d fkd_parent
select conname, contype, conrelid::regclass, confrelid::regclass, conindid::regclass, conkey, confkey,
  confupdtype, confdeltype, confmatchtype, condeferrable, condeferred, convalidated, connoinherit,
  conpfeqop::regoperator[], conppeqop::regoperator[], conffeqop::regoperator[]
from pg_constraint where conrelid = 'fkd_child'::regclass and contype = 'f' order by conname;
select conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) from pg_constraint
where conrelid = 'fkd_child'::regclass and contype = 'f' order by conname;
select constraint_name, unique_constraint_name, match_option, update_rule, delete_rule
from information_schema.referential_constraints where constraint_name like 'fkd%' order by 1;
select constraint_name, column_name, ordinal_position, position_in_unique_constraint
from information_schema.key_column_usage where table_name = 'fkd_child' order by 1, 3;
select constraint_name, table_name, column_name from information_schema.constraint_column_usage
where constraint_name like 'fkd_child%fkey' or constraint_name = 'fkd_xy' order by 1, 3;
select constraint_name, constraint_type, is_deferrable, initially_deferred from information_schema.table_constraints
where table_name = 'fkd_child' and constraint_type = 'FOREIGN KEY' order by 1;
-- names
create table fkd_names (a int references fkd_parent, b int constraint fkd_own references fkd_parent (id),
  foreign key (a) references fkd_parent, foreign key (a, b) references fkd_names2);
create table fkd_names (a int references fkd_parent, b int constraint fkd_own references fkd_parent (id),
  foreign key (a) references fkd_parent);
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'fkd_names'::regclass and contype = 'f' order by 1;
alter table fkd_names add constraint fkd_own foreign key (a) references fkd_parent;
alter table fkd_names rename constraint fkd_own to fkd_renamed;
\d fkd_names
-- errors
create table fkd_e (a int references nowhere);
create table fkd_e (a int references fkd_parent (nope));
create table fkd_e (a int, foreign key (nope) references fkd_parent);
create table fkd_e (a int references fkd_parent (d));
create table fkd_e (a int references fkd_parent (a, b));
create table fkd_e (a int, b int, foreign key (a, b) references fkd_parent);
create table fkd_e (a int, b int, foreign key (a, b) references fkd_parent (id, id));
create table fkd_e (a text references fkd_parent);
create table fkd_e (a uuid, foreign key (a) references fkd_parent);
create table fkd_e (a int, foreign key (ctid) references fkd_parent);
create table fkd_e (a int references fkd_parent match partial);
create table fkd_e (a int, b text, foreign key (a, b) references fkd_parent (a, b) on delete set null (c));
create table fkd_e (a int, b text, c int, foreign key (a, b) references fkd_parent (a, b) on delete set null (c));
create table fkd_e (a int, b text, foreign key (a, b) references fkd_parent (a, b) on update set null (a));
create table fkd_none (a int);
create table fkd_e (a int references fkd_none);
create view fkd_view as select 1 as id;
create table fkd_e (a int references fkd_view);
create table fkd_e (a oid references pg_class);
create table fkd_def (id int primary key deferrable, u int unique deferrable);
create table fkd_e (a int references fkd_def);
create table fkd_e (a int references fkd_def (u));
create temp table fkd_temp (id int primary key);
create table fkd_e (a int references fkd_temp);
create temp table fkd_e (a int references fkd_parent);
create unlogged table fkd_unlogged (id int primary key);
create table fkd_e (a int references fkd_unlogged);
create unlogged table fkd_u2 (a int references fkd_unlogged, b int references fkd_parent);
alter table fkd_u2 set logged;
alter table fkd_parent set unlogged;
create table fkd_e (a int, g int generated always as (a + 1) stored references fkd_parent on update cascade);
create table fkd_e (a int, g int generated always as (a + 1) stored references fkd_parent on delete set null);
create table fkd_g (a int, g int generated always as (a + 1) stored references fkd_parent on delete cascade);
drop table fkd_g;
-- order of referenced columns, cross types
create table fkd_rev (y text, x int8, foreign key (y, x) references fkd_parent (b, a));
select conkey, confkey, conpfeqop::regoperator[], conffeqop::regoperator[] from pg_constraint
where conrelid = 'fkd_rev'::regclass and contype = 'f';
insert into fkd_parent values (1, 10, 'ten'), (2, 20, 'twenty');
insert into fkd_rev values ('ten', 10), (null, 7), ('twenty', null);
insert into fkd_rev values ('ten', 20);
insert into fkd_rev values ('ten', 99999999999);
create table fkd_num (n numeric primary key, s varchar(10) unique, f float8 unique, c char(5) unique);
create table fkd_num2 (n int references fkd_num, s text references fkd_num (s), f real references fkd_num (f), c char(5) references fkd_num (c));
insert into fkd_num values (1, 'a', 1.5, 'x');
insert into fkd_num2 values (1, 'a', 1.5, 'x');
insert into fkd_num2 values (2, null, null, null);
insert into fkd_num2 values (null, 'b', null, null);
insert into fkd_num2 values (null, null, 2.5, null);
insert into fkd_num2 values (null, null, null, 'y');
-- adding to rows that are there
create table fkd_late (a int, b int);
insert into fkd_late values (1, 1), (2, 5), (null, 6), (3, null);
alter table fkd_late add foreign key (a) references fkd_parent;
alter table fkd_late add constraint fkd_late_nv foreign key (a) references fkd_parent not valid;
\d fkd_late
insert into fkd_late values (9, 9);
update fkd_late set b = 8 where a = 3;
alter table fkd_late validate constraint fkd_late_nv;
update fkd_late set a = 1 where a = 3;
alter table fkd_late validate constraint fkd_late_nv;
alter table fkd_late validate constraint fkd_late_nv;
\d fkd_late
alter table fkd_late add column c int references fkd_parent;
alter table fkd_late add column e int default 7 references fkd_parent;
\d fkd_late
alter table fkd_late alter constraint fkd_late_nv deferrable initially deferred;
select pg_get_constraintdef(oid) from pg_constraint where conname = 'fkd_late_nv';
alter table fkd_late alter constraint fkd_late_nv not deferrable;
select pg_get_constraintdef(oid) from pg_constraint where conname = 'fkd_late_nv';
alter table fkd_late alter constraint fkd_late_nv not enforced;
\d fkd_late
insert into fkd_late values (100, 1);
alter table fkd_late alter constraint fkd_late_nv enforced;
delete from fkd_late where a = 100;
alter table fkd_late alter constraint fkd_late_nv enforced;
insert into fkd_late values (100, 1);
alter table fkd_late add constraint fkd_ne foreign key (b) references fkd_parent not enforced;
alter table fkd_late validate constraint fkd_ne;
alter table fkd_parent alter constraint fkd_parent_pkey deferrable;
-- dependencies
drop table fkd_parent;
alter table fkd_parent drop constraint fkd_parent_pkey;
alter table fkd_parent drop column a;
drop index fkd_parent_pkey;
alter table fkd_parent drop constraint fkd_parent_pkey cascade;
\d fkd_child
alter table fkd_parent add primary key (id);
alter table fkd_child drop column y;
\d fkd_child
alter table fkd_child add foreign key (pid) references fkd_parent;
truncate fkd_parent;
truncate fkd_parent, fkd_child;
insert into fkd_parent values (1);
insert into fkd_child values (1, 1);
truncate fkd_parent cascade;
select count(*) from fkd_child;
drop table fkd_parent cascade;
\d fkd_child
drop table fkd_child, fkd_names, fkd_late, fkd_rev, fkd_num, fkd_num2;
-- self reference, and two tables that refer to each other
create table fkd_self (id int primary key, up int references fkd_self);
\d fkd_self
insert into fkd_self values (1, 1), (2, 3), (3, 1);
insert into fkd_self values (4, 5);
alter table fkd_self drop column id;
truncate fkd_self;
drop table fkd_self;
create table fkd_a (id int primary key, b int);
create table fkd_b (id int primary key, a int references fkd_a);
alter table fkd_a add foreign key (b) references fkd_b;
drop table fkd_a;
drop table fkd_a, fkd_b;
-- types of columns
create table fkd_t (id int primary key);
create table fkd_t2 (a int references fkd_t);
insert into fkd_t values (1);
insert into fkd_t2 values (1);
alter table fkd_t alter column id type bigint;
alter table fkd_t2 alter column a type smallint;
alter table fkd_t2 alter column a type text;
\d fkd_t2
insert into fkd_t2 values (2);
-- schemas
create schema fkd_s;
create table fkd_s.p (id int primary key);
create table fkd_c (a int references fkd_s.p);
\d fkd_c
drop schema fkd_s;
drop schema fkd_s cascade;
\d fkd_c
drop table fkd_c, fkd_t, fkd_t2, fkd_def, fkd_none, fkd_u2, fkd_unlogged;
drop view fkd_view;
-- enums and domains
create type fkd_color as enum ('red', 'green', 'blue');
create domain fkd_id as int8 check (value > 0);
create table fkd_tp (c fkd_color primary key, d fkd_id unique);
create table fkd_tc (c fkd_color references fkd_tp, d int references fkd_tp (d));
insert into fkd_tp values ('red', 1);
insert into fkd_tc values ('red', 1);
insert into fkd_tc values ('blue', null);
insert into fkd_tc values (null, 2);
drop table fkd_tc, fkd_tp;
drop type fkd_color;
drop domain fkd_id;
