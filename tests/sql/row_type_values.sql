-- Rows as values of their table's type: whole rows, casts, literals, columns of them
-- PostgreSQL 15 differs: it has no pg_input_is_valid
CREATE TABLE t (a integer, b text, c numeric(6, 2));
INSERT INTO t VALUES (1, 'one', 1.5), (2, NULL, 22);
CREATE TABLE u (a integer, b text, c numeric(6, 2));
CREATE SCHEMA apart;
CREATE TABLE apart.t (x date, y varchar(3));
INSERT INTO apart.t VALUES ('2024-02-29', 'abc');
CREATE VIEW v AS SELECT a, b FROM t;

-- What a whole row is
SELECT pg_typeof(t), pg_typeof(t.*), pg_typeof(t) = 't'::regtype AS same FROM t LIMIT 1;
SELECT t FROM t \gdesc
SELECT t, far, v, s, array_agg(t) AS ts FROM t JOIN apart.t far ON true JOIN v ON true CROSS JOIN (SELECT 1 AS one, 2 AS two) s GROUP BY 1, 2, 3, 4 \gdesc
SELECT pg_typeof(far), pg_typeof(v), pg_typeof(s), pg_typeof(ROW(1, 2)) FROM apart.t far, v, (SELECT 1 AS one, 2 AS two) s LIMIT 1;
SELECT pg_typeof(w), pg_typeof((w).r), pg_typeof((SELECT t FROM t LIMIT 1)) FROM (SELECT t AS r FROM t) w LIMIT 1;
SELECT pg_typeof(array_agg(t)), pg_typeof(ARRAY[t]), pg_typeof(min(t.a)) FROM t GROUP BY t LIMIT 1;
SELECT pg_typeof(c) FROM pg_class c LIMIT 1;
SELECT pg_typeof(CASE WHEN true THEN t END), pg_typeof(coalesce(t, t)), pg_typeof(nullif(t, t)) FROM t LIMIT 1;
SELECT array_agg(t ORDER BY a) FROM t;
SELECT (array_agg(t ORDER BY a))[2], ((array_agg(t ORDER BY a))[1]).b FROM t;
SELECT t FROM t WHERE t IS NOT NULL;
SELECT t.a, o FROM t LEFT JOIN u o ON false ORDER BY 1;
SELECT pg_typeof(o) FROM t LEFT JOIN u o ON false LIMIT 1;

-- Casts
SELECT ROW(1, 'x', 2.345)::t, (ROW(1, 'x', 2.345)::t).c, ROW('7', NULL, 1)::t;
SELECT row('2024-01-01', 'abcdef')::apart.t;
SELECT CAST(ROW(1, 2, 3) AS t), pg_typeof(ROW(1, 2, 3)::t);
SELECT t.*::t, t::t FROM t ORDER BY a;
SELECT NULL::t, (NULL::t).a, NULL::t IS NULL, pg_typeof(NULL::t), pg_typeof((NULL::t).c);
SELECT ROW(1, 2)::t;
SELECT ROW(1, 2, 3, 4)::t;
SELECT ROW(1, 2, true)::t;
SELECT ROW('x', 2, 3)::t;
SELECT (SELECT t FROM t LIMIT 1)::u;
SELECT t::u FROM t;
SELECT t::integer FROM t;
SELECT 1::t;
SELECT t::text, (t::text)::t FROM t ORDER BY a;
SELECT t::record, pg_typeof(t::record) FROM t ORDER BY a LIMIT 1;
SELECT s::t FROM (SELECT 1 AS one, 'x' AS two, 3 AS three) s;

-- Text
SELECT '(1,a,2.5)'::t, '( 1 ,"a b",)'::t, '(,,)'::t, ' (3,"",4) '::t, ('(1,"q""x\\y",3)'::t).b;
SELECT '("2024-05-06",abc)'::apart.t, ('("2024-05-06",abc)'::apart.t).x + 1;
SELECT t '(5,typed,5)', ('(1,a,2.5)'::t).*;
SELECT '{"(1,a,2)","(2,,)"}'::t[], ('{"(1,a,2)","(2,b,3)"}'::t[])[2].b;
SELECT '1,a,2)'::t;
SELECT '(1,a)'::t;
SELECT '(1,a,2,3)'::t;
SELECT '(1,a,2'::t;
SELECT '(1,a,2) x'::t;
SELECT '(x,a,2)'::t;
SELECT ''::t;
SELECT '("2024-05-06",abcd)'::apart.t;
SELECT '(1,2)'::record;
SELECT '("(1,a)")'::t;
SELECT pg_input_is_valid('(1,a,2)', 't'), pg_input_is_valid('(1,a)', 't');
SELECT * FROM pg_input_error_info('(1,a)', 't');

-- Columns
SELECT (t).a, (t).b, (t).* FROM t ORDER BY 1;
SELECT (x).nothing FROM (SELECT t AS x FROM t) s;
SELECT (r).c, (r).* FROM (SELECT t AS r FROM t) s ORDER BY 1;
WITH w AS (SELECT t AS r FROM t) SELECT (r).b FROM w ORDER BY (r).a;

-- Comparisons
SELECT t.a FROM t WHERE t = ROW(1, 'one', 1.5)::t;
SELECT t.a FROM t WHERE t = '(1,one,1.50)'::t;
SELECT x.a, y.a FROM t x, t y WHERE x < y;
SELECT t.a FROM t WHERE t IN (SELECT t FROM t WHERE a = 2);
SELECT DISTINCT t FROM t ORDER BY t DESC;
SELECT t FROM t UNION SELECT u FROM u;
SELECT t FROM t UNION ALL SELECT t FROM t ORDER BY 1;
SELECT t FROM t UNION SELECT ROW(1, 'one', 1.5);
SELECT count(*) FROM t x JOIN t y ON x = y;
SELECT t = 1 FROM t;
SELECT t + 1 FROM t;
SELECT upper(t) FROM t;
SELECT max(t) FROM t;
SELECT ARRAY[t] = ARRAY['(1,one,1.50)'::t] FROM t ORDER BY a;
SELECT t IS DISTINCT FROM NULL, t = t, t >= t FROM t ORDER BY a;

-- Views keep the type
CREATE VIEW rows AS SELECT t, t.a, ROW(a, b, c)::t AS made, NULL::t AS none, '(1,a,2)'::t AS read, (t).b AS part, (ROW(a, b, c)::t).c AS part_of_made
  FROM t WHERE t IS NOT NULL;
SELECT * FROM rows;
SELECT pg_get_viewdef('rows');
\d rows
SELECT column_name, data_type, udt_schema, udt_name FROM information_schema.columns WHERE table_name = 'rows' ORDER BY ordinal_position;
SELECT attname, atttypid::regtype, attlen, attalign, attstorage FROM pg_attribute WHERE attrelid = 'rows'::regclass AND attnum > 0;
SELECT (t).a, (made).b, (read).c, pg_typeof(none) FROM rows;
CREATE VIEW far AS SELECT r.y, r FROM apart.t r;
SELECT pg_get_viewdef('far');
SET search_path = apart, public;
SELECT pg_get_viewdef('public.far'), pg_typeof(r) FROM public.far;
SELECT pg_get_viewdef('public.rows');
RESET search_path;
CREATE VIEW only_type AS SELECT NULL::u AS n;
\set VERBOSITY sqlstate
DROP TABLE u;
\set VERBOSITY verbose
DROP VIEW only_type;
DROP TABLE u;
ALTER TABLE t RENAME TO renamed;
ALTER TABLE renamed RENAME COLUMN b TO bb;
SELECT pg_get_viewdef('rows');
SELECT (made).bb, pg_typeof(made) FROM rows;

-- Parameters
PREPARE p(renamed) AS SELECT $1, ($1).a, pg_typeof($1);
EXECUTE p('(9,nine,9)');
EXECUTE p(ROW(8, 'eight', 8));
EXECUTE p(NULL);
DEALLOCATE p;
PREPARE q AS SELECT a FROM renamed WHERE renamed = $1::renamed;
EXECUTE q('(1,one,1.50)');

-- A column that comes later is NULL in what was written before
CREATE TABLE grows (a integer, b text);
CREATE VIEW written AS SELECT ROW(1, 'x')::grows AS made, '(2,y)'::grows AS read, '{"(3,z)"}'::grows[] AS many;
ALTER TABLE grows ADD COLUMN c integer;
SELECT * FROM written;
SELECT (made).c, (read).c, (many[1]).c, pg_typeof(made) FROM written;
SELECT ROW(1, 'x')::grows;

-- Where what is wrong is
SELECT ('(1,a,2)'::renamed).nothing;
SELECT (NULL::renamed)[1];
SELECT pg_class(NULL);

-- JSON
CREATE TABLE j (n integer, "Odd ""name" text, d date, f numeric(4, 1), l integer[], ok boolean, at timestamp, code char(4));
INSERT INTO j VALUES (1, E'q"\n', '2024-02-29', 2.5, '{1,NULL}', true, '2024-02-29 10:11:12', 'ab');
INSERT INTO j VALUES (2);
SELECT row_to_json(j), to_json(j) FROM j ORDER BY n;
SELECT row_to_json(NULL::j), row_to_json('(3,,,,,,,)'::j), to_json(ARRAY['(3,,,,,,,)'::j]), json_build_object('row', j) FROM j WHERE n = 2;
ALTER TABLE j DROP COLUMN f;
SELECT row_to_json(j.*) FROM j WHERE n = 2;
SELECT row_to_json(o) FROM j LEFT JOIN j o ON false;
SELECT json_build_object(j, 1) FROM j WHERE n = 2;
