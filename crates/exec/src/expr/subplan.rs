//! Sub-selects as expressions (PostgreSQL's nodeSubplan.c).
//!
//! A sub-select that depends on nothing outside it runs once. One that depends on run-time
//! parameters runs again when one of them has been set since. Every parameter has a version, and a
//! kept result stores the versions it saw.
//!
//! A correlated scalar sub-select without FROM, `(SELECT a + $1)`, is evaluated as its expression,
//! without nodes. Its one node would evaluate the same expression once, over the same parameters, and
//! hand up one row. EXPLAIN ANALYZE counts nodes, so there the node runs.

use super::{CExpr, Row, array};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Versions};
use crate::node::{BoxedNode, CPlan};
use crate::tuplestore::{StoreReader, TupleStore};
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_sql::expr::{ExecParamId, Expr, SubLinkKind, SubPlan, SubPlanId};
use steppe_sql::plan::{Plan, PlanNode};
use steppe_types::compare::HashedDatum;
use steppe_types::datum::one_dimensional;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// A compiled sub-select expression.
#[derive(Debug)]
pub(crate) struct CSubPlan {
    pub(crate) kind: SubLinkKind,
    pub(crate) plan: SubPlanId,
    pub(crate) args: Box<[(ExecParamId, CExpr)]>,
    pub(crate) test: Option<CExpr>,
    pub(crate) columns: Box<[ExecParamId]>,
    pub(crate) hash_keys: Option<Box<[CExpr]>>,
    /// Rows with NULLs count as absent, and a NULL result is false.
    pub(crate) null_is_false: bool,
    /// Run-time parameters the sub-select reads.
    pub(crate) dependencies: Arc<[ExecParamId]>,
    /// Types of its columns.
    pub(crate) types: Box<[Oid]>,
    /// Its value, if it is nothing but an expression over its arguments ([`only_expression`]).
    pub(crate) direct: Option<CExpr>,
}

/// The expression of a correlated scalar sub-select that consists of one expression only.
pub(crate) fn only_expression<'p>(sub: &SubPlan, plans: &'p [Plan]) -> Option<&'p Expr> {
    let plan = plans.get(sub.plan)?;
    let is_bare = sub.kind == SubLinkKind::Scalar
        && !sub.args.is_empty()
        && matches!(plan.node, PlanNode::Result { one_time_filter: None, child: None })
        && plan.filter.is_none();
    match plan.project.as_deref() {
        Some([expr]) if is_bare => Some(expr),
        _ => None,
    }
}

/// A sub-plan of a running statement.
pub(crate) struct SubPlanState {
    pub(crate) plan: Arc<CPlan>,
    /// Built on first use; taken out while it runs.
    node: Option<BoxedNode>,
    kept: Option<(Versions, Kept)>,
    /// The rows of a CTE, shared by its scans.
    pub(crate) cte: Option<CteState>,
}

/// The rows of a CTE, as far as they have been needed.
pub(crate) struct CteState {
    pub(crate) versions: Versions,
    pub(crate) store: TupleStore,
    pub(crate) finished: bool,
    /// Counts the runs: a scan that sees another number starts again.
    pub(crate) generation: u64,
}

/// A result that stays valid while the parameters it depends on do.
enum Kept {
    Value(Datum),
    Rows(TupleStore),
    Hashed { rows: TupleStore, index: HashSet<Box<[HashedDatum]>>, has_null: bool },
}

impl SubPlanState {
    pub(crate) fn new(plan: Arc<CPlan>) -> SubPlanState {
        SubPlanState { plan, node: None, kept: None, cte: None }
    }
}

/// Takes the node of a sub-plan, at its start.
fn open(cx: &mut ExecContext, plan: SubPlanId) -> Result<BoxedNode> {
    let state = &mut cx.subplans[plan];
    match state.node.take() {
        Some(mut node) => {
            node.rescan(cx)?;
            Ok(node)
        }
        None => {
            let plan = state.plan.clone();
            Ok(crate::node::start(&plan, cx))
        }
    }
}

fn close(cx: &mut ExecContext, plan: SubPlanId, node: BoxedNode) {
    cx.subplans[plan].node = Some(node);
}

/// Runs `f` with the sub-plan's node, which is at its start.
fn with_node<T>(
    cx: &mut ExecContext,
    plan: SubPlanId,
    f: impl FnOnce(&mut BoxedNode, &mut ExecContext) -> Result<T>,
) -> Result<T> {
    let mut node = open(cx, plan)?;
    let result = f(&mut node, cx);
    close(cx, plan, node);
    result
}

/// Reads more rows of a CTE into its store; the first call (or the first after a
/// parameter it depends on has changed) starts it.
pub(crate) fn advance_cte(
    cx: &mut ExecContext,
    plan: SubPlanId,
    dependencies: &Arc<[ExecParamId]>,
) -> Result<()> {
    let current = cx.subplans[plan].cte.take();
    let stale = current.as_ref().is_none_or(|cte| !cte.versions.current(cx));
    let (mut node, mut cte) = if stale {
        let node = open(cx, plan)?;
        let generation = current.map_or(0, |cte| cte.generation) + 1;
        let width = cx.subplans[plan].plan.width;
        let store = cx.new_store(width);
        let versions = cx.versions(dependencies);
        (node, CteState { versions, store, finished: false, generation })
    } else {
        let node = cx.subplans[plan].node.take();
        let node = node.ok_or_else(|| Error::internal("CTE is read while it runs"))?;
        (node, current.unwrap_or_else(|| unreachable!("a current CTE is there")))
    };
    if !cte.finished {
        let mut batch = RowBatch::new(cx.subplans[plan].plan.width);
        let result = node.next(cx, &mut batch);
        if let Err(error) = result {
            close(cx, plan, node);
            return Err(error);
        }
        cte.finished = batch.is_empty();
        for row in batch.iter() {
            cte.store.push(Row::of(row))?;
        }
    }
    close(cx, plan, node);
    cx.subplans[plan].cte = Some(cte);
    Ok(())
}

/// Runs a data-modifying CTE to its end, even if its rows are not read.
pub(crate) fn drain(cx: &mut ExecContext, plan: SubPlanId) -> Result<()> {
    let width = cx.subplans[plan].plan.width;
    let mut batch = RowBatch::new(width);
    let mut node = match cx.subplans[plan].node.take() {
        Some(node) => node,
        None => open(cx, plan)?,
    };
    loop {
        batch.clear();
        node.next(cx, &mut batch)?;
        if batch.is_empty() {
            break;
        }
    }
    close(cx, plan, node);
    Ok(())
}

/// The value of a sub-select expression over `row`.
pub(super) fn eval(sub: &Arc<CSubPlan>, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
    for (id, expr) in &sub.args {
        let value = expr.eval(cx, row)?;
        cx.set_exec_param(*id, value);
    }
    if let Some(direct) = &sub.direct
        && cx.instruments.is_none()
    {
        return direct.eval(cx, Row::EMPTY);
    }
    match sub.kind {
        SubLinkKind::Exists | SubLinkKind::Scalar | SubLinkKind::Array => {
            if let Some((versions, Kept::Value(value))) = &cx.subplans[sub.plan].kept
                && versions.current(cx)
            {
                return Ok(value.clone());
            }
            let versions = cx.versions(&sub.dependencies);
            let value = with_node(cx, sub.plan, |node, cx| run_value(sub, node, cx))?;
            // With arguments every row sets a parameter, so a kept result would never be used.
            if sub.args.is_empty() {
                cx.subplans[sub.plan].kept = Some((versions, Kept::Value(value.clone())));
            }
            Ok(value)
        }
        SubLinkKind::Any | SubLinkKind::All => eval_quantified(sub, cx, row),
        SubLinkKind::Row => with_node(cx, sub.plan, |node, cx| match one_row(sub, node, cx)? {
            Some(values) => {
                let mut unknown = false;
                let found = step(sub, &values, cx, row, &mut unknown)?.is_some();
                Ok(if unknown { Datum::Null } else { Datum::Bool(found) })
            }
            None => Ok(Datum::Null),
        }),
    }
}

/// The value of a sub-select expression that depends on no row, if it has been evaluated under the
/// present parameters.
pub(crate) fn kept_value(sub: &CSubPlan, cx: &ExecContext) -> Option<Datum> {
    match &cx.subplans[sub.plan].kept {
        Some((versions, Kept::Value(value))) if versions.current(cx) => Some(value.clone()),
        _ => None,
    }
}

fn run_value(sub: &CSubPlan, node: &mut BoxedNode, cx: &mut ExecContext) -> Result<Datum> {
    let width = sub.types.len();
    match sub.kind {
        SubLinkKind::Exists => {
            let mut batch = RowBatch::wanting(width, 1);
            node.next(cx, &mut batch)?;
            Ok(Datum::Bool(!batch.is_empty()))
        }
        SubLinkKind::Array => {
            let mut elements = Vec::new();
            let mut batch = RowBatch::new(width);
            loop {
                batch.clear();
                node.next(cx, &mut batch)?;
                if batch.is_empty() {
                    break;
                }
                elements.extend(batch.iter().filter_map(|r| r.first().cloned()));
            }
            let element = sub.types.first().copied().unwrap_or(0);
            if steppe_types::oid::element_type_of(element).is_some() {
                return array::stack(element, elements);
            }
            Ok(one_dimensional(element, elements))
        }
        _ => {
            let row = one_row(sub, node, cx)?;
            Ok(row.and_then(|row| row.into_iter().next()).unwrap_or(Datum::Null))
        }
    }
}

/// The only row of a sub-select that must not have two.
fn one_row(
    sub: &CSubPlan,
    node: &mut BoxedNode,
    cx: &mut ExecContext,
) -> Result<Option<Vec<Datum>>> {
    let mut batch = RowBatch::wanting(sub.types.len(), 2);
    node.next(cx, &mut batch)?;
    if batch.is_empty() {
        return Ok(None);
    }
    let row = batch.row(0).to_vec();
    // A node may hand up fewer rows than requested although there are more.
    if batch.len() == 1 {
        batch.clear();
        node.next(cx, &mut batch)?;
    }
    if !batch.is_empty() {
        return Err(Error::new(
            SqlState::CARDINALITY_VIOLATION,
            "more than one row returned by a subquery used as an expression",
        ));
    }
    Ok(Some(row))
}

/// `x op ANY|ALL (sub-select)`.
fn eval_quantified(sub: &Arc<CSubPlan>, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
    let stale = match &cx.subplans[sub.plan].kept {
        Some((versions, _)) => !versions.current(cx),
        None => true,
    };
    if !sub.args.is_empty() && sub.hash_keys.is_none() {
        return with_node(cx, sub.plan, |node, cx| quantify_running(sub, node, cx, row));
    }
    if stale {
        let versions = cx.versions(&sub.dependencies);
        let kept = with_node(cx, sub.plan, |node, cx| keep_rows(sub, node, cx))?;
        cx.subplans[sub.plan].kept = Some((versions, kept));
    }
    let Some((versions, mut kept)) = cx.subplans[sub.plan].kept.take() else {
        return Err(Error::internal("sub-select has no rows kept"));
    };
    let result = match (&mut kept, &sub.hash_keys) {
        (Kept::Hashed { rows, index, has_null }, Some(keys)) => {
            probe(sub, keys, rows, index, *has_null, cx, row)
        }
        (Kept::Rows(rows), _) => quantify_kept(sub, rows, cx, row),
        _ => Err(Error::internal("sub-select was kept in another form")),
    };
    cx.subplans[sub.plan].kept = Some((versions, kept));
    result
}

fn keep_rows(sub: &CSubPlan, node: &mut BoxedNode, cx: &mut ExecContext) -> Result<Kept> {
    let width = sub.types.len();
    let mut rows = cx.new_store(width);
    let mut index = HashSet::new();
    let mut has_null = false;
    let mut batch = RowBatch::new(width);
    loop {
        batch.clear();
        node.next(cx, &mut batch)?;
        if batch.is_empty() {
            break;
        }
        for row in batch.iter() {
            // The comparison one by one only serves to tell NULL from false.
            if !sub.null_is_false {
                rows.push(Row::of(row))?;
            }
            if sub.hash_keys.is_some() {
                if row.iter().any(Datum::is_null) {
                    has_null = true;
                } else {
                    index.insert(hashed(&sub.types, row.iter().cloned()));
                }
            }
        }
    }
    Ok(match sub.hash_keys {
        Some(_) => Kept::Hashed { rows, index, has_null },
        None => Kept::Rows(rows),
    })
}

fn hashed(types: &[Oid], values: impl Iterator<Item = Datum>) -> Box<[HashedDatum]> {
    types.iter().zip(values).map(|(t, value)| HashedDatum { type_oid: *t, value }).collect()
}

/// A hit in the index is true. If there are NULLs, the rows are compared one by one to tell unknown
/// from false.
fn probe(
    sub: &CSubPlan,
    keys: &[CExpr],
    rows: &mut TupleStore,
    index: &HashSet<Box<[HashedDatum]>>,
    has_null: bool,
    cx: &mut ExecContext,
    row: Row<'_>,
) -> Result<Datum> {
    if rows.is_empty() && index.is_empty() {
        return Ok(Datum::Bool(false));
    }
    let values = keys.iter().map(|k| k.eval(cx, row)).collect::<Result<Vec<_>>>()?;
    let null_probe = values.iter().any(Datum::is_null);
    if !null_probe && index.contains(&hashed(&sub.types, values.into_iter())) {
        return Ok(Datum::Bool(true));
    }
    if sub.null_is_false || !null_probe && !has_null {
        return Ok(Datum::Bool(false));
    }
    if sub.types.len() == 1 {
        return Ok(Datum::Null);
    }
    quantify_kept(sub, rows, cx, row)
}

/// Three-valued ANY/ALL over one row of the sub-select; `Some` once the result is known.
fn step(
    sub: &CSubPlan,
    values: &[Datum],
    cx: &mut ExecContext,
    row: Row<'_>,
    unknown: &mut bool,
) -> Result<Option<Datum>> {
    for (id, value) in sub.columns.iter().zip(values) {
        cx.set_exec_param(*id, value.clone());
    }
    let test = sub.test.as_ref().ok_or_else(|| Error::internal("ANY or ALL without a test"))?;
    let decisive = sub.kind != SubLinkKind::All;
    match test.test(cx, row)? {
        Some(value) if value == decisive => return Ok(Some(Datum::Bool(decisive))),
        Some(_) => {}
        None => *unknown = true,
    }
    Ok(None)
}

fn undecided(sub: &CSubPlan, unknown: bool) -> Datum {
    if unknown { Datum::Null } else { Datum::Bool(sub.kind == SubLinkKind::All) }
}

fn quantify_kept(
    sub: &CSubPlan,
    rows: &mut TupleStore,
    cx: &mut ExecContext,
    row: Row<'_>,
) -> Result<Datum> {
    let mut reader = StoreReader::default();
    let mut values = Vec::with_capacity(sub.types.len());
    let mut unknown = false;
    while rows.read_one(&mut reader, &mut values)? {
        if let Some(answer) = step(sub, &values, cx, row, &mut unknown)? {
            return Ok(answer);
        }
        values.clear();
    }
    Ok(undecided(sub, unknown))
}

fn quantify_running(
    sub: &CSubPlan,
    node: &mut BoxedNode,
    cx: &mut ExecContext,
    row: Row<'_>,
) -> Result<Datum> {
    let mut batch = RowBatch::wanting(sub.types.len(), 64);
    let mut unknown = false;
    loop {
        batch.clear();
        node.next(cx, &mut batch)?;
        if batch.is_empty() {
            return Ok(undecided(sub, unknown));
        }
        for values in batch.iter() {
            if let Some(answer) = step(sub, values, cx, row, &mut unknown)? {
                return Ok(answer);
            }
        }
    }
}
