//! Functions of the extensions that other crates have made available.
//!
//! An extension's code and facts are part of the program, like the built-in ones, but this crate
//! does not know the extensions. The crate with the code makes the extension available before any
//! session starts. Its functions are indexed at that time and are never removed.

use super::{Named, Row, Table, load, table};
use crate::extension::AvailableExtension;
use crate::objects::{Function, FunctionRef};
use std::sync::OnceLock;
use steppe_types::Oid;

/// The most extensions: each has a fixed place, so that look-ups take no lock.
const PLACES: usize = 16;

static AVAILABLE: [OnceLock<Brought>; PLACES] = [const { OnceLock::new() }; PLACES];

/// An extension with its functions, indexed.
struct Brought {
    extension: &'static AvailableExtension,
    table: Table,
    functions: Named<Function>,
}

impl Brought {
    fn by(extension: &'static AvailableExtension) -> Brought {
        let table = Table::parse(extension.functions);
        let functions = load::functions(&table, None, Some(extension.name));
        Brought { extension, table, functions }
    }
}

fn brought() -> impl Iterator<Item = &'static Brought> {
    AVAILABLE.iter().map_while(OnceLock::get)
}

fn brought_by(extension: &str) -> Option<&'static Brought> {
    brought().find(|brought| brought.extension.name == extension)
}

impl AvailableExtension {
    /// Makes an extension known to CREATE EXTENSION. One of the same name that is already known
    /// stays unchanged.
    pub fn make_available(extension: &'static AvailableExtension) {
        let is_there = AVAILABLE.iter().any(|place| {
            let brought = place.get_or_init(|| Brought::by(extension));
            brought.extension.name == extension.name
        });
        debug_assert!(is_there, "no place is left for extension {}", extension.name);
    }

    /// The extensions that can be installed, in the order in which they were made available.
    pub fn all() -> impl Iterator<Item = &'static AvailableExtension> {
        brought().map(|brought| brought.extension)
    }

    /// The available extension of a name.
    pub fn named(name: &str) -> Option<&'static AvailableExtension> {
        brought_by(name).map(|brought| brought.extension)
    }
}

/// A function of an extension by OID, installed or not.
pub(super) fn function(oid: Oid) -> Option<&'static Function> {
    brought().find_map(|brought| brought.functions.get(oid))
}

/// All overloads of a function name in extensions, installed or not.
pub fn extension_functions_named(name: &str) -> impl Iterator<Item = FunctionRef> {
    brought().flat_map(|brought| brought.functions.named(name)).map(FunctionRef::from)
}

/// The functions of an extension.
pub fn functions_of_extension(extension: &str) -> Vec<&'static Function> {
    let brought = brought_by(extension).into_iter();
    let mut functions: Vec<_> =
        brought.flat_map(|brought| brought.functions.by_oid.values().copied()).collect();
    functions.sort_unstable_by_key(|function| function.oid);
    functions
}

/// The rows of pg_proc of an extension, installed or not.
pub fn table_of_extension(extension: &str) -> Option<&'static Table> {
    brought_by(extension).map(|brought| &brought.table)
}

/// The rows of pg_proc: the built-in functions, and the functions of extensions.
pub fn function_rows() -> impl Iterator<Item = Row<'static>> {
    let tables = table("pg_proc").into_iter();
    tables.chain(brought().map(|brought| &brought.table)).flat_map(|table| table.rows())
}
