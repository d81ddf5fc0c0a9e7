//! Extensions: available ones, installed ones, and their own data about relations.
//!
//! An extension is part of the program: the crate with its code makes it available. CREATE
//! EXTENSION makes its functions visible in a schema and runs a script there. The functions are
//! facts ([`crate::Function::brought_by`]), with OIDs of their own. The relations that the script
//! creates are members: they can be dropped only with the extension.

use crate::RareText;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;

/// An extension that can be installed (pg_available_extensions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableExtension {
    /// Name.
    pub name: &'static str,
    /// Its only version.
    pub version: &'static str,
    /// A short description.
    pub comment: &'static str,
    /// Its functions: rows of pg_proc, in COPY's format with a header line.
    pub functions: &'static str,
    /// The views that it creates. Each has a name, a function of the extension that returns its
    /// rows, and that function's arguments.
    pub views: &'static [(&'static str, &'static str, &'static str)],
}

/// PL/pgSQL, the extension of every database. Its language and the language's functions are facts,
/// as it cannot be dropped here.
#[derive(Clone, Copy, Debug)]
pub struct IncludedExtension {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: &'static str,
    /// Its only version.
    pub version: &'static str,
    /// A short description.
    pub comment: &'static str,
    /// The functions of its language.
    pub functions: &'static [Oid],
    /// Its language.
    pub language: Oid,
}

/// The extension that every database has.
pub const PLPGSQL: IncludedExtension = IncludedExtension {
    oid: 13494,
    name: "plpgsql",
    version: "1.0",
    comment: "PL/pgSQL procedural language",
    functions: &[13495, 13496, 13497],
    language: 13498,
};

/// An installed extension (pg_extension).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extension {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
    /// Owner.
    pub owner: Oid,
    /// The schema of its functions and relations.
    pub schema: Oid,
    /// Its version.
    pub version: Arc<str>,
    /// The relations that it created.
    pub members: Vec<Oid>,
    /// COMMENT ON EXTENSION.
    pub comment: Option<RareText>,
}

/// An extension's data about a relation. It is part of the relation, so it is dropped with the
/// relation and with the extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptByExtension {
    /// The extension.
    pub extension: Arc<str>,
    /// The data, in a form that only the extension reads.
    pub state: Box<str>,
}
