//! Extensions: those that can be installed, those that are, and what they keep.
//!
//! An extension is part of the server: CREATE EXTENSION makes its functions visible in a schema and
//! runs a script there. The functions are facts ([`crate::builtin::Proc::extension`]), with
//! OIDs of their own; the relations that the script makes are members, which go with the
//! extension and not without it.

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
    /// The views that it makes: the name, the function of its own that gives the rows, and that
    /// function's arguments.
    pub views: &'static [(&'static str, &'static str, &'static str)],
}

/// What can be installed.
pub const AVAILABLE_EXTENSIONS: &[AvailableExtension] = &[
    AvailableExtension {
        name: PATHMAN,
        version: "1.5",
        comment: "Partitioning tool for PostgreSQL",
        views: &[
            ("pathman_config", "show_config", ""),
            ("pathman_config_params", "show_config_params", ""),
            ("pathman_partition_list", "show_partition_list", ""),
            ("pathman_concurrent_part_tasks", "show_concurrent_part_tasks", ""),
        ],
    },
    // Statements are counted from the start: the extension only shows them.
    AvailableExtension {
        name: "pg_stat_statements",
        version: "1.12",
        comment: "what the statements that ran have taken",
        views: &[
            ("pg_stat_statements", "pg_stat_statements", "true"),
            ("pg_stat_statements_info", "pg_stat_statements_info", ""),
        ],
    },
];

/// The extension that partitions tables.
pub const PATHMAN: &str = "pg_pathman";

impl AvailableExtension {
    /// The extension of a name.
    pub fn named(name: &str) -> Option<&'static AvailableExtension> {
        AVAILABLE_EXTENSIONS.iter().find(|extension| extension.name == name)
    }
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
