//! ctid, xmin, xmax, cmin and cmax.
//!
//! A ctid consists of the row's id and the number of its version. So it changes with each version,
//! and two rows of a table never have the same one:
//!
//! ```text
//!   block = (id - 1) / 4095        offset = version (of 16) * 4096 + (id - 1) % 4095 + 1
//! ```
//!
//! Row ids are never reused. The version number starts again after fifteen updates, as PostgreSQL
//! reuses a free line pointer. The column that shows whether a row has changed is xmin. A row whose
//! id is too great for this has no ctid (54000).
//!
//! An xid has 64 bits; these columns show the lower 32, as `pg_current_xact_id()::xid` does.

use crate::access::TableAccess;
use steppe_txn::{RowId, RowMeta, Txn, View};
use steppe_types::{Datum, Error, Result, SqlState};

/// Lines of a block, from 1.
const LINES: u64 = 4095;
/// The distance of two versions in the line number.
const VERSION_STEP: u64 = LINES + 1;

/// A system column whose value belongs to one version of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionColumn {
    Ctid,
    Xmin,
    Xmax,
    /// cmin and cmax, which have one place for both as in PostgreSQL.
    Command,
}

impl VersionColumn {
    /// From a (negative) attribute number.
    pub(crate) fn from_attribute(attribute: i16) -> Result<VersionColumn> {
        Ok(match attribute {
            -1 => VersionColumn::Ctid,
            -2 => VersionColumn::Xmin,
            -4 => VersionColumn::Xmax,
            -3 | -5 => VersionColumn::Command,
            other => return Err(Error::internal(format!("invalid attribute number {other}"))),
        })
    }

    /// The value for a version that was read through a view.
    pub(crate) fn value(
        self,
        table: &TableAccess,
        view: &View,
        id: RowId,
        meta: RowMeta,
    ) -> Result<Datum> {
        match self {
            VersionColumn::Ctid => ctid(id, meta.version()),
            VersionColumn::Xmin => Ok(xid(meta.xid())),
            VersionColumn::Xmax | VersionColumn::Command => {
                let rows = table.rows_for_write()?;
                let owners = rows.owners(view, id, meta)?;
                Ok(match self {
                    VersionColumn::Xmax => xid(owners.xmax),
                    _ => Datum::Oid(owners.command),
                })
            }
        }
    }

    /// The value for a row that a transaction has just inserted.
    pub(crate) fn of_inserted(self, id: RowId, txn: &Txn) -> Result<Datum> {
        match self {
            VersionColumn::Ctid => ctid(id, 0),
            VersionColumn::Xmin => Ok(xid(txn.snapshot().xid)),
            VersionColumn::Xmax => Ok(xid(0)),
            VersionColumn::Command => Ok(Datum::Oid(txn.command_id())),
        }
    }

    /// The value for a computed row, which all snapshots see and no transaction has written.
    pub(crate) fn of_computed(self, ordinal: u64) -> Result<Datum> {
        match self {
            VersionColumn::Ctid => ctid(RowId(ordinal), 0),
            VersionColumn::Xmin => Ok(xid(FROZEN)),
            VersionColumn::Xmax | VersionColumn::Command => Ok(Datum::Oid(0)),
        }
    }
}

/// PostgreSQL's FrozenTransactionId.
const FROZEN: u64 = 2;

fn xid(xid: u64) -> Datum {
    Datum::Oid(xid as u32)
}

/// The ctid of a version of a row.
pub(crate) fn ctid(id: RowId, version: u8) -> Result<Datum> {
    let (block, line) = place_of(id.0);
    let block = u32::try_from(block).map_err(|_| {
        let message = format!("row number {} is too great for a ctid", id.0);
        Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
    })?;
    Ok(Datum::Tid(block, (u64::from(version) * VERSION_STEP + line) as u16))
}

/// The block and the line that a row's ctid is made of.
fn place_of(id: u64) -> (u64, u64) {
    let at = id.saturating_sub(1);
    (at / LINES, at % LINES + 1)
}

/// The block and the line of a row in pg_locks.
pub fn shown_place(row: u64) -> (i32, i16) {
    let (block, line) = place_of(row);
    (block as i32, line as i16)
}

/// The first and the last row id of a block.
pub(crate) fn block_rows(block: u32) -> (u64, u64) {
    let before = u64::from(block) * LINES;
    (before + 1, before + LINES)
}

/// The id of the row of a ctid.
pub fn row_of_ctid(block: u32, offset: u16) -> u64 {
    u64::from(block) * LINES + u64::from(offset) % VERSION_STEP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ctid_is_one_version_of_one_row() {
        let mut seen = std::collections::BTreeSet::new();
        for id in (1..10_000).chain([4095 * 70_000, 4095 * 70_000 + 1]) {
            for version in 0..16 {
                let Ok(Datum::Tid(block, offset)) = ctid(RowId(id), version) else {
                    panic!("row {id} has no ctid")
                };
                assert_ne!(offset, 0);
                assert_eq!(row_of_ctid(block, offset), id);
                assert!(seen.insert((block, offset)));
            }
        }
        assert!(matches!(ctid(RowId(1), 0), Ok(Datum::Tid(0, 1))));
        assert!(ctid(RowId(u64::MAX), 0).is_err());
    }
}
