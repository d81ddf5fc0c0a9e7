//! A watch over the statements that functions run. These are the hooks of PostgreSQL's planner and
//! executor (planner_hook, ExecutorStart_hook to ExecutorEnd_hook, ProcessUtility_hook), on which
//! pg_stat_statements and auto_explain are built.
//!
//! ```text
//!   Spi ── a statement is planned ────▶ Watch::planned
//!       ── a run begins, goes on, ends ▶ Watch::enter ─ Watch::leave ─ Watch::ran
//!       ── a statement without a plan ─▶ Watch::utility_ran
//! ```
//!
//! The session gives its watch to its [`SessionRoutines`]. A statement asks it once whether it
//! watches anything ([`Watch::is_on`]). A statement that is not watched costs no more than that. A
//! watched statement runs as any other does, except that a run whose nodes are measured takes no
//! point path, as under EXPLAIN ANALYZE. A failed run ends without [`Watch::ran`], as PostgreSQL's
//! hooks do not see ExecutorEnd then; [`Watch::leave`] is called in any case.

use crate::prepare::PreparedPlan;
use crate::routine::SessionRoutines;
use crate::statement::{ExecEnv, Execution};
use std::sync::Arc;
use std::time::Instant;
use steppe_functions::SessionHost;
use steppe_storage::Usage;
use steppe_types::Datum;

/// The cost of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Its time.
    pub nanos: u64,
    /// The pages and the log that its thread has used.
    pub usage: Usage,
    /// Bytes read from and written to spill files.
    pub spilled: (u64, u64),
    /// The rows that it has returned or changed.
    pub rows: u64,
}

/// A run that has ended well.
pub struct Ran<'a> {
    /// The plan.
    pub plan: &'a PreparedPlan,
    /// The statement's text, as the function has it.
    pub text: &'a str,
    /// The values of the plan's parameters.
    pub params: &'a [Datum],
    /// The environment it ran in.
    pub env: &'a ExecEnv,
    /// The execution; `None` if it took the point path.
    pub execution: Option<&'a Execution>,
    /// Its cost.
    pub cost: Cost,
}

/// A watch over a session's statements.
pub trait Watch: Send + Sync {
    /// Whether it watches anything now.
    fn is_on(&self) -> bool;

    /// A function's statement has been planned. `text`: the statement as the function has it.
    fn planned(&self, plan: &PreparedPlan, text: &str);

    /// A function's plan begins to run. Returns whether its nodes are to be measured.
    fn begins(&self) -> bool;

    /// A plan runs from now on, within the plans that run already.
    fn enter(&self);

    /// The innermost plan does not run any more.
    fn leave(&self);

    /// A function's plan has run to its end.
    fn ran(&self, run: &Ran<'_>);

    /// A function's statement without a plan has run.
    fn utility_ran(&self, text: &str, cost: &Cost);
}

/// The session's watch, if it watches anything.
#[inline]
pub(crate) fn watch_of(session: &dyn SessionHost) -> Option<&Arc<dyn Watch>> {
    let routines: &SessionRoutines = session.routines()?.downcast_ref()?;
    routines.watch.as_ref().filter(|watch| watch.is_on())
}

/// A plan is running. Dropping it ends that.
struct Within<'w>(&'w dyn Watch);

impl Drop for Within<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// The costs of the thread when something began.
struct Start {
    at: Instant,
    usage: Usage,
    spilled: (u64, u64),
}

impl Start {
    fn now() -> Start {
        Start { at: Instant::now(), usage: Usage::now(), spilled: steppe_spill::transferred() }
    }

    fn add_to(&self, cost: &mut Cost) {
        let spilled = steppe_spill::transferred();
        cost.nanos += u64::try_from(self.at.elapsed().as_nanos()).unwrap_or(u64::MAX);
        cost.usage += Usage::now() - self.usage;
        cost.spilled.0 += spilled.0 - self.spilled.0;
        cost.spilled.1 += spilled.1 - self.spilled.1;
    }
}

/// A run of a function's statement that is watched.
pub(crate) struct Watched {
    watch: Arc<dyn Watch>,
    /// Its nodes are measured.
    pub(crate) measures_nodes: bool,
    cost: Cost,
}

impl Watched {
    /// For a run that begins; `None` if nothing watches the session's statements.
    #[inline]
    pub(crate) fn begin(session: &dyn SessionHost) -> Option<Watched> {
        watch_of(session).map(Watched::new)
    }

    #[cold]
    fn new(watch: &Arc<dyn Watch>) -> Watched {
        let watch = Arc::clone(watch);
        Watched { measures_nodes: watch.begins(), watch, cost: Cost::default() }
    }

    /// Runs a part of it.
    pub(crate) fn measure<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let within = Within(&*self.watch);
        within.0.enter();
        let start = Start::now();
        let done = run();
        start.add_to(&mut self.cost);
        done
    }

    /// Runs a statement without a plan: plans within it are not within another plan.
    fn time<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let start = Start::now();
        let done = run();
        start.add_to(&mut self.cost);
        done
    }

    /// It has ended, after this number of rows.
    pub(crate) fn end(
        mut self,
        rows: u64,
        (plan, text): (&PreparedPlan, &str),
        (params, env): (&[Datum], &ExecEnv),
        execution: Option<&Execution>,
    ) {
        self.cost.rows = rows;
        if let Some(execution) = execution {
            let (usage, (read, written)) = execution.used_by_helpers();
            self.cost.usage += usage;
            self.cost.spilled.0 += read;
            self.cost.spilled.1 += written;
        }
        let cost = self.cost;
        self.watch.ran(&Ran { plan, text, params, env, execution, cost });
    }

    /// It was a statement without a plan, and has ended.
    pub(crate) fn end_utility(self, text: &str) {
        self.watch.utility_ran(text, &self.cost);
    }
}

/// Runs a statement without a plan, which may be watched.
#[inline]
pub(crate) fn timed<T>(watched: &mut Option<Watched>, run: impl FnOnce() -> T) -> T {
    match watched {
        None => run(),
        Some(watched) => watched.time(run),
    }
}

/// Runs a part of a plan, which may be watched.
#[inline]
pub(crate) fn measured<T>(watched: &mut Option<Watched>, run: impl FnOnce() -> T) -> T {
    match watched {
        None => run(),
        Some(watched) => watched.measure(run),
    }
}
