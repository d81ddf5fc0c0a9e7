//! The tables, and what is done to their leaves meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio_postgres::Client;

use super::{ACCOUNTS, BALANCE, Changes, REGIONS, Result, Shared, WINDOW};
use crate::kill9::Failure;
use steppe_vfs::SeededRandom;

/// Windows that are there ahead of the newest entry.
const WINDOWS_AHEAD: i64 = 3;

/// Makes the tables and the accounts.
pub(super) async fn create(client: &Client) -> Result<()> {
    let regions: Vec<String> = (0..REGIONS).map(|region| region.to_string()).collect();
    let regions = regions.join(", ");
    let sql = format!(
        "CREATE TABLE accounts (id integer, region integer, balance bigint NOT NULL,
            PRIMARY KEY (id, region)) PARTITION BY LIST (region);
         CREATE TABLE accounts_0 PARTITION OF accounts FOR VALUES IN ({regions});
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
    /// The regions of each leaf.
    leaves: BTreeMap<u64, BTreeSet<i32>>,
    next_leaf: u64,
    done: Changes,
}

impl Accounts {
    pub(super) fn new(client: Client, random: SeededRandom, shared: Arc<Shared>) -> Accounts {
        let leaves = BTreeMap::from([(0, (0..REGIONS).collect())]);
        Accounts { client, random, shared, leaves, next_leaf: 1, done: Changes::new() }
    }

    pub(super) async fn run(mut self) -> Result<Changes> {
        while !self.shared.is_over() {
            let nth = self.random.below(self.leaves.len() as u64) as usize;
            let Some((&leaf, regions)) = self.leaves.iter().nth(nth) else { continue };
            let regions = regions.clone();
            match self.random.below(7) {
                0 | 1 if regions.len() > 1 => self.split(leaf, regions).await?,
                2 => self.merge(leaf, regions).await?,
                3 => self.exchange(leaf, regions).await?,
                4 => self.rewrite(leaf).await?,
                5 => self.detach_and_attach(leaf, regions).await?,
                6 => self.index().await?,
                _ => {}
            }
        }
        Ok(self.done)
    }

    /// A transaction, which may be rolled back at its end; whether it was committed.
    async fn transaction(&mut self, what: &'static str, sql: &str) -> Result<bool> {
        let commits = !self.random.chance(1, 5);
        let end = if commits { "COMMIT" } else { "ROLLBACK" };
        change(&self.client, &format!("BEGIN; {sql}; {end}")).await?;
        *self.done.entry(what).or_default() += u64::from(commits);
        Ok(commits)
    }

    fn new_leaf(&mut self) -> u64 {
        self.next_leaf += 1;
        self.next_leaf
    }

    async fn split(&mut self, leaf: u64, regions: BTreeSet<i32>) -> Result<()> {
        let (left, right) = (self.new_leaf(), self.new_leaf());
        let cut = 1 + self.random.below(regions.len() as u64 - 1) as usize;
        let low: BTreeSet<i32> = regions.iter().copied().take(cut).collect();
        let high: BTreeSet<i32> = regions.iter().copied().skip(cut).collect();
        let sql = format!(
            "ALTER TABLE accounts DETACH PARTITION accounts_{leaf}; {}; {}; \
             {}; DROP TABLE accounts_{leaf}",
            partition_of(left, &low),
            partition_of(right, &high),
            put_back(leaf)
        );
        if self.transaction("split", &sql).await? {
            self.leaves.remove(&leaf);
            self.leaves.insert(left, low);
            self.leaves.insert(right, high);
        }
        Ok(())
    }

    async fn merge(&mut self, leaf: u64, mut regions: BTreeSet<i32>) -> Result<()> {
        let Some((&other, more)) = self.leaves.iter().find(|(other, _)| **other != leaf) else {
            return Ok(());
        };
        regions.extend(more);
        let merged = self.new_leaf();
        let sql = format!(
            "ALTER TABLE accounts DETACH PARTITION accounts_{leaf}; \
             ALTER TABLE accounts DETACH PARTITION accounts_{other}; {}; \
             {}; {}; DROP TABLE accounts_{leaf}, accounts_{other}",
            partition_of(merged, &regions),
            put_back(leaf),
            put_back(other)
        );
        if self.transaction("merge", &sql).await? {
            self.leaves.remove(&leaf);
            self.leaves.remove(&other);
            self.leaves.insert(merged, regions);
        }
        Ok(())
    }

    /// Another table, with other columns' places, takes the leaf's.
    async fn exchange(&mut self, leaf: u64, regions: BTreeSet<i32>) -> Result<()> {
        let new = self.new_leaf();
        let sql = format!(
            "CREATE TABLE accounts_{new} (balance bigint NOT NULL, extra text, \
                 region integer NOT NULL, id integer NOT NULL, PRIMARY KEY (id, region)); \
             ALTER TABLE accounts_{new} DROP COLUMN extra; \
             ALTER TABLE accounts DETACH PARTITION accounts_{leaf}; \
             INSERT INTO accounts_{new} (id, region, balance) \
                 SELECT id, region, balance FROM accounts_{leaf}; \
             ALTER TABLE accounts ATTACH PARTITION accounts_{new} FOR VALUES IN ({}); \
             DROP TABLE accounts_{leaf}",
            list(&regions)
        );
        if self.transaction("exchange", &sql).await? {
            self.leaves.remove(&leaf);
            self.leaves.insert(new, regions);
        }
        Ok(())
    }

    /// The leaf's rows are taken out and put in again, under a lock of the leaf alone.
    async fn rewrite(&mut self, leaf: u64) -> Result<()> {
        let sql = format!(
            "LOCK TABLE accounts_{leaf} IN ACCESS EXCLUSIVE MODE; \
             CREATE TEMPORARY TABLE kept ON COMMIT DROP AS \
                 SELECT id, region, balance FROM accounts_{leaf}; \
             TRUNCATE accounts_{leaf}; \
             INSERT INTO accounts_{leaf} (id, region, balance) SELECT * FROM kept"
        );
        self.transaction("rewrite", &sql).await?;
        Ok(())
    }

    async fn detach_and_attach(&mut self, leaf: u64, regions: BTreeSet<i32>) -> Result<()> {
        let sql = format!(
            "ALTER TABLE accounts DETACH PARTITION accounts_{leaf}; \
             ALTER TABLE accounts ATTACH PARTITION accounts_{leaf} FOR VALUES IN ({})",
            list(&regions)
        );
        self.transaction("detach and attach", &sql).await?;
        Ok(())
    }

    async fn index(&mut self) -> Result<()> {
        let made = self.transaction("index", "CREATE INDEX by_region ON accounts (region)").await?;
        while made && !self.transaction("drop index", "DROP INDEX by_region").await? {}
        Ok(())
    }
}

fn list(regions: &BTreeSet<i32>) -> String {
    regions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The rows of a leaf that has been detached; its columns may stand in another order.
fn put_back(leaf: u64) -> String {
    format!("INSERT INTO accounts SELECT id, region, balance FROM accounts_{leaf}")
}

fn partition_of(leaf: u64, regions: &BTreeSet<i32>) -> String {
    format!("CREATE TABLE accounts_{leaf} PARTITION OF accounts FOR VALUES IN ({})", list(regions))
}

/// Changes the leaves of `entries`, windows of their numbers, each by itself: an entry whose
/// window is away is refused, and tried again.
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

    /// The last window, which is dropped if nobody has come to it.
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
