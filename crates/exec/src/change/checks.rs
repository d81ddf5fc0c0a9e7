//! Constraints of a row, with PostgreSQL's error messages (execMain.c's ExecConstraints,
//! nbtinsert.c's _bt_check_unique).

use super::Target;
use crate::access::{IndexAccess, TableAccess};
use crate::context::ExecContext;
use crate::expr::Row;
use steppe_catalog::system::definitions;
use steppe_catalog::{Column, IndexKey, Relation};
use steppe_functions::FnContext;
use steppe_functions::as_text::to_text;
use steppe_types::{Datum, Error, Result, SqlState};

/// The most bytes of a value that a detail shows.
const SHOWN_BYTES_MAX: usize = 64;

/// 23502 or 23514 unless the row may be stored.
pub(crate) fn check_row(target: &Target, row: &[Datum], cx: &mut ExecContext) -> Result<()> {
    for column in &target.not_null {
        if row.get(*column).is_none_or(Datum::is_null) {
            return Err(null_violation(target, *column, row, &cx.functions));
        }
    }
    for (column, value) in &target.never_null {
        if value.eval(cx, Row::of(row))?.is_null() {
            return Err(null_violation(target, *column, row, &cx.functions));
        }
    }
    for (name, check) in &target.checks {
        // Unknown satisfies a CHECK.
        if check.test(cx, Row::of(row))? == Some(false) {
            return Err(check_violation(target, name, row, &cx.functions));
        }
    }
    Ok(())
}

/// 23514 unless the row belongs into this partition.
pub(crate) fn check_partition(target: &Target, row: &[Datum], cx: &mut ExecContext) -> Result<()> {
    match &target.partition {
        Some(partition) if !partition.holds(target.table.oid, row, cx)? => {
            Err(partition_violation(target, &target.table.relation, row, &cx.functions))
        }
        _ => Ok(()),
    }
}

/// 23514 for a row of the target that does not belong into `partition`: it, or one below it.
#[cold]
pub(super) fn partition_violation(
    target: &Target,
    partition: &Relation,
    row: &[Datum],
    cx: &FnContext,
) -> Error {
    let error = Error::new(
        SqlState::CHECK_VIOLATION,
        format!("new row for relation \"{}\" violates partition constraint", partition.name),
    );
    named(with_values(error, target, row, cx), partition, cx)
}

/// 44000 if a view's CHECK OPTION refuses the new row.
pub(crate) fn check_views(target: &Target, row: &[Datum], cx: &mut ExecContext) -> Result<()> {
    for (view, check) in &target.view_checks {
        // Unlike a CHECK constraint, unknown is a violation: the view would not show the row.
        if check.test(cx, Row::of(row))? != Some(true) {
            let error = Error::new(
                SqlState::WITH_CHECK_OPTION_VIOLATION,
                format!("new row violates check option for view \"{view}\""),
            );
            return Err(with_values(error, target, row, &cx.functions));
        }
    }
    Ok(())
}

/// 23502 for a NULL in a column.
#[cold]
pub(crate) fn null_violation(
    target: &Target,
    column: usize,
    row: &[Datum],
    cx: &FnContext,
) -> Error {
    let relation = &target.table.relation;
    let name = relation.columns.get(column).map_or("?", |c| &c.name);
    let error = Error::new(
        SqlState::NOT_NULL_VIOLATION,
        format!(
            "null value in column \"{name}\" of relation \"{}\" violates not-null constraint",
            relation.name
        ),
    );
    with_row(error, target, row, cx).column(name)
}

#[cold]
fn check_violation(target: &Target, constraint: &str, row: &[Datum], cx: &FnContext) -> Error {
    let relation = &target.table.relation.name;
    let error = Error::new(
        SqlState::CHECK_VIOLATION,
        format!("new row for relation \"{relation}\" violates check constraint \"{constraint}\""),
    );
    with_row(error, target, row, cx).constraint(constraint)
}

fn with_row(error: Error, target: &Target, row: &[Datum], cx: &FnContext) -> Error {
    named(with_values(error, target, row, cx), &target.table.relation, cx)
}

/// Shows a row of the target, with the columns of the table that the statement names.
fn with_values(error: Error, target: &Target, row: &[Datum], cx: &FnContext) -> Error {
    let seen;
    let (relation, row) = match &target.columns {
        None => (&target.table.relation, row),
        Some(map) => {
            seen = map.row_in_parent(row);
            (&map.parent, &seen[..])
        }
    };
    let columns = relation.columns.iter().zip(row).filter(|(c, _)| !c.dropped);
    let value = |(column, value): (&Column, &Datum)| match column.is_virtual {
        true => "virtual".to_owned(),
        false => shown(value, column.type_oid, cx),
    };
    let values: Vec<String> = columns.map(value).collect();
    error.detail(format!("Failing row contains ({}).", values.join(", ")))
}

/// Names the table and its schema.
pub(super) fn named(error: Error, table: &Relation, cx: &FnContext) -> Error {
    let schema = cx.catalog.schema(table.schema);
    error.table(schema.map_or("public", |s| &s.name), &table.name)
}

/// A value as a detail shows it.
pub(crate) fn shown(value: &Datum, type_oid: u32, cx: &FnContext) -> String {
    match to_text(value, type_oid, cx) {
        Ok(None) => "null".to_owned(),
        Ok(Some(text)) if text.len() > SHOWN_BYTES_MAX => {
            let mut end = SHOWN_BYTES_MAX;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            format!("{}...", &text[..end])
        }
        Ok(Some(text)) => text,
        Err(_) => "?".to_owned(),
    }
}

/// 23505 with the key that exists already.
#[cold]
pub(crate) fn duplicate_key(
    table: &TableAccess,
    index: &IndexAccess,
    row: &[Datum],
    cx: &FnContext,
) -> Error {
    let name = &index.relation.name;
    let error = Error::new(
        SqlState::UNIQUE_VIOLATION,
        format!("duplicate key value violates unique constraint \"{name}\""),
    );
    let error = named(error, &table.relation, cx).constraint(name);
    match shown_key(index, row, cx) {
        Some(key) => error.detail(format!("Key {key} already exists.")),
        None => error,
    }
}

/// `(names)=(values)` of an index's key (BuildIndexValueDescription).
pub fn shown_key(index: &IndexAccess, row: &[Datum], cx: &FnContext) -> Option<String> {
    let info = index.relation.index.as_ref()?;
    let values = index.key_values(row).ok()?;
    let name = |i: usize| {
        let style = definitions::Style::PRETTY;
        definitions::index_column_definition(&cx.catalog, &index.relation, i + 1, style)
    };
    let names: Vec<String> = (0..info.keys.len()).filter_map(name).collect();
    let value = |(value, key): (&Datum, &IndexKey)| {
        to_text(value, key.type_oid, cx).ok().flatten().unwrap_or_else(|| "null".to_owned())
    };
    let values: Vec<String> = values.iter().zip(&info.keys).map(value).collect();
    Some(format!("({})=({})", names.join(", "), values.join(", ")))
}
