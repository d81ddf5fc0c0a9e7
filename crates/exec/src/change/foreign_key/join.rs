//! Whether all rows of a table have their keys, by one join of the two tables (RI_Initial_Check).
//!
//! ```text
//!   SELECT 1 FROM ONLY referencing fk LEFT JOIN ONLY referenced pk ON pk.a = fk.x AND …
//!   WHERE pk.a IS NULL AND (fk.x IS NOT NULL AND …)
//! ```
//!
//! MATCH FULL has OR in the place of the second AND, so that rows with some NULLs are found, too.
//! The query is planned as a client's is, with the session's settings and helpers. As in PostgreSQL
//! it may use maintenance_work_mem, and writes what does not fit to temporary files.
//!
//! **The join changes nothing but time.** The caller holds locks on both tables and one view of their
//! newest rows. At that view the join has a row exactly if a look-up of each row's key in the
//! referenced index fails, because both compare with the operator of that index. If the join has a
//! row, the caller looks the keys up in the order of the table, and the error names the first row
//! that fails. So messages, waits and snapshots are those of the look-ups.
//!
//! Two cases have look-ups only. The leaves of a partitioned referenced table are not locked, and a
//! query would have to lock them. Columns of two collations cannot be compared without naming one.

use super::names::{column_name, table_name};
use crate::prepare::{Planning, has_row_at};
use crate::statement::ExecEnv;
use std::fmt::Write as _;
use std::sync::Arc;
use steppe_catalog::{Catalog, NameSpace, Reference, RelKind, Relation};
use steppe_functions::{Frame, SessionHost};
use steppe_txn::View;
use steppe_types::Result;

/// The surroundings of the join.
pub struct JoinContext<'a> {
    /// The session that runs the statement.
    pub session: &'a Arc<dyn SessionHost>,
    /// The catalog with the foreign key.
    pub catalog: &'a Arc<Catalog>,
    /// The newest rows of both tables, which are locked.
    pub view: &'a View,
}

/// Whether a row of the referencing table itself, without its children, lacks its key. `None`: the
/// join cannot tell, and the caller has to look each key up.
pub fn lacks_key(reference: Reference<'_>, cx: &JoinContext<'_>) -> Result<Option<bool>> {
    let Some(text) = text(reference, cx.catalog) else { return Ok(None) };
    let frame = cx.session.frame()?;
    let kilobytes = frame.maintenance_work_mem_bytes / 1024;
    let mut planner = (*frame.planner).clone();
    planner.work_mem_kb = kilobytes as u64;
    planner.hash_mem_multiplier = 1.0;
    let planning = Planning {
        names: &NameSpace { catalog: Arc::clone(cx.catalog), ..frame.names.clone() },
        io: &frame.io,
        planner: &planner,
        older: None,
        engine: &frame.engine,
        interrupts: &|| cx.session.check_interrupts(),
        for_cursor: false,
        values: &[],
    };
    has_row_at(&planning, &text, &environment(&frame, cx), cx.view).map(Some)
}

fn environment(frame: &Frame, cx: &JoinContext<'_>) -> ExecEnv {
    let now = cx.session.clock_timestamp();
    ExecEnv {
        session: Arc::clone(cx.session),
        io: Arc::clone(&frame.io),
        catalog: Arc::clone(cx.catalog),
        statement_timestamp: now,
        transaction_timestamp: now,
        work_mem_bytes: frame.maintenance_work_mem_bytes,
        temp: Arc::clone(&frame.temp),
    }
}

fn text(Reference { table, constraint, key }: Reference<'_>, catalog: &Catalog) -> Option<String> {
    let referenced = catalog.relation(key.table)?;
    if referenced.kind == RelKind::PartitionedTable {
        return None;
    }
    let collation = |table: &Relation, attnum: i16| {
        table.columns.get(attnum as usize - 1).map(|column| column.collation)
    };
    let (mut on, mut set) = (String::new(), String::new());
    for (n, (own, theirs)) in constraint.columns.iter().zip(&key.columns).enumerate() {
        if collation(table, *own)? != collation(referenced, *theirs)? {
            return None;
        }
        let (own, theirs) = (column_name(table, *own), column_name(referenced, *theirs));
        let (and, or) = match (n, key.match_full) {
            (0, _) => ("", ""),
            (_, true) => (" AND ", " OR "),
            (_, false) => (" AND ", " AND "),
        };
        let _ = write!(on, "{and}pk.{theirs} OPERATOR(pg_catalog.=) fk.{own}");
        let _ = write!(set, "{or}fk.{own} IS NOT NULL");
    }
    let first = column_name(referenced, *key.columns.first()?);
    let (table, referenced) = (table_name(catalog, table), table_name(catalog, referenced));
    Some(format!(
        "SELECT 1 FROM {table} fk LEFT OUTER JOIN {referenced} pk ON ({on}) WHERE pk.{first} IS \
         NULL AND ({set})"
    ))
}
