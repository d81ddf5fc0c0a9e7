-- Plain inheritance: merging columns and constraints, and what ALTER TABLE takes down.
-- PostgreSQL 15 differs: NOT NULL is no constraint there, and \d and some texts are others
create table p(a int not null, b text default 'p' check (b <> ''), c int, constraint ni check (c > 0) no inherit);
create table q(b text default 'q', d int);
create table c0(b varchar) inherits (p);
create table c0(a int, a int) inherits (p);
create table c1(x int, a bigint) inherits (p);
create table c1() inherits (p,q);
create table c1(b text default 'c', x int, c int) inherits (p,q);
\d+ c1
create table c2(a int) inherits (p,p);
create table pp(a int) partition by list(a);
create table pp1 partition of pp for values in (1);
create table c2() inherits (pp);
create table c2() inherits (pp1);
create table c2(a int) inherits(p) partition by list(a);
create view v as select 1 as a;
create table c2() inherits (v);
create temp table t(a int);
create table c2() inherits (t);
create table c2(constraint p_b_check check (b <> 'x')) inherits (p);
create table c2(constraint p_b_check check (b <> '')) inherits (p);
create table c3(constraint p_b_check check (b <> '') no inherit) inherits (p);
create table q2(b text, constraint p_b_check check (b <> 'q2'));
create table c3() inherits (p,q2);
alter table only p add e int;
alter table p add x int;
alter table c2 add e bigint;
alter table p add e int;
alter table c2 drop e;
alter table c2 add e int;
alter table p add e int check (e > 1) default 7 not null;
\d+ c2
\d+ c1
alter table c1 drop column e;
alter table only p drop column e;
\d c2
alter table p drop column c;
\d c2
alter table c2 alter a type bigint;
alter table only p alter a type bigint;
alter table q alter b type varchar;
alter table p alter b type varchar;
alter table p alter a type bigint;
alter table c2 alter a drop not null;
alter table c2 rename a to aa;
alter table only p rename a to aa;
alter table p rename b to bb;
alter table p rename a to aa;
alter table c2 rename constraint p_b_check to z;
alter table only p rename constraint p_b_check to z;
alter table p rename constraint p_b_check to z;
alter table c2 drop constraint z;
alter table only p drop constraint z;
\d c2
alter table c2 drop constraint z;
alter table p add constraint z check (aa > 0);
alter table c2 add constraint y check (aa > 5);
alter table p add constraint y check (aa > 6);
alter table p add constraint y check (aa > 5);
alter table only p add constraint y2 check (aa > 5);
alter table only p add constraint y2 check (aa > 5) no inherit;
alter table p drop constraint y;
\d c2
alter table p alter aa drop not null;
\d c2
alter table p alter aa set default 5;
\d c2
alter table only p alter aa set not null;
alter table only p alter aa drop not null;
alter table c2 no inherit q;
alter table c2 inherit p;
alter table c2 no inherit p;
\d c2
alter table p inherit c2;
alter table c2 inherit p;
alter table c2 alter aa drop not null;
alter table c2 inherit p;
alter table c2 inherit c2;
alter table c2 inherit pp;
alter table c2 inherit pp1;
alter table pp1 inherit p;
alter table pp inherit p;
alter table pp no inherit p;
alter table pp1 no inherit p;
alter table c2 inherit t;
create table c4(aa bigint not null);
alter table c4 inherit p;
alter table c4 add b int;
alter table c4 inherit p;
alter table c4 alter b type text;
alter table c4 inherit p;
alter table c4 add x int;
alter table p add constraint z2 check (aa > 0);
alter table c4 add constraint z2 check (aa > 0) no inherit;
alter table c4 inherit p;
alter table c4 drop constraint z2, add constraint z2 check (aa > 1);
alter table c4 inherit p;
alter table c4 drop constraint z2, add constraint z2 check (aa > 0);
alter table c4 inherit p;
alter table p inherit c4;
\d+ p
select c.conrelid::regclass, c.conname, c.conislocal, c.coninhcount, c.connoinherit from pg_constraint c
    where c.contype = 'c' and c.conrelid in ('p'::regclass, 'c1'::regclass, 'c2'::regclass) order by c.conrelid::regclass::text, 2;
select attrelid::regclass, attname, attislocal, attinhcount from pg_attribute
    where attrelid in ('c1'::regclass, 'c2'::regclass) and attnum > 0 and not attisdropped order by attrelid::regclass::text, attnum;
create view on_child as select * from c1;
drop table p;
drop table p cascade;
create table g(a int, b int generated always as (a+1) stored);
create table g1(b int default 4) inherits (g);
create table g1(b int generated always as identity) inherits (g);
create table g1(a int generated always as (3) stored) inherits (g);
create table g1(b int generated always as (a+2) stored) inherits (g);
\d g1
create table i(a int generated always as identity);
create table i1() inherits (i);
\d i1
create table s(a serial);
create table s1() inherits (s);
\d s1
create table s2(a int default 3) inherits (s);
create table r(a int primary key, b text unique);
create table r1(x int) inherits (r);
insert into r values (1, 'r');
insert into r1 values (1, 'r', 1), (1, 'r', 2);
\d r1
alter table r add c text default 'old', add d int default 5 check (d > 0), add e int generated always as (a + 1) stored;
select tableoid::regclass, * from r order by 1, 2;
select * from r1 order by x;
insert into r1(a, d) values (2, 0);
alter table r drop b, alter c type varchar(5);
alter table r alter d set default 6;
insert into r1(a) values (3);
select * from r1 order by a, x;
alter table only r drop column d;
alter table r1 drop column d;
alter table r1 alter e drop expression;
alter table r alter e drop expression;
\d r1
truncate r;
select count(*) from r1;
