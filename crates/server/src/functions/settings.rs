//! set_config (src/backend/utils/misc/guc_funcs.c).

use std::sync::atomic::Ordering;

use steppe_exec::registry::Native;
use steppe_functions::arg;
use steppe_types::{Datum, Error, Result, SqlState};

use crate::services::SharedSession;
use crate::settings::Action;

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[("set_config_by_name", value!(set_config))];

/// `set_config(name, value, is_local)`. NULL resets the setting.
fn set_config(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    if arg(args, 0)?.is_null() {
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
    }
    let local = match arg(args, 2)? {
        Datum::Null => false,
        value => value.as_bool()?,
    };
    let value = match arg(args, 1)? {
        Datum::Null => None,
        value => Some(&**value.as_text()?),
    };
    set(core, arg(args, 0)?.as_text()?, value, local).map(Datum::text)
}

/// Sets or resets a setting. Returns its new value as shown.
fn set(core: &SharedSession, name: &str, value: Option<&str>, local: bool) -> Result<String> {
    if let Some(shown) = core.modes.show(name) {
        // The function runs within the transaction that it would change.
        return match value == Some(shown) {
            true => Ok(shown.to_owned()),
            false => Err(Error::not_supported(format!("set_config of {name}"))),
        };
    }
    let action = if local { Action::Local } else { Action::Set };
    let mut settings = core.settings.lock();
    let level = core.level.load(Ordering::Relaxed);
    match value {
        Some(value) => settings.set(name, value, action, level, false)?,
        // NULL for an unknown custom name creates the setting.
        None if settings.show(name).is_none() => {
            settings.set(name, "", action, level, false)?;
        }
        None => settings.reset(name, action, level)?,
    }
    let shown = settings.show(name).unwrap_or_default();
    let is_built_in = settings.is_built_in(name);
    drop(settings);
    // Only built-in settings have derived values.
    if is_built_in {
        core.see_settings();
    }
    Ok(shown)
}
