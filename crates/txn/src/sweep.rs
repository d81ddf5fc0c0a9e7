//! VACUUM's passes: finding what nobody can see, whatever should have freed it.
//!
//! Deletions are cleaned up after by the purge, which learns of them from undo. What
//! a crash leaves behind is known to nobody: undo is gone, and the log is read from
//! the last checkpoint only. Such rows and postings are skipped by readers and go when
//! they are met; out-of-line values without a row are never met. These passes look at
//! everything instead. Nothing depends on them for correctness, they can stop anywhere,
//! and they work beside readers and writers, a leaf at a time.
//!
//! *Rows and postings* are removed if they are deleted and their deleter is below the
//! horizon: the rule of the purge.
//!
//! *Out-of-line values.* Let B be the next value id and then X the next xid, and let the
//! horizon be at or past X: every transaction that has stored a value below B has ended,
//! with its row in the table or its value removed. So a value below B is needed only if
//! some version of a row refers to it: one in the table, or one of an undo record by a
//! transaction from X on (older ones are below the horizon: nobody goes back past them,
//! and the purge frees what they gave up). A row never hands its value to another. All
//! these versions are looked at; a value below B that none refers to is garbage. If the
//! horizon is held back, the pass is left for the next time.

use std::cell::Cell;

use steppe_storage::{LogHeader, Tree};
use steppe_types::Result;

use crate::change::{Change, Origin, RowHeader, apply_delta, corrupt};
use crate::engine::Engine;
use crate::index::{IndexStore, PLAIN_LEN, Postings, plain_word};
use crate::overflow::{OverflowRef, OverflowStore};
use crate::rollback::Gone;
use crate::table::TableStore;

/// What calls a sweep off: runs between leaves, and ends it with its error.
pub type Checkpoint<'a> = &'a mut dyn FnMut() -> Result<()>;

/// Appends the out-of-line values that a row refers to.
pub type FindReferences<'a> = &'a mut dyn FnMut(&[u8], &mut Vec<OverflowRef>) -> Result<()>;

/// What a sweep does with an entry of a tree.
type Judge<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<Fate>;

/// What is known of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is not deleted.
    Live,
    /// Its deletion is not everybody's yet.
    Deleted,
    /// It can be removed. This is its newest deleter, or a newer transaction.
    Dead(u64),
}

impl Fate {
    /// What is deleted, or not, by the transaction `xid`.
    fn of(is_deleted: bool, xid: u64, horizon: u64) -> Fate {
        match is_deleted {
            true if xid < horizon => Fate::Dead(xid),
            true => Fate::Deleted,
            false => Fate::Live,
        }
    }
}

/// What a sweep has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Entries removed.
    pub removed: u64,
    /// Entries that nobody has deleted, whether or not their inserters have committed.
    pub live: u64,
}

/// Ids that one pass over the table covers: 16 MiB of bits.
const IDS_PER_PASS: u64 = 1 << 27;

impl Engine {
    /// Removes the rows whose deletion everybody sees.
    pub fn sweep_rows(&self, table: &TableStore, check: Checkpoint<'_>) -> Result<Swept> {
        let horizon = self.newest_horizon()?;
        self.sweep(table.tree()?, check, &mut |_, value| {
            let word = RowHeader::split(value)?.0.word;
            Ok(Fate::of(word.is_deleted(), word.xid(), horizon))
        })
    }

    /// Removes the postings whose deletion everybody sees; returns how many keys went.
    pub fn sweep_index(&self, index: &IndexStore, check: Checkpoint<'_>) -> Result<u64> {
        let horizon = self.newest_horizon()?;
        let mut crowded: Vec<Vec<u8>> = Vec::new();
        let Swept { removed, .. } = self.sweep(index.tree()?, check, &mut |key, value| {
            if !index.is_unique() || value.len() == PLAIN_LEN {
                let word = plain_word(value)?;
                return Ok(Fate::of(word.is_deleted(), word.xid(), horizon));
            }
            let mut postings = Postings::parse(value)?;
            let before = postings.len();
            let newest = postings.drop_dead(horizon);
            let some_left = (1..before).contains(&postings.len());
            if some_left && crowded.last().is_none_or(|last| last != key) {
                crowded.push(key.to_vec());
            }
            Ok(if postings.len() == 0 { Fate::Dead(newest) } else { Fate::Live })
        })?;
        let Some(tree) = index.tree()? else { return Ok(removed) };
        for key in crowded {
            check()?;
            self.clean_postings(tree.id(), &key)?;
        }
        Ok(removed)
    }

    /// Removes the out-of-line values that no row refers to; returns their chunks'
    /// number, or `None` if transactions are under way that do not let it tell.
    pub fn sweep_values(
        &self,
        table: &TableStore,
        values: &OverflowStore,
        references: FindReferences<'_>,
        check: Checkpoint<'_>,
    ) -> Result<Option<u64>> {
        let ids_end = values.next_id()?;
        let xids_end = self.xid_horizon().1;
        if self.newest_horizon()? < xids_end {
            return Ok(None);
        }
        let Some(first) = values.first_id()? else { return Ok(Some(0)) };
        let (mut from, mut removed) = (first, 0);
        while from < ids_end {
            let mut used = IdSet::new(from, ids_end.min(from.saturating_add(IDS_PER_PASS)));
            self.collect_references(table, xids_end, references, check, &mut used)?;
            let swept = self.sweep(values.tree()?, check, &mut |key, _| {
                let id = key.first_chunk::<8>().map(|id| u64::from_be_bytes(*id));
                let is_dead = id.is_some_and(|id| used.covers(id) && !used.contains(id));
                // Whose value it was is not known: everybody has ended.
                Ok(if is_dead { Fate::Dead(xids_end - 1) } else { Fate::Live })
            })?;
            removed += swept.removed;
            from = used.end;
        }
        Ok(Some(removed))
    }

    /// The horizon, no further back than running transactions and snapshots hold it.
    fn newest_horizon(&self) -> Result<u64> {
        // It does not pass what is not durable.
        self.flush_all()?;
        Ok(self.advance_horizon())
    }

    /// Enters the values that versions of rows refer to: those in the table, and those
    /// that transactions from `xids_end` on have replaced.
    fn collect_references(
        &self,
        table: &TableStore,
        xids_end: u64,
        references: FindReferences<'_>,
        check: Checkpoint<'_>,
        used: &mut IdSet,
    ) -> Result<()> {
        let Some(tree) = table.tree()? else { return Ok(()) };
        let mut cursor = tree.scan_whole();
        let (mut version, mut found) = (Vec::new(), Vec::new());
        while cursor.next_page()? {
            check()?;
            while let Some((_, value)) = cursor.next() {
                let (mut header, row) = RowHeader::split(value)?;
                references(row, &mut found)?;
                if header.word.xid() >= xids_end {
                    version.clear();
                    version.extend_from_slice(row);
                }
                while header.word.xid() >= xids_end {
                    let Some(before) = self.version_before(header, &mut version)? else { break };
                    header = before;
                    references(&version, &mut found)?;
                }
                found.drain(..).for_each(|value| used.insert(value.id));
            }
        }
        Ok(())
    }

    /// Turns a version into the one before; `None` if there is none, or nobody can go back
    /// to it.
    fn version_before(
        &self,
        header: RowHeader,
        version: &mut Vec<u8>,
    ) -> Result<Option<RowHeader>> {
        let Origin::Changed(undo_ptr) = header.origin else { return Ok(None) };
        let mut undo = Vec::new();
        if let Err(error) = self.undo.read(undo_ptr, &mut undo) {
            // Undo goes when the horizon has passed it.
            let is_settled = header.word.xid() < self.status.horizon();
            return if is_settled { Ok(None) } else { Err(error) };
        }
        match Change::decode(&undo)? {
            Change::RowUpdate { before, prefix, suffix, middle, .. } => {
                apply_delta(version, prefix, suffix, middle)?;
                Ok(Some(before))
            }
            Change::RowDelete { before, .. } => Ok(Some(before)),
            _ => Err(corrupt("undo record: a row's chain leads to another kind")),
        }
    }

    /// Removes the entries of a tree that can go, as `judge` has it. It is asked without a latch
    /// first: a leaf where nothing is dead costs a look.
    fn sweep(&self, tree: Option<&Tree>, check: Checkpoint<'_>, judge: Judge<'_>) -> Result<Swept> {
        let mut swept = Swept::default();
        let Some(tree) = tree else { return Ok(swept) };
        let mut cursor = tree.scan_whole();
        while cursor.next_page()? {
            check()?;
            let mut first_dead = None;
            while let Some((key, value)) = cursor.next() {
                match judge(key, value)? {
                    Fate::Live => swept.live += 1,
                    Fate::Deleted => {}
                    Fate::Dead(_) => {
                        first_dead = Some(key.to_vec());
                        break;
                    }
                }
            }
            let Some(first_dead) = first_dead else { continue };
            let _not_freed_meanwhile = self.tree_gate.read();
            let newest = Cell::new(0);
            // It looks at the rest of the leaf.
            let is_dead = |key: &[u8], value: &[u8]| {
                let fate = judge(key, value)?;
                swept.live += u64::from(fate == Fate::Live);
                let Fate::Dead(deleter) = fate else { return Ok(false) };
                newest.set(newest.get().max(deleter));
                Ok(true)
            };
            let payload = |_: Option<&[u8]>, out: &mut Vec<u8>| {
                Change::Purge { newest: newest.get() }.encode(out);
            };
            let log = LogHeader::default();
            let pruned = tree.prune_leaf::<Gone>(&first_dead, log, is_dead, payload);
            match pruned {
                Ok(pruned) => swept.removed += pruned.removed as u64,
                Err(Gone::Tree) => return Ok(swept),
                Err(Gone::Other(error)) => return Err(error),
            }
        }
        Ok(swept)
    }
}

/// A set of ids from a range.
struct IdSet {
    first: u64,
    end: u64,
    words: Vec<u64>,
}

impl IdSet {
    fn new(first: u64, end: u64) -> IdSet {
        let words = vec![0; (end - first).div_ceil(64) as usize];
        IdSet { first, end, words }
    }

    fn covers(&self, id: u64) -> bool {
        (self.first..self.end).contains(&id)
    }

    fn insert(&mut self, id: u64) {
        if self.covers(id) {
            let at = id - self.first;
            self.words[(at / 64) as usize] |= 1 << (at % 64);
        }
    }

    fn contains(&self, id: u64) -> bool {
        let at = id.wrapping_sub(self.first);
        self.covers(id) && self.words[(at / 64) as usize] >> (at % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_ids_knows_its_range() {
        let mut set = IdSet::new(100, 300);
        [99, 100, 164, 299, 300].into_iter().for_each(|id| set.insert(id));
        let inside: Vec<u64> = (0..400).filter(|&id| set.contains(id)).collect();
        assert_eq!(inside, [100, 164, 299]);
        assert!(!set.covers(99) && !set.covers(300));
    }
}
