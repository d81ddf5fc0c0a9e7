//! Settings that functions change: SET in their bodies, SET clauses, exception blocks that take a
//! SET back (fmgr_security_definer in fmgr.c, guc.c).
//!
//! A function runs while the session is lent out. So its settings change in the shared part of the
//! session. The session derives its own typed values from them before the next statement. Later
//! statements of the function see the change in the session's frame.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_catalog::objects::Text;
use steppe_catalog::system::role_named;
use steppe_sql::ast::SetStmt;
use steppe_types::io::IoContext;
use steppe_types::{Error, Result, SqlState};

use crate::namespace::{FunctionSettings, SessionNamespace};
use crate::services::SharedSession;
use crate::session::flatten;
use crate::settings::{Action, LiveSettings};
use crate::spi::io_of;

impl SharedSession {
    /// SET and RESET by a statement of a function. 0A000 for the modes of the transaction.
    pub(crate) fn set_in_function(&self, set: &SetStmt) -> Result<()> {
        let level = self.level.load(Ordering::Relaxed);
        let action = |local: bool| if local { Action::Local } else { Action::Set };
        match set {
            SetStmt::Value { name, values, local } => {
                let text = flatten(name, values)?;
                self.set_value(name, &text, action(*local), level)?;
            }
            SetStmt::Default { name, local } => {
                self.check_own(name)?;
                self.settings.lock().reset(name, action(*local), level)?;
            }
            SetStmt::Reset(name) => {
                self.check_own(name)?;
                self.settings.lock().reset(name, Action::Set, level)?;
            }
            SetStmt::ResetAll => self.settings.lock().reset_all(level),
            _ => return Err(Error::not_supported("this SET in a function")),
        }
        self.see_settings();
        Ok(())
    }

    /// Puts a function's SET clauses in force ([`SessionHost::enter_settings`]).
    pub(crate) fn enter_function_settings(&self, settings: &[(Text, Text)]) -> Result<u32> {
        let level = self.begin_settings_level();
        for (name, value) in settings {
            if let Err(error) = self.set_value(name, value, Action::Save, level) {
                self.end_settings_level(level, false);
                return Err(error);
            }
        }
        self.see_settings();
        Ok(level)
    }

    /// Begins a level of settings within those that are open.
    pub(crate) fn begin_settings_level(&self) -> u32 {
        self.level.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends a level of settings and those within it.
    pub(crate) fn end_settings_level(&self, level: u32, keep: bool) {
        let has_changed = {
            let mut settings = self.settings.lock();
            let before = settings.generation();
            settings.end_level(level, keep);
            settings.generation() != before
        };
        self.level.store(level.saturating_sub(1).max(1), Ordering::Relaxed);
        if has_changed {
            self.see_settings();
        }
    }

    fn set_value(&self, name: &str, text: &str, action: Action, level: u32) -> Result<()> {
        self.check_own(name)?;
        self.check_role(name, text)?;
        self.settings.lock().set(name, text, action, level, false)
    }

    /// 0A000 for a setting that belongs to the transaction.
    fn check_own(&self, name: &str) -> Result<()> {
        match self.modes.show(name) {
            None => Ok(()),
            Some(_) => Err(Error::not_supported(format!("SET {name} in a function"))),
        }
    }

    /// A session may only set its own role yet.
    pub(crate) fn check_role(&self, name: &str, text: &str) -> Result<()> {
        let is_role = name.eq_ignore_ascii_case("role");
        if !is_role && !name.eq_ignore_ascii_case("session_authorization") {
            return Ok(());
        }
        if *text == *self.identity.user || (is_role && text == "none") {
            return Ok(());
        }
        if role_named(text).is_some() {
            return Err(Error::not_supported("changing to another role"));
        }
        let message = format!("role \"{text}\" does not exist");
        Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
    }

    /// Functions see the settings as they are now.
    pub(crate) fn see_settings(&self) {
        let live = LiveSettings::derive(&self.settings.lock());
        self.function_counts.track(live.tracked_functions);
        let before = self.namespace.get();
        let names = self.resolve(Arc::clone(&before.names.catalog), &live.search_path);
        let io = IoContext { now: before.io.now, ..(*live.io).clone() };
        let settings = FunctionSettings::of(&live);
        let io = io_of(&io, &names, &self.identity.user);
        let namespace = SessionNamespace { names, io, settings, ..(*before).clone() };
        self.namespace.put(Arc::new(namespace));
    }
}
