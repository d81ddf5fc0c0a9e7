-- Foreign keys: checks, and what becomes of rows whose keys go.
-- PostgreSQL 15 differs: RESTRICT has the error of NO ACTION there.
\set VERBOSITY verbose
\set SHOW_CONTEXT always
create table fka_p (id int primary key, u int unique, note text);
create table fka_noaction (id int primary key, pid int references fka_p);
create table fka_restrict (pid int references fka_p on delete restrict on update restrict);
insert into fka_p values (1, 10), (2, 20), (3, 30);
\set VERBOSITY default
insert into fka_noaction values (1, 1), (2, null);
insert into fka_noaction values (3, 4);
insert into fka_noaction values (3, 3), (4, 4), (5, 5);
update fka_noaction set pid = 7;
update fka_noaction set pid = 2 where id = 1;
delete from fka_p where id = 2;
update fka_p set id = 5 where id = 2;
update fka_p set note = 'x' where id = 2;
update fka_p set id = id where id = 2;
delete from fka_p where id = 3;
-- NO ACTION looks at the end of the statement
update fka_p set id = 3 - id where id in (1, 2);
insert into fka_restrict values (1);
update fka_p set id = 9 where id = 1;
delete from fka_p where id = 1;
\set VERBOSITY sqlstate
delete from fka_p where id = 1;
insert into fka_noaction values (8, 8);
\set VERBOSITY default
drop table fka_restrict, fka_noaction;
-- CASCADE
create table fka_c (id int primary key, pid int references fka_p on delete cascade on update cascade);
create table fka_gc (id int, cid int references fka_c on delete cascade on update cascade);
insert into fka_p values (3, 33), (4, 44);
insert into fka_c select n, 1 + n % 4 from generate_series(1, 12) n;
insert into fka_gc select n, 1 + n % 12 from generate_series(1, 24) n;
delete from fka_p where id = 1;
select count(*) from fka_c;
select count(*) from fka_gc;
update fka_p set id = id + 100;
select * from fka_c order by id;
update fka_c set id = id + 1000;
select count(*) from fka_gc where cid > 1000;
with gone as (delete from fka_p where id = 102 returning *) select count(*) from gone;
select count(*) from fka_c;
delete from fka_p;
select (select count(*) from fka_c), (select count(*) from fka_gc);
-- SET NULL, SET DEFAULT
create table fka_n (id int, pid int references fka_p on delete set null on update set null);
create table fka_d (id int, pid int default 1 references fka_p on delete set default on update set default);
insert into fka_p select n, n * 10 from generate_series(1, 6) n;
insert into fka_n values (1, 2), (2, 3), (3, 4);
insert into fka_d values (1, 2), (2, 3), (3, 4);
delete from fka_p where id = 2;
update fka_p set id = 33 where id = 3;
select * from fka_n order by id;
select * from fka_d order by id;
delete from fka_p where id = 1;
update fka_d set pid = 4;
delete from fka_p where id = 1;
delete from fka_p where id = 4;
select * from fka_d order by id;
drop table fka_n, fka_d;
-- SET NULL of some columns
create table fka_mp (a int, b int, primary key (a, b));
create table fka_mc (id int, a int, b int default 7, foreign key (a, b) references fka_mp on delete set null (b) on update cascade);
create table fka_md (id int, a int, b int default 7, foreign key (a, b) references fka_mp on delete set default (b));
\d fka_mc
insert into fka_mp values (1, 1), (1, 2), (1, 7);
insert into fka_mc values (1, 1, 1), (2, 1, 2);
insert into fka_md values (1, 1, 1);
delete from fka_mp where b = 1;
select * from fka_mc order by id;
select * from fka_md order by id;
update fka_mp set a = 5 where b = 2;
select * from fka_mc order by id;
drop table fka_mc, fka_md, fka_mp;
-- NOT NULL in the way, CHECK in the way
create table fka_nn (pid int not null references fka_p on delete set null);
insert into fka_nn values (5);
delete from fka_p where id = 5;
create table fka_ck (pid int check (pid < 100) references fka_p on update cascade);
insert into fka_ck values (6);
update fka_p set id = 600 where id = 6;
drop table fka_nn, fka_ck;
-- trees
create table fka_tree (id int primary key, up int references fka_tree on delete cascade on update cascade);
insert into fka_tree select n, nullif(n / 2, 0) from generate_series(1, 100) n;
delete from fka_tree where id = 3;
select count(*) from fka_tree;
update fka_tree set id = id + 1000 where id = 2;
select count(*) from fka_tree where up > 1000;
delete from fka_tree where id = 1;
select count(*) from fka_tree;
insert into fka_tree select n, nullif(n - 1, 0) from generate_series(1, 300) n;
delete from fka_tree where id = 1;
select count(*) from fka_tree;
-- cycles
create table fka_x (id int primary key, y int);
create table fka_y (id int primary key, x int references fka_x on delete cascade);
alter table fka_x add foreign key (y) references fka_y on delete cascade;
insert into fka_x values (1, null), (2, null);
insert into fka_y values (1, 1), (2, 2);
update fka_x set y = id;
delete from fka_x where id = 1;
select * from fka_x, fka_y;
drop table fka_x, fka_y;
-- INSERT … SELECT, ON CONFLICT, COPY, UPDATE FROM
create table fka_i (id int primary key, pid int references fka_p);
insert into fka_i select n, 6 from generate_series(1, 1000) n;
insert into fka_i select n, case when n = 1500 then 77 else 6 end from generate_series(1001, 2000) n;
select count(*) from fka_i;
insert into fka_i values (1, 77) on conflict do nothing;
insert into fka_i values (1, 6) on conflict (id) do update set pid = 78;
insert into fka_i values (5000, 79) on conflict (id) do update set pid = 6;
update fka_i set pid = v.p from (values (1, 81)) v(i, p) where id = v.i;
copy fka_i from stdin;
6001	6
6002	82
6003	83
\.
copy fka_i from stdin;
6001	6
6002	\N
\.
select count(*) from fka_i;
insert into fka_i with p as (insert into fka_p values (90, 900) returning id) select 7001, id from p;
prepare ins(int, int) as insert into fka_i values ($1, $2);
execute ins(7002, 90);
execute ins(7003, 91);
prepare del(int) as delete from fka_p where id = $1;
execute del(90);
delete from fka_i where pid = 90;
execute del(90);
begin;
savepoint s;
insert into fka_i values (8001, 92);
rollback to s;
insert into fka_p values (92, 920);
insert into fka_i values (8001, 92);
commit;
select * from fka_i where id > 8000;
-- a reference to a unique index
create table fka_u (u int references fka_p (u));
insert into fka_u values (920);
insert into fka_u values (921);
update fka_p set u = 922 where id = 92;
update fka_p set id = 93 where id = 92;
drop table fka_u, fka_i, fka_tree, fka_gc, fka_c, fka_p;
