//! FOR over the rows of a query (exec_stmt_fors and exec_stmt_dynfors in pl_exec.c).
//!
//! The query's rows are fetched in pieces: first 10, then 50, as in PostgreSQL. So a query whose
//! functions have side effects runs as far as it does there. Code that may end the transaction fetches
//! single rows. The loop's cursor is kept with the call. A COMMIT in the body makes the cursor read
//! its remaining rows first.

use std::ops::ControlFlow;
use std::sync::Arc;

use steppe_exec::{Prepared, ResultColumns, RowSink, SpiCursor};
use steppe_types::{Datum, Error, Result, SqlState};

use super::code::{ForQuery, Label, Query, Script};
use super::context::{self, Shown};
use super::cursor::Ahead;
use super::frame::Shape;
use super::plans::shape_of_columns;
use super::quick::Stop;
use super::walk::{Flow, Run};
use crate::tree::SlotId;

/// The rows of the first piece, and of the others.
const PIECES: (u64, u64) = (10, 50);
/// The same for code that may end the transaction.
const SINGLE_ROWS: (u64, u64) = (1, 1);

/// A query's cursor while the loop runs.
pub(super) struct OpenLoop {
    pub(super) cursor: SpiCursor,
}

/// Rows of a query, their values one after the other.
#[derive(Default)]
struct Piece {
    values: Vec<Datum>,
    rows: u64,
}

impl RowSink for Piece {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.values.extend_from_slice(row);
        self.rows += 1;
        Ok(())
    }

    fn columns(&mut self, rows: &ResultColumns<'_>) -> Result<()> {
        self.rows += rows.len() as u64;
        (0..rows.len()).try_for_each(|row| rows.row_into(row, &mut self.values))
    }
}

impl Run<'_, '_, '_> {
    /// FOR over a query.
    pub(super) fn for_query(&mut self, of: &ForQuery) -> Result<Flow> {
        let (cursor, _) = self.open_query(&of.query, Some(false), OpenedBy::Loop)?;
        let shape = shape_of_columns(cursor.columns());
        let shape = self.state.frame.known_shape(of.target, shape);
        self.loops.push(OpenLoop { cursor });
        let done = self.rounds(of.target, &shape, (of.label, &of.body));
        if let Some(open) = self.loops.pop() {
            open.cursor.close(self.spi);
        }
        done
    }

    /// Opens a query, static or dynamic. `scroll`: whether it can move backward, if that is said.
    pub(super) fn open_query(
        &mut self,
        query: &Query,
        scroll: Option<bool>,
        by: OpenedBy,
    ) -> Result<(SpiCursor, Shown)> {
        match query {
            Query::Static(number) => {
                let shown = self.piece(*number).shown.clone();
                let cursor = self.with_plan(*number, |run, plan| {
                    let entered = context::enter_statement(&shown);
                    let values = run.state.frame.read_all()?;
                    let cursor = by
                        .accepts(&plan.prepared)
                        .and_then(|()| run.spi.open(&mut plan.prepared, values, scroll));
                    drop(entered);
                    cursor.map_err(|error| opened(error, &shown))
                })?;
                Ok((cursor, shown))
            }
            Query::Dynamic { text, parameters } => {
                let text = self.dynamic_text(*text)?;
                let (types, values) = self.dynamic_parameters(parameters)?;
                let shown = Shown::statement(Arc::clone(&text));
                let entered = context::enter_statement(&shown);
                let prepared = match by {
                    OpenedBy::Cursor => self.spi.prepare_cursor(&text, &types),
                    OpenedBy::Loop | OpenedBy::ReturnQuery => self.spi.prepare(&text, &types),
                };
                let cursor = prepared.and_then(|mut prepared| {
                    by.accepts(&prepared)?;
                    self.spi.open(&mut prepared, &values, scroll)
                });
                drop(entered);
                Ok((cursor.map_err(|error| opened(error, &shown))?, shown))
            }
        }
    }

    /// The rounds of the innermost open loop.
    fn rounds(
        &mut self,
        target: SlotId,
        shape: &Arc<Shape>,
        (label, body): (Label, &Script),
    ) -> Result<Flow> {
        let pieces = if self.spi.is_atomic() { PIECES } else { SINGLE_ROWS };
        let (mut found, mut piece) = (false, pieces.0);
        let (mut rows, width) = (Piece::default(), shape.columns.len());
        loop {
            rows.values.clear();
            rows.rows = 0;
            self.next_piece(piece, &mut rows)?;
            if rows.rows == 0 {
                break;
            }
            let is_last = rows.rows < piece;
            let (mut from, all) = (0, rows.rows as usize);
            found |= all > 0;
            while from < all {
                let (run, at) =
                    self.run_ahead((body, target), shape, &rows.values[from * width..])?;
                from += run;
                if let Some(at) = at
                    && let ControlFlow::Break(flow) = self.script_from(body, at)?.in_loop(label)
                {
                    self.set_found(true);
                    return Ok(flow);
                }
            }
            if is_last {
                break;
            }
            piece = pieces.1;
        }
        if !found {
            self.move_row(target, shape, None)?;
        }
        self.set_found(found);
        Ok(Flow::Next)
    }

    /// Rounds over rows of a piece, until the body needs the general way. Returns the number of rows
    /// that have begun, and where the body goes on for the last one.
    fn run_ahead(
        &mut self,
        of: (&Script, SlotId),
        shape: &Arc<Shape>,
        rows: &[Datum],
    ) -> Result<(usize, Option<usize>)> {
        let (body, target) = of;
        if rows.is_empty() || !self.code.takes_any_row(target) {
            self.move_values(target, shape, &rows[..shape.columns.len()])?;
            return Ok((1, Some(0)));
        }
        let mut quick = self.state.take_quick(body);
        let within = (self.code.found, self.spi.epoch());
        let (run, at, stop) = Ahead { of, shape, rows }.run(&mut quick, self.state, within);
        self.state.quick[body.number as usize] = Some(quick);
        if stop == Stop::Check {
            let before = self.state.position.place();
            self.state.position.set_place(body.instructions[at].place);
            self.spi.check_interrupts()?;
            self.state.position.set_place(before);
        }
        Ok((run, (stop != Stop::End).then_some(at)))
    }

    fn next_piece(&mut self, piece: u64, rows: &mut Piece) -> Result<()> {
        let open = self.loops.last_mut().ok_or_else(|| Error::internal("a loop has no cursor"))?;
        open.cursor.fetch(self.spi, piece, rows).map(drop)
    }

    /// Makes the open loops read all their rows, because the transaction is about to end.
    pub(super) fn hold_loops(&mut self) -> Result<()> {
        for open in &mut self.loops {
            open.cursor.hold(self.spi)?;
        }
        self.spi.hold_pinned()
    }
}

/// The statement that opens a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenedBy {
    Loop,
    ReturnQuery,
    /// OPEN: other statements can name the cursor.
    Cursor,
}

impl OpenedBy {
    /// Refuses a statement without rows. [`Spi::open`](steppe_exec::Spi::open) refuses it with the
    /// message of a cursor.
    fn accepts(self, prepared: &Prepared) -> Result<()> {
        if self == OpenedBy::ReturnQuery { prepared.check_returns_rows() } else { Ok(()) }
    }
}

/// An error of opening a query, with its text. If the text is no query, the error belongs to the
/// statement and shows no text.
fn opened(error: Error, shown: &Shown) -> Error {
    match error.sqlstate() {
        SqlState::INVALID_CURSOR_DEFINITION => error,
        _ => shown.located(error),
    }
}
