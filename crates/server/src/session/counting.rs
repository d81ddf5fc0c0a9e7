//! Counts the costs of statements ([`crate::statements`]).
//!
//! A run is counted when it has ended without an error, as in pg_stat_statements. A plan within a
//! utility statement (the query of CREATE TABLE AS, a cursor's rows) counts for that statement.
//! EXECUTE and PREPARE count as the prepared statement.
//!
//! A run needs no reading of the clock of its own. It began when its message did, unless something
//! else ran in between (a plan was made, another statement ran). It ends when the clock is read
//! next, for the next message or for the sending of the answer.

use std::sync::Arc;

use hashbrown::HashMap;
use steppe_sql::ast::Statement as Syntax;
use steppe_sql::parser::normalize::Parameters;
use steppe_storage::Usage;
use steppe_types::Result;

use super::Session;
use super::explain::BoundParams;
use super::portal::PlanPortal;
use super::sink::ResultFormats;
use super::tag::CommandTag;
use super::utility::Outcome;
use crate::plan_cache::CachedPlan;
use crate::services::now_nanos;
use crate::statements::{Place, Run, Statement, Temporary};

/// Texts whose statements a session keeps.
const TEXTS_MAX: usize = 16;
/// The statements of longer texts are looked up each time.
const TEXT_BYTES_MAX: usize = 256;

/// A run that has ended, without its time.
struct Unfinished {
    place: Place,
    /// Nanoseconds since the Unix epoch.
    begun: u64,
    run: Run,
}

/// The state of a session's counting.
#[derive(Default)]
pub(super) struct Counting {
    by_text: HashMap<Box<str>, Arc<Statement>, foldhash::fast::RandomState>,
    /// The last run, until its end is known.
    unfinished: Option<Unfinished>,
    /// The number of nested statements. Only the outermost is counted.
    depth: u32,
    /// A COPY FROM STDIN that waits for its data, and when it began.
    copy: Option<(Arc<Statement>, u64)>,
}

impl Counting {
    /// The running statement has failed.
    pub(super) fn forget_running(&mut self) {
        self.depth = 0;
        self.copy = None;
    }
}

impl Session {
    /// The running statement's own text.
    pub(super) fn own_text(&self, source: &Arc<str>) -> Arc<str> {
        match self.statement.range.clone().and_then(|range| source.get(range)) {
            Some(own) => own.into(),
            None => Arc::clone(source),
        }
    }

    /// Whether plans that run now are counted.
    #[inline]
    pub(super) fn counts_plans(&self) -> bool {
        self.settings.live.tracks_statements && self.counters.counting.depth == 0
    }

    /// Whether plans that run now need a query identifier: a setting requires it
    /// (compute_query_id), and they are not part of a statement that has one.
    #[inline]
    pub(super) fn numbers_plans(&self) -> bool {
        (self.settings.live.tracks_statements || self.settings.live.shows_query_id)
            && self.counters.counting.depth == 0
    }

    /// When the present run began, in nanoseconds since the Unix epoch.
    #[inline]
    pub(super) fn run_begins(&mut self) -> u64 {
        match self.counters.begun_at.take() {
            Some(begun) => begun,
            None => self.read_clock(),
        }
    }

    /// The present time in nanoseconds since the Unix epoch. The last run ends now.
    #[inline]
    pub(super) fn read_clock(&mut self) -> u64 {
        let now = now_nanos();
        if let Some(Unfinished { place, begun, mut run }) = self.counters.counting.unfinished.take()
        {
            run.milliseconds = now.saturating_sub(begun) as f64 / 1e6;
            self.control.tally.count(place, &run);
        }
        now
    }

    /// The answer is sent next: a run ends here.
    #[inline]
    pub(super) fn finish_run(&mut self) {
        if self.counters.counting.unfinished.is_some() {
            self.counters.answer_sent_at = Some(self.read_clock());
        }
    }

    /// A statement is planned now: the last run has ended, and the next one has not begun.
    pub(super) fn end_run_before_planning(&mut self) {
        if self.counters.counting.unfinished.is_some() {
            self.read_clock();
        }
        self.counters.begun_at = None;
    }

    /// Counts the planning of a statement, if pg_stat_statements.track_planning is on. A plan from
    /// the cache was counted when it was made.
    pub(super) fn count_planning(&self, plan: &CachedPlan) {
        if !self.settings.live.tracks_planning || !self.counts_plans() {
            return;
        }
        let (statements, tally) = (&self.core.server.statements, &self.control.tally);
        let (place, planning) =
            (tally.place(statements, plan.statement(statements)), plan.planning);
        tally.count_planning(place, planning.nanos as f64 / 1e6, planning.usage);
    }

    /// Counts a run of a plan. Only a portal's first run is a call.
    #[inline]
    pub(super) fn count_plan(&mut self, portal: &mut PlanPortal, begun: u64) {
        let statements = &self.core.server.statements;
        let before = portal.counted_rows.replace(portal.handed_rows);
        let run = Run {
            milliseconds: 0.0,
            goes_on: before.is_some(),
            rows: portal.handed_rows.saturating_sub(before.unwrap_or(0)),
            usage: std::mem::take(&mut portal.spent),
            temp: std::mem::take(&mut portal.spilled),
        };
        let place = self.control.tally.place(statements, portal.plan.statement(statements));
        self.counters.counting.unfinished = Some(Unfinished { place, begun, run });
    }

    /// Runs a statement without a plan. The rows of EXECUTE and FETCH are sent at its end, so a
    /// failed one sends none (FillPortalStore).
    pub(super) async fn utility(
        &mut self,
        syntax: &Arc<Syntax>,
        source: &Arc<str>,
        formats: &ResultFormats,
        describe: bool,
        bound: &BoundParams,
    ) -> Result<Outcome> {
        let (start, sent) = (self.wire.out.len(), self.wire.writes);
        // Boxed, so that the future of a message without a utility statement is small.
        let counted = Box::pin(self.utility_counted(syntax, source, formats, describe, bound));
        let outcome = counted.await;
        let hands_rows_on = matches!(**syntax, Syntax::Execute(_) | Syntax::Fetch(_));
        if outcome.is_err() && self.wire.writes == sent && hands_rows_on {
            self.wire.out.truncate(start);
        }
        outcome
    }

    /// Runs a statement without a plan, and counts it.
    async fn utility_counted(
        &mut self,
        syntax: &Arc<Syntax>,
        source: &Arc<str>,
        formats: &ResultFormats,
        describe: bool,
        bound: &BoundParams,
    ) -> Result<Outcome> {
        let is_counted = self.settings.live.tracks_utility && self.counters.counting.depth == 0;
        match &**syntax {
            // The plans that they run are counted instead.
            Syntax::Execute(_) | Syntax::Prepare(_) => {
                return self.utility_uncounted(syntax, source, formats, describe, bound).await;
            }
            _ => {}
        }
        let begun = self.run_begins();
        let statement = self.numbers_plans().then(|| self.utility_statement(source));
        if let Some(statement) = &statement {
            self.control.activity.set_query_id(statement.id);
        }
        let statement = statement.filter(|_| is_counted);
        self.counters.counting.depth += 1;
        if self.settings.live.auto_explain.is_some() {
            self.core.nested.run_within(0);
        }
        let (before, thread) = (Usage::now(), std::thread::current().id());
        let outcome = self.utility_uncounted(syntax, source, formats, describe, bound).await;
        self.counters.counting.depth -= 1;
        let outcome = outcome?;
        let Some(statement) = statement else { return Ok(outcome) };
        match &outcome {
            Outcome::Tag(tag) => {
                // Its use of resources before a wait, on another thread, is not known.
                let stayed = std::thread::current().id() == thread;
                let usage = if stayed { Usage::now() - before } else { Usage::default() };
                self.count_utility(&statement, begun, rows_of(tag), usage);
            }
            Outcome::CopyIn(_) => self.counters.counting.copy = Some((statement, begun)),
        }
        Ok(outcome)
    }

    fn count_utility(&mut self, statement: &Arc<Statement>, begun: u64, rows: u64, usage: Usage) {
        let run =
            Run { milliseconds: 0.0, goes_on: false, rows, usage, temp: Temporary::default() };
        let place = self.control.tally.place(&self.core.server.statements, statement);
        self.counters.counting.unfinished = Some(Unfinished { place, begun, run });
    }

    /// A COPY FROM STDIN has ended.
    pub(super) fn count_copy_in(&mut self, rows: u64) {
        if let Some((statement, begun)) = self.counters.counting.copy.take() {
            self.count_utility(&statement, begun, rows, Usage::default());
        }
    }

    fn utility_statement(&mut self, source: &Arc<str>) -> Arc<Statement> {
        let text = self.own_text(source);
        if let Some(known) = self.counters.counting.by_text.get(&*text) {
            return Arc::clone(known);
        }
        let statement = self.core.server.statements.statement(&text, Parameters::Own, []);
        if text.len() <= TEXT_BYTES_MAX {
            let known = &mut self.counters.counting.by_text;
            if known.len() >= TEXTS_MAX {
                known.clear();
            }
            known.insert((&*text).into(), Arc::clone(&statement));
        }
        statement
    }
}

/// The number of rows that pg_stat_statements shows for a utility statement.
fn rows_of(tag: &CommandTag) -> u64 {
    match tag {
        CommandTag::Rows("COPY" | "FETCH" | "SELECT", rows) => *rows,
        _ => 0,
    }
}
