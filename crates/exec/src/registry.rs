//! The code behind pg_proc's rows, of whichever crate.
//!
//! ```text
//!   functions: by prosrc, by OID ──┐
//!   a family that a crate above    ├──▶ native(proc) ──▶ what the compiler makes calls of
//!   has registered ────────────────┘
//!   an extension's code ──▶ missing_partition(name)
//! ```
//!
//! What it guarantees: built-in functions are found first, and nobody above can take their
//! place; a family that is registered twice is there once. The tables are static because they are
//! code, as a shared library is: all that is state (which extensions are installed, what they keep)
//! is in the catalog. Compiling looks here; running does not.

use crate::change::{TriggerAnswer, TriggerCall};
use crate::spi::Spi;
use hashbrown::HashMap;
use std::sync::OnceLock;
use steppe_catalog::AvailableExtension;
use steppe_catalog::objects::{Body, Function, FunctionRef};
use steppe_functions::{Builtin, CallInfo, sql_bodies};
use steppe_types::{Datum, Oid, Result};

/// A function that runs statements.
pub type SpiFn = fn(&[Datum], &CallInfo, &mut Spi<'_>) -> Result<Datum>;

/// A trigger function: told what has happened, or is about to, it may run statements.
pub type TriggerFn = fn(&TriggerCall<'_>, &mut Spi<'_>) -> Result<TriggerAnswer>;

/// The code of a function that is written in Rust.
#[derive(Clone, Copy)]
pub enum Native {
    /// It computes its result from its arguments and what it may ask the session.
    Builtin(Builtin),
    /// It runs statements.
    Spi(SpiFn),
    /// It is called as a trigger only.
    Trigger(TriggerFn),
}

/// The functions that a crate above this one brings.
pub struct Family {
    /// What it is called; the caller registers one family by one name.
    pub name: &'static str,
    /// Tables of functions by pg_proc.prosrc, one a subject.
    pub by_source: &'static [&'static [(&'static str, Native)]],
    /// By pg_proc.oid: those that PostgreSQL itself writes in SQL, which have no symbol.
    pub by_oid: &'static [&'static [(Oid, Native)]],
}

/// Called for a key that no partition of the parent takes, if the extension keeps something of that
/// table. True: the catalog has changed, and the row is to be routed again.
pub type MissingPartition = fn(&mut Spi<'_>, Oid, &[Datum]) -> Result<bool>;

/// What an extension brings besides rows of pg_proc.
pub struct ExtensionCode {
    /// What CREATE EXTENSION makes of it.
    pub extension: &'static AvailableExtension,
    /// The code of its functions.
    pub family: &'static Family,
    /// What it does for rows that no partition takes.
    pub missing_partition: Option<MissingPartition>,
}

/// How many families and how many extensions there may be: each has a fixed place, so that looking
/// takes no lock.
const PLACES: usize = 16;

static FAMILIES: [OnceLock<Added>; PLACES] = [const { OnceLock::new() }; PLACES];

static EXTENSIONS: [OnceLock<&'static ExtensionCode>; PLACES] = [const { OnceLock::new() }; PLACES];

/// A registered family, indexed.
struct Added {
    name: &'static str,
    by_source: HashMap<&'static str, Native>,
    by_oid: HashMap<Oid, Native>,
}

/// Adds a family; one that is there already stays as it is.
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

/// Adds an extension's code, and makes the extension available; what is there already stays as it
/// is.
pub fn register_extension(code: &'static ExtensionCode) {
    register(code.family);
    AvailableExtension::make_available(code.extension);
    let name = code.extension.name;
    let is_placed =
        EXTENSIONS.iter().any(|place| place.get_or_init(|| code).extension.name == name);
    debug_assert!(is_placed, "no place is left for extension {name}");
}

/// The code of a pg_proc row.
pub fn native(proc: &Function) -> Option<Native> {
    let source = native_source(proc)?;
    let own = proc.is_built_in().then(|| sql_bodies::lookup(proc.oid)).flatten();
    let own = own.or_else(|| steppe_functions::lookup(source));
    own.map(Native::Builtin).or_else(|| added(proc, source))
}

/// The name of the code that this program has for a function: a user's has code of its own unless
/// it says that it is one of these.
fn native_source(proc: &Function) -> Option<&str> {
    match &proc.body {
        Body::Native { source, .. } => Some(source),
        _ => proc.built_in_source(),
    }
}

/// The code of a pg_proc row that a crate above this one has brought.
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

/// The code of a trigger function, which need not be one of pg_proc's first rows.
pub(crate) fn trigger_function(function: Oid) -> Option<TriggerFn> {
    let built_in = FunctionRef::built_in(function).and_then(|function| native(&function));
    let by_oid = || families().find_map(|family| family.by_oid.get(&function).copied());
    match built_in.or_else(by_oid)? {
        Native::Trigger(function) => Some(function),
        Native::Builtin(_) | Native::Spi(_) => None,
    }
}

/// What the extension of a name does for rows that no partition takes.
pub(crate) fn missing_partition(extension: &str) -> Option<MissingPartition> {
    let mut codes = EXTENSIONS.iter().map_while(OnceLock::get);
    codes.find(|code| code.extension.name == extension)?.missing_partition
}
