//! Changes to the leaves of `accounts`, a table that is partitioned by lists of regions.
//!
//! A change is the text of a transaction's statements, with the leaves afterwards. Before and after
//! it the leaves hold all accounts.

use std::collections::{BTreeMap, BTreeSet};

use steppe_vfs::SeededRandom;

/// The regions of each leaf, which is called `accounts_` and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaves {
    regions: BTreeMap<u64, BTreeSet<i32>>,
    next: u64,
}

/// A change that has not been made yet.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) what: &'static str,
    /// Statements, without BEGIN and COMMIT.
    pub(crate) sql: String,
    gone: Vec<u64>,
    new: Vec<(u64, BTreeSet<i32>)>,
}

impl Leaves {
    /// One leaf with all of `regions` regions.
    pub(crate) fn one(regions: i32) -> Leaves {
        Leaves { regions: BTreeMap::from([(0, (0..regions).collect())]), next: 1 }
    }

    /// Creates `accounts` with these leaves.
    pub(crate) fn create(&self) -> String {
        let mut sql = "CREATE TABLE accounts (id integer, region integer, balance bigint NOT NULL,
            PRIMARY KEY (id, region)) PARTITION BY LIST (region)"
            .to_owned();
        for (leaf, regions) in &self.regions {
            sql += "; ";
            sql += &partition_of(*leaf, regions);
        }
        sql
    }

    /// The leaves' names and bounds, as the catalog has them.
    pub(crate) fn bounds(&self) -> BTreeMap<String, String> {
        let bound = |regions| format!("FOR VALUES IN ({})", list(regions));
        let leaf = |(leaf, regions)| (format!("accounts_{leaf}"), bound(regions));
        self.regions.iter().map(leaf).collect()
    }

    /// The change has been committed.
    pub(crate) fn apply(&mut self, change: Change) {
        self.regions.retain(|leaf, _| !change.gone.contains(leaf));
        self.regions.extend(change.new);
    }

    /// A change to try.
    pub(crate) fn choose(&mut self, random: &SeededRandom) -> Change {
        let nth = random.below(self.regions.len() as u64) as usize;
        let (leaf, regions) =
            self.regions.iter().nth(nth).map_or((0, BTreeSet::new()), |(l, r)| (*l, r.clone()));
        let other = self.regions.keys().copied().find(|other| *other != leaf);
        match (random.below(6), other) {
            (0 | 1, _) if regions.len() > 1 => self.split(leaf, regions, random),
            (0..=2, Some(other)) => self.merge(leaf, other, regions),
            (0..=3, _) => self.exchange(leaf, regions),
            (4, _) => rewrite(leaf),
            _ => detach_and_attach(leaf, &regions),
        }
    }

    fn new_leaf(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn split(&mut self, leaf: u64, regions: BTreeSet<i32>, random: &SeededRandom) -> Change {
        let (left, right) = (self.new_leaf(), self.new_leaf());
        let cut = 1 + random.below(regions.len() as u64 - 1) as usize;
        let low: BTreeSet<i32> = regions.iter().copied().take(cut).collect();
        let high: BTreeSet<i32> = regions.iter().copied().skip(cut).collect();
        let sql = format!(
            "ALTER TABLE accounts DETACH PARTITION accounts_{leaf}; {}; {}; \
             {}; DROP TABLE accounts_{leaf}",
            partition_of(left, &low),
            partition_of(right, &high),
            put_back(leaf)
        );
        Change { what: "split", sql, gone: vec![leaf], new: vec![(left, low), (right, high)] }
    }

    fn merge(&mut self, leaf: u64, other: u64, mut regions: BTreeSet<i32>) -> Change {
        regions.extend(self.regions.get(&other).into_iter().flatten());
        let merged = self.new_leaf();
        let sql = format!(
            "ALTER TABLE accounts DETACH PARTITION accounts_{leaf}; \
             ALTER TABLE accounts DETACH PARTITION accounts_{other}; {}; \
             {}; {}; DROP TABLE accounts_{leaf}, accounts_{other}",
            partition_of(merged, &regions),
            put_back(leaf),
            put_back(other)
        );
        Change { what: "merge", sql, gone: vec![leaf, other], new: vec![(merged, regions)] }
    }

    /// Another table, with other columns' places, takes the leaf's.
    fn exchange(&mut self, leaf: u64, regions: BTreeSet<i32>) -> Change {
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
        Change { what: "exchange", sql, gone: vec![leaf], new: vec![(new, regions)] }
    }
}

/// The leaf's rows are taken out and put in again, under a lock of the leaf alone.
fn rewrite(leaf: u64) -> Change {
    let sql = format!(
        "LOCK TABLE accounts_{leaf} IN ACCESS EXCLUSIVE MODE; \
         CREATE TEMPORARY TABLE kept ON COMMIT DROP AS \
             SELECT id, region, balance FROM accounts_{leaf}; \
         TRUNCATE accounts_{leaf}; \
         INSERT INTO accounts_{leaf} (id, region, balance) SELECT * FROM kept"
    );
    Change { what: "rewrite", sql, gone: Vec::new(), new: Vec::new() }
}

fn detach_and_attach(leaf: u64, regions: &BTreeSet<i32>) -> Change {
    let sql = format!(
        "ALTER TABLE accounts DETACH PARTITION accounts_{leaf}; \
         ALTER TABLE accounts ATTACH PARTITION accounts_{leaf} FOR VALUES IN ({})",
        list(regions)
    );
    Change { what: "detach and attach", sql, gone: Vec::new(), new: Vec::new() }
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
