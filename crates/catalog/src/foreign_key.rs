//! Foreign keys (PostgreSQL's pg_constraint rows of type f).
//!
//! The referencing table has the constraint, and its [`Constraint::columns`] are the referencing
//! columns. The catalog finds the constraints that refer to a table by [`Catalog::referencing`].

use crate::relation::{Constraint, ConstraintKind, Deferral, Relation};
use crate::snapshot::Catalog;
use crate::trigger::TriggerEnabled;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;

/// The effect on referencing rows of the removal of the referenced key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// Error when the constraint is checked: NO ACTION.
    #[default]
    NoAction,
    /// RESTRICT: an error at once.
    Restrict,
    /// CASCADE: the rows are deleted, or get the new key.
    Cascade,
    /// SET NULL
    SetNull,
    /// SET DEFAULT
    SetDefault,
}

impl ReferentialAction {
    /// pg_constraint.confupdtype and confdeltype.
    pub fn code(self) -> u8 {
        match self {
            ReferentialAction::NoAction => b'a',
            ReferentialAction::Restrict => b'r',
            ReferentialAction::Cascade => b'c',
            ReferentialAction::SetNull => b'n',
            ReferentialAction::SetDefault => b'd',
        }
    }

    /// As SQL writes it.
    pub fn words(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        }
    }
}

/// The equality operators of one column pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyOperators {
    /// Referenced = referencing (conpfeqop).
    pub pf: Oid,
    /// Referenced = referenced (conppeqop).
    pub pp: Oid,
    /// Referencing = referencing (conffeqop).
    pub ff: Oid,
}

/// The properties of a foreign key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// The referenced table.
    pub table: Oid,
    /// The referenced unique index.
    pub index: Oid,
    /// The referenced columns, in the order of the referencing ones.
    pub columns: Box<[i16]>,
    /// The operators of each column pair.
    pub operators: Box<[KeyOperators]>,
    /// MATCH FULL, not SIMPLE.
    #[serde(default)]
    pub match_full: bool,
    /// ON UPDATE
    #[serde(default)]
    pub on_update: ReferentialAction,
    /// ON DELETE
    #[serde(default)]
    pub on_delete: ReferentialAction,
    /// ON DELETE SET NULL or SET DEFAULT of these referencing columns; empty for all.
    #[serde(default)]
    pub set_columns: Box<[i16]>,
    /// When it is checked.
    #[serde(default)]
    pub deferral: Deferral,
    /// The constraint is NOT ENFORCED.
    #[serde(default)]
    pub not_enforced: bool,
}

/// ENABLE and DISABLE TRIGGER of a table's part in a foreign key. PostgreSQL has internal triggers
/// for it: two of the referencing table check its rows, two of the referenced table act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyTriggers {
    /// The constraint.
    pub constraint: Oid,
    /// The part: what the removal of a referenced key does, not the check of referencing rows.
    pub acts: bool,
    /// Whether the triggers fire.
    pub enabled: TriggerEnabled,
}

impl ForeignKey {
    /// Whether an action refers to the end of the statement or of the transaction. Only NO ACTION
    /// can be deferred.
    pub fn is_deferrable(&self) -> bool {
        self.deferral.is_deferrable()
    }
}

impl Constraint {
    /// The properties of a foreign key, if it is one.
    pub fn foreign_key(&self) -> Option<&Arc<ForeignKey>> {
        match &self.kind {
            ConstraintKind::ForeignKey(key) => Some(key),
            _ => None,
        }
    }
}

impl Relation {
    /// Whether the table's part in a foreign key fires: the check of its rows, or with `acts` what
    /// the removal of its keys does.
    pub fn key_enabled(&self, constraint: Oid, acts: bool) -> TriggerEnabled {
        let mut switched = self.key_triggers.iter();
        let own = switched.find(|own| (own.constraint, own.acts) == (constraint, acts));
        own.map_or(TriggerEnabled::Origin, |own| own.enabled)
    }

    /// The foreign keys of the table.
    pub fn foreign_keys(&self) -> impl Iterator<Item = (&Constraint, &Arc<ForeignKey>)> {
        self.constraints.iter().filter_map(|own| Some((own, own.foreign_key()?)))
    }
}

/// A foreign key with the table that has it.
#[derive(Clone, Copy)]
pub struct Reference<'c> {
    /// The referencing table.
    pub table: &'c Arc<Relation>,
    /// Its constraint.
    pub constraint: &'c Constraint,
    /// The constraint's properties.
    pub key: &'c Arc<ForeignKey>,
}

impl Catalog {
    /// The foreign keys that refer to a table, in the order of creation.
    pub fn referencing(&self, table: Oid) -> Vec<Reference<'_>> {
        let mut found: Vec<Reference<'_>> = self
            .referencing_tables(table)
            .filter_map(|oid| self.relation(oid))
            .flat_map(|table| {
                let keys = table.foreign_keys();
                keys.map(move |(constraint, key)| Reference { table, constraint, key })
            })
            .filter(|reference| reference.key.table == table)
            .collect();
        found.sort_unstable_by_key(|reference| reference.constraint.oid);
        found
    }

    /// Whether a foreign key refers to a table.
    pub fn is_referenced(&self, table: Oid) -> bool {
        self.referencing_tables(table).next().is_some()
    }

    /// The outermost constraint that a partition's constraint belongs to, by its OID.
    pub fn root_constraint(&self, table: &Relation, constraint: &Constraint) -> Oid {
        let mut oid = constraint.oid;
        let (mut parent, mut above) = (constraint.parent, table.parents().next());
        while let (true, Some(table)) = (parent != 0, above.and_then(|oid| self.relation(oid))) {
            let Some(found) = table.constraints.iter().find(|own| own.oid == parent) else { break };
            oid = found.oid;
            (parent, above) = (found.parent, table.parents().next());
        }
        oid
    }
}
