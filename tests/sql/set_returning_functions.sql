-- Users' functions that return sets and rows: in FROM, in the select list, with column definition
-- lists and ordinals.
-- PostgreSQL 15 differs: the detail of a row of another shape names no column
CREATE TABLE t (id int PRIMARY KEY, name text);
INSERT INTO t SELECT n, 'row ' || n FROM generate_series(1, 5) n;
CREATE FUNCTION numbers(n int) RETURNS SETOF int LANGUAGE plpgsql
    AS $$ BEGIN FOR i IN 1..n LOOP RETURN NEXT i; END LOOP; END $$;
SELECT * FROM numbers(3);
SELECT * FROM numbers(3) AS q;
SELECT q FROM numbers(3) AS q;
SELECT x + 1 FROM numbers(3) AS q(x);
SELECT * FROM numbers(0);
SELECT * FROM numbers(NULL);
SELECT * FROM numbers(3) WITH ORDINALITY;
SELECT * FROM numbers(2) WITH ORDINALITY AS q(a, b);
SELECT numbers(3);
SELECT numbers(2), numbers(3), 'x';
SELECT numbers(2) + 10;
SELECT id, numbers(id) FROM t WHERE id < 4 ORDER BY 1, 2;
SELECT numbers(3) LIMIT 2;
SELECT count(*) FROM numbers(1000);
SELECT id FROM t WHERE id IN (SELECT numbers(2));
SELECT id FROM t WHERE id = numbers(2);
SELECT CASE WHEN true THEN numbers(2) END;
SELECT numbers(numbers(2));

-- STRICT.
CREATE FUNCTION strict_set(n int) RETURNS SETOF int LANGUAGE plpgsql STRICT
    AS $$ BEGIN RETURN NEXT n; RETURN NEXT n; END $$;
SELECT * FROM strict_set(NULL);
SELECT strict_set(NULL);
SELECT * FROM strict_set(7);
CREATE FUNCTION strict_one(n int) RETURNS int LANGUAGE plpgsql STRICT
    AS $$ BEGIN RAISE NOTICE 'called with %', n; RETURN n; END $$;
SELECT strict_one(NULL), strict_one(1);

-- RETURNS TABLE, OUT arguments, row types.
CREATE FUNCTION rows_to(n int) RETURNS TABLE (a int, b text) LANGUAGE plpgsql
    AS $$ BEGIN RETURN QUERY SELECT id, name FROM t WHERE id <= n ORDER BY id; END $$;
SELECT * FROM rows_to(2);
SELECT b, a FROM rows_to(2) AS r;
SELECT r FROM rows_to(2) AS r;
SELECT r.* FROM rows_to(2) AS r(x, y);
SELECT rows_to(2);
SELECT (rows_to(2)).*;
SELECT (rows_to(2)).b;
SELECT * FROM rows_to(2) WITH ORDINALITY;
SELECT * FROM ROWS FROM (rows_to(2), numbers(3)) WITH ORDINALITY AS q(a, b, c, d);
SELECT t.id, r.a FROM t, rows_to(t.id) AS r WHERE t.id < 4 ORDER BY 1, 2;
SELECT t.id, r.a FROM t LEFT JOIN LATERAL rows_to(t.id - 2) AS r ON true ORDER BY 1, 2;
CREATE FUNCTION outs(i int, OUT a int, OUT b text) LANGUAGE plpgsql
    AS $$ BEGIN a := i; b := 'b' || i; END $$;
SELECT outs(1);
SELECT * FROM outs(1);
SELECT (outs(id)).b FROM t ORDER BY id LIMIT 2;
SELECT o.* FROM t, outs(t.id) o ORDER BY 1 LIMIT 2;
CREATE FUNCTION one_out(OUT a int) LANGUAGE plpgsql AS $$ BEGIN a := 5; END $$;
SELECT one_out();
SELECT * FROM one_out();
SELECT * FROM one_out() AS q;
CREATE FUNCTION set_of_out(n int, OUT a int, OUT b int) RETURNS SETOF record LANGUAGE plpgsql
    AS $$ BEGIN FOR i IN 1..n LOOP a := i; b := i * i; RETURN NEXT; END LOOP; END $$;
SELECT * FROM set_of_out(3);
SELECT set_of_out(2);
CREATE FUNCTION whole_rows(n int) RETURNS SETOF t LANGUAGE plpgsql
    AS $$ BEGIN RETURN QUERY SELECT * FROM t WHERE id <= n ORDER BY id; END $$;
SELECT * FROM whole_rows(2);
SELECT whole_rows(2);
SELECT name FROM whole_rows(3) WHERE id > 1;
SELECT (whole_rows(2)).name;
SELECT w FROM whole_rows(1) w;
CREATE FUNCTION one_row(n int) RETURNS t LANGUAGE plpgsql
    AS $$ DECLARE r t; BEGIN SELECT * INTO r FROM t WHERE id = n; RETURN r; END $$;
SELECT * FROM one_row(2);
SELECT one_row(2);
SELECT (one_row(3)).name;
SELECT * FROM one_row(99);
SELECT one_row(99) IS NULL;

-- Column definition lists.
CREATE FUNCTION records(n int) RETURNS SETOF record LANGUAGE plpgsql
    AS $$ BEGIN RETURN QUERY SELECT id, name FROM t WHERE id <= n ORDER BY id; END $$;
SELECT * FROM records(2) AS (a int, b text);
SELECT * FROM records(2) AS r(a int, b text) WHERE a = 2;
SELECT * FROM ROWS FROM (records(1) AS (a int, b text), numbers(2)) WITH ORDINALITY;
SELECT * FROM records(2);
SELECT * FROM records(2) AS r;
SELECT * FROM records(2) AS r(a int);
SELECT * FROM records(2) AS r(a int, b text, c int);
SELECT * FROM records(2) AS r(a int, b int);
SELECT * FROM rows_to(2) AS r(a int, b text);
SELECT * FROM whole_rows(2) AS r(a int, b text);
SELECT * FROM numbers(2) AS r(a int);
SELECT * FROM records(2) WITH ORDINALITY AS r(a int, b text);
SELECT * FROM ROWS FROM (records(1), numbers(2)) AS r(a int, b text);
CREATE FUNCTION one_record(n int) RETURNS record LANGUAGE plpgsql
    AS $$ DECLARE r record; BEGIN SELECT id, name INTO r FROM t WHERE id = n; RETURN r; END $$;
SELECT one_record(1);
SELECT * FROM one_record(1) AS (a int, b text);
SELECT (one_record(1)).id;
SELECT * FROM one_record(1) AS (a int, b int);

-- Language SQL.
CREATE FUNCTION sql_rows(n int) RETURNS SETOF t LANGUAGE sql
    AS $$ SELECT * FROM t WHERE id <= n ORDER BY id $$;
SELECT * FROM sql_rows(2);
SELECT sql_rows(2);
CREATE FUNCTION sql_table(n int) RETURNS TABLE (x int, y text) LANGUAGE sql VOLATILE
    AS $$ SELECT id, name FROM t WHERE id <= n ORDER BY id $$;
SELECT * FROM sql_table(2);
SELECT x FROM sql_table(5) LIMIT 1;

-- Functions in other places: WHERE, defaults, checks, indexes, generated columns, RETURNING.
CREATE FUNCTION doubled(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN n * 2; END $$;
SELECT id FROM t WHERE doubled(id) > 6 ORDER BY id;
SELECT id FROM t WHERE id = doubled(2);
CREATE TABLE uses (
    id int DEFAULT doubled(21),
    twice int GENERATED ALWAYS AS (doubled(id)) STORED,
    CHECK (doubled(id) < 1000)
);
INSERT INTO uses DEFAULT VALUES;
INSERT INTO uses VALUES (7), (500);
INSERT INTO uses VALUES (7) RETURNING doubled(twice);
SELECT * FROM uses ORDER BY 1;
CREATE INDEX uses_doubled ON uses (doubled(id));
INSERT INTO uses VALUES (8);
SET enable_seqscan = off;
SELECT id FROM uses WHERE doubled(id) = 16;
RESET enable_seqscan;
UPDATE uses SET id = doubled(id) WHERE id = 7;
SELECT * FROM uses ORDER BY 1;
SELECT doubled(id), count(*) FROM t GROUP BY doubled(id) ORDER BY doubled(id) DESC LIMIT 2;
SELECT id, sum(doubled(id)) OVER (ORDER BY id) FROM t;
CREATE VIEW v AS SELECT id, doubled(id) AS d FROM t;
SELECT * FROM v WHERE d = 4;
SELECT t1.id, t2.id FROM t t1 JOIN t t2 ON doubled(t1.id) = t2.id ORDER BY 1;
PREPARE p(int) AS SELECT doubled($1), * FROM rows_to($1);
EXECUTE p(1);
EXECUTE p(2);
CREATE TABLE parts (k int, v text) PARTITION BY LIST (k);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT 1 + i % 2, 'v' || i FROM generate_series(1, 6) i;
CREATE FUNCTION of_part(p int) RETURNS SETOF text LANGUAGE plpgsql
    AS $$ BEGIN RETURN QUERY SELECT v FROM parts WHERE k = p ORDER BY v; END $$;
SELECT * FROM of_part(1);
SELECT * FROM of_part(2);
SELECT * FROM of_part(3);

-- A changed function is compiled anew.
CREATE OR REPLACE FUNCTION doubled(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE
    AS $$ BEGIN RETURN n * 20; END $$;
EXECUTE p(1);
SELECT doubled(1);
DROP FUNCTION rows_to(int);
EXECUTE p(1);
