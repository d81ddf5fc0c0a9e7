//! Row types: each table, partitioned table and view has a composite type, and an array type over
//! it.
//!
//! PostgreSQL's facts (data/pg_type.tsv) contain the row types of the system catalogs. Row types of
//! other relations are not stored. Their OIDs follow from the relation's, so they are unique and
//! stay the same after a restart or RENAME (type_places.rs).

use crate::builtin;
use crate::{Catalog, RelKind, Relation};
use std::sync::Arc;
use steppe_types::Oid;
use steppe_types::oid::place;

/// pg_class.reltype; indexes and sequences have no row type.
pub fn row_type_of(relation: &Relation) -> Option<Oid> {
    match relation.kind {
        RelKind::Table | RelKind::PartitionedTable | RelKind::View | RelKind::Composite => {
            Some(place::ROWS + relation.oid)
        }
        RelKind::Virtual => builtin::row_type(relation.oid),
        RelKind::Index | RelKind::PartitionedIndex | RelKind::Sequence => None,
    }
}

/// Whether a type is a row type.
pub fn is_row_type(type_oid: Oid) -> bool {
    builtin::ty(type_oid).is_some_and(|ty| ty.kind == b'c')
}

impl Catalog {
    /// The relation of a row type.
    pub fn relation_of_row_type(&self, type_oid: Oid) -> Option<&Arc<Relation>> {
        let ty = builtin::ty(type_oid).filter(|ty| ty.kind == b'c')?;
        let relation = self.relation(ty.relation)?;
        (row_type_of(relation) == Some(type_oid)).then_some(relation)
    }

    /// The columns of a row type: their types and modifiers.
    pub fn row_columns(&self, type_oid: Oid) -> Option<Vec<(Oid, i32)>> {
        let relation = self.relation_of_row_type(type_oid)?;
        let live = relation.columns.iter().filter(|column| !column.dropped);
        Some(live.map(|column| (column.type_oid, column.typmod)).collect())
    }

    /// The columns of a row type: the types that they were declared with, and the modifiers.
    pub fn row_declared(&self, type_oid: Oid) -> Option<Vec<(Oid, i32)>> {
        let relation = self.relation_of_row_type(type_oid)?;
        let live = relation.columns.iter().filter(|column| !column.dropped);
        Some(live.map(|column| column.declared_type()).collect())
    }

    /// The names of a row type's columns.
    pub fn row_names(&self, type_oid: Oid) -> Option<Vec<Arc<str>>> {
        let relation = self.relation_of_row_type(type_oid)?;
        let live = relation.columns.iter().filter(|column| !column.dropped);
        Some(live.map(|column| column.name.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_catalogs_have_postgresqls() {
        let shape = crate::system::shape::named("pg_catalog", "pg_class").expect("a catalog");
        let relation = crate::system::relations().iter().find(|r| r.oid == shape.oid);
        assert_eq!(relation.and_then(|r| row_type_of(r)), Some(83));
        assert!(is_row_type(83) && !is_row_type(273));
    }
}
