//! What extensions bring: the functions of those that crates above have made available.
//!
//! An extension's code and facts are part of the program, as the built-in ones are, but this crate
//! does not know which there are. The crate that has the code makes the extension available before
//! there is a session; its functions are indexed then, and stay.

use super::{Builtins, Proc, Row, Table, group_by_name, load_procs};
use crate::extension::AvailableExtension;
use hashbrown::HashMap;
use std::sync::OnceLock;
use steppe_types::Oid;

/// How many extensions there may be: each has a fixed place, so that looking takes no lock.
const PLACES: usize = 16;

static AVAILABLE: [OnceLock<Brought>; PLACES] = [const { OnceLock::new() }; PLACES];

/// An extension with its functions, indexed.
struct Brought {
    extension: &'static AvailableExtension,
    table: Table,
    procs: HashMap<Oid, Proc>,
    by_name: HashMap<&'static str, Vec<Oid>>,
}

impl Brought {
    fn by(extension: &'static AvailableExtension) -> Brought {
        let table = Table::parse(extension.functions);
        let procs = load_procs(&table, Some(extension.name));
        let by_name = group_by_name(procs.values().map(|p| (p.name, p.oid)));
        Brought { extension, table, procs, by_name }
    }
}

fn brought() -> impl Iterator<Item = &'static Brought> {
    AVAILABLE.iter().map_while(OnceLock::get)
}

fn brought_by(extension: &str) -> Option<&'static Brought> {
    brought().find(|brought| brought.extension.name == extension)
}

impl AvailableExtension {
    /// Lets CREATE EXTENSION find an extension; one that is there already stays as it is.
    pub fn make_available(extension: &'static AvailableExtension) {
        let is_there = AVAILABLE.iter().any(|place| {
            let brought = place.get_or_init(|| Brought::by(extension));
            brought.extension.name == extension.name
        });
        debug_assert!(is_there, "no place is left for extension {}", extension.name);
    }

    /// What can be installed, in the order in which it was made available.
    pub fn all() -> impl Iterator<Item = &'static AvailableExtension> {
        brought().map(|brought| brought.extension)
    }

    /// The extension of a name.
    pub fn named(name: &str) -> Option<&'static AvailableExtension> {
        brought_by(name).map(|brought| brought.extension)
    }
}

/// A function that an extension brings, installed or not.
pub(super) fn proc(oid: Oid) -> Option<&'static Proc> {
    brought().find_map(|brought| brought.procs.get(&oid))
}

impl Builtins {
    /// All overloads of a function name that extensions bring, installed or not.
    pub fn extension_procs_named(&self, name: &str) -> impl Iterator<Item = &'static Proc> {
        let overloads = move |brought: &'static Brought| {
            let oids = brought.by_name.get(name).into_iter().flatten();
            oids.map(move |oid| &brought.procs[oid])
        };
        brought().flat_map(overloads)
    }

    /// The functions that an extension brings, by OID.
    pub fn procs_of_extension(&self, extension: &str) -> Vec<&'static Proc> {
        let procs = brought_by(extension).into_iter().flat_map(|brought| brought.procs.values());
        let mut procs: Vec<&Proc> = procs.collect();
        procs.sort_unstable_by_key(|p| p.oid);
        procs
    }

    /// The rows of pg_proc that an extension brings, installed or not.
    pub fn table_of_extension(&self, extension: &str) -> Option<&'static Table> {
        brought_by(extension).map(|brought| &brought.table)
    }

    /// The rows of pg_proc: the built-in ones, and those that extensions bring.
    pub fn proc_rows(&self) -> impl Iterator<Item = Row<'_>> {
        let tables = self.table("pg_proc").into_iter();
        let tables = tables.chain(brought().map(|brought| &brought.table));
        tables.flat_map(|table| table.rows())
    }
}
