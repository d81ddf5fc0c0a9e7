-- CREATE AGGREGATE: what it refuses, transition functions of all languages, strict ones, polymorphic and
-- VARIADIC arguments, DISTINCT, ORDER BY, FILTER, windows; catalogs, dependencies, ALTER and DROP.
-- PostgreSQL 15 differs: pg_get_viewdef names the table of each column
create table ag (g int, n int, t text);
insert into ag select i % 3, nullif(i % 7, 3), 't' || i % 4 from generate_series(1, 40) i;
create function ag_add(s bigint, v int) returns bigint language sql as 'select s + coalesce(v, 0)';
create aggregate ag_sum(int) (sfunc = ag_add, stype = bigint, initcond = '0');
select ag_sum(n), sum(n) from ag;
select g, ag_sum(n), sum(n) from ag group by g order by g;
select g, ag_sum(distinct n), sum(distinct n), ag_sum(n) filter (where n > 2) from ag group by g order by g;
create function ag_cat(s text, v text) returns text language plpgsql strict as $$ begin return s || ',' || v; end $$;
create aggregate ag_list(text) (sfunc = ag_cat, stype = text);
select ag_list(t order by t desc, n) from ag where n < 3;
select ag_list(distinct t order by t desc) from ag;
select ag_list(t) from ag where false;
select g, ag_list(distinct t) from ag group by g order by g;
create aggregate ag_array(anycompatible) (sfunc = array_append, stype = anycompatiblearray, initcond = '{}');
select ag_array(n order by n, g), ag_array(distinct t) from ag;
select pg_typeof(ag_array(1.5)), pg_typeof(ag_array(t)) from ag;
create function ag_mean(s bigint[]) returns numeric language sql as 'select case when s[2] = 0 then null else round(s[1]::numeric / s[2], 2) end';
create function ag_step(s bigint[], v int) returns bigint[] language sql strict as 'select array[s[1] + v, s[2] + 1]';
create aggregate ag_avg(int) (sfunc = ag_step, stype = bigint[], finalfunc = ag_mean, initcond = '{0,0}', sspace = 64, parallel = safe);
select g, ag_avg(n), round(avg(n), 2) from ag group by g order by g;
select ag_avg(n) from ag where false;
select g, n, ag_sum(n) over (partition by g order by n nulls first, t), ag_avg(n) over (order by t, n, g rows between 2 preceding and current row) from ag order by g, n nulls first, t limit 8;
-- strict transition: the first value is the state
create aggregate ag_max(int) (sfunc = int4larger, stype = int, sortop = >, combinefunc = int4larger, parallel = safe);
select g, ag_max(n), max(n) from ag group by g order by g;
select g, t, ag_max(n), grouping(t) from ag group by rollup (g, t) order by g nulls last, t nulls last limit 6;
create aggregate ag_count(*) (sfunc = int8inc, stype = int8, initcond = '0');
select ag_count(*), count(*) from ag;
select g from ag group by g having ag_count(*) > 13 order by g;
-- the old syntax
create aggregate ag_old (basetype = int4, sfunc1 = int4pl, stype1 = int4, initcond1 = '100');
create aggregate ag_oldany (basetype = 'ANY', sfunc = int8inc, stype = int8, initcond = '0');
select ag_old(n), ag_oldany(*) from ag;
-- variadic, and the arguments' types for the final function
create function ag_v(s text, variadic v text[]) returns text language sql as $$ select s || '(' || array_to_string(v, ' ') || ')' $$;
create function ag_vf(s text, v text[]) returns text language sql as $$ select s || '!' || coalesce(v::text, 'none') $$;
create aggregate ag_var(variadic text[]) (sfunc = ag_v, stype = text, initcond = '', finalfunc = ag_vf, finalfunc_extra);
select ag_var('a', 'b', 'c'), ag_var(variadic array['x', 'y']);
-- moving parts
create function ag_sub(s bigint, v int) returns bigint language sql as 'select s - coalesce(v, 0)';
create aggregate ag_mov(int) (sfunc = ag_add, stype = bigint, initcond = '0', msfunc = ag_add, minvfunc = ag_sub, mstype = bigint, minitcond = '0', finalfunc_modify = shareable);
select n, ag_mov(n) over (order by n, t, g rows 1 preceding) from ag where n > 4 limit 4;
create aggregate ag_once(int) (sfunc = ag_add, stype = bigint, initcond = '0', finalfunc_modify = read_write);
select ag_once(n) over () from ag;
select ag_once(n) from ag;
-- errors
select ag_sum(*) from ag;
select ag_count() from ag;
select ag_sum('x'::text) from ag;
create function ag_fail(s int, v int) returns int language plpgsql as $$ begin return s / (v - 2); end $$;
create aggregate ag_div(int) (sfunc = ag_fail, stype = int, initcond = '7');
select ag_div(n) from ag;
select ag_sum(ag_sum(n)) from ag;
-- catalogs
select aggfnoid, aggkind, aggnumdirectargs, aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggmtransfn, aggminvtransfn, aggfinalextra, aggfinalmodify, aggsortop <> 0 as so, aggtranstype::regtype, aggtransspace, agginitval, aggminitval from pg_aggregate where aggfnoid::oid > 16383 order by aggfnoid::text;
select proname, prokind, prolang, procost, provolatile, proisstrict, proparallel, prosrc, pg_get_function_arguments(oid), pg_get_function_result(oid) from pg_proc where prokind = 'a' and oid > 16383 order by 1;
comment on aggregate ag_sum(int) is 'adds';
\da ag_*
\df ag_sum
-- views, dependencies, changes
create view ag_view as select g, ag_sum(n) as s from ag group by g;
select pg_get_viewdef('ag_view'::regclass);
drop aggregate ag_sum(int);
drop function ag_add(bigint, int);
prepare ag_p as select ag_sum(n) from ag;
execute ag_p;
create or replace aggregate ag_sum(int) (sfunc = ag_add, stype = bigint, initcond = '1000');
execute ag_p;
create or replace function ag_add(s bigint, v int) returns bigint language sql as 'select s + 1';
execute ag_p;
select * from ag_view order by 1;
create or replace aggregate ag_sum(int) (sfunc = int4pl, stype = int);
drop aggregate ag_sum(int) cascade;
execute ag_p;
create schema ag_s;
alter aggregate ag_max(int) set schema ag_s;
alter aggregate ag_s.ag_max(int) rename to top;
alter aggregate ag_s.top(int) owner to postgres;
select ag_s.top(n) from ag;
create type ag_mood as enum ('sad', 'ok', 'happy');
create function ag_worse(a ag_mood, b ag_mood) returns ag_mood language sql as 'select least(a, b)';
create aggregate ag_min(ag_mood) (sfunc = ag_worse, stype = ag_mood, initcond = 'happy');
select ag_min(m) from unnest('{ok,happy}'::ag_mood[]) m;
drop type ag_mood;
drop schema ag_s cascade;
drop aggregate if exists ag_none(int), ag_list(text);
create function ag_ordered(s int, v int) returns int language sql as 'select v';
begin;
create aggregate ag_tx(int) (sfunc = ag_ordered, stype = int);
select ag_tx(n order by n) from ag where n is not null;
rollback;
select ag_tx(n) from ag;

-- What the definition must be.
create function addi(int, int) returns int language sql as 'select $1+$2';
create aggregate mysum(int) (sfunc=addi, stype=int, initcond='0');
create aggregate bad1(int) (sfunc=addi);
create aggregate bad2(int) (stype=int);
create aggregate bad3(int) (sfunc=nope, stype=int);
create aggregate bad4(text) (sfunc=addi, stype=int);
create aggregate bad5(int) (sfunc=addi, stype=int, initcond='x');
create aggregate bad6(int) (sfunc=addi, stype=int, finalfunc=nofin);
create aggregate bad7(int) (sfunc=addi, stype=int, foo=1);
create aggregate bad8(sfunc=addi, stype=int);
create aggregate bad9(basetype=int, sfunc=addi, stype=anyelement);
create aggregate bad10(int) (basetype=int, sfunc=addi, stype=int);
create aggregate bad11(bigint) (sfunc=int4pl, stype=int);
create aggregate mysum(int) (sfunc=addi, stype=int);
create or replace aggregate mysum(int) (sfunc=addi, stype=int, initcond='10');
create or replace aggregate mysum(int) (sfunc=int8inc, stype=bigint);
create or replace aggregate addi(int,int) (sfunc=int4pl, stype=int);
create aggregate bad12(int) (sfunc=addi, stype=int, parallel=bogus);
create aggregate bad13(int) (sfunc=addi, stype=int, sortop=<);
create aggregate bad14(int) (sfunc=addi, stype=int, combinefunc=int8pl);
create aggregate bad15(int) (sfunc=addi, stype=int, msfunc=addi);
create aggregate bad16(int) (sfunc=addi, stype=int, serialfunc=x);
create aggregate bad17(int) (sfunc=addi, stype=int, hypothetical);
create aggregate bad18(int) (sfunc=addi, stype=internal);
create function f2(int,bigint) returns int strict language sql as 'select $1';
create aggregate bad20(bigint) (sfunc=f2, stype=int);
create function f3(bigint,int) returns bigint language sql as 'select $1';
create aggregate bad21(int) (sfunc=f3, stype=int);
create aggregate bad22(int) (sfunc=addi, stype=int, finalfunc_modify=foo);
create aggregate bad23(int) (sfunc=addi, stype=int, combinefunc=f2);
create aggregate bad24(int) (sfunc=addi, stype=int, mstype=int);
create aggregate bad25(int) (sfunc=addi, stype=int, msspace=3);
create aggregate bad26(int) (sfunc=addi, stype=int, minitcond='3');
create aggregate bad27(int) (sfunc=addi, stype=int, mstype=int,msfunc=addi);
create aggregate bad28(out int) (sfunc=addi, stype=int);
create aggregate bad29(int default 3) (sfunc=addi, stype=int);
create aggregate bad30(int) (sfunc=addi, stype=int, "Sfunc1"=addi);
create aggregate bad31(anyelement) (sfunc=array_append, stype=anyarray, initcond='{}');
create aggregate bad32(int) (sfunc=array_append, stype=anyarray);
drop aggregate bad31(int);
drop function mysum(int);
drop aggregate nope(*);
drop aggregate if exists nope(int);
drop aggregate addi(int,int);
alter aggregate mysum(int) rename to s2;
alter aggregate s2(int) owner to postgres;
comment on aggregate s2(int) is 'x';
drop function addi(int,int);
alter function s2(int) strict;
alter function s2(int) rename to s3;
select pg_get_functiondef('s3'::regproc);
