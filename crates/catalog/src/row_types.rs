//! Row types: each table, partitioned table and view has a composite type, and an array type over
//! it.
//!
//! PostgreSQL's facts (data/pg_type.tsv) contain the row types of the system catalogs. Row types of
//! other relations are not stored. Their OIDs follow from the relation's, so they are unique and
//! stay the same after a restart or RENAME.
//!
//! ```text
//!   0 ………… 2^29 ………… 2^30 ………… 2^30 + 2^29
//!   relation   row type   array type          (each at the relation's own place)
//! ```
//!
//! The store assigns no OID from 2^29 on.

use crate::builtin::{self, ARRAY_SUBSCRIPT_HANDLER, Type};
use crate::{Catalog, INFORMATION_SCHEMA, NAME_BYTES_MAX, PG_CATALOG, RelKind, Relation};
use std::sync::Arc;
use steppe_types::Oid;
use steppe_types::oid::FIRST_NORMAL_OID;

/// The end of the OIDs of objects, and the start of the OIDs of row types.
pub(crate) const OBJECTS_END: Oid = 1 << 29;
/// The start of the OIDs of array types over row types.
const ARRAYS: Oid = 1 << 30;

/// record_in, record_out, record_recv; array_in, array_out, array_recv.
const RECORD_IO: [Oid; 3] = [2290, 2291, 2402];
const ARRAY_IO: [Oid; 3] = [750, 751, 2400];

/// pg_class.reltype; indexes and sequences have no row type.
pub fn row_type_of(relation: &Relation) -> Option<Oid> {
    match relation.kind {
        RelKind::Table | RelKind::PartitionedTable | RelKind::View => {
            Some(OBJECTS_END + relation.oid)
        }
        RelKind::Virtual => builtin::row_type(relation.oid),
        RelKind::Index | RelKind::PartitionedIndex | RelKind::Sequence => None,
    }
}

/// Whether a type is a row type.
pub fn is_row_type(type_oid: Oid) -> bool {
    builtin::ty(type_oid).is_some_and(|ty| ty.kind == b'c')
}

/// The row type, or the array type over one, that follows from an OID alone. The relation need not
/// exist.
pub(crate) fn by_place(oid: Oid) -> Option<Type> {
    let (is_array, relation) = match oid {
        ARRAYS.. => (true, oid - ARRAYS),
        OBJECTS_END.. => (false, oid - OBJECTS_END),
        _ => return None,
    };
    if !(FIRST_NORMAL_OID..OBJECTS_END).contains(&relation) {
        return None;
    }
    let [input, output, receive] = if is_array { ARRAY_IO } else { RECORD_IO };
    Some(Type {
        oid,
        name: "record",
        in_information_schema: false,
        len: -1,
        kind: if is_array { b'b' } else { b'c' },
        category: if is_array { b'A' } else { b'C' },
        preferred: false,
        relation: if is_array { 0 } else { relation },
        subscript: if is_array { ARRAY_SUBSCRIPT_HANDLER } else { 0 },
        element: if is_array { OBJECTS_END + relation } else { 0 },
        array: if is_array { 0 } else { ARRAYS + relation },
        collation: 0,
        input,
        output,
        receive,
    })
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

    /// The names of a row type's columns.
    pub fn row_names(&self, type_oid: Oid) -> Option<Vec<Arc<str>>> {
        let relation = self.relation_of_row_type(type_oid)?;
        let live = relation.columns.iter().filter(|column| !column.dropped);
        Some(live.map(|column| column.name.clone()).collect())
    }

    /// Whether a type with this OID exists.
    pub fn has_type(&self, type_oid: Oid) -> bool {
        match by_place(type_oid) {
            Some(ty) if ty.kind == b'c' => self.relation_of_row_type(type_oid).is_some(),
            Some(ty) => self.relation_of_row_type(ty.element).is_some(),
            None => builtin::ty(type_oid).is_some(),
        }
    }

    /// A type by schema and name (pg_type.typname).
    pub fn type_named(&self, schema: Oid, name: &str) -> Option<Type> {
        match schema {
            PG_CATALOG => return builtin::type_named(name).copied(),
            INFORMATION_SCHEMA => return builtin::information_schema_type(name).copied(),
            _ => {}
        }
        let row_type = |relation: &Arc<Relation>| builtin::ty(row_type_of(relation)?);
        if let Some(ty) = self.relation_named(schema, name).and_then(row_type) {
            return Some(ty);
        }
        // The array type's name begins with the relation's, unless it had to be cut.
        let bare = name.strip_prefix('_')?;
        let stem = bare.rsplit_once('_').map_or(bare, |(stem, _)| stem);
        let of_relation = |name: &str| {
            let ty = self.relation_named(schema, name).and_then(row_type)?;
            Some((self.relation(ty.relation)?, ty))
        };
        let found = [bare, stem].into_iter().filter_map(of_relation);
        let mut is_it = found.filter(|(relation, _)| self.array_type_name(relation) == name);
        is_it.next().and_then(|(_, ty)| builtin::ty(ty.array))
    }

    /// The schema and the name of a type (pg_type.typname).
    pub(crate) fn type_name(&self, type_oid: Oid) -> Option<(Oid, String)> {
        let ty = builtin::ty(type_oid)?;
        let row_type = if ty.is_true_array() { ty.element } else { type_oid };
        let relation = self.relation_of_row_type(row_type).filter(|r| !r.is_system());
        Some(match relation {
            Some(relation) if row_type == type_oid => (relation.schema, relation.name.to_string()),
            Some(relation) => (relation.schema, self.array_type_name(relation)),
            None if ty.in_information_schema => (INFORMATION_SCHEMA, ty.name.to_owned()),
            None => (PG_CATALOG, ty.name.to_owned()),
        })
    }

    /// The name of the array type over a relation's row type: the relation's name behind `_`, with
    /// a number if another type has that name (makeArrayTypeName). The name is not stored. So,
    /// unlike in PostgreSQL, it does not depend on which of the two types was created first, and
    /// two cut names may be equal.
    pub fn array_type_name(&self, relation: &Relation) -> String {
        let wanted = cut(&format!("_{}", relation.name), NAME_BYTES_MAX).to_owned();
        let is_row = |name: &str| {
            let found = self.relation_named(relation.schema, name);
            found.is_some_and(|found| row_type_of(found).is_some())
        };
        let is_taken = |name: &str| is_row(name) || name != wanted && is_row(&name[1..]);
        let numbered = |n: u32| match n {
            0 => wanted.clone(),
            n => {
                let tail = format!("_{n}");
                format!("{}{tail}", cut(&wanted, NAME_BYTES_MAX - tail.len()))
            }
        };
        (0..).map(numbered).find(|name| !is_taken(name)).unwrap_or_default()
    }
}

/// The longest beginning of a name that fits.
fn cut(name: &str, bytes: usize) -> &str {
    &name[..name.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_meet() {
        for relation in [FIRST_NORMAL_OID, 123_456, OBJECTS_END - 1] {
            let relation = Relation::new(relation, crate::PUBLIC, "t", RelKind::Table);
            let ty = row_type_of(&relation).and_then(by_place).expect("a row type");
            assert_eq!((ty.kind, ty.relation), (b'c', relation.oid));
            let array = by_place(ty.array).expect("an array type");
            assert_eq!((array.is_true_array(), array.element), (true, ty.oid));
        }
        for none in [0, FIRST_NORMAL_OID, OBJECTS_END, OBJECTS_END + 2249, ARRAYS, u32::MAX] {
            assert!(by_place(none).is_none(), "{none}");
        }
    }

    #[test]
    fn system_catalogs_have_postgresqls() {
        let shape = crate::system::shape::named("pg_catalog", "pg_class").expect("a catalog");
        let relation = crate::system::relations().iter().find(|r| r.oid == shape.oid);
        assert_eq!(relation.and_then(|r| row_type_of(r)), Some(83));
        assert!(is_row_type(83) && !is_row_type(273));
    }
}
