//! Assignments to elements and slices of arrays, as a statement's text has them.
//!
//! The binder makes one new array of all that a statement assigns to a column: `SET a[1] = 5, a[2] = 6`
//! is `a := ((a with [1] = 5) with [2] = 6)`. SQL can name no such array. So the assignments become
//! separate ones again, each over [`Expr::Default`], which stands for the column (the form that
//! `deparse` prints).

use crate::expr::{Expr, TypeRef};
use crate::query::Query;

/// Separates the assignments of a statement, those of ON CONFLICT included.
pub(super) fn separate(query: &mut Query) {
    let Some(changed) = query.result_relation else { return };
    query.assignments = separated(std::mem::take(&mut query.assignments), changed);
    if let Some((assignments, _)) = query.on_conflict.as_mut().and_then(|c| c.update.as_mut()) {
        *assignments = separated(std::mem::take(assignments), changed);
    }
}

fn separated(assignments: Vec<(usize, Expr)>, changed: usize) -> Vec<(usize, Expr)> {
    let mut all = Vec::with_capacity(assignments.len());
    for (column, value) in assignments {
        match parts(&value, changed, column) {
            Some(parts) if !parts.is_empty() => {
                all.extend(parts.into_iter().map(|part| (column, part)));
            }
            _ => all.push((column, value)),
        }
    }
    all
}

/// The assignments to parts that make a new value of a column, in their order; none for the column
/// itself. `None`: it is no such value.
fn parts(value: &Expr, changed: usize, of: usize) -> Option<Vec<Expr>> {
    match value {
        Expr::Var { rte, column, levels_up: 0, .. } => {
            let is_it = *rte == changed && usize::try_from(*column) == Ok(of);
            is_it.then(Vec::new)
        }
        Expr::Subscript { array, assigned: Some(_), .. } => {
            let mut before = parts(array, changed, of)?;
            let mut part = value.clone();
            if let Expr::Subscript { array, .. } = &mut part {
                let ty: TypeRef = array.ty();
                **array = Expr::Default(ty);
            }
            before.push(part);
            Some(before)
        }
        _ => None,
    }
}
