//! Triggers of relations (PostgreSQL's pg_trigger).

use crate::relation::Deferral;
use crate::{RareText, Shared};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;

/// When a trigger fires relative to the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerTiming {
    /// BEFORE
    Before,
    /// AFTER
    After,
    /// INSTEAD OF, for a view.
    InsteadOf,
}

/// Whether a trigger fires for rows or for statements.
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
    /// TRUNCATE
    #[serde(default)]
    pub truncate: bool,
}

/// CREATE CONSTRAINT TRIGGER: an AFTER ROW trigger that may be deferred (pg_constraint's contype t).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstraintTrigger {
    /// The constraint's OID.
    pub oid: Oid,
    /// FROM: the other table that the constraint is about, or 0.
    pub from: Oid,
    /// DEFERRABLE
    pub deferral: Deferral,
}

/// REFERENCING: the names of the transition tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionNames {
    /// OLD TABLE AS
    pub old: Option<Arc<str>>,
    /// NEW TABLE AS
    pub new: Option<Arc<str>>,
}

/// ALTER TABLE … ENABLE and DISABLE TRIGGER: by session_replication_role (pg_trigger.tgenabled).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerEnabled {
    /// O: fires unless the session replays a publisher's changes.
    #[default]
    Origin,
    /// D: never fires.
    Disabled,
    /// R: fires only if the session replays a publisher's changes.
    Replica,
    /// A: always fires.
    Always,
}

/// A trigger. A relation's triggers are kept by name, in the order in which they fire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
    /// The function to call (pg_proc).
    pub function: Oid,
    /// Before, after or instead of the change.
    pub timing: TriggerTiming,
    /// For rows or for statements.
    pub level: TriggerLevel,
    /// The commands that it fires for.
    pub events: TriggerEvents,
    /// UPDATE OF these columns (attribute numbers); empty for all columns.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub columns: Shared<i16>,
    /// The WHEN condition as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Arc<str>>,
    /// The arguments for its function.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub arguments: Shared<Arc<str>>,
    /// Whether it fires.
    #[serde(default)]
    pub enabled: TriggerEnabled,
    /// The partitioned table's trigger that it was created for; 0 if it was created by itself.
    #[serde(default)]
    pub parent: Oid,
    /// CONSTRAINT TRIGGER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ConstraintTrigger>,
    /// REFERENCING.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<Arc<TransitionNames>>,
    /// COMMENT ON TRIGGER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<RareText>,
}

impl TriggerEnabled {
    /// Whether such a trigger fires in a session that replays a publisher's changes
    /// (session_replication_role is replica), or in another one.
    pub fn fires(self, replays: bool) -> bool {
        match self {
            TriggerEnabled::Origin => !replays,
            TriggerEnabled::Replica => replays,
            TriggerEnabled::Always => true,
            TriggerEnabled::Disabled => false,
        }
    }

    /// pg_trigger.tgenabled
    pub fn letter(self) -> u8 {
        match self {
            TriggerEnabled::Origin => b'O',
            TriggerEnabled::Disabled => b'D',
            TriggerEnabled::Replica => b'R',
            TriggerEnabled::Always => b'A',
        }
    }
}

impl Trigger {
    /// Whether it fires for each row.
    pub fn is_row(&self) -> bool {
        self.level == TriggerLevel::Row
    }

    /// pg_trigger.tgtype
    pub fn type_bits(&self) -> i16 {
        let bit = |is_set: bool, bit: i16| if is_set { bit } else { 0 };
        bit(self.is_row(), 1)
            | bit(self.timing == TriggerTiming::Before, 2)
            | bit(self.events.insert, 4)
            | bit(self.events.delete, 8)
            | bit(self.events.update, 16)
            | bit(self.events.truncate, 32)
            | bit(self.timing == TriggerTiming::InsteadOf, 64)
    }

    /// Whether two triggers of different tables have the same definition.
    pub fn is_like(&self, other: &Trigger) -> bool {
        let Trigger { oid: _, name, function, timing, level, events, .. } = self;
        *name == other.name
            && (*function, *timing, *level) == (other.function, other.timing, other.level)
            && *events == other.events
            && self.columns == other.columns
            && self.when == other.when
            && self.arguments == other.arguments
            && self.enabled == other.enabled
            && self.transition == other.transition
            && self.constraint.map(|c| c.deferral) == other.constraint.map(|c| c.deferral)
            && (self.parent != 0) == (other.parent != 0)
    }
}
