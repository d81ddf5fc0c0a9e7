-- CALL: arguments by position and by name, OUT and INOUT arguments, defaults, VARIADIC, overloads,
-- polymorphic arguments, errors.
CREATE TABLE log (n serial, what text);
CREATE PROCEDURE note(what text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (what) VALUES ($1); END $$;
CALL note('one');
CALL note(what => 'two');
CALL note(2);
CALL note();
CALL note('a', 'b');
CALL nothere('a');
CALL note(DISTINCT 'a');
SELECT note('one');
SELECT * FROM note('one');
CALL upper('x');
CALL note((SELECT 'x'));
CALL note(count(*)::text);
CALL note(repeat('z', 3) || 1 + 1);
SELECT * FROM log ORDER BY n;

-- The row of a CALL has the OUT and INOUT arguments.
CREATE PROCEDURE twice(a int, INOUT b int, OUT c text) LANGUAGE plpgsql
    AS $$ BEGIN b := b * a; c := 'c' || b; END $$;
CALL twice(2, 3, NULL);
CALL twice(2, 3);
CALL twice(2, b => 3, c => NULL);
CALL twice(c => NULL, b => 4, a => 3);
CALL twice(2, NULL, 'ignored');
CREATE PROCEDURE one_out(OUT x int) LANGUAGE plpgsql AS $$ BEGIN x := 42; END $$;
CALL one_out(NULL);
CALL one_out(1);
CALL one_out();
CREATE PROCEDURE nulls(INOUT a int, INOUT b text) LANGUAGE plpgsql AS $$ BEGIN END $$;
CALL nulls(1, 'x');
CALL nulls(NULL, NULL);

-- Defaults.
CREATE PROCEDURE defaults(INOUT a int, INOUT b int DEFAULT 5, INOUT c text DEFAULT 'see')
    LANGUAGE plpgsql AS $$ BEGIN a := a + b; END $$;
CALL defaults(1);
CALL defaults(1, 2);
CALL defaults(1, c => 'named');
CALL defaults(c => 'named', a => 7);
CALL defaults(b => 1);

-- VARIADIC and polymorphic arguments.
CREATE PROCEDURE total(INOUT sum int, VARIADIC more int[]) LANGUAGE plpgsql
    AS $$ DECLARE i int; BEGIN FOREACH i IN ARRAY more LOOP sum := sum + i; END LOOP; END $$;
CALL total(1, 2);
CALL total(1, 2, 3, 4);
CALL total(1, VARIADIC ARRAY[10, 20]);
CREATE PROCEDURE same(INOUT a anyelement, INOUT b anyarray) LANGUAGE plpgsql
    AS $$ BEGIN b := b || a; END $$;
CALL same(1, ARRAY[2, 3]);
CALL same('x'::text, ARRAY['y']);
CALL same(1, ARRAY['y']);

-- Overloads.
CREATE PROCEDURE which(a int, OUT r text) LANGUAGE plpgsql AS $$ BEGIN r := 'int'; END $$;
CREATE PROCEDURE which(a text, OUT r text) LANGUAGE plpgsql AS $$ BEGIN r := 'text'; END $$;
CALL which(1, NULL);
CALL which('x', NULL);
CALL which('x'::text, NULL);
CALL which(1.5, NULL);

-- Errors of the procedure, STRICT does not exist for procedures, and language SQL.
CREATE PROCEDURE fails(a int) LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 / a; END $$;
CALL fails(1);
CALL fails(0);
CREATE PROCEDURE in_sql(a int, INOUT b int) LANGUAGE sql
    AS $$ INSERT INTO log (what) VALUES ('sql ' || a); SELECT a + b $$;
CALL in_sql(1, 2);
SELECT * FROM log ORDER BY n;

-- A CALL within PL/pgSQL, with variables that take the results.
CREATE PROCEDURE outer_one(INOUT r text) LANGUAGE plpgsql AS $$
DECLARE i int := 3; t text;
BEGIN
    CALL twice(4, i, t);
    r := i || ' ' || t;
    CALL note(r);
    CALL twice(2, b => i, c => t);
    r := r || ' ' || i;
END $$;
CALL outer_one('');
DO $$ DECLARE x int := 1; BEGIN CALL twice(2, 1 + 1, NULL); END $$;
DO $$ DECLARE a int := 2; b text; BEGIN CALL nulls(a, b); RAISE NOTICE '% %', a, b; END $$;
SELECT what FROM log ORDER BY n DESC LIMIT 1;

-- Prepared statements and a block.
BEGIN;
CALL note('in a block');
ROLLBACK;
SELECT count(*) FROM log WHERE what = 'in a block';
DROP PROCEDURE note(text);
CALL note('gone');
CALL outer_one('');
