//! Pairs of an outer and an inner row, with the columns that have been loaded.
//!
//! ```text
//!   found pairs ──filter, ON──▶ pairs that match ──by the join's kind──▶ rows to hand up
//!       load: what a condition reads    keep: those for which it holds
//! ```
//!
//! A column is loaded when a step reads it, for the pairs that are left then.

use crate::context::ExecContext;
use crate::node::compile_columns::Condition;
use crate::vector::{ColumnBatch, GiveUp, NO_ROW, StoredRows, Vector};
use std::ops::Range;
use steppe_sql::query::JoinKind;

/// The rows that pairs are made of.
pub(super) struct Sides<'a> {
    pub(super) outer: &'a [Vector],
    pub(super) inner: InnerRows<'a>,
}

/// The columns of inner rows.
pub(super) enum InnerRows<'a> {
    /// The columns at these positions of stored rows.
    Stored(StoredRows<'a>, &'a [usize]),
    /// These columns.
    Columns(&'a [Vector]),
}

/// Some pairs.
#[derive(Default)]
pub(super) struct Pairs {
    pub(super) outer: Vec<u32>,
    /// [`NO_ROW`]: there is no inner row.
    pub(super) inner: Vec<u32>,
    /// The numbers of these pairs among the pairs that were found.
    pub(super) found: Vec<u32>,
    /// Columns of outer ‖ inner. Only loaded ones have values.
    pub(super) batch: ColumnBatch,
    is_loaded: Vec<bool>,
}

/// The facts that decide how a step's pairs become rows.
pub(super) struct Resolving {
    pub(super) kind: JoinKind,
    /// Outer rows of which no other pairs will be found; the row behind them may have some.
    pub(super) done: Range<u32>,
    /// The first of these rows has had a match before.
    pub(super) is_matched: bool,
}

impl InnerRows<'_> {
    /// Column `i` of these rows.
    fn column(&self, i: usize, rows: &[u32], out: &mut Vector) -> Result<(), GiveUp> {
        let (stored, positions) = match self {
            InnerRows::Stored(stored, positions) => (stored, positions),
            InnerRows::Columns(columns) => {
                *out = columns.get(i).ok_or(GiveUp)?.pick(rows);
                return Ok(());
            }
        };
        let position = *positions.get(i).ok_or(GiveUp)?;
        if !rows.contains(&NO_ROW) {
            return stored.only(rows).column(position, out);
        }
        let there: Vec<u32> = rows.iter().copied().filter(|row| *row != NO_ROW).collect();
        stored.only(&there).column(position, out)?;
        let mut next = 0;
        let place = |row: &u32| match *row {
            NO_ROW => NO_ROW,
            _ => {
                next += 1;
                next - 1
            }
        };
        *out = out.pick(&rows.iter().map(place).collect::<Vec<_>>());
        Ok(())
    }
}

impl Pairs {
    /// Begins with the outer and the inner row of each found pair.
    pub(super) fn begin(&mut self, (outer, inner): (&[u32], &[u32]), columns: usize) {
        self.outer.clear();
        self.outer.extend_from_slice(outer);
        self.inner.clear();
        self.inner.extend_from_slice(inner);
        self.found.clear();
        self.found.extend(0..outer.len() as u32);
        self.batch.columns.resize_with(columns, Vector::default);
        self.batch.set_rows(outer.len());
        self.is_loaded.clear();
        self.is_loaded.resize(columns, false);
    }

    pub(super) fn len(&self) -> usize {
        self.outer.len()
    }

    /// Loads these columns if they are not loaded.
    pub(super) fn load(&mut self, slots: &[usize], sides: &Sides<'_>) -> Result<(), GiveUp> {
        for slot in slots {
            let is_loaded = self.is_loaded.get_mut(*slot).ok_or(GiveUp)?;
            if std::mem::replace(is_loaded, true) {
                continue;
            }
            let column = &mut self.batch.columns[*slot];
            match slot.checked_sub(sides.outer.len()) {
                None => *column = sides.outer[*slot].pick(&self.outer),
                Some(i) => sides.inner.column(i, &self.inner, column)?,
            }
        }
        Ok(())
    }

    /// Keeps the pairs at these places, and the columns that are read later.
    pub(super) fn keep(&mut self, places: &[u32], is_read: impl Fn(usize) -> bool) {
        let select = |from: &[u32]| places.iter().map(|i| from[*i as usize]).collect();
        self.outer = select(&self.outer);
        self.inner = select(&self.inner);
        self.found = select(&self.found);
        for (slot, is_loaded) in self.is_loaded.iter_mut().enumerate() {
            *is_loaded &= is_read(slot);
            if *is_loaded {
                let column = &mut self.batch.columns[slot];
                *column = column.gather(places);
            }
        }
        self.batch.set_rows(places.len());
    }

    /// Keeps the pairs for which all conditions hold, and the columns that `is_read` selects.
    pub(super) fn narrow(
        &mut self,
        conditions: &[Condition],
        cx: &mut ExecContext,
        sides: &Sides<'_>,
        is_read: impl Fn(usize) -> bool,
    ) -> Result<(), GiveUp> {
        for (k, Condition { condition, reads }) in conditions.iter().enumerate() {
            if self.len() == 0 {
                break;
            }
            self.load(reads, sides)?;
            let places = condition.select(cx, &self.batch)?;
            if places.len() < self.len() {
                let later = &conditions[k + 1..];
                self.keep(&places, |slot| {
                    is_read(slot) || later.iter().any(|on| on.reads.contains(&slot))
                });
            }
        }
        Ok(())
    }

    /// Keeps the pairs that a join hands up, with those of outer rows alone between them. Returns
    /// whether the row behind the done ones has had a match.
    pub(super) fn resolve(&mut self, how: &Resolving) -> bool {
        let last = how.done.end;
        let open_matched = match self.outer.last() {
            Some(row) if *row == last => true,
            _ => how.done.is_empty() && how.is_matched,
        };
        if how.kind == JoinKind::Inner {
            return open_matched;
        }
        let (mut outer, mut places, mut k) = (Vec::new(), Vec::new(), 0);
        for row in how.done.start..=last {
            let mut is_matched = row == how.done.start && how.is_matched;
            while self.outer.get(k) == Some(&row) {
                let hands_up = match how.kind {
                    JoinKind::Semi => !is_matched,
                    kind => kind != JoinKind::Anti,
                };
                if hands_up {
                    outer.push(row);
                    places.push(k as u32);
                }
                is_matched = true;
                k += 1;
            }
            let keeps_outer = matches!(how.kind, JoinKind::Left | JoinKind::Anti);
            if keeps_outer && !is_matched && row < last {
                outer.push(row);
                places.push(NO_ROW);
            }
        }
        self.spread(outer, &places);
        open_matched
    }

    /// Keeps these outer rows, each with the inner row of the pair at its place, or none.
    fn spread(&mut self, outer: Vec<u32>, places: &[u32]) {
        let of = |from: &[u32]| {
            places.iter().map(|i| from.get(*i as usize).copied().unwrap_or(NO_ROW)).collect()
        };
        (self.inner, self.found) = (of(&self.inner), of(&self.found));
        self.batch.set_rows(outer.len());
        self.outer = outer;
        self.is_loaded.fill(false);
    }
}
