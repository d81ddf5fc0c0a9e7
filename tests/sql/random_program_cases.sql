-- Where random programs differed from PostgreSQL once (the runner `differential`).
\pset null ∅
CREATE TABLE t (id int PRIMARY KEY, a int, c text);
-- OPEN with arguments runs a SELECT INTO for them: FOUND is set.
DO $$
DECLARE cb CURSOR (lo int) FOR SELECT * FROM t WHERE id > lo; n bigint;
BEGIN
  RAISE NOTICE 'before %', FOUND;
  OPEN cb(3);
  GET DIAGNOSTICS n = ROW_COUNT;
  RAISE NOTICE 'open % %', FOUND, n;
  CLOSE cb;
  FOR r IN cb(lo := 1) LOOP NULL; END LOOP;
  RAISE NOTICE 'after the loop %', FOUND;
END $$;
-- A row variable that gets no row is a row of NULLs.
DO $$
DECLARE r t%ROWTYPE; k t; cu refcursor;
BEGIN
  RAISE NOTICE '%', r;
  SELECT * INTO r FROM t;
  RAISE NOTICE '% %', r, r IS NULL;
  OPEN cu FOR SELECT * FROM t;
  FETCH PRIOR FROM cu INTO k;
  RAISE NOTICE '%', k;
  k := NULL;
  FOR k IN SELECT * FROM t LOOP NULL; END LOOP;
  RAISE NOTICE '%', k;
  EXECUTE 'SELECT * FROM t' INTO r;
  RAISE NOTICE '%', r;
END $$;
-- 00000 is no SQLSTATE.
DO $$
BEGIN
  RAISE EXCEPTION 'x' USING ERRCODE = '00000';
EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END $$;
DO $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '00000';
EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END $$;
-- A temporary table of a function goes with the transaction of the statement that calls it.
CREATE FUNCTION makes() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMP TABLE tt (x int) ON COMMIT DROP;
  INSERT INTO tt VALUES (1);
  RETURN (SELECT count(*) FROM tt);
END $$;
SELECT makes();
SELECT makes();
DO 'BEGIN PERFORM makes(); END';
SELECT * FROM tt;
-- Foreign keys of partitioned tables.
CREATE TABLE q (id int PRIMARY KEY, x int) PARTITION BY RANGE (id);
CREATE TABLE q_low PARTITION OF q FOR VALUES FROM (MINVALUE) TO (3);
CREATE TABLE q_high PARTITION OF q FOR VALUES FROM (3) TO (MAXVALUE);
ALTER TABLE q ADD CONSTRAINT k FOREIGN KEY (x) REFERENCES q;
DROP TABLE q_low;
DROP TABLE q_low, q_high;
DROP TABLE q_low CASCADE;
SELECT conname FROM pg_constraint WHERE conrelid = 'q'::regclass AND contype = 'f';
DROP TABLE q, q_high;
CREATE TABLE r (id int PRIMARY KEY, y int, UNIQUE (id, y));
CREATE TABLE q (id int PRIMARY KEY, x int, y int) PARTITION BY RANGE (id);
CREATE TABLE q_low PARTITION OF q FOR VALUES FROM (MINVALUE) TO (3);
CREATE TABLE q_high PARTITION OF q FOR VALUES FROM (3) TO (MAXVALUE);
ALTER TABLE q ADD CONSTRAINT k FOREIGN KEY (x) REFERENCES r;
TRUNCATE r;
TRUNCATE r CASCADE;
-- The error names the partition.
INSERT INTO q VALUES (4, 1, NULL);
DELETE FROM q;
INSERT INTO q VALUES (4, NULL, NULL), (5, NULL, 1);
DO $$
DECLARE the_table text;
BEGIN
  ALTER TABLE q ADD CONSTRAINT k2 FOREIGN KEY (x, y) REFERENCES r (id, y) MATCH FULL;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS the_table = TABLE_NAME;
  RAISE NOTICE '% in %', SQLERRM, the_table;
END $$;
