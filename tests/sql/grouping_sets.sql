-- GROUPING SETS, ROLLUP, CUBE, GROUPING.
CREATE TABLE q (a integer, b text, c integer);
INSERT INTO q VALUES (1, 'x', 10), (1, 'y', 20), (2, 'x', 30), (2, NULL, 40), (NULL, 'y', 50);
SELECT a, b, sum(c), grouping(a), grouping(a, b) FROM q GROUP BY ROLLUP (a, b) ORDER BY 5, 1, 2;
SELECT a, b, count(*), grouping(b, a) FROM q GROUP BY CUBE (a, b) ORDER BY 4, 1, 2;
SELECT a, b, sum(c) FROM q GROUP BY GROUPING SETS ((a), (b), ()) ORDER BY 1, 2, 3;
SELECT a, b, sum(c) FROM q GROUP BY a, ROLLUP (b) ORDER BY 1, 2, 3;
SELECT a, b, sum(c) FROM q GROUP BY GROUPING SETS ((a), ROLLUP (b)) ORDER BY 1, 2, 3;
SELECT a, count(*) FROM q GROUP BY GROUPING SETS (a, a) ORDER BY 1, 2;
SELECT a, b, count(*) FROM q GROUP BY DISTINCT ROLLUP (a), ROLLUP (a, b) ORDER BY 1, 2, 3;
SELECT a, b, count(*) FROM q GROUP BY CUBE ((a, b), c) ORDER BY 1, 2, 3;
SELECT a + 1, count(*) FROM q GROUP BY ROLLUP (a + 1) HAVING grouping(a + 1) = 0 ORDER BY 1;
SELECT a, sum(c), rank() OVER (ORDER BY sum(c)) FROM q GROUP BY ROLLUP (a) ORDER BY 3;
SELECT count(*), sum(c) FROM q WHERE false GROUP BY ();
SELECT count(*), sum(c) FROM q WHERE false GROUP BY ROLLUP (a);
SELECT count(*) FROM q WHERE false GROUP BY GROUPING SETS ((), ());
SELECT count(*) FROM q WHERE false GROUP BY a;
SELECT coalesce(b, 'all'), count(DISTINCT a) FROM q GROUP BY ROLLUP (b) ORDER BY 1, 2;
SELECT 1 FROM q GROUP BY ();
SELECT grouping(a) FROM q GROUP BY a ORDER BY 1 LIMIT 1;
SELECT grouping(c) FROM q GROUP BY a;
SELECT grouping(a) FROM q;
SELECT a FROM q WHERE grouping(a) = 0;
SELECT a, c FROM q GROUP BY ROLLUP (a);
CREATE TABLE p (id integer PRIMARY KEY, v text);
SELECT id, v FROM p GROUP BY ROLLUP (id);
-- Direct arguments of ordered-set aggregates are keys, which a set may leave out.
SELECT a, rank(a) WITHIN GROUP (ORDER BY c NULLS FIRST), rank(a) WITHIN GROUP (ORDER BY c NULLS LAST) FROM q GROUP BY ROLLUP (a) ORDER BY grouping(a), a;
SELECT a, rank(a + 1) WITHIN GROUP (ORDER BY c), dense_rank(coalesce(a, 45)) WITHIN GROUP (ORDER BY c) FROM q GROUP BY CUBE (a) ORDER BY grouping(a), a;
SELECT a, b, rank(b) WITHIN GROUP (ORDER BY b NULLS LAST), count(*) FROM q GROUP BY GROUPING SETS ((a), (b), ()) ORDER BY grouping(a, b), a, b;

-- GROUPING of an outer query's keys, and in sub-selects.
create table outer_keys(a int, b int);
insert into outer_keys values (1, 1), (1, 2), (2, 1);
select a, (select grouping(outer_keys.a)) from outer_keys group by rollup(a) order by 1;
select a, (select count(*) from outer_keys i where grouping(outer_keys.a) = 0) from outer_keys group by rollup(a) order by 1;
select a, b, (select max(i.b) + grouping(outer_keys.a, outer_keys.b) from outer_keys i where i.a = outer_keys.a) from outer_keys group by cube(a, b) order by 1, 2;
select (select grouping(outer_keys.a)) from outer_keys;
select a from outer_keys where (select grouping(outer_keys.a)) = 0 group by a;
select sum(grouping(a)) from outer_keys group by a;
drop table outer_keys;
