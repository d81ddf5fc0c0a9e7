-- GROUP BY's keys that tell no groups apart.
-- PostgreSQL 15 differs: it knows only primary keys, and keeps keys that are equal
create table items (id int primary key, kind int not null, place int not null, note text, doc text[], unique (kind, place));
create table parts (id int primary key, item int, size int, label varchar(10), unique (label));
insert into items select i, i % 4, i / 4, nullif('n' || i % 3, 'n1'), array[i::text] from generate_series(1, 40) i;
insert into parts select i, i % 41, i % 3, nullif('l' || i, 'l5') from generate_series(1, 120) i;
vacuum analyze items, parts;
set max_parallel_workers_per_gather = 0;
-- Columns that depend on a primary key.
explain (costs off) select id, note, count(*) from items group by id, note;
explain (costs off) select i.id, i.note, i.place, count(*) from items i join parts p on p.item = i.id group by i.note, i.id, i.place;
select i.id, i.note, i.place, count(*), sum(p.size) from items i join parts p on p.item = i.id where i.id < 5
  group by i.note, i.id, i.place order by i.id;
select id, note, doc, count(*) from items where id < 4 group by id order by id;
select i.note || '!' as n, i.id, count(*) from items i join parts p on p.item = i.id where i.id < 5
  group by i.note, i.id having i.note is not null order by n, i.id;
-- Of a unique index whose columns are never NULL; of one whose column may be.
explain (costs off) select note, kind, place, count(*) from items group by note, kind, place;
select note, kind, place, count(*) from items where place < 2 group by note, kind, place order by kind, place;
explain (costs off) select label, size, count(*) from parts group by label, size;
-- Columns that are equal to another key, or to a constant.
explain (costs off) select i.id, p.item, count(*) from items i, parts p where p.item = i.id group by i.id, p.item;
select i.id, p.item, count(*) from items i, parts p where p.item = i.id and i.id < 4 group by i.id, p.item order by 2;
explain (costs off) select size, item, count(*) from parts where size = 2 group by size, item;
select size, item, count(*) from parts where size = 2 and item < 5 group by size, item order by item;
select size, count(*) from parts where size = 2 and id < 0 group by size, size;
select size, item, count(*) from parts where size = 2 and item = 7 group by size, item;
select size, item, count(*) from parts where size = 2 and item = 7777 group by size, item;
-- An outer join's condition holds for no row that it pads.
select i.id, p.item, count(*) from items i left join parts p on p.item = i.id and p.size = 1
  where i.id in (1, 2, 40) group by i.id, p.item order by 1, 2;
select p.size, p.item, count(i.*) from parts p full join items i on i.id = p.item and i.id > 100 where p.id is null or p.id < 3
  group by p.size, p.item order by 1, 2;
-- Padded rows are one group.
select i.id, i.note, i.kind, count(*) from parts p left join items i on i.id = p.item and i.id < 3 group by i.id, i.note, i.kind order by i.id;
-- Numbers that are equal and yet not the same.
create table n (a numeric, b numeric);
insert into n values (1.0, 1.00), (1.00, 1.0), (2, 2.0);
select max(scale(a)), count(*) from (select a, b, count(*) from n where a = b group by a, b) s group by scale(a) >= 0;
-- Grouping sets keep theirs.
select id, note, count(*) from items where id < 3 group by grouping sets ((id, note), (note)) order by 1, 2;
-- An index that goes away takes its plan with it.
prepare groups as select note, kind, place, count(*) from items where place = 1 group by note, kind, place order by kind, note;
execute groups;
alter table items drop constraint items_kind_place_key;
insert into items values (100, 1, 1, 'other', '{}');
execute groups;
-- Inheritance: other tables may have the same key.
create table heir () inherits (items);
insert into heir values (1, 0, 0, 'of the heir', '{}');
select id, note, count(*) from items where id = 1 group by id, note order by note;
drop table heir, items, parts, n;
