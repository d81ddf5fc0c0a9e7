//! EXPLAIN (src/backend/commands/explain.c). The executor prints the plan.

use std::sync::Arc;
use std::time::{Duration, Instant};

use steppe_exec::explain::{
    ExplainSettings, Explained, Format, Serialization, Surroundings, TriggerRuns, WireFormat,
    explain, explain_nothing, explain_settings, explained_column,
};
use steppe_exec::prepare::is_plannable;
use steppe_exec::{Execution, FetchStatus, RowSink};
use steppe_sql::ast::{ExplainStmt, Statement};
use steppe_sql::bind::Params;
use steppe_sql::parser::normalize::{Parameters, explained};
use steppe_sql::plan::ResultColumn;
use steppe_storage::Usage;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result};

use super::Session;
use super::create_as::{Target, target_of};
use super::portal::{Body, PlanPortal};
use super::run;
use super::sink::{NullSink, ResultFormats, WireSink};
use super::tag::CommandTag;
use crate::settings::live::PlanCacheMode;

/// Parameters of the extended protocol for the query in a utility statement.
#[derive(Clone, Default)]
pub(super) struct BoundParams {
    pub(super) types: Arc<[Oid]>,
    pub(super) values: Arc<[Datum]>,
}

impl BoundParams {
    /// The parameters to plan the statement with.
    pub(super) fn declared(&self) -> Params {
        match self.types.is_empty() {
            true => Params::none(),
            false => Params::fixed(&self.types),
        }
    }
}

impl Session {
    /// The types of the parameters of the query in a utility statement, in the extended protocol.
    pub(super) async fn param_types_within(
        &mut self,
        query: &Statement,
        source: &Arc<str>,
        declared: &[Oid],
    ) -> Result<Arc<[Oid]>> {
        if !is_plannable(query) {
            return Ok(declared.into());
        }
        self.start_transaction()?;
        let statement = Arc::new(query.clone());
        let plan = self.plan_locked(&statement, source, &Params::variable(declared)).await?;
        Ok(plan.param_types().into())
    }

    /// EXPLAIN.
    pub(super) async fn explain(
        &mut self,
        stmt: &ExplainStmt,
        source: &Arc<str>,
        formats: &ResultFormats,
        describe: bool,
        bound: &BoundParams,
    ) -> Result<CommandTag> {
        let options = explain_settings(&stmt.options, source)?;
        let (target, query) = target_of(&stmt.query);
        if let Some(target) = &target
            && self.is_made(target, source)?
        {
            return self.put_explained(
                explain_nothing(options.plan.format),
                formats,
                describe,
                &options,
            );
        }
        let (used, begin) = (Usage::now(), Instant::now());
        let mut portal = self.explained(&query, source, &options, bound).await?;
        let planning_time = begin.elapsed();
        let mut around = Surroundings {
            settings: options.settings.then(|| self.settings().explained()),
            query_id: self.explained_id(&portal, source, &options),
            planning: options.plan.buffers.then(|| Usage::now() - used),
            planning_time: options.summary.then_some(planning_time),
            ..Surroundings::default()
        };
        let mut execution = None;
        if options.plan.analyze {
            let (done, serialization) =
                self.analyze(&mut portal, source, &options, target.as_ref())?;
            (execution, around.serialization) = (Some(done), serialization);
            let elapsed = begin.elapsed().saturating_sub(planning_time);
            around.execution_time = options.summary.then_some(elapsed);
        }
        if let Some(execution) = &execution {
            let stmt = portal.plan.compiled.planned();
            around.triggers = TriggerRuns::new(execution.trigger_runs(), stmt, options.plan);
        }
        let explained = Explained {
            stmt: portal.plan.compiled.planned(),
            catalog: &self.namespace.names.catalog,
            env: &self.statement.env,
            params: &portal.params,
            is_generic: matches!(*query, Statement::Execute(_))
                && self.settings.live.plan_cache_mode == PlanCacheMode::Generic,
            instruments: execution.as_ref().map_or(&[], Execution::instruments),
            leaf_runs: execution.as_ref().map_or(&[], Execution::leaf_runs),
        };
        let text = explain(explained, options.plan, &around);
        self.put_explained(text, formats, describe, &options)
    }

    /// Sends an explanation: a row for each line of text, or one row.
    fn put_explained(
        &mut self,
        text: String,
        formats: &ResultFormats,
        describe: bool,
        options: &ExplainSettings,
    ) -> Result<CommandTag> {
        let rows: Vec<_> = match options.plan.format {
            Format::Text => text.lines().map(|line| vec![Datum::text(line)]).collect(),
            _ => vec![vec![Datum::text(text)]],
        };
        self.put_rows(&[explained_column(options.plan.format)], &rows, formats, describe)?;
        Ok(CommandTag::Plain("EXPLAIN"))
    }

    /// The query identifier of an explained statement, shown if compute_query_id is on. (With
    /// `auto`, PostgreSQL shows it if a loaded module requires it. Here pg_stat_statements is built
    /// in.)
    fn explained_id(
        &self,
        portal: &PlanPortal,
        source: &Arc<str>,
        options: &ExplainSettings,
    ) -> Option<i64> {
        if !(options.plan.verbose && self.settings.live.shows_query_id) {
            return None;
        }
        let text = self.own_text(source);
        let relations = portal.plan.compiled.planned().relations.iter().map(|(oid, _)| *oid);
        let statements = &self.core.server.statements;
        Some(statements.statement(explained(&text), Parameters::Own, relations).id)
    }

    /// The explained plan with its parameters and its relations locked.
    async fn explained(
        &mut self,
        query: &Statement,
        source: &Arc<str>,
        options: &ExplainSettings,
        bound: &BoundParams,
    ) -> Result<PlanPortal> {
        match query {
            Statement::Execute(execute) => {
                let prepared = self.statements.get(&execute.name)?;
                let Body::Plan(plan) = &prepared.body else {
                    return Err(Error::not_supported("EXPLAIN of this statement"));
                };
                let mut plan = Arc::clone(plan);
                self.lock_plan(&mut plan).await?;
                let params = self.execute_params(execute, plan.param_types(), source)?;
                self.check_prepared(&execute.name, &plan, &params)?;
                let plan = self.for_prepared_values(plan, &params)?;
                Ok(PlanPortal::new(plan, params))
            }
            Statement::DeclareCursor(declare) => {
                Box::pin(self.explained(&declare.query, source, options, bound)).await
            }
            other if is_plannable(other) => {
                let params = if options.generic_plan {
                    Params::variable(&bound.types)
                } else {
                    bound.declared()
                };
                let plan = self.plan_locked(&Arc::new(other.clone()), source, &params).await?;
                match options.generic_plan {
                    true => self.check_constants_alone(&plan)?,
                    false => self.check_constants(&plan, &bound.values)?,
                }
                Ok(PlanPortal::new(plan, Arc::clone(&bound.values)))
            }
            _ => Err(Error::not_supported("EXPLAIN of this statement")),
        }
    }

    /// Runs the plan and measures its nodes. Its rows are dropped, or stored in a new table.
    fn analyze(
        &mut self,
        portal: &mut PlanPortal,
        source: &str,
        options: &ExplainSettings,
        target: Option<&Target>,
    ) -> Result<(Execution, Option<Serialization>)> {
        if let Some(command) = portal.plan.refused_read_only {
            self.check_writable(command)?;
        }
        self.start_statement()?;
        self.settle_plan(&mut portal.plan)?;
        let serialize = options.serialize.map(|format| match format {
            WireFormat::Text => ResultFormats::Text,
            WireFormat::Binary => ResultFormats::Binary,
        });
        let made = match target {
            Some(target) => Some(self.make_target(target, &portal.plan, source)?),
            None => None,
        };
        let compiled = &portal.plan.compiled;
        let params = Arc::clone(&portal.params);
        let mut execution = Execution::start_analyzed(
            compiled,
            params,
            &self.statement.env,
            &mut self.transaction.txn,
        )?;
        let serialization = match (made, &serialize) {
            (Some(table), formats) => {
                if target.is_some_and(|target| !target.with_no_data) {
                    self.fill(&mut execution, &table, source)?;
                }
                formats.as_ref().map(|formats| {
                    let sink =
                        SerializingSink::new(compiled.columns(), formats, &self.statement.env.io);
                    sink.done(options.plan.timing)
                })
            }
            (None, None) => {
                self.fetch_all(portal, &mut execution, &mut NullSink)?;
                None
            }
            (None, Some(formats)) => {
                let io = Arc::clone(&self.statement.env.io);
                let mut sink = SerializingSink::new(compiled.columns(), formats, &io);
                self.fetch_all(portal, &mut execution, &mut sink)?;
                Some(sink.done(options.plan.timing))
            }
        };
        self.end_statement();
        Ok((execution, serialization))
    }

    fn fetch_all(
        &mut self,
        portal: &PlanPortal,
        execution: &mut Execution,
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        let txn = &mut self.transaction.txn;
        execution.allow_helpers();
        let status = run::aside(portal.gives_way(), || execution.fetch(txn, 0, sink))?;
        debug_assert!(matches!(status, FetchStatus::Done { .. }), "no limit was given");
        Ok(())
    }
}

/// Encodes the rows for the client, measures and drops them.
struct SerializingSink<'a> {
    columns: &'a [ResultColumn],
    formats: &'a ResultFormats,
    io: &'a IoContext,
    scratch: Vec<u8>,
    bytes: u64,
    time: Duration,
}

impl<'a> SerializingSink<'a> {
    fn new(
        columns: &'a [ResultColumn],
        formats: &'a ResultFormats,
        io: &'a IoContext,
    ) -> SerializingSink<'a> {
        let (bytes, time) = (0, Duration::ZERO);
        SerializingSink { columns, formats, io, scratch: Vec::new(), bytes, time }
    }

    fn done(&self, timing: bool) -> Serialization {
        let format = match self.formats {
            ResultFormats::Binary => "binary",
            _ => "text",
        };
        Serialization { time: timing.then_some(self.time), bytes: self.bytes, format }
    }
}

impl RowSink for SerializingSink<'_> {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        let begin = Instant::now();
        self.scratch.clear();
        let (columns, formats, io) = (self.columns, self.formats, self.io);
        WireSink { out: &mut self.scratch, columns, formats, io, rows_at: None }.row(row)?;
        self.bytes += self.scratch.len() as u64;
        self.time += begin.elapsed();
        Ok(())
    }
}
