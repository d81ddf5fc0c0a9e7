-- Plans over partitioned tables: the leaves as PostgreSQL shows them.
-- PostgreSQL 15 differs: EXPLAIN ANALYZE tells rows without decimals

create table r (id int primary key, v text, k int default 7) partition by range (id);
create table r1 partition of r for values from (0) to (10);
create table r2 partition of r for values from (10) to (20);
create table r3 partition of r default;
create table one (a int) partition by list (a);
create table none (a int) partition by list (a);
create table one1 partition of one for values in (1, 2, 3);
create table l (a int, b text) partition by range (a);
create table l3 partition of l default;
create table l1 partition of l for values from (0) to (10) partition by list (b);
create table l1y partition of l1 for values in ('y', 'z');
create table l1x partition of l1 for values in ('x');
create table l2 partition of l for values from (-10) to (0);
explain (costs off) select * from r;
explain (costs off) select * from r where v = 'x';
explain (costs off) select * from r as "R" where v = 'x' order by id;
explain (costs off) select count(*) from r where v > 'b';
explain (costs off) select v, count(*) from r where v > 'b' group by v;
explain (costs off) select * from l where length(b) = 1;
explain (costs off) select * from l1 where a = 5;
explain (costs off) select * from one where a > 0;
explain (costs off) select * from one order by a;
explain (costs off) select * from none;
explain (costs off) update r set v = 'x' where v = 'y';
explain (costs off) delete from r where v = 'y';
explain (costs off) update one set a = 2 where a > 1;
explain (costs off) delete from one1 where a > 1;
explain (costs off) insert into r values (1);
explain (costs off, verbose) select id + 1 from r where v = 'x';
explain (costs off) select * from r where v = 'x' for update;
insert into one values (1), (2), (3);
explain (costs off, analyze, timing off, summary off, buffers off) select * from one where a < 3;
explain (costs off, analyze, timing off, summary off, buffers off) delete from l where length(b) = 1;
drop table r, one, none, l;
