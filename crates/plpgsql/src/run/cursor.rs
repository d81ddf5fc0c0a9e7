//! Cursors: OPEN, FETCH, MOVE and CLOSE, and FOR over one (exec_stmt_open, exec_stmt_fetch,
//! exec_stmt_close and exec_stmt_forc in pl_exec.c).
//!
//! A cursor variable holds the name of a portal of the session. A variable that is NULL gets a new
//! name when it is opened. A call keeps the portals that it has fetched from, so that the next fetch
//! of a variable that still holds the same name looks nothing up.
//!
//! FOR over a cursor takes one row at a time, as PostgreSQL does, because the body may change what a
//! volatile function of the query sees, lock and change rows, and move the cursor by its name. Only
//! rows that are fixed when the cursor is opened ([`steppe_exec::SpiCursor::look_ahead`]) are read before
//! the body asks for them. The loop runs over these in pieces while the body is specialised
//! instructions alone, which use no cursor, call nothing and read the record by its fields. Where the
//! body needs more, the cursor stands behind the round's row, and the record has it.

use std::ops::ControlFlow;
use std::sync::Arc;

use steppe_exec::{RowSink, SpiCursor, SpiPortal};
use steppe_sql::ast::{FETCH_ALL, FetchDirection};
use steppe_sql::query::Command;
use steppe_types::{Datum, Error, Result, SqlState, oid};

use super::code::{Fetch, FetchCount, ForCursor, OpenQuery, Query, Script, SqlNumber, Var};
use super::frame::{Frame, Shape};
use super::loops::OpenedBy;
use super::plans::shape_of_columns;
use super::quick::{QuickScript, Stop};
use super::walk::{Flow, Rows, Run, State};
use crate::tree::{Direction, Scroll, SlotId};

/// A row's values.
pub(super) type Row = Arc<[Datum]>;

/// An open portal, and the columns of its rows.
#[derive(Clone)]
pub(super) struct Portal {
    portal: Arc<SpiPortal>,
    shape: Arc<Shape>,
}

/// The portal of a cursor variable with this value.
pub(super) struct KnownPortal {
    cursor: SlotId,
    name: Arc<str>,
    portal: Portal,
}

/// Keeps the first row.
#[derive(Default)]
struct OneRow(Option<Row>);

impl RowSink for OneRow {
    fn row(&mut self, values: &[Datum]) -> Result<()> {
        if self.0.is_none() {
            self.0 = Some(values.into());
        }
        Ok(())
    }
}

/// Puts rows into a record.
struct IntoRecord<'a> {
    frame: &'a mut Frame,
    record: SlotId,
    shape: &'a Arc<Shape>,
}

impl RowSink for IntoRecord<'_> {
    #[inline]
    fn row(&mut self, values: &[Datum]) -> Result<()> {
        self.frame.set_row(self.record, self.shape, values);
        Ok(())
    }
}

/// Rows that a loop runs over: those of a piece.
pub(super) struct Ahead<'a> {
    pub(super) of: (&'a Script, SlotId),
    pub(super) shape: &'a Arc<Shape>,
    /// Their values. There is at least one row, of at least one column.
    pub(super) rows: &'a [Datum],
}

impl Ahead<'_> {
    /// Runs the body for rows as long as it consists of specialised instructions. Returns the number
    /// of rows, and where and why it has stopped for the last one, which the record then has.
    pub(super) fn run(
        &self,
        quick: &mut QuickScript,
        State { frame, counters, .. }: &mut State,
        (found, epoch): (SlotId, u64),
    ) -> (usize, usize, Stop) {
        let (body, record) = self.of;
        let width = self.shape.columns.len();
        frame.set_shape(record, self.shape);
        quick.keep_current(body, found, frame, epoch);
        let of = (record, self.rows, width);
        let (run, at, stop) = quick.run_rows(of, frame.without_texts(), counters);
        frame.set_row(record, self.shape, &self.rows[(run - 1) * width..run * width]);
        (run, at, stop)
    }
}

/// Where a loop's round goes on.
enum Round {
    /// There is no row any more.
    End,
    /// At an instruction of the body.
    Body(usize),
}

impl Run<'_, '_, '_> {
    /// The portal's name that a cursor variable holds.
    pub(super) fn cursor_name(&mut self, cursor: SlotId) -> Option<Arc<str>> {
        match self.state.frame.place(cursor) {
            Datum::Text(name) => Some(Arc::clone(name)),
            _ => None,
        }
    }

    /// OPEN.
    pub(super) fn open(&mut self, cursor: SlotId, query: &OpenQuery) -> Result<()> {
        match query {
            OpenQuery::Bound { arguments } => {
                self.open_bound(cursor, None, *arguments)?;
            }
            OpenQuery::Given { scroll, query } => {
                self.open_portal(cursor, query, *scroll)?;
            }
        }
        Ok(())
    }

    /// Opens a bound cursor, over a piece of its own if one is given.
    pub(super) fn open_bound(
        &mut self,
        cursor: SlotId,
        own: Option<SqlNumber>,
        arguments: Option<SqlNumber>,
    ) -> Result<Arc<SpiPortal>> {
        self.check_unused(cursor)?;
        let code = self.code;
        let Var::Scalar(scalar) = code.var(cursor) else { return Err(no_cursor_variable()) };
        let Some(bound) = &scalar.cursor else { return Err(no_cursor_variable()) };
        if let (Some(arguments), Some(row)) = (arguments, bound.arguments) {
            self.assign_arguments(arguments, row)?;
        }
        self.open_portal(cursor, &Query::Static(own.unwrap_or(bound.query)), bound.scroll)
    }

    /// Gives a cursor's arguments their values.
    fn assign_arguments(&mut self, arguments: SqlNumber, row: SlotId) -> Result<()> {
        let mut rows = Rows::at_most(1);
        let shape = self.with_plan(arguments, |run, plan| {
            let shown = run.piece(arguments).shown.clone();
            run.run_prepared(&mut plan.prepared, &shown, 1, &mut rows)?;
            Ok(Arc::clone(plan.columns()))
        })?;
        // PostgreSQL runs a SELECT INTO for them, which sets FOUND and ROW_COUNT.
        self.ran(Some(Command::Select), rows.rows.len() as u64);
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

    /// Opens a portal of the session for a query.
    fn open_portal(
        &mut self,
        cursor: SlotId,
        query: &Query,
        scroll: Scroll,
    ) -> Result<Arc<SpiPortal>> {
        self.check_unused(cursor)?;
        let scroll = match scroll {
            Scroll::Unsaid => None,
            Scroll::Yes => Some(true),
            Scroll::No => Some(false),
        };
        let (opened, shown) = self.open_query(query, scroll, OpenedBy::Cursor)?;
        let name = self.cursor_name(cursor);
        let portal = self.spi.put_cursor(name.as_deref(), opened, &shown.text)?;
        self.state.frame.set(cursor, Datum::Text(Arc::clone(portal.name())));
        Ok(portal)
    }

    /// The portal of a cursor variable.
    fn portal(&mut self, cursor: SlotId) -> Result<Portal> {
        if let Datum::Text(name) = self.state.frame.place(cursor)
            && let Some(known) = self.portals.iter().find(|known| known.cursor == cursor)
            && Arc::ptr_eq(&known.name, name)
            && known.portal.portal.is_open()
        {
            return Ok(known.portal.clone());
        }
        let name = self.portal_name(cursor)?;
        let portal = self.spi.portal(&name)?;
        let portal = self.with_columns(portal)?;
        self.portals.retain(|known| known.cursor != cursor);
        self.portals.push(KnownPortal { cursor, name, portal: portal.clone() });
        Ok(portal)
    }

    fn with_columns(&mut self, portal: Arc<SpiPortal>) -> Result<Portal> {
        let columns = |cursor: &mut SpiCursor| shape_of_columns(cursor.columns());
        let shape = self.spi.with_portal(&portal, |cursor, _| Ok(columns(cursor)))?;
        Ok(Portal { portal, shape })
    }

    /// The name of a cursor variable's portal.
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
        let portal = self.portal(fetch.cursor)?;
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
        let fetched = match (fetch.target, direction, count) {
            (Some(target), FetchDirection::Forward, 1) if self.code.takes_any_row(target) => {
                let (frame, shape) = (&mut self.state.frame, &portal.shape);
                let mut rows = IntoRecord { frame, record: target, shape };
                let fetched = self
                    .spi
                    .with_portal(&portal.portal, |cursor, spi| cursor.fetch(spi, 1, &mut rows))?;
                if fetched == 0 {
                    self.move_row(target, &portal.shape, None)?;
                }
                fetched
            }
            _ => {
                let (row, fetched) = self.fetch_row(&portal, direction, count)?;
                if let Some(target) = fetch.target {
                    self.move_row(target, &portal.shape, row)?;
                }
                fetched
            }
        };
        self.processed = fetched;
        self.set_found(fetched != 0);
        Ok(())
    }

    /// The first row of a fetch, and the number of rows.
    fn fetch_row(
        &mut self,
        of: &Portal,
        direction: FetchDirection,
        count: i64,
    ) -> Result<(Option<Row>, u64)> {
        let mut rows = OneRow::default();
        let fetched = self.spi.with_portal(&of.portal, |cursor, spi| match (direction, count) {
            (FetchDirection::Forward, 1) => cursor.fetch(spi, 1, &mut rows),
            _ => cursor.fetch_direction(spi, direction, count, &mut rows),
        })?;
        Ok((rows.0, fetched))
    }

    /// The rounds of FOR over a portal.
    fn rounds_over(&mut self, of: &ForCursor, portal: &Portal) -> Result<Flow> {
        let mut found = false;
        loop {
            let round = match self.code.takes_any_row(of.target) {
                true => self.quick_rounds(of, portal, &mut found)?,
                false => match self.fetch_row(portal, FetchDirection::Forward, 1)?.0 {
                    Some(row) => {
                        found = true;
                        self.move_row(of.target, &portal.shape, Some(row))?;
                        Round::Body(0)
                    }
                    None => Round::End,
                },
            };
            let Round::Body(at) = round else {
                if !found {
                    self.move_row(of.target, &portal.shape, None)?;
                }
                self.set_found(found);
                return Ok(Flow::Next);
            };
            if let ControlFlow::Break(flow) = self.script_from(&of.body, at)?.in_loop(of.label) {
                self.set_found(true);
                return Ok(flow);
            }
        }
    }

    /// Rounds as long as the body consists of specialised instructions, which use no portal: so the
    /// loop need not give its portal back between them. Rows that the cursor may read ahead are run over
    /// where they are. The record gets the row that the loop stops at, and the last one of a piece.
    fn quick_rounds(&mut self, of: &ForCursor, portal: &Portal, found: &mut bool) -> Result<Round> {
        let mut quick = self.state.take_quick(&of.body);
        let (state, found_slot) = (&mut *self.state, self.code.found);
        let done = self.spi.with_portal(&portal.portal, |cursor, spi| {
            loop {
                let shape = &portal.shape;
                let rows = cursor.look_ahead(spi)?;
                if !rows.is_empty() {
                    *found = true;
                    let ahead = Ahead { of: (&of.body, of.target), shape, rows };
                    let (run, at, stop) = ahead.run(&mut quick, state, (found_slot, spi.epoch()));
                    cursor.take(run);
                    match stop {
                        Stop::End => continue,
                        Stop::Any => {}
                        Stop::Check => spi.check_interrupts()?,
                    }
                    return Ok(Round::Body(at));
                }
                let frame = &mut state.frame;
                let mut rows = IntoRecord { frame, record: of.target, shape };
                if cursor.fetch(spi, 1, &mut rows)? == 0 {
                    return Ok(Round::End);
                }
                *found = true;
                quick.keep_current(&of.body, found_slot, &state.frame, spi.epoch());
                let mut at = 0;
                let values = state.frame.without_texts();
                match quick.run(values, &mut state.counters, &mut at) {
                    Stop::End => {}
                    Stop::Any => return Ok(Round::Body(at)),
                    Stop::Check => {
                        spi.check_interrupts()?;
                        return Ok(Round::Body(at));
                    }
                }
            }
        });
        self.state.quick[of.body.number as usize] = Some(quick);
        done
    }

    /// FOR over a bound cursor (exec_stmt_forc). Its portal is pinned while the loop runs.
    pub(super) fn for_cursor(&mut self, of: &ForCursor) -> Result<Flow> {
        let was_null = self.cursor_name(of.cursor).is_none();
        let opened = self.open_bound(of.cursor, of.query, of.arguments)?;
        let mut portal = self.with_columns(opened)?;
        portal.shape = self.state.frame.known_shape(of.target, portal.shape);
        self.spi.pin(&portal.portal);
        let done = self.rounds_over(of, &portal);
        self.spi.unpin(&portal.portal);
        self.spi.close_cursor(portal.portal.name())?;
        if was_null {
            self.state.frame.set(of.cursor, Datum::Null);
        }
        done
    }

    /// CLOSE.
    pub(super) fn close(&mut self, cursor: SlotId) -> Result<()> {
        let name = self.portal_name(cursor)?;
        self.spi.close_cursor(&name)
    }
}

fn no_cursor_variable() -> Error {
    Error::internal("a variable that holds no cursor was opened as one")
}

fn no_portal(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
