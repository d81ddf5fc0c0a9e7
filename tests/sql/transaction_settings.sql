-- The settings that follow the transaction, whichever way they are asked for.
CREATE VIEW follows AS SELECT name, setting, current_setting(name) FROM pg_settings
    WHERE name IN ('transaction_isolation', 'transaction_read_only', 'transaction_deferrable');
SELECT * FROM follows ORDER BY name;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT * FROM follows ORDER BY name;
SHOW transaction_isolation;
SHOW transaction_read_only;
SHOW transaction_deferrable;
COMMIT AND CHAIN;
SELECT * FROM follows ORDER BY name;
COMMIT;
SELECT * FROM follows ORDER BY name;
BEGIN;
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SET TRANSACTION READ ONLY;
SELECT current_setting('transaction_isolation'), current_setting('TRANSACTION_READ_ONLY');
SAVEPOINT s;
SET transaction_read_only = on;
SELECT current_setting('transaction_read_only');
ROLLBACK TO s;
SELECT current_setting('transaction_read_only');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SET TRANSACTION READ ONLY;
SELECT current_setting('transaction_read_only');
ROLLBACK TO s;
SELECT current_setting('transaction_read_only'), current_setting('transaction_isolation');
RELEASE s;
COMMIT;
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM follows ORDER BY name;
BEGIN READ WRITE ISOLATION LEVEL READ UNCOMMITTED;
SELECT * FROM follows ORDER BY name;
SELECT set_config('transaction_isolation', 'read uncommitted', true), set_config('transaction_read_only', 'off', false);
ROLLBACK;
SELECT * FROM follows ORDER BY name;
RESET default_transaction_read_only;
RESET default_transaction_isolation;
SELECT * FROM follows ORDER BY name;
DROP VIEW follows;

-- What older dumps set.
SET default_with_oids = false;
SHOW default_with_oids;
SET default_with_oids = true;
SELECT count(*) FROM pg_settings WHERE name = 'default_with_oids';
RESET default_with_oids;
