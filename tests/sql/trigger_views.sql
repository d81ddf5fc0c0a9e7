-- INSTEAD OF triggers.
-- PostgreSQL 15 differs: RETURNING old and new
CREATE TABLE base (id int PRIMARY KEY, name text, qty int);
INSERT INTO base VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', 30);
CREATE VIEW v AS SELECT id, upper(name) AS name, qty * 2 AS twice FROM base WHERE qty > 0;
CREATE VIEW totals AS SELECT count(*) AS n, sum(qty) AS total FROM base;
INSERT INTO v VALUES (4, 'FOUR', 8);
INSERT INTO totals VALUES (1, 2);
UPDATE totals SET n = 1;
DELETE FROM totals;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % % % %', TG_NAME, TG_WHEN, TG_OP, TG_LEVEL, TG_TABLE_NAME;
  RETURN NULL;
END $$;
CREATE FUNCTION change_v() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.id < 0 THEN RETURN NULL; END IF;
    INSERT INTO base VALUES (NEW.id, lower(NEW.name), NEW.twice / 2);
    NEW.name := NEW.name || '(new)';
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' THEN
    RAISE NOTICE 'update % to %', OLD, NEW;
    UPDATE base SET id = NEW.id, name = lower(NEW.name), qty = NEW.twice / 2 WHERE id = OLD.id;
    IF NOT FOUND THEN RETURN NULL; END IF;
    NEW.name := NEW.name || '(upd)';
    RETURN NEW;
  END IF;
  RAISE NOTICE 'delete %', OLD;
  DELETE FROM base WHERE id = OLD.id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER ins INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION change_v();
CREATE TRIGGER upd INSTEAD OF UPDATE ON v FOR EACH ROW EXECUTE FUNCTION change_v();
CREATE TRIGGER del INSTEAD OF DELETE ON v FOR EACH ROW EXECUTE FUNCTION change_v();
CREATE TRIGGER s_before BEFORE INSERT OR UPDATE OR DELETE ON v EXECUTE FUNCTION tell();
CREATE TRIGGER s_after AFTER INSERT OR UPDATE OR DELETE ON v EXECUTE FUNCTION tell();
INSERT INTO v VALUES (4, 'FOUR', 8), (-1, 'SKIPPED', 0) RETURNING *;
INSERT INTO v (id, name) VALUES (5, 'FIVE') RETURNING id, name, twice;
INSERT INTO v SELECT id + 10, name, 2 FROM base WHERE id < 3 ORDER BY id RETURNING *;
SELECT * FROM base ORDER BY id;
UPDATE v SET name = 'X', twice = twice + 2 WHERE id = 1 RETURNING *;
UPDATE v SET twice = b.qty FROM base b WHERE v.id = b.id AND b.id IN (2, 3) RETURNING v.*, b.name;
UPDATE v SET id = id WHERE id = 4 RETURNING old.name, new.name;
DELETE FROM v WHERE twice = 2 RETURNING *;
DELETE FROM v USING base b WHERE b.id = v.id AND b.id = 4 RETURNING v.id, b.qty;
SELECT * FROM v ORDER BY id;
UPDATE v SET nothing = 1;
UPDATE v x SET name = x.name || 'y' WHERE x.id = 3 RETURNING x;
WITH u AS (UPDATE v SET twice = 100 WHERE id = 3 RETURNING *) SELECT * FROM u;
INSERT INTO v VALUES (3, 'THREE', 1);
INSERT INTO v VALUES (3, 'THREE', 1) ON CONFLICT DO NOTHING;
PREPARE p (int, int) AS UPDATE v SET twice = $2 WHERE id = $1 RETURNING twice;
EXECUTE p (1, 50);
EXECUTE p (2, 60);
DROP TRIGGER upd ON v;
EXECUTE p (1, 70);
UPDATE v SET id = 100 WHERE id = 1;
SELECT id, qty FROM base ORDER BY id;

-- Defaults of a view's columns, and a view over a view.
ALTER VIEW v ALTER COLUMN name SET DEFAULT 'DEFAULT';
INSERT INTO v (id, twice) VALUES (50, 4) RETURNING *;
CREATE VIEW w AS SELECT id, name FROM v;
CREATE TRIGGER w_ins INSTEAD OF INSERT ON w FOR EACH ROW EXECUTE FUNCTION change_v();
INSERT INTO w VALUES (61, 'OWN');
EXPLAIN (COSTS OFF) DELETE FROM v WHERE id = 3;
\d v
DROP VIEW w, v, totals;
DROP TABLE base;
DROP FUNCTION tell(), change_v();
