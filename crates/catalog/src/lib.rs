//! Schema objects, their versions and storage, and PostgreSQL's built-in facts.
//!
//! ```text
//!   Catalog (immutable, Arc)  ── user objects: schemas, relations by name and OID
//!        │                       (persistent maps: a DDL statement copies O(log n))
//!        └── builtin ────────── types, functions, operators, casts, aggregates:
//!        │                       facts extracted from a live PostgreSQL into data/*.tsv
//!        └── system ─────────── pg_catalog and information_schema: virtual relations whose
//!                                rows are computed from both
//! ```
//!
//! A session reads the newest published version; a transaction that ran DDL
//! reads its own private version, which is merged and published at commit.

pub mod builtin;
pub mod distribution;
pub mod extended_statistics;
pub mod extension;
pub mod foreign_key;
mod history;
mod name_space;
mod names;
mod not_null;
mod object_id;
pub mod objects;
mod oids;
pub mod operator_spelling;
pub mod partition;
pub mod references;
pub mod relation;
pub mod row_types;
pub mod sequences;
mod shared;
mod shorthand;
pub mod snapshot;
pub mod statistics;
pub mod store;
pub mod system;
pub mod trigger;
mod type_names;
mod type_places;
pub mod type_spelling;

pub use distribution::{Distribution, DistributionMethod, NodeStatement};
pub use extended_statistics::{
    Combination, ExtendedFound, ExtendedStatistics, StatisticsExpression, StatisticsKind,
};
pub use extension::{AvailableExtension, Extension, KeptByExtension, PLPGSQL};
pub use foreign_key::{ForeignKey, KeyOperators, KeyTriggers, Reference, ReferentialAction};
pub use history::{Mentions, function_name};
pub use name_space::NameSpace;
pub use names::{NAME_BYTES_MAX, object_name};
pub use object_id::ObjectId;
pub use objects::{Function, FunctionRef, Operator, OperatorRef, UserType};
pub use oids::Oids;
pub use partition::{PartitionColumn, PartitionKey, PartitionOf};
pub use relation::{
    Column, Constraint, ConstraintKind, Deferral, IndexInfo, IndexKey, OnCommit, RelKind, Relation,
    SequenceInfo,
};
pub use row_types::{is_row_type, row_type_of};
pub use sequences::{SequenceState, Sequences};
pub use shared::{RareText, Shared};
pub use snapshot::{Catalog, Schema, TEMPORARY_SCHEMA};
pub use statistics::{ColumnStatistics, ElementStatistics, SortedCommon, Statistics, WhenNeeded};
pub use store::{CatalogChanges, CatalogStore};

use steppe_types::Oid;

/// The role that initialises the data directory.
pub const BOOTSTRAP_SUPERUSER: Oid = 10;
/// The bootstrap superuser's name: the only role that may connect.
pub const SUPERUSER_NAME: &str = "postgres";
/// The name of the only database.
pub const DATABASE_NAME: &str = "postgres";
/// pg_catalog
pub const PG_CATALOG: Oid = 11;
/// public
pub const PUBLIC: Oid = 2200;
/// information_schema
pub const INFORMATION_SCHEMA: Oid = 13000;
/// The schema of the transition tables of a trigger that is being called. The catalog has no row
/// for this schema; it is only the number by which names are looked up.
pub const TRANSITION_SCHEMA: Oid = 1;
/// The collation "default".
pub const DEFAULT_COLLATION: Oid = 100;
/// The locale of the only database, with the provider "builtin": code point order, and Unicode's
/// simple case mappings.
pub const LOCALE: &str = "C.UTF-8";
/// The collation "C".
pub const C_COLLATION: Oid = 950;
