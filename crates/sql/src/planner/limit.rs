//! LIMIT and OFFSET: the number of wanted rows, as far as that is known, and the saved cost
//! (preprocess_limit in planner.c, adjust_limit_rows_costs in pathnode.c).

use super::by_value::bounded_rows;
use super::joinpath::output_names;
use super::project_set::row_and;
use super::targets::order_keys;
use super::{Planner, node};
use crate::expr::{Expr, TypeRef};
use crate::plan::*;
use crate::query::*;
use steppe_types::{Result, oid};

impl Planner<'_> {
    /// The number of rows that a LIMIT lets be read.
    pub(super) fn limit_rows(&self, query: &Query) -> Option<f64> {
        let limit = query.limit.as_ref()?;
        Some(bounded_rows(Some(limit), query.offset.as_ref(), self.ctx.values))
    }

    pub(super) fn limit(&mut self, query: &Query, plan: Plan) -> Result<Plan> {
        if query.limit.is_none() && query.offset.is_none() {
            return Ok(plan);
        }
        let ties = query.with_ties.then(|| order_keys(query, &row_and(&plan, [])));
        let mut cost = plan.cost;
        if let Some(rows) = self.limit_rows(query) {
            let share = (rows / cost.rows.max(1.0)).min(1.0);
            cost.total = cost.startup + (cost.total - cost.startup) * share;
            cost.rows = rows.min(cost.rows);
        }
        let (types, names) = (plan.types.clone(), output_names(&plan));
        let (limit, offset) = (query.limit.clone(), query.offset.clone());
        let limit = PlanNode::Limit { child: Box::new(plan), limit, offset, ties };
        Ok(node(limit, types, names, cost))
    }
}

/// The number of rows that a sort must keep: LIMIT + OFFSET.
pub(super) fn sort_bound(query: &Query) -> Option<Expr> {
    if query.with_ties {
        return None;
    }
    let limit = query.limit.clone()?;
    let Some(offset) = query.offset.clone() else { return Some(limit) };
    let ty = TypeRef::plain(oid::INT8);
    let plus = steppe_catalog::builtin::operator_of("+", oid::INT8, oid::INT8)?;
    let func = plus.built_in_function()?;
    let syntax = crate::expr::CallSyntax::Operator(plus);
    Some(Expr::Func { func, args: vec![limit, offset], ty, syntax })
}
