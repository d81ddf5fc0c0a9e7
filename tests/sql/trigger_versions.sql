-- OLD in a trigger for INSERT and NEW in one for DELETE are NULL, also in the function's SQL.
CREATE TABLE t (a int, b text);
CREATE TABLE log (what text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log VALUES (TG_OP || ' ' || coalesce(OLD.a::text, 'none') || ' ' || coalesce(NEW.a::text, 'none'));
  INSERT INTO log SELECT 'row ' || coalesce(OLD::text, 'none') || ' ' || coalesce(NEW::text, 'none');
  PERFORM OLD.b, NEW.b;
  IF OLD IS NULL THEN INSERT INTO log VALUES ('no old row'); END IF;
  IF NEW IS NULL THEN INSERT INTO log VALUES ('no new row'); END IF;
  RAISE NOTICE '% %', OLD, NEW;
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO t VALUES (1, 'x');
UPDATE t SET a = 2;
DELETE FROM t;
SELECT * FROM log;
CREATE FUNCTION whole() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% %', OLD, NEW;
  RAISE NOTICE '%', OLD.a;
  RETURN NULL;
END $$;
CREATE TRIGGER whole AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION whole();
INSERT INTO t VALUES (3);
