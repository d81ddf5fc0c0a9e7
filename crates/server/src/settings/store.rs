//! A session's settings, with SET's transactional semantics.
//!
//! A session shares the server's values and keeps only the changed ones. Each changed setting has a
//! stack of earlier values by nesting level: 1 is the transaction, more are savepoints. This
//! follows guc.c. An aborted level restores the earlier value. SET LOCAL ends with the transaction.
//! A SET under a SET LOCAL is *masked* until then.

use std::sync::Arc;

use hashbrown::HashMap;
use steppe_types::{Error, Result, SqlState};

use super::check;
use super::conf;
use super::definition::{self, Context, Definition};
use super::value::Value;

/// The source of a value (pg_settings.source).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Compiled in.
    Default,
    /// steppe.conf, at this line.
    File(usize),
    /// `-c` on the server's command line.
    CommandLine,
    /// The client's start-up packet.
    Client,
    /// SET.
    Session,
    /// Decided by the server itself.
    Override,
}

impl Source {
    /// pg_settings.source.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::File(_) => "configuration file",
            Source::CommandLine => "command line",
            Source::Client => "client",
            Source::Session => "session",
            Source::Override => "override",
        }
    }

    /// The line of steppe.conf that sets it.
    pub fn line(&self) -> Option<i32> {
        match self {
            Source::File(line) => Some(i32::try_from(*line).unwrap_or(i32::MAX)),
            _ => None,
        }
    }
}

/// A value and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// Its source.
    pub source: Source,
}

/// The values that new sessions start with.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    values: Vec<Setting>,
    /// Settings with a dot in their name, by lower-case name.
    custom: HashMap<String, (String, Setting), foldhash::fast::RandomState>,
    /// Settings with another value in steppe.conf that needs a restart.
    pending_restart: Vec<Key>,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        let built_in = |definition: &Definition| Setting {
            value: definition.boot.clone(),
            source: Source::Default,
        };
        ServerSettings {
            values: definition::all().iter().map(built_in).collect(),
            custom: HashMap::default(),
            pending_restart: Vec::new(),
        }
    }
}

impl ServerSettings {
    /// Sets a value from the configuration file or the command line.
    pub fn set(&mut self, name: &str, text: &str, source: Source) -> Result<()> {
        let Some(index) = definition::index_of(name) else {
            let name = custom_name(name)?;
            let setting = Setting { value: Value::Text(text.into()), source };
            self.custom.insert(name.to_ascii_lowercase(), (name.to_owned(), setting));
            return Ok(());
        };
        let definition = &definition::all()[index];
        if definition.context == Context::Internal && source != Source::Override {
            return Err(cannot_change(definition.name, ""));
        }
        let value = check::check(definition, text, &self.values[index].value)?;
        self.values[index] = Setting { value, source };
        Ok(())
    }

    /// The settings after the configuration file is read again, and the messages to log
    /// (ProcessConfigFile). The command line's values are kept.
    pub fn reloaded(&self, entries: &[conf::Entry]) -> (ServerSettings, Vec<String>) {
        let mut messages = Vec::new();
        let mut new = ServerSettings {
            values: self.values.clone(),
            custom: self.custom.clone(),
            pending_restart: Vec::new(),
        };
        let is_from_file = |setting: &Setting| matches!(setting.source, Source::File(_));
        for (setting, definition) in new.values.iter_mut().zip(definition::all()) {
            if is_from_file(setting) {
                *setting = Setting { value: definition.boot.clone(), source: Source::Default };
            }
        }
        new.custom.retain(|_, (_, setting)| !is_from_file(setting));
        let mut is_sound = true;
        for entry in entries {
            if let Err(error) = new.set_from_file(entry) {
                is_sound = false;
                messages.push(format!("steppe.conf, line {}: {}", entry.line, error.message()));
            }
        }
        for (key, definition) in definition::all().iter().enumerate() {
            let (old, now) = (&self.values[key], &new.values[key]);
            if old.value == now.value {
                continue;
            }
            if definition.context <= Context::Postmaster {
                new.values[key] = old.clone();
                new.pending_restart.push(key);
                messages.push(format!(
                    "parameter \"{}\" cannot be changed without restarting the server",
                    definition.name
                ));
            } else {
                let shown = now.value.setting();
                messages.push(match now.source {
                    Source::Default => format!(
                        "parameter \"{}\" removed from configuration file, reset to default",
                        definition.name
                    ),
                    _ => format!("parameter \"{}\" changed to \"{shown}\"", definition.name),
                });
            }
        }
        if !is_sound {
            let message = "configuration file \"steppe.conf\" contains errors; unaffected \
                           changes were applied";
            messages.push(message.to_owned());
        }
        (new, messages)
    }

    /// Sets a value from the configuration file unless the command line has set it.
    fn set_from_file(&mut self, entry: &conf::Entry) -> Result<()> {
        let wins = match definition::index_of(&entry.name) {
            Some(key) => {
                matches!(self.values[key].source, Source::CommandLine | Source::Override)
            }
            None => {
                let found = self.custom.get(&entry.name.to_ascii_lowercase());
                found.is_some_and(|(_, setting)| setting.source == Source::CommandLine)
            }
        };
        if wins { Ok(()) } else { self.set(&entry.name, &entry.value, Source::File(entry.line)) }
    }

    /// A value by PostgreSQL's name of the setting; the empty string for an unknown name.
    pub fn get(&self, name: &str) -> Value {
        match definition::index_of(name) {
            Some(index) => self.values[index].value.clone(),
            None => Value::Text("".into()),
        }
    }

    /// A number, in its base unit.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Value::Int(value) => value,
            _ => 0,
        }
    }
}

/// The kind of a SET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// SET: for the session, unless the transaction aborts.
    Set,
    /// SET LOCAL: until the transaction ends.
    Local,
    /// The SET clause of a function: until its level ends.
    Save,
}

/// The state of a value on the stack (guc.h's GucStackState).
#[derive(Clone, Debug)]
enum State {
    Set,
    Local,
    /// SET, then SET LOCAL at the same level: the end restores the value of SET.
    SetLocal(Setting),
    /// The SET clause of a function.
    Save,
}

#[derive(Clone, Debug)]
struct Saved {
    level: u32,
    state: State,
    prior: Setting,
}

/// A setting that a session has changed.
#[derive(Clone, Debug)]
struct Entry {
    current: Setting,
    reset: Setting,
    stack: Vec<Saved>,
}

/// A built-in setting's key is its position. The keys of other settings follow.
type Key = usize;

/// One session's settings.
#[derive(Debug)]
pub struct SessionSettings {
    server: Arc<ServerSettings>,
    entries: HashMap<Key, Entry, foldhash::fast::RandomState>,
    /// Names of settings with a dot, in order of appearance.
    custom: Vec<String>,
    /// Stands for the present state, so that derived values can be kept.
    generation: u64,
    /// The newest generation. Two states have two numbers.
    newest: u64,
    /// Reported settings that may have changed since they were last reported.
    unreported: Vec<Key>,
    /// Keys with a non-empty stack. The end of a transaction reads only these.
    stacked: Vec<Key>,
}

/// Limits the settings with a dot, which cost memory.
const CUSTOM_MAX: usize = 1000;

impl SessionSettings {
    /// The settings of a new session.
    pub fn new(server: Arc<ServerSettings>) -> SessionSettings {
        SessionSettings {
            server,
            entries: HashMap::default(),
            custom: Vec::new(),
            generation: 1,
            newest: 1,
            unreported: Vec::new(),
            stacked: Vec::new(),
        }
    }

    /// Stands for the present state: another one has another number.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Takes back the number of an earlier state, since all settings are as they were then.
    pub fn restore_generation(&mut self, generation: u64) {
        self.generation = generation;
    }

    /// The server's settings were read again: settings that the session has not set take the new
    /// values.
    pub fn rebase(&mut self, server: Arc<ServerSettings>) {
        let old = std::mem::replace(&mut self.server, server);
        let is_servers = |source| !matches!(source, Source::Client | Source::Session);
        for key in 0..definition::all().len() {
            let new = self.server_setting(key);
            if old.values[key] == new {
                continue;
            }
            if let Some(entry) = self.entries.get_mut(&key) {
                if is_servers(entry.reset.source) {
                    entry.reset = new.clone();
                }
                if is_servers(entry.current.source) && entry.stack.is_empty() {
                    entry.current = new;
                }
            }
            self.touched(key);
        }
        self.renew();
    }

    /// The state is another one.
    fn renew(&mut self) {
        self.newest += 1;
        self.generation = self.newest;
    }

    /// Whether a setting is not one that a client has made up.
    pub fn is_built_in(&self, name: &str) -> bool {
        definition::index_of(name).is_some()
    }

    fn key(&self, name: &str) -> Option<Key> {
        if let Some(index) = definition::index_of(name) {
            return Some(index);
        }
        let at = self.custom.iter().position(|custom| custom.eq_ignore_ascii_case(name))?;
        Some(definition::all().len() + at)
    }

    /// The setting's key. It adds a new name with a dot.
    fn key_for_set(&mut self, name: &str) -> Result<Key> {
        if let Some(key) = self.key(name) {
            return Ok(key);
        }
        let name = custom_name(name)?;
        if self.custom.len() >= CUSTOM_MAX {
            return Err(Error::new(
                SqlState::CONFIGURATION_LIMIT_EXCEEDED,
                "too many custom configuration parameters",
            ));
        }
        self.custom.push(name.to_owned());
        Ok(definition::all().len() + self.custom.len() - 1)
    }

    fn setting(&self, key: Key) -> Setting {
        match self.entries.get(&key) {
            Some(entry) => entry.current.clone(),
            None => self.server_setting(key),
        }
    }

    /// The value of a setting in a new session.
    fn server_setting(&self, key: Key) -> Setting {
        if let Some(setting) = self.server.values.get(key) {
            return setting.clone();
        }
        let name = &self.custom[key - definition::all().len()];
        match self.server.custom.get(&name.to_ascii_lowercase()) {
            Some((_, setting)) => setting.clone(),
            None => Setting { value: Value::Text("".into()), source: Source::Default },
        }
    }

    /// The value of a built-in setting.
    pub fn value(&self, name: &str) -> Value {
        match definition::index_of(name) {
            Some(index) => self.setting(index).value,
            None => Value::Text("".into()),
        }
    }

    /// The value of a setting as SHOW prints it; `None` if there is no such setting.
    pub fn show(&self, name: &str) -> Option<String> {
        if let Some(index) = definition::index_of(name) {
            let definition = &definition::all()[index];
            // The value of seed has been used up.
            if definition.name == "seed" {
                return Some("unavailable".to_owned());
            }
            return Some(self.setting(index).value.show(definition));
        }
        if let Some(key) = self.key(name) {
            return Some(self.setting(key).value.setting());
        }
        let (_, setting) = self.server.custom.get(&name.to_ascii_lowercase())?;
        Some(setting.value.setting())
    }

    /// SET, SET LOCAL, set_config. `level` is the transaction's or savepoint's. `starting` marks a
    /// value of the start-up packet: RESET restores it, and some settings can only be set then.
    pub fn set(
        &mut self,
        name: &str,
        text: &str,
        action: Action,
        level: u32,
        starting: bool,
    ) -> Result<()> {
        let key = self.key_for_set(name)?;
        let definition = definition::all().get(key);
        let value = match definition {
            None => Value::Text(text.into()),
            Some(definition) => {
                check_context(definition, starting)?;
                check::check(definition, text, &self.setting(key).value)?
            }
        };
        let source = if starting { Source::Client } else { Source::Session };
        self.assign(key, Setting { value, source }, action, level, starting);
        Ok(())
    }

    /// The name of a setting as it is defined, if [`Self::set`] would take the value.
    pub fn checked(&self, name: &str, text: &str) -> Result<String> {
        match definition::find(name) {
            Some(definition) => {
                check_context(definition, false)?;
                check::check(definition, text, &self.value(definition.name))?;
                Ok(definition.name.to_owned())
            }
            None => Ok(custom_name(name)?.to_owned()),
        }
    }

    /// RESET name, SET name TO DEFAULT.
    pub fn reset(&mut self, name: &str, action: Action, level: u32) -> Result<()> {
        let key = self.key(name).ok_or_else(|| match custom_name(name) {
            Ok(name) => unrecognized(name),
            Err(error) => error,
        })?;
        if let Some(definition) = definition::all().get(key) {
            check_context(definition, false)?;
        }
        if self.entries.contains_key(&key) {
            self.reset_key(key, action, level);
        }
        Ok(())
    }

    /// RESET ALL.
    pub fn reset_all(&mut self, level: u32) {
        let keys: Vec<Key> = self.entries.keys().copied().collect();
        for key in keys {
            let resettable = definition::all().get(key).is_none_or(|definition| {
                !definition.keeps
                    && matches!(definition.context, Context::User | Context::Superuser)
            });
            if resettable {
                self.reset_key(key, Action::Set, level);
            }
        }
    }

    fn reset_key(&mut self, key: Key, action: Action, level: u32) {
        let reset = self.entries.get(&key).map(|entry| entry.reset.clone());
        if let Some(reset) = reset {
            self.assign(key, reset, action, level, false);
        }
    }

    /// Sets a value that the server decides, e.g. is_superuser.
    pub fn override_value(&mut self, name: &'static str, text: &str) {
        if let Some(index) = definition::index_of(name) {
            let definition = &definition::all()[index];
            let value = Value::parse(definition, text).unwrap_or_else(|_| definition.boot.clone());
            let setting = Setting { value, source: Source::Override };
            self.assign(index, setting, Action::Set, 0, true);
        }
    }

    fn assign(&mut self, key: Key, new: Setting, action: Action, level: u32, starting: bool) {
        let server = self.server_setting(key);
        let entry = self.entries.entry(key).or_insert_with(|| Entry {
            current: server.clone(),
            reset: server,
            stack: Vec::new(),
        });
        if starting {
            entry.reset = new.clone();
        } else {
            push(entry, action, level);
            if !self.stacked.contains(&key) {
                self.stacked.push(key);
            }
        }
        entry.current = new;
        self.touched(key);
    }

    fn touched(&mut self, key: Key) {
        self.renew();
        let reported = definition::all().get(key).is_some_and(|definition| definition.reported);
        if reported && !self.unreported.contains(&key) {
            self.unreported.push(key);
        }
    }

    /// The end of a transaction (level 1) or savepoint (AtEOXact_GUC).
    pub fn end_level(&mut self, level: u32, commit: bool) {
        if self.stacked.is_empty() {
            return;
        }
        let keys = std::mem::take(&mut self.stacked);
        for key in keys {
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            let changed = pop(entry, level, commit);
            if !entry.stack.is_empty() {
                self.stacked.push(key);
            }
            if changed {
                self.touched(key);
            }
        }
    }

    /// Reported settings that have changed since the last call, with their values.
    pub fn take_unreported(&mut self) -> Vec<(&'static str, String)> {
        let keys = std::mem::take(&mut self.unreported);
        let shown = keys.into_iter().filter_map(|key| {
            let definition = definition::all().get(key)?;
            Some((definition.name, self.setting(key).value.show(definition)))
        });
        shown.collect()
    }

    /// Whether a reported setting may have changed.
    pub fn has_unreported(&self) -> bool {
        !self.unreported.is_empty()
    }

    /// All reported settings, for a new connection.
    pub fn reported(&mut self) -> Vec<(&'static str, String)> {
        self.unreported.clear();
        let all = definition::all().iter().enumerate().filter(|(_, d)| d.reported);
        all.map(|(key, d)| (d.name, self.setting(key).value.show(d))).collect()
    }

    /// The settings that plans depend on and that are not at their built-in value, as SHOW
    /// prints them (get_explain_guc_options).
    pub fn explained(&self) -> Vec<(String, String)> {
        let all = definition::all().iter().enumerate().filter(|(_, d)| d.explained);
        all.filter_map(|(key, d)| {
            let setting = self.setting(key);
            let is_set = setting.source != Source::Default && setting.value != d.boot;
            is_set.then(|| (d.name.to_owned(), setting.value.show(d)))
        })
        .collect()
    }

    /// The rows of pg_settings and SHOW ALL, by name.
    pub fn rows(&self) -> Vec<SettingRow> {
        let row = |(key, definition): (Key, &'static Definition)| SettingRow {
            definition,
            setting: self.setting(key),
            reset: match self.entries.get(&key) {
                Some(entry) => entry.reset.value.clone(),
                None => self.server_setting(key).value,
            },
            pending_restart: self.server.pending_restart.contains(&key),
        };
        definition::all().iter().enumerate().filter(|(_, d)| !d.hidden).map(row).collect()
    }
}

/// A row of pg_settings.
pub struct SettingRow {
    /// The setting.
    pub definition: &'static Definition,
    /// Its value now.
    pub setting: Setting,
    /// The value after RESET.
    pub reset: Value,
    /// steppe.conf has another value, which needs a restart.
    pub pending_restart: bool,
}

/// Pushes the value before a SET (push_old_value).
fn push(entry: &mut Entry, action: Action, level: u32) {
    if let Some(saved) = entry.stack.last_mut().filter(|saved| saved.level >= level) {
        match (action, &saved.state) {
            (Action::Set, _) => saved.state = State::Set,
            (Action::Local, State::Set) => {
                saved.state = State::SetLocal(entry.current.clone());
            }
            (Action::Local | Action::Save, _) => {}
        }
        return;
    }
    let state = match action {
        Action::Set => State::Set,
        Action::Local => State::Local,
        Action::Save => State::Save,
    };
    entry.stack.push(Saved { level, state, prior: entry.current.clone() });
}

/// AtEOXact_GUC for one setting. Returns whether its value changed.
fn pop(entry: &mut Entry, level: u32, commit: bool) -> bool {
    let mut changed = false;
    while let Some(mut saved) = entry.stack.pop_if(|saved| saved.level >= level) {
        if !commit || matches!(saved.state, State::Save) {
            entry.current = saved.prior;
            changed = true;
        } else if saved.level == 1 {
            match saved.state {
                State::Set => {}
                State::Local | State::Save => entry.current = saved.prior,
                State::SetLocal(masked) => entry.current = masked,
            }
            changed = true;
        } else if entry.stack.last().is_none_or(|below| below.level < saved.level - 1) {
            saved.level -= 1;
            entry.stack.push(saved);
            // Continue only if it is still at or above the level that ended.
            if entry.stack.last().is_some_and(|top| top.level < level) {
                break;
            }
        } else if let Some(below) = entry.stack.last_mut() {
            match (saved.state, &below.state) {
                (State::Set, _) => below.state = State::Set,
                (State::Local, State::Set) => below.state = State::SetLocal(saved.prior),
                (State::Local | State::Save, _) => {}
                (State::SetLocal(masked), _) => below.state = State::SetLocal(masked),
            }
        }
    }
    changed
}

/// 42704, with guc.c's message.
#[cold]
pub fn unrecognized(name: &str) -> Error {
    Error::new(
        SqlState::UNDEFINED_OBJECT,
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

#[cold]
fn cannot_change(name: &str, when: &str) -> Error {
    Error::new(
        SqlState::CANT_CHANGE_RUNTIME_PARAM,
        format!("parameter \"{name}\" cannot be changed{when}"),
    )
}

fn check_context(definition: &Definition, starting: bool) -> Result<()> {
    let name = definition.name;
    match definition.context {
        Context::User | Context::Superuser => Ok(()),
        Context::Backend | Context::SuperuserBackend if starting => Ok(()),
        Context::Backend | Context::SuperuserBackend => Err(Error::new(
            SqlState::CANT_CHANGE_RUNTIME_PARAM,
            format!("parameter \"{name}\" cannot be set after connection start"),
        )),
        Context::Internal => Err(cannot_change(name, "")),
        Context::Postmaster => Err(cannot_change(name, " without restarting the server")),
        Context::Sighup => Err(cannot_change(name, " now")),
    }
}

/// Checks that a name without a built-in setting has a dot (assignable_custom_variable_name).
fn custom_name(name: &str) -> Result<&str> {
    if !name.contains('.') {
        return Err(unrecognized(name));
    }
    let is_identifier = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii())
            && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii())
    };
    if name.split('.').all(is_identifier) {
        return Ok(name);
    }
    Err(Error::new(
        SqlState::INVALID_NAME,
        format!("invalid configuration parameter name \"{name}\""),
    )
    .detail("Custom parameter names must be two or more simple identifiers separated by dots."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionSettings {
        SessionSettings::new(Arc::new(ServerSettings::default()))
    }

    fn set(settings: &mut SessionSettings, value: &str, action: Action, level: u32) {
        settings.set("work_mem", value, action, level, false).unwrap();
    }

    fn work_mem(settings: &SessionSettings) -> String {
        settings.show("work_mem").unwrap()
    }

    #[test]
    fn set_lasts_if_the_transaction_commits() {
        let mut s = session();
        set(&mut s, "1MB", Action::Set, 1);
        s.end_level(1, true);
        assert_eq!(work_mem(&s), "1MB");
        set(&mut s, "2MB", Action::Set, 1);
        s.end_level(1, false);
        assert_eq!(work_mem(&s), "1MB");
        s.reset("work_mem", Action::Set, 1).unwrap();
        s.end_level(1, true);
        assert_eq!(work_mem(&s), "4MB");
    }

    #[test]
    fn set_local_masks_set() {
        let mut s = session();
        set(&mut s, "1MB", Action::Set, 1);
        set(&mut s, "2MB", Action::Local, 1);
        assert_eq!(work_mem(&s), "2MB");
        s.end_level(1, true);
        assert_eq!(work_mem(&s), "1MB");
    }

    #[test]
    fn savepoints_restore_and_merge() {
        let mut s = session();
        set(&mut s, "1MB", Action::Set, 1);
        set(&mut s, "2MB", Action::Set, 3);
        s.end_level(3, false);
        assert_eq!(work_mem(&s), "1MB");
        // SET LOCAL in a released savepoint lasts to the end of the transaction.
        set(&mut s, "3MB", Action::Local, 2);
        s.end_level(2, true);
        assert_eq!(work_mem(&s), "3MB");
        s.end_level(1, true);
        assert_eq!(work_mem(&s), "1MB");
        // An aborted transaction restores everything, released savepoints too.
        set(&mut s, "5MB", Action::Set, 4);
        s.end_level(4, true);
        s.end_level(3, true);
        s.end_level(2, true);
        assert_eq!(work_mem(&s), "5MB");
        s.end_level(1, false);
        assert_eq!(work_mem(&s), "1MB");
    }

    #[test]
    fn unknown_names_need_a_dot() {
        let mut s = session();
        let unknown = s.set("nonsense", "1", Action::Set, 1, false).unwrap_err();
        assert_eq!(unknown.message(), "unrecognized configuration parameter \"nonsense\"");
        assert_eq!(s.show("app.user"), None);
        s.set("app.user", "7", Action::Set, 1, false).unwrap();
        assert_eq!(s.show("App.User").as_deref(), Some("7"));
        s.end_level(1, false);
        assert_eq!(s.show("app.user").as_deref(), Some(""));
        assert_eq!(
            s.set("a.1b", "1", Action::Set, 1, false).unwrap_err().sqlstate().as_str(),
            "42602"
        );
        let fixed = s.set("max_connections", "1", Action::Set, 1, false).unwrap_err();
        assert_eq!(
            fixed.message(),
            "parameter \"max_connections\" cannot be changed without restarting the server"
        );
    }

    #[test]
    fn changes_of_reported_settings_are_told_once() {
        let mut s = session();
        s.set("application_name", "x", Action::Set, 1, false).unwrap();
        assert_eq!(s.take_unreported(), [("application_name", "x".to_owned())]);
        s.end_level(1, false);
        assert_eq!(s.take_unreported(), [("application_name", String::new())]);
        assert!(s.take_unreported().is_empty());
    }
}
