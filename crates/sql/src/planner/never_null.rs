//! `IS NULL` and `IS NOT NULL` of columns that no row has NULL in (restriction_is_always_true and
//! restriction_is_always_false in initsplan.c).
//!
//! A column counts if it is declared NOT NULL, for all that inherits from the table and for rows
//! that were there before, and no outer join below the condition pads its table. In ON of an
//! outer join only tests that hold are dropped: where one fails, rows are padded all the same.

use super::{RteSet, and_all, conjuncts};
use crate::expr::Expr;
use crate::query::{FromItem, JoinKind, Query, Rte, RteKind};
use steppe_catalog::is_row_type;

/// Folds the tests in WHERE and ON.
pub(super) fn fold(query: &mut Query) {
    let rtes = &query.rtes;
    let padded = padded(query.from.iter());
    fold_in(&mut query.filter, true, &|e| is_never_null(e, rtes, &padded));
    query.from.iter_mut().for_each(|item| fold_joins(item, rtes, true));
}

fn padded<'q>(items: impl Iterator<Item = &'q FromItem>) -> RteSet {
    let mut padded = RteSet::default();
    items.flat_map(FromItem::nullable_entries).for_each(|rte| padded.insert(rte));
    padded
}

/// `decides_rows`: a condition that is false drops rows of the query.
fn fold_joins(item: &mut FromItem, rtes: &[Rte], decides_rows: bool) {
    let FromItem::Join { kind, left, right, on, .. } = item else { return };
    let is_inner = *kind == JoinKind::Inner;
    fold_joins(left, rtes, decides_rows && is_inner);
    fold_joins(right, rtes, decides_rows && is_inner);
    let padded = padded([&**left, &**right].into_iter());
    fold_in(on, decides_rows && is_inner, &|e| is_never_null(e, rtes, &padded));
}

fn is_never_null(expr: &Expr, rtes: &[Rte], padded: &RteSet) -> bool {
    let Expr::Var { rte, column, levels_up: 0, .. } = expr else { return false };
    let Some(RteKind::Relation(relation)) = rtes.get(*rte).map(|rte| &rte.kind) else {
        return false;
    };
    // All columns of a row may be NULL.
    !is_row_type(expr.ty().oid)
        && !padded.contains(*rte)
        && usize::try_from(*column).is_ok_and(|column| relation.is_not_null_below(column))
}

fn fold_in(place: &mut Option<Expr>, decides_rows: bool, is_never_null: &dyn Fn(&Expr) -> bool) {
    let mut all = Vec::new();
    place.take().into_iter().for_each(|condition| conjuncts(condition, &mut all));
    all.retain(|condition| known(condition, is_never_null) != Some(true));
    for condition in &mut all {
        if decides_rows && known(condition, is_never_null) == Some(false) {
            *condition = Expr::boolean(false);
        }
    }
    *place = and_all(all);
}

/// The value that a condition always has.
fn known(condition: &Expr, is_never_null: &dyn Fn(&Expr) -> bool) -> Option<bool> {
    match condition {
        Expr::IsNull { arg, negated } => is_never_null(arg).then_some(*negated),
        Expr::Or(arms) => {
            let arms: Vec<_> = arms.iter().map(|arm| known(arm, is_never_null)).collect();
            if arms.contains(&Some(true)) {
                return Some(true);
            }
            arms.iter().all(|arm| *arm == Some(false)).then_some(false)
        }
        _ => None,
    }
}
