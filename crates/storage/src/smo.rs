//! Structure modifications: changes of several pages that are one log record (the nested top
//! actions of ARIES/IM, Mohan and Levine, SIGMOD 1992, without their separate records).
//!
//! ```text
//!   new ── allocate, latch, describe in ops ── commit: bitmaps latched, one record, pages changed
//!    └──────────────── dropped: nothing has happened ────────────────┘
//! ```
//!
//! 1. The pages that it changes, bitmap pages among them, are latched from before its record is in
//!    the log until they are changed. So no thread sees one of them without the others.
//! 2. While it holds a latch it only tries to latch pages of trees. It waits only for fresh and
//!    bitmap pages, in ascending order: their holders, too, wait only for such pages (README.md,
//!    "Latches"). So a cycle cannot arise.
//! 3. It is never undone: a transaction that rolls back leaves it unchanged.
//!
//! A structure modification of an unlogged tree has neither record nor bits on disk (`unlogged`
//! says why that is enough). It is applied the same way.

use crate::error::Result;
use crate::ops::{self, OpsBuffer};
use crate::page;
use crate::page::bitmap;
use crate::pool::PageGuard;
use crate::store::Inner;
use crate::types::{LogHeader, PageId, TreeId};
use crate::wal::{Appended, Priority};

/// A structure modification: latched pages, and the operations for one log record. If it is dropped
/// without [`Smo::commit`], it has no effect.
pub(crate) struct Smo<'s> {
    store: &'s Inner,
    priority: Priority,
    /// The tree is unlogged: its pages' bits are in memory only.
    is_unlogged: bool,
    pub(crate) ops: OpsBuffer,
    pub(crate) guards: Vec<PageGuard<'s>>,
    allocated: Vec<PageId>,
    freed: Vec<PageId>,
}

impl<'s> Smo<'s> {
    pub(crate) fn new(store: &'s Inner, priority: Priority) -> Smo<'s> {
        let mut ops = OpsBuffer::default();
        ops.clear();
        Smo {
            store,
            priority,
            is_unlogged: false,
            ops,
            guards: Vec::with_capacity(4),
            allocated: Vec::new(),
            freed: Vec::new(),
        }
    }

    /// A modification of the given tree.
    pub(crate) fn of(store: &'s Inner, tree: TreeId, priority: Priority) -> Smo<'s> {
        let mut smo = Smo::new(store, priority);
        smo.is_unlogged = tree.is_unlogged();
        smo
    }

    /// Reserves and latches a page. It should be called before anything else is latched, since it
    /// may have to extend the file and to evict pages. The modification must format the page.
    pub(crate) fn allocate(&mut self) -> Result<PageId> {
        let store = self.store;
        let id = store.space.reserve(self.priority, &mut |id| store.make_bitmap(id))?;
        self.allocated.push(id);
        self.guards.push(store.pool.latch_fresh(id)?);
        Ok(id)
    }

    /// Notes that the modification frees a page.
    pub(crate) fn free(&mut self, id: PageId) {
        self.freed.push(id);
    }

    /// Logs the modification, unless its tree is unlogged, and applies it.
    pub(crate) fn commit(self, kind: u8, log: LogHeader, payload: &[u8]) -> Result<Appended> {
        let is_logged = !self.is_unlogged;
        self.commit_as(is_logged, kind, log, payload)
    }

    /// As [`Smo::commit`], but logs the modification even for an unlogged tree: redo needs it.
    pub(crate) fn commit_logged(
        self,
        kind: u8,
        log: LogHeader,
        payload: &[u8],
    ) -> Result<Appended> {
        self.commit_as(true, kind, log, payload)
    }

    fn commit_as(
        mut self,
        is_logged: bool,
        kind: u8,
        log: LogHeader,
        payload: &[u8],
    ) -> Result<Appended> {
        if !self.is_unlogged {
            self.latch_bitmaps()?;
        }
        for guard in &mut self.guards {
            guard.will_change();
        }
        let log = LogHeader { priority: self.priority, ..log };
        let appended = match is_logged {
            true => self.store.append(kind, log, &[self.ops.finish(), payload])?,
            false => self.store.unlogged_change()?,
        };
        self.apply(appended);
        self.guards.clear();
        self.allocated.clear();
        if !self.freed.is_empty() {
            self.store.space.release(&self.freed);
        }
        Ok(appended)
    }

    /// Adds the bitmap changes, with bitmap pages in ascending order.
    fn latch_bitmaps(&mut self) -> Result<()> {
        let mut changes: Vec<(PageId, u16, bool)> = Vec::new();
        for (ids, used) in [(&self.allocated, true), (&self.freed, false)] {
            changes.extend(ids.iter().map(|&id| {
                let (page, bit) = bitmap::locate(id);
                (page, bit, used)
            }));
        }
        changes.sort_unstable_by_key(|&(page, bit, used)| (page, used, bit));
        for group in changes.chunk_by(|a, b| a.0 == b.0) {
            let page = group[0].0;
            debug_assert!(
                group.iter().all(|change| change.2 == group[0].2),
                "one operation a page: a modification allocates or frees"
            );
            let mut runs: Vec<(u16, u16)> = Vec::new();
            for &(_, bit, _) in group {
                match runs.last_mut() {
                    Some((first, count)) if *first + *count == bit => *count += 1,
                    _ => runs.push((bit, 1)),
                }
            }
            let used = group[0].2;
            let guard = self.store.pool.latch(page)?;
            let agrees = page::kind(guard.page()) == Some(page::Kind::Bitmap)
                && runs.iter().all(|&(first, n)| bitmap::is_run(guard.page(), first, n, used));
            if !agrees {
                let what = "allocation bitmap does not agree with the trees";
                return Err(self.store.pool.corrupt(page, what));
            }
            self.ops.bitmap_runs(page, used, &runs);
            self.guards.push(guard);
        }
        Ok(())
    }

    /// Applies the logged operations. They were computed from these pages under these latches. If
    /// one does not fit, that is a bug, and the store stops before the damage can spread.
    fn apply(&mut self, appended: Appended) {
        let guards = &mut self.guards;
        let bytes = self.ops.finish();
        let applied = ops::for_each(&bytes[ops::PREFIX_LEN..], |op| {
            let guard = guards.iter_mut().find(|guard| guard.id() == op.page);
            let guard = guard.ok_or("operation on a page that is not latched")?;
            let mut page = guard.page_mut();
            ops::apply(&mut page, &op)?;
            page::set_lsn(&mut page, appended.end);
            Ok::<(), &'static str>(())
        });
        if let Err(what) = applied {
            debug_assert!(false, "{what}");
            self.store.pool.writeback.fail(format_args!(
                "internal error: log record at {} does not fit: {what}",
                appended.start
            ));
        }
    }
}

impl Drop for Smo<'_> {
    fn drop(&mut self) {
        self.guards.clear();
        if !self.allocated.is_empty() {
            self.store.space.release(&self.allocated);
        }
    }
}
