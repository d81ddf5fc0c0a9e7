//! Cursors: DECLARE, FETCH, MOVE, CLOSE (src/backend/commands/portalcmds.c,
//! DoPortalRunFetch in src/backend/tcop/pquery.c).
//!
//! A cursor runs its plan as rows are asked for. A cursor that may move backward (SCROLL) or
//! outlives its transaction (WITH HOLD) keeps the rows that it has fetched. Beyond work_mem they
//! are in a temporary file. As in PostgreSQL, a cursor declared without SCROLL may still move
//! backward if its plan is simple enough. It begins to keep rows at its first backward move: its
//! plan runs again up to its position, at the same snapshot.

use std::ops::Range;
use std::sync::Arc;

use steppe_exec::{FetchStatus, RowSink, StoreReader, TupleStore};
use steppe_sql::ast::{self, DeclareCursorStmt, FetchDirection, FetchStmt};
use steppe_sql::plan::{Plan, PlanNode, ResultColumn, goes_backward};
use steppe_types::{Datum, Error, Result, SqlState};

use super::Session;
use super::explain::BoundParams;
use super::plan::put_description;
use super::portal::{PlanPortal, Portal, PortalBody};
use super::run::{self, Progress};
use super::sink::{KeepingSink, NullSink, ResultFormats, WireSink};
use super::tag::CommandTag;
use crate::cursor_place::{CursorPlace, CursorPlaces};
use crate::plan_cache::CachedPlan;

/// Rows that one fetch for keeping gets.
const KEEP_CHUNK_ROWS: u64 = 256;
/// Kept rows read at once: a backward fetch reads a piece of the file forward.
const READ_CHUNK_ROWS: usize = 256;

/// A cursor.
pub(super) struct Cursor {
    name: Arc<str>,
    pub(super) plan: PlanPortal,
    /// The kept rows, if it keeps them.
    kept: Option<Box<Kept>>,
    /// WITH HOLD.
    hold: bool,
    /// It may move backward.
    scroll: bool,
    /// WITH HOLD, and its transaction has committed.
    held_beyond: bool,
    binary: bool,
    /// For a cursor that keeps no rows: rows handed out so far, and whether these are all.
    at: u64,
    at_end: bool,
}

/// Rows kept: in memory up to work_mem, then in a temporary file.
struct Kept {
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

impl Cursor {
    /// Whether its transaction has committed, and it outlives it.
    pub(super) fn is_held(&self) -> bool {
        self.held_beyond
    }

    /// Whether it will outlive its transaction, if that commits.
    pub(super) fn is_to_be_held(&self) -> bool {
        self.hold && !self.held_beyond
    }

    /// The row that it is on.
    fn place(&mut self) -> Result<CursorPlace> {
        if self.held_beyond {
            return Err(Error::new(
                SqlState::INVALID_CURSOR_STATE,
                format!("cursor \"{}\" is held from a previous transaction", self.name),
            ));
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
        let positions = planned.positions.clone().unwrap_or_default();
        Ok(CursorPlace { positions, is_simple: reads_in_place(&planned.plan), row })
    }

    /// WITH HOLD, BINARY, SCROLL.
    pub(super) fn options(&self) -> (bool, bool, bool) {
        (self.hold, self.binary, self.scroll)
    }
}

/// Refuses a statement that is no read-only query, and options that conflict with row locks
/// (transformDeclareCursorStmt).
fn check_declared(declare: &DeclareCursorStmt) -> Result<()> {
    let ast::Statement::Select(select) = &*declare.query else {
        let message = "DECLARE CURSOR must specify a SELECT statement";
        return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message));
    };
    let mut queries = select.with.iter().flat_map(|with| &with.ctes).map(|cte| &*cte.query);
    if queries.any(|query| !matches!(query, ast::Statement::Select(_))) {
        let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let Some(clause) = select.locking.first() else { return Ok(()) };
    let clause = clause.strength.as_str();
    let refused = |kind: &str, what: String| {
        let detail = format!("{kind} cursors must be READ ONLY.");
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, what).detail(detail))
    };
    if declare.hold {
        return refused(
            "Holdable",
            format!("DECLARE CURSOR WITH HOLD ... {clause} is not supported"),
        );
    }
    if declare.scroll == Some(true) {
        return refused(
            "Scrollable",
            format!("DECLARE SCROLL CURSOR ... {clause} is not supported"),
        );
    }
    if declare.sensitivity == ast::CursorSensitivity::Insensitive {
        let message = format!("DECLARE INSENSITIVE CURSOR ... {clause} is not valid");
        return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message)
            .detail("Insensitive cursors must be READ ONLY."));
    }
    Ok(())
}

impl Session {
    /// DECLARE.
    pub(super) async fn declare_cursor(
        &mut self,
        declare: &DeclareCursorStmt,
        source: &Arc<str>,
        bound: &BoundParams,
    ) -> Result<CommandTag> {
        if !declare.hold {
            self.require_block("DECLARE CURSOR")?;
        }
        self.portals.check_free("cursor", &declare.name)?;
        let statement = Arc::new((*declare.query).clone());
        check_declared(declare)?;
        let make =
            |session: &mut Session| session.plan_cursor(&statement, source, bound.declared());
        let plan = self.made_locked(&statement, make).await?;
        self.check_constants(&plan, &bound.values)?;
        if let Some(command) = plan.refused_read_only {
            self.check_writable(command)?;
        }
        let locks = plan.writes();
        let scroll = declare
            .scroll
            .unwrap_or_else(|| !locks && goes_backward(&plan.compiled.planned().plan));
        let keeps = declare.hold || declare.scroll == Some(true);
        let mut plan = PlanPortal::new(plan, Arc::clone(&bound.values));
        plan.may_run_again = scroll && !keeps;
        self.start_statement()?;
        self.start_execution(&mut plan)?;
        self.suspend(&mut plan)?;
        let kept = keeps.then(|| self.nothing_kept(&plan));
        let cursor = Cursor {
            name: declare.name.as_str().into(),
            plan,
            kept,
            hold: declare.hold,
            scroll,
            held_beyond: false,
            binary: declare.binary,
            at: 0,
            at_end: false,
        };
        let portal = Box::new(Portal {
            body: PortalBody::Cursor(cursor),
            source: Arc::clone(source),
            formats: ResultFormats::Text,
            depth: self.transaction.depth(),
            created_at: self.statement.env.statement_timestamp,
            bytes: 0,
            has_failed: false,
        });
        self.portals.put(&declare.name, portal)?;
        Ok(CommandTag::Plain("DECLARE CURSOR"))
    }

    /// CLOSE.
    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<CommandTag> {
        match name {
            None => {
                self.portals.remove_all(&mut self.transaction);
                self.core.routines.end_transaction();
                Ok(CommandTag::Plain("CLOSE CURSOR ALL"))
            }
            Some(name) if self.is_functions_cursor(name) => self.close_functions_cursor(name),
            Some(name) => {
                let portal = self.portals.take_cursor(name)?;
                self.portals.put_back(name, portal);
                self.portals.remove(name, &mut self.transaction);
                Ok(CommandTag::Plain("CLOSE CURSOR"))
            }
        }
    }

    /// The columns of a cursor, for Describe of FETCH.
    pub(super) fn cursor_columns(&self, name: &str) -> Option<Vec<ResultColumn>> {
        let plan = match &self.portals.get(name).ok()?.body {
            PortalBody::Cursor(cursor) => &cursor.plan,
            PortalBody::Plan(plan) => plan,
            PortalBody::Empty | PortalBody::Utility { .. } => return None,
        };
        Some(plan.plan.compiled.columns().to_vec())
    }

    /// FETCH and MOVE.
    pub(super) async fn fetch_statement(
        &mut self,
        fetch: &FetchStmt,
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<CommandTag> {
        if self.is_functions_cursor(&fetch.cursor) {
            return self.fetch_functions_cursor(fetch, formats, describe);
        }
        let mut portal = self.portals.take_cursor(&fetch.cursor)?;
        let runnable = portal.check_runnable(&fetch.cursor);
        let fetched = match (&mut portal.body, runnable) {
            (_, Err(error)) => Err(error),
            (PortalBody::Cursor(cursor), Ok(())) => {
                self.fetch_cursor(cursor, fetch, formats, describe).await
            }
            (PortalBody::Plan(plan), Ok(())) if plan.gives_rows() => {
                self.fetch_bound(plan, fetch, formats, describe).await
            }
            (PortalBody::Utility { statement, .. }, Ok(()))
                if self.utility_columns(statement).is_ok_and(|columns| columns.is_some()) =>
            {
                Err(Error::not_supported("FETCH from a portal that is no query's"))
            }
            // PostgreSQL's PortalRunFetch has this message.
            _ => Err(Error::internal("unsupported portal strategy")),
        };
        if fetched.is_err() {
            portal.fail(&mut self.transaction);
        }
        self.portals.put_back(&fetch.cursor, portal);
        let rows = fetched?;
        Ok(CommandTag::Rows(if fetch.is_move { "MOVE" } else { "FETCH" }, rows))
    }

    async fn fetch_cursor(
        &mut self,
        cursor: &mut Cursor,
        fetch: &FetchStmt,
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<u64> {
        let formats = if cursor.binary { &ResultFormats::Binary } else { formats };
        if describe && !fetch.is_move {
            put_description(&mut self.wire.out, cursor.plan.plan.compiled.columns(), formats)?;
        }
        if cursor.plan.may_run_again && !goes_on(fetch, cursor.at) {
            self.keep_from_now(cursor)?;
        }
        let fetched = if cursor.kept.is_some() {
            self.fetch_kept(cursor, fetch, formats).await
        } else {
            self.fetch_forward(cursor, fetch, formats).await
        };
        if fetched.is_err() {
            cursor.plan.release(&mut self.transaction);
        }
        fetched
    }

    /// FETCH and MOVE on a portal of the extended protocol, which only moves forward. A statement
    /// that changes rows has made all its changes before its first row is fetched.
    async fn fetch_bound(
        &mut self,
        plan: &mut PlanPortal,
        fetch: &FetchStmt,
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<u64> {
        if plan.execution.is_none() && plan.done.is_none() {
            let start = self.start_at_once(plan, formats, 1)?;
            self.start_plan(plan, formats, 1, start).await?;
            self.suspend(plan)?;
        }
        let (at, at_end) = (plan.told, plan.done.is_some());
        let nothing = PlanPortal::new(Arc::clone(&plan.plan), Arc::clone(&plan.params));
        let plan_of = std::mem::replace(plan, nothing);
        let mut cursor = Cursor {
            name: fetch.cursor.as_str().into(),
            plan: plan_of,
            kept: None,
            hold: false,
            scroll: false,
            held_beyond: false,
            binary: false,
            at,
            at_end,
        };
        let fetched = self.fetch_cursor(&mut cursor, fetch, formats, describe).await;
        *plan = cursor.plan;
        plan.told = cursor.at;
        fetched
    }

    /// Execute of a cursor that DECLARE has made: sends its next rows, or all if `max_rows` is 0.
    pub(super) async fn execute_cursor(
        &mut self,
        cursor: &mut Cursor,
        max_rows: u64,
        formats: &ResultFormats,
    ) -> Result<u64> {
        let fetch = FetchStmt {
            direction: FetchDirection::Forward,
            count: i64::try_from(max_rows).ok().filter(|rows| *rows > 0).unwrap_or(ast::FETCH_ALL),
            is_move: false,
            cursor: String::new(),
        };
        self.fetch_cursor(cursor, &fetch, formats, false).await
    }

    /// Stores the positions of the cursors that a statement names, for its WHERE CURRENT OF.
    pub(super) fn place_cursors(&mut self, plan: &CachedPlan) {
        if plan.compiled.planned().cursors.is_empty() {
            return;
        }
        let mut places = CursorPlaces::default();
        for name in &plan.compiled.planned().cursors {
            let place = self.portals.cursor_mut(name).and_then(Cursor::place);
            places.0.insert(Arc::clone(name), place);
        }
        *self.core.cursor_places.lock() = places;
    }

    /// An empty store for the rows of a cursor over this plan.
    fn nothing_kept(&self, portal: &PlanPortal) -> Box<Kept> {
        let width = row_width(portal);
        let temp = Some(Arc::clone(&self.statement.env.temp));
        Box::new(Kept {
            rows: TupleStore::new(width, self.statement.env.work_mem_bytes, temp),
            reader: StoreReader::default(),
            complete: false,
            position: 0,
        })
    }

    /// Begins to keep rows: the rows up to the position are fetched once more.
    fn keep_from_now(&mut self, cursor: &mut Cursor) -> Result<()> {
        let Some(execution) = &cursor.plan.execution else {
            return Err(Error::internal("cursor has no execution"));
        };
        let again = execution.again(Arc::clone(&cursor.plan.params), &self.statement.env)?;
        cursor.plan.execution = Some(Box::new(again));
        cursor.plan.done = None;
        cursor.plan.may_run_again = false;
        cursor.kept = Some(self.nothing_kept(&cursor.plan));
        let at = usize::try_from(cursor.at).unwrap_or(usize::MAX);
        let position = at.saturating_add(usize::from(cursor.at_end));
        self.keep_until(cursor, position)?;
        if let Some(kept) = &mut cursor.kept {
            kept.position = position;
        }
        Ok(())
    }

    /// FETCH from a cursor that keeps no rows: it only moves forward.
    async fn fetch_forward(
        &mut self,
        cursor: &mut Cursor,
        fetch: &FetchStmt,
        formats: &ResultFormats,
    ) -> Result<u64> {
        // The row that it is on, or one more than the last.
        let position = cursor.at + u64::from(cursor.at_end);
        let is_on_row = position > 0 && !cursor.at_end;
        let direction = match fetch.direction {
            FetchDirection::Backward if fetch.count < 0 => FetchDirection::Forward,
            FetchDirection::Forward if fetch.count < 0 => FetchDirection::Backward,
            direction => direction,
        };
        let wanted = match direction {
            FetchDirection::Forward => fetch.count.saturating_abs(),
            _ => fetch.count,
        };
        let (skip, count) = match (direction, wanted) {
            (FetchDirection::Absolute, 0) if position == 0 => return Ok(0),
            (FetchDirection::Absolute, 0) => return Err(only_forward()),
            (_, 0) if fetch.is_move => return Ok(u64::from(is_on_row)),
            (FetchDirection::Forward | FetchDirection::Relative, 0) if !is_on_row => return Ok(0),
            (FetchDirection::Forward, ast::FETCH_ALL) => (0, None),
            (FetchDirection::Forward, n @ 1..) => (0, Some(n as u64)),
            (FetchDirection::Relative, n @ 1..) => (n as u64 - 1, Some(1)),
            (FetchDirection::Absolute, n) if n > 0 && n as u64 > position => {
                (n as u64 - position - 1, Some(1))
            }
            _ => return Err(only_forward()),
        };
        if skip > 0 {
            self.skip_rows(cursor, skip)?;
        }
        match count {
            None if !fetch.is_move => {
                let before = cursor.at;
                cursor.at += self.stream_rows(cursor, 0, formats).await?;
                Ok(cursor.at - before)
            }
            None => self.skip_rows(cursor, 0),
            Some(count) if fetch.is_move => self.skip_rows(cursor, count),
            Some(count) => {
                let rows = self.stream_rows(cursor, count, formats).await?;
                cursor.at += rows;
                Ok(rows)
            }
        }
    }

    /// Sends up to `count` rows, or all if it is 0. Returns the number of rows.
    async fn stream_rows(
        &mut self,
        cursor: &mut Cursor,
        count: u64,
        formats: &ResultFormats,
    ) -> Result<u64> {
        if cursor.at_end {
            return Ok(0);
        }
        let progress = self.run_plan(&mut cursor.plan, formats, count).await?;
        match (progress, &cursor.plan.done) {
            (Progress::Suspended, _) => Ok(count),
            (Progress::Done, Some(CommandTag::Rows(_, total))) => {
                cursor.at_end = true;
                Ok(total.saturating_sub(cursor.at))
            }
            (Progress::Done, _) => Ok(0),
        }
    }

    /// Skips up to `count` rows, or all if it is 0. Returns the number of rows.
    fn skip_rows(&mut self, cursor: &mut Cursor, count: u64) -> Result<u64> {
        if cursor.at_end {
            return Ok(0);
        }
        let status =
            run::fetch(&mut cursor.plan, &mut self.transaction.txn, count, &mut NullSink, true)?;
        let rows = match status {
            FetchStatus::Suspended { rows } => rows,
            FetchStatus::Done { rows } => {
                cursor.at_end = true;
                self.finish_execution(&mut cursor.plan, rows);
                rows.saturating_sub(cursor.at)
            }
        };
        cursor.at += rows;
        Ok(rows)
    }

    /// FETCH from a cursor that keeps its rows, in any direction.
    async fn fetch_kept(
        &mut self,
        cursor: &mut Cursor,
        fetch: &FetchStmt,
        formats: &ResultFormats,
    ) -> Result<u64> {
        let (mut range, backward) = match self.find_rows(cursor, fetch)? {
            Span::Forward(range) => (range, false),
            Span::Backward(range) => (range, true),
        };
        let count = range.len() as u64;
        if fetch.is_move {
            return Ok(count);
        }
        while !range.is_empty() {
            self.core.handle.shared().check_interrupts()?;
            let some = range.len().min(READ_CHUNK_ROWS);
            let chunk = match backward {
                false => range.start..range.start + some,
                true => range.end - some..range.end,
            };
            range = match backward {
                false => chunk.end..range.end,
                true => range.start..chunk.start,
            };
            self.put_kept(cursor, chunk, backward, formats)?;
            self.pass_rows_on().await?;
        }
        Ok(count)
    }

    /// Appends kept rows to the answer.
    fn put_kept(
        &mut self,
        cursor: &mut Cursor,
        rows: Range<usize>,
        backward: bool,
        formats: &ResultFormats,
    ) -> Result<()> {
        let Some(kept) = &mut cursor.kept else { return Ok(()) };
        let (count, mut values) = (rows.len(), Vec::new());
        tokio::task::block_in_place(|| kept.read(rows, &mut values))?;
        let columns = cursor.plan.plan.compiled.columns();
        let io = &self.statement.env.io;
        let mut sink = WireSink { out: &mut self.wire.out, columns, formats, io, rows_at: None };
        let width = row_width(&cursor.plan);
        for i in 0..count {
            let at = width * if backward { count - 1 - i } else { i };
            sink.row(&values[at..at + width])?;
        }
        Ok(())
    }

    /// Moves the position, and returns the rows that the move passes.
    fn find_rows(&mut self, cursor: &mut Cursor, fetch: &FetchStmt) -> Result<Span> {
        let position = cursor.kept.as_ref().map_or(0, |kept| kept.position);
        let count = fetch.count;
        match fetch.direction {
            FetchDirection::Forward if count >= 0 => self.pass_forward(cursor, count as u64),
            FetchDirection::Forward => self.pass_backward(cursor, count.unsigned_abs()),
            FetchDirection::Backward if count >= 0 => self.pass_backward(cursor, count as u64),
            FetchDirection::Backward => self.pass_forward(cursor, count.unsigned_abs()),
            FetchDirection::Relative => {
                let target = (position as i64).saturating_add(count);
                self.go_to(cursor, usize::try_from(target).unwrap_or(0))
            }
            FetchDirection::Absolute if count >= 0 => {
                self.go_to(cursor, usize::try_from(count).unwrap_or(usize::MAX))
            }
            FetchDirection::Absolute => {
                self.keep_until(cursor, usize::MAX)?;
                let total = cursor.kept.as_ref().map_or(0, |kept| kept.rows.len()) as i64;
                let target = total.saturating_add(count).saturating_add(1);
                self.go_to(cursor, usize::try_from(target).unwrap_or(0))
            }
        }
    }

    fn pass_forward(&mut self, cursor: &mut Cursor, count: u64) -> Result<Span> {
        if count == 0 {
            // FETCH 0 gives the current row again.
            let position = cursor.kept.as_ref().map_or(0, |kept| kept.position);
            return self.go_to(cursor, position);
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let start = cursor.kept.as_ref().map_or(0, |kept| kept.position);
        let wanted = start.saturating_add(count);
        self.keep_until(cursor, wanted)?;
        let Some(kept) = &mut cursor.kept else { return Ok(Span::Forward(0..0)) };
        let total = kept.rows.len();
        let first = start.min(total);
        kept.position = if wanted > total { total + 1 } else { wanted };
        Ok(Span::Forward(first..wanted.min(total)))
    }

    fn pass_backward(&mut self, cursor: &mut Cursor, count: u64) -> Result<Span> {
        let Some(kept) = &mut cursor.kept else { return Ok(Span::Backward(0..0)) };
        if count == 0 {
            let position = kept.position;
            return self.go_to(cursor, position);
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        // Rows before the current one.
        let end = kept.position.saturating_sub(1).min(kept.rows.len());
        let first = end.saturating_sub(count);
        kept.position = if count > end { 0 } else { first + 1 };
        Ok(Span::Backward(first..end))
    }

    /// Puts the cursor on row `target` (from 1), and passes only that row.
    fn go_to(&mut self, cursor: &mut Cursor, target: usize) -> Result<Span> {
        self.keep_until(cursor, target)?;
        let Some(kept) = &mut cursor.kept else { return Ok(Span::Forward(0..0)) };
        let total = kept.rows.len();
        kept.position = target.min(total + 1);
        Ok(match target {
            0 => Span::Forward(0..0),
            row if row > total => Span::Forward(0..0),
            row => Span::Forward(row - 1..row),
        })
    }

    /// Fetches and keeps rows until there are `wanted`, or no more.
    fn keep_until(&mut self, cursor: &mut Cursor, wanted: usize) -> Result<()> {
        while let Some(kept) = &mut cursor.kept {
            if kept.complete || kept.rows.len() >= wanted {
                return Ok(());
            }
            let missing = (wanted - kept.rows.len()) as u64;
            let mut sink = KeepingSink(&mut kept.rows);
            let chunk = missing.min(KEEP_CHUNK_ROWS);
            let status =
                run::fetch(&mut cursor.plan, &mut self.transaction.txn, chunk, &mut sink, true)?;
            if let FetchStatus::Done { rows } = status {
                kept.complete = true;
                self.finish_execution(&mut cursor.plan, rows);
            }
        }
        Ok(())
    }

    /// At COMMIT, fetches all rows of the cursors WITH HOLD (PersistHoldablePortal).
    pub(super) fn keep_held_cursors(&mut self) -> Result<()> {
        let mut portals = std::mem::take(&mut self.portals);
        let kept = portals.cursors_mut().filter(|cursor| cursor.hold).try_for_each(|cursor| {
            self.keep_until(cursor, usize::MAX)?;
            cursor.held_beyond = true;
            Ok(())
        });
        self.portals = portals;
        kept
    }
}

/// The number of columns of a cursor's rows, including the columns that are not sent.
fn row_width(portal: &PlanPortal) -> usize {
    portal.plan.compiled.planned().plan.types.len()
}

/// 55000 for a FETCH that would move a NO SCROLL cursor backward.
fn only_forward() -> Error {
    let message = "cursor can only scan forward";
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .hint("Declare it with SCROLL option to enable backward scan.")
}

/// Whether a FETCH moves forward from row `at`.
fn goes_on(fetch: &FetchStmt, at: u64) -> bool {
    match fetch.direction {
        FetchDirection::Forward | FetchDirection::Relative => fetch.count > 0,
        FetchDirection::Absolute => u64::try_from(fetch.count).is_ok_and(|row| row > at),
        FetchDirection::Backward => false,
    }
}

/// Whether the last row that a plan has returned is the row that its scan is on.
fn reads_in_place(plan: &Plan) -> bool {
    match &plan.node {
        PlanNode::SeqScan { .. }
        | PlanNode::IndexScan { .. }
        | PlanNode::BitmapScan { .. }
        | PlanNode::TidScan { .. } => true,
        PlanNode::PartitionScan { template: child, .. }
        | PlanNode::Result { child: Some(child), .. }
        | PlanNode::SubqueryScan { child, .. }
        | PlanNode::Limit { child, .. } => reads_in_place(child),
        PlanNode::Append(children) => children.iter().all(reads_in_place),
        _ => false,
    }
}

enum Span {
    Forward(Range<usize>),
    Backward(Range<usize>),
}
