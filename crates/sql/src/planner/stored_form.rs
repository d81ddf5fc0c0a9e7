//! `pg_column_size(t.c)` and `pg_column_compression(t.c)`: properties that only a reader of the row
//! can return.
//!
//! A function gets a value, but not its stored form. (PostgreSQL's read the pointer that a tuple
//! holds, varlena.c.) So such a call over a table's column becomes a column of its own, which the
//! scan returns ([`StoredForm`]). Like the column it is NULL where an outer join has no row.
//!
//! A call over anything else than a table's column stays a call: an expression, a sub-select that
//! is not merged, a row that is being changed. There the value is no longer a stored one, or is
//! reported as it would be in memory.

use crate::expr::{Expr, TypeRef};
use crate::plan::StoredForm;
use crate::query::{Command, Query, RteKind};
use crate::walk;
use steppe_catalog::{RelKind, builtin};
use steppe_types::oid;

/// Replaces the calls of a query's own level.
pub(super) fn read_stored_forms(query: &mut Query) {
    // What is grouped by a column knows the value only; a key that determines columns does not
    // determine these.
    if query.command != Command::Select || !query.determining_keys.is_empty() {
        return;
    }
    let mut calls = Vec::new();
    walk::for_each_node(query, 0, &mut |e, depth| {
        if depth == 0
            && let Some(call) = stored_call(e)
        {
            calls.push(call);
        }
    });
    calls.retain(|call| is_stored(query, call));
    if calls.is_empty() {
        return;
    }
    walk::for_each_node(query, 0, &mut |e, depth| {
        if depth == 0
            && let Some(call) = stored_call(e).filter(|call| calls.contains(call))
            && let Expr::Func { args, ty, .. } = e
            && let Some(Expr::Var { rte, levels_up: 0, at, .. }) = args.first()
        {
            let column = i32::from(call.form.attribute(call.column as i16 + 1));
            *e = Expr::Var { rte: *rte, column, levels_up: 0, ty: *ty, at: *at };
        }
    });
}

/// A call over a column of this level.
#[derive(PartialEq)]
struct Call {
    form: StoredForm,
    rte: usize,
    column: usize,
}

fn stored_call(e: &Expr) -> Option<Call> {
    let Expr::Func { func, args, .. } = e else { return None };
    let [Expr::Var { rte, column, levels_up: 0, .. }] = &args[..] else { return None };
    let form = match func.built_in_source()? {
        "pg_column_size" => StoredForm::Size,
        "pg_column_compression" => StoredForm::Compression,
        _ => return None,
    };
    Some(Call { form, rte: *rte, column: usize::try_from(*column).ok()? })
}

/// Whether the column is a table's, of a type whose values have a length, and not grouped by.
fn is_stored(query: &Query, call: &Call) -> bool {
    let Some(entry) = query.rtes.get(call.rte) else { return false };
    let RteKind::Relation(relation) = &entry.kind else { return false };
    let is_table = matches!(relation.kind, RelKind::Table | RelKind::PartitionedTable)
        && !relation.is_distributed();
    let ty: Option<TypeRef> = entry.columns.get(call.column).map(|column| column.ty);
    let varies = ty.and_then(|ty| builtin::ty(ty.oid)).is_some_and(|ty| ty.len == -1);
    let is_key = |e: &Expr| {
        matches!(e, Expr::Var { rte, column, levels_up: 0, .. }
            if *rte == call.rte && usize::try_from(*column) == Ok(call.column))
    };
    is_table && varies && !query.group_by.iter().any(is_key)
}

/// The type of a stored form that a scan returns, and its name in EXPLAIN.
pub(super) fn described(form: StoredForm, column: &str) -> (TypeRef, String) {
    match form {
        StoredForm::Size => (TypeRef::plain(oid::INT4), format!("pg_column_size({column})")),
        StoredForm::Compression => {
            (TypeRef::plain(oid::TEXT), format!("pg_column_compression({column})"))
        }
    }
}
