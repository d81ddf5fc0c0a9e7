-- Assignment to elements and slices of arrays.
-- PostgreSQL 15 differs: no hint on a SET target with its relation's name.

create table t (id int primary key, a int[], m int[][], s text[], n numeric(4,1)[], v int2vector, w name, c int, d int[] default '{7,8}');
insert into t (id, a[1], a[2]) values (1, 10, 20);
insert into t (id, a[2], a[4]) values (2, 10, 20), (3, 30, 40);
insert into t (id, a[2:3], s[1], d[2]) select 4, '{5,6}', 'x', 9;
insert into t (id, m[1][2], n[0], n[1]) values (5, 3, 1.25, null);
insert into t (id, m[1:2][1:2]) values (6, '{1,2,3,4}');
select id, a, m, s, n, d from t order by id;

update t set a[2] = 5, a[3:4] = '{6,7}' where id = 1 returning a;
update t set a[3] = a[1], a[1] = a[2] + 100 where id = 1 returning a;
update t set a[-1] = 0 where id = 1 returning a, array_dims(a);
update t set a[7] = 70 where id = 1 returning a;
update t set a[9:10] = array[90, 100, 110] where id = 1 returning a;
update t set a[-5:-4] = '{-5,-4}' where id = 1 returning a;
update t set a[:0] = array[1, 2, 3, 4, 5, 6] where id = 1 returning a;
update t set a[8:] = '{8,9,10}' where id = 1 returning a;
update t set a[:] = (select array_agg(i) from generate_series(1, 20) i) where id = 1 returning a;
update t set (a[1], s[1:2], c) = (1, array['p', 'q'], 3) where id = 1 returning a, s, c;
update t set (a[2], c) = (select 22, 33) where id = 1 returning a, c;
update t set a[1] = null, a[2:3] = null where id = 1 returning a;
update t set m[1][1] = 9, m[2][2:2] = '{8}' where id = 6 returning m;
update t set m[2] = '{5,6,7,8}' where id = 6 returning m;
update t set m[2:2] = '{5,6,7,8}' where id = 6 returning m;
update t set m[1:1][2] = '{5,6,7,8}' where id = 6 returning m;
update t set n[2] = 99.96, n[3] = '12.34' where id = 5 returning n;
update t set s[2] = 5 where id = 4 returning s;
update t set a[c] = 1 from (values (2, 3)) x(i, j) where id = 2 and a[i] = 10 returning a;
update t set a[j] = j, a[i] = i from (values (2, 3)) x(i, j) where id = 2 returning a;
update t as q set a[q.a[2]] = 2 where q.id = 2 returning a;
insert into t (id, a[1]) values (2, 1) on conflict (id) do update set a[1] = excluded.a[1] + t.a[2], s[2] = 'new' returning a, s;

-- Nothing there.
update t set a[null] = 1 where id = 1;
update t set a[1:null] = '{1}' where id = 1;
insert into t (id, a[null]) values (10, 1);
update t set a[1:2] = '{1}' where id = 1;
update t set a[3:2] = '{1}' where id = 1;
update t set a[1][1] = 1 where id = 1;
update t set a[1:2][1:1] = '{1,2}' where id = 1;
update t set a[:2] = '{1,2}' where id = 6 returning a;
update t set a[2:1] = '{}' where id = 6 returning a;
update t set a[2:1] = null where id = 6 returning a;
update t set m[3][1] = 1 where id = 6;
update t set m[1:3][1:1] = '{1,2,3}' where id = 6;
update t set m[1] = 1 where id = 6;
update t set a[2147483647] = 1 where id = 6;
update t set a[2147483646] = 1 where id = 5 returning array_dims(a);
update t set a[1] = 1 where id = 5;
update t set a[-2147483648:2147483647] = '{1}' where id = 4;
update t set a[1][2][3][4][5][6][7] = 1;

-- What may be assigned.
update t set a[1] = 'x';
update t set a[1] = true;
update t set a[1] = '{1}'::int[];
update t set a[1:2] = 1;
update t set a['x'] = 1;
update t set a[1.6] = 1 where id = 1 returning a[2];
update t set a[1] = 1, a = '{}';
update t set a = '{}', a[1] = 1;
update t set c = 1, c = 2;
update t set c[1] = 1;
update t set a.x = 1;
update t set a[1].x = 1;
update t set t.a[1] = 1;
update t set a[1] = default;
update t set v[0] = 1;
update t set v[0:1] = '{1,2}';
update t set nope[1] = 1;
insert into t (id, a[1], a) values (11, 1, '{}');
insert into t (id, a, a[1]) values (11, '{}', 1);
insert into t (id, c[1]) values (11, 1);
insert into t (id, a[1]) values (11, default);
insert into t (id, a[1]) values (11, 'x');
insert into t (id, a[1]) select 11, true;
insert into t (id, a[1], a[2]) values (11, 1);
insert into t (id, v[0]) values (11, 1);

-- Through a view and with parameters, and arrays of vectors.
create view tv as select id, a as b, c from t;
update tv set b[2] = 77, b[1] = c where id = 2 returning b;
insert into tv (id, b[1], b[3]) values (12, 1, 3) returning b;
prepare p (int, int) as update t set a[$1] = $2 where id = 12 returning a;
execute p (2, 22);
execute p (5, 55);
execute p (null, 55);
select array_dims(array_agg(x)) from (values ('1 2'::int2vector), ('3 4')) y(x);
select array_agg(x) from (values ('1 2'::int2vector), ('3 4')) y(x);
select pg_typeof(array_agg(x)) from (values ('1 2'::int2vector), ('3 4')) y(x);
select trim_array('1 2 3'::oidvector, 1), pg_typeof(trim_array('1 2 3'::oidvector, 1));
select array_agg(x) from (values ('1 2'::int2vector), ('3 4 5')) y(x);
select array_agg(x) from (values ('1 2'::oidvector), (null)) y(x);
drop view tv;
drop table t;
