//! Cursors: DECLARE, FETCH, MOVE, CLOSE (src/backend/commands/portalcmds.c).

use std::sync::Arc;

use steppe_exec::spi::{check_declared, with_spi};
use steppe_sql::ast::{self, DeclareCursorStmt, FetchDirection, FetchStmt};
use steppe_sql::plan::{ResultColumn, goes_backward, reads_nodes};
use steppe_types::{Error, Result, SqlState};

use super::Session;
use super::cursor::{Cursor, Step};
use super::explain::BoundParams;
use super::plan::put_description;
use super::portal::{PlanPortal, Portal, PortalBody};
use super::run::Progress;
use super::sink::{NullSink, ResultFormats, WireSink};
use super::tag::CommandTag;

impl Session {
    /// 42P03 if there is a portal of this name.
    pub(super) fn check_portal_free(&self, name: &str) -> Result<()> {
        if !self.portals.has(name) && !self.is_functions_cursor(name) {
            return Ok(());
        }
        let message = format!("cursor \"{name}\" already exists");
        Err(Error::new(SqlState::DUPLICATE_CURSOR, message))
    }

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
        self.check_portal_free(&declare.name)?;
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
        let reads_nodes = reads_nodes(plan.compiled.planned());
        let keeps = declare.hold || declare.scroll == Some(true) || (scroll && reads_nodes);
        let mut plan = PlanPortal::new(plan, Arc::clone(&bound.values));
        plan.may_run_again = scroll && !keeps;
        self.start_statement()?;
        self.start_execution(&mut plan)?;
        if let Some(execution) = plan.execution.as_mut().filter(|_| reads_nodes) {
            tokio::task::block_in_place(|| execution.begin_scans(&mut self.transaction.txn))?;
        }
        self.suspend(&mut plan)?;
        let mut cursor = Cursor {
            name: declare.name.as_str().into(),
            plan,
            env: self.statement.env.clone(),
            kept: None,
            hold: declare.hold,
            scroll,
            held_beyond: false,
            binary: declare.binary,
            at: 0,
            at_end: false,
        };
        cursor.kept = keeps.then(|| cursor.nothing_kept());
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
                self.core.routines.close_cursors();
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
        let columns = |portal: &Portal| match &portal.body {
            PortalBody::Cursor(cursor) => Some(cursor.plan.plan.compiled.columns().to_vec()),
            PortalBody::Plan(plan) => Some(plan.plan.compiled.columns().to_vec()),
            PortalBody::Empty | PortalBody::Utility { .. } => None,
        };
        self.portals.with(name, columns).ok().flatten()
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
            portal.fail(&mut self.transaction.txn);
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
        let fetched = self.give_to_client(cursor, fetch, formats).await;
        if fetched.is_err() {
            cursor.plan.release(&mut self.transaction.txn);
        }
        fetched
    }

    async fn give_to_client(
        &mut self,
        cursor: &mut Cursor,
        fetch: &FetchStmt,
        formats: &ResultFormats,
    ) -> Result<u64> {
        let movement = (fetch.direction, fetch.count);
        let txn = &mut self.transaction.txn;
        let mut span = match cursor.begin_fetch(txn, movement, fetch.is_move)? {
            Step::Nothing(rows) => return Ok(rows),
            Step::Next(count) if fetch.is_move => {
                return cursor.next_rows(txn, count.unwrap_or(0), &mut NullSink);
            }
            Step::Next(count) => {
                let rows = self.stream_rows(cursor, count.unwrap_or(0), formats).await?;
                cursor.at += rows;
                return Ok(rows);
            }
            Step::Kept(span) => span,
        };
        let count = span.len();
        if fetch.is_move {
            return Ok(count);
        }
        loop {
            self.core.handle.shared().check_interrupts()?;
            let plan = Arc::clone(&cursor.plan.plan);
            let mut sink = WireSink {
                out: &mut self.wire.out,
                columns: plan.compiled.columns(),
                formats,
                io: &self.statement.env.io,
                rows_at: None,
            };
            if !cursor.next_kept(&mut span, &mut sink)? {
                return Ok(count);
            }
            self.pass_rows_on().await?;
        }
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
            env: self.statement.env.clone(),
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

    /// At COMMIT, fetches all rows of the cursors WITH HOLD (PersistHoldablePortal).
    pub(super) fn keep_held_cursors(&mut self) -> Result<()> {
        if self.core.routines.has_cursors_to_hold() {
            self.start_statement()?;
            let env = self.statement.env.clone();
            with_spi(&env, &mut self.transaction.txn, |spi| spi.hold_declared())?;
            self.end_statement();
        }
        let txn = &mut self.transaction.txn;
        self.portals.try_cursors(|cursor| {
            if cursor.hold {
                cursor.keep_until(txn, usize::MAX)?;
                cursor.held_beyond = true;
            }
            Ok(())
        })
    }
}
