//! The rows of a sort as columns.
//!
//! Rows are sorted by byte keys ([`sorted_rows`]). With a bound, all rows beyond it are dropped
//! whenever there are many more. Later rows are kept only if they sort before the last row within
//! the bound.

use super::columns::evaluate;
use super::sort::SortPlan;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::sorter::{SortColumn, SortMethod, Sorter};
use crate::vector::{Barrier, COLUMN_ROWS, ColumnBatch, NO_ROW, VExpr, Vector, sorted_rows};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_types::Result;

/// The fewest rows that are kept before those beyond the bound are dropped.
const CUT_ROWS_MIN: usize = 2 * COLUMN_ROWS;
/// Bytes that a row takes beside its values: its place in the order, and the end of its key.
const ROW_BYTES: usize = size_of::<(u64, u32)>() + size_of::<usize>();

/// Rows that are being collected: payload and computed keys side by side.
pub(super) struct Held {
    keys: Arc<[SortColumn]>,
    columns: Vec<Vector>,
    rows: usize,
    bytes: usize,
    bytes_peak: usize,
    bound: Option<usize>,
    is_cut: bool,
    barrier: Option<Barrier>,
}

impl Held {
    /// An empty sort of rows with `stride` columns. With a bound only the first `bound` rows count.
    pub(super) fn new(keys: &Arc<[SortColumn]>, stride: usize, bound: Option<usize>) -> Held {
        Held {
            keys: keys.clone(),
            columns: vec![Vector::default(); stride],
            rows: 0,
            bytes: 0,
            bytes_peak: 0,
            bound,
            is_cut: false,
            barrier: None,
        }
    }

    /// Adds a batch's rows. An unread column may have no values.
    pub(super) fn add(&mut self, columns: &[&Vector], rows: usize) -> Result<()> {
        let before =
            self.barrier.as_ref().and_then(|barrier| barrier.before(&self.keys, columns, rows));
        let added = before.as_ref().map_or(rows, Vec::len);
        if added == 0 {
            return Ok(());
        }
        for (held, from) in self.columns.iter_mut().zip(columns) {
            let absent;
            let from = match (held.len(), from.len()) {
                (0, 0) => continue,
                (_, 0) => {
                    absent = Vector::default().pick(&vec![NO_ROW; rows]);
                    &absent
                }
                _ => *from,
            };
            if held.len() < self.rows {
                *held = held.pick(&vec![NO_ROW; self.rows]);
            }
            match &before {
                Some(places) => held.append_rows(from, places),
                None => held.append(from),
            }
        }
        let all = columns.iter().map(|column| column.bytes()).sum::<usize>();
        let keys = self.keys.iter().map(|key| columns[key.index].bytes()).sum::<usize>();
        self.rows += added;
        self.bytes += (all + keys) / rows.max(1) * added + added * ROW_BYTES;
        self.bytes_peak = self.bytes_peak.max(self.bytes);
        match self.bound {
            Some(bound) if self.rows >= bound.saturating_mul(2).max(CUT_ROWS_MIN) => self.cut(),
            _ => Ok(()),
        }
    }

    /// The rows in order, up to the bound.
    fn order(&self) -> Result<Vec<u32>> {
        let columns: Vec<&Vector> = self.columns.iter().collect();
        let mut order = sorted_rows(&self.keys, &columns, self.rows)?;
        order.truncate(self.bound.unwrap_or(usize::MAX));
        Ok(order)
    }

    /// Keeps the rows up to the bound.
    fn cut(&mut self) -> Result<()> {
        let order = self.order()?;
        for column in self.columns.iter_mut().filter(|column| column.len() > 0) {
            *column = column.gather(&order);
        }
        self.bytes = self.bytes / self.rows.max(1) * order.len();
        self.rows = order.len();
        self.is_cut = true;
        let columns: Vec<&Vector> = self.columns.iter().collect();
        self.barrier =
            self.rows.checked_sub(1).and_then(|last| Barrier::at(&self.keys, &columns, last));
        Ok(())
    }

    /// Whether there is no room for more rows.
    pub(super) fn is_full(&self, cx: &ExecContext) -> bool {
        self.bytes > cx.work_mem_bytes || self.rows > u32::MAX as usize / 2
    }

    /// The rows with their first `width` columns, without computed keys. With them the order of the
    /// rows, the sort method and the bytes used.
    pub(super) fn finish(self, width: usize) -> Result<(ColumnBatch, Vec<u32>, (SortMethod, u64))> {
        let order = self.order()?;
        let method = if self.is_cut { SortMethod::TopN } else { SortMethod::Quicksort };
        let (mut rows, mut columns) = (ColumnBatch::default(), self.columns);
        columns.truncate(width);
        rows.set(self.rows, columns);
        Ok((rows, order, (method, self.bytes_peak as u64)))
    }

    /// Hands the rows to a sorter of rows.
    pub(super) fn into_sorter(self, cx: &ExecContext) -> Result<Sorter> {
        let (keys, stride) = (self.keys, self.columns.len());
        let mut sorter = Sorter::new(keys, stride, self.bound, cx.work_mem_bytes, cx.temp()?);
        let mut batch = ColumnBatch::default();
        batch.set(self.rows, self.columns);
        push_rows(&mut sorter, &batch)?;
        Ok(sorter)
    }
}

/// Hands a batch's rows to a sorter of rows.
pub(super) fn push_rows(sorter: &mut Sorter, batch: &ColumnBatch) -> Result<()> {
    let mut row = Vec::new();
    for i in 0..batch.len() {
        row.clear();
        batch.row_into(i, &mut row)?;
        sorter.push(Row::of(&row))?;
    }
    Ok(())
}

/// The keys of a batch's rows that are not columns.
pub(super) fn computed(
    sort: &SortPlan,
    batch: &ColumnBatch,
    cx: &mut ExecContext,
) -> Result<Vec<Vector>> {
    let exprs: &[VExpr] = sort.columns.as_deref().unwrap_or_default();
    if let Ok(values) = evaluate(exprs, batch, cx) {
        return Ok(values.into_iter().map(Cow::into_owned).collect());
    }
    let mut columns = vec![Vector::default(); sort.keys.computed.len()];
    let mut row = Vec::new();
    for i in 0..batch.len() {
        row.clear();
        batch.row_into(i, &mut row)?;
        for (column, expr) in columns.iter_mut().zip(&sort.keys.computed) {
            column.push(&expr.eval(cx, Row::of(&row))?);
        }
    }
    Ok(columns)
}
