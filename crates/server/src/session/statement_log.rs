//! Statements in the server's log: log_statement, log_min_duration_statement
//! (check_log_statement and check_log_duration in src/backend/tcop/postgres.c).

use std::time::Instant;

use steppe_ddl as ddl;
use steppe_sql::ast::Statement;
use steppe_sql::query::Command;

use super::Session;
use crate::log;
use crate::settings::live::LoggedStatements;

/// A statement that is timed for the log.
pub(super) struct StatementClock {
    begin: Instant,
    /// The log has its text already.
    is_logged: bool,
}

/// The least log_statement setting that logs a statement.
pub(super) fn level_of(statement: &Statement) -> LoggedStatements {
    match statement {
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => LoggedStatements::Mod,
        Statement::Copy(copy) if copy.is_from => LoggedStatements::Mod,
        Statement::Explain(explain) => level_of(&explain.query),
        Statement::Prepare(prepare) => level_of(&prepare.query),
        other if ddl::is_ddl(other) => LoggedStatements::Ddl,
        _ => LoggedStatements::All,
    }
}

/// The same for a planned statement.
pub(super) fn level_of_command(command: Command) -> LoggedStatements {
    match command {
        Command::Select => LoggedStatements::All,
        _ => LoggedStatements::Mod,
    }
}

impl Session {
    /// A statement starts. `what` is "statement", or "execute" and the statement's name.
    pub(super) fn log_start(&mut self, level: LoggedStatements, what: &str) {
        if !self.settings.live.logs_statements {
            return;
        }
        let is_logged = level <= self.settings.live.log_statement;
        if is_logged {
            let (pid, text) = (self.pid(), self.control.activity.query());
            log::write(log::Level::Log, &[("pid", &pid), ("message", &what), ("statement", &text)]);
        }
        self.counters.statement_clock = Some(StatementClock { begin: Instant::now(), is_logged });
    }

    /// The statement has ended.
    pub(super) fn log_end(&mut self) {
        let Some(clock) = self.counters.statement_clock.take() else { return };
        let elapsed = clock.begin.elapsed();
        if self.settings.live.log_min_duration.is_none_or(|least| elapsed < least) {
            return;
        }
        let (pid, ms) = (self.pid(), format!("{:.3}", elapsed.as_secs_f64() * 1000.0));
        let text = self.control.activity.query();
        let mut fields: Vec<(&str, &dyn std::fmt::Display)> =
            vec![("pid", &pid), ("message", &"duration"), ("ms", &ms)];
        if !clock.is_logged {
            fields.push(("statement", &text));
        }
        log::write(log::Level::Log, &fields);
    }
}
