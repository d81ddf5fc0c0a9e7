-- Foreign keys to and from partitioned tables.
create table fkp_p (id int primary key);
insert into fkp_p select generate_series(1, 40);
create table fkp_c (id int, pid int references fkp_p on delete cascade, k int) partition by range (k);
create table fkp_c1 partition of fkp_c for values from (0) to (10);
create table fkp_c2 (k int, pid int, x int, id int);
alter table fkp_c2 drop column x;
insert into fkp_c2 values (15, 99, 1);
alter table fkp_c attach partition fkp_c2 for values from (10) to (20);
delete from fkp_c2;
alter table fkp_c attach partition fkp_c2 for values from (10) to (20);
\d fkp_c
\d fkp_c1
\d fkp_c2
\d fkp_p
insert into fkp_c values (1, 1, 1), (2, 2, 11);
insert into fkp_c values (3, 99, 1);
insert into fkp_c values (3, 99, 11);
insert into fkp_c2 (id, pid, k) values (3, 98, 12);
update fkp_c set k = 12 where id = 1;
update fkp_c set pid = 97, k = 2 where id = 1;
update fkp_c set pid = 3, k = 2 where id = 1;
select tableoid::regclass, * from fkp_c order by id;
delete from fkp_p where id = 3;
select * from fkp_c order by id;
alter table fkp_c1 drop constraint fkp_c_pid_fkey;
alter table fkp_c drop constraint fkp_c_pid_fkey;
\d fkp_c2
alter table only fkp_c add foreign key (pid) references fkp_p;
insert into fkp_c values (5, 50, 5);
alter table fkp_c add foreign key (pid) references fkp_p;
delete from fkp_c where id = 5;
alter table fkp_c add foreign key (pid) references fkp_p;
alter table fkp_c detach partition fkp_c2;
\d fkp_c2
alter table fkp_c attach partition fkp_c2 for values from (10) to (20);
\d fkp_c2
drop table fkp_c;
-- to a partitioned table
create table fkp_pp (id int, k int, note text, primary key (k, id)) partition by list (k);
create table fkp_pp1 partition of fkp_pp for values in (1);
create table fkp_pp2 partition of fkp_pp for values in (2, 3) partition by hash (id);
create table fkp_pp21 partition of fkp_pp2 for values with (modulus 2, remainder 0);
create table fkp_pp22 partition of fkp_pp2 for values with (modulus 2, remainder 1);
insert into fkp_pp select n, 1 + n % 3, 'x' from generate_series(1, 30) n;
create table fkp_cc (id int, k int, pid int, foreign key (k, pid) references fkp_pp (k, id) on update cascade);
create table fkp_cd (k int, pid int, foreign key (k, pid) references fkp_pp (k, id) on delete cascade);
\d fkp_cc
insert into fkp_cc values (1, 1, 3), (2, 2, 4), (3, 3, 5);
insert into fkp_cc values (4, 1, 4);
insert into fkp_cc values (4, 7, 4);
insert into fkp_cd values (1, 3), (2, 7);
-- The constraint of a partition has another name in PostgreSQL.
\set VERBOSITY sqlstate
delete from fkp_pp where id = 3;
\set VERBOSITY default
delete from fkp_pp where id = 7;
select * from fkp_cd;
update fkp_pp set note = 'y';
update fkp_pp set k = 3 where id = 4;
select * from fkp_cc order by id;
update fkp_pp set k = 1 where id = 4;
select * from fkp_cc order by id;
\set VERBOSITY sqlstate
delete from fkp_pp1 where id = 4;
\set VERBOSITY default
truncate fkp_pp1;
-- Partitions that rows refer to stay.
\set VERBOSITY sqlstate
alter table fkp_pp detach partition fkp_pp1;
drop table fkp_pp1;
alter table fkp_pp2 detach partition fkp_pp21;
\set VERBOSITY default
delete from fkp_cc where k = 1;
delete from fkp_cd;
alter table fkp_pp detach partition fkp_pp1;
insert into fkp_cc values (9, 1, 3);
\d fkp_pp1
alter table fkp_pp attach partition fkp_pp1 for values in (1);
insert into fkp_cc values (9, 1, 3);
truncate fkp_pp;
drop table fkp_cd, fkp_cc, fkp_pp, fkp_p;
