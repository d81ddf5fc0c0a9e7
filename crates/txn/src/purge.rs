//! Cleaning up after deletions that everybody sees.
//!
//! Two come here with what was deleted:
//!
//! * *Undo.* As soon as a deleting transaction is below the horizon, its undo records name the rows,
//!   postings and overflow values that it deleted: a queue is cleaned up after as fast as it moves,
//!   at the edge where everybody looks for its next row.
//! * *Scans.* A reader that passes many dead entries in a leaf says so (`passed`), and the leaf
//!   is pruned with one record: what a crash has made undo forget costs a few readers, not all.
//!
//! Each entry is looked at again under its latch, and removed if it still is what was said of it
//! (deleted, its deleter below the horizon); so a record that was rolled back or came to nothing
//! does no harm. Leaves that are nearly empty then are merged.
//!
//! Each record of a removal names the newest transaction whose deletion it carries out
//! (`Change::Purge`; an insert that drops dead postings of its key, in `PostingInsert`). On a replica
//! a snapshot that does not see that transaction may have needed the removed entries. (PostgreSQL:
//! snapshotConflictHorizon.)
//!
//! Nothing depends on this for correctness: deleted rows are skipped, deleted
//! postings are dropped by the next insert of their key, and VACUUM finds what
//! a crash has made the purge forget (`sweep`).

mod passed;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use steppe_storage::{LogHeader, Pruned, TreeId, WriteOp};
use steppe_types::Result;

use crate::change::{Change, RowHeader};
use crate::engine::Engine;
#[cfg(feature = "planted-bugs")]
use crate::engine::PlantedBug;
use crate::index::{Postings, plain_word};
use crate::overflow::chunk_key;
use crate::rollback::Gone;

pub(crate) use passed::{Entries, Passed, PassedLeaves};

/// How often the purge thread looks for work.
const PURGE_INTERVAL: Duration = Duration::from_millis(50);
/// How often while there is much: what it has not removed yet is in the way of scans.
const BUSY_INTERVAL: Duration = Duration::from_millis(2);
/// So many deletions in one look are much.
const MANY: usize = 16;

impl Engine {
    /// Advances the horizon, removes what is deleted for everybody since, and frees undo segments
    /// that nobody needs. Returns how many deletions it cleaned up after.
    pub fn purge(&self) -> Result<usize> {
        let horizon = self.advance_horizon();
        let mut removed = self.purge_passed(horizon)?;
        #[cfg(feature = "planted-bugs")]
        let horizon = match self.options.planted_bug {
            Some(PlantedBug::PurgeUnsettled) => u64::MAX,
            _ => horizon,
        };
        self.undo.reclaim(horizon, |head, body| {
            if !head.undone && self.purge_change(head.xid, body)? {
                removed += 1;
            }
            Ok(())
        })?;
        Ok(removed)
    }

    /// As [`Engine::purge`]; the undo segments in use are freed, too, if nobody needs them: for
    /// VACUUM.
    pub fn purge_all(&self) -> Result<usize> {
        self.undo.seal_all();
        self.purge()
    }

    /// Removes what one change of a transaction has deleted; false if it is no deletion.
    pub(crate) fn purge_change(&self, xid: u64, body: &[u8]) -> Result<bool> {
        let horizon = self.status.horizon();
        let removed = match Change::decode(body)? {
            Change::RowDelete { tree, row, .. } => {
                self.clean(tree, &row.to_be_bytes(), |value, op| {
                    let word = RowHeader::split(value)?.0.word;
                    if word.is_deleted() && word.xid() < horizon {
                        Change::Purge { newest: word.xid() }.encode(op.payload());
                        op.remove();
                    }
                    Ok(())
                })
            }
            Change::PostingDelete { tree, unique: true, key, .. } => self.clean_postings(tree, key),
            Change::PostingDelete { tree, key, .. } => self.clean(tree, key, |value, op| {
                let word = plain_word(value)?;
                if word.is_deleted() && word.xid() < horizon {
                    Change::Purge { newest: word.xid() }.encode(op.payload());
                    op.remove();
                }
                Ok(())
            }),
            Change::OverflowFree { tree, id, chunks } => {
                let (first, last) = (chunk_key(id, 0), chunk_key(id, chunks.saturating_sub(1)));
                self.keep_number_used(tree)?;
                self.remove_range(tree, &first, &last, xid)
            }
            _ => return Ok(false),
        };
        removed.map(|()| true)
    }

    /// Drops the dead postings of a unique key.
    pub(crate) fn clean_postings(&self, tree: TreeId, key: &[u8]) -> Result<()> {
        let horizon = self.status.horizon();
        self.clean(tree, key, |value, op| {
            let mut postings = Postings::parse(value)?;
            let newest = postings.drop_dead(horizon);
            if newest != 0 {
                Change::Purge { newest }.encode(op.payload());
                postings.store(op);
            }
            Ok(())
        })
    }

    /// A value that goes has had its number until the next start: a recovery from this log removes
    /// again what is under that number. Numbers begin above the greatest that is there when the
    /// first is asked for, so that it is found before it goes.
    fn keep_number_used(&self, tree: TreeId) -> Result<()> {
        let _not_freed_meanwhile = self.tree_gate.read();
        match self.files.table_shared(&self.store.tree(tree)) {
            Ok(_) | Err(Gone::Tree) => Ok(()),
            Err(Gone::Other(error)) => Err(error),
        }
    }

    /// Removes the entries between two keys, both included, which a transaction has deleted.
    fn remove_range(&self, tree: TreeId, first: &[u8], last: &[u8], newest: u64) -> Result<()> {
        let tree = self.store.tree(tree);
        let mut from = first.to_vec();
        loop {
            let _not_freed_meanwhile = self.tree_gate.read();
            let is_doomed = |key: &[u8], _: &[u8]| Ok(key <= last);
            let payload =
                |_: Option<&[u8]>, out: &mut Vec<u8>| Change::Purge { newest }.encode(out);
            let pruned = tree.prune_leaf::<Gone>(&from, LogHeader::default(), is_doomed, payload);
            match pruned {
                Ok(Pruned { next: Some(next), .. }) if next.as_slice() <= last => from = next,
                Ok(_) | Err(Gone::Tree) => return Ok(()),
                Err(Gone::Other(error)) => return Err(error),
            }
        }
    }

    /// Writes an entry in nobody's name; a tree that is gone needs no cleaning.
    fn clean(
        &self,
        tree: TreeId,
        key: &[u8],
        mut f: impl FnMut(&[u8], &mut WriteOp) -> Result<()>,
    ) -> Result<()> {
        let _not_freed_meanwhile = self.tree_gate.read();
        let written = self.store.tree(tree).write::<Gone>(
            key,
            LogHeader::default(),
            |value, op| match value {
                Some(value) => Ok(f(value, op)?),
                None => Ok(()),
            },
        );
        match written {
            Ok(_) | Err(Gone::Tree) => Ok(()),
            Err(Gone::Other(error)) => Err(error),
        }
    }
}

/// The thread that purges.
pub(crate) struct PurgeThread {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl PurgeThread {
    /// Starts it; without it commits advance the horizon and nothing is purged
    /// before the clean shutdown.
    pub(crate) fn start(engine: &Arc<Engine>) -> Option<PurgeThread> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, engine) = (Arc::clone(&stop), Arc::downgrade(engine));
        let thread = std::thread::Builder::new()
            .name("steppe-purge".into())
            .spawn(move || run(&stopped, &engine))
            .ok()?;
        Some(PurgeThread { stop, thread })
    }

    /// Stops it and waits for it.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        // A panic there was reported by the thread; there is nothing to clean up.
        let _ = self.thread.join();
    }
}

fn run(stop: &AtomicBool, engine: &Weak<Engine>) {
    let mut interval = PURGE_INTERVAL;
    while !stop.load(Ordering::Acquire) {
        std::thread::park_timeout(interval);
        let Some(engine) = engine.upgrade() else { return };
        // A failure (a full disk, a page that cannot be read) is met again by
        // the statement that needs the space or the page, and reported there.
        if !stop.load(Ordering::Acquire) {
            let is_busy = engine.purge().is_ok_and(|removed| removed >= MANY);
            interval = if is_busy { BUSY_INTERVAL } else { PURGE_INTERVAL };
        }
    }
}
