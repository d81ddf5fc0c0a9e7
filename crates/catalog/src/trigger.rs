//! Triggers of relations (PostgreSQL's pg_trigger).

use crate::Shared;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;

/// When a trigger fires, seen from the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerTiming {
    /// BEFORE
    Before,
    /// AFTER
    After,
    /// INSTEAD OF, of a view.
    InsteadOf,
}

/// What a trigger fires for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerLevel {
    /// FOR EACH ROW
    Row,
    /// FOR EACH STATEMENT
    Statement,
}

/// The commands that a trigger fires for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerEvents {
    /// INSERT
    pub insert: bool,
    /// UPDATE
    pub update: bool,
    /// DELETE
    pub delete: bool,
}

/// ALTER TABLE … ENABLE and DISABLE TRIGGER: by session_replication_role (pg_trigger.tgenabled).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerEnabled {
    /// O: unless the session replays what a publisher did.
    #[default]
    Origin,
    /// D: never.
    Disabled,
    /// R: only then.
    Replica,
    /// A: always.
    Always,
}

/// A trigger. Those of a relation are kept by name, which is the order in which they fire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// Its OID.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its function (pg_proc).
    pub function: Oid,
    /// Before or after.
    pub timing: TriggerTiming,
    /// For rows or for statements.
    pub level: TriggerLevel,
    /// For which commands.
    pub events: TriggerEvents,
    /// UPDATE OF these columns (attribute numbers); none: of any.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub columns: Shared<i16>,
    /// WHEN as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Arc<str>>,
    /// The arguments of its function.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub arguments: Shared<Arc<str>>,
    /// Whether it fires.
    #[serde(default)]
    pub enabled: TriggerEnabled,
    /// The trigger of the partitioned table that it was made for; 0: it was made by itself.
    #[serde(default)]
    pub parent: Oid,
}

impl Trigger {
    /// Whether it does the same for its table as another one does for its own.
    pub fn is_like(&self, other: &Trigger) -> bool {
        let Trigger { oid: _, name, function, timing, level, events, .. } = self;
        *name == other.name
            && (*function, *timing, *level) == (other.function, other.timing, other.level)
            && *events == other.events
            && self.columns == other.columns
            && self.when == other.when
            && self.arguments == other.arguments
            && self.enabled == other.enabled
            && (self.parent != 0) == (other.parent != 0)
    }
}
