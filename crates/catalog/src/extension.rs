//! Extensions: those that can be installed, those that are, and what they keep.
//!
//! An extension is part of the program: the crate that has its code makes it available. CREATE
//! EXTENSION makes its functions visible in a schema and runs a script there. The functions are
//! facts ([`crate::Function::brought_by`]), with OIDs of their own; the relations that the
//! script makes are members, which go with the extension and not without it.

use crate::RareText;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;

/// An extension that can be installed (pg_available_extensions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableExtension {
    /// Name.
    pub name: &'static str,
    /// The one version that there is.
    pub version: &'static str,
    /// What it is, in a few words.
    pub comment: &'static str,
    /// Its functions: rows of the shape of pg_proc, as COPY writes them with a header line.
    pub functions: &'static str,
    /// The views that it makes: the name, the function of its own that gives the rows, and that
    /// function's arguments.
    pub views: &'static [(&'static str, &'static str, &'static str)],
}

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
    /// The relations that it made.
    pub members: Vec<Oid>,
    /// COMMENT ON EXTENSION.
    pub comment: Option<RareText>,
}

/// What an extension keeps of a relation: part of the relation, so that it goes with it, and with
/// the extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptByExtension {
    /// The extension.
    pub extension: Arc<str>,
    /// What it keeps, in a form that only the extension reads.
    pub state: Box<str>,
}
