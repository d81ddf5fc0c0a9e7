//! INSERT of a plan's rows into a table on data nodes.
//!
//! ```text
//!   child ─row─▶ Distribution::place ─▶ arrays of node 1 ─▶ INSERT … SELECT … unnest($1), …
//!                                    └▶ arrays of node 2 ─▶ the same, in flight at once
//! ```
//!
//! *Memory.* A batch has [`BATCH_BYTES`] of values or [`BATCH_ROWS`]. While the nodes insert one, the next is
//! computed. A node that has not done with its last batch is waited for.
//!
//! *One statement a node.* ON CONFLICT DO UPDATE may not change a row twice (21000), which a node sees
//! only within a statement. So all rows of a node are in one there, and their size is limited. DO
//! NOTHING and plain rows do not read what is there, so that their batches together do what one statement
//! would.
//!
//! *Replicated tables.* The first node inserts a batch before the others begin. If two transactions
//! insert one key, the later one waits on the first node alone.
//!
//! *RETURNING.* Rows come in the order of the source where each row returns one. Otherwise those of
//! one node follow those of another.

use super::array_text::ArrayText;
use super::remote_rows::RemoteColumns;
use super::remote_scans::{node, text};
use super::{BoxedNode, CNode, CPlan, Node, start as start_node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use steppe_catalog::Distribution;
use steppe_cluster::transaction::{
    AbandonedCursors, CursorId, Effect, Fetched, RemoteStatement, Values, row_count,
};
use steppe_sql::plan::RemoteConflict;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The rows of a batch.
const BATCH_ROWS: usize = 8192;
/// The bytes of a batch's values, from which on it is sent.
const BATCH_BYTES: usize = 512 << 10;
/// The most bytes of the values of one INSERT with ON CONFLICT DO UPDATE.
const WHOLE_BYTES: usize = 256 << 20;

/// A compiled RemoteInsert.
pub(crate) struct RemoteInsertPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) text: Arc<str>,
    /// The positions and types of the columns that are sent.
    pub(crate) columns: Box<[(usize, Oid)]>,
    /// The parameters behind the columns' arrays.
    pub(crate) params: Box<[CExpr]>,
    /// The types of all parameters. The statement says those of arrays.
    pub(crate) types: Box<[Oid]>,
    pub(crate) distribution: Arc<Distribution>,
    /// The key's position and type.
    pub(crate) key: Option<(usize, Oid)>,
    pub(crate) conflict: RemoteConflict,
    pub(crate) returned: RemoteColumns,
    /// Whether the statement's row count is this node's.
    pub(crate) counts: bool,
}

/// A statement on a node.
struct Sent {
    cursor: CursorId,
    abandoned: Arc<AbandonedCursors>,
}

impl Drop for Sent {
    /// A failed statement does not close its cursors: the transaction does it later.
    fn drop(&mut self) {
        self.abandoned.add(self.cursor);
    }
}

/// The rows of a node, or of all nodes of a replicated table.
struct Part {
    /// OIDs.
    nodes: Box<[Oid]>,
    arrays: Vec<ArrayText>,
    rows: usize,
    /// Rows of statements that have ended, as their tags count them.
    done: u64,
    sent: Vec<Sent>,
    /// DataRow messages, the first `read` bytes of which were decoded.
    returned: Vec<u8>,
    read: usize,
}

struct RemoteInsertNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    incoming: RowBatch,
    /// The next row of `incoming`.
    next: usize,
    parts: Vec<Part>,
    /// The values of the parameters behind the arrays.
    params: Option<Values>,
    /// The parts of rows that were sent and have not come back, where each does.
    order: VecDeque<usize>,
    /// The error of the row behind `incoming`. What was before it is inserted first, so that the error is
    /// that of the first row that fails.
    failed: Option<Error>,
    is_over: bool,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::RemoteInsert(insert) = &plan.kind else {
        unreachable!("started as a remote insert")
    };
    let child = start_node(&insert.child, cx);
    let incoming = RowBatch::new(insert.child.width);
    let parts = insert.parts();
    Box::new(RemoteInsertNode {
        plan,
        child,
        incoming,
        next: 0,
        parts,
        params: None,
        order: VecDeque::new(),
        failed: None,
        is_over: false,
    })
}

impl RemoteInsertPlan {
    fn parts(&self) -> Vec<Part> {
        let part = |nodes: Box<[Oid]>| Part {
            nodes,
            arrays: self.columns.iter().map(|_| ArrayText::default()).collect(),
            rows: 0,
            done: 0,
            sent: Vec::new(),
            returned: Vec::new(),
            read: 0,
        };
        match self.distribution.is_replicated() {
            true => vec![part(self.distribution.nodes.clone())],
            false => self.distribution.nodes.iter().map(|oid| part([*oid].into())).collect(),
        }
    }

    fn returns(&self) -> bool {
        !self.returned.types.is_empty()
    }

    /// Whether each row that is sent comes back.
    fn keeps_order(&self) -> bool {
        self.returns() && self.conflict == RemoteConflict::Error
    }

    /// The part of a row.
    fn place(&self, row: &[Datum], parts: usize) -> Result<usize> {
        let place = match self.key {
            Some((at, type_oid)) => {
                let key = row.get(at).ok_or_else(|| Error::internal("a row has no key"))?;
                self.distribution.place(type_oid, key)?
            }
            None => None,
        };
        Ok(match place {
            Some(place) => place,
            // A replicated table has one part.
            None => next_part() % parts,
        })
    }

    fn params(&self, cx: &mut ExecContext) -> Result<Values> {
        let types = self.types.iter().skip(self.columns.len());
        let params = self.params.iter().zip(types);
        params.map(|(param, type_oid)| text(*type_oid, &param.eval(cx, Row::EMPTY)?)).collect()
    }

    /// Inserts rows, all of them or none. Returns their number.
    pub(crate) fn insert(&self, rows: &[Vec<Datum>], cx: &mut ExecContext) -> Result<u64> {
        let session = Arc::clone(&cx.functions.session);
        let mark = cx.txn()?.participants(&*session)?.mark();
        let inserted = self.insert_in(rows, cx);
        let participants = cx.txn()?.participants(&*session)?;
        match inserted {
            Ok(_) => participants.release(mark),
            Err(_) => participants.rollback_to(mark),
        }
        inserted
    }

    fn insert_in(&self, rows: &[Vec<Datum>], cx: &mut ExecContext) -> Result<u64> {
        let (io, mut parts) = (sent_form(), self.parts());
        for row in rows {
            let part = self.place(row, parts.len())?;
            parts[part].push(self, row, &io)?;
        }
        let params = self.params(cx)?;
        for part in &mut parts {
            part.send(self, &params, cx)?;
        }
        for part in &mut parts {
            part.finish(cx)?;
        }
        Ok(parts.iter().map(|part| part.done).sum())
    }

    fn open(&self, oids: &[Oid], values: &Values, cx: &mut ExecContext) -> Result<Vec<Sent>> {
        let statement = RemoteStatement {
            text: &self.text,
            types: &self.types,
            result_formats: &self.returned.formats,
            effect: Effect::Rows,
        };
        let mut sent = Vec::new();
        for oid in oids {
            let target = (node(cx, *oid)?, values.clone());
            let session = Arc::clone(&cx.functions.session);
            let participants = cx.txn()?.participants(&*session)?;
            // With one target it is sent at once, and nothing is waited for.
            let cursors = participants.open(&statement, &[target], 0, None)?;
            let abandoned = participants.abandoned();
            sent.extend(
                cursors.into_iter().map(|cursor| Sent { cursor, abandoned: Arc::clone(abandoned) }),
            );
        }
        Ok(sent)
    }
}

/// Values are sent in a form that no setting changes.
fn sent_form() -> IoContext {
    IoContext::default()
}

/// Rows without a key go to the nodes in turn.
fn next_part() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Part {
    fn push(&mut self, plan: &RemoteInsertPlan, row: &[Datum], io: &IoContext) -> Result<usize> {
        let mut bytes = 0;
        for ((at, type_oid), array) in plan.columns.iter().zip(&mut self.arrays) {
            let value = row.get(*at).ok_or_else(|| Error::internal("a row lacks a column"))?;
            let before = array.len();
            array.push(*type_oid, value, io)?;
            bytes += array.len() - before;
        }
        self.rows += 1;
        Ok(bytes)
    }

    /// Sends the rows, after the node's last statement has ended.
    fn send(
        &mut self,
        plan: &RemoteInsertPlan,
        params: &Values,
        cx: &mut ExecContext,
    ) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.finish(cx)?;
        let mut values: Values = self.arrays.iter_mut().map(|array| Some(array.take())).collect();
        values.extend(params.iter().cloned());
        self.rows = 0;
        self.sent = plan.open(&self.nodes[..1], &values, cx)?;
        if self.nodes.len() == 1 {
            return Ok(());
        }
        let done = self.finish(cx)?;
        for other in plan.open(&self.nodes[1..], &values, cx)? {
            if fetch(&other, &mut Vec::new(), cx)? != done {
                return Err(Error::internal("the nodes of a replicated table differ"));
            }
        }
        Ok(())
    }

    /// Waits until the statement has ended. Returns the number of its rows.
    fn finish(&mut self, cx: &mut ExecContext) -> Result<u64> {
        let mut rows = 0;
        for sent in std::mem::take(&mut self.sent) {
            rows += fetch(&sent, &mut self.returned, cx)?;
        }
        self.done += rows;
        Ok(rows)
    }

    /// Decodes the next row that has come back. False: there is none.
    fn returned(
        &mut self,
        plan: &RemoteInsertPlan,
        io: &IoContext,
        row: &mut Vec<Datum>,
    ) -> Result<bool> {
        if self.read == self.returned.len() {
            self.returned.clear();
            self.read = 0;
            return Ok(false);
        }
        self.read += plan.returned.decode(&self.returned[self.read..], None, io, row)?;
        Ok(true)
    }
}

/// Takes all rows of a statement, and the number that its tag has.
fn fetch(sent: &Sent, rows: &mut Vec<u8>, cx: &mut ExecContext) -> Result<u64> {
    let session = Arc::clone(&cx.functions.session);
    let participants = cx.txn()?.participants(&*session)?;
    loop {
        if let Fetched::Done(tag) = participants.fetch(sent.cursor, rows)? {
            participants.close(sent.cursor);
            return Ok(row_count(&tag));
        }
    }
}

impl RemoteInsertNode {
    /// Takes rows of the child up to the size of a batch; false at their end.
    fn read_batch(&mut self, plan: &RemoteInsertPlan, cx: &mut ExecContext) -> Result<bool> {
        let io = sent_form();
        let is_whole = plan.conflict == RemoteConflict::Update;
        let (mut rows, mut bytes) = (0, 0);
        while is_whole || (rows < BATCH_ROWS && bytes < BATCH_BYTES) {
            if self.next == self.incoming.len() {
                cx.check_interrupts()?;
                self.incoming.clear();
                self.next = 0;
                if self.failed.is_none() {
                    self.failed = self.child.next(cx, &mut self.incoming).err();
                }
                if self.incoming.is_empty() {
                    return Ok(false);
                }
            }
            let row = self.incoming.row(self.next);
            self.next += 1;
            let part = plan.place(row, self.parts.len())?;
            bytes += self.parts[part].push(plan, row, &io)?;
            rows += 1;
            if plan.keeps_order() {
                self.order.push_back(part);
            }
            if bytes > WHOLE_BYTES {
                let message = "too many rows for ON CONFLICT DO UPDATE of a distributed table";
                return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
                    .detail(format!("Their values have more than {WHOLE_BYTES} bytes.")));
            }
        }
        Ok(true)
    }

    /// Hands up rows that have come back, as many as are wanted.
    fn hand_up(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let CNode::RemoteInsert(insert) = &plan.kind else { return Ok(()) };
        if !insert.returns() {
            return Ok(());
        }
        let io = Arc::clone(&cx.functions.io);
        let mut row = Vec::new();
        if insert.keeps_order() {
            while !out.is_full()
                && let Some(part) = self.order.pop_front()
            {
                if !self.parts[part].returned(insert, &io, &mut row)? {
                    let message = "a node has not returned a row that it was sent";
                    return Err(Error::internal(message));
                }
                plan.emit_owned(cx, &mut row, out)?;
            }
            return Ok(());
        }
        for part in &mut self.parts {
            while !out.is_full() && part.returned(insert, &io, &mut row)? {
                plan.emit_owned(cx, &mut row, out)?;
            }
        }
        Ok(())
    }
}

impl Node for RemoteInsertNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let CNode::RemoteInsert(insert) = &plan.kind else {
            return Err(Error::internal("remote insert over another plan"));
        };
        loop {
            self.hand_up(cx, out)?;
            if out.is_full() || self.is_over {
                return Ok(());
            }
            self.is_over = !self.read_batch(insert, cx)?;
            let params = match &mut self.params {
                Some(params) => params,
                none => none.insert(insert.params(cx)?),
            };
            for part in &mut self.parts {
                part.send(insert, params, cx)?;
            }
            if insert.returns() || self.is_over {
                for part in &mut self.parts {
                    part.finish(cx)?;
                    let done = std::mem::take(&mut part.done);
                    cx.processed += if insert.counts { done } else { 0 };
                }
            }
            if let Some(error) = self.failed.take_if(|_| self.is_over) {
                return Err(error);
            }
        }
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        Err(Error::internal("an INSERT runs once"))
    }
}
