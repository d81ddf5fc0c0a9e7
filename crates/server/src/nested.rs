//! Statements within functions, as pg_stat_statements counts them with pg_stat_statements.track set
//! to all (nesting_level in contrib/pg_stat_statements).
//!
//! The session is lent out while its functions run. So this is in the shared part of the session,
//! and the executor tells it of each statement that a function plans and runs ([`Watch`]). They are
//! counted in the session's own tally, as other statements are: only the thread that runs the
//! session's statement writes there.
//!
//! A statement is counted under the text that the function has. Constants are numbered after the
//! function's variables, which are parameters of the plan.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use steppe_exec::prepare::PreparedPlan;
use steppe_exec::watch::{Cost, Ran, Watch};
use steppe_sql::parser::normalize::Parameters;

use crate::server::{Server, SessionControl};
use crate::settings::LiveSettings;
use crate::statements::{Run, Statement, Temporary};

/// The statements of functions that are counted, as settings say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NestedKinds(u8);

/// pg_stat_statements.track is all.
const RUNS: u8 = 1;
/// pg_stat_statements.track_planning is on, too.
const PLANNING: u8 = 2;
/// pg_stat_statements.track_utility is on, too.
const UTILITY: u8 = 4;

impl NestedKinds {
    /// By the settings.
    pub(crate) fn of(live: &LiveSettings) -> NestedKinds {
        if !live.tracks_nested {
            return NestedKinds(0);
        }
        let of = |on: bool, bit: u8| if on { bit } else { 0 };
        NestedKinds(RUNS | of(live.tracks_planning, PLANNING) | of(live.tracks_utility, UTILITY))
    }
}

/// Counts the statements of a session's functions.
pub(crate) struct NestedStatements {
    server: Arc<Server>,
    control: Arc<SessionControl>,
    kinds: AtomicU8,
}

impl NestedStatements {
    /// For a new session.
    pub(crate) fn new(server: Arc<Server>, control: Arc<SessionControl>) -> NestedStatements {
        NestedStatements { server, control, kinds: AtomicU8::new(0) }
    }

    /// Follows the settings.
    pub(crate) fn count(&self, kinds: NestedKinds) {
        self.kinds.store(kinds.0, Ordering::Relaxed);
    }

    fn counts(&self, kind: u8) -> bool {
        self.kinds.load(Ordering::Relaxed) & kind != 0
    }

    /// The counters of a plan's statement.
    fn statement(&self, plan: &PreparedPlan, text: &str) -> Option<Arc<Statement>> {
        let noted = plan.noted.get_or_init(|| {
            let planned = plan.compiled.planned();
            let relations = planned.relations.iter().map(|(oid, _)| *oid);
            let last = planned.variables.iter().max().map_or(0, |last| last + 1);
            let (text, parameters) = match () {
                () if plan.declared.are_variables() => {
                    (text, Parameters::After(u32::try_from(last).unwrap_or(u32::MAX)))
                }
                // Literals of a text that was made at run time are parameters of its plan.
                () if plan.declared.may_grow() => (&*plan.source, Parameters::Lifted),
                () => (text, Parameters::Own),
            };
            let statement = self.server.statements.nested(text, parameters, relations);
            statement as Arc<dyn Any + Send + Sync>
        });
        Arc::clone(noted).downcast().ok()
    }

    fn count_run(&self, statement: &Arc<Statement>, cost: &Cost) {
        let run = Run {
            milliseconds: cost.nanos as f64 / 1e6,
            goes_on: false,
            rows: cost.rows,
            usage: cost.usage,
            temp: Temporary { read: cost.spilled.0, written: cost.spilled.1 },
        };
        let tally = &self.control.tally;
        tally.count(tally.place(&self.server.statements, statement), &run);
    }
}

impl Watch for NestedStatements {
    fn is_on(&self) -> bool {
        self.kinds.load(Ordering::Relaxed) != 0
    }

    fn planned(&self, plan: &PreparedPlan, text: &str) {
        if self.counts(PLANNING)
            && let Some(statement) = self.statement(plan, text)
        {
            let tally = &self.control.tally;
            let place = tally.place(&self.server.statements, &statement);
            tally.count_planning(place, plan.planning.nanos as f64 / 1e6, plan.planning.usage);
        }
    }

    fn begins(&self) -> bool {
        false
    }

    fn enter(&self) {}

    fn leave(&self) {}

    fn ran(&self, run: &Ran<'_>) {
        if self.counts(RUNS)
            && let Some(statement) = self.statement(run.plan, run.text)
        {
            self.count_run(&statement, &run.cost);
        }
    }

    fn utility_ran(&self, text: &str, cost: &Cost) {
        if self.counts(UTILITY) {
            let statement = self.server.statements.nested(text, Parameters::Own, []);
            self.count_run(&statement, cost);
        }
    }
}
