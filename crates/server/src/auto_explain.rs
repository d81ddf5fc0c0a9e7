//! auto_explain: the plans of slow statements, in the log (contrib/auto_explain).
//!
//! ```text
//!   settings ─▶ AutoExplain ─┬─ a client's statement: session::explained_run
//!                            └─ a function's statement: nested
//!                                   │ has run at least as long as log_min_duration
//!                                   ▼
//!                              report: EXPLAIN's text of the plan that ran
//! ```
//!
//! It is part of the program, so it needs no LOAD. It does nothing while
//! auto_explain.log_min_duration is -1: a statement then costs one test. With
//! auto_explain.log_analyze the nodes are measured, so a point statement runs by the general way, as
//! under EXPLAIN ANALYZE.
//!
//! A message of auto_explain.log_level `log` goes to the server's log. Those of lower levels go to
//! the client, by client_min_messages, and to the log by log_min_messages.

use std::time::Duration;

use steppe_exec::explain::{
    ExplainOptions, Explained, Format, QueryText, Surroundings, TriggerRuns, explain,
};
use steppe_exec::{ExecEnv, Execution};
use steppe_sql::plan::PlannedStmt;
use steppe_types::error::Severity;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, SqlState, text_io};

use crate::log;

/// auto_explain.log_level
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// `log`
    Log,
    /// Another level, as clients know it.
    Client(Severity),
}

impl Level {
    /// The value of the setting.
    pub(crate) fn of(word: &str) -> Level {
        match word {
            "warning" => Level::Client(Severity::Warning),
            "notice" => Level::Client(Severity::Notice),
            "info" => Level::Client(Severity::Info),
            "log" => Level::Log,
            _ => Level::Client(Severity::Debug),
        }
    }
}

/// The settings of auto_explain, if it logs anything.
#[derive(Clone, Debug)]
pub(crate) struct AutoExplain {
    /// log_min_duration
    pub(crate) min_duration: Duration,
    /// log_nested_statements
    pub(crate) nested: bool,
    /// sample_rate
    pub(crate) sample_rate: f64,
    /// log_level
    pub(crate) level: Level,
    /// log_triggers
    pub(crate) triggers: bool,
    /// log_parameter_max_length, in bytes; `None` is no limit.
    pub(crate) parameter_bytes: Option<usize>,
    /// The other options. An option that needs ANALYZE is off without it.
    pub(crate) options: ExplainOptions,
    /// With log_settings: the settings that planning depends on and that differ from their built-in
    /// value.
    pub(crate) settings: Option<Vec<(String, String)>>,
}

/// The word of auto_explain.log_format.
pub(crate) fn format_of(word: &str) -> Format {
    match word {
        "xml" => Format::Xml,
        "json" => Format::Json,
        "yaml" => Format::Yaml,
        _ => Format::Text,
    }
}

/// A run that has ended.
pub(crate) struct Slow<'a> {
    /// The plan.
    pub(crate) stmt: &'a PlannedStmt,
    /// The environment it ran in, with the catalog of its plan.
    pub(crate) env: &'a ExecEnv,
    /// The values of its parameters.
    pub(crate) params: &'a [Datum],
    /// The parameters are the client's, so they are told.
    pub(crate) tells_params: bool,
    /// The client's text, or the function's.
    pub(crate) text: &'a str,
    /// `None`: it took the point path.
    pub(crate) execution: Option<&'a Execution>,
    /// Its time.
    pub(crate) took: Duration,
    /// With compute_query_id, its identifier.
    pub(crate) query_id: Option<i64>,
}

impl AutoExplain {
    /// Tells the plan of a run that was slow enough.
    pub(crate) fn report(&self, run: &Slow<'_>) {
        if run.took < self.min_duration {
            return;
        }
        let ms = run.took.as_secs_f64() * 1000.0;
        let message = format!("duration: {ms:.3} ms  plan:\n{}", self.explanation(run));
        let session = &run.env.session;
        let level = match self.level {
            Level::Log => log::Level::Log,
            Level::Client(Severity::Warning) => log::Level::Warning,
            Level::Client(_) => log::Level::Notice,
        };
        let pid = session.identity().pid;
        log::write(level, &[("pid", &pid), ("message", &message)]);
        if let Level::Client(severity) = self.level {
            let sqlstate = match severity {
                Severity::Warning => SqlState::WARNING,
                _ => SqlState::SUCCESSFUL_COMPLETION,
            };
            session.notice(Error::new(sqlstate, message).severity(severity));
        }
    }

    fn explanation(&self, run: &Slow<'_>) -> String {
        let parameters = match run.tells_params {
            true => parameters(run.stmt, run.params, &run.env.io, self.parameter_bytes),
            false => None,
        };
        let mut around = Surroundings {
            query: Some(QueryText { text: run.text.to_owned(), parameters }),
            settings: self.settings.clone(),
            query_id: run.query_id.filter(|_| self.options.verbose),
            ..Surroundings::default()
        };
        let measured = run.execution.filter(|_| self.options.analyze);
        let options = match measured {
            Some(_) => self.options,
            None => ExplainOptions { analyze: false, ..self.options },
        };
        if let Some(execution) = measured.filter(|_| self.triggers) {
            around.triggers = TriggerRuns::new(execution.trigger_runs(), run.stmt, options);
        }
        let explained = Explained {
            stmt: run.stmt,
            catalog: &run.env.catalog,
            env: run.env,
            params: run.params,
            is_generic: false,
            instruments: measured.map_or(&[], Execution::instruments),
            leaf_runs: measured.map_or(&[], Execution::leaf_runs),
        };
        explain(explained, options, &around)
    }
}

/// The values of a client's parameters (BuildParamLogString in params.c).
fn parameters(
    stmt: &PlannedStmt,
    values: &[Datum],
    io: &IoContext,
    bytes_max: Option<usize>,
) -> Option<String> {
    if values.is_empty() || bytes_max == Some(0) {
        return None;
    }
    let shown = values.iter().zip(&stmt.param_types).enumerate().map(|(at, (value, ty))| {
        let text = match value {
            Datum::Null => "NULL".to_owned(),
            value => quoted(&text_io::output_string(*ty, value, io).unwrap_or_default(), bytes_max),
        };
        format!("${} = {text}", at + 1)
    });
    Some(shown.collect::<Vec<_>>().join(", "))
}

/// A text in quotes, cut after a number of bytes (appendStringInfoStringQuoted).
fn quoted(text: &str, bytes_max: Option<usize>) -> String {
    let mut end = bytes_max.unwrap_or(text.len()).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let dots = if end < text.len() { "..." } else { "" };
    format!("'{}{dots}'", text[..end].replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(quoted("it's", None), "'it''s'");
        assert_eq!(quoted("it's", Some(2)), "'it...'");
        assert_eq!(quoted("a\u{e9}b", Some(2)), "'a...'");
        assert_eq!(quoted("ab", Some(2)), "'ab'");
    }
}
