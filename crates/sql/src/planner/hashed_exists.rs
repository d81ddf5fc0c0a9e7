//! EXISTS of a correlated sub-select where it cannot become a join: under OR, in a select list, in
//! CASE. The planner plans it in two ways, as PostgreSQL does by an AlternativeSubPlan
//! (convert_EXISTS_to_ANY in subselect.c):
//!
//! ```text
//!   EXISTS (SELECT FROM u WHERE u.a = t.a AND u.b > 0)    run for each row, up to its first row
//!   t.a = ANY (SELECT u.a FROM u WHERE u.b > 0)           run once, looked up by hash
//! ```
//!
//! The second requires that outer columns are only in equalities that hash. Volatile functions and
//! row locks exclude it, since they show how often the sub-select runs. If a NULL makes ANY NULL,
//! EXISTS is false. The choice is made once the plan around them is known, by the number of calls
//! from its node (fix_alternative_subplan in setrefs.c). For an aggregate's argument, that is the
//! number of aggregated rows, where PostgreSQL counts the groups.

use super::path_cost::CostParameters;
use super::subselect::contains_sublink;
use super::{Planner, and_all, conjuncts, is_volatile};
use crate::expr::{CallSyntax, Expr, SubLinkKind, SubPlan, TypeRef};
use crate::plan::*;
use crate::query::{Command, Distinct, Query, Target};
use crate::walk;
use std::convert::Infallible;
use steppe_catalog::OperatorRef;
use steppe_types::{Datum, Result, oid};

/// Bytes of a row that is kept, besides its columns.
const ROW_BYTES: f64 = 24.0;

/// The result of EXISTS does not depend on columns, order, or repeated rows
/// (simplify_EXISTS_query).
pub(super) fn simplify_exists(query: &mut Query) {
    let is_plain = query.command == Command::Select
        && query.set_operation.is_none()
        && query.limit.is_none()
        && query.offset.is_none()
        && !query.targets.iter().any(|t| super::returns_set(&t.expr))
        && (!query.has_aggregates || only_groups(query));
    if is_plain {
        query.has_aggregates = false;
        query.group_by.clear();
        query.distinct = Distinct::No;
        query.targets.clear();
        query.order_by.clear();
    }
}

/// Whether a query groups, and only shows the keys of its groups.
fn only_groups(query: &Query) -> bool {
    let mut targets = query.targets.iter().map(|target| &target.expr);
    !query.group_by.is_empty()
        && query.grouping_sets.is_none()
        && query.having.is_none()
        && query.windows.is_empty()
        && !targets.any(aggregates)
}

fn aggregates(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate(_) | Expr::Grouping { .. } | Expr::SubLink { .. })
        || expr.any_child(aggregates)
}

/// Has a query without select list planned for its first row. True: it was not bounded before.
pub(super) fn stop_at_first(query: &mut Query) -> bool {
    let is_simplified = query.targets.is_empty()
        && !query.has_aggregates
        && query.set_operation.is_none()
        && query.limit.is_none()
        && query.offset.is_none();
    if is_simplified {
        query.limit = Some(Expr::Const(Datum::Int8(1), TypeRef::plain(oid::INT8)));
    }
    is_simplified
}

/// An EXISTS as `test`, over the columns that `query` selects, which does not refer to the query
/// around it.
pub(super) struct ExistsAsAny {
    query: Query,
    test: Expr,
}

/// A simplified EXISTS as ANY.
pub(super) fn exists_as_any(query: &Query) -> Option<ExistsAsAny> {
    let filter = query.filter.as_ref()?;
    let is_simplified = query.targets.is_empty() && !query.has_aggregates;
    let runs_as_often_as_one_likes = query.row_locks.is_empty() && !is_volatile(filter);
    if !is_simplified
        || !runs_as_often_as_one_likes
        || !query.ctes.is_empty()
        || query.limit.is_some()
        || query.offset.is_some()
        || query.set_operation.is_some()
        || !refers(filter, 1)
    {
        return None;
    }
    let mut conditions = Vec::new();
    conjuncts(filter.clone(), &mut conditions);
    let (mut tests, mut targets, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for condition in conditions {
        match correlated_equality(&condition, targets.len()) {
            Some((test, inner)) => {
                tests.push(test);
                targets.push(Target::plain(inner, "".into()));
            }
            None if refers(&condition, 1) => return None,
            None => rest.push(condition),
        }
    }
    let test = and_all(tests)?;
    let mut query = Query { filter: and_all(rest), targets, ..query.clone() };
    let mut is_correlated = false;
    walk::for_each_node(&mut query, 0, &mut |e, depth| is_correlated |= is_of(e, depth + 1));
    (!is_correlated).then_some(ExistsAsAny { query, test })
}

/// `outer = inner` with an operator that hashes: the comparison with column `index` of the
/// sub-select, as it reads in the query around, and the column.
fn correlated_equality(condition: &Expr, index: usize) -> Option<(Expr, Expr)> {
    let Expr::Func { args, ty, syntax: CallSyntax::Operator(op), .. } = condition else {
        return None;
    };
    let [left, right] = args.as_slice() else { return None };
    let mut operator = Some(op.clone()).filter(|op| op.is_built_in() && op.can_hash)?;
    let (outer, inner) = match refers(left, 1) {
        true => (left, right),
        false => {
            operator = OperatorRef::built_in(operator.commutator)?;
            (right, left)
        }
    };
    if !refers(outer, 1) || refers(outer, 0) || refers(inner, 1) || contains_sublink(outer) {
        return None;
    }
    let column = Expr::SubLinkColumn { index, ty: inner.ty() };
    let args = vec![walk::moved_out(outer.clone(), 1), column];
    let func = operator.built_in_function()?;
    let syntax = CallSyntax::Operator(operator);
    Some((Expr::Func { func, args, ty: *ty, syntax }, inner.clone()))
}

/// Whether an expression, or a query in it, refers to the query `level` levels out.
fn refers(expr: &Expr, level: usize) -> bool {
    let mut found = false;
    walk::visit_levels(expr, 0, &mut |e, depth| {
        found |= is_of(e, depth + level);
        !found
    });
    found
}

/// Whether an expression is a column or an aggregate of the query `level` levels out.
fn is_of(expr: &Expr, level: usize) -> bool {
    match expr {
        Expr::Var { levels_up, .. } | Expr::Grouping { levels_up, .. } => *levels_up == level,
        Expr::Aggregate(call) => call.levels_up == level,
        _ => false,
    }
}

impl Planner<'_> {
    /// The plan of an EXISTS that is hashed, if its rows hash and are expected to fit
    /// (subpath_is_hashable).
    pub(super) fn hashed_exists(
        &mut self,
        exists: ExistsAsAny,
        ty: TypeRef,
    ) -> Result<Option<Box<SubPlan>>> {
        let columns = exists.query.targets.iter().map(|_| self.new_param()).collect::<Vec<_>>();
        let test = self.bind_test(exists.test, &columns)?;
        let Some(keys) = self.hash_keys(&test, &columns) else { return Ok(None) };
        // What may fail of its constants has been noted of the other way.
        let (plan, _) = self.with_own_constants(|planner| planner.query(exists.query))?;
        let row = f64::from(plan.cost.width) + ROW_BYTES;
        if plan.cost.rows * row > self.hash_memory() {
            return Ok(None);
        }
        self.subplans.push(plan);
        Ok(Some(Box::new(SubPlan {
            kind: SubLinkKind::Any,
            plan: self.subplans.len() - 1,
            args: Vec::new(),
            test: Some(test),
            columns,
            hash_keys: Some(keys),
            null_is_false: true,
            hashed: None,
            ty,
        })))
    }
}

/// Chooses, in a whole statement, between the ways of each EXISTS that has two.
pub(super) fn choose(plan: &mut Plan, subplans: &mut [Plan], costs: CostParameters) {
    let sub_costs: Vec<Cost> = subplans.iter().map(|plan| plan.cost).collect();
    if sub_costs.is_empty() {
        return;
    }
    let choice = Choice { subplans: &sub_costs, costs };
    choice.in_plan(plan);
    subplans.iter_mut().for_each(|plan| choice.in_plan(plan));
}

struct Choice<'c> {
    subplans: &'c [Cost],
    costs: CostParameters,
}

impl Choice<'_> {
    fn in_plan(&self, plan: &mut Plan) {
        let rows = plan.cost.rows;
        // Conditions are evaluated for more rows than they leave.
        plan.filter.iter_mut().for_each(|e| self.in_expr(e, 2.0 * rows));
        plan.project.iter_mut().flatten().for_each(|e| self.in_expr(e, rows));
        match &mut plan.node {
            PlanNode::NestLoop { on, .. }
            | PlanNode::HashJoin { on, .. }
            | PlanNode::MergeJoin { on, .. } => {
                on.iter_mut().for_each(|e| self.in_expr(e, 2.0 * rows));
            }
            PlanNode::Agg { child, keys, aggregates, .. } => {
                let rows = child.cost.rows;
                keys.iter_mut().for_each(|e| self.in_expr(e, rows));
                for call in aggregates {
                    let order = call.order_by.iter_mut().map(|key| &mut key.expr);
                    let exprs = call.args.iter_mut().chain(&mut call.filter).chain(order);
                    exprs.for_each(|e| self.in_expr(e, rows));
                }
            }
            PlanNode::Sort { child, keys, .. } => {
                keys.iter_mut().for_each(|key| self.in_expr(&mut key.expr, child.cost.rows));
            }
            PlanNode::Modify(modify) => {
                let rows = modify.child.cost.rows;
                modify.assignments.iter_mut().for_each(|(_, e)| self.in_expr(e, rows));
            }
            _ => {}
        }
        for_each_child_mut(plan, &mut |child| self.in_plan(child));
    }

    fn in_expr(&self, expr: &mut Expr, calls: f64) {
        if let Expr::SubPlan(sub) = expr
            && let Some(hashed) = sub.hashed.take()
            && self.hashed_total(&hashed, calls) < self.plain_total(sub, calls)
        {
            *sub = hashed;
        }
        let visited: std::result::Result<(), Infallible> = expr.for_each_child_mut(&mut |child| {
            self.in_expr(child, calls);
            Ok(())
        });
        match visited {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// The cost of `calls` calls of a sub-select that runs for each.
    fn plain_total(&self, sub: &SubPlan, calls: f64) -> f64 {
        calls * super::cost::per_call(sub, &self.subplans[sub.plan])
    }

    fn hashed_total(&self, sub: &SubPlan, calls: f64) -> f64 {
        let Cost { total, rows, .. } = self.subplans[sub.plan];
        let operator = self.costs.cpu_operator;
        let keys = sub.columns.len() as f64;
        total + operator * rows + calls * operator * keys
    }
}
