//! The rewrites before a query is planned, in order (subquery_planner). Each is in a module of its
//! own.
//!
//! - A WITH query that is read once becomes a sub-select where it is read (`inline`).
//! - `EXISTS` and `IN` over sub-selects in WHERE become joins (`sublinks`).
//! - A simple sub-select in FROM is merged into the query around it (`pullup`).
//!
//! A sub-select that is not merged gets the conditions on its columns ([`push_down`]), and loses
//! its unread columns ([`drop_unused_outputs`]).

use super::inline::{inline_ctes, is_volatile_here};
use super::pullup::{add_conditions, pull_up_subqueries};
use super::row_mark::replace_row_marks;
use super::stored_form::read_stored_forms;
use super::sublinks::pull_up_sublinks;
use super::subselect::contains_sublink;
use super::{is_volatile, returns_set};
use crate::bind::SECURITY_BARRIER;
use crate::expr::Expr;
use crate::query::*;
use crate::walk;
use steppe_catalog::Relation;
use steppe_types::Datum;

/// Moves a condition on the columns of the entry `rte` into the sub-select behind it, where it
/// drops only whole groups, partitions or rows (subquery_push_qual). False: it must stay above.
pub(crate) fn push_down(query: &mut Query, rte: usize, condition: &Expr) -> bool {
    if is_volatile(condition) || contains_sublink(condition) || !may_push(query) {
        return false;
    }
    if let Some(operation) = &mut query.set_operation {
        let same_types = |q: &Query| {
            let visible = q.targets.iter().filter(|t| !t.hidden).map(|t| t.expr.ty().oid);
            visible.eq(operation.types.iter().map(|t| t.oid))
        };
        if !same_types(&operation.left) || !same_types(&operation.right) {
            return false;
        }
        // Both sides or neither: a change to one of them is tried on copies.
        let (mut left, mut right) = (operation.left.clone(), operation.right.clone());
        if !push_down(&mut left, rte, condition) || !push_down(&mut right, rte, condition) {
            return false;
        }
        (operation.left, operation.right) = (left, right);
        return true;
    }
    let columns: Vec<&Expr> = query.targets.iter().filter(|t| !t.hidden).map(|t| &t.expr).collect();
    let mut used = hashbrown::HashSet::new();
    super::collect_columns(condition, &mut used);
    let column = |attribute: i16| columns.get(usize::try_from(attribute - 1).ok()?).copied();
    let pushable = used.iter().all(|(entry, attribute)| {
        *entry == rte && column(*attribute).is_some_and(|e| may_filter_on(query, e))
    });
    if !pushable {
        return false;
    }
    let inner = condition.clone().transform(&mut |e| {
        Ok::<_, std::convert::Infallible>(match e {
            Expr::Var { rte: r, column: c, levels_up: 0, .. } if r == rte => {
                columns.get(c as usize).map_or(e.clone(), |e| (*e).clone())
            }
            other => other,
        })
    });
    match inner {
        Ok(inner) => add_conditions(&mut query.filter, vec![inner]),
        Err(never) => match never {},
    }
    true
}

/// Unread output columns are not computed: they become NULL, sub-selects in them do not run
/// (remove_unused_subquery_outputs).
pub(crate) fn drop_unused_outputs(query: &mut Query, is_used: impl Fn(usize) -> bool) {
    let counts_rows = matches!(query.distinct, Distinct::No) && query.set_operation.is_none();
    if query.command != Command::Select || !counts_rows {
        return;
    }
    let sorted: Vec<usize> = query.order_by.iter().map(|order| order.target).collect();
    // What windows are ordered by is a column of its own: a volatile one stays.
    let is_ordered = query.windows.iter().flat_map(WindowClause::keys).any(is_volatile_within);
    let outputs = query.targets.iter_mut().enumerate().filter(|(_, target)| !target.hidden);
    for (shown, (i, target)) in outputs.enumerate() {
        let is_kept = is_used(shown)
            || sorted.contains(&i)
            || is_volatile_within(&target.expr)
            || is_ordered && calls_window(&target.expr)
            || returns_set(&target.expr);
        if !is_kept {
            target.expr = Expr::Const(Datum::Null, target.expr.ty());
        }
    }
}

fn calls_window(expr: &Expr) -> bool {
    matches!(expr, Expr::Window(_)) || expr.any_child(calls_window)
}

/// Whether a volatile function occurs, in sub-selects as well.
pub(super) fn is_volatile_within(expr: &Expr) -> bool {
    let mut found = false;
    walk::visit_levels(expr, 0, &mut |node, _| {
        found |= is_volatile_here(node);
        !found
    });
    found
}

/// Whether a view's own conditions come before any of the statement that reads it.
pub(crate) fn is_barrier(view: &Relation) -> bool {
    view.options.iter().any(|(name, value)| {
        &**name == SECURITY_BARRIER && steppe_types::text_io::parse_bool(value).unwrap_or(false)
    })
}

/// Whether rows that a sub-select hands up may be dropped before it counts or numbers them.
pub(super) fn may_push(query: &Query) -> bool {
    query.command == Command::Select
        && !query.on_nodes
        && query.limit.is_none()
        && query.offset.is_none()
        && query.row_locks.is_empty()
        && query.grouping_sets.is_none()
        && (!query.has_aggregates || !query.group_by.is_empty())
        && !query.targets.iter().any(|t| returns_set(&t.expr))
}

/// Whether a condition on this output column is one on a key that the sub-select groups, partitions
/// or makes distinct by.
fn may_filter_on(query: &Query, column: &Expr) -> bool {
    let grouped = !query.has_aggregates || query.group_by.contains(column);
    let parted = query.windows.iter().all(|w| w.partition_by.contains(column));
    let distinct = match &query.distinct {
        Distinct::On(on) => on.iter().any(|t| query.targets[*t].expr == *column),
        _ => true,
    };
    grouped && parted && distinct && !is_volatile(column) && !contains_sublink(column)
}

/// All rewrites.
pub(crate) fn prepare(query: &mut Query) {
    replace_row_marks(query);
    inline_ctes(query);
    pull_up_sublinks(query);
    pull_up_subqueries(query);
    read_stored_forms(query);
}
