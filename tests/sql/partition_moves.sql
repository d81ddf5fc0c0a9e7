-- Sessions: rows that move from partition to partition under others that wait for them.
S: create table m (a int, b int, c text) partition by range (a);
S: create table m1 partition of m for values from (0) to (10);
S: create table m2 partition of m for values from (10) to (20) partition by list (b);
S: create table m2a partition of m2 for values in (1);
S: create table m2d partition of m2 default;
S: create unique index on m (a, b);
S: insert into m values (1, 1, 'x'), (2, 2, 'x'), (3, 3, 'x'), (11, 1, 'y'), (12, 2, 'y');
-- Who changes, deletes, locks or shares it next is told.
A: begin; update m set a = a + 10 where a = 3;
B: update m set c = 'b' where a = 3;
A: commit;
S: select tableoid::regclass, * from m order by a;
A: begin; update m set a = 13 - 10 where a = 13;
B: delete from m where b = 3;
A: commit;
S: select tableoid::regclass, * from m order by a;
A: begin; update m set a = 13 where a = 3;
B: select * from m where a = 3 for update;
A: commit;
A: begin; update m set a = 3 where a = 13;
B: select * from m where b = 3 for key share;
A: commit;
A: begin; update m set a = 13 where a = 3;
B: select * from m where a = 3 for update nowait;
B: select * from m where a = 3 for update skip locked;
B: select count(*) from m where a < 10;
A: rollback;
-- After a rollback nothing has moved.
A: begin; update m set a = 13 where a = 3;
B: update m set c = 'after' where a = 3 returning *;
A: rollback;
S: select tableoid::regclass, * from m order by a;
-- From a sub-partition to its sibling, and away from where the other looks for it.
A: begin; update m set b = 7 where a = 11;
B: update m2 set c = 'q' where a = 11;
A: commit;
A: begin; update m2a set c = c || '!' ; update m set b = 1 where a = 11;
B: update m set b = 9 where b = 7;
A: commit;
S: select tableoid::regclass, * from m order by a;
-- A row that changes and stays is looked at again where it is; what it has become may take it elsewhere.
A: begin; update m set c = 'stays' where a = 2;
B: update m set a = 14, c = c || ' and goes' where a = 2 returning tableoid::regclass, *;
A: commit;
A: begin; update m set b = 5 where a = 1;
B: update m set a = 10 + b where c = 'x' returning tableoid::regclass, *;
A: commit;
S: select tableoid::regclass, * from m order by a;
-- Two that move the same row.
A: begin; update m set a = 4 where a = 14;
B: update m set a = 5 where a = 14;
A: commit;
S: select tableoid::regclass, * from m order by a;
-- Repeatable read.
B: begin isolation level repeatable read; select count(*) from m;
A: update m set a = 16 where a = 4;
B: update m set c = 'late' where a = 4;
B: rollback;
B: begin isolation level repeatable read; select count(*) from m;
A: update m set c = 'again' where a = 16;
B: update m set a = 4 where a = 16;
B: rollback;
-- The way in may be taken meanwhile, and a move waits for it.
A: begin; insert into m values (6, 6, 'taken');
B: update m set a = 6, b = 6 where a = 12;
A: commit;
A: begin; insert into m values (7, 7, 'taken');
B: insert into m values (7, 7, 'other') on conflict do nothing returning *;
A: commit;
A: begin; update m set a = 17 where a = 7;
B: insert into m values (7, 7, 'free') on conflict (a, b) do update set c = 'conflict' returning tableoid::regclass, *;
A: commit;
A: begin; update m set a = 8 where a = 17;
B: insert into m values (17, 7, 'new') on conflict (a, b) do update set c = 'conflict' returning tableoid::regclass, *;
A: rollback;
S: select tableoid::regclass, * from m order by a, b;
-- Joins and sub-selects.
A: begin; update m set a = 9 where a = 17;
B: update m set c = 'joined' from (values (17), (9)) v (x) where a = x;
A: commit;
A: begin; delete from m where a = 9;
B: update m set a = a + 10 where a = 9 returning *;
A: commit;
A: begin; update m set c = 'last' where a = 16;
B: delete from m where a = 16 and c = 'again' returning *;
A: commit;
-- A partition that comes or goes.
A: begin; create table m3 partition of m for values from (20) to (30);
B: insert into m values (25, 1, 'into it');
A: commit;
A: begin; alter table m detach partition m3;
B: select count(*) from m;
A: commit;
A: begin; alter table m attach partition m3 for values from (20) to (30);
B: insert into m values (26, 1, 'again') returning tableoid::regclass;
A: commit;
A: begin; insert into m values (27, 1, 'held');
B: drop table m3;
A: commit;
B: insert into m values (27, 1, 'gone');
S: drop table m;
