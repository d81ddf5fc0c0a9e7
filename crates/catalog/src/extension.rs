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

/// The extension that keeps something of tables ([`Pathman`]).
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

/// What pg_pathman keeps of a table that its functions partitioned (pathman_config and
/// pathman_config_params): part of the table, so that it goes with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pathman {
    /// The partitioning expression, as written.
    pub expression: Arc<str>,
    /// How wide a new range partition is: a value of the key's type, or an interval.
    pub range_interval: Option<Arc<str>>,
    /// The parent is part of query plans. It has no rows, so that it makes no difference.
    pub enable_parent: bool,
    /// A row beyond the last partition, or before the first, makes the partitions up to it.
    pub auto: bool,
    /// Kept to be asked for: partitions are made in transactions of their own anyway.
    pub spawn_using_bgw: bool,
    /// Unique constraints that do not cover the key, which each partition has for itself:
    /// definitions as ALTER TABLE … ADD takes them.
    pub own_constraints: Vec<Arc<str>>,
}

impl Pathman {
    /// A table that has just been partitioned.
    pub fn new(expression: impl Into<Arc<str>>, range_interval: Option<Arc<str>>) -> Pathman {
        Pathman {
            expression: expression.into(),
            range_interval,
            enable_parent: false,
            auto: true,
            spawn_using_bgw: false,
            own_constraints: Vec::new(),
        }
    }
}
