//! The state that pg_pathman keeps for a table that its functions partitioned.
//!
//! The catalog stores it with the table, as text that only this module reads. It reads the text for
//! each call of a function, and for each row that no partition takes.

use super::PATHMAN;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_catalog::{KeptByExtension, Relation};
use steppe_types::{Error, Result};

/// pathman_config and pathman_config_params.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Pathman {
    /// The partitioning expression, as written.
    pub(super) expression: Arc<str>,
    /// The width of a new range partition: a value of the key's type, or an interval.
    pub(super) range_interval: Option<Arc<str>>,
    /// Whether the parent is part of query plans. It has no rows, so that this makes no difference.
    pub(super) enable_parent: bool,
    /// Whether a row beyond the last partition, or before the first, makes the partitions up to it.
    pub(super) auto: bool,
    /// Kept only to be shown: partitions are always made in transactions of their own.
    pub(super) spawn_using_bgw: bool,
    /// Unique constraints that do not cover the key, which each partition has for itself:
    /// definitions as ALTER TABLE … ADD takes them.
    pub(super) own_constraints: Vec<Arc<str>>,
}

impl Pathman {
    /// The state of a table that has just been partitioned.
    pub(super) fn new(
        expression: impl Into<Arc<str>>,
        range_interval: Option<Arc<str>>,
    ) -> Pathman {
        Pathman {
            expression: expression.into(),
            range_interval,
            enable_parent: false,
            auto: true,
            spawn_using_bgw: false,
            own_constraints: Vec::new(),
        }
    }

    /// The state of a table, if pg_pathman has partitioned it.
    pub(super) fn of(relation: &Relation) -> Result<Option<Pathman>> {
        let kept = relation.kept.as_ref().filter(|kept| *kept.extension == *PATHMAN);
        let read = kept.map(|kept| serde_json::from_str(&kept.state)).transpose();
        read.map_err(|error| {
            Error::internal(format!("what pg_pathman keeps of {}: {error}", relation.name))
        })
    }

    /// As the catalog stores it.
    pub(super) fn into_kept(self) -> Result<KeptByExtension> {
        let state = serde_json::to_string(&self)
            .map_err(|error| Error::internal(format!("what pg_pathman keeps: {error}")))?;
        Ok(KeptByExtension { extension: PATHMAN.into(), state: state.into() })
    }
}

/// Whether pg_pathman has partitioned a table.
pub(super) fn is_kept(relation: &Relation) -> bool {
    relation.kept.as_ref().is_some_and(|kept| *kept.extension == *PATHMAN)
}
