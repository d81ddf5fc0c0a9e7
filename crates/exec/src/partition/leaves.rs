//! The leaves of a scan, level by level, in the order in which they are read.
//!
//! If rows are wanted in an order, a level is read partition by partition if its bounds give that
//! order. Otherwise all leaves below it are read together, each in order, and their rows merged:
//!
//! ```text
//!   ORDER BY k      RANGE (k) ─┬─ p1                    p1, then
//!                              ├─ p2, HASH (x) ─┬─ a    a and b merged, then
//!                              │                └─ b
//!                              └─ p3                    p3
//! ```
//!
//! A scan that stops early should cost little, so at first only a few leaves are found.

use hashbrown::HashSet;
use std::ops::Range;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_partition::{KeyOrder, KeySet, PartitionMap, Selected};
use steppe_sql::partners::MatchedLeaves;
use steppe_types::{Error, Oid, Result};

/// The partitions of a level that are left.
pub(super) enum Kept {
    One(Option<Oid>),
    Set(KeySet),
}

/// The pruning of a level.
pub(super) struct LevelKept {
    pub(super) kept: Kept,
    /// The order of its key that gives the order wanted.
    pub(super) order: Option<KeyOrder>,
}

/// The leaves of a scan.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    pub(crate) oids: Vec<Oid>,
    /// The leaves that are read together, several in each range.
    pub(crate) merged: Vec<Range<usize>>,
    /// The leaves of the partitioned partitions that are in order themselves.
    pub(crate) nested: Vec<Range<usize>>,
    /// The list has all leaves.
    pub(crate) is_complete: bool,
}

impl Leaves {
    /// The leaves that are read together from the one at `at` on. Mostly it is that one alone.
    /// Behind the last one there are none.
    pub(crate) fn group(&self, at: usize) -> Range<usize> {
        let found = self.merged.binary_search_by_key(&at, |group| group.start);
        let alone = at..(at + 1).min(self.oids.len());
        found.map_or(alone, |found| self.merged[found].clone())
    }
}

impl Leaves {
    /// Keeps the leaves, without an order, whose partners are in `kept`.
    pub(crate) fn keep_joined(
        &mut self,
        partner: impl Fn(Oid) -> Result<Oid>,
        kept: &Leaves,
    ) -> Result<()> {
        debug_assert!(self.merged.is_empty() && self.nested.is_empty());
        let kept: HashSet<Oid> = kept.oids.iter().copied().collect();
        let mut left = Vec::with_capacity(self.oids.len());
        for leaf in self.oids.drain(..) {
            if kept.contains(&partner(leaf)?) {
                left.push(leaf);
            }
        }
        self.oids = left;
        Ok(())
    }

    /// Keeps the leaves that have partners, in the order of their joins.
    pub(crate) fn keep_matched(&mut self, matched: &MatchedLeaves) {
        self.oids.retain(|leaf| matched.place(*leaf).is_some());
        self.oids.sort_unstable_by_key(|leaf| matched.place(*leaf));
    }
}

enum Step {
    Visit(Oid),
    /// Ends a group of leaves that are read together, which begins at this one.
    EndMerged(usize),
    /// Ends the leaves of a partitioned partition, which begin at this one.
    EndNested(usize),
}

/// Finds leaves in the order of their bounds, those of a partitioned partition in its place.
pub(super) struct Walk<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) table: Oid,
    /// Rows are wanted in an order.
    pub(super) in_order: bool,
    /// The number of leaves that suffices.
    pub(super) wanted: usize,
}

/// The state of a walk.
#[derive(Default)]
struct Progress {
    leaves: Leaves,
    /// The steps to do, the last one first.
    pending: Vec<Step>,
    is_merging: bool,
}

impl Walk<'_> {
    /// The leaves. `kept` computes the partitions left of each level.
    pub(super) fn leaves(
        &self,
        kept: &mut dyn FnMut(&Arc<Relation>, &PartitionMap) -> Result<LevelKept>,
    ) -> Result<Leaves> {
        let mut now = Progress { pending: vec![Step::Visit(self.table)], ..Progress::default() };
        now.leaves.is_complete = true;
        while let Some(step) = now.pending.pop() {
            let oid = match step {
                Step::Visit(oid) => oid,
                end => {
                    now.end_group(&end);
                    continue;
                }
            };
            if !now.is_merging && now.leaves.oids.len() >= self.wanted {
                now.leaves.is_complete = false;
                break;
            }
            let Some(map) = self.catalog.partition_map(oid)? else {
                now.leaves.oids.push(oid);
                continue;
            };
            let parent = self.catalog.relation(oid);
            let parent = parent.ok_or_else(|| Error::internal("partitioned table has gone"))?;
            let level = kept(parent, map)?;
            let first = now.pending.len();
            self.descend(oid, map, &level, &mut now);
            now.pending[first..].reverse();
        }
        Ok(now.leaves)
    }

    /// Adds a level's partitions to the steps, and the step after them.
    fn descend(&self, parent: Oid, map: &PartitionMap, level: &LevelKept, now: &mut Progress) {
        let set = match &level.kept {
            Kept::One(partition) => return now.pending.extend(partition.map(Step::Visit)),
            Kept::Set(set) => set,
        };
        let first = now.leaves.oids.len();
        if now.is_merging {
            now.pending.extend(map.select(set).map(Step::Visit));
        } else if !self.in_order {
            now.visit_in_turn(map.select(set), self.wanted - first);
        } else if let Some(selected) = level.order.and_then(|by| map.select_ordered(set, by)) {
            now.visit_in_turn(selected, self.wanted - first);
            let is_nested = parent != self.table;
            now.pending.extend(is_nested.then_some(Step::EndNested(first)));
        } else {
            now.is_merging = true;
            now.pending.extend(map.select(set).map(Step::Visit));
            now.pending.push(Step::EndMerged(first));
        }
    }
}

impl Progress {
    /// Adds as many partitions as there is room for.
    fn visit_in_turn(&mut self, mut selected: Selected<'_>, room: usize) {
        self.pending.extend(selected.by_ref().take(room).map(Step::Visit));
        self.leaves.is_complete &= selected.next().is_none();
    }

    fn end_group(&mut self, step: &Step) {
        let (list, first) = match step {
            Step::Visit(_) => return,
            Step::EndNested(first) => (&mut self.leaves.nested, *first),
            Step::EndMerged(first) => {
                self.is_merging = false;
                (&mut self.leaves.merged, *first)
            }
        };
        // A single leaf is not a group.
        let group = first..self.leaves.oids.len();
        list.extend((group.len() > 1).then_some(group));
    }
}
