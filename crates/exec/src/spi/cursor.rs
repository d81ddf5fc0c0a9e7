//! Rows of a function's query in pieces: FOR loops over queries, cursors (SPI_cursor_open,
//! portalmem.c).
//!
//! A cursor reads at the snapshot of the moment when it was opened, which the transaction holds until
//! the cursor is closed. Rows are *fixed* if they depend on that snapshot and the parameters alone
//! ([`has_fixed_rows`]).
//!
//! * A cursor that moves backward keeps the rows that it has read, beyond work_mem in a temporary
//!   file. If its rows are fixed, it begins to keep them at its first backward move: its plan runs
//!   again up to its position, at the same snapshot. Otherwise it keeps them from the start.
//! * A cursor that is *held* has read all its rows, and outlives the transaction.
//! * A cursor that is asked for single rows reads some more ([`ahead`](super::ahead)), if they are
//!   fixed.
//!
//! The rows of a cursor with a name have their positions, too ([`place`](super::place)).

use super::ahead::Ahead;
use super::in_use::OpenQuery;
use super::place::{CursorPlace, Placing, held_from_before};
use super::portals::ClientCursor;
use super::prepared::Body;
use super::sinks::{Counted, Nothing};
use super::{Prepared, Spi, present};
use crate::prepare::{PreparedPlan, Snapshot as TakenFrom, begin_in_place};
use crate::sink::RowSink;
use crate::statement::{ExecEnv, Execution, FetchStatus};
use crate::tuplestore::{StoreReader, TupleStore};
use crate::watch::{Watched, measured};
use std::sync::Arc;
use steppe_sql::ast::{FETCH_ALL, FetchDirection};
use steppe_sql::plan::{ResultColumn, goes_backward, has_fixed_rows, locks_rows};
use steppe_sql::query::Command;
use steppe_txn::{IsolationLevel, Snapshot};
use steppe_types::{Datum, Error, Result, SqlState};

/// An open cursor.
pub struct SpiCursor {
    of: Of,
    /// The running query. It ends with its last row, or with the cursor if it may run again.
    running: Option<Running>,
    /// For a query that runs again if the cursor moves backward.
    again: Option<Again>,
    /// The rows that have been read, if it keeps them.
    kept: Option<Kept>,
    /// The rows that have been read before they are asked for.
    ahead: Ahead,
    /// The columns of the last row that no sink gets.
    place: Vec<Datum>,
    /// Its transaction has ended, and it goes on.
    is_held: bool,
    /// A fetch has failed, so it cannot be run (PORTAL_FAILED).
    has_failed: bool,
    /// It keeps rows and moves forward only.
    is_forward_only: bool,
    /// The number of rows before its position, and whether it is behind the last one.
    position: u64,
    is_behind: bool,
}

/// The statement of a cursor.
enum Of {
    Plan(Arc<PreparedPlan>),
    /// A statement without a plan, whose rows are kept, has these columns.
    Utility(Arc<[ResultColumn]>),
    /// One of the client's.
    Client(Box<dyn ClientCursor>),
}

struct Running {
    execution: Box<Execution>,
    held: Snapshot,
    _open: OpenQuery,
    /// It has returned its last row.
    is_done: bool,
    watched: Option<Box<WatchedCursor>>,
}

/// A cursor's query that is watched: the watch is told of it at its end.
struct WatchedCursor {
    watched: Option<Watched>,
    text: Arc<str>,
    params: Arc<[Datum]>,
    env: ExecEnv,
    rows: u64,
}

/// The environment and the parameters of a run.
struct Again {
    env: Box<ExecEnv>,
    values: Arc<[Datum]>,
}

struct Kept {
    rows: TupleStore,
    reader: StoreReader,
}

impl Spi<'_> {
    /// Opens a cursor over a query. `scroll` tells whether it can move backward. `None` leaves that
    /// to the plan. 42P11 for a statement that is no query, 0A000 to move backward over locked rows.
    pub fn open(
        &mut self,
        prepared: &mut Prepared,
        params: &[Datum],
        scroll: Option<bool>,
    ) -> Result<SpiCursor> {
        let returns_rows = prepared.returns_rows();
        let planned = match &mut prepared.body {
            Body::Plan(planned) if returns_rows => planned,
            Body::Utility(utility) if !utility.columns.is_empty() => {
                return self.open_utility(prepared, params, scroll);
            }
            _ => {
                let message = format!("cannot open {} query as cursor", prepared.command_name());
                return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message));
            }
        };
        let is_read_only = self.is_read_only;
        let snapshot = if is_read_only { TakenFrom::Callers } else { TakenFrom::New };
        planned.env.statement_timestamp = self.cx.functions.statement_timestamp;
        planned.env.transaction_timestamp = self.cx.functions.transaction_timestamp;
        let values = planned.values(params, &prepared.literals);
        let text = &prepared.text;
        let (plan, execution, held, watched) = self.lend(|txn| {
            loop {
                let watched = Watched::begin(&*planned.env.session);
                let measures_nodes = watched.as_ref().is_some_and(|it| it.measures_nodes);
                planned.make_ready(txn, is_read_only)?;
                let plan = planned.for_values(&values)?;
                let within = (&planned.env, &*planned.engine);
                let from = (snapshot, measures_nodes);
                if scroll == Some(true) && locks_rows(&plan.compiled.planned().plan) {
                    return Err(no_scroll_with_locks());
                }
                plan.compiled.check_constants(Some(&values), &planned.env.catalog)?;
                let begun = begin_in_place(&plan.compiled, &values, within, txn, from)?;
                let Some(mut execution) = begun else { continue };
                execution.begin_scans(txn)?;
                let txn = &mut present(txn)?.txn;
                let held = txn.snapshot();
                txn.hold_snapshot(held);
                let execution = Box::new(execution);
                let watched = watched.map(|watched| {
                    let (text, params) = (Arc::clone(text), Arc::clone(&values));
                    let (watched, env) = (Some(watched), planned.env.clone());
                    Box::new(WatchedCursor { watched, text, params, env, rows: 0 })
                });
                return Ok((plan, execution, held, watched));
            }
        })?;
        let _open = self.open_query(&plan);
        let running = Running { execution, held, _open, is_done: false, watched };
        let stmt = plan.compiled.planned();
        let (mut kept, mut again) = (None, None);
        if scroll.unwrap_or_else(|| goes_backward(&stmt.plan)) {
            match has_fixed_rows(stmt) {
                true => again = Some(Again { env: Box::new(planned.env.clone()), values }),
                false => kept = Some(Kept::new(self.new_store(width(&plan)))),
            }
        }
        Ok(SpiCursor { running: Some(running), again, kept, ..SpiCursor::over(Of::Plan(plan)) })
    }

    /// Opens a cursor over the rows of a statement without a plan, which is run.
    fn open_utility(
        &mut self,
        prepared: &mut Prepared,
        params: &[Datum],
        scroll: Option<bool>,
    ) -> Result<SpiCursor> {
        let columns: Arc<[ResultColumn]> = prepared.columns().into();
        let mut rows = self.new_store(columns.len());
        self.run_limited(prepared, params, 0, &mut rows)?;
        let kept = Some(Kept::new(rows));
        let is_forward_only = scroll != Some(true);
        Ok(SpiCursor { kept, is_forward_only, ..SpiCursor::over(Of::Utility(columns)) })
    }
}

impl WatchedCursor {
    fn end(self, plan: &PreparedPlan, execution: &Execution) {
        let WatchedCursor { watched, text, params, env, rows } = self;
        if let Some(watched) = watched {
            watched.end(rows, (plan, &text), (&params, &env), Some(execution));
        }
    }
}

impl SpiCursor {
    /// Before the first row. The caller adds what has the rows.
    fn over(of: Of) -> SpiCursor {
        SpiCursor {
            of,
            running: None,
            again: None,
            kept: None,
            ahead: Ahead::default(),
            place: Vec::new(),
            is_held: false,
            has_failed: false,
            is_forward_only: false,
            position: 0,
            is_behind: false,
        }
    }

    /// One of the client's.
    pub(super) fn of_client(cursor: Box<dyn ClientCursor>) -> SpiCursor {
        SpiCursor::over(Of::Client(cursor))
    }

    /// The columns of its rows.
    pub fn columns(&self) -> &[ResultColumn] {
        match &self.of {
            Of::Plan(plan) => plan.compiled.columns(),
            Of::Utility(columns) => columns,
            Of::Client(cursor) => cursor.columns(),
        }
    }

    /// The number of columns of its rows, and of their positions.
    fn width(&self) -> usize {
        match &self.of {
            Of::Plan(plan) => width(plan),
            Of::Utility(columns) => columns.len(),
            Of::Client(cursor) => cursor.columns().len(),
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether it can move backward.
    pub fn can_scroll(&self) -> bool {
        !self.is_forward_only && (self.kept.is_some() || self.again.is_some())
    }

    /// The row that it is on, for WHERE CURRENT OF. 24000 if it is no cursor over a table's rows.
    pub(super) fn place(&self, name: &str) -> Result<CursorPlace> {
        let Of::Plan(plan) = &self.of else { return Err(no_select(name)) };
        let planned = plan.compiled.planned();
        if planned.command != Command::Select {
            return Err(no_select(name));
        }
        if self.is_held {
            return Err(held_from_before(name));
        }
        Ok(CursorPlace::of(planned, self.is_on_row().then(|| self.place.clone())))
    }

    fn is_on_row(&self) -> bool {
        self.position > 0 && !self.is_behind
    }

    /// Gives the next rows to the sink, `rows` at most (0: all). Returns their number.
    #[inline]
    pub fn fetch(&mut self, spi: &mut Spi<'_>, rows: u64, sink: &mut dyn RowSink) -> Result<u64> {
        self.visibly(sink, |cursor, sink| cursor.next_rows(spi, rows, sink))
    }

    /// FETCH in any direction: gives the rows to the sink, and moves. Returns the number of rows.
    /// 55000 for a move backward that the cursor cannot make.
    pub fn fetch_direction(
        &mut self,
        spi: &mut Spi<'_>,
        direction: FetchDirection,
        count: i64,
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        self.visibly(sink, |cursor, sink| cursor.move_by(spi, direction, count, sink))
    }

    /// Runs a fetch. The sink gets the rows without their positions.
    #[inline]
    fn visibly<T>(
        &mut self,
        sink: &mut dyn RowSink,
        fetch: impl FnOnce(&mut SpiCursor, &mut dyn RowSink) -> Result<T>,
    ) -> Result<T> {
        let columns = match &self.of {
            Of::Plan(plan) if has_places(plan) => plan.compiled.columns().len(),
            _ => {
                let fetched = fetch(self, sink);
                self.has_failed |= fetched.is_err();
                return fetched;
            }
        };
        let mut place = std::mem::take(&mut self.place);
        let fetched = fetch(self, &mut Placing { sink, columns, place: &mut place });
        self.place = place;
        self.has_failed |= fetched.is_err();
        fetched
    }

    fn next_rows(&mut self, spi: &mut Spi<'_>, rows: u64, sink: &mut dyn RowSink) -> Result<u64> {
        if let Of::Client(_) = &self.of {
            let count = i64::try_from(rows).ok().filter(|rows| *rows > 0).unwrap_or(FETCH_ALL);
            return self.move_by(spi, FetchDirection::Forward, count, sink);
        }
        let fetched = match &mut self.kept {
            None => self.read(spi, rows, sink)?,
            Some(_) => {
                let until = if rows == 0 { u64::MAX } else { self.position.saturating_add(rows) };
                self.keep_until(spi, until)?;
                self.give(self.position, until, sink)?
            }
        };
        self.position += fetched;
        self.is_behind = rows == 0 || fetched < rows;
        Ok(fetched)
    }

    fn move_by(
        &mut self,
        spi: &mut Spi<'_>,
        direction: FetchDirection,
        count: i64,
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        if let Of::Client(cursor) = &mut self.of {
            return spi.lend(|txn| cursor.fetch(txn, (direction, count), sink));
        }
        if !self.goes_on(direction, count) {
            if self.is_forward_only && (count != 0 || self.is_on_row()) {
                return Err(no_scroll());
            }
            if self.again.is_some() {
                self.keep_from_now(spi)?;
            }
        }
        match (direction, count) {
            (FetchDirection::Forward, FETCH_ALL) => self.next_rows(spi, 0, sink),
            (FetchDirection::Forward, 0) | (FetchDirection::Relative, 0) => self.current(sink),
            (FetchDirection::Forward, 1..) => self.next_rows(spi, count.unsigned_abs(), sink),
            (FetchDirection::Forward, _) => self.backward(count.unsigned_abs(), sink),
            (FetchDirection::Backward, FETCH_ALL) => self.backward(u64::MAX, sink),
            (FetchDirection::Backward, 1..) => self.backward(count.unsigned_abs(), sink),
            (FetchDirection::Backward, 0) => self.current(sink),
            (FetchDirection::Backward, _) => self.next_rows(spi, count.unsigned_abs(), sink),
            (FetchDirection::Absolute, 0..) => self.absolute(spi, count.unsigned_abs(), sink),
            (FetchDirection::Absolute, _) => {
                self.keep_until(spi, u64::MAX)?;
                let all = self.kept_rows()?;
                let target = (all + 1).saturating_sub(count.unsigned_abs());
                self.absolute(spi, target, sink)
            }
            (FetchDirection::Relative, _) => {
                let target = self.row_number().saturating_add(count).max(0);
                self.absolute(spi, target.unsigned_abs(), sink)
            }
        }
    }

    /// Reads all its rows now, so that it outlives the transaction (HoldPinnedPortals). 55000 for a
    /// statement that changes rows.
    pub fn hold(&mut self, spi: &mut Spi<'_>) -> Result<()> {
        if let Of::Plan(plan) = &self.of
            && plan.compiled.planned().command != Command::Select
        {
            let message = "cannot perform transaction commands inside a cursor loop that is not \
                           read-only";
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        self.is_held = true;
        if self.again.is_some() {
            self.keep_from_now(spi)?;
        }
        if self.running.is_none() {
            return Ok(());
        }
        if self.kept.is_none() {
            self.kept = Some(Kept::new(spi.new_store(self.width())));
            self.is_forward_only = true;
            self.position = 0;
        }
        self.keep_until(spi, u64::MAX)
    }

    /// Whether a move is forward, to a row that it has not given.
    fn goes_on(&self, direction: FetchDirection, count: i64) -> bool {
        match direction {
            FetchDirection::Forward | FetchDirection::Relative => count > 0,
            FetchDirection::Backward => count < 0,
            FetchDirection::Absolute => count > self.row_number(),
        }
    }

    /// Begins to keep rows: those up to the position are read once more. XX000 if they are not there
    /// any more.
    #[cold]
    fn keep_from_now(&mut self, spi: &mut Spi<'_>) -> Result<()> {
        let (Some(again), Some(running)) = (self.again.take(), &mut self.running) else {
            return Err(Error::internal("a cursor's query cannot run again"));
        };
        *running.execution = running.execution.again(again.values, &again.env)?;
        running.is_done = false;
        running.watched.iter_mut().for_each(|cursor| cursor.rows = 0);
        self.ahead = Ahead::default();
        self.kept = Some(Kept::new(spi.new_store(self.width())));
        self.keep_until(spi, self.position.saturating_add(u64::from(self.is_behind)))?;
        match self.kept_rows()? < self.position {
            true => Err(Error::internal("the rows of a cursor are not there any more")),
            false => Ok(()),
        }
    }

    /// The next rows, their values one after the other, if it may read them before they are asked for.
    /// It is empty if the next row must be fetched, or if there is no row. [`Self::take`] moves over them.
    pub fn look_ahead(&mut self, spi: &mut Spi<'_>) -> Result<&[Datum]> {
        // Rows with positions are given one by one, so that their positions are kept.
        if self.kept.is_some() || matches!(&self.of, Of::Plan(plan) if has_places(plan)) {
            return Ok(&[]);
        }
        if self.ahead.is_spent() && self.reads_ahead(spi) {
            self.read_some(spi)?;
        }
        Ok(self.ahead.left())
    }

    /// Moves over rows that it has let its program look at.
    pub fn take(&mut self, rows: usize) {
        self.ahead.take(rows);
        self.position += rows as u64;
        self.is_behind = false;
    }

    /// Closes it. Its snapshot is released.
    pub fn close(mut self, spi: &mut Spi<'_>) {
        self.end(spi);
    }

    /// Ends its query.
    fn end(&mut self, spi: &mut Spi<'_>) {
        if let Some(Running { execution, held, watched, .. }) = self.running.take() {
            if let (Some(watched), Of::Plan(plan)) = (watched, &self.of) {
                watched.end(plan, &execution);
            }
            drop(execution);
            if let Ok(txn) = spi.cx.txn() {
                txn.txn.release_snapshot(held);
            }
        }
    }

    /// Gives rows of the query to the sink, `rows` at most (0: all), and returns their number.
    #[inline]
    fn read(&mut self, spi: &mut Spi<'_>, rows: u64, sink: &mut dyn RowSink) -> Result<u64> {
        let mut given = self.ahead.give(rows, sink)?;
        if given == rows && rows > 0 {
            return Ok(given);
        }
        if rows == 1 && self.reads_ahead(spi) {
            self.read_some(spi)?;
            return self.ahead.give(1, sink);
        }
        let missing = if rows == 0 { 0 } else { rows - given };
        given += self.run(spi, missing, sink)?;
        Ok(given)
    }

    /// Whether more rows than are asked for may be read. The first row never is one of several.
    fn reads_ahead(&mut self, spi: &mut Spi<'_>) -> bool {
        let is_watched = self.running.as_ref().is_some_and(|running| running.watched.is_some());
        // The watch is told of the rows that the function has asked for.
        if self.position == 0 || self.kept.is_some() || is_watched {
            return false;
        }
        let Of::Plan(plan) = &self.of else { return false };
        let stmt = plan.compiled.planned();
        self.ahead.is_allowed(|| {
            // A serializable transaction notes which rows it reads.
            let txn = spi.cx.txn();
            let is_noted = |isolation| isolation == IsolationLevel::Serializable;
            !txn.is_ok_and(|txn| is_noted(txn.txn.isolation())) && has_fixed_rows(stmt)
        })
    }

    /// Reads some rows before they are asked for.
    fn read_some(&mut self, spi: &mut Spi<'_>) -> Result<()> {
        let mut ahead = std::mem::take(&mut self.ahead);
        let read = ahead.begin(self.width(), |rows, sink| self.run(spi, rows, sink));
        self.ahead = ahead;
        read
    }

    /// Runs the query for its next rows.
    fn run(&mut self, spi: &mut Spi<'_>, rows: u64, sink: &mut dyn RowSink) -> Result<u64> {
        let Some(running) = self.running.as_mut().filter(|running| !running.is_done) else {
            return Ok(0);
        };
        let mut counted = Counted { sink, rows: 0 };
        let execution = &mut running.execution;
        let status = match &mut running.watched {
            None => spi.lend(|txn| execution.fetch(txn, rows, &mut counted)),
            Some(cursor) => measured(&mut cursor.watched, || {
                spi.lend(|txn| execution.fetch(txn, rows, &mut counted))
            }),
        };
        let rows = counted.rows;
        if let Some(cursor) = &mut running.watched {
            cursor.rows += rows;
        }
        if let FetchStatus::Done { .. } = status? {
            running.is_done = true;
            if self.again.is_none() {
                self.end(spi);
            }
        }
        Ok(rows)
    }

    /// Keeps rows until there are `until` of them, or all.
    fn keep_until(&mut self, spi: &mut Spi<'_>, until: u64) -> Result<()> {
        let Some(mut kept) = self.kept.take() else { return Err(no_scroll()) };
        let missing = until.saturating_sub(kept.rows.len() as u64);
        let wanted = if until == u64::MAX { 0 } else { missing };
        let read = match missing {
            0 => Ok(0),
            _ => self.read(spi, wanted, &mut kept.rows),
        };
        self.kept = Some(kept);
        read.map(drop)
    }

    fn kept_rows(&self) -> Result<u64> {
        self.kept.as_ref().map(|kept| kept.rows.len() as u64).ok_or_else(no_scroll)
    }

    /// Gives kept rows to the sink, and returns their number.
    fn give(&mut self, from: u64, until: u64, sink: &mut dyn RowSink) -> Result<u64> {
        let Some(Kept { rows, reader }) = &mut self.kept else { return Err(no_scroll()) };
        let until = until.min(rows.len() as u64);
        let mut row = Vec::new();
        for at in from..until {
            row.clear();
            rows.read_at(reader, at as usize, &mut row)?;
            sink.row(&row)?;
        }
        Ok(until.saturating_sub(from))
    }

    /// The number of the row that it is on; 0 before the first one.
    fn row_number(&self) -> i64 {
        let place = self.position + u64::from(self.is_behind);
        i64::try_from(place).unwrap_or(i64::MAX)
    }

    /// The row that it is on, once more.
    fn current(&mut self, sink: &mut dyn RowSink) -> Result<u64> {
        match (self.position.checked_sub(1), self.is_behind) {
            (Some(at), false) => self.give(at, at + 1, sink),
            _ => Ok(0),
        }
    }

    /// Moves to a row by its number, and gives it to the sink.
    fn absolute(&mut self, spi: &mut Spi<'_>, target: u64, sink: &mut dyn RowSink) -> Result<u64> {
        if self.kept.is_none() {
            let place = self.position + u64::from(self.is_behind);
            let Some(ahead) = target.checked_sub(place) else { return Err(no_scroll()) };
            if ahead > 1 {
                self.next_rows(spi, ahead - 1, &mut Nothing)?;
            }
            return if ahead > 0 { self.next_rows(spi, 1, sink) } else { self.current(sink) };
        }
        self.keep_until(spi, target)?;
        let all = self.kept_rows()?;
        self.position = target.min(all);
        self.is_behind = target > all;
        self.current(sink)
    }

    /// Gives the rows before it to the sink, the nearest first.
    fn backward(&mut self, count: u64, sink: &mut dyn RowSink) -> Result<u64> {
        if self.kept.is_none() {
            return Err(no_scroll());
        }
        let behind = self.position + u64::from(self.is_behind);
        let mut given = 0;
        let mut place = behind;
        while given < count && place > 1 {
            place -= 1;
            given += self.give(place - 1, place, sink)?;
        }
        self.position = if given < count { 0 } else { place };
        self.is_behind = false;
        Ok(given)
    }
}

/// Whether the rows of a plan have their positions.
fn has_places(plan: &PreparedPlan) -> bool {
    let positions = &plan.compiled.planned().positions;
    positions.as_ref().is_some_and(|positions| !positions.tables.is_empty())
}

/// The number of columns of a plan's rows, and of their positions.
fn width(plan: &PreparedPlan) -> usize {
    let planned = plan.compiled.planned();
    let tables = planned.positions.as_ref().map_or(0, |positions| positions.tables.len());
    planned.columns.len() + 2 * tables
}

impl Kept {
    fn new(rows: TupleStore) -> Kept {
        Kept { rows, reader: StoreReader::default() }
    }
}

#[cold]
fn no_select(name: &str) -> Error {
    let message = format!("cursor \"{name}\" is not a SELECT query");
    Error::new(SqlState::INVALID_CURSOR_STATE, message)
}

#[cold]
fn no_scroll() -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
        .hint("Declare it with SCROLL option to enable backward scan.")
}

#[cold]
fn no_scroll_with_locks() -> Error {
    let message = "DECLARE SCROLL CURSOR ... FOR UPDATE/SHARE is not supported";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail("Scrollable cursors must be READ ONLY.")
}
