//! SET, RESET, SHOW.

use std::sync::atomic::Ordering;

use steppe_functions::Host as _;
use steppe_sql::ast::{SetStmt, SetValue};
use steppe_sql::deparse::quote_identifier;
use steppe_sql::plan::ResultColumn;
use steppe_types::{Datum, Error, Result, SqlState};

use super::Session;
use super::sink::ResultFormats;
use super::tag::CommandTag;
use super::utility::text_column;
use crate::services::SharedSession;
use crate::settings::{Action, Isolation, definition, unrecognized};

impl Session {
    /// SET and RESET.
    pub(super) fn set(&mut self, set: &SetStmt) -> Result<CommandTag> {
        let tag = match set {
            SetStmt::Value { name, values, local } => {
                let text = flatten(name, values)?;
                self.set_value(name, &text, self.action(*local))?;
                "SET"
            }
            SetStmt::Default { name, local } => {
                self.reset_value(name, self.action(*local))?;
                "SET"
            }
            SetStmt::Current { .. } => return Err(Error::not_supported("SET FROM CURRENT")),
            SetStmt::Transaction(modes) => {
                self.warn_outside_block("SET TRANSACTION");
                self.set_transaction_modes(modes)?;
                "SET"
            }
            SetStmt::SessionCharacteristics(modes) => {
                self.set_characteristics(modes)?;
                "SET"
            }
            SetStmt::TransactionSnapshot(name) => {
                self.warn_outside_block("SET TRANSACTION");
                self.import_snapshot(name)?;
                "SET"
            }
            SetStmt::Reset(name) => {
                self.reset_value(name, Action::Set)?;
                "RESET"
            }
            SetStmt::ResetAll => {
                let level = self.core.level.load(Ordering::Relaxed);
                self.core.settings.lock().reset_all(level);
                "RESET"
            }
        };
        self.refresh_settings();
        Ok(CommandTag::Plain(tag))
    }

    fn action(&self, local: bool) -> Action {
        if !local {
            return Action::Set;
        }
        self.warn_outside_block("SET LOCAL");
        Action::Local
    }

    /// Warns that a command has no effect beyond its statement (WarnNoTransactionBlock).
    fn warn_outside_block(&self, command: &str) {
        if !self.in_block_of_any_kind() {
            let message = format!("{command} can only be used in transaction blocks");
            self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, &message);
        }
    }

    fn set_value(&mut self, name: &str, text: &str, action: Action) -> Result<()> {
        if self.set_transaction_setting(name, text, action)? {
            return Ok(());
        }
        self.core.check_role(name, text)?;
        let level = self.core.level.load(Ordering::Relaxed);
        self.core.settings.lock().set(name, text, action, level, false)
    }

    fn reset_value(&mut self, name: &str, action: Action) -> Result<()> {
        // GUC_NO_RESET: a transaction's value may differ from the setting's default.
        let keeps =
            ["transaction_isolation", "transaction_read_only", "transaction_deferrable", "seed"];
        if keeps.iter().any(|kept| name.eq_ignore_ascii_case(kept)) {
            let message = format!("parameter \"{name}\" cannot be reset");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let level = self.core.level.load(Ordering::Relaxed);
        self.core.settings.lock().reset(name, action, level)
    }

    fn set_characteristics(&mut self, modes: &steppe_sql::ast::TransactionModes) -> Result<()> {
        if let Some(level) = modes.isolation {
            let level = match level {
                steppe_sql::ast::IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
                steppe_sql::ast::IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
                steppe_sql::ast::IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
                steppe_sql::ast::IsolationLevel::Serializable => Isolation::Serializable,
            };
            self.set_value("default_transaction_isolation", level.as_str(), Action::Set)?;
        }
        if let Some(read_only) = modes.read_only {
            self.set_value("default_transaction_read_only", on_off(read_only), Action::Set)?;
        }
        if let Some(deferrable) = modes.deferrable {
            self.set_value("default_transaction_deferrable", on_off(deferrable), Action::Set)?;
        }
        Ok(())
    }

    /// The columns of SHOW.
    pub(super) fn show_columns(&self, name: &str) -> Vec<ResultColumn> {
        if name.eq_ignore_ascii_case("all") {
            return ["name", "setting", "description"].map(text_column).into();
        }
        vec![text_column(shown_name(name))]
    }

    /// SHOW.
    pub(super) fn show(
        &mut self,
        name: &str,
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<CommandTag> {
        let columns = self.show_columns(name);
        let rows = if name.eq_ignore_ascii_case("all") {
            self.core.shown_settings()
        } else {
            let value = self.core.setting(name)?;
            vec![vec![Datum::text(value.ok_or_else(|| unrecognized(name))?)]]
        };
        self.put_rows(&columns, &rows, formats, describe)?;
        Ok(CommandTag::Plain("SHOW"))
    }
}

impl SharedSession {
    /// The rows of SHOW ALL.
    pub(crate) fn shown_settings(&self) -> Vec<Vec<Datum>> {
        let rows = self.settings.lock().rows();
        rows.into_iter()
            .map(|row| {
                let shown = match self.modes.show(row.definition.name) {
                    Some(shown) => shown.to_owned(),
                    None => row.setting.value.show(row.definition),
                };
                // The extracted facts carry no descriptions.
                vec![Datum::text(row.definition.name), Datum::text(shown), Datum::text("")]
            })
            .collect()
    }
}

/// The setting of a function's SET clause, as the function keeps it (update_proconfig_value).
pub(crate) fn checked_setting(
    session: &SharedSession,
    clause: &SetStmt,
) -> Result<(String, String)> {
    let (name, value) = match clause {
        SetStmt::Value { name, values, .. } => (name, flatten(name, values)?),
        SetStmt::Current { name } => {
            let current = session.setting(name)?.ok_or_else(|| unrecognized(name))?;
            (name, current)
        }
        _ => return Err(Error::internal("a function has no such clause")),
    };
    let name = session.settings.lock().checked(name, &value)?;
    Ok((name, value))
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The values of SET as one text (flatten_set_variable_args).
pub(crate) fn flatten(name: &str, values: &[SetValue]) -> Result<String> {
    let found = definition::find(name);
    if values.len() > 1 && !found.is_some_and(|definition| definition.list) {
        let message = format!("SET {name} takes only one argument");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let quoted = found.is_some_and(|definition| definition.quoted);
    let texts = values.iter().map(|value| match value {
        SetValue::String(text) if quoted => Ok(quote_identifier(text).to_string()),
        SetValue::Interval { value, .. } => Ok(value.clone()),
        other => Ok(other.text().into_owned()),
    });
    Ok(texts.collect::<Result<Vec<_>>>()?.join(", "))
}

/// The name of a setting, as SHOW's column has it.
pub(crate) fn shown_name(name: &str) -> &str {
    definition::find(name).map_or(name, |definition| definition.name)
}
