-- Foreign keys: MATCH SIMPLE and FULL.
create table fkm_p (a int, b int, primary key (a, b));
create table fkm_s (id int, a int, b int, foreign key (a, b) references fkm_p match simple);
create table fkm_f (id int, a int, b int, foreign key (a, b) references fkm_p match full on delete set null on update cascade);
\d fkm_f
insert into fkm_p values (1, 1), (1, 2), (2, 2);
insert into fkm_s values (1, 1, 1), (2, null, 9), (3, 9, null), (4, null, null);
insert into fkm_s values (5, 2, 1);
insert into fkm_f values (1, 1, 1), (2, null, null);
insert into fkm_f values (3, null, 1);
insert into fkm_f values (3, 1, null);
insert into fkm_f values (3, 2, 1);
update fkm_f set a = null where id = 1;
update fkm_f set a = null, b = null where id = 1;
update fkm_f set a = 2, b = 2 where id = 1;
delete from fkm_p where a = 2;
select * from fkm_f order by id;
select confmatchtype, pg_get_constraintdef(oid) from pg_constraint where conrelid in ('fkm_s'::regclass, 'fkm_f'::regclass) and contype = 'f' order by 1;
select constraint_name, match_option from information_schema.referential_constraints where constraint_name like 'fkm%' order by 1;
create table fkm_late (a int, b int);
insert into fkm_late values (1, null);
alter table fkm_late add foreign key (a, b) references fkm_p match full;
alter table fkm_late add foreign key (a, b) references fkm_p;
-- An UPDATE of other columns finds a key that MATCH FULL forbids.
alter table fkm_late add column c int;
alter table fkm_late add constraint fkm_late_full foreign key (a, b) references fkm_p match full not valid;
update fkm_late set c = 1;
update fkm_late set c = 1, b = 1;
update fkm_late set a = null;
update fkm_late set c = 2;
drop table fkm_late, fkm_s, fkm_f, fkm_p;
