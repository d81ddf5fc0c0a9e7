//! A statement that a data node runs as a whole (execRemote.c of Postgres-XL).
//!
//! The node of a key is found when the statement starts, from the value that its parameter has then:
//! a literal, a client's parameter and a function's variable are the same here. The statement runs in
//! the transaction's session on that node ([`Participants`]). Rows come in batches, so that no more
//! of them are in memory than one answer of the driver, and are decoded as the plan above wants them.
//!
//! A replicated table's INSERT runs on all its nodes, with the same values, and must have the same
//! result on each. A scan of all nodes hands up the rows of one after the other.
//!
//! The scans of a statement begin together ([`super::remote_scans`]). A scan that the plan reads again keeps
//! its rows, since the node would read others the second time. They go to a file when they are many.
//!
//! [`Participants`]: steppe_cluster::transaction::Participants

use super::remote_rows::RemoteColumns;
use super::remote_shared::Part;
use super::{BoxedNode, CNode, CPlan, Node, remote_scans};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::tuplestore::{StoreReader, TupleStore};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use steppe_catalog::Distribution;
use steppe_cluster::Format;
use steppe_cluster::transaction::{
    AbandonedCursors, CursorId, Effect, Fetched, RemoteStatement, row_count,
};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// A compiled RemoteQuery.
pub(crate) struct RemotePlan {
    pub(crate) text: Arc<str>,
    pub(crate) params: Box<[CExpr]>,
    /// The types of the parameters, with those of other scans in front.
    pub(crate) types: Box<[Oid]>,
    /// The number of those of other scans, which this one does not use.
    pub(crate) padding: usize,
    pub(crate) target: Target,
    /// Keys of other tables with their types, and the errors if these rows are on other nodes.
    pub(crate) others: Box<[(CExpr, Oid, Error)]>,
    pub(crate) effect: Effect,
    pub(crate) columns: RemoteColumns,
    /// A run had more rows than are read at once: a portal streams those of the next.
    pub(crate) is_long: AtomicBool,
    /// It may be read again, and keeps its rows.
    pub(crate) is_kept: bool,
}

/// The nodes of a statement.
pub(crate) enum Target {
    /// The node of a key's value, and the type of the table's key.
    Key(Arc<Distribution>, CExpr, Oid),
    /// The node of a parameter's value, by its position.
    Parameter(Arc<Distribution>, usize, Oid),
    /// The nodes of the keys in an array, a parameter by its position. Each gets its own.
    Keys(Arc<Distribution>, usize, Oid),
    Any(Box<[Oid]>),
    /// Each has the same rows.
    All(Box<[Oid]>),
    /// The rows of all.
    Every(Box<[Oid]>),
}

/// The format in which a node sends a column: binary where reading that needs no text.
pub(crate) fn format(type_oid: Oid) -> Format {
    match type_oid {
        oid::BOOL
        | oid::INT2
        | oid::INT4
        | oid::INT8
        | oid::FLOAT4
        | oid::FLOAT8
        | oid::TEXT
        | oid::VARCHAR
        | oid::BPCHAR
        | oid::UUID
        | oid::DATE
        | oid::TIMESTAMP
        | oid::TIMESTAMPTZ => Format::Binary,
        _ => Format::Text,
    }
}

/// A statement on one node.
pub(super) struct Running {
    cursor: CursorId,
    /// DataRow messages, the first `read` bytes of which were decoded.
    rows: Vec<u8>,
    read: usize,
    tag: Option<String>,
    abandoned: Arc<AbandonedCursors>,
    /// The rows are a part of a statement's.
    part: Option<Part>,
}

impl Drop for Running {
    /// A plan that wants no more rows does not say so: the transaction closes the cursor later.
    fn drop(&mut self) {
        if self.cursor != CursorId::NONE {
            self.abandoned.add(self.cursor);
        }
    }
}

struct RemoteNode {
    plan: Arc<CPlan>,
    running: Option<Vec<Running>>,
    /// The position of the node that hands up rows.
    at: usize,
    /// All rows were handed up, and the nodes' results were compared.
    has_ended: bool,
    /// The rows so far, for a second reading.
    kept: Option<Kept>,
}

/// The rows that a scan has read.
struct Kept {
    store: TupleStore,
    /// Where a second reading is. It ends where the store did, and the node's further rows follow.
    again: Option<StoreReader>,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(RemoteNode { plan, running: None, at: 0, has_ended: false, kept: None })
}

impl Node for RemoteNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let CNode::RemoteQuery(remote) = &plan.kind else {
            return Err(Error::internal("remote node over another plan"));
        };
        let mut row = Vec::with_capacity(remote.columns.types.len());
        if let Some(Kept { store, again: Some(reader) }) = &mut self.kept {
            while !out.is_full() && store.read_one(reader, &mut row)? {
                plan.emit_owned(cx, &mut row, out)?;
                row.clear();
            }
        } else if remote.is_kept && self.kept.is_none() {
            self.kept = Some(Kept { store: cx.new_store(remote.columns.types.len()), again: None });
        }
        if out.is_full() || self.has_ended {
            return Ok(());
        }
        if let Some(kept) = &mut self.kept {
            kept.again = None;
        }
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(remote_scans::start(remote, plan.id, cx)?),
        };
        let io = Arc::clone(&cx.functions.io);
        while let Some(of_node) = running.get_mut(self.at) {
            while !out.is_full() && of_node.advance(cx)? {
                of_node.decode(remote, &io, &mut row)?;
                if let Some(kept) = &mut self.kept {
                    kept.store.push(Row::of(&row))?;
                }
                plan.emit_owned(cx, &mut row, out)?;
            }
            if out.is_full() {
                return Ok(());
            }
            match &remote.target {
                Target::Every(_) | Target::Keys(..) => self.at += 1,
                _ => break,
            }
        }
        self.has_ended = true;
        remote.end(running, cx)
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        match &mut self.kept {
            Some(kept) => kept.again = Some(StoreReader::default()),
            None => (self.running, self.at, self.has_ended) = (None, 0, false),
        }
        Ok(())
    }
}

impl RemotePlan {
    /// The statement, with columns in these formats.
    pub(crate) fn statement<'a>(&'a self, result_formats: &'a [Format]) -> RemoteStatement<'a> {
        let (text, types, effect) = (&*self.text, &*self.types, self.effect);
        RemoteStatement { text, types, result_formats, effect }
    }

    /// Whether the client would get the node's rows in these formats (none: text) as they are.
    pub(crate) fn is_passed_through(&self, formats: &[Format]) -> bool {
        let format_of = |column: usize| match formats {
            [] => Format::Text,
            [all] => *all,
            each => each.get(column).copied().unwrap_or_default(),
        };
        let mut own = self.columns.formats.iter().enumerate();
        own.all(|(column, own)| format_of(column) == Format::Text || *own == Format::Binary)
    }

    /// After the last row: counts the rows that a change has changed, and compares the nodes'.
    fn end(&self, running: &mut [Running], cx: &mut ExecContext) -> Result<()> {
        if self.effect == Effect::Read {
            return Ok(());
        }
        let (first, others) = running.split_first_mut().unzip();
        for other in others.unwrap_or_default() {
            other.finish(cx)?;
            if matches!(self.target, Target::Every(_)) {
                cx.processed += other.tag.as_deref().map_or(0, row_count);
            } else if first.as_ref().is_some_and(|first| first.tag != other.tag) {
                return Err(Error::internal("the nodes of a replicated table differ"));
            }
        }
        cx.processed += first.and_then(|first| first.tag.as_deref()).map_or(0, row_count);
        Ok(())
    }
}

impl Running {
    pub(super) fn new(cursor: CursorId, abandoned: &Arc<AbandonedCursors>) -> Running {
        let abandoned = Arc::clone(abandoned);
        Running { cursor, rows: Vec::new(), read: 0, tag: None, abandoned, part: None }
    }

    /// A statement whose rows have all come.
    pub(super) fn done(rows: Vec<u8>, tag: String, abandoned: &Arc<AbandonedCursors>) -> Running {
        let mut running = Running::new(CursorId::NONE, abandoned);
        (running.rows, running.tag) = (rows, Some(tag));
        running
    }

    /// A part of a statement's rows.
    pub(super) fn of_part(part: Part, abandoned: &Arc<AbandonedCursors>) -> Running {
        let mut running = Running::new(CursorId::NONE, abandoned);
        running.part = Some(part);
        running
    }

    /// Makes sure that a row is at hand; false at the end.
    fn advance(&mut self, cx: &mut ExecContext) -> Result<bool> {
        while self.read == self.rows.len() {
            if self.tag.is_some() {
                return Ok(false);
            }
            self.rows.clear();
            self.read = 0;
            if let Some(part) = &self.part {
                return part.fetch(&mut self.rows, cx);
            }
            let session = Arc::clone(&cx.functions.session);
            let participants = cx.txn()?.participants(&*session)?;
            if let Fetched::Done(tag) = participants.fetch(self.cursor, &mut self.rows)? {
                self.tag = Some(tag);
                participants.close(self.cursor);
            }
        }
        Ok(true)
    }

    /// Takes all rows, which another node has handed up.
    fn finish(&mut self, cx: &mut ExecContext) -> Result<()> {
        while self.advance(cx)? {
            self.read = self.rows.len();
        }
        Ok(())
    }

    /// Decodes a row.
    fn decode(&mut self, plan: &RemotePlan, io: &IoContext, row: &mut Vec<Datum>) -> Result<()> {
        let first = self.part.as_ref().map(|part| part.first);
        self.read += plan.columns.decode(&self.rows[self.read..], first, io, row)?;
        Ok(())
    }
}
