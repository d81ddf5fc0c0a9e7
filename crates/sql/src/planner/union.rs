//! UNION (prepunion.c).
//!
//! Besides by appending its inputs, a UNION can be made by merging them, each in the wanted order.
//! That is ORDER BY's, with as many rows of each as LIMIT lets through. A UNION that leaves out
//! duplicates compares neighbours then. The cheaper way is taken. An input is planned twice for
//! this, which is done only of those without sub-selects.

use super::cost;
use super::joinpath::output_names;
use super::limit::sort_bound;
use super::prep::{may_push, push_down};
use super::set_op::keys_of;
use super::sorting::has_order;
use super::subselect::contains_sublink;
use super::{ColumnId, Planner, Rel, RteSet, conjuncts, is_volatile, node, returns_set};
use crate::expr::{Expr, SortKey, TypeRef};
use crate::plan::*;
use crate::query::*;
use crate::walk;
use steppe_types::Result;

/// ORDER BY and LIMIT of a query that only passes on the rows of a UNION ALL become the UNION's
/// own.
pub(super) fn sink_order(query: &mut Query) {
    let [FromItem::Rte(rte)] = query.from.as_slice() else { return };
    let rte = *rte;
    let plain = !query.has_aggregates
        && query.windows.is_empty()
        && query.row_locks.is_empty()
        && matches!(query.distinct, Distinct::No)
        && !query.order_by.is_empty()
        && query.limit.is_some()
        && !query.targets.iter().any(|t| returns_set(&t.expr) || is_volatile(&t.expr));
    let column = |order: &OrderBy| match &query.targets[order.target].expr {
        Expr::Var { rte: r, column, levels_up: 0, .. } if *r == rte => {
            let target = usize::try_from(*column).ok()?;
            Some(OrderBy { target, ..order.clone() })
        }
        _ => None,
    };
    let order: Option<Vec<OrderBy>> = query.order_by.iter().map(column).collect();
    let bounds = query.limit.iter().chain(&query.offset);
    let (Some(order), true) = (order, plain && !bounds.into_iter().any(contains_sublink)) else {
        return;
    };
    let RteKind::Subquery { query: sub, lateral: false, view: None } = &mut query.rtes[rte].kind
    else {
        return;
    };
    let is_union = sub.set_operation.as_ref().is_some_and(|o| o.op == SetOp::Union && o.all);
    if !is_union || !sub.order_by.is_empty() || !sub.ctes.is_empty() || !may_push(sub) {
        return;
    }
    let mut conditions = Vec::new();
    query.filter.iter().for_each(|f| conjuncts(f.clone(), &mut conditions));
    let mut filtered = sub.clone();
    if !conditions.iter().all(|condition| push_down(&mut filtered, rte, condition)) {
        return;
    }
    **sub = *filtered;
    query.filter = None;
    sub.order_by = order;
    query.order_by.clear();
    (sub.limit, sub.offset) = (query.limit.take(), query.offset.take());
    sub.with_ties = std::mem::take(&mut query.with_ties);
}

impl Planner<'_> {
    /// The rows of a set operation, in several ways if there are such.
    pub(super) fn set_operation(
        &mut self,
        query: &Query,
        operation: SetOperation,
    ) -> Result<Vec<Rel>> {
        if operation.op != SetOp::Union {
            return self.intersect_or_except(operation);
        }
        let is_of_use = !operation.all || !query.order_by.is_empty() || query.limit.is_some();
        let merged = match merge_keys(query, &operation) {
            Some(keys) if is_of_use => self.merged_union(query, &operation, keys)?,
            _ => None,
        };
        let mut rels = self.appended(query, operation)?;
        rels.extend(merged);
        Ok(rels)
    }

    /// A UNION's inputs one after the other, without duplicates by hash or sorted.
    fn appended(&mut self, query: &Query, operation: SetOperation) -> Result<Vec<Rel>> {
        let left = self.query(*operation.left)?;
        let right = self.query(*operation.right)?;
        let (names, types) = (output_names(&left), operation.types);
        let mut cost =
            Cost { startup: left.cost.startup, width: left.cost.width, ..Cost::default() };
        // a UNION ALL b UNION ALL c is one Append.
        let mut children = Vec::new();
        for child in [left, right] {
            match child {
                Plan { node: PlanNode::Append(inner), filter: None, project: None, .. } => {
                    children.extend(inner);
                }
                other => children.push(other),
            }
        }
        for child in &children {
            cost.rows += child.cost.rows;
            cost.total += child.cost.total;
        }
        cost.total += cost::APPEND_SHARE * self.costs().cpu_tuple * cost.rows;
        let append =
            of_columns(node(PlanNode::Append(children), types.clone(), names.clone(), cost));
        if operation.all {
            return Ok(vec![append]);
        }
        let gathered = self.gathered(query, &append);
        let is_cheaper = |rel: &Rel| rel.plan.cost.total < append.plan.cost.total;
        let append = gathered.filter(is_cheaper).unwrap_or(append);
        let mut ways = Vec::with_capacity(2);
        let keys = keys_of(&types);
        if !keys.is_empty() {
            let sorted = self.sorted_rows(append.clone(), keys)?;
            ways.push(of_columns(self.unique(sorted.plan, types.len())));
        }
        let slot = |(index, ty): (usize, &TypeRef)| Expr::Slot { index, ty: *ty };
        let keys = types.iter().enumerate().map(slot).collect();
        ways.insert(0, self.hashed_distinct(append, keys, cost.rows));
        Ok(ways)
    }

    /// The different ones of sorted rows: all, as far as is known.
    fn unique(&self, child: Plan, columns: usize) -> Plan {
        let (types, names, mut cost) = (child.types.clone(), output_names(&child), child.cost);
        cost.total += cost.rows * self.costs().cpu_operator * columns as f64;
        let unique = PlanNode::Unique { child: Box::new(child), columns: (0..columns).collect() };
        node(unique, types, names, cost)
    }

    /// The inputs of a UNION merged in the order of the keys, which are places of columns.
    fn merged_union(
        &mut self,
        query: &Query,
        operation: &SetOperation,
        keys: Vec<OrderBy>,
    ) -> Result<Option<Rel>> {
        let mut inputs = Vec::new();
        if !collect_inputs(operation, operation, &mut inputs) || !self.ctx.settings.sort {
            return Ok(None);
        }
        let (mut children, mut cost) = (Vec::with_capacity(inputs.len()), Cost::default());
        for input in inputs {
            let mut input = input.clone();
            input.order_by = keys.clone();
            // Each row of a UNION ALL counts: an input needs no more of them than the whole.
            if operation.all {
                input.limit = sort_bound(query);
            }
            let child = without_limit(self.query(input)?);
            cost.startup += child.cost.startup;
            cost.total += child.cost.total;
            cost.rows += child.cost.rows;
            cost.width = child.cost.width;
            children.push(child);
        }
        let Some(first) = children.first() else { return Ok(None) };
        cost::add_merge(&mut cost, children.len() as f64, self.costs());
        let (types, names) = (operation.types.clone(), output_names(first));
        let key = |key: &OrderBy| SortKey {
            expr: Expr::Slot { index: key.target, ty: types[key.target] },
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        let keys = keys.iter().map(key).collect();
        let merge = PlanNode::MergeAppend { children, keys };
        let mut plan = node(merge, types, names, cost);
        if !operation.all {
            plan = self.unique(plan, operation.types.len());
        }
        Ok(Some(of_columns(plan)))
    }
}

/// The columns of a set operation are those of entry 0.
pub(super) fn of_columns(plan: Plan) -> Rel {
    let layout: Vec<ColumnId> = (1..=plan.types.len() as i16).map(|a| (0, a)).collect();
    Rel { plan, layout, rtes: RteSet::one(0) }
}

/// The order that the inputs of a UNION are merged in: ORDER BY's, followed by all columns where
/// duplicates are left out.
fn merge_keys(query: &Query, operation: &SetOperation) -> Option<Vec<OrderBy>> {
    let mut keys: Vec<OrderBy> = Vec::new();
    for order in &query.order_by {
        let Expr::Var { column, levels_up: 0, .. } = &query.targets[order.target].expr else {
            return None;
        };
        let target = usize::try_from(*column).ok()?;
        if keys.iter().all(|key| key.target != target) {
            keys.push(OrderBy { target, ..order.clone() });
        }
    }
    if operation.all {
        return (!keys.is_empty()).then_some(keys);
    }
    for target in 0..operation.types.len() {
        if keys.iter().all(|key| key.target != target) {
            keys.push(OrderBy { target, descending: false, nulls_first: false });
        }
    }
    let is_sortable = operation.types.iter().all(|ty| has_order(*ty));
    (is_sortable && !keys.is_empty()).then_some(keys)
}

/// The inputs of a UNION and of those below it that add nothing to it (plan_union_children). False:
/// some may not be planned twice.
fn collect_inputs<'q>(
    top: &SetOperation,
    operation: &'q SetOperation,
    inputs: &mut Vec<&'q Query>,
) -> bool {
    [&operation.left, &operation.right].into_iter().all(|input| {
        let is_bare = is_bare(input);
        if let Some(below) = &input.set_operation {
            let same = below.op == SetOp::Union && (below.all || !top.all);
            let types = below.types.iter().map(|ty| ty.oid).eq(top.types.iter().map(|ty| ty.oid));
            return is_bare && same && types && collect_inputs(top, below, inputs);
        }
        inputs.push(input);
        is_bare && is_simple(input)
    })
}

/// Whether a query may be put into an order of its own.
pub(super) fn is_bare(query: &Query) -> bool {
    query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.ctes.is_empty()
}

/// Whether a query is one of tables, without sub-selects, and may be sorted by its columns.
pub(super) fn is_simple(query: &Query) -> bool {
    let tables = |rte: &Rte| matches!(rte.kind, RteKind::Relation(_) | RteKind::Join { .. });
    let mut plain = query.command == Command::Select
        && matches!(query.distinct, Distinct::No)
        && query.row_locks.is_empty()
        && !query.from.is_empty()
        && query.targets.iter().all(|target| !target.hidden)
        && query.rtes.iter().all(tables);
    let mut query = query.clone();
    walk::for_each_root(&mut query, &mut |root| {
        plain &= !contains_sublink(root) && !is_volatile(root) && !returns_set(root);
    });
    plain
}

/// A plan without its LIMIT, which the node above it has. A Sort in it has its bound already.
pub(super) fn without_limit(plan: Plan) -> Plan {
    match plan {
        Plan {
            node: PlanNode::Limit { child, ties: None, .. },
            filter: None,
            project: None,
            ..
        } => Plan { ..*child },
        other => other,
    }
}
