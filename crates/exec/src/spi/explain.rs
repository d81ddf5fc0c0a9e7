//! EXPLAIN in a function (ExplainQuery in explain.c): the plan is that of the function's statement,
//! with the values of the function's variables.

use super::Spi;
use super::prepared::Way;
use super::utility::Run;
use crate::explain::{
    ExplainSettings, Explained, Format, Surroundings, TriggerRuns, explain, explain_settings,
};
use crate::prepare::{Snapshot, begin_in_place, is_plannable};
use crate::sink::Dropped;
use crate::statement::Execution;
use std::sync::Arc;
use std::time::Instant;
use steppe_sql::ast::{ExplainStmt, Statement};
use steppe_sql::bind::Params;
use steppe_storage::Usage;
use steppe_types::{Datum, Error, Result};

impl Spi<'_> {
    /// The lines of an explanation.
    pub(super) fn explain(
        &mut self,
        stmt: &ExplainStmt,
        params: &Params,
        run: &Run<'_>,
    ) -> Result<Vec<Datum>> {
        let settings = explain_settings(&stmt.options, run.source)?;
        check(&settings)?;
        let mut query = &*stmt.query;
        if let Statement::DeclareCursor(declare) = query {
            query = &declare.query;
        }
        let (used, begin) = (Usage::now(), Instant::now());
        let (mut planned, given) = match query {
            Statement::Execute(execute) => {
                let (found, values) = self.executed(execute, run.source)?;
                let statement = found.statement.filter(|statement| is_plannable(statement));
                let statement = statement.ok_or_else(refused)?;
                let params = Params::fixed(&found.types);
                (self.planned(&statement, &found.source, params, Way::ALONE)?, values)
            }
            query if is_plannable(query) => {
                let (query, params) = (Arc::new(query.clone()), params.clone());
                (self.planned(&query, run.source, params, Way::default())?, run.values.into())
            }
            _ => return Err(refused()),
        };
        planned.env.statement_timestamp = self.cx.functions.statement_timestamp;
        planned.env.transaction_timestamp = self.cx.functions.transaction_timestamp;
        let values = planned.values(&given, &[]);
        let analyze = settings.plan.analyze;
        let (plan, execution, planning_time) = self.lend(|txn| {
            loop {
                planned.make_locked(txn, analyze.then_some(false))?;
                let plan = planned.for_values(&values)?;
                plan.compiled.check_constants(Some(&values), &planned.env.catalog)?;
                let planning_time = begin.elapsed();
                if !analyze {
                    return Ok((plan, None, planning_time));
                }
                let within = (&planned.env, &*planned.engine);
                let from = (Snapshot::New, true);
                let begun = begin_in_place(&plan.compiled, &values, within, txn, from)?;
                let Some(mut execution) = begun else { continue };
                execution.fetch(txn, 0, &mut Dropped)?;
                return Ok((plan, Some(execution), planning_time));
            }
        })?;
        let stmt = plan.compiled.planned();
        let mut around = Surroundings {
            planning: settings.plan.buffers.then(|| Usage::now() - used),
            planning_time: settings.summary.then_some(planning_time),
            ..Surroundings::default()
        };
        if let Some(execution) = &execution {
            around.triggers = TriggerRuns::new(execution.trigger_runs(), stmt, settings.plan);
            let elapsed = begin.elapsed().saturating_sub(planning_time);
            around.execution_time = settings.summary.then_some(elapsed);
        }
        let explained = Explained {
            stmt,
            catalog: &planned.env.catalog,
            env: &planned.env,
            params: &values,
            is_generic: false,
            instruments: execution.as_ref().map_or(&[], Execution::instruments),
            leaf_runs: execution.as_ref().map_or(&[], Execution::leaf_runs),
        };
        let text = explain(explained, settings.plan, &around);
        Ok(match settings.plan.format {
            Format::Text => text.lines().map(Datum::text).collect(),
            _ => vec![Datum::text(text)],
        })
    }
}

#[cold]
fn refused() -> Error {
    Error::not_supported("EXPLAIN of this statement in a function")
}

/// 0A000 for options that need the session.
fn check(settings: &ExplainSettings) -> Result<()> {
    let refused = [
        (settings.settings, "SETTINGS"),
        (settings.generic_plan, "GENERIC_PLAN"),
        (settings.serialize.is_some(), "SERIALIZE"),
    ];
    match refused.iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => {
            Err(Error::not_supported(format!("EXPLAIN option {option} in a function")))
        }
        None => Ok(()),
    }
}
