//! The plans of a client's slow statements ([`crate::auto_explain`]).
//!
//! A portal is timed from its first run to its last row, without the time between its runs. It keeps
//! its execution until its plan is told. A portal that is closed before its last row is not told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use steppe_exec::Execution;

use super::Session;
use super::portal::PlanPortal;
use super::run::Progress;
use crate::auto_explain::{AutoExplain, Slow};

/// A portal whose plan is told if its run is slow.
pub(super) struct ExplainedRun {
    auto_explain: Arc<AutoExplain>,
    begun: Instant,
    /// The time of earlier runs.
    before: Duration,
    /// After its end.
    execution: Option<Box<Execution>>,
}

impl PlanPortal {
    /// Whether its nodes are to be measured.
    #[inline]
    pub(super) fn measures_nodes(&self) -> bool {
        self.explained.as_ref().is_some_and(|run| run.auto_explain.options.analyze)
    }

    /// Keeps the execution of a portal that is to be told, at its end.
    #[inline]
    pub(super) fn keep_for_explanation(&mut self) {
        if let Some(run) = &mut self.explained {
            run.execution = self.execution.take();
        }
    }
}

impl Session {
    /// A portal runs, or goes on, while auto_explain is on.
    #[cold]
    pub(super) fn begin_explained(&mut self, portal: &mut PlanPortal) {
        let nested = &self.core.nested;
        nested.run_within(1);
        if let Some(run) = &mut portal.explained {
            run.begun = Instant::now();
            return;
        }
        let has_begun = portal.execution.is_some() || portal.counted_rows.is_some();
        let Some(auto_explain) = self.settings.live.auto_explain.as_ref().filter(|_| !has_begun)
        else {
            return;
        };
        if nested.samples(auto_explain) {
            portal.explained = Some(Box::new(ExplainedRun {
                auto_explain: Arc::clone(auto_explain),
                begun: Instant::now(),
                before: Duration::ZERO,
                execution: None,
            }));
        }
    }

    /// A portal that is explained has run.
    #[cold]
    pub(super) fn end_explained(&mut self, portal: &mut PlanPortal, progress: Progress) {
        self.core.nested.run_within(0);
        let Some(mut run) = portal.explained.take() else { return };
        run.before += run.begun.elapsed();
        if progress == Progress::Suspended {
            portal.explained = Some(run);
            return;
        }
        // The text of a prepared statement is that of its PREPARE or Parse.
        let has_own_text = portal.plan.has_own_text();
        let text = match has_own_text {
            true => portal.plan.source.to_string(),
            false => self.control.activity.query(),
        };
        let shows_id = self.settings.live.shows_query_id;
        let statements = &self.core.server.statements;
        run.auto_explain.report(&Slow {
            stmt: portal.plan.compiled.planned(),
            env: &self.statement.env,
            params: &portal.params,
            tells_params: has_own_text,
            text: &text,
            execution: run.execution.as_deref(),
            took: run.before,
            query_id: shows_id.then(|| portal.plan.statement(statements).id),
        });
    }
}
