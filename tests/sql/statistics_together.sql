-- What CREATE STATISTICS found about several columns together decides how joins are done.
create table cars (id int, make int, line int, model int);
insert into cars select i, (i % 100) / 10, (i % 100) / 2, i % 100 from generate_series(1, 20000) i;
create table owners (car int, name text);
insert into owners select i, 'owner ' || i from generate_series(1, 20000) i;
create index on owners (car);
analyze cars;
analyze owners;
set enable_bitmapscan = off;
set max_parallel_workers_per_gather = 0;

-- taken to be independent: hardly a car
explain (costs off) select * from cars c join owners o on o.car = c.id where c.make = 3 and c.line = 17 and c.model = 35;
explain (costs off) select * from cars c join owners o on o.car = c.id where c.make < 3 and c.model > 35;
create statistics decided (dependencies) on make, line, model from cars;
analyze cars;
explain (costs off) select * from cars c join owners o on o.car = c.id where c.make = 3 and c.line = 17 and c.model = 35;
explain (costs off) select * from cars c join owners o on o.car = c.id where c.make = 3 and c.line = 17 and c.model > 98;
drop statistics decided;
create statistics common (mcv) on make, line, model from cars;
analyze cars;
explain (costs off) select * from cars c join owners o on o.car = c.id where c.make = 3 and c.line = 17 and c.model = 35;
-- no such car
explain (costs off) select * from cars c join owners o on o.car = c.id where c.make < 3 and c.model > 35;
explain (costs off) select * from cars c join owners o on o.car = c.id where not (c.make >= 3 or c.model <= 35);
drop statistics common;
explain (costs off) select * from cars c join owners o on o.car = c.id where c.make = 3 and c.line = 17 and c.model = 35;
explain (costs off) select * from cars c join owners o on o.car = c.id where c.make < 3 and c.model > 35;
drop table cars, owners;
