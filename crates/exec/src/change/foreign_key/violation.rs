//! The errors of foreign keys (ri_ReportViolation).

use crate::change::checks::named;
use steppe_catalog::Relation;
use steppe_functions::FnContext;
use steppe_functions::as_text::to_text;
use steppe_types::{Datum, Error, Result, SqlState};

/// `(names)=(values)`
pub(super) fn shown(table: &Relation, columns: &[usize], key: &[Datum], cx: &FnContext) -> String {
    let column = |at: &usize| table.columns.get(*at);
    let names: Vec<&str> = columns.iter().filter_map(column).map(|c| &*c.name).collect();
    let text = |(at, value): (&usize, &Datum)| {
        let ty = column(at).map_or(0, |column| column.type_oid);
        to_text(value, ty, cx).ok().flatten().unwrap_or_else(|| "null".to_owned())
    };
    let values: Vec<String> = columns.iter().zip(key).map(text).collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}

fn refused(table: &Relation, constraint: &str, cx: &FnContext) -> Error {
    let name = &table.name;
    let message = format!(
        "insert or update on table \"{name}\" violates foreign key constraint \"{constraint}\""
    );
    let error = Error::new(SqlState::FOREIGN_KEY_VIOLATION, message);
    named(error, table, cx).constraint(constraint)
}

/// 23503: a referencing row's key is not in the referenced table.
#[cold]
pub fn missing_key(
    (table, columns): (&Relation, &[usize]),
    constraint: &str,
    key: &[Datum],
    referenced: &Relation,
    cx: &FnContext,
) -> Error {
    let shown = shown(table, columns, key, cx);
    let detail = format!("Key {shown} is not present in table \"{}\".", referenced.name);
    refused(table, constraint, cx).detail(detail)
}

/// 23503: MATCH FULL, and some of the key's values are NULL.
#[cold]
pub fn mixed_nulls(table: &Relation, constraint: &str, cx: &FnContext) -> Error {
    let detail = "MATCH FULL does not allow mixing of null and nonnull key values.";
    refused(table, constraint, cx).detail(detail)
}

/// 23503, or 23001 for RESTRICT: rows still refer to a key.
#[cold]
pub(super) fn still_referenced(
    (table, columns): (&Relation, &[usize]),
    key: &[Datum],
    (referencing, constraint): (&Relation, &str),
    restrict: bool,
    cx: &FnContext,
) -> Error {
    let (sqlstate, setting, still) = match restrict {
        true => (SqlState::RESTRICT_VIOLATION, "RESTRICT setting of ", ""),
        false => (SqlState::FOREIGN_KEY_VIOLATION, "", "still "),
    };
    let (name, of) = (&table.name, &referencing.name);
    let message = format!(
        "update or delete on table \"{name}\" violates {setting}foreign key constraint \
         \"{constraint}\" on table \"{of}\""
    );
    let shown = shown(table, columns, key, cx);
    let detail = format!("Key {shown} is {still}referenced from table \"{of}\".");
    named(Error::new(sqlstate, message).detail(detail), referencing, cx).constraint(constraint)
}

/// The key's values of a row.
pub(super) fn pick(places: &[usize], row: &[Datum]) -> Result<Vec<Datum>> {
    let value = |at: &usize| row.get(*at).cloned();
    let lost = || Error::internal("a key's column is not there");
    places.iter().map(|at| value(at).ok_or_else(lost)).collect()
}
