//! The positions of cursors, for WHERE CURRENT OF (execCurrent.c).
//!
//! Only the session knows its cursors, and it is lent out while a statement runs. So it stores
//! their positions here before a statement that names a cursor.

use std::sync::Arc;

use hashbrown::HashMap;
use steppe_catalog::{Catalog, Relation};
use steppe_sql::plan::Positions;
use steppe_txn::RowId;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The position of a cursor.
#[derive(Clone, Debug)]
pub(crate) struct CursorPlace {
    pub positions: Positions,
    /// Its plan scans one table row by row (search_plan_tree).
    pub is_simple: bool,
    /// Two values a table for the row that it is on: the row's own table and its row id. `None` if
    /// it is on no row.
    pub row: Option<Vec<Datum>>,
}

/// The cursors that a statement names, with an error for a cursor without a position.
#[derive(Debug, Default)]
pub(crate) struct CursorPlaces(pub HashMap<Arc<str>, Result<CursorPlace>>);

impl CursorPlaces {
    /// The row of a table that a cursor is on; `None` if its row is in another table.
    pub(crate) fn row(
        &self,
        cursor: &str,
        table: &Relation,
        catalog: &Catalog,
    ) -> Result<Option<RowId>> {
        let place = match self.0.get(cursor) {
            Some(place) => place.as_ref().map_err(Error::clone)?,
            // Only the statements of a client have had the places of their cursors stored.
            None => return Err(Error::not_supported("WHERE CURRENT OF in a function")),
        };
        let state = |what: String| {
            Err(Error::new(SqlState::INVALID_CURSOR_STATE, format!("cursor \"{cursor}\" {what}")))
        };
        let tables = place.positions.tables.iter().enumerate();
        let mut found = tables.filter(|(_, of)| is_among(**of, table, catalog)).map(|(i, _)| i);
        let (entry, name) = (found.next(), &table.name);
        let is_twice = found.next().is_some();
        let entry = match (entry, place.positions.locks) {
            (None, true) => {
                let what = "does not have a FOR UPDATE/SHARE reference to table";
                return state(format!("{what} \"{name}\""));
            }
            (Some(_), true) if is_twice => {
                let what = "has multiple FOR UPDATE/SHARE references to table";
                return state(format!("{what} \"{name}\""));
            }
            (Some(entry), true) => entry,
            (Some(entry), false) if place.is_simple => entry,
            _ => return state(format!("is not a simply updatable scan of table \"{name}\"")),
        };
        let Some(row) = &place.row else {
            return state("is not positioned on a row".to_owned());
        };
        Ok(match (row.get(2 * entry), row.get(2 * entry + 1)) {
            (Some(Datum::Oid(of)), Some(Datum::Int8(id))) if *of == table.oid => {
                Some(RowId(*id as u64))
            }
            _ => None,
        })
    }
}

/// Whether a cursor's scan of the table `of` includes the rows of a table.
fn is_among((of, inherit): (Oid, bool), table: &Relation, catalog: &Catalog) -> bool {
    let is_child = |parent: Oid| match catalog.relation(parent) {
        Some(parent) => is_among((of, inherit), parent, catalog),
        None => false,
    };
    table.oid == of || (inherit && table.parents().any(is_child))
}
