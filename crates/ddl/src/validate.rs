//! Whether the rows of a table satisfy its constraints. That is checked for new constraints, for
//! NOT VALID ones (VALIDATE CONSTRAINT), and for constraints over columns whose types have changed.

use super::alter::Reach;
use super::inherit::invalid_table;
use super::scan::{evaluator, scan_rows};
use super::{DdlContext, foreign_key, not_null, partition};
use std::sync::Arc;
use steppe_catalog::{Constraint, ConstraintKind, Relation};
use steppe_exec::stored::TableAccess;
use steppe_sql::bind::{ExprPlace, bind_table_condition, of_stored, parse_expression};
use steppe_sql::deparse;
use steppe_sql::expr::Expr;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// 23502: a row that is there has a NULL where none may be.
pub(super) fn contains_nulls(table: &Relation, position: usize) -> Error {
    let column = &table.columns[position].name;
    let message =
        format!("column \"{column}\" of relation \"{}\" contains null values", table.name);
    Error::new(SqlState::NOT_NULL_VIOLATION, message).column(column)
}

/// Existing rows must satisfy a CHECK: 23514. The nodes check those of a distributed table.
pub(super) fn check(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    name: &str,
    expr: &Expr,
) -> Result<()> {
    if relation.is_distributed() {
        return Ok(());
    }
    let expr = of_stored(&ctx.catalog(), relation, expr.clone())?;
    let mut evaluator = evaluator(ctx, std::slice::from_ref(&expr))?;
    let table = TableAccess::open(ctx.store.engine(), relation)?;
    scan_rows(ctx, &table, &mut |_, values| match evaluator.evaluate(values)?.first() {
        Some(steppe_types::Datum::Bool(false)) => Err(Error::new(
            SqlState::CHECK_VIOLATION,
            format!(
                "check constraint \"{name}\" of relation \"{}\" is violated by some row",
                relation.name
            ),
        )
        .constraint(name)),
        _ => Ok(()),
    })
}

/// VALIDATE CONSTRAINT: the rows of the table, and of what inherits the constraint, satisfy it
/// from now on.
pub(super) fn constraint(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    name: &str,
    reach: Reach,
) -> Result<()> {
    let Some(at) = table.constraints.iter().position(|c| *c.name == *name) else {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name),
        ));
    };
    match &table.constraints[at].kind {
        ConstraintKind::Check { .. } | ConstraintKind::NotNull => self::at(ctx, table, at, reach),
        ConstraintKind::ForeignKey(_) => foreign_key::validate(ctx, table, at),
        _ => Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("cannot validate constraint \"{name}\" of relation \"{}\"", table.name),
        )
        .detail("This operation is not supported for this type of constraint.")),
    }
}

/// Validates a CHECK or NOT NULL, unless it is valid.
pub(super) fn at(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    at: usize,
    reach: Reach,
) -> Result<()> {
    let own = &table.constraints[at];
    if !own.not_valid {
        return Ok(());
    }
    let children = match own.no_inherit {
        true => Vec::new(),
        false => partition::children(ctx, table.oid)?,
    };
    if reach.is_only() && !children.is_empty() {
        return Err(invalid_table("constraint must be validated on child tables too"));
    }
    for child in children {
        let child = ctx.lock_current(child.oid, RelationLockMode::ShareUpdateExclusive)?;
        let place = place_in(&child, table, own)?;
        let done = self::at(ctx, &mut (*child).clone(), place, Reach::WithChildren);
        ctx.naming(&child, done)?;
    }
    match &own.kind {
        ConstraintKind::Check { expression } => {
            stored_check(ctx, &Arc::new(table.clone()), &own.name, expression)?;
        }
        _ => {
            let column: Vec<usize> = own.not_null_column().into_iter().collect();
            not_null::check_rows(ctx, table, &column)?;
        }
    }
    table.constraints[at].not_valid = false;
    ctx.put(table.clone())
}

/// Where a child has its parent's constraint: a NOT NULL may have another name there.
fn place_in(child: &Relation, parent: &Relation, theirs: &Constraint) -> Result<usize> {
    let found = match theirs.not_null_column() {
        Some(column) => {
            let column = partition::attnum_in(child, parent, column)? as usize - 1;
            child.not_null_constraint(column)
        }
        None => child.constraints.iter().position(|own| own.name == theirs.name),
    };
    found.ok_or_else(|| {
        let (child, name) = (&child.name, &theirs.name);
        Error::internal(format!("\"{child}\" has not inherited constraint \"{name}\""))
    })
}

fn stored_check(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    name: &str,
    expression: &str,
) -> Result<()> {
    let bound = bound_check(ctx, table, expression)?;
    check(ctx, table, name, &bound)
}

/// A CHECK constraint's stored condition.
fn bound_check(ctx: &mut DdlContext<'_>, table: &Arc<Relation>, expression: &str) -> Result<Expr> {
    let parsed = parse_expression(expression)?;
    ctx.binding(|b| bind_table_condition(b, table, &parsed, "CHECK", ExprPlace::Check))
}

/// The CHECK constraints that read columns whose types have changed, as they are over the new one:
/// what they compare may have other operators now, or none (42883).
pub(super) fn retype_checks(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    attnums: &[i16],
) -> Result<()> {
    let shared = Arc::new(table.clone());
    for constraint in table.constraints.iter_mut().filter(|c| reads(c, attnums)) {
        let ConstraintKind::Check { expression } = &constraint.kind else { continue };
        let bound = bound_check(ctx, &shared, expression).map_err(Error::without_position)?;
        let expression = deparse::table_expression(&bound, Some(&shared), &ctx.catalog()).into();
        constraint.kind = ConstraintKind::Check { expression };
    }
    Ok(())
}

fn reads(constraint: &Constraint, attnums: &[i16]) -> bool {
    constraint.columns.iter().any(|attnum| attnums.contains(attnum))
}

/// The rows that changes of columns' types have left satisfy the CHECK constraints that read them.
pub(super) fn retyped(ctx: &mut DdlContext<'_>, table: &Relation, attnums: &[i16]) -> Result<()> {
    let shared = Arc::new(table.clone());
    let checks = table.constraints.iter().filter(|c| !c.not_valid && reads(c, attnums));
    for constraint in checks {
        if let ConstraintKind::Check { expression } = &constraint.kind {
            stored_check(ctx, &shared, &constraint.name, expression)?;
        }
    }
    Ok(())
}
