//! INTERSECT and EXCEPT [ALL] (generate_nonunion_paths in prepunion.c, create_setop_path in
//! pathnode.c).
//!
//! Rows are counted by hash, or as both inputs come in one order: that of all their columns, which
//! ORDER BY can make use of. By hash costs no sort, but all different rows of the left input have to
//! fit into memory. INTERSECT is the same both ways round: the input with fewer different rows
//! comes first. An input without sub-selects is planned once more for its order, which an index may
//! give; others are sorted.

use super::cost::Estimator;
use super::joinpath::output_names;
use super::ordered::ascending;
use super::sorting::has_order;
use super::sorting::{DISABLED, Wish};
use super::union::{is_bare, is_simple, of_columns};
use super::{Planner, Rel, node};
use crate::expr::{Expr, SortKey, TypeRef};
use crate::plan::*;
use crate::query::*;
use steppe_types::Result;

/// Bytes of an entry of the hash table besides its columns.
const ENTRY_BYTES: f64 = 16.0;

/// An input of INTERSECT or EXCEPT.
struct Side {
    plan: Plan,
    /// The same in the order of its columns, if these have one.
    sorted: Option<Plan>,
    /// The number of different rows.
    groups: f64,
}

impl Planner<'_> {
    /// INTERSECT or EXCEPT, in each of the ways that there are.
    pub(super) fn intersect_or_except(&mut self, operation: SetOperation) -> Result<Vec<Rel>> {
        let SetOperation { op, all, types, left, right, .. } = operation;
        let keys = keys_of(&types);
        let (mut left, mut right) = (self.set_side(*left, &keys)?, self.set_side(*right, &keys)?);
        if op == SetOp::Intersect && left.groups > right.groups {
            std::mem::swap(&mut left, &mut right);
        }
        let rows = match (op, all) {
            (_, false) => left.groups,
            (SetOp::Intersect, true) => left.plan.cost.rows.min(right.plan.cost.rows),
            (_, true) => left.plan.cost.rows,
        };
        let names = output_names(&left.plan);
        let build = |(left, right): (Plan, Plan), order: Vec<SortKey>, cost| {
            let (left, right) = (Box::new(left), Box::new(right));
            let set_op = PlanNode::SetOp { op, all, left, right, order };
            of_columns(node(set_op, types.clone(), names.clone(), cost))
        };
        let mut ways = Vec::with_capacity(2);
        if let (Some(left), Some(right)) = (left.sorted, right.sorted) {
            let startup = left.cost.startup + right.cost.startup;
            let total = self.counted(&left, &right, rows);
            let cost = Cost { startup, total, rows, width: left.cost.width };
            ways.push(build((left, right), keys, cost));
        }
        let width = f64::from(left.plan.cost.width.next_multiple_of(8));
        let total = self.counted(&left.plan, &right.plan, rows);
        let startup = total - self.costs().cpu_operator * rows;
        let mut cost = Cost { startup, total, rows, width: left.plan.cost.width };
        let fits = (width + ENTRY_BYTES) * left.groups <= self.hash_memory();
        if !fits || !self.ctx.settings.hashagg {
            cost.startup += DISABLED;
            cost.total += DISABLED;
        }
        ways.insert(0, build((left.plan, right.plan), Vec::new(), cost));
        Ok(ways)
    }

    /// The cost of counting all rows of both inputs and returning `rows` rows.
    fn counted(&self, left: &Plan, right: &Plan, rows: f64) -> f64 {
        let operator = self.costs().cpu_operator;
        let compared = operator * left.types.len() as f64 * (left.cost.rows + right.cost.rows);
        left.cost.total + right.cost.total + compared + operator * rows
    }

    fn set_side(&mut self, query: Query, keys: &[SortKey]) -> Result<Side> {
        let plan = self.query(query.clone())?;
        let is_plain = is_bare(&query) && query.set_operation.is_none() && is_simple(&query);
        let groups = match is_plain && !query.has_aggregates {
            true => {
                let targets = query.targets.iter().map(|target| &target.expr);
                Estimator::new(self.ctx, &query.rtes).groups(targets, plan.cost.rows)
            }
            false => plan.cost.rows,
        };
        let sorted = match keys.is_empty() {
            true => None,
            false if is_plain => {
                let key = |target| OrderBy { target, descending: false, nulls_first: false };
                let order_by = (0..keys.len()).map(key).collect();
                Some(self.query(Query { order_by, ..query })?)
            }
            false => Some(self.sorted_rows(of_columns(plan.clone()), keys.to_vec())?.plan),
        };
        Ok(Side { plan, sorted, groups })
    }

    /// Rows sorted by their columns.
    pub(super) fn sorted_rows(&self, rel: Rel, keys: Vec<SortKey>) -> Result<Rel> {
        let wish = Wish { keys, written: Vec::new(), bound: None, rows: None };
        self.sorted(rel, wish, &[])
    }
}

/// All columns of a row as keys; none if one of them has no order.
pub(super) fn keys_of(types: &[TypeRef]) -> Vec<SortKey> {
    if !types.iter().all(|ty| has_order(*ty)) {
        return Vec::new();
    }
    let slot = |(index, ty): (usize, &TypeRef)| ascending(Expr::Slot { index, ty: *ty });
    types.iter().enumerate().map(slot).collect()
}
