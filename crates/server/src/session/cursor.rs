//! A cursor of DECLARE: its moves (DoPortalRunFetch in src/backend/tcop/pquery.c).
//!
//! A cursor runs its plan as rows are asked for. A cursor that may move backward (SCROLL) or
//! outlives its transaction (WITH HOLD) keeps the rows that it has fetched. Beyond work_mem they
//! are in a temporary file. As in PostgreSQL, a cursor declared without SCROLL may still move
//! backward if its plan is simple enough. It begins to keep rows at its first backward move: its
//! plan runs again up to its position, at the same snapshot.
//!
//! The session fetches from it for the client, and functions of the session fetch from it, too. The
//! moves need the transaction alone.

use std::ops::Range;
use std::sync::Arc;

use steppe_exec::spi::{CursorPlace, held_from_before};
use steppe_exec::{ExecEnv, FetchStatus, RowSink, StoreReader, Transaction, TupleStore};
use steppe_sql::ast::{self, FetchDirection};
use steppe_types::{Datum, Error, Result, SqlState};

use super::portal::PlanPortal;
use super::run;
use super::sink::{KeepingSink, NullSink};

/// Rows that one fetch for keeping gets.
const KEEP_CHUNK_ROWS: u64 = 256;
/// Kept rows read at once: a backward fetch reads a piece of the file forward.
const READ_CHUNK_ROWS: usize = 256;

/// A cursor.
pub(super) struct Cursor {
    pub(super) name: Arc<str>,
    pub(super) plan: PlanPortal,
    /// The environment of its plan, for another run, and for rows that it keeps.
    pub(super) env: ExecEnv,
    /// The kept rows, if it keeps them.
    pub(super) kept: Option<Box<Kept>>,
    /// WITH HOLD.
    pub(super) hold: bool,
    /// It may move backward.
    pub(super) scroll: bool,
    /// WITH HOLD, and its transaction has committed.
    pub(super) held_beyond: bool,
    pub(super) binary: bool,
    /// For a cursor that keeps no rows: rows handed out so far, and whether these are all.
    pub(super) at: u64,
    pub(super) at_end: bool,
}

/// Rows kept: in memory up to work_mem, then in a temporary file.
pub(super) struct Kept {
    rows: TupleStore,
    reader: StoreReader,
    /// The plan has no more rows.
    complete: bool,
    /// 0 is before the first row, n is on row n, and one more than there are rows is after the
    /// last.
    position: usize,
}

impl Kept {
    /// Appends the values of a range's rows, one row after the other, to `out`.
    fn read(&mut self, rows: Range<usize>, out: &mut Vec<Datum>) -> Result<()> {
        for row in rows {
            self.rows.read_at(&mut self.reader, row, out)?;
        }
        Ok(())
    }
}

/// The rest of a FETCH, after the cursor has moved over the rows that it skips.
pub(super) enum Step {
    /// The FETCH has ended, and answers this number of rows.
    Nothing(u64),
    /// This number of next rows. `None` is all.
    Next(Option<u64>),
    /// These kept rows.
    Kept(Span),
}

/// Kept rows, and the order in which they are given.
pub(super) enum Span {
    Forward(Range<usize>),
    Backward(Range<usize>),
}

impl Span {
    /// Its number of rows.
    pub(super) fn len(&self) -> u64 {
        let (Span::Forward(rows) | Span::Backward(rows)) = self;
        rows.len() as u64
    }

    /// Takes its next rows, as many as are read at once.
    fn take_some(&mut self) -> Option<Range<usize>> {
        let (Span::Forward(rows) | Span::Backward(rows)) = &*self;
        let (rows, some) = (rows.clone(), rows.len().min(READ_CHUNK_ROWS));
        if some == 0 {
            return None;
        }
        let taken;
        (*self, taken) = match self {
            Span::Forward(_) => {
                let at = rows.start + some;
                (Span::Forward(at..rows.end), rows.start..at)
            }
            Span::Backward(_) => {
                let at = rows.end - some;
                (Span::Backward(rows.start..at), at..rows.end)
            }
        };
        Some(taken)
    }
}

type Txn = Option<Transaction>;

impl Cursor {
    /// Whether its transaction has committed, and it outlives it.
    pub(super) fn is_held(&self) -> bool {
        self.held_beyond
    }

    /// Whether it will outlive its transaction, if that commits.
    pub(super) fn is_to_be_held(&self) -> bool {
        self.hold && !self.held_beyond
    }

    /// WITH HOLD, BINARY, SCROLL.
    pub(super) fn options(&self) -> (bool, bool, bool) {
        (self.hold, self.binary, self.scroll)
    }

    /// The row that it is on, for WHERE CURRENT OF.
    pub(super) fn place(&mut self) -> Result<CursorPlace> {
        if self.held_beyond {
            return Err(held_from_before(&self.name));
        }
        let planned = Arc::clone(self.plan.plan.compiled.planned());
        let row = match &mut self.kept {
            None => (self.at > 0 && !self.at_end).then(|| self.plan.place.clone()),
            Some(kept) if (1..=kept.rows.len()).contains(&kept.position) => {
                let (mut row, on) = (Vec::new(), kept.position - 1);
                kept.read(on..on + 1, &mut row)?;
                Some(row.split_off(planned.columns.len().min(row.len())))
            }
            Some(_) => None,
        };
        Ok(CursorPlace::of(&planned, row))
    }

    /// The number of columns of its rows, including the columns that are not sent.
    fn width(&self) -> usize {
        self.plan.plan.compiled.planned().plan.types.len()
    }

    /// An empty store for its rows.
    pub(super) fn nothing_kept(&self) -> Box<Kept> {
        let temp = Some(Arc::clone(&self.env.temp));
        Box::new(Kept {
            rows: TupleStore::new(self.width(), self.env.work_mem_bytes, temp),
            reader: StoreReader::default(),
            complete: false,
            position: 0,
        })
    }

    /// FETCH by a function: gives rows to the sink, and moves.
    pub(super) fn fetch_for_function(
        &mut self,
        txn: &mut Txn,
        movement: (FetchDirection, i64),
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        let columns = self.plan.plan.compiled.columns().len();
        let sink = &mut Visible { sink, columns };
        match self.begin_fetch(txn, movement, false)? {
            Step::Nothing(rows) => Ok(rows),
            Step::Next(count) => self.next_rows(txn, count.unwrap_or(0), sink),
            Step::Kept(mut span) => {
                let count = span.len();
                while self.next_kept(&mut span, sink)? {}
                Ok(count)
            }
        }
    }

    /// Moves the cursor over the rows that a FETCH or MOVE skips.
    pub(super) fn begin_fetch(
        &mut self,
        txn: &mut Txn,
        (direction, count): (FetchDirection, i64),
        is_move: bool,
    ) -> Result<Step> {
        if self.plan.may_run_again && !goes_on(direction, count, self.at) {
            self.keep_from_now(txn)?;
        }
        match self.kept.is_some() {
            true => self.find_rows(txn, direction, count).map(Step::Kept),
            false => self.forward(txn, (direction, count), is_move),
        }
    }

    /// Gives the next of the kept rows to the sink. Returns false if there are none.
    pub(super) fn next_kept(&mut self, span: &mut Span, sink: &mut dyn RowSink) -> Result<bool> {
        let is_backward = matches!(span, Span::Backward(_));
        let Some(rows) = span.take_some() else { return Ok(false) };
        let (count, width, mut values) = (rows.len(), self.width(), Vec::new());
        let Some(kept) = &mut self.kept else { return Ok(false) };
        tokio::task::block_in_place(|| kept.read(rows, &mut values))?;
        for i in 0..count {
            let at = width * if is_backward { count - 1 - i } else { i };
            sink.row(&values[at..at + width])?;
        }
        Ok(true)
    }

    /// Begins to keep rows: the rows up to the position are fetched once more.
    fn keep_from_now(&mut self, txn: &mut Txn) -> Result<()> {
        let Some(execution) = &self.plan.execution else {
            return Err(Error::internal("cursor has no execution"));
        };
        let again = execution.again(Arc::clone(&self.plan.params), &self.env)?;
        self.plan.execution = Some(Box::new(again));
        self.plan.done = None;
        self.plan.may_run_again = false;
        self.kept = Some(self.nothing_kept());
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        let position = at.saturating_add(usize::from(self.at_end));
        self.keep_until(txn, position)?;
        if let Some(kept) = &mut self.kept {
            kept.position = position;
        }
        Ok(())
    }

    /// A FETCH from a cursor that keeps no rows: it only moves forward.
    fn forward(
        &mut self,
        txn: &mut Txn,
        (direction, count): (FetchDirection, i64),
        is_move: bool,
    ) -> Result<Step> {
        // The row that it is on, or one more than the last.
        let position = self.at + u64::from(self.at_end);
        let is_on_row = position > 0 && !self.at_end;
        let direction = match direction {
            FetchDirection::Backward if count < 0 => FetchDirection::Forward,
            FetchDirection::Forward if count < 0 => FetchDirection::Backward,
            direction => direction,
        };
        let wanted = match direction {
            FetchDirection::Forward => count.saturating_abs(),
            _ => count,
        };
        let (skip, count) = match (direction, wanted) {
            (FetchDirection::Absolute, 0) if position == 0 => return Ok(Step::Nothing(0)),
            (FetchDirection::Absolute, 0) => return Err(only_forward()),
            (_, 0) if is_move => return Ok(Step::Nothing(u64::from(is_on_row))),
            (FetchDirection::Forward | FetchDirection::Relative, 0) if !is_on_row => {
                return Ok(Step::Nothing(0));
            }
            (FetchDirection::Forward, ast::FETCH_ALL) => (0, None),
            (FetchDirection::Forward, n @ 1..) => (0, Some(n as u64)),
            (FetchDirection::Relative, n @ 1..) => (n as u64 - 1, Some(1)),
            (FetchDirection::Absolute, n) if n > 0 && n as u64 > position => {
                (n as u64 - position - 1, Some(1))
            }
            _ => return Err(only_forward()),
        };
        if skip > 0 {
            self.next_rows(txn, skip, &mut NullSink)?;
        }
        Ok(Step::Next(count))
    }

    /// Gives up to `count` next rows to the sink, or all if it is 0. Returns the number of rows.
    pub(super) fn next_rows(
        &mut self,
        txn: &mut Txn,
        count: u64,
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        if self.at_end {
            return Ok(0);
        }
        let rows = match run::fetch(&mut self.plan, txn, count, sink, true)? {
            FetchStatus::Suspended { rows } => rows,
            FetchStatus::Done { rows } => {
                self.at_end = true;
                self.plan.finish(rows, txn);
                rows.saturating_sub(self.at)
            }
        };
        self.at += rows;
        Ok(rows)
    }

    /// Moves the position, and returns the rows that the move passes.
    fn find_rows(&mut self, txn: &mut Txn, direction: FetchDirection, count: i64) -> Result<Span> {
        let position = self.kept.as_ref().map_or(0, |kept| kept.position);
        match direction {
            FetchDirection::Forward if count >= 0 => self.pass_forward(txn, count as u64),
            FetchDirection::Forward => self.pass_backward(txn, count.unsigned_abs()),
            FetchDirection::Backward if count >= 0 => self.pass_backward(txn, count as u64),
            FetchDirection::Backward => self.pass_forward(txn, count.unsigned_abs()),
            FetchDirection::Relative => {
                let target = (position as i64).saturating_add(count);
                self.go_to(txn, usize::try_from(target).unwrap_or(0))
            }
            FetchDirection::Absolute if count >= 0 => {
                self.go_to(txn, usize::try_from(count).unwrap_or(usize::MAX))
            }
            FetchDirection::Absolute => {
                self.keep_until(txn, usize::MAX)?;
                let total = self.kept.as_ref().map_or(0, |kept| kept.rows.len()) as i64;
                let target = total.saturating_add(count).saturating_add(1);
                self.go_to(txn, usize::try_from(target).unwrap_or(0))
            }
        }
    }

    fn pass_forward(&mut self, txn: &mut Txn, count: u64) -> Result<Span> {
        if count == 0 {
            // FETCH 0 gives the current row again.
            let position = self.kept.as_ref().map_or(0, |kept| kept.position);
            return self.go_to(txn, position);
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let start = self.kept.as_ref().map_or(0, |kept| kept.position);
        let wanted = start.saturating_add(count);
        self.keep_until(txn, wanted)?;
        let Some(kept) = &mut self.kept else { return Ok(Span::Forward(0..0)) };
        let total = kept.rows.len();
        let first = start.min(total);
        kept.position = if wanted > total { total + 1 } else { wanted };
        Ok(Span::Forward(first..wanted.min(total)))
    }

    fn pass_backward(&mut self, txn: &mut Txn, count: u64) -> Result<Span> {
        let Some(kept) = &mut self.kept else { return Ok(Span::Backward(0..0)) };
        if count == 0 {
            let position = kept.position;
            return self.go_to(txn, position);
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        // Rows before the current one.
        let end = kept.position.saturating_sub(1).min(kept.rows.len());
        let first = end.saturating_sub(count);
        kept.position = if count > end { 0 } else { first + 1 };
        Ok(Span::Backward(first..end))
    }

    /// Puts the cursor on row `target` (from 1), and passes only that row.
    fn go_to(&mut self, txn: &mut Txn, target: usize) -> Result<Span> {
        self.keep_until(txn, target)?;
        let Some(kept) = &mut self.kept else { return Ok(Span::Forward(0..0)) };
        let total = kept.rows.len();
        kept.position = target.min(total + 1);
        Ok(match target {
            0 => Span::Forward(0..0),
            row if row > total => Span::Forward(0..0),
            row => Span::Forward(row - 1..row),
        })
    }

    /// Fetches and keeps rows until there are `wanted`, or no more.
    pub(super) fn keep_until(&mut self, txn: &mut Txn, wanted: usize) -> Result<()> {
        while let Some(kept) = &mut self.kept {
            if kept.complete || kept.rows.len() >= wanted {
                return Ok(());
            }
            let missing = (wanted - kept.rows.len()) as u64;
            let mut sink = KeepingSink(&mut kept.rows);
            let chunk = missing.min(KEEP_CHUNK_ROWS);
            let status = run::fetch(&mut self.plan, txn, chunk, &mut sink, true)?;
            if let FetchStatus::Done { rows } = status {
                kept.complete = true;
                self.plan.finish(rows, txn);
            }
        }
        Ok(())
    }
}

/// Passes on the columns of rows that are not their positions.
struct Visible<'s> {
    sink: &'s mut dyn RowSink,
    columns: usize,
}

impl RowSink for Visible<'_> {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.sink.row(row.get(..self.columns).unwrap_or(row))
    }
}

/// 55000 for a FETCH that would move a NO SCROLL cursor backward.
fn only_forward() -> Error {
    let message = "cursor can only scan forward";
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .hint("Declare it with SCROLL option to enable backward scan.")
}

/// Whether a FETCH moves forward from row `at`.
fn goes_on(direction: FetchDirection, count: i64, at: u64) -> bool {
    match direction {
        FetchDirection::Forward | FetchDirection::Relative => count > 0,
        FetchDirection::Absolute => u64::try_from(count).is_ok_and(|row| row > at),
        FetchDirection::Backward => false,
    }
}
