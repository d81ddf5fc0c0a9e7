-- Rows of partitioned tables: routing, scans, changes, movement between leaves.

create table r (id int, v text, k int default 7) partition by range (id);
create table r1 partition of r for values from (0) to (10);
create table r2 partition of r for values from (10) to (20);
create table r3 partition of r for values from (20) to (maxvalue);
insert into r values (1, 'a'), (11, 'b'), (25, 'c'), (10, 'd'), (9, 'e');
select tableoid::regclass, * from r order by id;
select count(*), sum(id), min(v) from r;
select tableoid::regclass, v from r where id = 11;
select v from r where id between 5 and 15 order by v;
insert into r select g, 'g' || g from generate_series(2, 5) g;
select tableoid::regclass, count(*) from r group by 1 order by 1;
insert into r (id) values (12) returning tableoid::regclass, *;
insert into r default values;
insert into r values (-1, 'x');
insert into r values (3, 'kept?'), (-1, 'x');
select count(*) from r;
-- Directly into a leaf.
insert into r1 values (5, 'five');
insert into r1 values (15, 'no');
insert into r1 values (null, 'no');
update r1 set id = 15 where id = 5 and v = 'five';
update r1 set id = 6 where id = 5 and v = 'five' returning *;
-- UPDATE and DELETE through the parent.
update r set v = upper(v) where id < 3 and v = 'a' returning tableoid::regclass, id, v;
update r set id = id + 10 where id = 1 returning tableoid::regclass, *;
update r set id = id + 10 where id = 9;
select tableoid::regclass, id from r where id in (1, 9, 11, 19) order by 1, 2;
update r set id = -5 where id = 19;
update r set id = 1000 where id = 19 returning tableoid::regclass, id;
delete from r where id > 20 returning tableoid::regclass, id;
delete from r using (values (11), (12)) as x (id) where r.id = x.id returning r.*, x.id;
update r set v = s.v from (select 'joined' as v, 2 as id) s where r.id = s.id returning r.id, r.v;
delete from r where tableoid = 'r1'::regclass;
select tableoid::regclass, id from r order by id;
truncate r1, r2, r3;
-- Constraints of the leaves.
create table c (a int not null, b text check (b <> 'bad')) partition by list (a);
create table c1 partition of c (constraint short check (length(b) < 5)) for values in (1, 2);
create table c2 partition of c for values in (3, null);
create table cd partition of c default;
insert into c values (1, 'bad');
insert into c values (1, 'longer');
insert into c values (3, 'longer'), (4, 'default') returning tableoid::regclass, *;
insert into c values (null, 'x');
update c set b = 'bad' where a = 3;
update c set a = 2 where a = 3;
update c set a = 2, b = 'ok' where a = 3 returning tableoid::regclass, *;
insert into cd values (1, 'x');
insert into cd values (9, 'x');
select tableoid::regclass, * from c order by a, b;
drop table c;
-- Levels.
create table l (a int, b text) partition by range (a);
create table l1 partition of l for values from (0) to (10) partition by list (b);
create table l1x partition of l1 for values in ('x');
create table l1y partition of l1 for values in ('y', 'z');
create table l2 partition of l for values from (10) to (20);
insert into l values (1, 'x'), (2, 'y'), (12, 'w'), (3, 'z');
insert into l values (1, 'q');
insert into l1 values (11, 'x');
insert into l1 values (4, 'x') returning tableoid::regclass, *;
update l1 set a = 12 where b = 'y';
update l set a = 12 where b = 'y' returning tableoid::regclass, *;
update l set b = 'x' where b = 'z' returning tableoid::regclass, *;
update l set a = 1 where a = 12;
select tableoid::regclass, * from l order by a, b;
select tableoid::regclass, * from l1 order by a, b;
drop table l;
-- Hash, and a key that is an expression.
create table h (a int primary key, b text) partition by hash (a);
create table h0 partition of h for values with (modulus 3, remainder 0);
create table h1 partition of h for values with (modulus 3, remainder 1);
insert into h values (0, 'x'), (2, 'y'), (4, 'z');
select tableoid::regclass, count(*) from h group by 1 order by 1;
insert into h values (0, 'x');
insert into h select g, 'h' from generate_series(0, 20) g;
create table e (a int, b text) partition by list ((a % 3), lower(b));
create table e (a int, b text) partition by list ((a % 3));
create table e0 partition of e for values in (0);
create table e1 partition of e for values in (1);
insert into e values (3, 'x'), (4, 'y') returning tableoid::regclass, *;
insert into e values (5, 'z');
update e set a = a + 1 where a = 3 returning tableoid::regclass, *;
drop table h, e;
-- ON CONFLICT.
create table u (a int, b int, v text, primary key (a)) partition by range (a);
create table u1 partition of u for values from (0) to (10);
create table u2 partition of u for values from (10) to (20);
insert into u values (1, 1, 'a'), (11, 11, 'b');
insert into u values (1, 1, 'dup');
insert into u values (1, 1, 'dup'), (2, 2, 'new') on conflict do nothing returning tableoid::regclass, *;
insert into u values (11, 5, 'again') on conflict (a) do update set v = u.v || '+' || excluded.v, b = excluded.b returning tableoid::regclass, *;
insert into u values (11, 5, 'again') on conflict (a) do update set v = 'no' where u.b > 100;
insert into u values (11, 5, 'again') on conflict (a) do update set a = 3;
insert into u values (11, 5, 'again') on conflict (b) do nothing;
select * from u where a = 11;
select * from u where a = 1 for update;
select tableoid::regclass, a from u where a < 5 order by a for share;
update u set a = 1 where a = 2;
update u set a = 11 where a = 2;
select tableoid::regclass, * from u order by a;
-- Joins, sub-selects, sets, LIMIT.
select x.a, y.b from u x join u y on x.a = y.a order by 1;
select a from u where a in (select a from u where b = 5);
select (select v from u u2 where u2.a = u.a) from u order by a;
select a from u union all select a + 100 from u order by 1 limit 3;
select a from u order by a desc limit 1;
with moved as (delete from u where a = 11 returning *) insert into u select a - 8, b, v from moved returning tableoid::regclass, *;
-- COPY.
copy u from stdin;
15	1	copied
5	2	copied
\.
copy u from stdin;
6	1	copied
25	2	copied
\.
select tableoid::regclass, * from u order by a;
copy (select * from u order by a) to stdout;
copy u to stdout;
drop table u, r;
-- A partition that could not be made takes no rows.
CREATE TABLE half (a integer, b integer) PARTITION BY RANGE (a);
CREATE TABLE half_rest PARTITION OF half DEFAULT PARTITION BY LIST (b);
CREATE TABLE half_rest_1 PARTITION OF half_rest FOR VALUES IN (1);
INSERT INTO half VALUES (100, 1);
CREATE TABLE half_upper PARTITION OF half FOR VALUES FROM (7) TO (MAXVALUE);
INSERT INTO half VALUES (102, 2);
BEGIN;
SAVEPOINT before;
CREATE TABLE half_upper PARTITION OF half FOR VALUES FROM (7) TO (MAXVALUE);
ROLLBACK TO before;
INSERT INTO half VALUES (103, 2);
ROLLBACK;
BEGIN;
SAVEPOINT before;
CREATE TABLE half_lower PARTITION OF half FOR VALUES FROM (0) TO (7);
ROLLBACK TO before;
INSERT INTO half VALUES (3, 2);
ROLLBACK;
INSERT INTO half VALUES (3, 2);
SELECT tableoid::regclass, * FROM half;
