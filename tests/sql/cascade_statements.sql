-- Statement triggers and transition tables under actions of foreign keys. The statements of actions count as
-- parts of the one that has caused them.
CREATE TABLE cas_p (id int PRIMARY KEY, up int REFERENCES cas_p ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE cas_c (id int PRIMARY KEY, p int REFERENCES cas_p ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE cas_g (id int PRIMARY KEY, c int REFERENCES cas_c ON DELETE SET NULL, v text);
CREATE FUNCTION cas_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % % % depth %: %, %, %', TG_NAME, TG_WHEN, TG_OP, TG_TABLE_NAME, pg_trigger_depth(),
    (SELECT count(*) FROM cas_p), (SELECT count(*) FROM cas_c), (SELECT count(*) FROM cas_g WHERE c IS NULL);
  RETURN NULL;
END $$;
CREATE FUNCTION cas_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN RAISE NOTICE '% % old %', TG_NAME, TG_OP, (SELECT array_agg(o.* ORDER BY id) FROM o); END IF;
  IF TG_OP <> 'DELETE' THEN RAISE NOTICE '% % new %', TG_NAME, TG_OP, (SELECT array_agg(n.* ORDER BY id) FROM n); END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION cas_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE NOTICE '% % % %', TG_NAME, TG_OP, OLD, NEW; RETURN NULL; END $$;
INSERT INTO cas_p VALUES (1, NULL), (2, 1), (3, 2), (4, NULL), (5, 4), (6, 6), (7, NULL), (8, NULL);
INSERT INTO cas_c SELECT i, (i + 1) / 2 FROM generate_series(1, 16) i;
INSERT INTO cas_g SELECT i, i, 'g' || i FROM generate_series(1, 16) i;
CREATE TRIGGER before_p BEFORE UPDATE OR DELETE ON cas_p FOR EACH STATEMENT EXECUTE FUNCTION cas_tell();
CREATE TRIGGER after_p AFTER UPDATE OR DELETE ON cas_p FOR EACH STATEMENT EXECUTE FUNCTION cas_tell();
CREATE TRIGGER before_c BEFORE UPDATE OR DELETE ON cas_c FOR EACH STATEMENT EXECUTE FUNCTION cas_tell();
CREATE TRIGGER after_c AFTER UPDATE OR DELETE ON cas_c FOR EACH STATEMENT EXECUTE FUNCTION cas_tell();
CREATE TRIGGER before_g BEFORE UPDATE OR DELETE ON cas_g FOR EACH STATEMENT EXECUTE FUNCTION cas_tell();
CREATE TRIGGER after_g AFTER UPDATE OR DELETE ON cas_g FOR EACH STATEMENT EXECUTE FUNCTION cas_tell();
DELETE FROM cas_p WHERE id IN (7, 8);
DELETE FROM cas_p WHERE id = 1;
DELETE FROM cas_p WHERE id = 6;
UPDATE cas_p SET id = id + 100 WHERE id = 4;
UPDATE cas_p SET id = 50 WHERE id = 50;
-- Nothing is to be done for a key without rows, but the action's statement runs.
INSERT INTO cas_p VALUES (200), (201);
DELETE FROM cas_p WHERE id >= 200;
DELETE FROM cas_p;
SELECT * FROM cas_p; SELECT * FROM cas_c; SELECT count(*) FROM cas_g WHERE c IS NULL;
-- Rows of all actions are in the transition tables, until a trigger reads them.
DROP TRIGGER after_p ON cas_p; DROP TRIGGER after_c ON cas_c; DROP TRIGGER after_g ON cas_g;
DROP TRIGGER before_g ON cas_g; DROP TRIGGER before_c ON cas_c;
CREATE TRIGGER rows_p AFTER DELETE ON cas_p REFERENCING OLD TABLE AS o FOR EACH STATEMENT EXECUTE FUNCTION cas_rows();
CREATE TRIGGER rows_p_update AFTER UPDATE ON cas_p REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION cas_rows();
CREATE TRIGGER rows_c AFTER DELETE ON cas_c REFERENCING OLD TABLE AS o FOR EACH STATEMENT EXECUTE FUNCTION cas_rows();
CREATE TRIGGER rows_c_update AFTER UPDATE ON cas_c REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION cas_rows();
CREATE TRIGGER rows_g AFTER UPDATE ON cas_g REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION cas_rows();
DELETE FROM cas_g;
INSERT INTO cas_p VALUES (1, NULL), (2, 1), (3, 2), (4, NULL), (5, 4), (6, 6), (7, NULL), (8, NULL);
INSERT INTO cas_c SELECT i, (i + 1) / 2 FROM generate_series(1, 16) i;
INSERT INTO cas_g SELECT i, i, 'g' || i FROM generate_series(1, 16) i;
DELETE FROM cas_p WHERE id IN (7, 8);
DELETE FROM cas_p WHERE id = 1;
UPDATE cas_p SET id = id + 100 WHERE id IN (4, 6);
-- Row triggers among them.
CREATE TRIGGER aa_row AFTER DELETE ON cas_c FOR EACH ROW EXECUTE FUNCTION cas_row();
CREATE TRIGGER zz_row AFTER DELETE ON cas_p FOR EACH ROW EXECUTE FUNCTION cas_row();
CREATE TRIGGER row_with_table AFTER DELETE ON cas_c REFERENCING OLD TABLE AS o FOR EACH ROW EXECUTE FUNCTION cas_rows();
DELETE FROM cas_p WHERE id = 5;
DELETE FROM cas_p WHERE id = 104;
DELETE FROM cas_p;
-- Two parts of a statement that update different columns have their own triggers.
CREATE TABLE cas_two (id int PRIMARY KEY, a int, b int);
INSERT INTO cas_two VALUES (1, 1, 1), (2, 2, 2);
CREATE TRIGGER of_a AFTER UPDATE OF a ON cas_two FOR EACH ROW EXECUTE FUNCTION cas_row();
CREATE TRIGGER of_b AFTER UPDATE OF b ON cas_two FOR EACH ROW EXECUTE FUNCTION cas_row();
WITH first AS (UPDATE cas_two SET a = 10 WHERE id = 1 RETURNING id) UPDATE cas_two SET b = 20 WHERE id = 2;
WITH first AS (UPDATE cas_two SET b = 11 WHERE id = 1 RETURNING id) UPDATE cas_two SET a = 21 WHERE id = 2;
CREATE TABLE cas_ref (a int UNIQUE, b int UNIQUE);
INSERT INTO cas_ref VALUES (1, 1), (2, 2);
CREATE TABLE cas_two_keys (id int PRIMARY KEY, a int REFERENCES cas_ref (a), b int REFERENCES cas_ref (b));
INSERT INTO cas_two_keys VALUES (1, 1, 1), (2, 2, 2);
WITH first AS (UPDATE cas_two_keys SET a = 2 WHERE id = 1 RETURNING id) UPDATE cas_two_keys SET b = 9 WHERE id = 2;
WITH first AS (UPDATE cas_two_keys SET b = 2 WHERE id = 1 RETURNING id) UPDATE cas_two_keys SET a = 9 WHERE id = 2;
-- A function that a trigger's function calls does not see the transition tables.
CREATE FUNCTION cas_look() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM n); END';
CREATE FUNCTION cas_look_sql() RETURNS bigint LANGUAGE sql SET check_function_bodies = off AS 'SELECT 1::bigint';
SET check_function_bodies = off;
CREATE OR REPLACE FUNCTION cas_look_sql() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM n';
RESET check_function_bodies;
CREATE FUNCTION cas_calls() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE look text;
BEGIN
  FOREACH look IN ARRAY ARRAY['cas_look()', 'cas_look_sql()', '(SELECT count(*) FROM n)'] LOOP
    BEGIN
      EXECUTE 'SELECT ' || look INTO look;
      RAISE NOTICE 'found %', look;
    EXCEPTION WHEN undefined_table THEN
      RAISE NOTICE '%', SQLERRM;
    END;
  END LOOP;
  BEGIN
    DO 'BEGIN PERFORM count(*) FROM n; END';
  EXCEPTION WHEN undefined_table THEN
    RAISE NOTICE 'DO: %', SQLERRM;
  END;
  RAISE NOTICE 'still %', (SELECT count(*) FROM n);
  RETURN NULL;
END $$;
CREATE TRIGGER calls AFTER INSERT ON cas_two REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION cas_calls();
INSERT INTO cas_two VALUES (3), (4);
CREATE TABLE n (i int);
INSERT INTO n VALUES (1), (2), (3), (4), (5);
INSERT INTO cas_two VALUES (5), (6);
SELECT cas_look(), cas_look_sql();
DROP TABLE n, cas_two, cas_two_keys, cas_ref, cas_g, cas_c, cas_p;
DROP FUNCTION cas_tell, cas_rows, cas_row, cas_look, cas_look_sql, cas_calls;
