//! The tables, and the changes of their leaves under load.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio_postgres::Client;

use super::{ACCOUNTS, BALANCE, Changes, REGIONS, Result, Shared, WINDOW};
use crate::failure::Failure;
use crate::leaves::Leaves;
use steppe_vfs::SeededRandom;

/// Windows that exist ahead of the newest entry.
const WINDOWS_AHEAD: i64 = 3;

/// Makes the tables and the accounts.
pub(super) async fn create(client: &Client) -> Result<()> {
    let accounts = Leaves::one(REGIONS).create();
    let sql = format!(
        "{accounts};
         INSERT INTO accounts SELECT id, id % {REGIONS}, {BALANCE}
            FROM generate_series(1, {ACCOUNTS}) id;
         CREATE TABLE entries (client integer, number bigint, amount bigint,
            PRIMARY KEY (client, number)) PARTITION BY RANGE (number);"
    );
    Ok(client.batch_execute(&sql).await?)
}

/// Runs a change, which must succeed.
async fn change(client: &Client, sql: &str) -> Result<()> {
    match client.batch_execute(sql).await {
        Ok(()) => Ok(()),
        Err(error) => Err(Failure::Broken(format!("{}: {sql}", Failure::Sql(error)))),
    }
}

/// Changes the leaves of `accounts`, which hold all accounts before and after.
pub(super) struct Accounts {
    client: Client,
    random: SeededRandom,
    shared: Arc<Shared>,
    leaves: Leaves,
    done: Changes,
}

impl Accounts {
    pub(super) fn new(client: Client, random: SeededRandom, shared: Arc<Shared>) -> Accounts {
        Accounts { client, random, shared, leaves: Leaves::one(REGIONS), done: Changes::new() }
    }

    pub(super) async fn run(mut self) -> Result<Changes> {
        while !self.shared.is_over() {
            if self.random.chance(1, 7) {
                self.index().await?;
                continue;
            }
            let next = self.leaves.choose(&self.random);
            if self.transaction(next.what, &next.sql).await? {
                self.leaves.apply(next);
            }
        }
        Ok(self.done)
    }

    /// Runs a transaction, which may be rolled back at its end; returns whether it was committed.
    async fn transaction(&mut self, what: &'static str, sql: &str) -> Result<bool> {
        let commits = !self.random.chance(1, 5);
        let end = if commits { "COMMIT" } else { "ROLLBACK" };
        change(&self.client, &format!("BEGIN; {sql}; {end}")).await?;
        *self.done.entry(what).or_default() += u64::from(commits);
        Ok(commits)
    }

    async fn index(&mut self) -> Result<()> {
        let made = self.transaction("index", "CREATE INDEX by_region ON accounts (region)").await?;
        while made && !self.transaction("drop index", "DROP INDEX by_region").await? {}
        Ok(())
    }
}

/// Changes the leaves of `entries`, which are windows of their numbers, one by one. An entry whose
/// window is detached is refused, and tried again.
pub(super) struct Entries {
    client: Client,
    random: SeededRandom,
    shared: Arc<Shared>,
    windows: i64,
    done: Changes,
}

impl Entries {
    pub(super) fn new(client: Client, random: SeededRandom, shared: Arc<Shared>) -> Entries {
        Entries { client, random, shared, windows: 0, done: Changes::new() }
    }

    pub(super) async fn run(mut self) -> Result<Changes> {
        while !self.shared.is_over() {
            let newest = self.shared.newest_entry.load(Ordering::Relaxed) / WINDOW;
            if self.windows <= newest + WINDOWS_AHEAD {
                self.create().await?;
                continue;
            }
            let window = self.random.below(self.windows as u64) as i64;
            match self.random.chance(1, 3) {
                true => self.drop_ahead().await?,
                false => self.detach(window).await?,
            }
        }
        Ok(self.done)
    }

    async fn change(&mut self, what: &'static str, sql: &str) -> Result<()> {
        change(&self.client, sql).await?;
        *self.done.entry(what).or_default() += 1;
        Ok(())
    }

    async fn create(&mut self) -> Result<()> {
        let (window, bound) = (self.windows, bound(self.windows));
        let sql = format!("CREATE TABLE entries_{window} PARTITION OF entries {bound}");
        self.change("create", &sql).await?;
        self.windows += 1;
        Ok(())
    }

    /// Drops the last window if no client has inserted into it; otherwise attaches it again.
    async fn drop_ahead(&mut self) -> Result<()> {
        let last = self.windows - 1;
        let detach = format!("ALTER TABLE entries DETACH PARTITION entries_{last}");
        self.change("detach", &detach).await?;
        let count = format!("SELECT count(*) FROM entries_{last}");
        if self.client.query_one(&count, &[]).await?.get::<_, i64>(0) > 0 {
            return self.attach(last).await;
        }
        self.change("drop", &format!("DROP TABLE entries_{last}")).await?;
        self.windows -= 1;
        Ok(())
    }

    async fn detach(&mut self, window: i64) -> Result<()> {
        let detach = format!("ALTER TABLE entries DETACH PARTITION entries_{window}");
        self.change("detach", &detach).await?;
        self.attach(window).await
    }

    async fn attach(&mut self, window: i64) -> Result<()> {
        let bound = bound(window);
        let sql = format!("ALTER TABLE entries ATTACH PARTITION entries_{window} {bound}");
        self.change("attach", &sql).await
    }
}

fn bound(window: i64) -> String {
    format!("FOR VALUES FROM ({}) TO ({})", window * WINDOW, (window + 1) * WINDOW)
}
