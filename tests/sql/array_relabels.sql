-- Casts between arrays whose elements only look different, types without an order below DISTINCT, collations of set operations.

select '{23}'::oid[]::regtype[], '{23}'::oid[]::regclass[], array_agg(x)::regtype[] from (values (23::oid)) v(x);
select ('{23,25}'::oid[]::regtype[])[2], array_append('{23}'::oid[]::regtype[], 25::regtype), '{23}'::oid[]::regtype[]::text;
select unnest('{23,1043}'::oid[]::regtype[]);
select '{integer}'::regtype[]::oid[], '{1,2}'::int[]::oid[], '{1,2}'::oid[]::int[], '{a,b}'::varchar[]::text[], '{a,b}'::text[]::varchar[];
select '1 2'::oidvector::regtype[], '{{23,25},{20,21}}'::oid[]::regtype[], '{}'::oid[]::regtype[], '{null,23}'::oid[]::regtype[];
select x::regtype[], x::regtype[]::oid[] from (values ('{23}'::oid[]), (null), ('{25,20}')) v(x);
select proargtypes::regtype[] from pg_proc where oid = 'int4pl'::regproc;
select 23 = any ('{23}'::int[]::oid[]), '{1}'::int[]::oid[] = '{1}'::oid[];

select count(distinct x) from (values ('1'::xid), ('2')) v(x);
select count(distinct x) from (values ('1'::xid), ('2')) v(x) group by x;
select array_agg(distinct x order by x) from (values ('1'::xid), ('2')) v(x);
select array_agg(x order by x) from (values ('1'::xid), ('2')) v(x);
select string_agg(distinct y, ',' order by y), count(distinct row(y)) from (values ('1'), ('2'), ('1')) v(y);
select distinct x from (values ('1'::xid), ('1')) v(x);
select x from (values ('1'::xid), ('1')) v(x) union select '3'::xid order by 1;

create table c2 (a text collate "C", b text collate "POSIX", d text);
insert into c2 values ('a', 'b', 'd');
select a from c2 union select b from c2;
select a from c2 union all select b from c2;
select a from c2 intersect all select b from c2;
select a from c2 except select b from c2;
select a collate "C" from c2 union select b collate "POSIX" from c2;
select a collate "C" from c2 union all select b collate "POSIX" from c2;
select a collate "C" from c2 union all select b from c2;
select a from c2 union select b collate "C" from c2 order by 1;
(select a collate "C" from c2 union select d from c2) union all select d collate "POSIX" from c2 order by 1;
select d from c2 union select b from c2 order by 1;
create view cv as select a collate "C" as x from c2 union all select b collate "POSIX" from c2;
create view cv as select a from c2 union all select b from c2;
create view cv as select a from c2 union all select b collate "C" from c2;
select attcollation::regcollation from pg_attribute where attrelid = 'cv'::regclass;
drop view cv;
drop table c2;
