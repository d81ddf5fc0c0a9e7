//! FOR over the rows of a query or a cursor (exec_stmt_fors, exec_stmt_dynfors, exec_stmt_forc in
//! pl_exec.c).
//!
//! The query's rows are fetched in pieces: first 10, then 50, as in PostgreSQL. So a query whose
//! functions have side effects runs as far as it does there. The loop's cursor is kept with the
//! call. A COMMIT in the body makes the cursor read its remaining rows first.

use std::ops::ControlFlow;
use std::sync::Arc;

use steppe_exec::SpiCursor;
use steppe_types::{Error, Result, SqlState};

use super::code::{ForCursor, ForQuery, Label, Query, Statement};
use super::context::{self, Shown};
use super::frame::Shape;
use super::plans::shape_of_columns;
use super::walk::{Flow, Rows, Run};
use crate::tree::SlotId;

/// The rows of the first piece, and of the others.
const FIRST_PIECE_ROWS: u64 = 10;
const PIECE_ROWS: u64 = 50;

/// A query's cursor while the loop runs.
pub(super) struct OpenLoop {
    pub(super) cursor: SpiCursor,
    shown: Shown,
}

impl Run<'_, '_, '_> {
    /// FOR over a query.
    pub(super) fn for_query(&mut self, of: &ForQuery) -> Result<Flow> {
        let (cursor, shown) = self.open_query(&of.query, false)?;
        let shape = shape_of_columns(cursor.columns());
        self.loops.push(OpenLoop { cursor, shown });
        let done = self.rounds(of.target, &shape, (of.label, &of.body));
        if let Some(open) = self.loops.pop() {
            open.cursor.close(self.spi);
        }
        done
    }

    /// Opens a query, static or dynamic.
    pub(super) fn open_query(&mut self, query: &Query, scroll: bool) -> Result<(SpiCursor, Shown)> {
        match query {
            Query::Static(number) => {
                let shown = self.piece(*number).shown.clone();
                let cursor = self.with_plan(*number, |run, plan| {
                    let entered = context::enter_statement(&shown);
                    let values = &run.state.frame.values;
                    let cursor = run.spi.open(&mut plan.prepared, values, scroll);
                    drop(entered);
                    cursor.map_err(|error| opened(error, &shown))
                })?;
                Ok((cursor, shown))
            }
            Query::Dynamic { text, parameters } => {
                let text = self.dynamic_text(*text)?;
                let (types, values) = self.dynamic_parameters(parameters)?;
                let shown = Shown::statement(&text);
                let entered = context::enter_statement(&shown);
                let prepared = self.spi.prepare(&text, &types);
                let cursor =
                    prepared.and_then(|mut prepared| self.spi.open(&mut prepared, &values, scroll));
                drop(entered);
                Ok((cursor.map_err(|error| shown.located(error))?, shown))
            }
        }
    }

    /// The rounds of the innermost open loop.
    fn rounds(
        &mut self,
        target: SlotId,
        shape: &Arc<Shape>,
        (label, body): (Label, &[Statement]),
    ) -> Result<Flow> {
        let (mut found, mut piece) = (false, FIRST_PIECE_ROWS);
        loop {
            let rows = self.next_piece(piece)?;
            if rows.rows.is_empty() {
                break;
            }
            let is_last = (rows.rows.len() as u64) < piece;
            for row in rows.rows {
                found = true;
                self.move_row(target, shape, Some(row))?;
                if let ControlFlow::Break(flow) = self.statements(body)?.in_loop(label) {
                    self.set_found(true);
                    return Ok(flow);
                }
            }
            if is_last {
                break;
            }
            piece = PIECE_ROWS;
        }
        if !found {
            self.move_row(target, shape, None)?;
        }
        self.set_found(found);
        Ok(Flow::Next)
    }

    fn next_piece(&mut self, piece: u64) -> Result<Rows> {
        let mut rows = Rows::at_most(piece as usize);
        let open = self.loops.last_mut().ok_or_else(|| Error::internal("a loop has no cursor"))?;
        let entered = context::enter_statement(&open.shown);
        let read = open.cursor.fetch(self.spi, piece, &mut rows);
        drop(entered);
        read.map_err(|error| open.shown.located(error))?;
        Ok(rows)
    }

    /// Makes the open loops read all their rows, because the transaction is about to end.
    pub(super) fn hold_loops(&mut self) -> Result<()> {
        for open in &mut self.loops {
            open.cursor.hold(self.spi)?;
        }
        Ok(())
    }

    /// FOR over a bound cursor.
    pub(super) fn for_cursor(&mut self, of: &ForCursor) -> Result<Flow> {
        let was_null = self.cursor_name(of.cursor).is_none();
        let name = self.open_bound(of.cursor, of.arguments)?;
        let done = self.cursor_rounds(of, &name);
        self.close_portal(&name)?;
        if was_null {
            self.state.frame.set(of.cursor, steppe_types::Datum::Null);
        }
        done
    }

    fn cursor_rounds(&mut self, of: &ForCursor, name: &str) -> Result<Flow> {
        let mut found = false;
        loop {
            let (shape, row) = self.fetch_next(name)?;
            let Some(row) = row else {
                if !found {
                    self.move_row(of.target, &shape, None)?;
                }
                self.set_found(found);
                return Ok(Flow::Next);
            };
            found = true;
            self.move_row(of.target, &shape, Some(row))?;
            if let ControlFlow::Break(flow) = self.statements(&of.body)?.in_loop(of.label) {
                self.set_found(true);
                return Ok(flow);
            }
        }
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
