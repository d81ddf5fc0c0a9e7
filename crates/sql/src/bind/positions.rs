//! The positions of a cursor's rows, for WHERE CURRENT OF (execCurrent.c).
//!
//! The query of a cursor gets two more columns for each table whose rows are among its own:
//! `tableoid` and the row id. They are handed up like any other and not sent. If it locks rows,
//! these tables are those it locks. Otherwise there is one, if the query reads only one.

use super::{Bound, Place};
use crate::expr::{Expr, TypeRef};
use crate::plan::{Positions, ROW_ID, TABLE_OID};
use crate::query::*;
use steppe_catalog::RelKind;
use steppe_types::{Oid, oid};

impl Bound {
    /// Adds columns with the positions of its rows to the query of a cursor.
    pub fn add_positions(&mut self) {
        let mut locks = false;
        any_locks(&self.query, &mut locks);
        let tables = add_columns(&mut self.query, locks);
        self.positions = Some(Positions { tables, locks });
    }
}

fn any_locks(query: &Query, found: &mut bool) {
    *found |= !query.row_locks.is_empty();
    for rte in &query.rtes {
        if let RteKind::Subquery { query, .. } = &rte.kind {
            any_locks(query, found);
        }
    }
}

/// Adds the rows' positions as the query's last columns. Returns the tables, each with whether its
/// inheritance children count.
fn add_columns(query: &mut Query, locks: bool) -> Vec<(Oid, bool)> {
    let sets = query.targets.iter().any(|t| crate::planner::returns_set(&t.expr));
    let changes_rows = query.set_operation.is_some()
        || !matches!(query.distinct, Distinct::No)
        || !query.group_by.is_empty()
        || query.having.is_some()
        || query.has_aggregates
        || !query.windows.is_empty()
        || sets;
    let entries = query.entries_of_from();
    if query.command != Command::Select || changes_rows || (!locks && entries.len() != 1) {
        return Vec::new();
    }
    let mut tables = Vec::new();
    for rte in entries {
        let is_locked = query.row_locks.iter().any(|clause| clause.rtes.contains(&rte));
        let entry = &mut query.rtes[rte];
        match &mut entry.kind {
            RteKind::Relation(table)
                if matches!(table.kind, RelKind::Table | RelKind::PartitionedTable) =>
            {
                if locks && !is_locked {
                    continue;
                }
                tables.push((table.oid, entry.inherit));
                add(query, rte, TABLE_OID.into(), oid::OID);
                add(query, rte, ROW_ID.into(), oid::INT8);
            }
            RteKind::Subquery { query: inner, .. } => {
                for table in add_columns(inner, locks) {
                    tables.push(table);
                    for ty in [oid::OID, oid::INT8] {
                        let entry = &mut query.rtes[rte];
                        let column = entry.columns.len();
                        entry.columns.push(RteColumn {
                            name: "".into(),
                            ty: TypeRef::plain(ty),
                            dropped: false,
                        });
                        add(query, rte, column as i32, ty);
                    }
                }
            }
            _ => {}
        }
    }
    tables
}

fn add(query: &mut Query, rte: usize, column: i32, ty: Oid) {
    let ty = TypeRef::plain(ty);
    let value = Expr::Var { rte, column, levels_up: 0, ty, at: Place::NONE };
    query.targets.push(Target::plain(value, "".into()));
}
