//! Transactions that are prepared first, across a crash. An acknowledged one is still there, with
//! its changes pending and its rows locked, until a client ends it.

use std::collections::BTreeSet;

use steppe_vfs::SeededRandom;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::{Failure, Ledgers, Result, Writer, lock};
use crate::ledger::Transfer;

fn gid(client: i32, number: i64) -> String {
    format!("{client}-{number}")
}

impl Writer {
    /// PREPARE TRANSACTION, and one of its two ends.
    pub(super) async fn end_in_two_phases(
        &self,
        number: i64,
        transfer: Transfer,
    ) -> std::result::Result<(), tokio_postgres::Error> {
        let gid = gid(self.number, number);
        lock(&self.ledger).prepare_sent(number, transfer);
        self.client.batch_execute(&format!("PREPARE TRANSACTION '{gid}'")).await?;
        lock(&self.ledger).prepare_acknowledged();
        let commit = self.random.chance(3, 4);
        lock(&self.ledger).end_of_prepared_sent(commit);
        let command = if commit { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
        self.client.batch_execute(&format!("{command} '{gid}'")).await?;
        lock(&self.ledger).prepared_ended(commit);
        Ok(())
    }
}

/// After a restart: compares the ledgers with the prepared transactions, and ends these.
pub(super) async fn settle(
    client: &Client,
    ledgers: &Ledgers,
    random: &SeededRandom,
) -> Result<()> {
    let mut found = BTreeSet::new();
    for message in client.simple_query("SELECT gid FROM pg_prepared_xacts").await? {
        if let SimpleQueryMessage::Row(row) = message {
            found.extend(row.get(0).map(str::to_owned));
        }
    }
    for (number, ledger) in (0i32..).zip(ledgers) {
        let Some((transaction, transfer)) = lock(ledger).in_two_phases() else { continue };
        let gid = gid(number, transaction);
        let is_there = found.remove(&gid);
        let settled = lock(ledger).settle_prepared(is_there);
        settled.map_err(|what| Failure::Broken(format!("client {number}: {what}")))?;
        if !is_there {
            continue;
        }
        check_pending(client, (number, transaction), transfer).await?;
        let commit = random.chance(1, 2);
        let command = if commit { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
        client.batch_execute(&format!("{command} '{gid}'")).await?;
        lock(ledger).prepared_ended(commit);
    }
    match found.first() {
        Some(gid) => Err(Failure::Broken(format!("nobody has prepared {gid:?}"))),
        None => Ok(()),
    }
}

/// Checks that no other transaction sees the changes of a prepared one, or can change its rows.
async fn check_pending(
    client: &Client,
    (number, transaction): (i32, i64),
    transfer: Transfer,
) -> Result<()> {
    let entry = "SELECT FROM entries WHERE client = $1 AND number = $2";
    if !client.query(entry, &[&number, &transaction]).await?.is_empty() {
        let what = format!("client {number}: transaction {transaction} is prepared and seen");
        return Err(Failure::Broken(what));
    }
    let account = "SELECT FROM accounts WHERE id = $1 FOR UPDATE NOWAIT";
    match client.query(account, &[&transfer.source]).await {
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(()),
        Err(error) => Err(Failure::Sql(error)),
        Ok(rows) => Err(Failure::Broken(format!(
            "client {number}: transaction {transaction} is prepared, and {} of its accounts is free",
            rows.len()
        ))),
    }
}
