-- Enums: CREATE TYPE … AS ENUM, their values, order, functions and DDL.
-- PostgreSQL 15 differs: a label added by the transaction that made its type is unsafe there, and some messages have changed since
create type mood as enum ('sad', 'ok', 'happy');
create type mood as enum ('a');
create type empty_enum as enum ();
create type longlabel as enum ('0123456789012345678901234567890123456789012345678901234567890123');
select 'sad'::mood, 'happy'::mood > 'ok'::mood as gt, 'sad' = 'sad'::mood as eq;
select 'nope'::mood;
select * from (values ('ok'::mood)) v(m) where m = 'bad';
create table person (id int primary key, m mood not null default 'ok', past mood[]);
insert into person values (1, 'happy', '{sad,ok}'), (2, 'sad', null), (3, default, array['happy']::mood[]);
insert into person values (4, 'angry');
insert into person values (4, null);
insert into person (id) values (4) returning *;
select * from person order by m, id;
select * from person order by m desc, id;
select m, count(*) from person group by m order by m;
select min(m), max(m) from person;
select * from person where m > 'sad' order by id;
select * from person where m in ('sad', 'happy') order by id;
select id, past[1], past || 'ok'::mood from person order by id;
select m::text || '!' from person order by id;
select 'ok'::text::mood, 'sad'::varchar::mood;
select m = 'ok' as a, m = any('{ok,sad}') as b, m between 'sad' and 'ok' as c from person order by id;
create index person_m on person (m);
create unique index person_mid on person (m desc, id);
set enable_seqscan = off;
select id, m from person where m >= 'ok' order by m, id;
reset enable_seqscan;
-- functions
select enum_first(null::mood), enum_last(null::mood), enum_range(null::mood);
select enum_range('ok'::mood, null), enum_range(null, 'ok'::mood), enum_range('ok'::mood, 'happy'::mood), enum_range('happy'::mood, 'sad');
select enum_first(null::empty_enum);
select enum_range(null::empty_enum);
select enum_first(1);
select pg_typeof('ok'::mood), pg_typeof(array['ok'::mood]), format_type('mood'::regtype, null), 'mood[]'::regtype;
select greatest('ok'::mood, 'sad'), least('ok'::mood, 'sad'), coalesce(null, 'ok'::mood), nullif('ok'::mood, 'ok');
select row('ok'::mood, 1), array['sad', 'ok']::mood[], array_agg(m order by m) from person;
select case 'ok'::mood when 'ok' then 'yes' else 'no' end;
select count(distinct m), string_agg(m::text, ',' order by m desc) from person;
-- adding labels
alter type mood add value 'so-so' before 'ok';
alter type mood add value if not exists 'so-so';
alter type mood add value 'so-so';
alter type mood add value 'ecstatic' after 'happy';
alter type mood add value 'end';
alter type mood add value 'x' before 'nix';
insert into person values (5, 'so-so'), (6, 'ecstatic');
select id, m from person order by m, id;
set enable_seqscan = off;
select id, m from person where m < 'ok' order by m, id;
reset enable_seqscan;
select enumlabel, enumsortorder from pg_enum where enumtypid = 'mood'::regtype order by enumsortorder;
alter type mood rename value 'so-so' to 'meh';
alter type mood rename value 'so-so' to 'meh2';
alter type mood rename value 'ok' to 'meh';
select id, m from person where m = 'meh';
-- an uncommitted label
begin;
alter type mood add value 'fresh';
select 'fresh'::mood;
rollback;
begin;
alter type mood add value 'fresh';
select enum_range(null::mood);
rollback;
begin;
create type own as enum ('a');
alter type own add value 'b';
select 'b'::own;
commit;
select enum_range(null::own);
begin;
alter type mood add value 'fresh';
savepoint s;
alter type mood add value 'fresher';
rollback to s;
commit;
select enum_last(null::mood);
-- defaults, checks, views and other texts keep their meaning
create table texts (m mood default 'meh' check (m <> 'end'), n text default 'meh'::mood, g mood generated always as ('happy'::mood) stored);
insert into texts default values returning *;
insert into texts (m) values ('end');
create view mv as select id, m, m > 'meh' as up, 'ok'::mood as lit from person where m <> 'end'::mood;
select * from mv order by id;
select pg_get_viewdef('mv');
alter type mood rename value 'meh' to 'middling';
alter type mood rename to feeling;
select * from mv order by id;
select pg_get_viewdef('mv');
\d texts
insert into texts default values returning *;
create schema other;
alter type feeling set schema other;
\d texts
select * from mv order by id limit 2;
select 'ok'::feeling;
select 'ok'::other.feeling;
alter type other.feeling set schema public;
alter type feeling owner to current_user;
comment on type feeling is 'how one feels';
\dT+ feeling
\dT
select typname, typlen, typtype, typcategory, typinput, typoutput, typarray::regtype from pg_type where oid = 'feeling'::regtype;
select typname, typtype, typelem::regtype from pg_type where oid = 'feeling[]'::regtype;
select table_name, column_name, data_type, udt_name from information_schema.columns where table_name in ('person', 'texts') order by 1, ordinal_position;
-- prepared statements
prepare p(feeling) as select id from person where m = $1 order by id;
execute p('ok');
execute p('nix');
prepare q as select id from person where m = $1 order by id;
execute q('happy');
deallocate all;
set enable_bitmapscan = off;
set enable_indexscan = off;
set enable_indexonlyscan = off;
explain (costs off) select count(*) from person where m > 'ok';
reset enable_bitmapscan;
reset enable_indexscan;
reset enable_indexonlyscan;
-- COPY
copy person (id, m, past) from stdin;
10	happy	{ok,"happy"}
11	ok	\N
\.
copy person (id, m) from stdin;
12	wrong
\.
copy (select id, m, past from person order by id) to stdout;
-- partitions
create table parted (m feeling, n int) partition by list (m);
create table parted_low partition of parted for values in ('sad', 'middling');
create table parted_high partition of parted for values in ('happy', 'ecstatic');
create table parted_bad partition of parted for values in ('nix');
insert into parted values ('sad', 1), ('happy', 2), ('ecstatic', 3);
insert into parted values ('end', 4);
select tableoid::regclass, * from parted order by m;
explain (costs off) select * from parted where m = 'happy';
\d+ parted
create table ranged (m feeling) partition by range (m);
create table ranged_1 partition of ranged for values from ('sad') to ('happy');
insert into ranged values ('ok'), ('middling');
insert into ranged values ('happy');
select * from ranged order by m;
create table hashed (m feeling) partition by hash (m);
create table hashed_0 partition of hashed for values with (modulus 2, remainder 0);
create table hashed_1 partition of hashed for values with (modulus 2, remainder 1);
insert into hashed select unnest(enum_range(null::feeling));
select * from hashed order by m;
-- joins
select a.id, b.id from person a join person b on a.m = b.m and a.id < b.id order by 1, 2;
analyze person;
select most_common_vals, histogram_bounds from pg_stats where tablename = 'person' and attname = 'm';
alter table person alter column m type text;
select id, m from person order by m, id limit 3;
alter table person alter column m drop default;
alter table person alter column m type feeling using m::feeling;
select id, m from person order by m, id limit 3;
alter table person add column extra feeling default 'sad';
select id, extra from person order by id limit 1;
-- dropping
drop type feeling;
drop type if exists nothere;
drop type if exists noschema.nothere;
drop type nothere;
drop type feeling[];
drop type _feeling;
drop type int4;
drop type person;
drop domain feeling;
begin;
drop type feeling cascade;
\d person
\d texts
rollback;
create table feeling (a int);
create type person as enum ('x');
create table own (a int);
create table renamed (a int);
alter table renamed rename to feeling;
alter type own rename to feeling;
drop table person, texts, parted, ranged, hashed cascade;
drop type feeling;
drop type own, empty_enum;
select 'a'::own;
create type pg_catalog.x as enum ('a');
create type noschema.x as enum ('a');
alter type int4 add value 'x';
alter type nothere add value 'x';
create type "Odd Name" as enum ('it''s', 'a "quoted"', 'back\slash', '');
select enum_range(null::"Odd Name"), 'it''s'::"Odd Name";
select 'x'::"Odd Name";
drop type "Odd Name";
-- arrays of labels in stored texts
create type dir as enum ('n', 'e st', 'w"');
create table dirs (d dir[] default '{n,"e st"}', e dir check (e = any ('{n,"w\""}')), f dir[] default '{}');
insert into dirs (e) values ('n') returning *;
insert into dirs (e) values ('e st');
alter type dir rename value 'e st' to 'east';
\d dirs
insert into dirs (e) values ('w"') returning *;
create view dv as select * from dirs where d <> '{n}'::dir[];
select pg_get_viewdef('dv');
drop view dv;
drop table dirs;
drop type dir;
