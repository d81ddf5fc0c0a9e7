-- What random tables, bounds and predicates have found: one case each.

-- Row comparisons between different types of date and time.
set time zone 'America/New_York';
create table times(id int, d date, t timestamp, z timestamptz) partition by range (d, z);
create table times_1 partition of times for values from (minvalue, minvalue) to ('2000-01-01', '2000-01-01 05:00Z');
create table times_2 partition of times for values from ('2000-01-01', '2000-01-01 05:00Z') to ('2020-01-01', maxvalue);
create table times_d partition of times default;
insert into times values (1, '1999-12-31', '1999-12-31 23:59', '1999-12-31 12:00Z'), (2, '2000-01-01', '2000-01-01', '2000-01-01 05:00Z'),
  (3, '2000-01-01', '2000-01-01 00:01', '2000-01-01 04:59Z'), (4, 'infinity', '-infinity', 'infinity'), (5, '-infinity', 'infinity', '-infinity'), (6, null, null, null);
select id, tableoid::regclass from times where (d, z) < ('2000-01-01'::timestamp, '2000-01-01'::date) order by id;
select id, tableoid::regclass from times where (d, z) >= ('2000-01-01 00:00:00.000001'::timestamp, now()) order by id;
select id from times where (t, id) <= ('2000-01-01 05:00Z'::timestamptz, 2) order by id;
select id from times where (z, d) > ('2000-01-01'::timestamp, '1999-12-31 23:00'::timestamp) order by id;
select id from times where (d, t) = ('2000-01-01 05:00Z'::timestamptz, '2000-01-01'::date) order by id;
select id from times where (id, z) < (4, '2000-01-01'::timestamp) order by id;
prepare by_row(date, timestamp) as select id, tableoid::regclass from times where (z, d) < ($1, $2) order by id;
execute by_row('2000-01-01', '2000-01-01'); execute by_row('infinity', 'infinity'); execute by_row(null, '2000-01-01');
drop table times;

-- Rows of a table that is attached belong there by the bounds of all levels above.
create table top(a int, b int) partition by list (a);
create table middle partition of top for values in (1, 2) partition by range (b);
create table low(b int, a int);
insert into low values (5, 3);
alter table middle attach partition low default;
alter table middle attach partition low for values from (0) to (10);
update low set a = 2;
alter table middle attach partition low for values from (0) to (5);
alter table middle attach partition low for values from (0) to (10);
select tableoid::regclass, * from top;
drop table top;
create table low(b int, a int) partition by list (b);
create table lowest(b int, a int);
insert into lowest values (5, 3);
alter table low attach partition lowest for values in (5);
create table top(a int, b int) partition by list (a);
create table middle partition of top for values in (1, 2) partition by range (b);
alter table middle attach partition low default;
update low set a = 1;
alter table middle attach partition low default;
select tableoid::regclass, * from top;
drop table top;

-- A unique index covers the keys of all levels, or it is no index of any.
create table top(id int, a int, b int) partition by list (a);
create table middle partition of top default partition by range (b);
create table low partition of middle default;
create unique index on top(id, a);
alter table top add primary key (id, a);
create unique index on top(id, a, b);
create table other partition of top for values in (1) partition by list ((b % 2));
create table other(id int not null, a int, b int) partition by list (id);
alter table top attach partition other for values in (1);
insert into top values (1, 2, 3), (1, 1, 3);
insert into top values (1, 1, 3);
insert into top values (1, 2, 3);
drop table top;
create table top(id int, a int, b int, primary key (id, a)) partition by list (a);
create table middle partition of top default partition by range (b);
create table middle(id int not null, a int not null, b int) partition by range (b);
alter table top attach partition middle default;
drop table top, middle;

-- A default partition that is partitioned itself: CREATE names it, ATTACH the leaf.
create table top(a int, b int) partition by list (a);
create table rest partition of top default partition by list (b);
create table rest_1 partition of rest default;
insert into top values (1, 1), (2, 2);
create table one partition of top for values in (1);
create table one(a int, b int);
alter table top attach partition one for values in (1);
alter table top attach partition one for values in (3);
drop table top;
