//! PostgreSQL's data types: values, their text and binary forms, comparison,
//! hashing, casts and arithmetic, and the SQLSTATE table.
//!
//! Everything here is a pure function of its arguments: no I/O, no catalog look-ups, no `unsafe`.
//! PostgreSQL is the specification, byte for byte (src/backend/utils/adt of PostgreSQL 18).

pub mod acl;
pub mod arith;
pub mod array_io;
pub mod binary_io;
pub mod cast;
pub mod compare;
pub mod datetime;
pub mod datum;
pub mod error;
pub mod float_math;
pub mod hashfuncs;
pub mod interrupt;
pub mod interval;
pub mod io;
pub mod key;
pub mod number_io;
pub mod numeric;
pub mod oid;
pub mod pg_lsn;
pub mod pg_snapshot;
pub mod physical;
pub mod row;
pub mod setting_number;
pub mod stored;
pub mod text;
pub mod text_io;

pub use datum::Datum;
pub use error::{Error, Result, SqlState};
pub use oid::Oid;
