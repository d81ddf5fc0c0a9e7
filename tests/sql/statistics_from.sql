-- CREATE STATISTICS takes anything that FROM takes in its grammar, and only a table afterwards.
CREATE TABLE stat_from (a int, b int);
CREATE STATISTICS stat_values ON a, b FROM (VALUES (1, 2)) AS v (a, b);
CREATE STATISTICS stat_query ON a, b FROM (SELECT 1 AS a, 2 AS b) q;
CREATE STATISTICS stat_function ON a, b FROM generate_series(1, 2) AS g (a);
CREATE STATISTICS stat_join ON a, b FROM stat_from JOIN stat_from AS other USING (a);
DROP TABLE stat_from;
