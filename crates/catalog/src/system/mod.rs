//! The system catalogs: pg_catalog and information_schema as virtual relations.
//!
//! ```text
//!   shape ── data/system_columns.tsv → relations of every Catalog version
//!   indexes  their indexes and constraints, as facts
//!   rows  ─┬ facts        PostgreSQL's own types, functions, operators …: converted once
//!          ├ providers    computed from the Catalog version asked about
//!          ├ SessionView  what only the session knows: settings, roles, activity
//!          └ EMPTY        catalogs of features that are not there: truly no rows
//! ```
//!
//! If a catalog would have rows in PostgreSQL but has no provider here, its result is `None`. The
//! executor reports 0A000 for it, so that a wrong result is impossible.

mod acls;
mod aggregates;
mod casts;
mod classes;
mod cluster;
mod composites;
mod constraints;
pub mod definitions;
mod depends;
pub mod domains;
pub mod extended_statistics;
mod extensions;
mod facts;
mod functions;
mod indexes;
mod information_schema;
pub mod key_triggers;
mod keywords;
mod nodes;
mod operators;
pub mod partitions;
mod pretty;
mod routines;
mod row_types;
mod rows;
pub mod session;
pub mod shape;
mod statistics;
pub mod triggers;
mod types;
mod views;

pub use classes::kind_of_relations;
pub(crate) use cluster::DATABASE_OWNER;
pub use cluster::{PG_DEFAULT, TABLESPACES, predefined_role, role_named};
pub use facts::Rows;
pub use rows::{RowsBuilder, is_of_an_absent_feature, rows};
pub use session::{Role, SessionView, Setting, SystemContext};
pub use shape::relations;

/// The storage strategy for a type's values that do not fit a row (pg_type.typstorage).
pub fn type_storage(type_oid: steppe_types::Oid) -> u8 {
    types::storage(type_oid).storage
}

/// Whether PostgreSQL keeps values of both types in the same space: typlen, typbyval and typalign are
/// equal.
pub fn are_stored_alike(one: steppe_types::Oid, other: steppe_types::Oid) -> bool {
    let [one, other] = [one, other].map(types::storage);
    (one.len, one.by_value, one.align) == (other.len, other.by_value, other.align)
}

/// The alignment in bytes of a type's values (pg_type.typalign).
pub fn type_alignment(type_oid: steppe_types::Oid) -> usize {
    match types::storage(type_oid).align {
        b'd' => 8,
        b'i' => 4,
        b's' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
