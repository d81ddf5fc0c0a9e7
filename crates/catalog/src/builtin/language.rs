//! Languages of functions (pg_language). There are the four that every database of PostgreSQL has.

use super::table;
use steppe_types::Oid;

/// pg_language: the code is part of the server.
pub const INTERNAL_LANGUAGE: Oid = 12;
/// pg_language: the code is in a shared library.
pub const C_LANGUAGE: Oid = 13;
/// pg_language: SQL.
pub const SQL_LANGUAGE: Oid = 14;

/// The language of a name, which is lower case.
pub fn language_named(name: &str) -> Option<(Oid, &'static str)> {
    languages().find(|(_, found)| *found == name)
}

/// The name of a language.
pub fn language_name(oid: Oid) -> Option<&'static str> {
    languages().find(|(found, _)| *found == oid).map(|(_, name)| name)
}

fn languages() -> impl Iterator<Item = (Oid, &'static str)> {
    let rows = table("pg_language").into_iter().flat_map(|table| table.rows());
    rows.filter_map(|row| Some((row.get("oid")?.parse().ok()?, row.get("lanname")?)))
}
