//! The client that changes the leaves of `accounts`, and the checks of its changes after a crash.
//!
//! A change and its number in `shapes` are one transaction. However it ended, the catalog must have
//! the leaves, and the leaves the rows, that belong to the number found.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use steppe_vfs::SeededRandom;
use tokio_postgres::Client;

use super::{Ended, Failure, REGIONS, Result, lock};
use crate::leaves::{Change, Leaves};

/// The expected leaves.
#[derive(Debug)]
pub(super) struct Shapes {
    /// As of the last change that was acknowledged.
    leaves: Leaves,
    number: i64,
    /// The change whose COMMIT has been sent without an answer yet.
    in_doubt: Option<Change>,
}

impl Shapes {
    pub(super) fn new() -> Shapes {
        Shapes { leaves: Leaves::one(REGIONS), number: 0, in_doubt: None }
    }

    /// The statements that make the tables.
    pub(super) fn create(&self) -> String {
        format!("{}; CREATE TABLE shapes (number bigint PRIMARY KEY)", self.leaves.create())
    }

    pub(super) fn number(&self) -> i64 {
        self.number
    }

    fn committed(&mut self, change: Change) {
        self.leaves.apply(change);
        self.number += 1;
    }
}

/// Changes leaves until the connection is lost.
pub(super) async fn change(
    client: Client,
    shapes: Arc<Mutex<Shapes>>,
    random: SeededRandom,
) -> Result<()> {
    loop {
        let (next, number) = {
            let mut shapes = lock(&shapes);
            (shapes.leaves.choose(&random), shapes.number + 1)
        };
        match transaction(&client, &shapes, next, number, &random).await {
            Ok(()) => {}
            Err(error) => match Ended::of(error)? {
                Ended::Connection => return Ok(()),
                Ended::Victim => {
                    lock(&shapes).in_doubt = None;
                    if client.batch_execute("ROLLBACK").await.is_err() {
                        return Ok(());
                    }
                }
            },
        }
    }
}

async fn transaction(
    client: &Client,
    shapes: &Mutex<Shapes>,
    next: Change,
    number: i64,
    random: &SeededRandom,
) -> std::result::Result<(), tokio_postgres::Error> {
    let sql = format!("BEGIN; {}; INSERT INTO shapes VALUES ({number})", next.sql);
    client.batch_execute(&sql).await?;
    if random.chance(1, 5) {
        return client.batch_execute("ROLLBACK").await;
    }
    lock(shapes).in_doubt = Some(next);
    client.batch_execute("COMMIT").await?;
    let mut shapes = lock(shapes);
    if let Some(change) = shapes.in_doubt.take() {
        shapes.committed(change);
    }
    Ok(())
}

/// Compares the catalog and the leaves with the expected ones, and settles a change in doubt.
pub(super) async fn verify(client: &Client, shapes: &Mutex<Shapes>) -> Result<()> {
    let numbers = client.query("SELECT number FROM shapes ORDER BY number", &[]).await?;
    let numbers: Vec<i64> = numbers.iter().map(|row| row.get(0)).collect();
    let bounds = {
        let mut shapes = lock(shapes);
        if let Some(change) = shapes.in_doubt.take()
            && numbers.last() == Some(&(shapes.number + 1))
        {
            shapes.committed(change);
        }
        let want: Vec<i64> = (1..=shapes.number).collect();
        if numbers != want {
            let last = shapes.number;
            return broken(format!("changes 1 to {last} were made, there are {numbers:?}"));
        }
        shapes.leaves.bounds()
    };
    let found = "SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid) \
                 FROM pg_class c WHERE c.relname ~ '^accounts_[0-9]+$' AND c.relkind = 'r'";
    let found = client.query(found, &[]).await?;
    let found: BTreeMap<String, Option<String>> =
        found.iter().map(|row| (row.get(0), row.get(1))).collect();
    let want: BTreeMap<String, Option<String>> =
        bounds.iter().map(|(leaf, bound)| (leaf.clone(), Some(bound.clone()))).collect();
    if found != want {
        return broken(format!("the leaves are {found:?}, should be {want:?}"));
    }
    for (leaf, bound) in &bounds {
        let list = bound.trim_start_matches("FOR VALUES ");
        let strays = format!("SELECT count(*) FROM {leaf} WHERE (region {list}) IS NOT TRUE");
        let strays: i64 = client.query_one(&strays, &[]).await?.get(0);
        if strays > 0 {
            return broken(format!("{strays} rows of {leaf} do not belong there"));
        }
    }
    Ok(())
}

fn broken<T>(what: String) -> Result<T> {
    Err(Failure::Broken(what))
}
