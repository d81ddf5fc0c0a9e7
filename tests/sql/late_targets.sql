-- What a select list computes after ORDER BY, of the rows that are kept: volatile functions,
-- sub-selects and sets that it does not sort by.
create table late(a int, b int);
insert into late select g, g % 5 from generate_series(1, 20) g;
create sequence late_seq;

select nextval('late_seq'), a from late order by a desc limit 3;
select currval('late_seq');
select distinct on (b) b, nextval('late_seq') from late order by b, a;
select currval('late_seq');
select a, generate_series(1, 2), nextval('late_seq') from late order by a desc limit 3;
-- Sorted by, so computed of every row.
select generate_series(1, 3) g, nextval('late_seq') n from late where a < 3 order by g, 2 limit 3;
select nextval('late_seq') > 0 as n, a from late order by 1, a limit 2;
select currval('late_seq');
select b, count(*), nextval('late_seq') from late group by b order by count(*), b limit 2;
select a, row_number() over (order by a desc), nextval('late_seq') from late order by a limit 2;
select a, (select l.b from late l where l.a = late.a) from late order by a desc limit 2;
select a, (select l.b from late l where l.a = late.a) x from late order by x, a limit 2;
select a from late order by b, a fetch first 1 rows with ties;
select b, nextval('late_seq') from late where a < 12 order by b fetch first 1 rows with ties;
select b from late order by b fetch first null rows with ties;
select nextval('late_seq') from late limit 2;
select currval('late_seq');
select * from (select a, nextval('late_seq') n from late order by a offset 18) s;

drop table late;
drop sequence late_seq;
