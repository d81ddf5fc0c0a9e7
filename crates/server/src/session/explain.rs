//! EXPLAIN (src/backend/commands/explain.c); the executor prints the plan.

use std::sync::Arc;
use std::time::{Duration, Instant};

use steppe_exec::explain::{ExplainOptions, explain};
use steppe_exec::{Execution, FetchStatus};
use steppe_sql::ast::{DefElem, DefValue, ExplainStmt, Statement};
use steppe_sql::bind::Params;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{Cost, Plan, PlanNode, PlannedStmt, ResultColumn};
use steppe_sql::query::Command;
use steppe_types::{Datum, Error, Result, SqlState};

use super::Session;
use super::plan::is_plannable;
use super::portal::{Body, PlanPortal};
use super::sink::{NullSink, ResultFormats};
use super::tag::CommandTag;
use super::utility::text_column;

impl Session {
    /// EXPLAIN.
    pub(super) async fn explain(
        &mut self,
        stmt: &ExplainStmt,
        source: &Arc<str>,
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<CommandTag> {
        let options = options(&stmt.options, source)?;
        let begin = Instant::now();
        let mut portal = self.explained(&stmt.query, source)?;
        let planning = begin.elapsed();
        let mut lines = if options.analyze {
            self.analyze(&mut portal, options).await?
        } else {
            let planned = portal.plan.compiled.planned();
            let lines = explain(planned, options, &[]);
            if options.summary { with_times(lines, planning, None) } else { lines }
        };
        if options.analyze && options.summary {
            let execution = begin.elapsed().saturating_sub(planning);
            lines = with_times(lines, planning, Some(execution));
        }
        let rows: Vec<_> = lines.into_iter().map(|line| vec![Datum::text(line)]).collect();
        self.put_rows(&[text_column("QUERY PLAN")], &rows, formats, describe)?;
        Ok(CommandTag::Plain("EXPLAIN"))
    }

    /// The plan that is explained, with its parameters.
    fn explained(&mut self, query: &Statement, source: &Arc<str>) -> Result<PlanPortal> {
        match query {
            Statement::Execute(execute) => {
                let prepared = self.statements.get(&execute.name)?.clone();
                let Body::Plan(plan) = &prepared.body else {
                    return Err(Error::not_supported("EXPLAIN of this statement"));
                };
                let plan = self.replan(plan)?;
                let params = self.execute_params(execute, plan.param_types(), source)?;
                Ok(PlanPortal::new(plan, params))
            }
            Statement::DeclareCursor(declare) => self.explained(&declare.query, source),
            other if is_plannable(other) => {
                let plan = self.plan(&Arc::new(other.clone()), source, Params::none(), "")?;
                Ok(PlanPortal::new(plan, Arc::from([])))
            }
            _ => Err(Error::not_supported("EXPLAIN of this statement")),
        }
    }

    /// Runs the plan and prints it with what its nodes did.
    async fn analyze(
        &mut self,
        portal: &mut PlanPortal,
        options: ExplainOptions,
    ) -> Result<Vec<String>> {
        if let Some(command) = portal.plan.writes {
            self.check_writable(command)?;
        }
        self.lock_plan(&mut portal.plan).await?;
        self.start_statement()?;
        let compiled = &portal.plan.compiled;
        let params = Arc::clone(&portal.params);
        let mut execution =
            Execution::start_analyzed(compiled, params, &self.env, &mut self.xact.txn)?;
        let txn = &mut self.xact.txn;
        let status = tokio::task::block_in_place(|| execution.fetch(txn, 0, &mut NullSink))?;
        debug_assert!(matches!(status, FetchStatus::Done { .. }), "no limit was given");
        let lines = explain(compiled.planned(), options, execution.instruments());
        self.end_statement();
        Ok(lines)
    }
}

fn with_times(
    mut lines: Vec<String>,
    planning: Duration,
    execution: Option<Duration>,
) -> Vec<String> {
    let ms = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1000.0);
    lines.push(format!("Planning Time: {}", ms(planning)));
    lines.extend(execution.map(|time| format!("Execution Time: {}", ms(time))));
    lines
}

/// The options; `summary` and `timing` follow ANALYZE unless they are given.
fn options(list: &[DefElem], source: &str) -> Result<ExplainOptions> {
    let mut options = ExplainOptions::default();
    let (mut summary, mut timing) = (None, None);
    for option in list {
        let flag = || boolean(option);
        match option.name.as_str() {
            "analyze" => options.analyze = flag()?,
            "verbose" => options.verbose = flag()?,
            "costs" => options.costs = flag()?,
            "buffers" => options.buffers = flag()?,
            "timing" => timing = Some(flag()?),
            "summary" => summary = Some(flag()?),
            "settings" | "wal" | "memory" | "generic_plan" => {
                if flag()? {
                    let name = option.name.to_ascii_uppercase();
                    return Err(Error::not_supported(format!("EXPLAIN option {name}")));
                }
            }
            "serialize" => return Err(Error::not_supported("EXPLAIN option SERIALIZE")),
            "format" => match text(option).as_deref() {
                Some("text") => {}
                Some("json" | "xml" | "yaml") => {
                    return Err(Error::not_supported("EXPLAIN in a format other than TEXT"));
                }
                other => {
                    let value = other.unwrap_or_default();
                    let message =
                        format!("unrecognized value for EXPLAIN option \"format\": \"{value}\"");
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                        .at(option.location.position(source)));
                }
            },
            other => {
                let message = format!("unrecognized EXPLAIN option \"{other}\"");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                    .at(option.location.position(source)));
            }
        }
    }
    if timing == Some(true) && !options.analyze {
        let message = "EXPLAIN option TIMING requires ANALYZE";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    options.timing = timing.unwrap_or(options.analyze);
    options.summary = summary.unwrap_or(options.analyze);
    Ok(options)
}

/// An option's word.
pub(super) fn text(option: &DefElem) -> Option<String> {
    match option.value.as_ref()? {
        DefValue::String(text) | DefValue::Float(text) => Some(text.clone()),
        DefValue::Integer(value) => Some(value.to_string()),
        DefValue::Boolean(value) => Some(if *value { "true" } else { "false" }.to_owned()),
        DefValue::TypeName(name) => Some(name.name.name().to_owned()),
        _ => None,
    }
}

/// An option's Boolean (defGetBoolean): none means true.
pub(super) fn boolean(option: &DefElem) -> Result<bool> {
    if option.value.is_none() {
        return Ok(true);
    }
    let text = text(option).unwrap_or_default().to_ascii_lowercase();
    match text.as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("{} requires a Boolean value", option.name),
        )),
    }
}

/// A plan of one row of expressions that stand alone.
pub(super) fn plan_of_values(exprs: Vec<Expr>, catalog_epoch: u64) -> PlannedStmt {
    let types: Vec<_> = exprs.iter().map(Expr::ty).collect();
    let columns = types
        .iter()
        .map(|ty| ResultColumn { name: "?column?".into(), ty: *ty, origin: (0, 0) })
        .collect();
    PlannedStmt {
        command: Command::Select,
        plan: Plan {
            node: PlanNode::Result { one_time_filter: None, child: None },
            filter: None,
            project: Some(exprs),
            types,
            slot_names: Arc::from([]),
            cost: Cost::default(),
        },
        subplans: Vec::new(),
        exec_params: 0,
        param_types: Vec::new(),
        columns,
        relations: Vec::new(),
        depends_on_literals: false,
        catalog_epoch,
    }
}
