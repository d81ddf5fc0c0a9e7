-- UPDATE and DELETE, with RETURNING, other tables and subqueries.
CREATE TABLE account (id integer PRIMARY KEY, owner text, balance integer NOT NULL);
INSERT INTO account SELECT n, 'owner ' || n, n * 100 FROM generate_series(1, 8) AS n;

UPDATE account SET balance = balance + 1 WHERE id = 1;
UPDATE account SET balance = balance + 1, owner = upper(owner) WHERE id IN (2, 3) RETURNING id, owner, balance;
UPDATE account SET balance = 0 WHERE id = 99 RETURNING *;
UPDATE account SET (owner, balance) = ('both', 5) WHERE id = 4 RETURNING *;
UPDATE account SET (owner, balance) = (SELECT 'from query', 6) WHERE id = 5 RETURNING *;
UPDATE account SET owner = DEFAULT WHERE id = 6 RETURNING *;
UPDATE account AS a SET balance = a.balance * 2 WHERE a.id = 7 RETURNING a.*;
SELECT * FROM account ORDER BY id;

-- The new values come from the old row, all at once.
UPDATE account SET id = balance, balance = id WHERE id = 8 RETURNING *;
UPDATE account SET id = 8, balance = 800 WHERE id = 800;

-- Keys move.
UPDATE account SET id = 1 WHERE id = 2;
UPDATE account SET id = id + 100;
SELECT id FROM account ORDER BY id;
UPDATE account SET id = id - 100;
UPDATE account SET id = NULL WHERE id = 1;
UPDATE account SET balance = NULL WHERE id = 1;
UPDATE account SET balance = 'many' WHERE id = 1;
UPDATE account SET balance = balance * 100000000 WHERE id = 3;
UPDATE account SET nope = 1;
UPDATE account SET balance = nope;
UPDATE account SET balance = 1, balance = 2;
UPDATE nope SET a = 1;
UPDATE account SET balance = sum(balance);
UPDATE account SET balance = 1 WHERE owner;

-- FROM and subqueries.
CREATE TABLE change (id integer, delta integer);
INSERT INTO change VALUES (1, 10), (3, 30), (42, 420);
UPDATE account SET balance = balance + delta FROM change WHERE account.id = change.id RETURNING account.id, balance, delta;
UPDATE account SET balance = (SELECT sum(delta) FROM change) WHERE id = (SELECT min(id) FROM change);
SELECT * FROM account WHERE id IN (SELECT id FROM change) ORDER BY id;
UPDATE account SET balance = -1 WHERE NOT EXISTS (SELECT 1 FROM change WHERE change.id = account.id);
SELECT * FROM account ORDER BY id;
WITH richest AS (SELECT id FROM account ORDER BY balance DESC, id LIMIT 1)
UPDATE account SET owner = 'rich' FROM richest WHERE account.id = richest.id RETURNING account.*;

-- DELETE.
DELETE FROM account WHERE id = 1 RETURNING *;
DELETE FROM account WHERE id = 1;
DELETE FROM account USING change WHERE account.id = change.id RETURNING account.id, delta;
DELETE FROM account WHERE balance < (SELECT avg(id) FROM account) AND id > 6 RETURNING id;
DELETE FROM account WHERE nope = 1;
DELETE FROM nope;
DELETE FROM account WHERE id IN (SELECT id FROM account ORDER BY id LIMIT 2);
SELECT id FROM account ORDER BY id;
DELETE FROM account;
SELECT count(*) FROM account;

-- A row that is updated often, one that is deleted and comes back.
INSERT INTO account VALUES (1, 'again', 0);
BEGIN;
UPDATE account SET balance = balance + 1;
UPDATE account SET balance = balance + 1;
DELETE FROM account WHERE id = 1;
INSERT INTO account VALUES (1, 'back', 7);
UPDATE account SET id = 2;
SELECT * FROM account;
COMMIT;
SELECT * FROM account;

-- TRUNCATE.
INSERT INTO account SELECT n, 'x', n FROM generate_series(10, 20) AS n;
BEGIN;
TRUNCATE account;
SELECT count(*) FROM account;
INSERT INTO account VALUES (1, 'inside', 1);
ROLLBACK;
SELECT count(*), min(id), max(id) FROM account;
TRUNCATE TABLE account, change;
SELECT count(*) FROM account;
SELECT count(*) FROM change;
INSERT INTO account VALUES (10, 'after', 1);
SELECT * FROM account WHERE id = 10;
TRUNCATE nope;
