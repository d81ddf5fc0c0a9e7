-- PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED, as one session sees them.
-- Alone: pg_prepared_xacts shows every database's.
SHOW max_prepared_transactions;
CREATE TABLE pxtest (foobar varchar(10), n integer PRIMARY KEY);
INSERT INTO pxtest VALUES ('aaa', 1), ('bbb', 2);

-- rolled back
BEGIN;
UPDATE pxtest SET foobar = 'ccc' WHERE n = 1;
SELECT * FROM pxtest ORDER BY n;
PREPARE TRANSACTION 'foo1';
SELECT * FROM pxtest ORDER BY n;
SELECT gid, owner, database = current_database() AS here, prepared <= clock_timestamp() AS past
FROM pg_prepared_xacts;
ROLLBACK PREPARED 'foo1';
SELECT * FROM pxtest ORDER BY n;
SELECT gid FROM pg_prepared_xacts;

-- committed; what is not its business goes on meanwhile
BEGIN;
INSERT INTO pxtest VALUES ('ddd', 3);
DELETE FROM pxtest WHERE n = 2;
SAVEPOINT s;
INSERT INTO pxtest VALUES ('no', 4);
ROLLBACK TO s;
PREPARE TRANSACTION 'foo2';
SELECT * FROM pxtest ORDER BY n;
INSERT INTO pxtest VALUES ('eee', 5);
SELECT * FROM pxtest ORDER BY n;
COMMIT PREPARED 'foo2';
SELECT * FROM pxtest ORDER BY n;

-- identifiers
BEGIN;
INSERT INTO pxtest VALUES ('fff', 6);
PREPARE TRANSACTION 'foo3';
BEGIN;
INSERT INTO pxtest VALUES ('ggg', 7);
PREPARE TRANSACTION 'foo3';
SELECT * FROM pxtest ORDER BY n;
ROLLBACK PREPARED 'foo3';
COMMIT PREPARED 'foo3';
ROLLBACK PREPARED 'no such';
BEGIN;
PREPARE TRANSACTION 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
SELECT * FROM pxtest ORDER BY n;

-- outside of a block, in a failed one, and the end inside of one
PREPARE TRANSACTION 'foo4';
BEGIN;
SELECT 1 / 0;
PREPARE TRANSACTION 'foo4';
SELECT gid FROM pg_prepared_xacts;
BEGIN;
COMMIT PREPARED 'foo4';
ROLLBACK;
BEGIN;
ROLLBACK PREPARED 'foo4';
ROLLBACK;

-- one that has done nothing
BEGIN;
PREPARE TRANSACTION 'empty';
SELECT gid FROM pg_prepared_xacts;
COMMIT PREPARED 'empty';
BEGIN READ ONLY;
SELECT count(*) FROM pxtest;
PREPARE TRANSACTION 'readonly';
ROLLBACK PREPARED 'readonly';

-- what goes with the session cannot be prepared
CREATE TEMP TABLE pxtemp (a integer);
BEGIN;
INSERT INTO pxtemp VALUES (1);
PREPARE TRANSACTION 'temp';
BEGIN;
SELECT * FROM pxtemp;
PREPARE TRANSACTION 'temp';
BEGIN;
CREATE TEMP TABLE pxtemp2 (a integer);
PREPARE TRANSACTION 'temp';
SELECT * FROM pxtemp;
DROP TABLE pxtemp;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT * FROM pxtest;
PREPARE TRANSACTION 'held';
BEGIN;
SELECT pg_advisory_lock(1);
SELECT pg_advisory_xact_lock(1);
PREPARE TRANSACTION 'locks';
SELECT pg_advisory_unlock(1);
SELECT pg_advisory_unlock(1);

-- SERIALIZABLE
BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE;
UPDATE pxtest SET foobar = 'ser' WHERE n = 1;
SELECT * FROM pxtest ORDER BY n;
PREPARE TRANSACTION 'ser';
SELECT * FROM pxtest ORDER BY n;
COMMIT PREPARED 'ser';
SELECT * FROM pxtest ORDER BY n;

-- DDL
BEGIN;
CREATE TABLE pxtest2 (a integer, b serial);
INSERT INTO pxtest2 (a) VALUES (1);
CREATE INDEX pxtest2_a ON pxtest2 (a);
ALTER TABLE pxtest ADD COLUMN c integer DEFAULT 7;
PREPARE TRANSACTION 'ddl';
SELECT count(*) FROM pxtest2;
SELECT relname FROM pg_class WHERE relname LIKE 'pxtest2%' ORDER BY relname;
COMMIT PREPARED 'ddl';
SELECT * FROM pxtest2;
SELECT * FROM pxtest ORDER BY n;
BEGIN;
DROP TABLE pxtest2;
PREPARE TRANSACTION 'drop';
ROLLBACK PREPARED 'drop';
SELECT * FROM pxtest2;
BEGIN;
TRUNCATE pxtest;
INSERT INTO pxtest VALUES ('new', 100, 1);
DROP TABLE pxtest2;
PREPARE TRANSACTION 'drop';
COMMIT PREPARED 'drop';
SELECT * FROM pxtest;
SELECT * FROM pxtest2;

-- a setting of the transaction is one of the session from PREPARE on, even if it is rolled back
BEGIN;
SET work_mem = '1234kB';
PREPARE TRANSACTION 'set';
SHOW work_mem;
ROLLBACK PREPARED 'set';
SHOW work_mem;
DROP TABLE pxtest;
