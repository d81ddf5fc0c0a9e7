//! Rows that the threads of a team find together, and that each of them then has all of: the inner
//! side of a hash join (PostgreSQL's Parallel Hash, nodeHash.c; here one thread makes the table of
//! them, `hash_join::shared_table`).
//!
//! Where the rows cannot be found in parts, the first thread that comes finds them all, for the
//! others as well (`once`).
//!
//! A thread that comes takes parts of the scan, and adds what it makes of them to the common store.
//! Once one has come to the end there is no part left that nobody has taken: the rows are complete
//! when those at work have ended, too, and a thread that comes later has nothing to add. No thread
//! waits for one that has not begun, and a thread at work waits only at such nodes further below: so
//! no thread waits for ever.
//!
//! An error of one thread is an error of all: rows are missing.

use super::{BoxedNode, CNode, CPlan, Node, start as start_node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::tuplestore::{StoreReader, TupleStore};
use parking_lot::{Condvar, Mutex, RwLock};
use std::sync::Arc;
use std::time::Duration;
use steppe_types::{Error, Result, interrupt};

/// How often a thread that waits for others looks for interrupts.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The common store.
pub(crate) struct SharedRows {
    store: RwLock<TupleStore>,
    progress: Mutex<Progress>,
    has_changed: Condvar,
}

#[derive(Default)]
struct Progress {
    /// Threads at work.
    at_work: usize,
    /// A thread that comes now finds nothing to do.
    is_exhausted: bool,
    failed: Option<Error>,
}

impl SharedRows {
    pub(crate) fn new(store: TupleStore) -> SharedRows {
        let (store, progress) = (RwLock::new(store), Mutex::default());
        SharedRows { store, progress, has_changed: Condvar::new() }
    }

    /// Adds the rows of the plan, run by this thread, if there may be any; with `once` none if
    /// another thread does.
    fn contribute(&self, plan: &Arc<CPlan>, once: bool, cx: &mut ExecContext) -> Result<()> {
        {
            let mut progress = self.progress.lock();
            let is_done = progress.is_exhausted || once && progress.at_work > 0;
            if is_done || progress.failed.is_some() {
                return Ok(());
            }
            progress.at_work += 1;
        }
        let added = interrupt::catching(|| self.add_rows(plan, cx));
        let mut progress = self.progress.lock();
        progress.at_work -= 1;
        match &added {
            Ok(()) => progress.is_exhausted = true,
            Err(error) => progress.failed = Some(error.clone()),
        }
        self.has_changed.notify_all();
        added
    }

    fn add_rows(&self, plan: &Arc<CPlan>, cx: &mut ExecContext) -> Result<()> {
        let mut node = start_node(plan, cx);
        let mut batch = RowBatch::new(plan.width);
        loop {
            batch.clear();
            node.next(cx, &mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            let mut store = self.store.write();
            batch.iter().try_for_each(|row| store.push(Row::of(row)))?;
        }
    }

    /// Waits until all rows are there.
    fn wait(&self, cx: &ExecContext) -> Result<()> {
        let mut progress = self.progress.lock();
        loop {
            if let Some(error) = &progress.failed {
                return Err(error.clone());
            }
            if progress.is_exhausted && progress.at_work == 0 {
                return Ok(());
            }
            if self.has_changed.wait_for(&mut progress, LOOK_EVERY).timed_out() {
                drop(progress);
                cx.check_interrupts()?;
                progress = self.progress.lock();
            }
        }
    }

    /// Appends rows from the reader's place on.
    fn read(
        &self,
        (reader, place): (&mut StoreReader, &mut usize),
        out: &mut RowBatch,
    ) -> Result<()> {
        let store = self.store.read();
        while !out.is_full() {
            let Some(row) = store.in_memory(*place) else { break };
            out.push(Row::of(row));
            *place += 1;
        }
        if !out.is_empty() || *place >= store.len() {
            return Ok(());
        }
        drop(store);
        // They are in a file, of which each reader has a place of its own.
        let mut store = self.store.write();
        store.read(reader, out)?;
        *place += out.len();
        Ok(())
    }
}

/// Has all rows of a plan that are found together be there.
pub(super) fn find(plan: &CPlan, cx: &mut ExecContext) -> Result<Arc<SharedRows>> {
    let CNode::SharedRows { child, once } = &plan.kind else {
        return Err(Error::internal("shared rows' node over another plan"));
    };
    let team = cx.team().ok_or_else(|| Error::internal("nobody shares the rows"))?;
    let rows = team.rows(plan.id, || cx.new_store(child.width));
    rows.contribute(child, *once, cx)?;
    rows.wait(cx)?;
    Ok(rows)
}

struct SharedRowsNode {
    plan: Arc<CPlan>,
    rows: Option<Arc<SharedRows>>,
    reader: StoreReader,
    place: usize,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(SharedRowsNode { plan, rows: None, reader: StoreReader::default(), place: 0 })
}

impl Node for SharedRowsNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let rows = match &self.rows {
            Some(rows) => rows,
            None => self.rows.insert(find(&self.plan, cx)?),
        };
        rows.read((&mut self.reader, &mut self.place), out)
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.reader.rewind();
        self.place = 0;
        Ok(())
    }
}
