//! The beginning of the statements that a plan runs on nodes.
//!
//! *One statement, one snapshot.* In READ COMMITTED a portal on a node reads by the snapshot that the node has
//! taken at its Bind. If one scan of a statement was bound before a transaction's commit over several nodes, and
//! another one after it, the statement would see half of it. So all scans of an execution are bound when
//! the first of them starts, in one passage of the gate ([`Participants::open_together`]), and none is bound
//! later:
//!
//! 1. Every scan is in [`CompiledStmt::scans`].
//! 2. Its parameters can be computed at that time: they depend on nothing that the execution finds, and
//!    call no function of a user's (`planner::remote::scan`).
//! 3. If computing them fails, the error is kept, and raised when the plan comes to the scan: one in a branch
//!    of CASE that is never evaluated does no harm. So a scan that was not bound at the time is never read.
//! 4. A scan that the plan reads again keeps its rows.
//!
//! In REPEATABLE READ each node has one snapshot for the whole transaction.
//!
//! A cursor's scans begin when it is declared, so that it does not see later changes of its transaction.
//!
//! [`Participants::open_together`]: steppe_cluster::transaction::Participants::open_together
//! [`CompiledStmt::scans`]: crate::statement::CompiledStmt::scans

use super::remote_query::{RemotePlan, Running, Target};
use super::CNode;
use crate::context::ExecContext;
use crate::expr::Row;
use hashbrown::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use steppe_catalog::objects::Node as DataNode;
use steppe_cluster::NodeId;
use steppe_cluster::transaction::{Effect, ReadAlone, RemoteStatement, Values};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, text_io};

/// Rows of the first batch of a query. A portal with a limit can be left while others run on the node.
const BATCH: u32 = 1024;

/// The scans of an execution.
#[derive(Default)]
pub(crate) struct OpenScans {
    have_begun: bool,
    /// Those that the plan has not come to, by the numbers of their nodes, or why they have not begun.
    waiting: HashMap<usize, Result<Vec<Running>>>,
}

/// A statement's nodes, each with the values of the parameters.
pub(crate) struct RemoteRequest {
    pub(crate) targets: Vec<(NodeId, Values)>,
}

/// The statement of a node of the plan, sent to its nodes.
pub(super) fn start(remote: &RemotePlan, id: usize, cx: &mut ExecContext) -> Result<Vec<Running>> {
    if remote.effect == Effect::Read && cx.statement.is_some() {
        begin(cx)?;
        let missing = || Error::internal("a scan of nodes is read a second time");
        return cx.scans.waiting.remove(&id).ok_or_else(missing)?;
    }
    let request = match cx.remote_request.take() {
        Some(request) => request,
        None => RemoteRequest::of(remote, cx)?,
    };
    let opened = open(&[(remote, request)], cx)?;
    opened.into_iter().next().ok_or_else(|| Error::internal("a statement was not opened"))
}

/// Begins the scans of an execution, unless that was done before.
pub(crate) fn begin(cx: &mut ExecContext) -> Result<()> {
    let Some(statement) = cx.statement.clone() else { return Ok(()) };
    if statement.scans().is_empty() || std::mem::replace(&mut cx.scans.have_begun, true) {
        return Ok(());
    }
    let (mut ids, mut known) = (Vec::new(), Vec::new());
    for plan in statement.scans() {
        let CNode::RemoteQuery(remote) = &plan.kind else { continue };
        let evaluated = match cx.remote_request.take() {
            Some(request) => Ok(request),
            None => RemoteRequest::of(remote, cx),
        };
        match evaluated {
            Ok(request) => {
                ids.push(plan.id);
                known.push((&**remote, request));
            }
            Err(error) if is_of_values(&error) => {
                cx.scans.waiting.insert(plan.id, Err(error));
            }
            Err(error) => return Err(error),
        }
    }
    let opened = match (statement.scans(), &known[..]) {
        ([_], [(remote, request)]) => read_alone(remote, request, cx)?,
        _ => None,
    };
    let opened = match opened {
        Some(running) => vec![running],
        None => open(&known, cx)?,
    };
    cx.scans.waiting.extend(ids.into_iter().zip(opened.into_iter().map(Ok)));
    Ok(())
}

/// Whether an error tells of the values that were computed, and not of the server or a node.
fn is_of_values(error: &Error) -> bool {
    let state = error.sqlstate();
    ["22", "23", "42"].iter().any(|class| state.as_str().starts_with(class))
}

/// Reads the rows of a statement's only scan in one flight, if it has one node, which the transaction has
/// not joined, and few rows.
fn read_alone(
    remote: &RemotePlan,
    request: &RemoteRequest,
    cx: &mut ExecContext,
) -> Result<Option<Vec<Running>>> {
    let [(node, values)] = &request.targets[..] else { return Ok(None) };
    if remote.is_long.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let session = Arc::clone(&cx.functions.session);
    let participants = cx.txn()?.participants(&*session)?;
    Ok(match participants.read_alone(&remote.statement(&remote.formats), *node, values)? {
        ReadAlone::Rows(rows, tag) => Some(vec![Running::done(rows, tag, participants.abandoned())]),
        ReadAlone::IsLong => {
            remote.is_long.store(true, Ordering::Relaxed);
            None
        }
        ReadAlone::InTransaction => None,
    })
}

/// Sends statements whose snapshots belong together to their nodes.
fn open(
    statements: &[(&RemotePlan, RemoteRequest)],
    cx: &mut ExecContext,
) -> Result<Vec<Vec<Running>>> {
    let session = Arc::clone(&cx.functions.session);
    let participants = cx.txn()?.participants(&*session)?;
    let remote: Vec<(RemoteStatement<'_>, &[(NodeId, Values)])> = statements
        .iter()
        .map(|(plan, request)| (plan.statement(&plan.formats), &request.targets[..]))
        .collect();
    // A change runs to its end.
    let changes = statements.iter().any(|(plan, _)| plan.effect == Effect::Rows);
    let opened = participants.open_together(&remote, if changes { 0 } else { BATCH }, None)?;
    let abandoned = participants.abandoned();
    let running = |cursor| Running::new(cursor, abandoned);
    Ok(opened.into_iter().map(|cursors| cursors.into_iter().map(running).collect()).collect())
}

impl RemoteRequest {
    /// Evaluates the parameters, and finds the nodes.
    pub(crate) fn of(remote: &RemotePlan, cx: &mut ExecContext) -> Result<RemoteRequest> {
        let values = remote.params.iter().map(|param| param.eval(cx, Row::EMPTY));
        let values = values.collect::<Result<Vec<Datum>>>()?;
        let nodes = nodes(remote, &values, cx)?;
        let texts: Values = values
            .iter()
            .zip(&remote.types)
            .map(|(value, type_oid)| text(*type_oid, value))
            .collect::<Result<_>>()?;
        let targets = nodes.into_iter().map(|node| (node, texts.clone())).collect();
        Ok(RemoteRequest { targets })
    }
}

fn nodes(remote: &RemotePlan, values: &[Datum], cx: &mut ExecContext) -> Result<Vec<NodeId>> {
    let (distribution, type_oid, key) = match &remote.target {
        Target::Key(distribution, key, type_oid) => {
            (distribution, *type_oid, key.eval(cx, Row::EMPTY)?)
        }
        Target::Parameter(distribution, place, type_oid) => {
            let missing = || Error::internal("a key's parameter is missing");
            (distribution, *type_oid, values.get(*place).cloned().ok_or_else(missing)?)
        }
        Target::Any(nodes) => {
            let nodes: Vec<NodeId> =
                nodes.iter().map(|oid| node(cx, *oid)).collect::<Result<_>>()?;
            let session = Arc::clone(&cx.functions.session);
            return Ok(vec![cx.txn()?.participants(&*session)?.one_of(&nodes)?]);
        }
        Target::All(nodes) | Target::Every(nodes) => {
            return nodes.iter().map(|oid| node(cx, *oid)).collect();
        }
    };
    let place = distribution.place(type_oid, &key)?;
    let oid = place.and_then(|place| distribution.nodes.get(place));
    let missing = || Error::internal("a key has no node");
    Ok(vec![node(cx, *oid.ok_or_else(missing)?)?])
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

/// A parameter's value in a form that every session on a node reads alike, with all digits.
fn text(type_oid: Oid, value: &Datum) -> Result<Option<Vec<u8>>> {
    if value.is_null() {
        return Ok(None);
    }
    let mut out = Vec::new();
    text_io::output(type_oid, value, &IoContext::default(), &mut out)?;
    Ok(Some(out))
}
