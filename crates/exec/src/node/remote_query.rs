//! A statement that a data node runs as a whole (execRemote.c of Postgres-XL).
//!
//! The node of a key is found when the statement starts, from the value that its parameter has then:
//! a literal, a client's parameter and a function's variable are the same here. The statement runs in
//! the transaction's session on that node ([`Participants`]). Rows come in batches, so that no more
//! of them are in memory than one answer of the driver, and are decoded as the plan above wants them.
//!
//! A replicated table's INSERT runs on all its nodes, with the same values, and must have the same
//! result on each.

use super::{BoxedNode, CNode, CPlan, Node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use steppe_catalog::Distribution;
use steppe_catalog::objects::Node as DataNode;
use steppe_cluster::transaction::{
    AbandonedCursors, CursorId, Effect, Fetched, ReadAlone, RemoteStatement, Values, first_row,
    malformed,
};
use steppe_cluster::{Format, NodeId};
use steppe_sql::expr::TypeRef;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, binary_io, oid, text_io};

/// Rows of one batch of a query. A portal with a limit can be left while others run on the node.
const BATCH: u32 = 1024;

/// A compiled RemoteQuery.
pub(crate) struct RemotePlan {
    pub(crate) text: Arc<str>,
    pub(crate) params: Box<[CExpr]>,
    pub(crate) types: Box<[Oid]>,
    pub(crate) target: Target,
    pub(crate) effect: Effect,
    pub(crate) columns: Box<[TypeRef]>,
    pub(crate) formats: Box<[Format]>,
    /// A run had more rows than are read at once: a portal streams those of the next.
    pub(crate) is_long: AtomicBool,
}

/// The nodes of a statement.
pub(crate) enum Target {
    /// The node of a key's value, and the type of the table's key.
    Key(Arc<Distribution>, CExpr, Oid),
    /// The node of a parameter's value, by its position.
    Parameter(Arc<Distribution>, usize, Oid),
    Any(Box<[Oid]>),
    All(Box<[Oid]>),
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
struct Running {
    cursor: CursorId,
    /// DataRow messages, the first `read` bytes of which were decoded.
    rows: Vec<u8>,
    read: usize,
    tag: Option<String>,
    abandoned: Arc<AbandonedCursors>,
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
    /// All rows were handed up, and the nodes' results were compared.
    has_ended: bool,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(RemoteNode { plan, running: None, has_ended: false })
}

impl Node for RemoteNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let CNode::RemoteQuery(remote) = &plan.kind else {
            return Err(Error::internal("remote node over another plan"));
        };
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(remote.start(cx)?),
        };
        let Some((first, others)) = running.split_first_mut() else { return Ok(()) };
        let io = Arc::clone(&cx.functions.io);
        let mut row = Vec::with_capacity(remote.columns.len());
        while !out.is_full() && first.advance(cx)? {
            first.decode(remote, &io, &mut row)?;
            plan.emit_owned(cx, &mut row, out)?;
        }
        if out.is_full() || self.has_ended {
            return Ok(());
        }
        self.has_ended = true;
        for other in others {
            other.finish(cx)?;
            if other.tag != first.tag {
                return Err(Error::internal("the nodes of a replicated table differ"));
            }
        }
        cx.processed += first.tag.as_deref().map_or(0, changed);
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        (self.running, self.has_ended) = (None, false);
        Ok(())
    }
}

/// A statement with its parameters' values and its nodes.
pub(crate) struct RemoteRequest {
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) values: Values,
}

impl RemotePlan {
    /// Evaluates the parameters.
    pub(crate) fn request(&self, cx: &mut ExecContext) -> Result<RemoteRequest> {
        let values = self.params.iter().map(|param| param.eval(cx, Row::EMPTY));
        let values = values.collect::<Result<Vec<Datum>>>()?;
        let nodes = self.nodes(&values, cx)?;
        let io = Arc::clone(&cx.functions.io);
        let values = values.iter().zip(&self.types);
        let values = values.map(|(value, type_oid)| text(*type_oid, value, &io));
        Ok(RemoteRequest { nodes, values: values.collect::<Result<_>>()? })
    }

    /// The statement, with columns in these formats.
    pub(crate) fn statement<'a>(&'a self, result_formats: &'a [Format]) -> RemoteStatement<'a> {
        let (text, types, effect) = (&*self.text, &*self.types, self.effect);
        RemoteStatement { text, types, result_formats, effect }
    }

    /// Whether the node's rows in these formats (none: text) are those that the client would get.
    pub(crate) fn is_passed_through(&self, formats: &[Format]) -> bool {
        let format_of = |column: usize| match formats {
            [] => Format::Text,
            [all] => *all,
            each => each.get(column).copied().unwrap_or_default(),
        };
        let mut own = self.formats.iter().enumerate();
        own.all(|(column, own)| format_of(column) == Format::Text || *own == Format::Binary)
    }

    /// Sends the statement to its nodes.
    fn start(&self, cx: &mut ExecContext) -> Result<Vec<Running>> {
        let request = match cx.remote_request.take() {
            Some(request) => request,
            None => self.request(cx)?,
        };
        let session = Arc::clone(&cx.functions.session);
        let participants = cx.txn()?.participants(&*session)?;
        let statement = self.statement(&self.formats);
        if let [node] = request.nodes[..]
            && !self.is_long.load(Ordering::Relaxed)
            && self.effect == Effect::Read
        {
            let abandoned = Arc::clone(participants.abandoned());
            match participants.read_alone(&statement, node, &request.values)? {
                ReadAlone::Rows(rows, tag) => {
                    let cursor = CursorId::NONE;
                    return Ok(vec![Running { cursor, rows, read: 0, tag: Some(tag), abandoned }]);
                }
                ReadAlone::IsLong => self.is_long.store(true, Ordering::Relaxed),
                ReadAlone::InTransaction => {}
            }
        }
        let RemoteRequest { nodes, values } = request;
        let targets: Vec<(NodeId, Values)> =
            nodes.into_iter().map(|node| (node, values.clone())).collect();
        // A change runs to its end.
        let batch = if self.effect == Effect::Rows { 0 } else { BATCH };
        let cursors = participants.open(&statement, &targets, batch, None)?;
        let abandoned = participants.abandoned();
        let running = |cursor| {
            let abandoned = Arc::clone(abandoned);
            Running { cursor, rows: Vec::new(), read: 0, tag: None, abandoned }
        };
        Ok(cursors.into_iter().map(running).collect())
    }

    fn nodes(&self, values: &[Datum], cx: &mut ExecContext) -> Result<Vec<NodeId>> {
        let (distribution, type_oid, key) = match &self.target {
            Target::Key(distribution, key, type_oid) => {
                (distribution, *type_oid, key.eval(cx, Row::EMPTY)?)
            }
            Target::Parameter(distribution, place, type_oid) => {
                let missing = || Error::internal("a key's parameter is missing");
                (distribution, *type_oid, values.get(*place).cloned().ok_or_else(missing)?)
            }
            Target::Any(nodes) => return Ok(vec![node(cx, nodes[next_copy() % nodes.len()])?]),
            Target::All(nodes) => return nodes.iter().map(|oid| node(cx, *oid)).collect(),
        };
        let place = distribution.place(type_oid, &key)?;
        let oid = place.and_then(|place| distribution.nodes.get(place));
        let missing = || Error::internal("a key has no node");
        Ok(vec![node(cx, *oid.ok_or_else(missing)?)?])
    }
}

/// Copies are read in turn.
fn next_copy() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The identity of a node.
fn node(cx: &ExecContext, oid: Oid) -> Result<NodeId> {
    let node = cx.functions.catalog.stored::<DataNode>().get(oid);
    let Some(node) = node else { return Err(Error::internal("a node of a table is missing")) };
    match node.identity {
        0 => {
            let message = format!("node \"{}\" has never been reached", node.name);
            Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint("Use ALTER NODE once the node can be reached."))
        }
        identity => Ok(NodeId(identity)),
    }
}

fn text(type_oid: Oid, value: &Datum, io: &IoContext) -> Result<Option<Vec<u8>>> {
    if value.is_null() {
        return Ok(None);
    }
    let mut out = Vec::new();
    text_io::output(type_oid, value, io, &mut out)?;
    Ok(Some(out))
}

impl Running {
    /// Makes sure that a row is at hand; false at the end.
    fn advance(&mut self, cx: &mut ExecContext) -> Result<bool> {
        while self.read == self.rows.len() {
            if self.tag.is_some() {
                return Ok(false);
            }
            self.rows.clear();
            self.read = 0;
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
        let (values, bytes) = first_row(&self.rows[self.read..])?;
        row.clear();
        for ((value, column), format) in values.iter().zip(&plan.columns).zip(&plan.formats) {
            row.push(match (value, format) {
                (None, _) => Datum::Null,
                (Some(bytes), Format::Binary) => {
                    binary_io::receive(column.oid, column.typmod, bytes, io)?
                }
                (Some(bytes), Format::Text) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
                    text_io::input(column.oid, column.typmod, text, io)?
                }
            });
        }
        self.read += bytes;
        match row.len() == plan.columns.len() {
            true => Ok(()),
            false => Err(malformed()),
        }
    }
}

/// The rows that a command tag tells of.
fn changed(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}
