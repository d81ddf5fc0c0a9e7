-- DDL in functions on tables that statements around them use (55006).
CREATE TABLE tiu (id int PRIMARY KEY, a int);
INSERT INTO tiu VALUES (1, 1), (2, 2);
CREATE FUNCTION tiu_do(what text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RETURN 1; END $$;
SELECT tiu_do('drop table tiu') FROM tiu;
SELECT tiu_do('alter table tiu add column z int') FROM tiu;
SELECT tiu_do('truncate tiu') FROM tiu;
SELECT tiu_do('create index on tiu (a)') FROM tiu;
SELECT id FROM tiu WHERE tiu_do('drop table tiu') = 1;
UPDATE tiu SET a = tiu_do('truncate tiu');
SELECT tiu_do('alter table tiu add column z int');
DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM tiu LOOP DROP TABLE tiu; END LOOP; END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM tiu; BEGIN OPEN c; CREATE INDEX ON tiu (a); END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM tiu; r record; BEGIN
  OPEN c; FETCH c INTO r; CLOSE c; ALTER TABLE tiu RENAME a TO aa; RAISE NOTICE '%', r;
END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM tiu; BEGIN
  BEGIN OPEN c; ALTER TABLE tiu RENAME aa TO a; EXCEPTION WHEN object_in_use THEN RAISE NOTICE '%', sqlerrm; END;
  ALTER TABLE tiu RENAME aa TO a;
END $$;
DO $$ DECLARE r record; BEGIN
  FOR r IN SELECT * FROM tiu LOOP PERFORM tiu_do('truncate tiu'); END LOOP;
END $$;
DO $$ DECLARE r record; BEGIN
  FOR r IN SELECT * FROM tiu LOOP EXIT; END LOOP; TRUNCATE tiu;
END $$;
SELECT * FROM tiu;
-- A view is not open while it is read.
CREATE VIEW tiu_v AS SELECT * FROM tiu;
INSERT INTO tiu VALUES (3, 3);
SELECT tiu_do('drop view tiu_v') FROM tiu_v;
DO $$ BEGIN REINDEX TABLE tiu; REINDEX DATABASE postgres; END $$;
-- A trigger's function in result's place: its result is no value.
CREATE FUNCTION tiu_t() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
SELECT * FROM tiu_t();
SELECT tiu_t();
-- An error in a trigger that a key's action calls.
CREATE TABLE tiu_r (id int REFERENCES tiu ON DELETE CASCADE);
INSERT INTO tiu_r VALUES (3);
CREATE FUNCTION tiu_no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
CREATE TRIGGER tiu_no BEFORE DELETE ON tiu_r FOR EACH ROW EXECUTE FUNCTION tiu_no();
DELETE FROM tiu;
DROP TABLE tiu, tiu_r;
DROP FUNCTION tiu_do, tiu_t, tiu_no;
