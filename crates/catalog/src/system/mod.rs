//! The system catalogs: pg_catalog and information_schema as virtual relations.
//!
//! ```text
//!   shape ── data/system_columns.tsv → relations of every Catalog version
//!   rows  ── facts        PostgreSQL's built-in types, functions, operators …: cached
//!         └─ providers    computed from the Catalog version asked about
//! ```

pub mod definitions;
mod facts;
mod keywords;
mod pretty;
pub mod shape;

pub use facts::Rows;
pub use shape::relations;

#[cfg(test)]
mod testing;
