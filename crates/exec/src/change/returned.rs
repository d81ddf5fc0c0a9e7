//! ctid, xmin and their kin in RETURNING: of the version that a change has made, and of the one
//! that it was made to, which has the changer's xid as its xmax by then.

use super::{Changed, ModifyPlan, Target};
use crate::context::ExecContext;
use crate::system_columns::VersionColumn;
use steppe_sql::plan::VersionOf;
use steppe_txn::{RowId, RowMeta};
use steppe_types::{Datum, Error, Result, SqlState};

impl ModifyPlan {
    /// Of a row that has been put into the table, or into one of its partitions: there PostgreSQL
    /// mostly has but its ctid to show.
    pub(super) fn system_of_insert(&self, id: RowId, cx: &mut ExecContext) -> Result<Vec<Datum>> {
        let mut columns = self.returning_system.iter();
        let is_written = |(of, column): &(VersionOf, VersionColumn)| {
            *of != VersionOf::Old && *column != VersionColumn::Ctid
        };
        if self.partitioned.is_some() && columns.any(is_written) {
            let message = "cannot retrieve a system column in this context";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.system_of_inserted(id, cx)
    }

    /// Of a row that has been inserted.
    fn system_of_inserted(&self, id: RowId, cx: &mut ExecContext) -> Result<Vec<Datum>> {
        let txn = &cx.txn()?.txn;
        let value = |(of, column): &(VersionOf, VersionColumn)| match of {
            VersionOf::Old => Ok(Datum::Null),
            VersionOf::Target | VersionOf::New => column.of_inserted(id, txn),
        };
        self.returning_system.iter().map(value).collect()
    }

    /// Of a row that has been changed in a table.
    pub(super) fn system_of(
        &self,
        changed: &Changed,
        target: &Target,
        cx: &mut ExecContext,
    ) -> Result<Vec<Datum>> {
        if self.returning_system.is_empty() {
            return Ok(Vec::new());
        }
        let (old, new) = match changed {
            Changed::Inserted(_, id) => return self.system_of_insert(*id, cx),
            Changed::Updated { was, is, .. } => (*was, Some(*is)),
            Changed::Deleted(_, was) => (*was, None),
        };
        let rows = target.table.rows_for_write()?;
        let gone = || Error::internal("a row that was changed is not there");
        let new = match new {
            Some(id) => Some((id, rows.newest(id)?.ok_or_else(gone)?)),
            None => None,
        };
        let view = &cx.txn()?.view;
        let value = |column: VersionColumn, version: Option<(RowId, RowMeta)>| match version {
            Some((id, meta)) => column.value(&target.table, view, id, meta),
            None => Ok(Datum::Null),
        };
        let values = self.returning_system.iter().map(|(of, column)| match of {
            VersionOf::Target => value(*column, new.or(Some(old))),
            VersionOf::Old => value(*column, Some(old)),
            VersionOf::New => value(*column, new),
        });
        values.collect()
    }

    /// Of a row that has been moved: deleted from a leaf, where its old version was, and inserted
    /// into another one.
    pub(super) fn system_of_moved(
        &self,
        (from, old): (&Target, (RowId, RowMeta)),
        id: RowId,
        cx: &mut ExecContext,
    ) -> Result<Vec<Datum>> {
        let mut values = self.system_of_insert(id, cx)?;
        let view = &cx.txn()?.view;
        for (value, (of, column)) in values.iter_mut().zip(&self.returning_system) {
            if *of == VersionOf::Old {
                *value = column.value(&from.table, view, old.0, old.1)?;
            }
        }
        Ok(values)
    }
}
