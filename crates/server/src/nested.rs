//! Statements within functions, as pg_stat_statements counts them with pg_stat_statements.track set
//! to all (nesting_level in contrib/pg_stat_statements).
//!
//! The session is lent out while its functions run. So this is in the shared part of the session,
//! and the executor tells it of each statement that a function plans and runs ([`Watch`]). They are
//! counted in the session's own tally, as other statements are: only the thread that runs the
//! session's statement writes there.
//!
//! The same statements are told by auto_explain ([`crate::auto_explain`]), with
//! auto_explain.log_nested_statements or if no plan runs around them: in DO and CALL.
//!
//! A statement is counted under the text that the function has. Constants are numbered after the
//! function's variables, which are parameters of the plan.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use steppe_exec::prepare::PreparedPlan;
use steppe_exec::watch::{Cost, Ran, Watch};
use steppe_sql::parser::normalize::Parameters;

use crate::auto_explain::{AutoExplain, Slow};
use crate::server::{Server, SessionControl};
use crate::services::now_nanos;
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
/// auto_explain is on.
const EXPLAINED: u8 = 8;

impl NestedKinds {
    /// By the settings.
    pub(crate) fn of(live: &LiveSettings) -> NestedKinds {
        let of = |on: bool, bit: u8| if on { bit } else { 0 };
        let explained = of(live.auto_explain.is_some(), EXPLAINED);
        if !live.tracks_nested {
            return NestedKinds(explained);
        }
        let planning = of(live.tracks_planning, PLANNING);
        NestedKinds(RUNS | planning | of(live.tracks_utility, UTILITY) | explained)
    }
}

/// Counts the statements of a session's functions.
pub(crate) struct NestedStatements {
    server: Arc<Server>,
    control: Arc<SessionControl>,
    kinds: AtomicU8,
    auto_explain: Mutex<Option<Arc<AutoExplain>>>,
    /// The number of plans that run, one within the other, while auto_explain is on.
    level: AtomicU32,
    /// The statement that is not within a plan is in auto_explain's sample.
    is_sampled: AtomicBool,
    random: AtomicU64,
}

impl NestedStatements {
    /// For a new session.
    pub(crate) fn new(server: Arc<Server>, control: Arc<SessionControl>) -> NestedStatements {
        NestedStatements {
            server,
            control,
            kinds: AtomicU8::new(0),
            auto_explain: Mutex::new(None),
            level: AtomicU32::new(0),
            is_sampled: AtomicBool::new(false),
            random: AtomicU64::new(now_nanos()),
        }
    }

    /// Follows the settings.
    pub(crate) fn count(&self, kinds: NestedKinds, auto_explain: &Option<Arc<AutoExplain>>) {
        let before = self.kinds.swap(kinds.0, Ordering::Relaxed);
        if (before | kinds.0) & EXPLAINED != 0 {
            self.auto_explain.lock().clone_from(auto_explain);
        }
    }

    /// This many plans run from now on.
    pub(crate) fn run_within(&self, plans: u32) {
        self.level.store(plans, Ordering::Relaxed);
    }

    /// Whether a statement that is not within a plan is in the sample. Those within it are, too.
    pub(crate) fn samples(&self, auto_explain: &AutoExplain) -> bool {
        // SplitMix64. It is separate from random(), whose values are the client's.
        let state = self.random.load(Ordering::Relaxed).wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.store(state, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let share = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        let is_sampled = share < auto_explain.sample_rate;
        self.is_sampled.store(is_sampled, Ordering::Relaxed);
        is_sampled
    }

    /// The settings of auto_explain, if the statement that begins or ends is told.
    fn explained(&self) -> Option<Arc<AutoExplain>> {
        if !self.counts(EXPLAINED) || !self.is_sampled.load(Ordering::Relaxed) {
            return None;
        }
        let is_within = self.level.load(Ordering::Relaxed) > 0;
        let auto_explain = self.auto_explain.lock().clone();
        auto_explain.filter(|auto_explain| !is_within || auto_explain.nested)
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
        if self.counts(EXPLAINED) && self.level.load(Ordering::Relaxed) == 0 {
            let auto_explain = self.auto_explain.lock().clone();
            if let Some(auto_explain) = auto_explain {
                self.samples(&auto_explain);
            }
        }
        self.explained().is_some_and(|auto_explain| auto_explain.options.analyze)
    }

    fn enter(&self) {
        self.level.fetch_add(1, Ordering::Relaxed);
    }

    fn leave(&self) {
        let level = self.level.load(Ordering::Relaxed);
        self.level.store(level.saturating_sub(1), Ordering::Relaxed);
    }

    fn ran(&self, run: &Ran<'_>) {
        if self.counts(RUNS)
            && let Some(statement) = self.statement(run.plan, run.text)
        {
            self.count_run(&statement, &run.cost);
        }
        if let Some(auto_explain) = self.explained() {
            auto_explain.report(&Slow {
                stmt: run.plan.compiled.planned(),
                env: run.env,
                params: run.params,
                tells_params: false,
                text: run.text,
                execution: run.execution,
                took: Duration::from_nanos(run.cost.nanos),
                query_id: None,
            });
        }
    }

    fn utility_ran(&self, text: &str, cost: &Cost) {
        if self.counts(UTILITY) {
            let statement = self.server.statements.nested(text, Parameters::Own, []);
            self.count_run(&statement, cost);
        }
    }
}
