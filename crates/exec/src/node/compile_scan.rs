//! Scans of one relation, compiled.

use super::PlanCompiler;
use super::compile::scan_columns;
use super::index_scan::{CIndexRange, IndexPlan};
use super::key_check::CKeyCheck;
use super::probes::{CKeyEnd, CKeySearch};
use super::tid_scan::CTidRows;
use crate::access::ScanColumn;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_sql::plan::{IndexRange, KeyCheck, KeyEnd, KeySearch, TidRows, TidValues};
use steppe_types::Result;

impl PlanCompiler<'_, '_> {
    pub(super) fn index_scan(
        &mut self,
        table: &Arc<Relation>,
        index: &Arc<Relation>,
        range: &IndexRange,
        backward: bool,
        index_only: bool,
        columns: &[i16],
    ) -> Result<IndexPlan> {
        let index = self.index(table, index)?;
        let columns = scan_columns(columns)?;
        let place = |column: &ScanColumn| match column {
            ScanColumn::Stored(i) => index.place_of(*i),
            // An entry does not have the row's version.
            ScanColumn::Version(_) | ScanColumn::Form(..) => None,
            // The key has no value for these, so the place is unused.
            ScanColumn::RowId | ScanColumn::TableOid => Some(0),
        };
        let exact = index.parts.iter().all(|p| steppe_types::key::is_exact(p.type_oid));
        let key_columns: Option<Arc<[usize]>> =
            if index_only && exact { columns.iter().map(place).collect() } else { None };
        Ok(IndexPlan {
            table: self.table(table)?,
            range: Arc::new(self.range(range)?),
            backward,
            key_columns,
            columns,
            index,
        })
    }

    fn range(&mut self, range: &IndexRange) -> Result<CIndexRange> {
        let keys = range.keys.iter().map(|key| {
            Ok(match key {
                KeySearch::Equal(value) => CKeySearch::Equal(self.exprs.expr(value)?),
                KeySearch::IsNull => CKeySearch::IsNull,
                KeySearch::Any(array) => CKeySearch::Any(self.exprs.expr(array)?),
                KeySearch::Each => CKeySearch::Each,
            })
        });
        let keys = keys.collect::<Result<_>>()?;
        let lower = range.lower.as_ref().map(|end| self.key_end(end)).transpose()?;
        let upper = range.upper.as_ref().map(|end| self.key_end(end)).transpose()?;
        let checks = range.checks.iter().map(|check| self.key_check(check));
        let checks = checks.collect::<Result<_>>()?;
        Ok(CIndexRange { keys, lower, upper, not_null: range.not_null, checks })
    }

    pub(super) fn tid_rows(&mut self, rows: &TidRows) -> Result<CTidRows> {
        Ok(match rows {
            TidRows::Named(named) => {
                let (mut values, mut arrays) = (Vec::new(), Vec::new());
                for named in named {
                    match named {
                        TidValues::One(value) => values.push(self.exprs.expr(value)?),
                        TidValues::Any(array) => arrays.push(self.exprs.expr(array)?),
                    }
                }
                CTidRows::Named { values: values.into(), arrays: arrays.into() }
            }
            TidRows::Between(bounds) => {
                let bounds = bounds.iter().map(|bound| {
                    Ok((self.exprs.expr(&bound.value)?, bound.lower, bound.inclusive))
                });
                CTidRows::Between(bounds.collect::<Result<_>>()?)
            }
        })
    }

    fn key_end(&mut self, end: &KeyEnd) -> Result<CKeyEnd> {
        let (values, inclusive) = (self.exprs.list(&end.values)?, end.inclusive);
        Ok(CKeyEnd { values, inclusive, pattern: end.pattern })
    }

    fn key_check(&mut self, check: &KeyCheck) -> Result<CKeyCheck> {
        Ok(match check {
            KeyCheck::Bound { column, value, lower, inclusive } => CKeyCheck::Bound {
                column: *column,
                value: self.exprs.expr(value)?,
                lower: *lower,
                inclusive: *inclusive,
            },
            KeyCheck::Any { column, array } => {
                CKeyCheck::Any { column: *column, array: self.exprs.expr(array)? }
            }
            KeyCheck::Equal { column, value } => {
                CKeyCheck::Equal { column: *column, value: self.exprs.expr(value)? }
            }
            KeyCheck::Null { column, negated } => {
                CKeyCheck::Null { column: *column, negated: *negated }
            }
            KeyCheck::Row { columns, values, lower, inclusive } => CKeyCheck::Row {
                columns: columns.clone().into(),
                values: self.exprs.list(values)?,
                lower: *lower,
                inclusive: *inclusive,
            },
        })
    }
}
