//! Removes many entries of a leaf at once: entries of a batch that is rolled back, and entries that
//! VACUUM finds dead. One record for each leaf lists the removed slots, so that the rollback of a
//! load takes a small part of the load's log.

use super::{Appended, Tree, check_len, merge, stamp};
use crate::error::{Result, StorageError};
use crate::ops::OpsBuffer;
use crate::page::{edit, node};
use crate::pool::PageGuard;
use crate::types::{LogHeader, PageId};
use crate::wal::Priority;

/// The result of [`Tree::prune_leaf`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Entries removed.
    pub removed: usize,
    /// The first key of the next leaf; `None` after the last one.
    pub next: Option<Vec<u8>>,
    /// The log record; `None` if no entry was removed.
    pub appended: Option<Appended>,
}

/// Slots to remove, as runs (first, count) in ascending order.
type Runs = Vec<(u16, u16)>;

impl Tree {
    /// Calls `is_doomed` for the entries at or after `from` on the leaf that covers it, in order,
    /// and removes the entries for which it returns true, with one log record. If any are removed,
    /// `payload` is called with the next leaf's beginning, and appends the bytes to log. Both run
    /// under the leaf's latch: they must not wait or call into storage. If one fails, the tree is
    /// unchanged.
    pub fn prune_leaf<E: From<StorageError>>(
        &self,
        from: &[u8],
        log: LogHeader,
        is_doomed: impl FnMut(&[u8], &[u8]) -> Result<bool, E>,
        payload: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<Pruned, E> {
        check_len(from.len(), 0)?;
        let mut guard = self.latch_leaf(from)?;
        let next = node::upper_fence_key(guard.page());
        let runs = self.doomed_runs(&mut guard, from, is_doomed)?;
        if runs.is_empty() {
            return Ok(Pruned { removed: 0, next, appended: None });
        }
        let mut body = Vec::new();
        payload(next.as_deref(), &mut body);
        let appended = self.remove_runs(&mut guard, &runs, log, &body)?;
        let sparse = merge::is_sparse(guard.page());
        drop(guard);
        if sparse {
            self.merge_after_remove(from, Priority::Normal);
        }
        let removed = runs.iter().map(|&(_, count)| usize::from(count)).sum();
        Ok(Pruned { removed, next, appended: Some(appended) })
    }

    fn doomed_runs<E: From<StorageError>>(
        &self,
        guard: &mut PageGuard<'_>,
        from: &[u8],
        mut is_doomed: impl FnMut(&[u8], &[u8]) -> Result<bool, E>,
    ) -> Result<Runs, E> {
        let page = guard.page();
        let bytes = guard.page_mut();
        let mut runs = Runs::new();
        let mut key = Vec::new();
        let (start, _) = node::search(page, node::suffix_of(page, from));
        for slot in start..node::slot_count(page) {
            key.clear();
            let entry = node::entry(page, slot).filter(|_| node::full_key(page, slot, &mut key));
            let Some(entry) = entry else {
                return Err(self.pool().corrupt(self.id.root, "entry outside the page").into());
            };
            if !is_doomed(&key, bytes.bytes(entry.value_offset, entry.value_len))? {
                continue;
            }
            match runs.last_mut() {
                Some((first, count)) if usize::from(*first + *count) == slot => *count += 1,
                _ => runs.push((slot as u16, 1)),
            }
        }
        Ok(runs)
    }

    fn remove_runs(
        &self,
        guard: &mut PageGuard<'_>,
        runs: &Runs,
        log: LogHeader,
        payload: &[u8],
    ) -> Result<Appended> {
        let id: PageId = guard.id();
        let mut ops = OpsBuffer::default();
        ops.clear();
        ops.remove_many(id, runs);
        guard.will_change();
        let body = [ops.finish(), payload];
        let appended = self.append_change(log, &body)?;
        // All steps from here on cannot fail (T4).
        let mut page = guard.page_mut();
        edit::remove_runs(&mut page, runs.iter().map(|&(a, b)| (a.into(), b.into())));
        stamp(&mut page, appended);
        Ok(appended)
    }
}
