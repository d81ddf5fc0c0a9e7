-- DEFERRABLE keys: checked at the end of the statement, or of the transaction.
CREATE TABLE d (k int, v text, CONSTRAINT d_k UNIQUE (k) DEFERRABLE);
INSERT INTO d VALUES (1, 'a'), (2, 'b'), (3, 'c');
UPDATE d SET k = k + 1;
UPDATE d SET k = k - 1;
SELECT * FROM d ORDER BY v;
INSERT INTO d VALUES (1, 'd');
INSERT INTO d VALUES (4, 'd'), (4, 'e');
INSERT INTO d VALUES (5, 'f') RETURNING *;
INSERT INTO d VALUES (5, 'g') RETURNING *;
INSERT INTO d VALUES (NULL, 'n'), (NULL, 'n');
UPDATE d SET k = 1 WHERE k = 2;
UPDATE d SET k = 1 WHERE v = 'c';
DELETE FROM d WHERE k IS NULL OR k = 5;
COPY d FROM STDIN;
1	copied
\.
COPY d FROM STDIN;
10	copied
10	copied
\.
WITH moved AS (DELETE FROM d WHERE k = 1 RETURNING *) INSERT INTO d SELECT k, v || '+' FROM moved RETURNING *;
SELECT * FROM d ORDER BY v;

-- Deferred by SET CONSTRAINTS.
BEGIN;
SET CONSTRAINTS d_k DEFERRED;
INSERT INTO d VALUES (1, 'again');
SELECT * FROM d WHERE k = 1 ORDER BY v;
UPDATE d SET k = 6 WHERE v = 'again';
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO d VALUES (1, 'again');
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO d VALUES (1, 'again');
SET CONSTRAINTS ALL IMMEDIATE;
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO d VALUES (1, 'again');
DELETE FROM d WHERE v = 'again';
SET CONSTRAINTS d_k IMMEDIATE;
INSERT INTO d VALUES (1, 'again');
ROLLBACK;
SELECT * FROM d ORDER BY v;

-- Savepoints.
BEGIN;
SAVEPOINT a;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO d VALUES (1, 'x');
ROLLBACK TO a;
INSERT INTO d VALUES (1, 'x');
ROLLBACK TO a;
SET CONSTRAINTS ALL DEFERRED;
RELEASE a;
INSERT INTO d VALUES (1, 'x');
SAVEPOINT b;
INSERT INTO d VALUES (2, 'y');
ROLLBACK TO b;
DELETE FROM d WHERE v = 'x';
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO d VALUES (1, 'x');
SAVEPOINT b;
SET CONSTRAINTS d_k IMMEDIATE;
ROLLBACK TO b;
DELETE FROM d WHERE v = 'x';
SET CONSTRAINTS d_k IMMEDIATE;
COMMIT;

-- A primary key that is INITIALLY DEFERRED; a statement outside a block is a transaction.
CREATE TABLE dp (a int, b int, PRIMARY KEY (a, b) DEFERRABLE INITIALLY DEFERRED, v text UNIQUE INITIALLY DEFERRED);
INSERT INTO dp VALUES (1, 1, 'a'), (2, 2, 'b');
INSERT INTO dp VALUES (1, 1, 'c');
INSERT INTO dp VALUES (3, 3, 'b') RETURNING a;
INSERT INTO dp VALUES (3, NULL, 'd');
UPDATE dp SET a = 2, b = 2 WHERE a = 1;
SELECT * FROM dp ORDER BY a;
SELECT * FROM dp WHERE a = 1 AND b = 1;
BEGIN;
INSERT INTO dp VALUES (1, 1, 'a');
SELECT * FROM dp WHERE a = 1 AND b = 1;
SELECT count(*) FROM dp WHERE v = 'a';
UPDATE dp SET v = 'z' WHERE a = 1 AND b = 1;
SELECT * FROM dp ORDER BY a, v;
SET CONSTRAINTS dp_v_key IMMEDIATE;
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO dp VALUES (1, 1, 'q');
COMMIT;
-- The end of the block finds it.
BEGIN;
INSERT INTO dp VALUES (1, 1, 'q');
END;
SELECT count(*) FROM dp;
BEGIN;
INSERT INTO dp VALUES (1, 1, 'q');
TRUNCATE dp;
ROLLBACK;
BEGIN;
INSERT INTO dp VALUES (1, 1, 'q');
ALTER TABLE dp ADD COLUMN more int;
ROLLBACK;
BEGIN;
INSERT INTO dp VALUES (1, 1, 'q');
DROP TABLE dp;
ROLLBACK;

-- They decide no ON CONFLICT.
INSERT INTO d VALUES (1, 'x') ON CONFLICT (k) DO NOTHING;
INSERT INTO d VALUES (1, 'x') ON CONFLICT DO NOTHING;
INSERT INTO d VALUES (1, 'x') ON CONFLICT ON CONSTRAINT d_k DO UPDATE SET v = 'x';
CREATE TABLE both (a int PRIMARY KEY, b int UNIQUE DEFERRABLE);
INSERT INTO both VALUES (1, 1);
INSERT INTO both VALUES (1, 2) ON CONFLICT (a) DO NOTHING;
INSERT INTO both VALUES (2, 1) ON CONFLICT (a) DO NOTHING;
INSERT INTO both VALUES (2, 1) ON CONFLICT DO NOTHING;
UPDATE both SET b = 2 WHERE a = 1;
INSERT INTO both VALUES (2, 3);
UPDATE both SET b = 2 WHERE a = 2;

-- Names.
SET CONSTRAINTS ALL DEFERRED;
BEGIN;
SAVEPOINT s;
SET CONSTRAINTS nothing DEFERRED;
ROLLBACK TO s;
SET CONSTRAINTS both_pkey DEFERRED;
ROLLBACK TO s;
SET CONSTRAINTS both_pkey IMMEDIATE;
SET CONSTRAINTS nowhere.both_pkey IMMEDIATE;
ROLLBACK TO s;
SET CONSTRAINTS public.d_k, both_b_key DEFERRED;
COMMIT;

-- As it is shown.
SELECT conname, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid IN ('d'::regclass, 'dp'::regclass, 'both'::regclass) AND contype <> 'n' ORDER BY conname;
SELECT indexrelid::regclass, indisunique, indimmediate FROM pg_index
    WHERE indrelid IN ('d'::regclass, 'dp'::regclass, 'both'::regclass) ORDER BY indexrelid::regclass::text;
SELECT constraint_name, is_deferrable, initially_deferred FROM information_schema.table_constraints
    WHERE table_name IN ('d', 'dp') AND constraint_type <> 'CHECK' ORDER BY 1;
\d dp
SELECT pg_get_indexdef('d_k'::regclass);

-- Made later; of what is there already; copied.
CREATE TABLE later (a int, b int);
INSERT INTO later VALUES (1, 1), (1, 2);
ALTER TABLE later ADD UNIQUE (a) DEFERRABLE;
ALTER TABLE later ADD CONSTRAINT later_b UNIQUE (b) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE later ADD UNIQUE (b) NOT DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE copied (LIKE later INCLUDING ALL);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'copied'::regclass;
ALTER TABLE later DROP CONSTRAINT later_b;
INSERT INTO later VALUES (1, 1);

-- Partitions.
CREATE TABLE part (a int, b text, UNIQUE (a) DEFERRABLE INITIALLY DEFERRED) PARTITION BY RANGE (a);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (10) TO (20);
INSERT INTO part VALUES (1, 'a'), (11, 'b');
INSERT INTO part VALUES (1, 'c');
BEGIN;
INSERT INTO part VALUES (1, 'c'), (11, 'd');
UPDATE part SET a = 2 WHERE b = 'c';
UPDATE part SET a = 3 WHERE b = 'd';
SET CONSTRAINTS part_a_key IMMEDIATE;
UPDATE part SET a = a + 1 WHERE a < 10;
INSERT INTO part VALUES (2, 'e');
ROLLBACK;
-- Two-phase commit looks, too; and REPEATABLE READ.
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO dp VALUES (9, 9, 'r');
UPDATE dp SET a = 2, b = 2 WHERE a = 9;
COMMIT;
DROP TABLE d, dp, both, later, copied, part;
