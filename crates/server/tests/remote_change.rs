//! UPDATE and DELETE on all nodes of a table: the same answers, and the same rows, as with plain tables
//! of one PostgreSQL.

mod support;

use support::two_nodes::TwoNodes;
use support::{Random, rows_of as rows, run};
use tokio_postgres::{Client, SimpleQueryMessage};

/// A distributed table's definition, and where its rows are.
const TABLES: [(&str, &str); 4] = [
    (
        "accounts (aid int PRIMARY KEY, bid int, balance numeric(12,2), note varchar(20), \
         CONSTRAINT positive CHECK (balance >= 0))",
        "HASH (aid)",
    ),
    ("turns (k int, v text)", "ROUNDROBIN"),
    ("branches (bid int PRIMARY KEY, city text, at timestamptz)", "REPLICATION"),
    ("cities (city text PRIMARY KEY, land text)", "REPLICATION"),
];

/// A coordinator with distributed tables, and one PostgreSQL with plain ones.
struct Both {
    cluster: TwoNodes,
    steppe: Client,
    plain: Client,
}

/// Rows in any order and row count, or the error.
async fn answer(client: &Client, sql: &str) -> Vec<String> {
    match client.simple_query(sql).await {
        Ok(messages) => {
            let text = |message: &SimpleQueryMessage| match message {
                SimpleQueryMessage::Row(row) => {
                    let values = (0..row.len()).map(|i| row.get(i).unwrap_or("NULL"));
                    Some(values.collect::<Vec<_>>().join("|"))
                }
                SimpleQueryMessage::CommandComplete(count) => Some(format!("= {count}")),
                _ => None,
            };
            let mut all: Vec<String> = messages.iter().filter_map(text).collect();
            all.sort();
            all
        }
        Err(error) => {
            let error = error.as_db_error().expect("an answer");
            vec![format!("ERROR {} {}", error.code().code(), error.message())]
        }
    }
}

impl Both {
    async fn start() -> Option<Both> {
        let (cluster, steppe) = TwoNodes::start().await?;
        let plain = cluster.client_of("postgres").await;
        for (table, distribution) in TABLES {
            rows(&steppe, &format!("CREATE TABLE {table} DISTRIBUTE BY {distribution}")).await;
            rows(&plain, &format!("CREATE TABLE {table}")).await;
        }
        let both = Both { cluster, steppe, plain };
        for sql in [
            "INSERT INTO accounts SELECT i, i % 5, i, 'n' || i FROM generate_series(1, 200) i",
            "INSERT INTO turns SELECT i, 'v' || i FROM generate_series(1, 20) i",
            "INSERT INTO branches SELECT i, 'city ' || i % 3 FROM generate_series(0, 9) i",
            "INSERT INTO cities VALUES ('city 0', 'here'), ('city 1', 'there')",
        ] {
            both.same(sql).await;
        }
        Some(both)
    }

    /// Both servers give the same answer.
    async fn same(&self, sql: &str) {
        let (found, expected) = (answer(&self.steppe, sql).await, answer(&self.plain, sql).await);
        assert_eq!(found, expected, "{sql}");
    }

    async fn refused(&self, sql: &str) {
        let found = answer(&self.steppe, sql).await;
        assert!(found[0].starts_with("ERROR 0A000"), "{sql}: {found:?}");
    }

    /// The nodes have the rows that one server has, together or each.
    async fn same_contents(&self) {
        for (table, is_copied) in
            [("accounts", false), ("turns", false), ("branches", true), ("cities", true)]
        {
            let all = format!("SELECT * FROM {table}");
            let mut expected = rows(&self.plain, &all).await;
            expected.sort();
            let mut found = Vec::new();
            for direct in &self.cluster.direct {
                let mut own = rows(direct, &all).await;
                own.sort();
                if is_copied {
                    assert_eq!(own, expected, "{table}");
                }
                found.extend(own);
            }
            found.sort();
            if !is_copied {
                assert_eq!(found, expected, "{table}");
            }
        }
    }
}

#[test]
fn each_node_changes_its_own_rows() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "UPDATE accounts SET balance = balance + 1",
            "UPDATE accounts SET balance = balance * 2, note = note || bid WHERE bid = 3 RETURNING *",
            "UPDATE accounts SET note = 'none' WHERE bid = 77",
            "UPDATE accounts a SET note = b.city FROM branches b WHERE a.bid = b.bid AND b.bid < 3 \
             RETURNING a.aid, a.note, b.bid",
            "UPDATE accounts SET note = 'x' WHERE bid IN (SELECT bid FROM branches WHERE city = 'city 1')",
            "UPDATE accounts SET note = left(note || to_char(timestamp '2026-11-27', 'YYYY'), 20)",
            "UPDATE accounts SET note = (SELECT max(city) FROM branches b WHERE b.bid = accounts.bid)",
            "DELETE FROM accounts WHERE balance > 300",
            "DELETE FROM accounts a USING branches b WHERE a.bid = b.bid AND b.bid = 4 RETURNING a.aid",
            "UPDATE accounts SET balance = balance - 100",
            "UPDATE accounts SET balance = 1 / (aid - 7)",
            "PREPARE p (int, text) AS UPDATE accounts SET note = $2 WHERE bid = $1 RETURNING aid",
            "EXECUTE p (1, 'prepared')",
            "EXECUTE p (2, NULL)",
            "CREATE FUNCTION change(p int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN \
             UPDATE accounts SET note = 'f' WHERE bid = p; GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END $$",
            "SELECT change(1), change(2)",
            "BEGIN",
            "DELETE FROM accounts",
            "SAVEPOINT s",
            "INSERT INTO accounts SELECT i, 1 FROM generate_series(1, 30) i",
            "UPDATE accounts SET bid = 2 WHERE bid = 1",
            "ROLLBACK TO s",
            "ROLLBACK",
            "UPDATE turns SET v = v || '!' WHERE k % 2 = 0 RETURNING k, v",
            "DELETE FROM turns WHERE k > 10",
            "DELETE FROM turns WHERE k = 3",
        ] {
            both.same(sql).await;
        }
        both.same_contents().await;
        for sql in [
            "UPDATE accounts SET aid = aid + 1",
            "UPDATE accounts SET balance = random()",
            "UPDATE accounts SET balance = (SELECT max(balance) FROM accounts)",
            "DELETE FROM accounts a USING turns t WHERE a.aid = t.k",
            "UPDATE accounts SET note = 'x' WHERE bid IN (SELECT bid FROM branches LIMIT 1)",
            "DELETE FROM branches b USING accounts a WHERE a.bid = b.bid",
            "UPDATE branches b SET city = c.land FROM cities c WHERE b.city = c.city",
            "UPDATE branches SET city = (SELECT max(land) FROM cities)",
            "UPDATE accounts SET note = upper(note)",
            "UPDATE accounts SET note = 'x' WHERE note ~ '[[:alpha:]]'",
        ] {
            both.refused(sql).await;
        }
        both.same_contents().await;
    });
}

#[test]
fn all_copies_are_changed_in_the_same_way() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "UPDATE branches SET city = city || '!' WHERE bid < 5 RETURNING bid, city",
            "DELETE FROM branches WHERE bid = 9 RETURNING *",
            "UPDATE branches SET bid = bid + 100 WHERE bid < 2",
            "UPDATE branches SET bid = 3 WHERE bid = 4",
            "INSERT INTO branches VALUES (3, 'conflict'), (300, 'new') ON CONFLICT DO NOTHING",
            "INSERT INTO branches VALUES (3, 'conflict'), (301, 'new') \
             ON CONFLICT (bid) DO UPDATE SET city = excluded.city || branches.city RETURNING *",
            "INSERT INTO branches VALUES (5, 'five') ON CONFLICT (bid) DO UPDATE SET city = 'known'",
            "BEGIN",
            "DELETE FROM branches",
            "UPDATE cities SET land = ''",
            "ROLLBACK",
        ] {
            both.same(sql).await;
        }
        both.same_contents().await;
        // The coordinator's clock is the same in all copies.
        rows(&both.steppe, "UPDATE branches SET at = now() + interval '1 day'").await;
        let copies = "SELECT bid, at FROM branches ORDER BY 1";
        let [one, other] = &both.cluster.direct[..] else { panic!("two nodes") };
        assert_eq!(rows(one, copies).await, rows(other, copies).await);
    });
}

/// Writers of one replicated table, whose rows overlap, leave the copies equal.
#[test]
fn concurrent_writers_leave_copies_equal() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let mut writers = Vec::new();
        for seed in 1..=4 {
            let client = both.cluster.server.client().await;
            writers.push(tokio::spawn(async move {
                let mut random = Random(seed);
                let mut done = 0;
                for _ in 0..40 {
                    let (bid, n) = (random.below(12), random.below(1000));
                    let sql = match random.below(5) {
                        0 => format!("UPDATE branches SET city = city || '{n}' WHERE bid >= {bid}"),
                        1 => format!("DELETE FROM branches WHERE bid = {bid}"),
                        2 => format!(
                            "INSERT INTO branches VALUES ({bid}, '{n}'), ({}, 'b')",
                            bid + 1
                        ),
                        3 => format!(
                            "INSERT INTO branches VALUES ({bid}, '{n}') ON CONFLICT DO NOTHING"
                        ),
                        _ => format!(
                            "INSERT INTO branches VALUES ({bid}, '{n}') ON CONFLICT (bid) \
                             DO UPDATE SET city = branches.city || '{n}' WHERE branches.bid % 2 = 0"
                        ),
                    };
                    match client.simple_query(&sql).await {
                        Ok(_) => done += 1,
                        Err(error) => {
                            let code = error.code().map_or("", |code| code.code()).to_owned();
                            assert!(["23505", "40P01"].contains(&&*code), "{sql}: {error:?}");
                        }
                    }
                }
                done
            }));
        }
        let mut done = 0;
        for writer in writers {
            done += writer.await.expect("it ends");
        }
        assert!(done > 80, "{done} statements have succeeded");
        let copies = "SELECT * FROM branches ORDER BY 1";
        let [one, other] = &both.cluster.direct[..] else { panic!("two nodes") };
        let found = rows(one, copies).await;
        assert!(!found.is_empty());
        assert_eq!(found, rows(other, copies).await);
    });
}
