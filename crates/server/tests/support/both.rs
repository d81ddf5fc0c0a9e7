//! A coordinator with distributed tables beside one PostgreSQL with plain ones: both give the same answers.

use super::rows_of;
use super::two_nodes::TwoNodes;
use tokio_postgres::{Client, SimpleQueryMessage};

/// A distributed table's definition, and where its rows are.
const TABLES: [(&str, &str); 4] = [
    (
        "accounts (aid int PRIMARY KEY, bid int, balance numeric(12,2) DEFAULT 0, note text)",
        "HASH (aid)",
    ),
    (
        "messages (l_aid int, r_aid int, at timestamp DEFAULT '2026-11-27 12:00', body varchar(20))",
        "HASH (l_aid)",
    ),
    ("named (name text PRIMARY KEY, n bigint, d date)", "HASH (name)"),
    ("branches (bid int PRIMARY KEY, city text)", "REPLICATION"),
];

/// A coordinator with distributed tables, and one PostgreSQL with plain ones.
pub struct Both {
    pub cluster: TwoNodes,
    pub steppe: Client,
    pub plain: Client,
}

/// Rows and row count, or the SQLSTATE.
pub async fn answer(client: &Client, sql: &str) -> Vec<String> {
    match client.simple_query(sql).await {
        Ok(messages) => messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    let values = (0..row.len()).map(|i| row.get(i).unwrap_or("NULL"));
                    Some(values.collect::<Vec<_>>().join("|"))
                }
                SimpleQueryMessage::CommandComplete(count) => Some(format!("= {count}")),
                _ => None,
            })
            .collect(),
        Err(error) => {
            let error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error}"));
            vec![format!("ERROR {} {}", error.code().code(), error.message())]
        }
    }
}

impl Both {
    /// With empty tables: their definitions, and where their rows are.
    pub async fn of(tables: &[(&str, &str)]) -> Option<Both> {
        let (cluster, steppe) = TwoNodes::start().await?;
        let plain = cluster.client_of("postgres").await;
        for (table, distribution) in tables {
            rows_of(&steppe, &format!("CREATE TABLE {table} DISTRIBUTE BY {distribution}")).await;
            rows_of(&plain, &format!("CREATE TABLE {table}")).await;
        }
        Some(Both { cluster, steppe, plain })
    }

    /// With some accounts, messages and branches.
    pub async fn start() -> Option<Both> {
        let both = Both::of(&TABLES).await?;
        for bid in 1..=3 {
            both.same(&format!("INSERT INTO branches VALUES ({bid}, 'city {bid}')")).await;
        }
        for aid in 1..=20 {
            let bid = aid % 3 + 1;
            both.same(&format!("INSERT INTO accounts VALUES ({aid}, {bid}, {aid}.5, 'n{aid}')"))
                .await;
            let other = aid * 7 % 20 + 1;
            both.same(&format!("INSERT INTO messages VALUES ({aid}, {other}, DEFAULT, 'm')")).await;
            both.same(&format!("INSERT INTO named VALUES ('name {aid}', {aid}, '2026-11-27')"))
                .await;
        }
        Some(both)
    }

    /// Both servers give the same answer.
    pub async fn same(&self, sql: &str) -> Vec<String> {
        let (found, expected) = (answer(&self.steppe, sql).await, answer(&self.plain, sql).await);
        assert_eq!(found, expected, "{sql}");
        found
    }

    /// It is refused, and not answered in part.
    pub async fn refused(&self, sql: &str) {
        let found = answer(&self.steppe, sql).await;
        assert!(found[0].starts_with("ERROR 0A000"), "{sql}: {found:?}");
    }
}
