-- ALTER TABLE: columns come and go, keys are added to rows that are there.
CREATE TABLE t (a integer, b text);
INSERT INTO t SELECT n, 'row ' || n FROM generate_series(1, 5) AS n;

ALTER TABLE t ADD COLUMN c integer;
SELECT * FROM t ORDER BY a;
ALTER TABLE t ADD COLUMN d integer DEFAULT 10;
ALTER TABLE t ADD COLUMN e text NOT NULL DEFAULT 'here';
SELECT * FROM t ORDER BY a;
INSERT INTO t (a, b) VALUES (6, 'row 6');
SELECT * FROM t ORDER BY a;
ALTER TABLE t ADD COLUMN f integer NOT NULL;
ALTER TABLE t ADD COLUMN a integer;
ALTER TABLE t ADD COLUMN IF NOT EXISTS a integer;
ALTER TABLE t ADD COLUMN g no_such_type;
ALTER TABLE no_such_table ADD COLUMN a integer;
ALTER TABLE IF EXISTS no_such_table ADD COLUMN a integer;

ALTER TABLE t DROP COLUMN c;
SELECT * FROM t ORDER BY a;
SELECT c FROM t;
ALTER TABLE t DROP COLUMN c;
ALTER TABLE t DROP COLUMN IF EXISTS c;
INSERT INTO t VALUES (7, 'row 7', 70, 'new');
SELECT * FROM t ORDER BY a;
ALTER TABLE t ADD COLUMN c text DEFAULT 'again';
SELECT * FROM t ORDER BY a;
\d t

-- A primary key over existing rows.
ALTER TABLE t ADD PRIMARY KEY (a);
\d t
ALTER TABLE t ADD PRIMARY KEY (b);
INSERT INTO t (a) VALUES (3);
INSERT INTO t (a) VALUES (NULL);
CREATE TABLE duplicated (a integer, b integer);
INSERT INTO duplicated VALUES (1, 1), (2, 1), (1, 2);
ALTER TABLE duplicated ADD PRIMARY KEY (a);
ALTER TABLE duplicated ADD CONSTRAINT pair PRIMARY KEY (a, b);
\d duplicated
CREATE TABLE with_null (a integer);
INSERT INTO with_null VALUES (1), (NULL);
ALTER TABLE with_null ADD PRIMARY KEY (a);
ALTER TABLE with_null ADD UNIQUE (a);
INSERT INTO with_null VALUES (NULL);
INSERT INTO with_null VALUES (1);
ALTER TABLE with_null ADD CONSTRAINT positive CHECK (a > 1);
ALTER TABLE with_null ADD CONSTRAINT positive CHECK (a > 0);
INSERT INTO with_null VALUES (-1);
ALTER TABLE with_null DROP CONSTRAINT positive;
INSERT INTO with_null VALUES (-1);
ALTER TABLE with_null DROP CONSTRAINT positive;
ALTER TABLE with_null ALTER COLUMN a SET NOT NULL;
DELETE FROM with_null WHERE a IS NULL;
ALTER TABLE with_null ALTER COLUMN a SET NOT NULL;
INSERT INTO with_null VALUES (NULL);
ALTER TABLE with_null ALTER COLUMN a DROP NOT NULL;
ALTER TABLE with_null ALTER COLUMN a SET DEFAULT 99;
INSERT INTO with_null DEFAULT VALUES;
SELECT * FROM with_null ORDER BY a;
ALTER TABLE with_null ALTER COLUMN a DROP DEFAULT;

-- Dropping a column takes its indexes with it.
ALTER TABLE t DROP COLUMN a;
\d t
SELECT * FROM t ORDER BY b;
ALTER TABLE t RENAME TO u;
SELECT count(*) FROM u;
SELECT count(*) FROM t;
ALTER TABLE u RENAME COLUMN b TO bee;
SELECT bee FROM u ORDER BY bee LIMIT 2;
ALTER TABLE u RENAME COLUMN b TO c;

-- In a transaction that is rolled back, nothing has happened.
BEGIN;
ALTER TABLE u ADD COLUMN extra integer DEFAULT 5;
SELECT sum(extra) FROM u;
ROLLBACK;
SELECT extra FROM u;
