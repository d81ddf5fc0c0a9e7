//! Pages that were read from disk for a relation, for pg_statio_all_tables and its kin.
//!
//! Storage counts them by tree ([`steppe_storage::Store::page_reads`]). A relation's reads are
//! those of its trees, and of the trees that it had before REINDEX, TRUNCATE and their kin gave it
//! new ones. These former trees are a set: after a rollback it contains a tree that the relation
//! still has, which counts once all the same. Pages found in memory are not counted: that would
//! cost time at every access.

use std::collections::{HashMap, HashSet};

use steppe_catalog::{Catalog, Relation};
use steppe_storage::TreeId;
use steppe_txn::{Engine, FileId};
use steppe_types::{Oid, Result};

use crate::RelationStatistics;

/// The trees that relations had, rows' and out-of-line values'.
#[derive(Debug, Default)]
pub(crate) struct Former {
    rows: HashMap<Oid, HashSet<TreeId>>,
    overflow: HashMap<Oid, HashSet<TreeId>>,
}

impl RelationStatistics {
    /// Remembers the trees that a relation's new version no longer has.
    pub fn replaced(&self, engine: &Engine, old: &Relation, new: &Relation) -> Result<()> {
        if old.storage == new.storage && old.overflow == new.overflow {
            return Ok(());
        }
        let (rows, overflow) = (tree_of(engine, old.storage)?, tree_of(engine, old.overflow)?);
        let mut former = self.former.lock();
        if let Some(tree) = rows {
            former.rows.entry(old.oid).or_default().insert(tree);
        }
        if let Some(tree) = overflow {
            former.overflow.entry(old.oid).or_default().insert(tree);
        }
        Ok(())
    }
}

/// A database, and the trees that its relations had.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// Has the relations' present trees.
    pub engine: &'a Engine,
    /// Has the former ones.
    pub statistics: &'a RelationStatistics,
}

impl Files<'_> {
    /// The trees that a part of a relation has and had.
    fn trees(self, relation: &Relation, part: Part) -> Result<HashSet<TreeId>> {
        let file = match part {
            Part::Rows => relation.storage,
            Part::Overflow => relation.overflow,
        };
        let has = tree_of(self.engine, file)?;
        let former = self.statistics.former.lock();
        let had = match part {
            Part::Rows => former.rows.get(&relation.oid),
            Part::Overflow => former.overflow.get(&relation.oid),
        };
        Ok(had.into_iter().flatten().copied().chain(has).collect())
    }

    /// Forgets dropped relations, and trees that no relation has any more.
    pub fn forget_all_but(self, exists: impl Fn(Oid) -> bool) -> Result<()> {
        // Trees of running transactions are included.
        let mut trees = self.engine.trees()?;
        let mut former = self.statistics.former.lock();
        let Former { rows, overflow } = &mut *former;
        for of in [rows, overflow] {
            of.retain(|relation, _| exists(*relation));
            trees.extend(of.values().flatten());
        }
        drop(former);
        self.engine.store().forget_page_reads(|tree| trees.contains(&tree));
        Ok(())
    }
}

fn tree_of(engine: &Engine, file: Option<FileId>) -> Result<Option<TreeId>> {
    file.map_or(Ok(None), |file| engine.tree_of(file))
}

/// Pages read so far, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Blocks(HashMap<TreeId, u64>);

impl Blocks {
    /// The counts of this moment.
    pub fn now(engine: &Engine) -> Blocks {
        Blocks(engine.store().page_reads())
    }

    /// The reads since `before`.
    #[must_use]
    pub fn since(mut self, before: &Blocks) -> Blocks {
        for (tree, reads) in &mut self.0 {
            *reads = reads.saturating_sub(before.0.get(tree).copied().unwrap_or(0));
        }
        self
    }

    /// Sets a relation's counts to those of another moment.
    pub fn copy_of(&mut self, now: &Blocks, files: Files<'_>, of: &Relation) -> Result<()> {
        let mut trees = HashSet::new();
        for part in [Part::Rows, Part::Overflow] {
            trees.extend(files.trees(of, part)?);
        }
        let reads = trees.into_iter().filter_map(|tree| Some((tree, *now.0.get(&tree)?)));
        self.0.extend(reads);
        Ok(())
    }

    /// Adds other counts.
    pub fn add(&mut self, others: &Blocks) {
        others.0.iter().for_each(|(tree, reads)| *self.0.entry(*tree).or_default() += reads);
    }

    /// Forgets a relation's counts.
    pub fn forget(&mut self, files: Files<'_>, of: &Relation) -> Result<()> {
        for part in [Part::Rows, Part::Overflow] {
            for tree in files.trees(of, part)? {
                self.0.remove(&tree);
            }
        }
        Ok(())
    }

    /// By relation: those of rows or entries, and those of out-of-line values.
    pub fn by_relation(&self, files: Files<'_>, catalog: &Catalog) -> Result<Vec<(Oid, u64, u64)>> {
        let mut all = Vec::new();
        for relation in catalog.relations().filter(|relation| relation.storage.is_some()) {
            let rows = self.of(files, relation, Part::Rows)?.unwrap_or(0);
            let overflow = self.of(files, relation, Part::Overflow)?.unwrap_or(0);
            if rows + overflow > 0 {
                all.push((relation.oid, rows, overflow));
            }
        }
        Ok(all)
    }

    /// The counts as [`Self::by_relation`] returned them, as if the relations' present trees had
    /// all of them.
    pub fn of_relations(
        engine: &Engine,
        catalog: &Catalog,
        all: impl IntoIterator<Item = (Oid, u64, u64)>,
    ) -> Result<Blocks> {
        let mut blocks = Blocks::default();
        for (relation, rows, overflow) in all {
            let Some(relation) = catalog.relation(relation) else { continue };
            for (file, reads) in [(relation.storage, rows), (relation.overflow, overflow)] {
                if let Some(tree) = tree_of(engine, file)?.filter(|_| reads > 0) {
                    blocks.0.insert(tree, reads);
                }
            }
        }
        Ok(blocks)
    }

    /// The reads of a part of a relation; `None` if that part was never written to.
    pub fn of(&self, files: Files<'_>, relation: &Relation, part: Part) -> Result<Option<u64>> {
        let trees = files.trees(relation, part)?;
        let reads = trees.iter().filter_map(|tree| self.0.get(tree));
        Ok((!trees.is_empty()).then(|| reads.sum()))
    }
}

/// The part of a relation that pages belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rows, or an index's entries.
    Rows,
    /// Out-of-line values.
    Overflow,
}
