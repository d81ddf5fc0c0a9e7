//! The native code of pg_proc's rows, from any crate.
//!
//! ```text
//!   functions: by prosrc, by OID ──┐
//!   a family that a crate above    ├──▶ native(proc) ──▶ what the compiler makes calls of
//!   has registered ────────────────┘
//!   an extension's code ──▶ missing_partition(name)
//! ```
//!
//! Built-in functions are found first, and no registered family can replace them. A family that is
//! registered twice exists once. The tables are static because they are code, as a shared library
//! is. The state of extensions, such as which are installed, is in the catalog. The compiler
//! searches these tables. Execution does so only for a row without a partition.

use crate::change::{TriggerAnswer, TriggerCall, redundant};
use crate::routine::{self, Language, TriggerCode};
use crate::spi::Spi;
use crate::sql_language::SqlLanguage;
use hashbrown::HashMap;
use std::sync::OnceLock;
use steppe_catalog::objects::{Body, Function, FunctionRef};
use steppe_catalog::{AvailableExtension, Catalog, builtin};
use steppe_functions::{Builtin, CallInfo, sql_bodies};
use steppe_types::{Datum, Error, Oid, Result};

/// A function that runs statements.
pub type SpiFn = fn(&[Datum], &CallInfo, &mut Spi<'_>) -> Result<Datum>;

/// A trigger function. It gets the change that has happened or is about to, and may run statements.
pub type TriggerFn = fn(&TriggerCall<'_>, &mut Spi<'_>) -> Result<TriggerAnswer>;

/// The code of a function that is written in Rust.
#[derive(Clone, Copy)]
pub enum Native {
    /// It computes its result from its arguments and the session's state.
    Builtin(Builtin),
    /// It runs statements.
    Spi(SpiFn),
    /// It is called as a trigger only.
    Trigger(TriggerFn),
}

/// The functions of a crate above this one.
pub struct Family {
    /// The family's name, which the caller keeps unique.
    pub name: &'static str,
    /// Tables of functions by pg_proc.prosrc, one a subject.
    pub by_source: &'static [&'static [(&'static str, Native)]],
    /// Functions by pg_proc.oid, for those without a symbol because PostgreSQL itself writes them
    /// in SQL.
    pub by_oid: &'static [&'static [(Oid, Native)]],
}

/// Called for a key that has no partition of the parent, if the extension manages that table. True:
/// the catalog has changed, and the row is to be routed again.
pub type MissingPartition = fn(&mut Spi<'_>, Oid, &[Datum]) -> Result<bool>;

/// The parts of an extension besides its rows of pg_proc.
pub struct ExtensionCode {
    /// The description that CREATE EXTENSION uses.
    pub extension: &'static AvailableExtension,
    /// The code of its functions.
    pub family: &'static Family,
    /// The function that handles rows without a partition.
    pub missing_partition: Option<MissingPartition>,
}

/// The most families, and the most extensions. Each has a fixed place, so that a search takes no
/// lock.
const PLACES: usize = 16;

static FAMILIES: [OnceLock<Added>; PLACES] = [const { OnceLock::new() }; PLACES];

static LANGUAGES: [OnceLock<&'static dyn Language>; PLACES] = [const { OnceLock::new() }; PLACES];

static EXTENSIONS: [OnceLock<&'static ExtensionCode>; PLACES] = [const { OnceLock::new() }; PLACES];

/// A registered family, indexed.
struct Added {
    name: &'static str,
    by_source: HashMap<&'static str, Native>,
    by_oid: HashMap<Oid, Native>,
}

/// Adds a family; a registered one stays unchanged.
pub fn register(family: &'static Family) {
    for place in &FAMILIES {
        let added = place.get_or_init(|| Added {
            name: family.name,
            by_source: family.by_source.iter().flat_map(|table| table.iter().copied()).collect(),
            by_oid: family.by_oid.iter().flat_map(|table| table.iter().copied()).collect(),
        });
        if added.name == family.name {
            return;
        }
    }
    debug_assert!(false, "no place is left for the functions of {}", family.name);
}

/// Adds an extension's code, and makes the extension available. A registered one stays unchanged.
pub fn register_extension(code: &'static ExtensionCode) {
    register(code.family);
    AvailableExtension::make_available(code.extension);
    let name = code.extension.name;
    let is_placed =
        EXTENSIONS.iter().any(|place| place.get_or_init(|| code).extension.name == name);
    debug_assert!(is_placed, "no place is left for extension {name}");
}

/// Adds a language; a registered one stays unchanged.
pub fn register_language(language: &'static dyn Language) {
    let mut places = LANGUAGES.iter();
    let is_placed = places.any(|place| place.get_or_init(|| language).name() == language.name());
    debug_assert!(is_placed, "no place is left for language {}", language.name());
}

/// The language of this name.
pub fn language_named(name: &str) -> Option<&'static dyn Language> {
    let registered = LANGUAGES.iter().map_while(OnceLock::get).copied();
    let own: [&'static dyn Language; 1] = [&SqlLanguage];
    own.into_iter().chain(registered).find(|language| language.name() == name)
}

/// The language of a user's function. 0A000 if this program does not have it.
pub fn language_of(function: &Function) -> Result<&'static dyn Language> {
    let name = match &function.body {
        Body::Sql { .. } | Body::SqlStandard { .. } => "sql",
        Body::Procedural { language, .. } => {
            let named = builtin::language_name(*language);
            named.ok_or_else(|| Error::internal(format!("no language has OID {language}")))?
        }
        Body::Native { .. } => "internal",
    };
    language_named(name)
        .ok_or_else(|| Error::not_supported(format!("functions in language {name}")))
}

/// The code of a pg_proc row.
pub fn native(proc: &Function) -> Option<Native> {
    let source = native_source(proc)?;
    let own = proc.is_built_in().then(|| sql_bodies::lookup(proc.oid)).flatten();
    let own = own.or_else(|| steppe_functions::lookup(source));
    own.map(Native::Builtin).or_else(|| own_trigger(source)).or_else(|| added(proc, source))
}

/// This crate's own trigger functions.
fn own_trigger(source: &str) -> Option<Native> {
    (source == redundant::SOURCE).then_some(Native::Trigger(redundant::suppress_redundant_updates))
}

/// The name of the program's own code for a function. A user's function has code of its own unless
/// it names one of these.
fn native_source(proc: &Function) -> Option<&str> {
    match &proc.body {
        Body::Native { source, .. } => Some(source),
        _ => proc.built_in_source(),
    }
}

/// The code of a pg_proc row from a crate above this one.
fn added(proc: &Function, source: &str) -> Option<Native> {
    families().find_map(|family| {
        let by_oid = proc.is_built_in().then(|| family.by_oid.get(&proc.oid)).flatten();
        by_oid.or_else(|| family.by_source.get(source)).copied()
    })
}

fn families() -> impl Iterator<Item = &'static Added> {
    FAMILIES.iter().map_while(OnceLock::get)
}

/// Whether PostgreSQL itself writes the function in SQL.
pub(crate) fn is_written_in_sql(function: &Function) -> bool {
    function.is_built_in()
        && (sql_bodies::lookup(function.oid).is_some()
            || families().any(|family| family.by_oid.contains_key(&function.oid)))
}

/// The code of a trigger function: a built-in one, or one of a family by its OID.
fn trigger_function(function: Oid) -> Option<TriggerFn> {
    let built_in = FunctionRef::built_in(function).and_then(|function| native(&function));
    let by_oid = || families().find_map(|family| family.by_oid.get(&function).copied());
    match built_in.or_else(by_oid)? {
        Native::Trigger(function) => Some(function),
        Native::Builtin(_) | Native::Spi(_) => None,
    }
}

/// The code of a trigger function: of the program, or a user's.
pub(crate) fn trigger_code(catalog: &Catalog, function: Oid) -> Option<TriggerCode> {
    if let Some(native) = trigger_function(function) {
        return Some(TriggerCode::Native(native));
    }
    let function = catalog.function(function)?;
    routine::is_routine(&function).then(|| TriggerCode::of_routine(function))
}

/// The extension's function for rows without a partition.
pub(crate) fn missing_partition(extension: &str) -> Option<MissingPartition> {
    let mut codes = EXTENSIONS.iter().map_while(OnceLock::get);
    codes.find(|code| code.extension.name == extension)?.missing_partition
}
