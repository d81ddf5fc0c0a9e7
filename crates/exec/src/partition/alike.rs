//! Partitions with the same definition.
//!
//! Most partitions differ only in their names, their bounds and their files. The code compiled for
//! one of them then serves all, with the handles of each.

use parking_lot::RwLock;
use std::sync::Arc;
use steppe_catalog::{Catalog, ConstraintKind, ForeignKey, IndexInfo, PartitionOf, Relation};
use steppe_types::Oid;

/// A partition with its indexes.
pub(crate) struct Definition {
    pub(crate) table: Arc<Relation>,
    pub(crate) indexes: Box<[Arc<Relation>]>,
    /// A foreign key refers to the partition itself.
    is_referenced: bool,
}

impl Definition {
    pub(crate) fn of(table: &Arc<Relation>, catalog: &Catalog) -> Definition {
        let indexes = catalog.indexes_of(table).cloned().collect();
        Definition {
            table: table.clone(),
            indexes,
            is_referenced: catalog.is_referenced(table.oid),
        }
    }

    /// Whether code compiled for one serves the other. Columns, constraints, triggers and indexes
    /// must be the same in the same order, below the same parents.
    pub(crate) fn is_like(&self, other: &Definition) -> bool {
        let (a, b) = (&self.table, &other.table);
        a.kind == b.kind
            && a.overflow.is_some() == b.overflow.is_some()
            && below(a.partition_of.as_ref()) == below(b.partition_of.as_ref())
            && a.columns == *b.columns
            && checks(a).eq(checks(b))
            && foreign_keys(a).eq(foreign_keys(b))
            && a.key_triggers.is_empty()
            && b.key_triggers.is_empty()
            && !self.is_referenced
            && !other.is_referenced
            && triggers_are_like(a, b)
            && !reads_own_oid(a)
            && self.indexes.len() == other.indexes.len()
            && self.indexes.iter().zip(&other.indexes).all(|(a, b)| is_like_index(a, b))
    }
}

/// Whether code compiled for some leaves serves others, each in the place of one.
fn are_like(a: &[Definition], b: &[Definition]) -> bool {
    let is_same =
        |leaves: &[Definition], i: usize, k: usize| leaves[i].table.oid == leaves[k].table.oid;
    // Handles are found by the tables, so a leaf that stands twice must do so in both.
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| a.is_like(b))
        && (0..a.len()).all(|i| (0..i).all(|k| is_same(a, i, k) == is_same(b, i, k)))
}

/// The most kinds of leaves that share compiled code. Other leaves do not share any.
const MODELS_MAX: usize = 16;

/// The code that a statement has compiled for leaves, one for all with the same definition, as long
/// as the catalog is the same.
pub(crate) struct Models<T> {
    /// With the epoch of the catalog that they were compiled for.
    of_epoch: RwLock<(u64, Vec<Arc<Model<T>>>)>,
}

/// A leaf, or leaves of several tables that are joined, and the code compiled for them.
pub(crate) struct Model<T> {
    pub(crate) leaves: Box<[Definition]>,
    pub(crate) compiled: T,
}

impl<T> Default for Models<T> {
    fn default() -> Models<T> {
        Models { of_epoch: RwLock::default() }
    }
}

impl<T> Models<T> {
    /// The model that serves a leaf, or several.
    pub(crate) fn of(&self, leaves: &[Definition], epoch: u64) -> Option<Arc<Model<T>>> {
        let models = self.of_epoch.read();
        let mut models = models.1.iter().filter(|_| models.0 == epoch);
        models.find(|model| are_like(&model.leaves, leaves)).cloned()
    }

    /// Keeps the code compiled for leaves, if there is room.
    pub(crate) fn put(
        &self,
        leaves: impl Into<Box<[Definition]>>,
        epoch: u64,
        compiled: T,
    ) -> Arc<Model<T>> {
        let model = Arc::new(Model { leaves: leaves.into(), compiled });
        let mut models = self.of_epoch.write();
        if models.0 != epoch {
            *models = (epoch, Vec::new());
        }
        if models.1.len() < MODELS_MAX {
            models.1.push(model.clone());
        }
        model
    }
}

/// Whether the computed or checked expressions of a partition may depend on its OID.
fn reads_own_oid(table: &Relation) -> bool {
    let computed = table.columns.iter().filter(|column| column.generated);
    let texts =
        computed.filter_map(|c| c.default.as_deref()).chain(checks(table).map(|(_, text)| text));
    let conditions = table.triggers.iter().filter_map(|trigger| trigger.when.as_deref());
    let mut texts = texts.chain(conditions);
    texts.any(|text| text.contains("tableoid"))
}

/// The parent of a table or an index, and whether it is being detached.
fn below(of: Option<&PartitionOf>) -> Option<(Oid, bool)> {
    of.map(|of| (of.parent, of.detach_pending))
}

fn checks(table: &Relation) -> impl Iterator<Item = (&str, &str)> {
    table.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::Check { expression } => Some((&*constraint.name, expression.as_str())),
        _ => None,
    })
}

/// The foreign keys of a partition, each with the OID of the parent's one.
fn foreign_keys(table: &Relation) -> impl Iterator<Item = (&str, &[i16], Oid, &ForeignKey)> {
    let keys = table.foreign_keys();
    keys.map(|(own, key)| {
        // A constraint without a parent is identified by its own OID.
        let root = if own.parent == 0 { own.oid } else { own.parent };
        (&*own.name, &own.columns[..], root, &**key)
    })
}

fn triggers_are_like(a: &Relation, b: &Relation) -> bool {
    a.triggers.len() == b.triggers.len()
        && a.triggers.iter().zip(b.triggers.iter()).all(|(a, b)| a.is_like(b))
}

fn is_like_index(a: &Relation, b: &Relation) -> bool {
    let same = |a: &IndexInfo, b: &IndexInfo| {
        a.keys == *b.keys
            && a.include == *b.include
            && (a.unique, a.deferral) == (b.unique, b.deferral)
            && a.nulls_not_distinct == b.nulls_not_distinct
            && a.predicate == b.predicate
    };
    let infos = a.index.as_ref().zip(b.index.as_ref());
    below(a.partition_of.as_ref()) == below(b.partition_of.as_ref())
        && infos.is_some_and(|(a, b)| same(a, b))
}
