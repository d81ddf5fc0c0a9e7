//! Counting what statements took ([`crate::statements`]).
//!
//! A run is counted when it has ended well: PostgreSQL's pg_stat_statements knows no failures. What
//! runs within a utility statement (the query of CREATE TABLE AS, a cursor's rows) is that
//! statement's; EXECUTE and PREPARE count as the statement prepared.
//!
//! Time costs a run no reading of the clock of its own. It began when its message did, unless
//! something else was done before (a plan was made, another statement ran); it has ended when the
//! clock is read next: for the next message, or when the answer is sent.

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
use crate::services::now_nanos;
use crate::statements::{Place, Run, Statement, Temporary};

/// Texts whose statements are kept at hand.
const TEXTS_MAX: usize = 16;
/// Longer ones are looked up anew each time.
const TEXT_BYTES_MAX: usize = 256;

/// A run that has ended.
struct Unfinished {
    place: Place,
    /// Nanoseconds since the Unix epoch.
    begun: u64,
    run: Run,
}

/// What is being counted of a session.
#[derive(Default)]
pub(super) struct Counting {
    by_text: HashMap<Box<str>, Arc<Statement>, foldhash::fast::RandomState>,
    /// What has run last, until it is known when it ended.
    unfinished: Option<Unfinished>,
    /// How many are under way: what runs within them is theirs.
    depth: u32,
    /// A COPY FROM STDIN that waits for its data, and when it began.
    copy: Option<(Arc<Statement>, u64)>,
}

impl Counting {
    /// What was under way has failed.
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

    /// Whether plans that run now have a number: a setting asks for it (compute_query_id), and
    /// they are not part of a statement that has its own.
    #[inline]
    pub(super) fn numbers_plans(&self) -> bool {
        (self.settings.live.tracks_statements || self.settings.live.shows_query_id)
            && self.counters.counting.depth == 0
    }

    /// When what runs now began: nanoseconds since the Unix epoch.
    #[inline]
    pub(super) fn run_begins(&mut self) -> u64 {
        match self.counters.begun_at.take() {
            Some(begun) => begun,
            None => self.read_clock(),
        }
    }

    /// Nanoseconds since the Unix epoch. What has run last has ended by now.
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

    /// The answer is about to be sent: if something has run, that is its end.
    #[inline]
    pub(super) fn finish_run(&mut self) {
        if self.counters.counting.unfinished.is_some() {
            self.counters.answer_sent_at = Some(self.read_clock());
        }
    }

    /// A plan has run, to its end or not: its first run is a call.
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

    /// Runs a statement without a plan. An EXECUTE or FETCH that fails has sent no rows: they go out
    /// at its end (FillPortalStore).
    pub(super) async fn utility(
        &mut self,
        syntax: &Arc<Syntax>,
        source: &Arc<str>,
        formats: &ResultFormats,
        describe: bool,
        bound: &BoundParams,
    ) -> Result<Outcome> {
        let (start, sent) = (self.wire.out.len(), self.wire.writes);
        // Apart, so that the future of a message without a utility statement is small.
        let counted = Box::pin(self.utility_counted(syntax, source, formats, describe, bound));
        let outcome = counted.await;
        let hands_rows_on = matches!(**syntax, Syntax::Execute(_) | Syntax::Fetch(_));
        if outcome.is_err() && self.wire.writes == sent && hands_rows_on {
            self.wire.out.truncate(start);
        }
        outcome
    }

    /// Runs a statement that has no plan, and counts that.
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
            // The plans that they run count themselves.
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
        let (before, thread) = (Usage::now(), std::thread::current().id());
        let outcome = self.utility_uncounted(syntax, source, formats, describe, bound).await;
        self.counters.counting.depth -= 1;
        let outcome = outcome?;
        let Some(statement) = statement else { return Ok(outcome) };
        match &outcome {
            Outcome::Tag(tag) => {
                // What it did before it waited, on another thread, is not known.
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

/// The rows that a utility statement is said to have handled.
fn rows_of(tag: &CommandTag) -> u64 {
    match tag {
        CommandTag::Rows("COPY" | "FETCH" | "SELECT", rows) => *rows,
        _ => 0,
    }
}
