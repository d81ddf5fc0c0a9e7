//! Statements of distributed tables that one node runs: the same answers as those of one PostgreSQL
//! with plain tables.

mod support;

use support::both::{Both, answer};
use support::{rows_of as rows, run};

#[test]
fn a_statement_of_one_key_answers_as_postgresql() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "SELECT * FROM accounts WHERE aid = 7",
            "SELECT * FROM accounts WHERE 7 = aid AND balance > 1",
            "SELECT * FROM accounts WHERE aid = 700",
            "SELECT * FROM accounts WHERE aid = 7::bigint",
            "SELECT * FROM accounts WHERE aid = 3 + 4",
            "SELECT aid, balance * 2 AS twice FROM accounts a WHERE a.aid = 5 ORDER BY 2 LIMIT 3",
            "SELECT count(*), sum(balance), max(note) FROM accounts WHERE aid = 5",
            "SELECT * FROM (SELECT aid, note FROM accounts WHERE aid = 9) s",
            "SELECT * FROM (SELECT aid, note FROM accounts) s WHERE s.aid = 9",
            "WITH a AS (SELECT * FROM accounts WHERE aid = 4) SELECT note FROM a",
            "SELECT a.*, m.* FROM accounts a JOIN messages m ON a.aid = m.l_aid WHERE a.aid = 3",
            "SELECT a.*, m.* FROM accounts a JOIN messages m ON a.aid = m.l_aid WHERE m.l_aid = 3",
            "SELECT a.aid, m.body FROM accounts a LEFT JOIN messages m ON a.aid = m.l_aid WHERE a.aid = 3",
            "SELECT a.aid, m.body FROM messages m RIGHT JOIN accounts a ON a.aid = m.l_aid WHERE a.aid = 3",
            "SELECT a.aid, m.body FROM accounts a LEFT JOIN messages m ON m.l_aid = 3 AND m.body = 'x' \
             WHERE a.aid = 3",
            "SELECT a.aid, b.city FROM accounts a JOIN branches b USING (bid) WHERE a.aid = 6",
            "SELECT a.aid, b.city FROM branches b LEFT JOIN accounts a ON a.bid = b.bid AND a.aid = 6 \
             ORDER BY b.city, 1",
            "SELECT note FROM accounts a WHERE aid = 8 AND EXISTS \
             (SELECT FROM messages m WHERE m.l_aid = a.aid)",
            "SELECT (SELECT count(*) FROM messages m WHERE m.l_aid = a.aid) FROM accounts a WHERE aid = 8",
            "SELECT aid FROM accounts WHERE aid = 8 AND bid IN (SELECT bid FROM branches)",
            "SELECT * FROM named WHERE name = 'name 3'",
            "SELECT * FROM branches ORDER BY bid",
            "SELECT count(*) FROM branches b1, branches b2",
            "SELECT aid FROM accounts WHERE aid = 2 UNION ALL SELECT l_aid FROM messages WHERE l_aid = 2",
            "SELECT aid, row_number() OVER (ORDER BY note) FROM accounts WHERE aid = 2",
            "SELECT 1 / (aid - 2) FROM accounts WHERE aid = 2",
            "SELECT aid FROM accounts WHERE aid = 2 FOR UPDATE",
            "UPDATE accounts SET balance = balance + 1 WHERE aid = 5",
            "UPDATE accounts SET balance = (SELECT balance + 2) WHERE aid = 5 RETURNING *",
            "UPDATE accounts a SET note = b.city FROM branches b WHERE a.bid = b.bid AND a.aid = 5 \
             RETURNING a.note, b.city",
            "UPDATE accounts SET note = 'none' WHERE aid = 5000",
            "INSERT INTO accounts (aid) VALUES (100)",
            "INSERT INTO accounts (aid) VALUES (100)",
            "INSERT INTO accounts (aid) VALUES (100) ON CONFLICT DO NOTHING",
            "INSERT INTO accounts (aid, balance) VALUES (100, 5) ON CONFLICT (aid) DO UPDATE \
             SET balance = EXCLUDED.balance + accounts.balance + 1 RETURNING *",
            "INSERT INTO accounts AS t (aid) VALUES (101) ON CONFLICT ON CONSTRAINT accounts_pkey \
             DO UPDATE SET note = t.note || 'x' WHERE t.aid > 0 RETURNING t.aid, note, balance",
            "INSERT INTO messages (l_aid, r_aid) VALUES (3, 4) RETURNING at",
            "INSERT INTO accounts VALUES (NULL)",
            "INSERT INTO accounts (aid, balance) VALUES (102, 1e12)",
            "DELETE FROM messages WHERE l_aid = 3",
            "DELETE FROM accounts a USING branches b WHERE a.bid = b.bid AND a.aid = 6 RETURNING *",
            "SELECT * FROM accounts WHERE aid = 6",
            "SELECT to_char(at, 'YYYY'), at + interval '1 day' FROM messages WHERE l_aid = 4",
            "SET DateStyle = 'German'; SELECT at FROM messages WHERE l_aid = 4; RESET DateStyle",
        ] {
            both.same(sql).await;
        }
        // What the nodes have together is what one server has.
        let all = "SELECT aid, bid, balance, note FROM accounts ORDER BY aid";
        let mut found = Vec::new();
        for direct in &both.cluster.direct {
            found.extend(rows(direct, all).await);
        }
        found.sort_by_key(|row| row.split('|').next().and_then(|aid| aid.parse::<i32>().ok()));
        assert_eq!(found, rows(&both.plain, all).await);
        assert!(both.cluster.direct.len() == 2);
    });
}

#[test]
fn parameters_and_functions_find_the_node() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "PREPARE p (int) AS SELECT note FROM accounts WHERE aid = $1",
            "EXECUTE p (3)",
            "EXECUTE p (4)",
            "PREPARE q (numeric, int) AS UPDATE accounts SET balance = balance + $1 WHERE aid = $2",
            "EXECUTE q (2, 3)",
            "PREPARE unused (text, int) AS SELECT balance FROM accounts WHERE aid = $2",
            "EXECUTE unused ('x', 3)",
            "CREATE FUNCTION of(p int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE v text; BEGIN \
             SELECT note INTO v FROM accounts WHERE aid = p; RETURN v; END $$",
            "SELECT of(3), of(4), of(300)",
            "CREATE FUNCTION add(p int, d numeric) RETURNS void LANGUAGE plpgsql AS $$ BEGIN \
             UPDATE accounts SET balance = balance + d WHERE aid = p; \
             EXECUTE 'UPDATE accounts SET balance = balance + $1 WHERE aid = $2' USING d, p; \
             EXECUTE 'UPDATE accounts SET balance = balance + ' || d || ' WHERE aid = ' || p; END $$",
            "SELECT add(i, i) FROM generate_series(1, 5) i",
            "EXECUTE unused ('x', 5)",
            "CREATE FUNCTION sqlf(p int) RETURNS SETOF accounts LANGUAGE sql AS \
             'SELECT * FROM accounts WHERE aid = p'",
            "SELECT * FROM sqlf(5)",
            "CREATE FUNCTION put(p int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE r int; BEGIN \
             INSERT INTO accounts (aid) VALUES (p) ON CONFLICT (aid) DO UPDATE SET balance = 1 \
             RETURNING aid INTO r; RETURN r; END $$",
            "SELECT put(7), put(200)",
            "CREATE FUNCTION rescue(p int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO accounts (aid) VALUES (p); RETURN 'new'; \
             EXCEPTION WHEN unique_violation THEN RETURN 'known'; END $$",
            "SELECT rescue(i) FROM generate_series(199, 201) i",
            "CREATE FUNCTION walk(p int) RETURNS int LANGUAGE plpgsql AS $$ \
             DECLARE n int := 0; r record; BEGIN \
             FOR r IN SELECT * FROM messages WHERE l_aid = p LOOP \
             UPDATE accounts SET note = 'walked' WHERE aid = r.l_aid; n := n + 1; END LOOP; RETURN n; END $$",
            "SELECT walk(9)",
            "CREATE FUNCTION next(p int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN p + 1; END'",
            "SELECT aid, next(5) FROM accounts WHERE aid = next(4)",
            "SELECT note FROM accounts WHERE aid = 9",
        ] {
            both.same(sql).await;
        }
        // The extended protocol, as drivers use it.
        for client in [&both.steppe, &both.plain] {
            let select =
                client.prepare("SELECT aid, note FROM accounts WHERE aid = $1").await.unwrap();
            for aid in [3i32, 4, 11] {
                let found = client.query(&select, &[&aid]).await.unwrap();
                assert_eq!(found[0].get::<_, i32>(0), aid);
                assert_eq!(found.len(), 1);
            }
        }
        // The coordinator's clock and sequence.
        rows(&both.steppe, "CREATE SEQUENCE s START 500").await;
        for sql in [
            "INSERT INTO accounts (aid, note) VALUES (nextval('s'), to_char(now(), 'YYYY')) RETURNING aid",
            "INSERT INTO accounts (aid, note) VALUES (nextval('s'), 'x') RETURNING aid",
        ] {
            let found = answer(&both.steppe, sql).await;
            assert_eq!(found[1], "= 1", "{found:?}");
        }
        for aid in [500, 501] {
            let found =
                answer(&both.steppe, &format!("SELECT aid FROM accounts WHERE aid = {aid}")).await;
            assert_eq!(found[0], aid.to_string());
        }
    });
}

#[test]
fn a_transaction_spans_its_nodes() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "BEGIN",
            "UPDATE accounts SET balance = balance - 1 WHERE aid = 1",
            "UPDATE accounts SET balance = balance + 1 WHERE aid = 2",
            "UPDATE accounts SET balance = balance + 1 WHERE aid = 3",
            "SAVEPOINT s",
            "UPDATE accounts SET balance = 0 WHERE aid = 1",
            "SELECT balance FROM accounts WHERE aid = 1",
            "ROLLBACK TO s",
            "SELECT balance FROM accounts WHERE aid = 1",
            "COMMIT",
            "SELECT balance FROM accounts WHERE aid = 1",
            "SELECT balance FROM accounts WHERE aid = 2",
            "BEGIN",
            "DELETE FROM accounts WHERE aid = 1",
            "DELETE FROM accounts WHERE aid = 2",
            "SELECT 1/0",
            "SELECT * FROM accounts WHERE aid = 1",
            "ROLLBACK",
            "SELECT balance FROM accounts WHERE aid = 1",
            "INSERT INTO branches VALUES (9, 'nine')",
            "INSERT INTO branches VALUES (9, 'again')",
            "SELECT * FROM branches WHERE bid = 9",
        ] {
            both.same(sql).await;
        }
        for direct in &both.cluster.direct {
            assert_eq!(rows(direct, "SELECT count(*) FROM branches").await, ["4"]);
        }
    });
}

#[test]
fn what_no_node_can_answer_alone_is_refused() {
    run(async {
        let Some(both) = Both::start().await else { return };
        rows(&both.steppe, "CREATE TABLE here (a int)").await;
        rows(
            &both.steppe,
            "CREATE FUNCTION own(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'",
        )
        .await;
        for sql in [
            "SELECT tableoid FROM accounts WHERE aid = 3",
            "SELECT ctid FROM accounts",
            "SELECT * FROM accounts FOR UPDATE",
            "UPDATE here SET a = 1 FROM accounts WHERE aid = a",
            "UPDATE accounts SET aid = 4 WHERE aid = 3",
            "INSERT INTO accounts (aid) VALUES (1) ON CONFLICT (aid) DO UPDATE SET aid = 5",
            "SELECT * FROM branches FOR UPDATE",
            "WITH d AS (DELETE FROM accounts WHERE aid = 3 RETURNING *) SELECT * FROM d",
            "WITH d AS (UPDATE here SET a = aid FROM accounts WHERE aid = 3) SELECT * FROM accounts",
            "WITH a AS (SELECT * FROM accounts), d AS (UPDATE here SET a = 1 FROM a WHERE aid = a) SELECT * FROM a",
            "SELECT * FROM (SELECT * FROM here FOR UPDATE) h, accounts",
            "DELETE FROM here USING accounts",
        ] {
            both.refused(sql).await;
        }
        // The refused statements have changed no row.
        for direct in &both.cluster.direct {
            assert_eq!(rows(direct, "SELECT count(*) FROM accounts WHERE aid >= 300").await, ["0"]);
        }
    });
}
