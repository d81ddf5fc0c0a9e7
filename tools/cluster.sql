-- The tables and functions of `make cluster`: accounts and messages, by the hash of an account's
-- number, and branches on every node.

CREATE TABLE branches (bid int PRIMARY KEY, name text NOT NULL) DISTRIBUTE BY REPLICATION;
CREATE TABLE accounts (aid int PRIMARY KEY, bid int, abalance int NOT NULL DEFAULT 0, filler char(84))
    DISTRIBUTE BY HASH (aid);
CREATE TABLE messages (l_aid int, r_aid int, ctime timestamptz DEFAULT now()) DISTRIBUTE BY HASH (l_aid);
CREATE INDEX ON messages (l_aid);
CREATE INDEX ON messages (r_aid);

-- Statements with variables run on the node of the variable's value.
CREATE FUNCTION account(p_aid int) RETURNS SETOF accounts LANGUAGE plpgsql AS $$
DECLARE found accounts;
BEGIN
    SELECT * INTO found FROM accounts WHERE aid = p_aid;
    RETURN NEXT found;
END $$;

CREATE FUNCTION move(p_from int, p_to int, p_amount int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE accounts SET abalance = abalance - p_amount WHERE aid = p_from;
    UPDATE accounts SET abalance = abalance + p_amount WHERE aid = p_to;
    INSERT INTO messages VALUES (p_from, p_to, now());
END $$;

DO $$
BEGIN
    FOR i IN 1..10 LOOP
        INSERT INTO branches VALUES (i, 'branch ' || i);
    END LOOP;
    FOR i IN 1..10000 LOOP
        INSERT INTO accounts (aid, bid) VALUES (i, i % 10 + 1);
    END LOOP;
    FOR i IN 1..1000 LOOP
        INSERT INTO messages (l_aid, r_aid) VALUES (i, 10001 - i);
    END LOOP;
END $$;
