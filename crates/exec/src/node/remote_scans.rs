//! The beginning of the statements that a plan runs on nodes.
//!
//! *One statement, one snapshot.* In READ COMMITTED a node takes a snapshot at each Bind. If a transaction commits
//! between two Binds of one statement of the client, on several nodes or on one, the statement would see half
//! of it. So an execution has one Bind on each node at most, and all are in one passage of the gate:
//!
//! 1. Every scan is in the compiled statement's list. All begin when the first of them starts.
//! 2. The scans on one node are one statement there ([`super::remote_shared`]).
//! 3. In the passage no commit over several nodes is under way ([`Participants::open_together`]): each is seen
//!    by all Binds or by none. A commit on one node is seen by the one Bind there, or not.
//! 4. The parameters can be computed at that time: they depend on nothing that the execution finds, and
//!    call no function of a user's (`planner::remote::scan`).
//! 5. If computing them fails, the error is kept, and raised when the scan starts. One in a branch of CASE that
//!    is never evaluated does no harm. So a scan that has not begun is never read.
//! 6. A scan that the plan reads again keeps its rows.
//!
//! In REPEATABLE READ each node has one snapshot for the whole transaction: there each scan is a statement.
//!
//! A cursor's scans begin when it is declared, so that it does not see later changes of its transaction.
//!
//! [`Participants::open_together`]: steppe_cluster::transaction::Participants::open_together

use super::CNode;
use super::remote_query::{RemotePlan, Running, Target};
use super::remote_shared::Union;
use crate::context::ExecContext;
use crate::expr::Row;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use steppe_catalog::Distribution;
use steppe_catalog::objects::Node as DataNode;
use steppe_cluster::NodeId;
use steppe_cluster::transaction::{Effect, ReadAlone, RemoteStatement, Values};
use steppe_types::datum::one_dimensional;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, text_io};

/// Rows of the first batch of a query. A portal with a limit can be left while others run on the node.
const BATCH: u32 = 1024;

/// The scans of an execution.
#[derive(Default)]
pub(crate) struct OpenScans {
    have_begun: bool,
    /// The scans that have not started, by the numbers of their nodes, or the reasons why they have not begun.
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
    let mut known = Vec::new();
    for plan in statement.scans() {
        let CNode::RemoteQuery(remote) = &plan.kind else { continue };
        let evaluated = match cx.remote_request.take() {
            Some(request) => Ok(request),
            None => RemoteRequest::of(remote, cx),
        };
        match evaluated {
            Ok(request) => known.push(Scan { id: plan.id, remote, request }),
            Err(error) if is_of_values(&error) => {
                cx.scans.waiting.insert(plan.id, Err(error));
            }
            Err(error) => return Err(error),
        }
    }
    if let ([_], [Scan { id, remote, request }]) = (statement.scans(), &known[..])
        && let Some(running) = read_alone(remote, request, cx)?
    {
        cx.scans.waiting.insert(*id, Ok(running));
        return Ok(());
    }
    open_scans(&known, cx)
}

/// A scan that begins.
struct Scan<'p> {
    id: usize,
    remote: &'p RemotePlan,
    request: RemoteRequest,
}

/// The scans, by their positions, that have the same nodes in common, which are given with the parameters of
/// all.
type Groups = Vec<(Vec<usize>, Vec<(NodeId, Values)>)>;

/// Opens scans: those on one node as one statement, if each statement has a snapshot of its own.
fn open_scans(scans: &[Scan<'_>], cx: &mut ExecContext) -> Result<()> {
    let session = Arc::clone(&cx.functions.session);
    let joins = cx.txn()?.participants(&*session)?.has_snapshots_by_statement();
    let groups = groups(scans, joins);
    let unions: Vec<Option<Union>> = groups.iter().map(|(of, _)| union_of(scans, of)).collect();
    let statements: Vec<(RemoteStatement<'_>, &[(NodeId, Values)])> = groups
        .iter()
        .zip(&unions)
        .map(|((of, on), union)| {
            let remote = scans[of[0]].remote;
            let statement = union.as_ref().map(Union::statement);
            (statement.unwrap_or_else(|| remote.statement(&remote.columns.formats)), &on[..])
        })
        .collect();
    let participants = cx.txn()?.participants(&*session)?;
    let opened = participants.open_together(&statements, BATCH, None)?;
    let abandoned = Arc::clone(participants.abandoned());
    let mut running: Vec<Vec<Running>> = scans.iter().map(|_| Vec::new()).collect();
    for (((of, _), union), cursors) in groups.iter().zip(&unions).zip(opened) {
        for cursor in cursors {
            match union {
                None => running[of[0]].push(Running::new(cursor, &abandoned)),
                Some(union) => {
                    for (scan, part) in of.iter().zip(union.parts(cursor, &abandoned, cx)) {
                        running[*scan].push(Running::of_part(part, &abandoned));
                    }
                }
            }
        }
    }
    let ids = scans.iter().map(|scan| scan.id);
    cx.scans.waiting.extend(ids.zip(running.into_iter().map(Ok)));
    Ok(())
}

fn union_of(scans: &[Scan<'_>], of: &[usize]) -> Option<Union> {
    let remote: Vec<&RemotePlan> = of.iter().map(|scan| scans[*scan].remote).collect();
    (of.len() > 1).then(|| Union::of(&remote))
}

fn groups(scans: &[Scan<'_>], joins: bool) -> Groups {
    let mut groups: Groups = Vec::new();
    if !joins {
        let alone = |(scan, of): (usize, &Scan<'_>)| (vec![scan], of.request.targets.clone());
        return scans.iter().enumerate().map(alone).collect();
    }
    let mut nodes: BTreeMap<NodeId, (Vec<usize>, Values)> = BTreeMap::new();
    for (at, scan) in scans.iter().enumerate() {
        for (node, values) in &scan.request.targets {
            let (of, all) = nodes.entry(*node).or_default();
            of.push(at);
            all.resize(all.len().max(values.len()), None);
            all.splice(
                scan.remote.padding..values.len(),
                values[scan.remote.padding..].iter().cloned(),
            );
        }
    }
    for (node, (of, values)) in nodes {
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, on)) => on.push((node, values)),
            None => groups.push((of, vec![(node, values)])),
        }
    }
    groups
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
    Ok(
        match participants.read_alone(&remote.statement(&remote.columns.formats), *node, values)? {
            ReadAlone::Rows(rows, tag) => {
                Some(vec![Running::done(rows, tag, participants.abandoned())])
            }
            ReadAlone::IsLong => {
                remote.is_long.store(true, Ordering::Relaxed);
                None
            }
            ReadAlone::InTransaction => None,
        },
    )
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
        .map(|(plan, request)| (plan.statement(&plan.columns.formats), &request.targets[..]))
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
        if let Target::Keys(distribution, place, type_oid) = &remote.target {
            return RemoteRequest::of_keys(remote, (distribution, *type_oid), *place, values, cx);
        }
        let nodes = nodes(remote, &values, cx)?;
        let texts = remote.texts(&values)?;
        let targets = nodes.into_iter().map(|node| (node, texts.clone())).collect();
        Ok(RemoteRequest { targets })
    }

    /// Each node gets the keys that it may have. NULL equals nothing.
    fn of_keys(
        remote: &RemotePlan,
        (distribution, type_oid): (&Distribution, Oid),
        place: usize,
        mut values: Vec<Datum>,
        cx: &ExecContext,
    ) -> Result<RemoteRequest> {
        let array = match values.get(place) {
            Some(Datum::Array(array)) => Arc::clone(array),
            _ => return Ok(RemoteRequest { targets: Vec::new() }),
        };
        let mut by_node: BTreeMap<usize, Vec<Datum>> = BTreeMap::new();
        for key in array.elements.iter().filter(|key| !key.is_null()) {
            let place = distribution.place(type_oid, key)?;
            let place = place.ok_or_else(|| Error::internal("a key has no node"))?;
            let keys = by_node.entry(place).or_default();
            keys.push(key.clone());
        }
        let mut targets = Vec::new();
        for (at, keys) in by_node {
            values[place] = one_dimensional(array.element_type, keys);
            let missing = || Error::internal("a key has no node");
            let oid = *distribution.nodes.get(at).ok_or_else(missing)?;
            targets.push((node(cx, oid)?, remote.texts(&values)?));
        }
        Ok(RemoteRequest { targets })
    }
}

impl RemotePlan {
    /// The parameters of the statement, with those of other scans in front.
    fn texts(&self, values: &[Datum]) -> Result<Values> {
        let own = values.iter().zip(&self.types[self.padding..]);
        let own = own.map(|(value, type_oid)| text(*type_oid, value));
        std::iter::repeat_n(Ok(None), self.padding).chain(own).collect()
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
        Target::Keys(..) => return Err(Error::internal("keys have nodes of their own")),
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
    for (other, type_oid, error) in &remote.others {
        let other = other.eval(cx, Row::EMPTY)?;
        // An equality with NULL finds no row.
        if !other.is_null() && distribution.place(*type_oid, &other)? != place {
            return Err(error.clone());
        }
    }
    let oid = place.and_then(|place| distribution.nodes.get(place));
    let missing = || Error::internal("a key has no node");
    Ok(vec![node(cx, *oid.ok_or_else(missing)?)?])
}

/// The identity of a node.
pub(super) fn node(cx: &ExecContext, oid: Oid) -> Result<NodeId> {
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

/// A parameter's value, with all digits, in a form that means the same to any session on a node.
pub(super) fn text(type_oid: Oid, value: &Datum) -> Result<Option<Vec<u8>>> {
    if value.is_null() {
        return Ok(None);
    }
    let mut out = Vec::new();
    text_io::output(type_oid, value, &IoContext::default(), &mut out)?;
    Ok(Some(out))
}
