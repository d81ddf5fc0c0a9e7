-- Domains: constraints, defaults, coercion, ALTER DOMAIN.
-- PostgreSQL 15 differs: NOT NULL of a domain has been a constraint of its own since, and some messages have changed
create domain posint as int check (value > 0);
create domain posint as int;
create domain shortname varchar(5) not null default 'none';
create domain evenpos as posint constraint even check (value % 2 = 0) constraint small check (value < 1000);
create domain label as text collate "C" check (value ~ '^[a-z]+$');
create domain ints as int[] check (array_length(value, 1) < 4);
select 5::posint, pg_typeof(5::posint), 5::posint + 1 as sum, pg_typeof(5::posint + 1);
select (-5)::posint;
select '-5'::posint;
select '7'::posint, 7.6::posint, null::posint;
select null::shortname;
select 'abcdefgh'::shortname;
select 3::evenpos;
select (-2)::evenpos;
select 2000::evenpos;
select 4::evenpos, 4::evenpos::posint, 4::evenpos::int8, 4::evenpos::text;
select 'abc'::label, 'ABC'::label;
select '{1,2}'::ints, ('{1,2}'::ints)[2], array[1,2,3]::ints;
select '{1,2,3,4}'::ints;
create table dt (id evenpos primary key, n shortname, l label, p posint[], a ints);
insert into dt values (2, 'x', 'abc', '{1,2}', '{1}');
insert into dt (id) values (4) returning *;
insert into dt (id, n) values (6, null);
insert into dt (id, n) values (7, 'y');
insert into dt (id, n) values (8, 'toolongname');
insert into dt (id, l) values (8, 'X1');
insert into dt (id, p) values (8, array[1, -2]);
insert into dt (id, a) values (8, '{1,2,3,4,5}');
insert into dt select 10, 'sel', 'sel', array[3]::posint[], null;
update dt set id = id + 1;
update dt set id = id * 2 where id = 2 returning id;
update dt set id = 20, n = 'upd' where id = 10 returning *;
select * from dt order by id desc;
select id + 1, id || 'x', l || 'y', upper(l), length(n) from dt order by id;
select * from dt where id = 20;
select * from dt where l = 'sel' and id in (4, 20);
set enable_seqscan = off;
select id from dt where id > 4 order by id;
explain (costs off) select id from dt where id = 4;
reset enable_seqscan;
select max(id), min(l), sum(id), count(distinct n), array_agg(id order by id) from dt;
select l, count(*) from dt group by l order by l;
select distinct n from dt order by n;
select id from dt union select 100 order by 1;
select case when true then 2::evenpos else 3::posint end, coalesce(null::posint, 5), greatest(1::posint, 2::posint);
select a.id, b.id from dt a join dt b on a.id = b.id order by 1;
\d dt
\dD
\dD+ posint
select column_name, data_type, character_maximum_length, domain_schema, domain_name, udt_name from information_schema.columns where table_name = 'dt' order by ordinal_position;
select domain_name, data_type, character_maximum_length, domain_default, udt_name from information_schema.domains where domain_schema = 'public' order by 1;
select constraint_name, domain_name from information_schema.domain_constraints where domain_schema = 'public' order by 1, 2;
select conname, contype, contypid::regtype, pg_get_constraintdef(oid), convalidated from pg_constraint where contypid <> 0 and connamespace = 'public'::regnamespace order by 3, 1;
select typname, typtype, typcategory, typbasetype::regtype, typtypmod, typnotnull, typdefault, typlen, typbyval from pg_type where typtype = 'd' and typnamespace = 'public'::regnamespace order by 1;
select attname, atttypid::regtype, atttypmod, attlen from pg_attribute where attrelid = 'dt'::regclass and attnum > 0 order by attnum;
-- prepared statements, COPY
prepare ins(evenpos, shortname) as insert into dt (id, n) values ($1, $2) returning id, n;
execute ins(30, 'p');
execute ins(31, 'p');
execute ins(32, null);
prepare sel as select id from dt where id = $1;
execute sel(30);
deallocate all;
copy dt (id, n) from stdin;
40	copy
\.
copy dt to stdout;
-- ALTER DOMAIN
alter domain posint add check (value < 50);
alter domain evenpos add constraint tiny check (value < 10);
alter domain evenpos add constraint tiny check (value < 10) not valid;
insert into dt (id) values (12);
alter domain evenpos validate constraint tiny;
alter domain evenpos drop constraint tiny;
alter domain evenpos drop constraint tiny;
alter domain evenpos drop constraint if exists tiny;
alter domain evenpos validate constraint nothere;
alter domain evenpos rename constraint small to smaller;
alter domain evenpos rename constraint small to smaller;
select 2000::evenpos;
alter domain label set not null;
alter domain shortname drop not null;
alter domain shortname set default 'dflt';
insert into dt (id) values (44) returning n;
alter domain shortname drop default;
insert into dt (id) values (46) returning n;
alter domain shortname set not null;
delete from dt where n is null;
alter domain shortname set not null;
alter domain shortname set not null;
insert into dt (id) values (46) returning n;
alter domain nothere set not null;
alter domain int4 set not null;
alter domain label add constraint l2 check (valu > 'a');
alter domain label add check (count(value) > 1);
alter domain label add check (value > (select 'a'));
alter domain label add unique (a);
alter domain posint rename to positive;
alter type positive rename to posint;
alter domain posint owner to current_user;
create schema ds;
alter domain posint set schema ds;
\d dt
select 1::ds.posint, (-1)::ds.posint;
alter domain ds.posint set schema public;
comment on domain posint is 'positive';
\dD+ posint
-- in expressions of tables and views
create table de (a int constraint de_a_check check (a::posint is not null), b int default 5::posint, c posint generated always as (1 + 2) stored);
insert into de (a) values (3) returning *;
insert into de (a) values (-3);
\d de
create view dv as select id, l, id::posint as p from dt;
\d dv
select pg_get_viewdef('dv');
create table ct as select id, n from dt where id = 4;
\d ct
create table cl (like dt);
\d cl
-- adding and changing columns
alter table de add column d posint;
alter table de add column e shortname;
alter table de add column f posint default 7;
select * from de;
alter table de alter column a type evenpos;
alter table de drop constraint de_a_check;
alter table de alter column a type evenpos;
delete from de;
alter table de alter column a type evenpos;
insert into de (a, e) values (3, 'x');
alter table de add column g shortname;
-- errors
create domain d1 as anyelement;
create domain d1 as nothere;
create domain d1 as int check (valu > 1);
create domain d1 as int check (value > 'x');
create domain d1 as int check (value);
create domain d1 as int check (value > (select 1));
create domain d1 as int null not null;
create domain d1 as int default 1 default 2;
create domain d1 as int default 'x';
create domain d1 as int primary key;
create domain d1 as int references dt;
create domain d1 as int check (value > 0) no inherit;
create domain d1 as int constraint c check (value > 0) constraint c check (value > 1);
create domain dt as int;
drop domain nothere;
drop domain if exists nothere;
drop domain evenpos;
drop domain dt;
drop type evenpos;
drop domain posint;
begin;
drop domain posint cascade;
\d dt
\d de
rollback;
drop table dt, de, ct, cl cascade;
drop domain evenpos, posint, shortname, label, ints;
select 1::posint;
