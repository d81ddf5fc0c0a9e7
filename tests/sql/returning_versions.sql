-- RETURNING old and new.
-- PostgreSQL 15 differs: it does not have this
CREATE TABLE k (id integer PRIMARY KEY, w text DEFAULT 'dflt', n integer);
INSERT INTO k VALUES (1, 'a', 10), (2, 'b', 20) RETURNING old.id, new.id, id, old IS NULL, new;
INSERT INTO k VALUES (3) RETURNING old.*, new.*, *;
INSERT INTO k VALUES (1, 'x', 5), (4, 'y', 6) ON CONFLICT (id) DO UPDATE SET w = excluded.w, n = k.n + excluded.n RETURNING old.w, new.w, w, old.n, new.n - old.n;
INSERT INTO k VALUES (1, 'z') ON CONFLICT DO NOTHING RETURNING old, new;
UPDATE k SET n = n + 1 WHERE id < 3 RETURNING id, old.n, new.n, n, old = new AS same;
UPDATE k SET n = other.n FROM k AS other WHERE k.id = 2 AND other.id = 1 RETURNING k.id, old.n, new.n, other.n, old, new, k;
UPDATE k SET w = NULL WHERE id = 4 RETURNING WITH (OLD AS o, NEW AS n) o.w, n.w, o.*, n;
UPDATE k SET w = 'q' WHERE id = 4 RETURNING WITH (OLD AS before) before.w, new.w, old.w;
DELETE FROM k WHERE id = 4 RETURNING old.*, new.*, new, w;
UPDATE k SET n = 0 RETURNING WITH (OLD AS a, OLD AS b) a.n;
UPDATE k SET n = 0 RETURNING WITH (OLD AS k) k.n;
UPDATE k SET n = 0 RETURNING WITH (OLD AS x, NEW AS x) x.n;
UPDATE k SET n = 0 WHERE id = 1 RETURNING WITH (NEW AS old) old.n;
UPDATE k SET n = 0 RETURNING old.nope;
UPDATE k SET n = 0 WHERE old.n = 1;
WITH changed AS (UPDATE k SET n = coalesce(n, 0) + 100 RETURNING old.n AS was, new.n AS now) SELECT * FROM changed ORDER BY now, was;
UPDATE k SET n = n - 1 WHERE id = 1 RETURNING (SELECT max(x.n) FROM k AS x WHERE x.n <= old.n), (SELECT old.n - new.n);
-- A table of that name hides the version.
CREATE TABLE old (id integer, v integer);
INSERT INTO old VALUES (1, 2);
UPDATE old SET v = v + 1 RETURNING old.v, new.v;
UPDATE k SET n = 7 FROM old WHERE k.id = old.id RETURNING old.v, new.n, k.n;
CREATE TABLE tree (id integer PRIMARY KEY, w text);
CREATE VIEW low AS SELECT id AS key, w AS word FROM tree WHERE id < 3;
INSERT INTO low VALUES (1, 'one') RETURNING old.key, new.key, new.word;
UPDATE low SET word = 'uno' RETURNING old.word, new.word, word;
DELETE FROM low RETURNING old.word, new.word;
CREATE VIEW marked AS SELECT id, w, 'fixed' AS kind, upper(w) AS loud FROM tree;
INSERT INTO marked (id, w) VALUES (7, 'seven') RETURNING old.kind, new.kind, old.loud, new.loud, old, new;
UPDATE marked SET w = 'sieben' RETURNING old.kind, new.kind, old.loud, new.loud;
DELETE FROM marked RETURNING old.kind, new.kind, old.loud, new.loud, old.kind IS NULL AS gone;
PREPARE p (integer) AS UPDATE k SET n = $1 WHERE id = 1 RETURNING old.n, new.n;
EXECUTE p (8);
EXECUTE p (9);
