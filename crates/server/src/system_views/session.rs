//! pg_cursors and pg_prepared_statements: the session's cursors and prepared statements.
//!
//! The session is lent out while a statement runs. So it copies the portal without a name before a
//! statement that reads one of these views. Statements and portals with names may be seen where they
//! are.

use std::sync::Arc;

use steppe_catalog::system::RowsBuilder;
use steppe_exec::spi::SpiPortal;
use steppe_types::datum::Array;
use steppe_types::{Datum, Oid, Result, oid};

/// The views' names.
pub(crate) const VIEWS: &[&str] = &["pg_cursors", "pg_prepared_statements"];

/// A portal as pg_cursors shows it.
#[derive(Clone, Debug)]
pub(crate) struct ShownCursor {
    pub name: Box<str>,
    pub statement: Arc<str>,
    pub is_holdable: bool,
    pub is_binary: bool,
    pub is_scrollable: bool,
    pub created_at: i64,
}

/// A prepared statement as pg_prepared_statements shows it.
#[derive(Clone, Debug)]
pub(crate) struct ShownStatement {
    pub name: Box<str>,
    pub statement: Arc<str>,
    pub prepared_at: i64,
    pub parameters: Box<[Oid]>,
    /// Types of the result's columns; `None` if it returns no rows.
    pub results: Option<Box<[Oid]>>,
    /// PREPARE has made it, not the protocol.
    pub from_sql: bool,
}

/// The rows of pg_cursors.
pub(super) fn cursors(
    portals: &[ShownCursor],
    of_functions: &[Arc<SpiPortal>],
) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new("pg_cursors")?;
    for cursor in portals {
        builder.row([
            ("name", Datum::text(&*cursor.name)),
            ("statement", Datum::Text(Arc::clone(&cursor.statement))),
            ("is_holdable", Datum::Bool(cursor.is_holdable)),
            ("is_binary", Datum::Bool(cursor.is_binary)),
            ("is_scrollable", Datum::Bool(cursor.is_scrollable)),
            ("creation_time", Datum::TimestampTz(cursor.created_at)),
        ]);
    }
    for portal in of_functions {
        builder.row([
            ("name", Datum::text(&**portal.name())),
            ("statement", Datum::Text(Arc::clone(portal.query()))),
            ("is_holdable", Datum::Bool(portal.is_holdable())),
            ("is_binary", Datum::Bool(portal.is_binary())),
            ("is_scrollable", Datum::Bool(portal.can_scroll())),
            ("creation_time", Datum::TimestampTz(portal.opened_at())),
        ]);
    }
    builder.finish()
}

/// regtype[]
fn types(oids: &[Oid]) -> Datum {
    let dimensions = if oids.is_empty() { Vec::new() } else { vec![(oids.len() as i32, 1)] };
    let elements = oids.iter().map(|ty| Datum::Oid(*ty)).collect();
    Datum::Array(Arc::new(Array { element_type: oid::REGTYPE, dimensions, elements }))
}

/// The rows of pg_prepared_statements. Generic and custom plans are not counted.
pub(super) fn statements(statements: &[ShownStatement]) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new("pg_prepared_statements")?;
    for statement in statements {
        builder.row([
            ("name", Datum::text(&*statement.name)),
            ("statement", Datum::Text(Arc::clone(&statement.statement))),
            ("prepare_time", Datum::TimestampTz(statement.prepared_at)),
            ("parameter_types", types(&statement.parameters)),
            ("result_types", statement.results.as_deref().map_or(Datum::Null, types)),
            ("from_sql", Datum::Bool(statement.from_sql)),
        ]);
    }
    builder.finish()
}
