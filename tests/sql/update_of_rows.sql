-- A row among the values of several columns.
create table pairs (a int, b int, c text);
insert into pairs values (1, 2, 'p');
update pairs set (a, b) = row(v.*) from (values (1, 100)) v(i, j) where pairs.a = v.i;
table pairs;
update pairs set (a, b, c) = (v.*, default) from (values (7, 8)) v(i, j);
table pairs;
update pairs set (a, b) = row(v.*) from (values (1, 2, 3)) v;
drop table pairs;

-- Rows whose columns are of other types are not compared.
create table alike(a int, b text);
insert into alike values (1, 'x');
select alike = row(1, 'x'::text) from alike;
select alike = row(1::bigint, 'x'::text) from alike;
select alike = row('1', 'x') from alike;
select (alike.*)::text from alike;
drop table alike;
