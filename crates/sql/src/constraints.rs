//! The conditions that a table's constraints guarantee for all its rows.

use crate::bind::index::is_mutable;
use crate::bind::{ExprPlace, of_stored, stored_expr};
use crate::expr::{Expr, Place, TypeRef};
use crate::implies::{alternatives, canonical};
use crate::negate::without_not;
use crate::refutes::{Strength, refuted_by};
use std::sync::Arc;
use steppe_catalog::{Catalog, ConstraintKind, Relation, is_row_type};
use steppe_types::Result;

/// Conditions that are true, or NULL, for every row of a table.
pub(crate) fn constraints_of(catalog: &Catalog, table: &Arc<Relation>) -> Result<Vec<Expr>> {
    let mut known = Vec::new();
    for constraint in table.constraints.iter().filter(|constraint| !constraint.not_valid) {
        let ConstraintKind::Check { expression } = &constraint.kind else { continue };
        let bound = stored_expr(catalog, table, expression, ExprPlace::Check)?;
        if !is_mutable(&bound) {
            known.push(of_stored(catalog, table, bound)?);
        }
    }
    for (at, column) in table.columns.iter().enumerate() {
        // A row of NULLs is NULL to a test, and yet no NULL.
        let is_row = is_row_type(column.type_oid);
        // What is virtual is read as its expression, which no constraint speaks of.
        if column.dropped || is_row || column.is_virtual || !has_no_null(table, at) {
            continue;
        }
        let ty = TypeRef { oid: column.type_oid, typmod: column.typmod };
        let column = Expr::Var { rte: 0, column: at as i32, levels_up: 0, ty, at: Place::NONE };
        known.push(Expr::IsNull { arg: Box::new(column), negated: true });
    }
    Ok(known)
}

/// A partitioned table's rows are those of its partitions.
fn has_no_null(table: &Relation, column: usize) -> bool {
    match &table.partition_key {
        Some(_) => table.is_not_null_below(column),
        None => table.is_never_null(column),
    }
}

/// Whether every row of a table satisfies the bound of a partition, by the table's constraints
/// (ConstraintImpliedByRelConstraint). `bound` compares columns with constants.
///
/// A constraint that is NULL lets a row in. So it is not enough that true constraints imply the
/// bound: a row outside must make one of them *false*. The negation of a part of the bound is true
/// of such a row: of the part that demands IS NOT NULL, or else of a comparison of a value that is
/// not NULL.
pub fn constraints_imply(catalog: &Catalog, table: &Arc<Relation>, bound: &str) -> Result<bool> {
    let bound = canonical(stored_expr(catalog, table, bound, ExprPlace::Check)?);
    let known = constraints_of(catalog, table)?;
    let parts = match bound {
        Expr::And(parts) => parts,
        other => vec![other],
    };
    let excluded = |part: Expr| {
        let violated = without_not(Expr::Not(Box::new(as_alternatives(part))));
        refuted_by(&known, &[violated], Strength::False)
    };
    Ok(parts.into_iter().all(excluded))
}

/// `x = ANY (…)` as `x = … OR x = …`, which the proofs can negate.
fn as_alternatives(expr: Expr) -> Expr {
    match expr {
        Expr::Or(parts) => Expr::Or(parts.into_iter().map(as_alternatives).collect()),
        Expr::And(parts) => Expr::And(parts.into_iter().map(as_alternatives).collect()),
        other => match alternatives(&other) {
            Some(parts) => Expr::Or(parts),
            None => other,
        },
    }
}
