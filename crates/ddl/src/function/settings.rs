//! SET and RESET clauses of a function: the settings that hold while it runs (proconfig).

use super::super::DdlContext;
use super::options::Settings;
use steppe_catalog::objects::Text;
use steppe_sql::ast::SetStmt;
use steppe_types::{Error, Result};

/// The settings after the clauses. The session checks names and values.
pub(super) fn read(
    ctx: &mut DdlContext<'_>,
    clauses: &[SetStmt],
    mut settings: Settings,
) -> Result<Settings> {
    for clause in clauses {
        match clause {
            SetStmt::ResetAll => settings.clear(),
            SetStmt::Reset(name) | SetStmt::Default { name, .. } => {
                settings.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            }
            SetStmt::Value { .. } | SetStmt::Current { .. } => {
                let (name, value) = ctx.session.checked_setting(clause)?;
                put(&mut settings, name.into(), value.into());
            }
            SetStmt::Transaction(_)
            | SetStmt::SessionCharacteristics(_)
            | SetStmt::TransactionSnapshot(_) => {
                return Err(Error::not_supported("SET TRANSACTION in a function's definition"));
            }
        }
    }
    Ok(settings)
}

/// A later clause replaces an earlier one for the same setting, in its place.
fn put(settings: &mut Settings, name: Text, value: Text) {
    match settings.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => settings.push((name, value)),
    }
}
