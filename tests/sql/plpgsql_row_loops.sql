-- Loops over rows whose bodies compute. The record has the row of the round that is running wherever it is
-- seen: in other statements, in sections that handle errors, and behind the loop.
CREATE TABLE loop_rows (n int, b bigint, f float8, t text);
INSERT INTO loop_rows SELECT i, i * 10, i / 4.0, 'row ' || i FROM generate_series(1, 3000) AS i;
ANALYZE loop_rows;

CREATE FUNCTION loop_sum(most int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    rows CURSOR FOR SELECT * FROM loop_rows WHERE n <= most;
    total bigint := 0;
    wide float8 := 0;
    odd int := 0;
    one record;
BEGIN
    FOR one IN rows LOOP
        total := total + one.b - one.n;
        wide := wide + one.n;
        CONTINUE WHEN one.n % 2 = 0;
        odd := odd + 1;
    END LOOP;
    RETURN concat_ws(' ', total, wide, odd, FOUND);
END $$;
SELECT most, loop_sum(most) FROM unnest(ARRAY[0, 1, 2, 9, 10, 11, 59, 60, 61, 1032, 3000]) AS most;
CREATE FUNCTION loop_query(most int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    total bigint := 0;
    one record;
BEGIN
    FOR one IN SELECT * FROM loop_rows WHERE n <= most LOOP
        total := total + one.b - one.n;
    END LOOP;
    RETURN concat_ws(' ', total, one, FOUND);
END $$;
SELECT most, loop_query(most) FROM unnest(ARRAY[0, 1, 2, 9, 10, 11, 59, 60, 61, 1032, 3000]) AS most;

-- The record behind the loop: that of the last row, and of the round that was left.
DO $$
DECLARE
    rows CURSOR FOR SELECT * FROM loop_rows;
    total bigint := 0;
    one record;
    left_at int := 0;
BEGIN
    FOR one IN SELECT * FROM loop_rows LOOP
        total := total + one.n;
    END LOOP;
    RAISE NOTICE '% %', total, one;
    WHILE left_at < 2500 LOOP
        left_at := left_at + 333;
        FOR one IN SELECT * FROM loop_rows LOOP
            total := total + one.n;
            EXIT WHEN one.n = left_at;
        END LOOP;
        RAISE NOTICE '% % %', total, one, FOUND;
    END LOOP;
END $$;
DO $$
DECLARE
    rows CURSOR FOR SELECT * FROM loop_rows;
    sum bigint := 0;
BEGIN
    FOR one IN rows LOOP
        sum := sum + one.n;
        IF one.n % 700 = 0 THEN
            RAISE NOTICE '% of %', sum, one;
            sum := 0;
        END IF;
    END LOOP;
    RAISE NOTICE 'rest %', sum;
END $$;

-- Errors and NULLs in later rounds.
TRUNCATE loop_rows;
INSERT INTO loop_rows SELECT i, CASE WHEN i IN (5, 1500) THEN NULL WHEN i IN (40, 2000) THEN 9223372036854775807 ELSE i * 10 END,
    i / 4.0, 'row ' || i FROM generate_series(1, 3000) AS i;
CREATE FUNCTION loop_checked(low int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    rows CURSOR FOR SELECT * FROM loop_rows WHERE n >= low;
    total bigint := 0;
    nulls int := 0;
    one record;
BEGIN
    FOR one IN rows LOOP
        IF one.b IS NULL THEN
            nulls := nulls + 1;
            CONTINUE;
        END IF;
        total := total + one.b;
    END LOOP;
    RETURN total || ' ' || nulls;
EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN concat_ws(' ', SQLERRM, total, nulls, one);
END $$;
SELECT low, loop_checked(low) FROM unnest(ARRAY[1, 6, 40, 41, 1999, 2000, 2001, 3000, 3001]) AS low;
CREATE FUNCTION loop_null(low int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    total bigint := 0;
    rounds int := 0;
    one record;
BEGIN
    FOR one IN SELECT * FROM loop_rows WHERE n >= low AND n < low + 30 LOOP
        total := total + one.b;
        rounds := rounds + 1;
    END LOOP;
    RETURN concat_ws(' ', rounds, total);
END $$;
SELECT low, loop_null(low) FROM unnest(ARRAY[1, 6, 1480, 1501]) AS low;
SELECT loop_null(20);

-- The body assigns to the record, and to its fields; loops over the same record are within each other.
DO $$
DECLARE
    one record;
    total bigint := 0;
BEGIN
    FOR one IN SELECT n, n AS m FROM loop_rows WHERE n < 200 LOOP
        total := total + one.n;
        IF one.n % 50 = 0 THEN
            one.m := -1000;
            total := total + one.m;
            one := ROW(7, 8);
            RAISE NOTICE '% %', total, one;
        END IF;
    END LOOP;
    RAISE NOTICE '% %', total, one;
END $$;
DO $$
DECLARE
    one record;
    total bigint := 0;
BEGIN
    FOR one IN SELECT n FROM loop_rows WHERE n <= 70 ORDER BY n LOOP
        total := total + one.n;
        IF one.n % 30 = 0 THEN
            FOR one IN SELECT n * 1000 AS m, n FROM loop_rows WHERE n <= 20 ORDER BY n LOOP
                total := total + one.m;
            END LOOP;
            RAISE NOTICE '% %', total, one;
        END IF;
    END LOOP;
    RAISE NOTICE '% %', total, one;
END $$;
DO $$
DECLARE
    outer_row record;
    inner_row record;
    total bigint := 0;
BEGIN
    FOR outer_row IN SELECT n FROM loop_rows WHERE n <= 100 LOOP
        FOR i IN 1..outer_row.n LOOP
            total := total + outer_row.n * i;
        END LOOP;
        <<again>>
        FOR inner_row IN SELECT n FROM loop_rows WHERE n <= 12 LOOP
            total := total + inner_row.n * outer_row.n;
            CONTINUE again WHEN inner_row.n < 11;
            EXIT again;
        END LOOP;
    END LOOP;
    RAISE NOTICE '%', total;
END $$;

-- Variables in the place of a record, and a record of a table's type.
DO $$
DECLARE
    a int;
    c text;
    typed loop_rows;
    total bigint := 0;
BEGIN
    FOR a, c IN SELECT n, t FROM loop_rows WHERE n <= 100 LOOP
        total := total + a;
    END LOOP;
    RAISE NOTICE '% % %', total, a, c;
    FOR typed IN SELECT * FROM loop_rows WHERE n <= 100 AND b < 2000 LOOP
        total := total + typed.b;
    END LOOP;
    RAISE NOTICE '% %', total, typed;
END $$;

-- A function within the body sees and changes nothing of the record.
CREATE FUNCTION loop_twice(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE twice int := 0; one record;
BEGIN
    FOR one IN SELECT n FROM loop_rows WHERE n <= i LOOP
        twice := twice + 2;
    END LOOP;
    RETURN twice;
END $$;
DO $$
DECLARE
    rows CURSOR FOR SELECT n FROM loop_rows WHERE n <= 130;
    total bigint := 0;
BEGIN
    FOR one IN rows LOOP
        total := total + one.n;
        total := total + loop_twice(one.n);
        total := total - one.n;
    END LOOP;
    RAISE NOTICE '%', total;
END $$;

-- Columns of no row, and rows without columns.
DO $$
DECLARE
    rows CURSOR FOR SELECT FROM loop_rows WHERE n <= 120;
    rounds int := 0;
    one record;
BEGIN
    FOR one IN rows LOOP
        rounds := rounds + 1;
    END LOOP;
    FOR one IN SELECT FROM loop_rows WHERE n <= 120 LOOP
        rounds := rounds + 1;
    END LOOP;
    RAISE NOTICE '%', rounds;
END $$;
DROP FUNCTION loop_sum(int), loop_query(int), loop_checked(int), loop_null(int), loop_twice(int);
DROP TABLE loop_rows;
