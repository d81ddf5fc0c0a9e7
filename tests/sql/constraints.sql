-- Constraints: what is refused, with which SQLSTATE, naming what.
CREATE TABLE c (
    id integer PRIMARY KEY,
    code text UNIQUE,
    low integer NOT NULL,
    high integer,
    CONSTRAINT ordered CHECK (low <= high),
    CHECK (high < 1000)
);
INSERT INTO c VALUES (1, 'one', 1, 10);
INSERT INTO c VALUES (1, 'two', 1, 10);
INSERT INTO c VALUES (2, 'one', 1, 10);
INSERT INTO c VALUES (NULL, 'two', 1, 10);
INSERT INTO c VALUES (2, 'two', NULL, 10);
INSERT INTO c VALUES (2, 'two', 11, 10);
INSERT INTO c VALUES (2, 'two', 11, 1000);
-- CHECK lets NULL pass; UNIQUE lets NULLs be many.
INSERT INTO c VALUES (2, NULL, 11, NULL), (3, NULL, 11, NULL);
SELECT * FROM c ORDER BY id;
-- NOT NULL is looked at before CHECK, and CHECK before UNIQUE.
INSERT INTO c VALUES (1, 'one', NULL, 5000);
INSERT INTO c VALUES (1, 'one', 9, 8);
UPDATE c SET id = 1 WHERE id = 2;
UPDATE c SET code = 'one' WHERE id = 3;
UPDATE c SET high = 5 WHERE id = 3;
UPDATE c SET low = NULL WHERE id = 3;
UPDATE c SET id = id WHERE id = 1;
INSERT INTO c (id) VALUES (9);
SELECT count(*) FROM c;

-- Several columns, several types.
CREATE TABLE pair (
    day date, name varchar(8), amount numeric, flag boolean,
    UNIQUE (day, name),
    UNIQUE (amount, flag)
);
INSERT INTO pair VALUES ('2026-01-31', 'a', 1.0, true);
INSERT INTO pair VALUES ('2026-01-31', 'a', 2.0, true);
INSERT INTO pair VALUES ('2026-01-31', 'b', 1.00, true);
INSERT INTO pair VALUES ('2026-01-31', 'A', 1.00, false);
INSERT INTO pair VALUES (NULL, 'a', NULL, true), (NULL, 'a', NULL, true);
INSERT INTO pair VALUES ('2026-02-01', 'far too long', 1, true);
SELECT * FROM pair ORDER BY day, name, amount;
CREATE TABLE strict (a integer, b integer, UNIQUE NULLS NOT DISTINCT (a, b));
INSERT INTO strict VALUES (1, NULL);
INSERT INTO strict VALUES (1, NULL);
INSERT INTO strict VALUES (NULL, NULL);
INSERT INTO strict VALUES (NULL, NULL);

-- Unique keys of floats and texts: equal is what the type calls equal.
CREATE TABLE float_key (f double precision PRIMARY KEY);
INSERT INTO float_key VALUES (0), ('NaN'), ('Infinity');
INSERT INTO float_key VALUES ('-0');
INSERT INTO float_key VALUES ('NaN');
CREATE TABLE char_key (c char(4) PRIMARY KEY);
INSERT INTO char_key VALUES ('ab');
INSERT INTO char_key VALUES ('ab  ');
CREATE TABLE text_key (t text PRIMARY KEY);
INSERT INTO text_key VALUES ('ab'), ('ab '), (''), (' ');
INSERT INTO text_key VALUES ('');
SELECT '[' || t || ']' FROM text_key ORDER BY t;

-- Within one statement.
CREATE TABLE once (a integer UNIQUE);
INSERT INTO once VALUES (1), (2), (1);
SELECT * FROM once;
INSERT INTO once SELECT n % 3 FROM generate_series(1, 4) AS n;
SELECT * FROM once;
-- Deleted in the same transaction: free again.
BEGIN;
INSERT INTO once VALUES (1);
DELETE FROM once;
INSERT INTO once VALUES (1);
INSERT INTO once VALUES (1);
ROLLBACK;
INSERT INTO once VALUES (1);
SELECT * FROM once;
-- After a rolled back insert, free as well.
BEGIN;
INSERT INTO once VALUES (2);
SAVEPOINT s;
INSERT INTO once VALUES (3);
ROLLBACK TO s;
INSERT INTO once VALUES (3);
COMMIT;
SELECT * FROM once ORDER BY a;
CREATE TABLE bad_check (a integer CHECK (a));
CREATE TABLE bad_check (a integer CHECK (b > 1));
CREATE TABLE bad_check (a integer CHECK (a > (SELECT 1)));
CREATE TABLE bad_check (a integer CHECK (sum(a) > 1));
CREATE TABLE check_error (a integer CHECK (10 / a > 1));
INSERT INTO check_error VALUES (0);
INSERT INTO check_error VALUES (1), (100);
