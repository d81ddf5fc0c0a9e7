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
use crate::nested::NestedKinds;
use crate::services::SharedSession;
use crate::session::flatten;
use crate::settings::{Action, LiveSettings};
use crate::spi::io_of;

/// A namespace with its version.
type Versioned = (Arc<SessionNamespace>, u64);

/// The most namespaces within functions that a session remembers.
const KNOWN_MAX: usize = 16;

/// The settings of the functions with SET clauses that are running, outermost first, and the
/// namespaces that such functions have had.
#[derive(Default)]
pub(crate) struct FunctionLevels {
    open: Vec<Level>,
    known: Vec<Known>,
}

struct Level {
    level: u32,
    /// The caller's namespace.
    before: Versioned,
    generation: u64,
    /// The version of the function's namespace at its beginning.
    within: u64,
    changed: u64,
}

struct Known {
    /// The version of the caller's namespace.
    before: u64,
    settings: Box<[(Text, Text)]>,
    within: Versioned,
}

impl FunctionLevels {
    fn known(&self, before: u64, settings: &[(Text, Text)]) -> Option<Versioned> {
        let is_it = |known: &&Known| known.before == before && *known.settings == *settings;
        self.known.iter().find(is_it).map(|known| known.within.clone())
    }

    fn remember(&mut self, before: u64, settings: &[(Text, Text)], within: Versioned) {
        if self.known.len() >= KNOWN_MAX {
            self.known.remove(0);
        }
        self.known.push(Known { before, settings: settings.into(), within });
    }

    /// Forgets what is open: the transaction has ended.
    pub(crate) fn end_transaction(&mut self) {
        self.open.clear();
    }
}

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
        let (before, generation) = (self.namespace.versioned(), self.settings.lock().generation());
        for (name, value) in settings {
            if let Err(error) = self.set_value(name, value, Action::Save, level) {
                self.end_settings_level(level, false);
                return Err(error);
            }
        }
        let known = self.function_levels.lock().known(before.1, settings);
        match known {
            Some(known) => self.restore(known),
            None => {
                self.see_settings();
                let within = self.namespace.versioned();
                self.function_levels.lock().remember(before.1, settings, within);
            }
        }
        let (within, changed) = (self.namespace.version(), self.settings.lock().generation());
        let level_of = Level { level, before, generation, within, changed };
        self.function_levels.lock().open.push(level_of);
        Ok(level)
    }

    /// Ends a function's SET clauses ([`SessionHost::leave_settings`]). If the function has changed
    /// nothing else, all is as it was before, and no plan is made again.
    pub(crate) fn leave_function_settings(&self, level: u32) {
        let open = self.function_levels.lock().open.pop_if(|open| open.level == level);
        let Some(Level { before, generation, within, changed, .. }) = open else {
            return self.end_settings_level(level, true);
        };
        let is_as_before = {
            let mut settings = self.settings.lock();
            let is_as_before = settings.generation() == changed;
            settings.end_level(level, true);
            if is_as_before {
                settings.restore_generation(generation);
            }
            is_as_before
        };
        self.end_level_number(level);
        match is_as_before && self.namespace.version() == within {
            true => self.restore(before),
            false => self.see_settings(),
        }
    }

    /// Puts an earlier namespace back, under its earlier version, so that plans made in it are
    /// valid again.
    fn restore(&self, (namespace, version): Versioned) {
        self.function_counts.track(namespace.settings.tracked_functions);
        self.nested.count(namespace.settings.nested, &namespace.settings.auto_explain);
        self.namespace.put_again(namespace, version);
    }

    /// Begins a level of settings within the open ones.
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
        self.end_level_number(level);
        if has_changed {
            self.see_settings();
        }
    }

    fn end_level_number(&self, level: u32) {
        self.level.store(level.saturating_sub(1).max(1), Ordering::Relaxed);
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

    /// 0A000 for a role other than the session's own, 22023 for one that does not exist.
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
        self.nested.count(NestedKinds::of(&live), &live.auto_explain);
        let before = self.namespace.get();
        let names = self.resolve(Arc::clone(&before.names.catalog), &live.search_path);
        let io = IoContext { now: before.io.now, ..(*live.io).clone() };
        let settings = FunctionSettings::of(&live);
        let io = io_of(&io, &names, &self.identity.user);
        let namespace = SessionNamespace { names, io, settings, ..(*before).clone() };
        self.namespace.put(Arc::new(namespace));
    }
}
