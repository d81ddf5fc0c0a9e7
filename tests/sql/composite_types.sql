-- Composite types: CREATE TYPE … AS, columns of them, fields, assignment, ALTER TYPE, DROP.
-- PostgreSQL 15 differs: some messages about composite types have changed since
create type complex as (r float8, i float8);
create type complex as (a int);
create type nested as (c complex, tags text[], n int);
create type empty_type as ();
select '(1,2)'::complex, row(1, 2)::complex, (row(1, 2)::complex).r, (row(1.5, 2)::complex).*;
select '(1,2,3)'::complex;
select '(1)'::complex;
select '(1,x)'::complex;
select 'x'::complex;
select row(1)::complex;
select row(1, 'x')::complex;
select '("(1,2)","{a,b}",)'::nested, ('("(1,2)","{a,b}",)'::nested).c.i;
create table ct (id int primary key, c complex, n nested, a complex[]);
insert into ct values (1, '(1,2)', '("(3,4)","{x,y}",5)', '{"(5,6)","(7,8)"}');
insert into ct values (2, row(3, null), row(row(1, 1), '{}', 2), array[row(1, 1)::complex]);
insert into ct (id, c.r, c.i) values (3, 7, 8);
insert into ct (id, n.c.r, n.n) values (4, 9, 10);
insert into ct (id, c.x) values (5, 1);
insert into ct (id, c.r) values (5, 'abc');
select * from ct order by id;
select id, (c).r, (ct.c).i, (n).c, ((n).c).r, (n).tags[1], a[1], (a[1]).i from ct order by id;
select (c).x from ct;
select (id).x from ct;
update ct set c.r = (c).r + 1, c.i = 0 where id = 1;
update ct set n.c.i = 44, n.tags[2] = 'zz' where id = 1;
update ct set a[2].r = 70, a[3] = row(9, 9) where id = 1;
update ct set c.r = 1 where id = 4;
update ct set c = row(5, 5) where id = 2;
update ct set c = row(5, 5), c.r = 1 where id = 2;
update ct set c = null where id = 3;
select * from ct order by id;
select id from ct where c = row(5, 5)::complex;
select id from ct where c > '(1,1)' order by c desc;
select id, c is null as n, c is not null as nn from ct order by id;
select c, count(*) from ct group by c order by c;
select distinct (c).r from ct order by 1;
select max((c).r), array_agg(c order by id) from ct;
select a.id, b.id from ct a join ct b on a.c = b.c order by 1, 2;
select row(1, 2)::complex = '(1,2)', row(1, 2)::complex < row(1, 3)::complex, row(1, 2)::complex::text;
select '(1,2)'::complex::text::complex;
select pg_typeof('(1,2)'::complex), pg_typeof(array['(1,2)'::complex]);
select unnest(a) from ct where id = 1;
select (u).* from (select unnest(a) u from ct where id = 1) s;
set enable_seqscan = off;
select id from ct where (c).r = 5;
reset enable_seqscan;
prepare p(complex) as select id from ct where c = $1;
execute p('(5,5)');
execute p(row(5, 5));
deallocate all;
copy (select * from ct order by id) to stdout;
copy ct (id, c) from stdin;
20	(20,21)
\.
select c from ct where id = 20;
\d complex
\d nested
\dT+ nested
\d ct
select relname, relkind, relnatts, reltype::regtype from pg_class where relname in ('complex', 'nested');
select attname, atttypid::regtype, attnum from pg_attribute where attrelid = 'nested'::regclass order by attnum;
select typname, typtype, typcategory, typrelid::regclass, typarray::regtype from pg_type where typname in ('complex', 'nested') order by 1;
select user_defined_type_name, user_defined_type_category from information_schema.user_defined_types where user_defined_type_schema = 'public' order by 1;
select udt_name, attribute_name, ordinal_position, data_type, attribute_udt_name from information_schema.attributes where udt_schema = 'public' order by 1, 3;
select column_name, data_type, udt_name from information_schema.columns where table_name = 'ct' order by ordinal_position;
select * from complex;
insert into complex values (1, 2);
drop table complex;
alter table complex add column z int;
-- views
create view cv as select id, c, (c).r as re, n from ct;
select * from cv where id = 1;
\d cv
select pg_get_viewdef('cv');
-- ALTER TYPE
create type small as (a int, b text);
alter type small add attribute c int, drop attribute b, alter attribute a type bigint;
\d small
select '(1,2)'::small;
alter type small rename attribute a to aa;
alter type small rename attribute nope to aa;
alter type small rename attribute c to aa;
alter type small add attribute c int;
alter type small drop attribute nope;
alter type small drop attribute if exists nope;
alter type small alter attribute nope type int;
alter type small rename to little;
create schema cs;
alter type little set schema cs;
select '(1,2)'::cs.little;
\d cs.little
alter type cs.little set schema public;
alter type little owner to current_user;
alter type little rename to ct;
create type ct as (a int);
create table little (a int);
create type self as (a self);
create type dup as (a int, a text);
create type pseudo as (a anyelement);
-- row types of tables
create table base (a int, b text);
insert into base values (1, 'one'), (2, 'two');
create table holder (id int, r base, rs base[]);
insert into holder select 1, base, array[base] from base where a = 1;
insert into holder values (2, '(5,five)', null), (3, row(6, 'six'), '{"(7,seven)"}');
select id, r, (r).b, rs from holder order by id;
update holder set r.b = 'changed' where id = 2;
select (r).* from holder order by id;
select b.a from base b join holder h on h.r = b;
drop table base;
drop type base;
-- dropping
drop type complex;
drop type nested;
begin;
drop type nested cascade;
\d ct
rollback;
begin;
drop type complex cascade;
\d ct
\d nested
rollback;
drop view cv;
drop table ct, holder, base;
drop type complex;
drop type nested, complex, little, empty_type;
select 1::complex;
