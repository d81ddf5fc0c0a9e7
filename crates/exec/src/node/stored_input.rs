//! Decodes only the needed columns of stored rows: late materialisation (Abadi et al.,
//! "Materialization Strategies in a Column-Oriented DBMS", 2007).
//!
//! ```text
//!   rows of a block ──▶ condition ──▶ condition ──▶ projection
//!                       columns a     columns b     columns c
//!                       of all        of what passed …
//! ```
//!
//! Each step decodes its columns that are not decoded yet, of the rows that are left. If a step
//! gives up, its result is not used and the caller takes the rows one by one.

use super::ColumnPlan;
use crate::context::ExecContext;
use crate::sought::Sought;
use crate::vector::{ColumnBatch, GiveUp, StoredRows, Vector, hash_rows};
use std::ops::Range;

/// The columns of the present rows, as far as they have been decoded.
pub(super) struct StoredInput {
    /// Positions of the scan's columns in the table.
    pub(super) columns: Box<[usize]>,
    batch: ColumnBatch,
    decoded: Vec<bool>,
    /// The numbers of the rows in the block.
    pub(super) rows: Vec<u32>,
}

impl StoredInput {
    pub(super) fn new(columns: Box<[usize]>) -> StoredInput {
        let width = columns.len();
        let batch = ColumnBatch::new(width);
        StoredInput { columns, batch, decoded: vec![false; width], rows: Vec::new() }
    }

    /// Begins with these rows of a block.
    pub(super) fn begin(&mut self, rows: Range<usize>) {
        self.batch.columns.resize_with(self.columns.len(), Default::default);
        self.decoded.fill(false);
        self.rows.clear();
        self.rows.extend(rows.start as u32..rows.end as u32);
        self.batch.set_rows(self.rows.len());
    }

    /// Decodes columns that are not decoded yet.
    fn decode(&mut self, stored: &StoredRows<'_>, columns: &[usize]) -> Result<(), GiveUp> {
        let stored = stored.only(&self.rows);
        for slot in columns {
            let column = *self.columns.get(*slot).ok_or(GiveUp)?;
            if !std::mem::replace(&mut self.decoded[*slot], true) {
                stored.column(column, &mut self.batch.columns[*slot])?;
            }
        }
        Ok(())
    }

    /// Keeps the rows at these places among them, and the columns that are read later.
    fn keep(&mut self, places: &[u32], is_read: impl Fn(usize) -> bool) {
        for (slot, decoded) in self.decoded.iter_mut().enumerate() {
            if *decoded && is_read(slot) {
                let column = &mut self.batch.columns[slot];
                *column = column.gather(places);
            } else {
                *decoded = false;
            }
        }
        // In ascending order, so that none is overwritten before it is read.
        places.iter().enumerate().for_each(|(to, from)| self.rows[to] = self.rows[*from as usize]);
        self.rows.truncate(places.len());
        self.batch.set_rows(places.len());
    }

    /// Keeps the rows of a stretch that pass the filter, at most the first `wanted`. Returns where
    /// the next stretch begins, which is `end` if there are fewer. `for_columns`: keeps the columns
    /// that the projection reads.
    pub(super) fn filter(
        &mut self,
        plan: &ColumnPlan,
        cx: &mut ExecContext,
        (stored, end): (&StoredRows<'_>, usize),
        (wanted, for_columns): (usize, bool),
    ) -> Result<usize, GiveUp> {
        let is_projected = |slot: usize| for_columns && plan.is_projected(slot);
        for (k, condition) in plan.filter.iter().enumerate() {
            self.decode(stored, &plan.reads[k])?;
            let places = condition.select(cx, &self.batch)?;
            if places.len() < self.rows.len() {
                let later = &plan.reads[k + 1..plan.filter.len()];
                let is_read = |slot| is_projected(slot) || later.iter().any(|s| s.contains(&slot));
                self.keep(&places, is_read);
            }
            if self.rows.is_empty() {
                return Ok(end);
            }
        }
        if self.rows.len() < wanted {
            return Ok(end);
        }
        if self.rows.len() > wanted {
            let first: Vec<u32> = (0..wanted as u32).collect();
            self.keep(&first, is_projected);
        }
        Ok(self.rows.last().map_or(end, |last| *last as usize + 1))
    }

    /// Keeps the rows whose keys a join looks for; returns the number of others.
    pub(super) fn seek(
        &mut self,
        plan: &ColumnPlan,
        sought: &Sought,
        stored: &StoredRows<'_>,
    ) -> Result<usize, GiveUp> {
        let rows = self.rows.len();
        self.decode(stored, &sought.columns)?;
        let keys: Vec<&Vector> = sought.columns.iter().map(|i| &self.batch.columns[*i]).collect();
        let mut hashes = Vec::new();
        hash_rows(&sought.types, &keys, rows, &mut hashes);
        let places = sought.buckets.places(&hashes);
        if places.len() < rows {
            self.keep(&places, |slot| plan.is_projected(slot));
        }
        Ok(rows - places.len())
    }

    /// Hands up the rows.
    pub(super) fn project(
        &mut self,
        plan: &ColumnPlan,
        cx: &mut ExecContext,
        stored: &StoredRows<'_>,
        out: &mut ColumnBatch,
    ) -> Result<(), GiveUp> {
        match (&plan.project, plan.reads.last()) {
            (Some(_), Some(read)) => self.decode(stored, read)?,
            _ => {
                let all: Vec<usize> = (0..self.columns.len()).collect();
                self.decode(stored, &all)?;
            }
        }
        plan.project_into(cx, &mut self.batch, out)
    }
}

impl ColumnPlan {
    /// Whether an input column is part of the output.
    fn is_projected(&self, slot: usize) -> bool {
        self.project.is_none() || self.reads.last().is_some_and(|read| read.contains(&slot))
    }
}
