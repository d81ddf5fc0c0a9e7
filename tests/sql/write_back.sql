-- What an ORM does: all columns are written back, most of them as they were.
create table books (id int primary key, isbn text not null unique, shelf int, title varchar(40), price numeric(8,2),
    tags text[], note text, sold int not null default 0);
create index on books (shelf);
insert into books values
    (1, 'a', 10, 'one', 1.50, '{x,y}', null, 0),
    (2, 'b', 10, 'two', 2.50, null, repeat('long ', 4000), 0),
    (3, 'c', null, null, null, '{}', '', 0);
prepare whole(int, text, int, text, numeric, text[], text, int) as
    update books set id = $1, isbn = $2, shelf = $3, title = $4, price = $5, tags = $6, note = $7, sold = $8 where id = $1;
execute whole(1, 'a', 10, 'one', 1.50, '{x,y}', null, 1);
execute whole(1, 'a', 10, 'one', 1.5, '{x,y}', null, 2);
execute whole(2, 'b', 10, 'two', 2.50, null, repeat('long ', 4000), 1);
execute whole(3, 'c', null, null, null, '{}', '', 1);
execute whole(4, 'd', null, null, null, '{}', '', 1);
select id, isbn, shelf, title, price, tags, left(note, 9) as note, length(note), sold from books order by id;
-- Others change.
execute whole(1, 'a', 11, 'one', 1.50, '{x,y}', null, 3);
execute whole(3, 'c', null, 'three', null, '{}', '', 2);
execute whole(3, 'cc', null, 'three', null, '{}', 'n', 3);
select id, isbn, shelf, title, left(note, 5) as note, sold from books order by id;
select id from books where shelf = 11;
select id from books where shelf = 10;
select id from books where isbn = 'cc';
-- And may not.
execute whole(1, 'b', 11, 'one', 1.50, '{x,y}', null, 4);
execute whole(1, null, 11, 'one', 1.50, '{x,y}', null, 4);
execute whole(1, 'a', 11, repeat('x', 41), 1.50, '{x,y}', null, 4);
execute whole(1, 'a', 11, 'one', 1234567.5, '{x,y}', null, 4);
execute whole(1, 'a', 11, 'one', 1.50, '{x,y}', null, null);
select id, isbn, shelf, title, price, sold from books where id = 1;
-- What the row itself says.
prepare same(int) as update books set isbn = isbn || '', shelf = shelf + 0, title = upper(title), sold = sold + 1 where id = $1;
execute same(1);
execute same(1);
execute same(3);
select id, isbn, shelf, title, sold from books order by id;
-- Many of each, by turns.
prepare by_turns(int, text) as update books set title = $2, sold = sold + 1 where id = $1;
execute by_turns(1, 'ONE');
execute by_turns(1, 'other');
execute by_turns(1, 'other');
execute by_turns(1, 'other');
execute by_turns(1, null);
execute by_turns(1, null);
select title, sold from books where id = 1;
-- Within one transaction, and back.
begin;
execute whole(2, 'b', 10, 'two', 2.50, null, 'short', 5);
savepoint s;
execute whole(2, 'bb', 12, 'two', 2.50, null, 'short', 6);
execute whole(2, 'bb', 12, 'two', 2.50, null, 'short', 7);
rollback to s;
execute whole(2, 'b', 10, 'two', 2.50, null, 'short', 8);
commit;
select isbn, shelf, note, sold from books where id = 2;
select id from books where isbn in ('b', 'bb') or shelf = 12;
drop table books;
