-- One statement a line.
select
select 1
select 1 + 2 * 3 - -4 / 5 % 6 ^ 7
select a, t.a, s.t.a, d.s.t.a, t.*, * from t
select 'a', 'it''s', E'a\n', U&'\0041', U&'d!0061' uescape '!', $$x$$, $q$y$q$, b'01', x'1F', n'z'
select 1.5, .5, 1e10, 1e-5, 2147483648, 99999999999999999999, 0x1F, 0o17, 0b101, 1_000
select true, false, null, default_value from t
select a as b, a b, a "B" from t as x
select distinct a from t
select distinct on (a, b) a, b, c from t order by a, b, c desc nulls last
select all a from t
select a from only t
select a from t * where a = 1
select a from t where a = 1 and b = 2 or not c
select a from t where a between 1 and 2 and b not between symmetric 3 and 4
select a from t where a in (1, 2, 3) and b not in (select b from u)
select a from t where a like 'x%' and b not like 'y' escape '!' and c ilike 'z' and d not ilike 'w'
select a from t where a similar to 'x' and b not similar to 'y' escape '#'
select a from t where a is null and b is not null and c isnull and d notnull
select a from t where a is true and b is not true and c is false and d is not false and e is unknown and f is not unknown
select a from t where a is distinct from b and c is not distinct from d
select a from t where a = any (array[1,2]) and b > all ('{1,2}') and c = some (select 1)
select a from t where (a, b) = (1, 2) and row(a, b) < row(3, 4)
select a from t where (a, b) in ((1, 2), (3, 4)) and (a, b) = (select 1, 2)
select a from t where exists (select 1 from u where u.a = t.a) and not exists (select from v)
select case when a then 1 when b then 2 else 3 end, case a when 1 then 'x' end from t
select coalesce(a, b), nullif(a, b), greatest(a, b), least(a, b) from t
select cast(a as int), a::text, a::numeric(10,2)::varchar(5), int '5', date '2020-01-01', interval '1' day, interval(3) '1 s' from t
select a::int[], a::int[3][4], a::int array, a::int array[3], a::timestamp(3) with time zone, a::time without time zone, a::bit varying(5), a::char, a::national character varying(3), a::double precision, a::float(3), a::dec(5), a::"char" from t
select array[1,2,3], array[[1,2],[3,4]], array(select 1), array[]::int[]
select a[1], a[1:2], a[:], a[1:], (a).b, (a).*, (a.b).c, (f(x)).y, a[1].b[2] from t
select a collate "C", a collate pg_catalog."default" from t
select a at time zone 'UTC', a at local from t
select current_date, current_time, current_time(3), current_timestamp, current_timestamp(2), localtime, localtimestamp(1), current_user, session_user, user, current_role, current_catalog, current_schema
select extract(year from a), position('a' in b), substring(a from 1 for 2), substring(a similar 'x' escape '#'), trim(both 'x' from a), trim(a), overlay(a placing b from 1), collation for (a), normalize(a, nfc), a is nfc normalized from t
select f(), f(1, 2), f(a => 1, b := 2), f(1, b => 2), f(variadic array[1]), f(distinct a), f(a order by b desc), s.f(1), count(*), count(*) filter (where a > 1) from t
select percentile_cont(0.5) within group (order by a) from t
select rank() over (), sum(a) over (partition by b order by c), sum(a) over w from t window w as (partition by b), w2 as (w order by c)
select sum(a) over (order by b rows between 1 preceding and 2 following exclude current row) from t
select sum(a) over (order by b range between unbounded preceding and unbounded following exclude ties) from t
select sum(a) over (order by b groups between current row and 3 following exclude group) from t
select sum(a) over (rows unbounded preceding), sum(a) over (range current row), sum(a) over (order by b rows 5 preceding exclude no others) from t
select a operator(pg_catalog.+) b, operator(pg_catalog.-) a, @ a, a -> 'x' ->> 'y' #> '{z}', a @> b, a && b, a ~ 'x', a !~* 'y', a <> b, a != b from t
select a from t, u, v where t.a = u.a
select * from t join u on t.a = u.a left join v using (a, b) right outer join w on true full join x using (c) as j cross join y natural join z natural left join q
select * from (t join u on true) as j (a, b)
select * from (select 1) as s (a), (values (1, 'a'), (2, 'b')) v(x, y), (select 2)
select * from t, lateral (select * from u where u.a = t.a) s
select * from generate_series(1, 10) g, generate_series(1, 2) with ordinality as h(a, o), f(1) as x(a int, b text), f(2) as (a int, b numeric(3,1))
select * from rows from (f(1), g(2) as (a int)) with ordinality as r, lateral h(r.a), current_date d, cast(1 as int) e
select a, count(*) from t group by a having count(*) > 1 order by 2 desc, a using < nulls first
select a from t group by ()
select a, b from t group by rollup (a, b), cube (a, (b, c)), grouping sets ((), (a), rollup (b)), d
select grouping(a, b) from t group by distinct a, b
select a from t order by a asc nulls first limit 10 offset 5
select a from t offset 5 rows fetch first 10 rows only
select a from t order by a fetch next row with ties
select a from t limit all offset $1
select a from t for update
select a from t, u for no key update of t nowait for share of u skip locked for key share
select 1 union select 2 union all select 3 except select 4 intersect all select 5 order by 1 limit 2
(select 1 order by 1 limit 1) union (select 2) order by 1
values (1, 'a'), (2, default)
values (1), (2) order by 1 limit 1
table t
table only t
with a as (select 1) select * from a
with recursive a(n) as (values (1) union all select n + 1 from a where n < 10) select * from a
with a as materialized (select 1), b as not materialized (select 2) select * from a, b
with a as (insert into t values (1) returning *), b as (update t set a = 1 returning a), c as (delete from t returning *) select * from a, b, c
with recursive a(n) as (select 1 union all select n from a) search depth first by n set o cycle n set c to true default false using p select * from a
with recursive a(n) as (select 1 union all select n from a) cycle n set c using p select * from a
select a into u from t
select a into temp table u from t
select $1, $2::int, a = $3 from t
select "A", "a""b", "sélect", é from "T"
select a.b.c from t
select not a = b, - a, + a, not not a from t
select (select 1), (select a from t limit 1) + 1
select 1 where 1 = 1
select 'a' 
select xmin, ctid, tableoid from t
select (t).a, (t.b).c[1] from t
select interval '1 day 2 hours', interval '1-2' year to month, interval '3' second(2)
select row(), row(1), (1, 2), row(t.*) from t
select overlaps(1, 2)
select (a, b) overlaps (c, d) from t
select merge_action()
insert into t values (1, 2)
insert into t default values
insert into t (a, b) values (1, default), (2, 3)
insert into t (a.b, c[1]) values (1, 2)
insert into s.t as x (a) select a from u where b
insert into t overriding user value values (1)
insert into t (a) overriding system value values (1)
insert into t values (1) on conflict do nothing
insert into t values (1) on conflict (a, lower(b) collate "C" text_ops) where c do update set a = excluded.a, (b, c) = (1, 2) where t.a > 1
insert into t values (1) on conflict on constraint c do nothing returning *
insert into t values (1) returning a, b as c, t.*
insert into t values (1) returning with (old as o, new as n) o.a, n.a
with a as (select 1) insert into t select * from a
insert into t (select 1)
insert into t table u
update t set a = 1
update only t as x set a = x.a + 1, b = default where c = 2 returning *
update t set (a, b) = (1, 2), c = 3, (d, e) = (select 1, 2), (f) = row(1)
update t set a[1] = 2, b.c = 3 from u, v where t.a = u.a
update t set a = 1 where current of c
with a as (select 1) update t set a = (select * from a)
delete from t
delete from only t as x using u, v where x.a = u.a returning x.*
delete from t where current of c
with a as (select 1) delete from t where a in (select * from a)
merge into t using u on t.a = u.a when matched and u.b then update set a = 1 when matched then delete when not matched then insert (a, b) values (1, 2) when not matched by source then do nothing
with x as (select 1) merge into only t as y using (select 1 as a) u on true when not matched then insert default values returning merge_action(), y.*
copy t from stdin
copy t (a, b) to stdout
copy t from '/tmp/x' with (format csv, header true, delimiter ';', null '', quote '"', escape '\', force_not_null (a), force_null *, encoding 'utf8', freeze)
copy t to program 'cat' csv header
copy (select * from t) to stdout with (format binary)
copy t from stdin csv quote '"' delimiter ',' null 'x' where a > 1
copy binary t from stdin
call p(1, b => 2)
do $$ begin null; end $$
do language plpgsql 'begin null; end'
begin
begin transaction isolation level serializable, read only, deferrable
begin work read write not deferrable
start transaction isolation level repeatable read
commit
commit work and chain
end
rollback and no chain
abort
savepoint a
release savepoint a
release a
rollback to savepoint a
rollback to a
prepare transaction 'x'
commit prepared 'x'
rollback prepared 'x'
set a = 1
set a to 'x', "y", z
set local a.b to on
set session a = default
set time zone 'UTC'
set time zone local
set time zone -3.5
set time zone interval '-08:00' hour to minute
set names 'utf8'
set role r
set role none
set session authorization default
set session authorization 'x'
set schema 's'
set search_path to a, b, "$user"
set transaction isolation level read committed
set transaction snapshot 'x'
set session characteristics as transaction read only
set xml option document
set constraints all deferred
set constraints a, s.b immediate
reset a
reset all
reset time zone
reset session authorization
show a
show all
show time zone
show transaction isolation level
discard all
discard plans
discard sequences
discard temp
prepare p as select 1
prepare p (int, text) as insert into t values ($1, $2)
execute p
execute p (1, 'a')
create table t as execute p (1)
deallocate p
deallocate all
deallocate prepare p
declare c cursor for select 1
declare c binary insensitive no scroll cursor with hold for select 1
declare c asensitive scroll cursor without hold for select 1
fetch c
fetch next from c
fetch prior from c
fetch first in c
fetch last in c
fetch absolute -1 from c
fetch relative 2 from c
fetch 5 from c
fetch all from c
fetch forward all from c
fetch backward 3 from c
move c
move backward all in c
close c
close all
explain select 1
explain analyze verbose select 1
explain (analyze, verbose off, costs false, buffers, format json, timing 'on') select 1
explain create table t as select 1
explain insert into t values (1)
vacuum
vacuum full freeze verbose analyze t (a, b)
vacuum (full, verbose, parallel 2, index_cleanup auto) t, u (a)
analyze
analyze verbose t (a)
analyze (verbose, skip_locked) t
cluster
cluster t using i
cluster verbose t
reindex table t
reindex index concurrently i
reindex (verbose) schema s
reindex database d
reindex system
checkpoint
lock t
lock table only t, u in share row exclusive mode nowait
lock t in access share mode
listen c
unlisten c
unlisten *
notify c
notify c, 'payload'
load 'x'
create table t ()
create table t (a int)
create table if not exists s.t (a int primary key, b text not null default 'x' unique, c int check (c > 0) no inherit, d int null, e serial)
create table t (a int constraint c primary key using index tablespace s, b int constraint d unique nulls not distinct deferrable initially deferred, c int references u (a) match full on delete cascade on update set null deferrable initially immediate)
create table t (a int, b int, primary key (a, b) include (c) with (fillfactor = 70), unique (b), check (a > b), constraint f foreign key (a, b) references u on delete set default (a) not valid, exclude using gist (a with &&, lower(b) with =) where (a > 1))
create table t (a int generated always as identity, b int generated by default as identity (start 10 increment by 5), c int generated always as (a + 1) stored, d int generated always as (a * 2) virtual)
create table t (a text storage external compression pglz collate "C", b int[] default '{}')
create table t (like u including all, like v including defaults excluding constraints including indexes)
create table t (a int) inherits (u, v) with (fillfactor = 70, toast.autovacuum_enabled = false) tablespace s
create temp table t (a int) on commit drop
create temporary table t (a int) on commit delete rows
create local temp table t (a int) on commit preserve rows
create unlogged table t (a int) using heap
create table t (a int, b date) partition by range (a, (b + 1) collate "C" int4_ops)
create table t (a int) partition by list (a)
create table t (a int) partition by hash (a)
create table t partition of u for values from (1, minvalue) to (10, maxvalue)
create table t partition of u (a default 1, constraint c check (a > 0)) for values in (1, 2, null) partition by hash (b)
create table t partition of u for values with (modulus 4, remainder 1)
create table t partition of u default
create table t of y (primary key (a), b with options not null)
create table t (a int, constraint n not null a)
create table t (a int check (a > 0) not enforced)
create table t (a int, p int4range, primary key (a, p without overlaps), foreign key (a, period p) references u (a, period p))
create table t as select 1
create table if not exists t (a, b) with (fillfactor = 50) on commit drop as select 1, 2 with no data
create temp table t as values (1)
create table t as table u
create materialized view m as select 1 with no data
create unlogged materialized view if not exists m (a) with (fillfactor = 50) tablespace s as select 1
refresh materialized view concurrently m
refresh materialized view m with no data
create index on t (a)
create unique index concurrently if not exists i on only t using btree (a desc nulls last, lower(b), (a + b) collate "C" text_pattern_ops asc) include (c, d) nulls not distinct with (fillfactor = 70) tablespace s where a > 1
create index i on t using gin (a jsonb_path_ops (siglen = 5))
create view v as select 1
create or replace temp recursive view v (a) as select 1
create view v (a, b) with (security_barrier) as select 1, 2 with cascaded check option
create view v as values (1) with local check option
create sequence s
create temp sequence if not exists s as bigint increment by -1 minvalue 1 no maxvalue start with 5 restart 6 cache 10 no cycle owned by t.a
create sequence s owned by none
alter sequence if exists s restart with 5 increment 2 cycle
create schema s
create schema if not exists s authorization current_user
create schema s create table t (a int) create view v as select 1 grant select on t to r
create schema authorization r
create database d
create database d with owner r template template0 encoding 'utf8' connection limit 5
create extension if not exists e with schema s version '1' cascade
create type e as enum ('a', 'b')
create type e as enum ()
create type c as (a int, b text collate "C")
create type r as range (subtype = int4, subtype_opclass = int4_ops)
create type s
create type b (input = f, output = g, internallength = variable)
create domain d as int default 1 not null check (value > 0)
create domain d text collate "C" constraint c null
create collation c (locale = 'C')
create collation c from "C"
create operator @@@ (leftarg = int, rightarg = int, function = f, commutator = operator(s.@@@))
create text search configuration c (copy = english)
create function f() returns int language sql as 'select 1'
create or replace function s.f(a int, inout b text default 'x', variadic c int[] = '{}') returns setof record as $$ select 1 $$ language sql stable strict security definer cost 10 rows 5 parallel safe leakproof set search_path to a, b set x from current
create function f(int) returns table (a int, b text) language plpgsql as $$ begin end $$
create function f(a int) returns int return a + 1
create function f(a int) returns int begin atomic select 1; insert into t values (1); end
create function f() returns trigger as 'lib', 'sym' language c
create function f(a t.b%type) returns setof t.b%type as '' language sql
create procedure p(a int) language sql as 'select 1'
create trigger g before insert or update of a, b or delete on t for each row when (old.a is distinct from new.a) execute function f(1, 'x')
create or replace trigger g after truncate on t execute procedure f()
create trigger g instead of insert on v for each row execute function f()
create constraint trigger g after insert on t from u deferrable initially deferred for each row execute function f()
create trigger g after update on t referencing old table as o new table as n for each statement execute function f()
create statistics s (ndistinct, mcv) on a, (b + 1) from t
create statistics on a, b from t
create role r
create user u with password 'x' superuser createdb valid until '2030-01-01' connection limit 5 in role a, b
create group g
create server s type 't' version '1' foreign data wrapper w options (host 'x', port '5')
create user mapping if not exists for current_user server s options (user 'x')
alter user mapping for public server s options (set user 'y', drop z)
alter table t add a int, add column if not exists b text default 'x', drop column c cascade, drop if exists d, alter a type bigint using a::bigint, alter column a set default 1, alter a drop default, alter a set not null, alter a drop not null
alter table if exists only t add constraint c primary key (a), add unique using index i, add foreign key (a) references u not valid, validate constraint c, drop constraint if exists d restrict, alter constraint e deferrable initially deferred
alter table t alter a set statistics 100, alter a set (n_distinct = 5), alter a reset (n_distinct), alter a set storage plain, alter a set compression lz4, alter a add generated always as identity, alter a set generated by default set start 5 restart, alter a drop identity if exists, alter a drop expression, alter a set expression as (b + 1), alter a set data type text collate "C"
alter table t owner to r, cluster on i, set without cluster, set logged, set unlogged, set tablespace s, set access method heap, set (fillfactor = 50), reset (fillfactor), set without oids
alter table t enable trigger g, disable trigger all, enable always trigger g, enable replica trigger g, disable trigger user, enable rule r, disable rule r
alter table t inherit u, no inherit v, of y, not of, replica identity full, replica identity using index i, replica identity nothing, enable row level security, no force row level security
alter table t attach partition u for values in (1)
alter table t attach partition u default
alter table t detach partition u concurrently
alter table t detach partition u finalize
alter index i attach partition j
alter index i set (fillfactor = 50)
alter index i alter column 1 set statistics 5
alter view v alter a set default 1
alter table t rename to u
alter table t rename a to b
alter table t rename constraint a to b
alter index i rename to j
alter view v rename column a to b
alter schema s rename to t
alter role r rename to s
alter type e rename value 'a' to 'b'
alter type e add value if not exists 'c' before 'a'
alter type e add value 'c' after 'a'
alter type c add attribute a int, drop attribute b cascade, alter attribute c type text
alter type c rename attribute a to b cascade
alter type c rename to d
alter domain d set default 1
alter domain d drop default
alter domain d set not null
alter domain d add constraint c check (value > 1) not valid
alter domain d drop constraint if exists c cascade
alter domain d validate constraint c
alter domain d rename constraint a to b
alter function f(int) rename to g
alter function f(int) owner to r
alter function f(int) set schema s
alter function f(int) stable set a = 1 reset b
alter function f strict
alter table t set schema s
alter sequence s owner to r
alter database d set a = 1
alter database d owner to r
alter database d with connection limit 5
alter role r with login nosuperuser
alter role all in database d set a to 1
alter role r reset all
alter group g add user a, b
alter group g drop user a
alter user current_user password 'x'
alter system set a = 1
alter system reset all
alter trigger g on t rename to h
alter schema s owner to session_user
drop table t
drop table if exists s.t, u cascade
drop index concurrently i
drop view v restrict
drop materialized view m
drop sequence s
drop schema if exists s, t cascade
drop type e
drop domain d
drop function f
drop function if exists f(int, text), g() cascade
drop procedure p(int)
drop routine r
drop aggregate a(int)
drop aggregate a(*)
drop operator +(int, int), -(none, int)
drop trigger g on t
drop rule r on t
drop policy p on t
drop extension e
drop cast (a as b)
drop collation c
drop database if exists d with (force)
drop role if exists a, b
drop user u
drop owned by a, current_user cascade
reassign owned by a to b
drop server s cascade
drop language l
drop operator class c using btree
drop publication p
drop statistics s
drop text search configuration c
drop foreign table t
drop access method a
truncate t
truncate table only t, u restart identity cascade
comment on table t is 'x'
comment on column s.t.a is null
comment on function f(int) is 'x'
comment on constraint c on t is 'x'
comment on constraint c on domain d is 'x'
comment on trigger g on t is 'x'
comment on schema s is 'x'
comment on database d is 'x'
comment on type e is 'x'
comment on index i is 'x'
comment on operator +(int, int) is 'x'
comment on cast (a as b) is 'x'
comment on large object 5 is 'x'
grant select, insert (a, b), update on t, u to r, public with grant option granted by current_user
grant all on t to r
grant all privileges on sequence s to r
revoke grant option for select on t from r cascade
revoke all on table t from public
grant a, b to c with admin option
grant a to b with inherit false, set true granted by c
revoke admin option for a from b cascade
