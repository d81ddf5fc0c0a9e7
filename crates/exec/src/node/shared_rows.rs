//! Rows that the threads of a team find together and then all read: the inner side of a hash join
//! (PostgreSQL's Parallel Hash, nodeHash.c). Here one thread makes the hash table
//! (`hash_join::shared_table`).
//!
//! If the rows cannot be found in parts, the first thread finds all of them, for the others as well
//! (`once`).
//!
//! Each thread takes parts of the scan, and adds its rows to the common store. When one thread has
//! reached the end, all parts are taken. The rows are complete when the threads at work have ended,
//! too. A thread that starts later has nothing to add. A thread never waits for one that has not
//! begun. At work, it waits only at such nodes further below. So the threads cannot wait for ever.
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

/// The interval at which a waiting thread checks for interrupts.
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
    /// A thread that starts now has nothing to do.
    is_exhausted: bool,
    failed: Option<Error>,
}

impl SharedRows {
    pub(crate) fn new(store: TupleStore) -> SharedRows {
        let (store, progress) = (RwLock::new(store), Mutex::default());
        SharedRows { store, progress, has_changed: Condvar::new() }
    }

    /// Adds the rows of the plan, which this thread runs, unless there are no more. With `once` it
    /// adds none if another thread is at work.
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

    /// Waits until all rows are in the store.
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
        // The rows are in a file. Each reader has its own place there.
        let mut store = self.store.write();
        store.read(reader, out)?;
        *place += out.len();
        Ok(())
    }
}

/// Makes sure that all rows of a plan that threads share have been found.
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
