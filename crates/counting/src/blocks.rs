//! Pages that were read from disk for a relation, for pg_statio_all_tables and its kin.
//!
//! Storage counts them by tree ([`steppe_storage::Store::page_reads`]); a relation's are those of
//! the trees that it has, and of those that it had before REINDEX, TRUNCATE and their kin gave it
//! new ones. Which it had is a set: what is rolled back leaves one in it that is the relation's
//! still, and counts once all the same. Pages found in memory are not counted: that is what happens
//! all the time, and would cost every time.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use steppe_catalog::{Catalog, Relation};
use steppe_storage::TreeId;
use steppe_txn::{Database, RelFileNumber};
use steppe_types::{Oid, Result};

/// A relation's OID, and whose it is: a process may have several stores.
type Key = (u64, Oid);

fn key_of(database: &Database, relation: &Relation) -> Key {
    (database.store().system_id(), relation.oid)
}

/// The trees that relations had, rows' and out-of-line values'.
#[derive(Default)]
struct Former {
    rows: HashMap<Key, HashSet<TreeId>>,
    overflow: HashMap<Key, HashSet<TreeId>>,
}

static FORMER: Mutex<Option<Former>> = Mutex::new(None);

/// Remembers the trees that a relation's new version does not have any more.
pub fn replaced(database: &Database, old: &Relation, new: &Relation) -> Result<()> {
    if old.storage == new.storage && old.overflow == new.overflow {
        return Ok(());
    }
    let (rows, overflow) = (tree_of(database, old.storage)?, tree_of(database, old.overflow)?);
    let key = key_of(database, old);
    let mut former = FORMER.lock();
    let former = former.get_or_insert_default();
    if let Some(tree) = rows {
        former.rows.entry(key).or_default().insert(tree);
    }
    if let Some(tree) = overflow {
        former.overflow.entry(key).or_default().insert(tree);
    }
    Ok(())
}

fn tree_of(database: &Database, file: Option<RelFileNumber>) -> Result<Option<TreeId>> {
    file.map_or(Ok(None), |file| database.tree_of(file))
}

/// Pages read so far, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Blocks(HashMap<TreeId, u64>);

impl Blocks {
    /// Now.
    pub fn now(database: &Database) -> Blocks {
        Blocks(database.store().page_reads())
    }

    /// What has come since.
    #[must_use]
    pub fn since(mut self, before: &Blocks) -> Blocks {
        for (tree, reads) in &mut self.0 {
            *reads = reads.saturating_sub(before.0.get(tree).copied().unwrap_or(0));
        }
        self
    }

    /// Sets a relation's back to what they are at another moment.
    pub fn copy_of(&mut self, now: &Blocks, database: &Database, of: &Relation) -> Result<()> {
        let mut trees = HashSet::new();
        for part in [Part::Rows, Part::Overflow] {
            trees.extend(part.trees(database, of)?);
        }
        let reads = trees.into_iter().filter_map(|tree| Some((tree, *now.0.get(&tree)?)));
        self.0.extend(reads);
        Ok(())
    }

    /// Adds others.
    pub fn add(&mut self, others: &Blocks) {
        others.0.iter().for_each(|(tree, reads)| *self.0.entry(*tree).or_default() += reads);
    }

    /// Forgets a relation's.
    pub fn forget(&mut self, database: &Database, of: &Relation) -> Result<()> {
        for part in [Part::Rows, Part::Overflow] {
            for tree in part.trees(database, of)? {
                self.0.remove(&tree);
            }
        }
        Ok(())
    }

    /// By relation: those of rows or entries, and those of out-of-line values.
    pub fn by_relation(
        &self,
        database: &Database,
        catalog: &Catalog,
    ) -> Result<Vec<(Oid, u64, u64)>> {
        let mut all = Vec::new();
        for relation in catalog.relations().filter(|relation| relation.storage.is_some()) {
            let rows = self.of(database, relation, Part::Rows)?.unwrap_or(0);
            let overflow = self.of(database, relation, Part::Overflow)?.unwrap_or(0);
            if rows + overflow > 0 {
                all.push((relation.oid, rows, overflow));
            }
        }
        Ok(all)
    }

    /// The same from there, as if all had been of the trees that relations have.
    pub fn of_relations(
        database: &Database,
        catalog: &Catalog,
        all: impl IntoIterator<Item = (Oid, u64, u64)>,
    ) -> Result<Blocks> {
        let mut blocks = Blocks::default();
        for (relation, rows, overflow) in all {
            let Some(relation) = catalog.relation(relation) else { continue };
            for (file, reads) in [(relation.storage, rows), (relation.overflow, overflow)] {
                if let Some(tree) = tree_of(database, file)?.filter(|_| reads > 0) {
                    blocks.0.insert(tree, reads);
                }
            }
        }
        Ok(blocks)
    }

    /// Those of a part of a relation; `None`: nothing was ever written to it.
    pub fn of(&self, database: &Database, relation: &Relation, part: Part) -> Result<Option<u64>> {
        let trees = part.trees(database, relation)?;
        let reads = trees.iter().filter_map(|tree| self.0.get(tree));
        Ok((!trees.is_empty()).then(|| reads.sum()))
    }
}

/// What a relation's pages are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rows, or an index's entries.
    Rows,
    /// Out-of-line values.
    Overflow,
}

impl Part {
    /// The trees that a relation has and had.
    fn trees(self, database: &Database, relation: &Relation) -> Result<HashSet<TreeId>> {
        let file = match self {
            Part::Rows => relation.storage,
            Part::Overflow => relation.overflow,
        };
        let (has, key) = (tree_of(database, file)?, key_of(database, relation));
        let former = FORMER.lock();
        let had = former.as_ref().and_then(|former| match self {
            Part::Rows => former.rows.get(&key),
            Part::Overflow => former.overflow.get(&key),
        });
        Ok(had.into_iter().flatten().copied().chain(has).collect())
    }
}

/// Forgets relations that are gone, and trees that are no relation's any more.
pub fn forget_all_but(database: &Database, exists: impl Fn(Oid) -> bool) -> Result<()> {
    // Those of transactions under way, too.
    let (mut trees, own) = (database.trees()?, database.store().system_id());
    if let Some(former) = &mut *FORMER.lock() {
        for of in [&mut former.rows, &mut former.overflow] {
            of.retain(|(store, relation), _| *store != own || exists(*relation));
            trees.extend(of.values().flatten());
        }
    }
    database.store().forget_page_reads(|tree| trees.contains(&tree));
    Ok(())
}
