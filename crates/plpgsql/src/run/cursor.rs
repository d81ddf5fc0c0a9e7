//! Cursors: OPEN, FETCH, MOVE and CLOSE (exec_stmt_open, exec_stmt_fetch and exec_stmt_close in
//! pl_exec.c).
//!
//! A cursor variable holds the name of a portal of the session. A variable that is NULL gets a new
//! name when it is opened.

use std::sync::Arc;

use steppe_exec::SpiCursor;
use steppe_sql::ast::{FETCH_ALL, FetchDirection};
use steppe_types::{Datum, Error, Result, SqlState, oid};

use super::code::{Fetch, FetchCount, OpenQuery, Query, SqlNumber, Var};
use super::frame::Shape;
use super::plans::shape_of_columns;
use super::walk::{Rows, Run};
use crate::tree::{Direction, Scroll, SlotId};

/// A row's values.
pub(super) type Row = Arc<[Datum]>;

impl Run<'_, '_, '_> {
    /// The portal's name that a cursor variable holds.
    pub(super) fn cursor_name(&self, cursor: SlotId) -> Option<Arc<str>> {
        match self.state.frame.value(cursor) {
            Datum::Text(name) => Some(Arc::clone(name)),
            _ => None,
        }
    }

    /// OPEN.
    pub(super) fn open(&mut self, cursor: SlotId, query: &OpenQuery) -> Result<()> {
        match query {
            OpenQuery::Bound { arguments } => {
                self.open_bound(cursor, *arguments)?;
            }
            OpenQuery::Given { scroll, query } => {
                self.open_portal(cursor, query, *scroll)?;
            }
        }
        Ok(())
    }

    /// Opens a bound cursor; the portal's name.
    pub(super) fn open_bound(
        &mut self,
        cursor: SlotId,
        arguments: Option<SqlNumber>,
    ) -> Result<Arc<str>> {
        self.check_unused(cursor)?;
        let code = self.code;
        let Var::Scalar(scalar) = code.var(cursor) else { return Err(no_cursor_variable()) };
        let Some(bound) = &scalar.cursor else { return Err(no_cursor_variable()) };
        if let (Some(arguments), Some(row)) = (arguments, bound.arguments) {
            self.assign_arguments(arguments, row)?;
        }
        self.open_portal(cursor, &Query::Static(bound.query), bound.scroll)
    }

    /// Gives a cursor's arguments their values.
    fn assign_arguments(&mut self, arguments: SqlNumber, row: SlotId) -> Result<()> {
        let mut rows = Rows::at_most(1);
        let shape = self.with_plan(arguments, |run, plan| {
            let shown = run.piece(arguments).shown.clone();
            run.run_prepared(&mut plan.prepared, &shown, 1, &mut rows)?;
            Ok(Arc::clone(plan.columns()))
        })?;
        let row_values = rows.rows.into_iter().next();
        self.move_row(row, &shape, row_values)
    }

    /// 42P03 for a cursor that is open.
    fn check_unused(&mut self, cursor: SlotId) -> Result<()> {
        match self.cursor_name(cursor) {
            Some(name) if self.spi.has_cursor(&name) => {
                let message = format!("cursor \"{name}\" already in use");
                Err(Error::new(SqlState::DUPLICATE_CURSOR, message))
            }
            _ => Ok(()),
        }
    }

    /// Opens a portal of the session for a query; its name.
    fn open_portal(&mut self, cursor: SlotId, query: &Query, scroll: Scroll) -> Result<Arc<str>> {
        self.check_unused(cursor)?;
        let (opened, shown) = self.open_query(query, scroll != Scroll::No)?;
        let name = self.cursor_name(cursor);
        let name = self.spi.put_cursor(name.as_deref(), opened, &shown.text)?;
        self.state.frame.set(cursor, Datum::Text(Arc::clone(&name)));
        Ok(name)
    }

    /// The portal of a cursor variable.
    fn portal_name(&mut self, cursor: SlotId) -> Result<Arc<str>> {
        let Some(name) = self.cursor_name(cursor) else {
            let Var::Scalar(scalar) = self.code.var(cursor) else {
                return Err(no_cursor_variable());
            };
            let message = format!("cursor variable \"{}\" is null", scalar.name);
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        if self.spi.has_cursor(&name) { Ok(name) } else { Err(no_portal(&name)) }
    }

    /// FETCH and MOVE.
    pub(super) fn fetch(&mut self, fetch: &Fetch) -> Result<()> {
        let name = self.portal_name(fetch.cursor)?;
        let count = match fetch.count {
            FetchCount::Number(count) => count,
            FetchCount::All => FETCH_ALL,
            FetchCount::Expression(number) => {
                let value = self.eval_typed(number)?;
                match self.cast(value, oid::INT4, -1)? {
                    Datum::Int4(count) => i64::from(count),
                    _ => {
                        let message = "relative or absolute cursor position is null";
                        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
                    }
                }
            }
        };
        let direction = match fetch.direction {
            Direction::Forward => FetchDirection::Forward,
            Direction::Backward => FetchDirection::Backward,
            Direction::Absolute => FetchDirection::Absolute,
            Direction::Relative => FetchDirection::Relative,
        };
        let (shape, rows, fetched) = self.fetch_rows(&name, direction, count)?;
        if let Some(target) = fetch.target {
            let row = rows.rows.into_iter().next();
            self.move_row(target, &shape, row)?;
        }
        self.processed = fetched;
        self.set_found(fetched != 0);
        Ok(())
    }

    /// The next row of a portal, with its columns.
    pub(super) fn fetch_next(&mut self, name: &str) -> Result<(Arc<Shape>, Option<Row>)> {
        if !self.spi.has_cursor(name) {
            return Err(no_portal(name));
        }
        let (shape, rows, _) = self.fetch_rows(name, FetchDirection::Forward, 1)?;
        Ok((shape, rows.rows.into_iter().next()))
    }

    fn fetch_rows(
        &mut self,
        name: &str,
        direction: FetchDirection,
        count: i64,
    ) -> Result<(Arc<Shape>, Rows, u64)> {
        let mut rows = Rows::at_most(1);
        let (columns, fetched) = self.spi.with_cursor(name, |cursor: &mut SpiCursor, spi| {
            let fetched = cursor.fetch_direction(spi, direction, count, &mut rows)?;
            Ok((shape_of_columns(cursor.columns()), fetched))
        })?;
        Ok((columns, rows, fetched))
    }

    /// CLOSE.
    pub(super) fn close(&mut self, cursor: SlotId) -> Result<()> {
        let name = self.portal_name(cursor)?;
        self.close_portal(&name)
    }

    pub(super) fn close_portal(&mut self, name: &str) -> Result<()> {
        self.spi.close_cursor(name)
    }
}

fn no_cursor_variable() -> Error {
    Error::internal("a variable that holds no cursor was opened as one")
}

fn no_portal(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
