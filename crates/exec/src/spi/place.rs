//! The row that a cursor is on, for WHERE CURRENT OF (execCurrent.c).
//!
//! The plan of a cursor has two more columns for each table whose rows are among its own
//! ([`Positions`]). The cursor keeps the ones of its last row, and its sink gets none.

use crate::sink::RowSink;
use steppe_catalog::{Catalog, Relation};
use steppe_sql::plan::{Plan, PlanNode, PlannedStmt, Positions};
use steppe_txn::RowId;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The position of a cursor.
#[derive(Clone, Debug)]
pub struct CursorPlace {
    positions: Positions,
    /// Its plan scans one table row by row (search_plan_tree).
    is_simple: bool,
    /// Two values a table for the row that it is on: the row's own table and its row id. `None` if
    /// it is on no row.
    row: Option<Vec<Datum>>,
}

impl CursorPlace {
    /// The position of a cursor with this plan. `row` has the columns that no sink gets.
    pub fn of(planned: &PlannedStmt, row: Option<Vec<Datum>>) -> CursorPlace {
        let positions = planned.positions.clone().unwrap_or_default();
        CursorPlace { positions, is_simple: reads_in_place(&planned.plan), row }
    }

    /// The row of a table that the cursor is on; `None` if its row is in another table.
    pub fn row(&self, cursor: &str, table: &Relation, catalog: &Catalog) -> Result<Option<RowId>> {
        let state = |what: String| {
            Err(Error::new(SqlState::INVALID_CURSOR_STATE, format!("cursor \"{cursor}\" {what}")))
        };
        let tables = self.positions.tables.iter().enumerate();
        let mut found = tables.filter(|(_, of)| is_among(**of, table, catalog)).map(|(i, _)| i);
        let (entry, name) = (found.next(), &table.name);
        let is_twice = found.next().is_some();
        let entry = match (entry, self.positions.locks) {
            (None, true) => {
                let what = "does not have a FOR UPDATE/SHARE reference to table";
                return state(format!("{what} \"{name}\""));
            }
            (Some(_), true) if is_twice => {
                let what = "has multiple FOR UPDATE/SHARE references to table";
                return state(format!("{what} \"{name}\""));
            }
            (Some(entry), true) => entry,
            (Some(entry), false) if self.is_simple => entry,
            _ => return state(format!("is not a simply updatable scan of table \"{name}\"")),
        };
        let Some(row) = &self.row else {
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

/// 24000: the cursor's transaction has ended.
pub fn held_from_before(cursor: &str) -> Error {
    let message = format!("cursor \"{cursor}\" is held from a previous transaction");
    Error::new(SqlState::INVALID_CURSOR_STATE, message)
}

/// Whether a cursor's scan of the table `of` includes the rows of a table.
fn is_among((of, inherit): (Oid, bool), table: &Relation, catalog: &Catalog) -> bool {
    let is_child = |parent: Oid| match catalog.relation(parent) {
        Some(parent) => is_among((of, inherit), parent, catalog),
        None => false,
    };
    table.oid == of || (inherit && table.parents().any(is_child))
}

/// Whether the last row that a plan has returned is the row that its scan is on.
fn reads_in_place(plan: &Plan) -> bool {
    match &plan.node {
        PlanNode::SeqScan { .. }
        | PlanNode::IndexScan { .. }
        | PlanNode::BitmapScan { .. }
        | PlanNode::TidScan { .. } => true,
        PlanNode::PartitionScan { template: child, .. }
        | PlanNode::Result { child: Some(child), .. }
        | PlanNode::SubqueryScan { child, .. }
        | PlanNode::Limit { child, .. } => reads_in_place(child),
        PlanNode::Append(children) => children.iter().all(reads_in_place),
        _ => false,
    }
}

/// Passes a row's visible columns on, and keeps the others.
pub(super) struct Placing<'s> {
    pub(super) sink: &'s mut dyn RowSink,
    /// The number of visible columns.
    pub(super) columns: usize,
    pub(super) place: &'s mut Vec<Datum>,
}

impl RowSink for Placing<'_> {
    #[inline]
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        let Some((visible, place)) = row.split_at_checked(self.columns) else {
            return self.sink.row(row);
        };
        self.place.clear();
        self.place.extend_from_slice(place);
        self.sink.row(visible)
    }

    fn take_back(&mut self) -> bool {
        self.sink.take_back()
    }
}
