-- The rows of cursors that fetch one at a time: the order of rows and errors, changes between two
-- fetches, moves backward, and loops whose transaction ends.
CREATE TABLE cursor_rows (n integer PRIMARY KEY, t text);
INSERT INTO cursor_rows SELECT i, 'row ' || i FROM generate_series(1, 300) AS i;
ANALYZE cursor_rows;

-- An error of the query comes when its row is asked for.
DO $$
DECLARE
    c CURSOR FOR SELECT n, 100 / (7 - n) AS q FROM cursor_rows ORDER BY n;
BEGIN
    FOR r IN c LOOP
        RAISE NOTICE 'row %: %', r.n, r.q;
    END LOOP;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT n, 100 / (7 - n) AS q FROM cursor_rows ORDER BY n;
    sum integer := 0;
BEGIN
    FOR r IN c LOOP
        sum := sum + r.q;
        EXIT WHEN r.n = 6;
    END LOOP;
    RAISE NOTICE 'sum %', sum;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT n, 100 / (7 - n) AS q FROM cursor_rows ORDER BY n;
    r record;
BEGIN
    OPEN c;
    BEGIN
        LOOP
            FETCH c INTO r;
            EXIT WHEN NOT FOUND;
        END LOOP;
    EXCEPTION WHEN division_by_zero THEN
        RAISE NOTICE 'failed behind row %: %', r.n, SQLERRM;
    END;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT n, 100 / (7 - n) AS q FROM cursor_rows ORDER BY n;
    r record;
BEGIN
    OPEN c;
    FETCH c INTO r;
    FETCH c INTO r;
    RAISE NOTICE 'at %', r.n;
    MOVE FORWARD 4 FROM c;
    FETCH c INTO r;
END $$;

-- The query sees none of the changes made after it was opened.
DO $$
DECLARE
    c CURSOR FOR SELECT n FROM cursor_rows ORDER BY n;
    seen integer := 0;
BEGIN
    FOR r IN c LOOP
        seen := seen + 1;
        DELETE FROM cursor_rows WHERE n = r.n + 1;
        UPDATE cursor_rows SET t = 'changed' WHERE n = r.n + 2;
        INSERT INTO cursor_rows VALUES (1000 + r.n);
        EXIT WHEN r.n = 150;
    END LOOP;
    RAISE NOTICE 'seen %, left %', seen, (SELECT count(*) FROM cursor_rows);
    RAISE EXCEPTION 'undone';
END $$;
SELECT count(*), sum(n) FROM cursor_rows;

-- A STABLE function is called when its row is fetched, and so is a VOLATILE one.
CREATE SEQUENCE cursor_calls;
DO $$
DECLARE
    c CURSOR FOR SELECT n, current_setting('cursor.rows', true) AS s FROM cursor_rows ORDER BY n;
BEGIN
    FOR r IN c LOOP
        RAISE NOTICE '% %', r.n, r.s;
        PERFORM set_config('cursor.rows', 'after ' || r.n, true);
        EXIT WHEN r.n = 4;
    END LOOP;
END $$;
DO $$
DECLARE
    c NO SCROLL CURSOR FOR SELECT n, nextval('cursor_calls') AS s FROM cursor_rows;
BEGIN
    FOR r IN c LOOP
        EXIT WHEN r.s = 4;
    END LOOP;
    RAISE NOTICE 'next %', nextval('cursor_calls');
END $$;
CREATE FUNCTION cursor_note(n integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'called for %', n;
    RETURN n;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT cursor_note(n) AS n FROM cursor_rows;
BEGIN
    FOR r IN c LOOP
        RAISE NOTICE 'body for %', r.n;
        EXIT WHEN r.n = 3;
    END LOOP;
END $$;

-- Another name for the cursor moves the loop on.
CREATE FUNCTION cursor_skip(c refcursor) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    skipped integer;
BEGIN
    FETCH c INTO skipped;
    RETURN skipped;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT n FROM cursor_rows ORDER BY n;
    skipped integer;
BEGIN
    FOR r IN c LOOP
        FETCH RELATIVE 3 FROM c INTO skipped;
        RAISE NOTICE '% % %', r.n, skipped, cursor_skip(c);
        EXIT WHEN r.n > 30;
    END LOOP;
END $$;

-- Moves backward: the rows are those of the snapshot.
DO $$
DECLARE
    c CURSOR FOR SELECT n FROM cursor_rows;
    r record;
    x integer;
BEGIN
    OPEN c;
    FOR i IN 1..20 LOOP
        FETCH c INTO x;
    END LOOP;
    DELETE FROM cursor_rows WHERE n < 100;
    FETCH PRIOR FROM c INTO x;
    RAISE NOTICE 'prior %', x;
    FETCH FIRST FROM c INTO x;
    RAISE NOTICE 'first %', x;
    FETCH PRIOR FROM c INTO x;
    RAISE NOTICE 'before the first % %', x, FOUND;
    FETCH NEXT FROM c INTO x;
    RAISE NOTICE 'next %', x;
    FETCH ABSOLUTE 40 FROM c INTO x;
    RAISE NOTICE 'absolute %', x;
    FETCH RELATIVE -5 FROM c INTO x;
    RAISE NOTICE 'relative %', x;
    FETCH LAST FROM c INTO x;
    RAISE NOTICE 'last %', x;
    FETCH NEXT FROM c INTO x;
    RAISE NOTICE 'behind the last % %', x, FOUND;
    FETCH PRIOR FROM c INTO x;
    RAISE NOTICE 'prior %', x;
    RAISE EXCEPTION 'undone';
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT n FROM cursor_rows WHERE n <= 3;
    x integer;
BEGIN
    OPEN c;
    LOOP
        FETCH c INTO x;
        EXIT WHEN NOT FOUND;
    END LOOP;
    FETCH PRIOR FROM c INTO x;
    RAISE NOTICE 'prior %', x;
    FETCH PRIOR FROM c INTO x;
    RAISE NOTICE 'prior %', x;
    MOVE BACKWARD ALL FROM c;
    FETCH c INTO x;
    RAISE NOTICE 'next %', x;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT count(*) AS m FROM cursor_rows GROUP BY n % 3;
    x integer;
BEGIN
    OPEN c;
    FETCH c INTO x;
    FETCH c INTO x;
    FETCH PRIOR FROM c INTO x;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT n FROM cursor_rows ORDER BY n FOR UPDATE;
    x integer;
BEGIN
    OPEN c;
    FETCH c INTO x;
    FETCH c INTO x;
    FETCH PRIOR FROM c INTO x;
END $$;
DO $$
DECLARE
    c SCROLL CURSOR FOR SELECT n FROM cursor_rows FOR UPDATE;
BEGIN
    OPEN c;
END $$;

-- A loop's cursor cannot be closed in the loop, and outlives a transaction.
DO $$
DECLARE
    c CURSOR FOR SELECT n FROM cursor_rows;
BEGIN
    c := 'looped';
    FOR r IN c LOOP
        CLOSE c;
    END LOOP;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT n FROM cursor_rows ORDER BY n;
    x integer;
BEGIN
    FOR r IN c LOOP
        IF r.n = 3 THEN
            UPDATE cursor_rows SET n = -n WHERE n = 4;
            COMMIT;
        END IF;
        IF r.n = 5 THEN
            FETCH PRIOR FROM c INTO x;
            RAISE NOTICE 'prior %', x;
            MOVE FORWARD 1 FROM c;
            ROLLBACK;
        END IF;
        RAISE NOTICE '%', r.n;
        EXIT WHEN r.n = 7;
    END LOOP;
END $$;
DO $$
DECLARE
    c CURSOR FOR SELECT n FROM cursor_rows ORDER BY n;
    x integer;
BEGIN
    c := 'closed';
    OPEN c;
    FETCH c INTO x;
    COMMIT;
    FETCH c INTO x;
END $$;
UPDATE cursor_rows SET n = 4 WHERE n = -4;

-- An error of a loop's query has no text of the query in its context.
DO $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT n, 100 / (17 - n) AS q FROM cursor_rows ORDER BY n LOOP
        RAISE NOTICE 'row %', r.n;
    END LOOP;
END $$;
DO $$
DECLARE
    r record;
BEGIN
    FOR r IN EXECUTE 'SELECT n, 100 / (17 - n) AS q FROM cursor_rows ORDER BY n' LOOP
        RAISE NOTICE 'row %', r.n;
    END LOOP;
END $$;

-- The variable keeps its row, and the rows of two cursors are apart.
DO $$
DECLARE
    a CURSOR FOR SELECT n, t FROM cursor_rows ORDER BY n;
    b CURSOR FOR SELECT n, t FROM cursor_rows ORDER BY n DESC;
    r record;
    s record;
    kept record;
BEGIN
    OPEN a;
    OPEN b;
    FETCH a INTO r;
    kept := r;
    FOR i IN 1..20 LOOP
        FETCH a INTO r;
        FETCH b INTO s;
    END LOOP;
    RAISE NOTICE '% % %', kept, r, s;
    CLOSE a;
    OPEN a;
    FETCH a INTO r;
    RAISE NOTICE '%', r;
END $$;

-- The client goes on where a function has stopped.
CREATE FUNCTION cursor_begun(c refcursor) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    x integer;
BEGIN
    OPEN c FOR SELECT n FROM cursor_rows ORDER BY n;
    FOR i IN 1..5 LOOP
        FETCH c INTO x;
    END LOOP;
    RETURN x;
END $$;
BEGIN;
SELECT cursor_begun('mine');
FETCH 3 FROM mine;
FETCH BACKWARD 2 FROM mine;
FETCH NEXT FROM mine;
COMMIT;

-- A row without columns.
DO $$
DECLARE
    c CURSOR FOR SELECT FROM cursor_rows WHERE n < 30;
    counted integer := 0;
BEGIN
    FOR r IN c LOOP
        counted := counted + 1;
    END LOOP;
    RAISE NOTICE '% rows', counted;
    FOR i IN 1..2 LOOP
        counted := 0;
        DECLARE
            r record;
        BEGIN
            FOR r IN SELECT FROM cursor_rows WHERE n < 60 * i LOOP
                counted := counted + 1;
            END LOOP;
        END;
        RAISE NOTICE '% rows', counted;
    END LOOP;
END $$;
DROP FUNCTION cursor_note, cursor_skip, cursor_begun;
DROP SEQUENCE cursor_calls;
DROP TABLE cursor_rows;
