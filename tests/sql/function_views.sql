-- PostgreSQL 15 differs: pg_get_viewdef qualifies columns there.
-- Views over functions whose columns come from a column definition list, and over rows as their ancestors'.
CREATE FUNCTION two() RETURNS SETOF record LANGUAGE sql AS $$ SELECT 1, 'a'::text $$;
CREATE VIEW defined AS SELECT * FROM two() AS t (a integer, "B" text);
SELECT pg_get_viewdef('defined');
SELECT * FROM defined;
CREATE VIEW joined AS SELECT x.a, y.a AS b FROM two() x (a integer, b text) JOIN two() AS y (a integer, b text) USING (b);
SELECT pg_get_viewdef('joined');
SELECT * FROM joined;
CREATE VIEW numbered AS SELECT * FROM ROWS FROM (two() AS (a integer, b text), generate_series(1, 2)) WITH ORDINALITY AS t;
SELECT pg_get_viewdef('numbered');
SELECT * FROM numbered;
CREATE TABLE ancestor (a integer, b text);
CREATE TABLE heir () INHERITS (ancestor);
CREATE TABLE other (c integer) INHERITS (ancestor);
INSERT INTO heir VALUES (1, 'x');
INSERT INTO other VALUES (2, 'y', 3);
CREATE VIEW heirs AS SELECT heir::ancestor AS row, (heir::ancestor).b AS field FROM heir WHERE heir::ancestor IS NOT NULL;
SELECT pg_get_viewdef('heirs');
SELECT * FROM heirs;
