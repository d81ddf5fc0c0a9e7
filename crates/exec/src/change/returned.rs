//! The input of RETURNING: the child's row, the row's versions, and their system columns.
//!
//! System columns such as ctid and xmin are those of the version that a change has made, and of the
//! version before. The latter has the changer's xid as its xmax by then.

use super::row::Changed;
use super::{ModifyPlan, Target};
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::CPlan;
use crate::system_columns::VersionColumn;
use std::collections::VecDeque;
use steppe_sql::plan::VersionOf;
use steppe_txn::{RowId, RowMeta};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// A row's version before its change and the one after it, each with the table that it is in.
pub(super) type Versions<'r> = (Option<(&'r [Datum], Oid)>, Option<(&'r [Datum], Oid)>);

/// Computes the rows of RETURNING.
pub(crate) struct Returning<'a> {
    pub(super) plan: &'a CPlan,
    pub(super) modify: &'a ModifyPlan,
    pub(super) ready: &'a mut VecDeque<Vec<Datum>>,
}

impl Returning<'_> {
    /// `target` is the row's new (for DELETE its old) version.
    pub(super) fn row(
        &mut self,
        target: &[Datum],
        (old, new): Versions<'_>,
        (source, system): (&[Datum], &[Datum]),
        cx: &mut ExecContext,
    ) -> Result<()> {
        if !self.modify.returning {
            return Ok(());
        }
        if !self.modify.returning_versions && system.is_empty() {
            return self.put(Row::pair(target, source), cx);
        }
        let mut versions = source.to_vec();
        let wanted = if self.modify.returning_versions { &[old, new][..] } else { &[] };
        for version in wanted {
            match version {
                Some((row, table)) => {
                    versions.extend_from_slice(row);
                    versions.push(Datum::Oid(*table));
                }
                None => versions.extend(std::iter::repeat_n(Datum::Null, target.len() + 1)),
            }
        }
        versions.extend_from_slice(system);
        self.put(Row::pair(target, &versions), cx)
    }

    fn put(&mut self, row: Row<'_>, cx: &mut ExecContext) -> Result<()> {
        if !self.plan.passes(cx, row)? {
            return Ok(());
        }
        let out = match &self.plan.project {
            Some(project) => project.iter().map(|e| e.eval(cx, row)).collect::<Result<Vec<_>>>()?,
            None => row.iter().cloned().collect(),
        };
        self.ready.push_back(out);
        Ok(())
    }
}

impl ModifyPlan {
    /// The system columns of a row inserted into the table or one of its partitions. For a
    /// partitioned table PostgreSQL mostly has only ctid.
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

    /// The system columns of an inserted row.
    fn system_of_inserted(&self, id: RowId, cx: &mut ExecContext) -> Result<Vec<Datum>> {
        let txn = &cx.txn()?.txn;
        let value = |(of, column): &(VersionOf, VersionColumn)| match of {
            VersionOf::Old => Ok(Datum::Null),
            VersionOf::Target | VersionOf::New => column.of_inserted(id, txn),
        };
        self.returning_system.iter().map(value).collect()
    }

    /// The system columns of a row changed in a table.
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
            Changed::Instead { .. } => {
                return Err(Error::internal("a view's row has no system columns"));
            }
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

    /// The system columns of a row that was moved: deleted from a leaf, which had its old version,
    /// and inserted into another one.
    pub(super) fn system_of_moved(
        &self,
        (from, old): (&Target, (RowId, RowMeta)),
        id: RowId,
        cx: &mut ExecContext,
    ) -> Result<Vec<Datum>> {
        let mut values = self.system_of_insert(id, cx)?;
        let view = &cx.txn()?.view;
        for (value, (of, column)) in values.iter_mut().zip(self.returning_system.iter()) {
            if *of == VersionOf::Old {
                *value = column.value(&from.table, view, old.0, old.1)?;
            }
        }
        Ok(values)
    }
}
