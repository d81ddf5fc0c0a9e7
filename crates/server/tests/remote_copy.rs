//! COPY FROM into distributed tables: psql says the same as with plain tables of one PostgreSQL, and
//! the same rows are there.

mod support;

use std::io::Write;
use std::process::{Command, Stdio};

use support::two_nodes::TwoNodes;
use support::{rows_of as rows, run};
use tokio_postgres::Client;

/// A distributed table's definition, and where its rows are.
const TABLES: [(&str, &str); 3] = [
    (
        "accounts (aid int PRIMARY KEY, bid int NOT NULL DEFAULT 1, balance numeric(12,2) DEFAULT 0, \
         note varchar(20), at timestamptz, CONSTRAINT positive CHECK (balance >= 0))",
        "HASH (aid)",
    ),
    ("turns (k int, words text[])", "ROUNDROBIN"),
    ("branches (bid int PRIMARY KEY, city text)", "REPLICATION"),
];

/// The lines that psql prints for a script.
fn psql(port: u16, script: &str) -> Vec<String> {
    let mut psql = Command::new("psql")
        .args(["-X", "-A", "-t", "-U", "postgres", "-d", "postgres", "-h", "127.0.0.1"])
        .args(["-v", "VERBOSITY=verbose", "-p", &port.to_string(), "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql is run");
    let mut input = psql.stdin.take().expect("its input is piped");
    input.write_all(script.as_bytes()).expect("psql reads");
    drop(input);
    let output = psql.wait_with_output().expect("psql ends");
    let all = [output.stdout, output.stderr].concat();
    let all = String::from_utf8_lossy(&all);
    // A node's error has one more line.
    let own =
        all.lines().filter(|line| !line.contains("remote node") && !line.contains("LOCATION:"));
    own.map(|line| line.trim_start_matches("CONTEXT:  ").to_owned()).collect()
}

/// A coordinator with distributed tables, and one PostgreSQL with plain ones.
struct Both {
    cluster: TwoNodes,
    steppe: Client,
    plain: Client,
}

impl Both {
    async fn start() -> Option<Both> {
        let (cluster, steppe) = TwoNodes::start().await?;
        let plain = cluster.client_of("postgres").await;
        for (table, distribution) in TABLES {
            rows(&steppe, &format!("CREATE TABLE {table} DISTRIBUTE BY {distribution}")).await;
            rows(&plain, &format!("CREATE TABLE {table}")).await;
        }
        Some(Both { cluster, steppe, plain })
    }

    /// psql prints the same with both servers.
    fn same(&self, script: &str) -> Vec<String> {
        let found = psql(self.cluster.server.address.port(), script);
        assert_eq!(found, psql(self.cluster.port(), script), "{script}");
        found
    }

    /// The nodes together have the rows that one server has.
    async fn same_contents(&self, table: &str) {
        let all = format!("SELECT * FROM {table}");
        let mut found = Vec::new();
        for direct in &self.cluster.direct {
            found.extend(rows(direct, &all).await);
        }
        let mut expected = rows(&self.plain, &all).await;
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{table}");
    }
}

#[test]
fn rows_are_copied_to_their_nodes() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let many: String =
            (1000..21000).map(|i| format!("{i}\t{}\t{i}.25\tn\\t{i}\t\\N\n", i % 7)).collect();
        for script in [
            "COPY accounts FROM STDIN;\n1\t2\t3.5\ta\\\\b\t2026-11-27 12:00+02\n2\t2\t0\t\\N\t\\N\n\\.\n",
            "\\copy accounts (note, aid) FROM PROGRAM 'printf ''note,aid\\n\"a,b\",3\\n,4\\n''' (FORMAT csv, HEADER)\n",
            "COPY accounts (aid) FROM STDIN WHERE aid <> 11;\n10\n11\n12\n\\.\n",
            &format!("COPY accounts FROM STDIN;\n{many}\\.\n"),
            "COPY turns FROM STDIN;\n1\t{a,\"b c\",NULL}\n2\t{}\n3\t\\N\n\\.\n",
            "COPY branches FROM STDIN (DELIMITER '|');\n1|one\n2|two\n\\.\n",
            "BEGIN;\nCOPY accounts (aid) FROM STDIN;\n31\n32\n33\n\\.\nSAVEPOINT s;\n\
             COPY accounts (aid) FROM STDIN;\n34\n35\n\\.\nROLLBACK TO s;\n\
             COPY accounts (aid) FROM STDIN;\n36\n\\.\nCOMMIT;\n",
            "BEGIN;\nCOPY accounts (aid) FROM STDIN;\n41\n42\n43\n\\.\nROLLBACK;\n",
            "SET DateStyle = 'German';\nCOPY accounts (aid, at) FROM STDIN;\n51\t27.11.2026 12:00:00\n\\.\n",
        ] {
            both.same(script);
        }
        for table in ["accounts", "turns"] {
            both.same_contents(table).await;
        }
        for direct in &both.cluster.direct {
            assert_eq!(rows(direct, "SELECT * FROM branches ORDER BY 1").await, ["1|one", "2|two"]);
        }
        let found = rows(&both.steppe, "SELECT note FROM accounts WHERE aid = 20999").await;
        assert_eq!(found, ["n\t20999"]);
        // Both nodes have some.
        for direct in &both.cluster.direct {
            assert_ne!(rows(direct, "SELECT count(*) FROM accounts").await, ["0"]);
        }
    });
}

#[test]
fn a_wrong_row_is_named_and_nothing_is_left() {
    run(async {
        let Some(both) = Both::start().await else { return };
        both.same("COPY accounts (aid) FROM STDIN;\n1\n2\n3\n\\.\n");
        let many: String = (100..9000).map(|i| format!("{i}\n")).collect();
        for script in [
            "COPY accounts (aid) FROM STDIN;\n11\n12\n2\n13\n\\.\n",
            "COPY accounts (aid) FROM STDIN;\n11\n12\n11\n\\.\n",
            "COPY accounts (aid) FROM STDIN;\n11\nx\n13\n\\.\n",
            "COPY accounts (aid, bid) FROM STDIN;\n11\t1\n12\n\\.\n",
            "COPY accounts (aid, bid) FROM STDIN;\n11\t1\n12\t2\t3\n\\.\n",
            "COPY accounts (aid, bid) FROM STDIN;\n11\t1\n12\t\\N\n\\.\n",
            "COPY accounts (aid, balance) FROM STDIN;\n11\t1\n12\t-5\n\\.\n",
            "COPY accounts (aid, note) FROM STDIN;\n11\ta text of more than twenty\n\\.\n",
            "COPY accounts (aid, aid) FROM STDIN;\n1\t1\n\\.\n",
            "COPY accounts (nothing) FROM STDIN;\n1\t1\n\\.\n",
            &format!("COPY accounts (aid) FROM STDIN;\n{many}3\n9001\n\\.\n"),
            "BEGIN;\nCOPY accounts (aid) FROM STDIN;\n21\n22\n\\.\nSAVEPOINT s;\n\
             COPY accounts (aid) FROM STDIN;\n23\n1\n\\.\nROLLBACK TO s;\n\
             COPY accounts (aid) FROM STDIN;\n24\n\\.\nCOMMIT;\n",
        ] {
            both.same(script);
        }
        both.same_contents("accounts").await;
    });
}

#[test]
fn the_coordinator_computes_what_is_missing() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for client in [&both.steppe, &both.plain] {
            rows(client, "CREATE SEQUENCE s START 7").await;
            rows(client, "ALTER TABLE accounts ALTER bid SET DEFAULT nextval('s')").await;
        }
        both.same("COPY accounts (aid, note) FROM STDIN;\n1\ta\n2\tb\n3\tc\n4\td\n\\.\n");
        both.same_contents("accounts").await;
        // PostgreSQL 15 has no DEFAULT.
        let script =
            "COPY accounts (aid, balance, bid) FROM STDIN (DEFAULT 'D');\n5\tD\t5\n6\t1\tD\n\\.\n";
        assert_eq!(psql(both.cluster.server.address.port(), script), ["COPY 2"]);
        rows(&both.plain, "INSERT INTO accounts (aid, balance, bid) VALUES (5, 0, 5), (6, 1, 11)")
            .await;
        both.same_contents("accounts").await;
        let found = rows(&both.steppe, "SELECT bid FROM accounts WHERE aid = 4").await;
        assert_eq!(found, ["10"]);
    });
}
