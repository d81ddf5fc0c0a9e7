//! The syntax tree that the rest of the system sees: PostgreSQL's raw parse
//! tree (src/include/nodes/parsenodes.h, primnodes.h of PostgreSQL 18) as plain
//! owned Rust values.
//!
//! The tree has the statement as *written*: names, types and operators are unresolved. It owns its
//! strings, holds no pointer into the parser and can be kept, cloned, compared and sent between
//! threads.
//!
//! Guarantees:
//!
//! * A tree that came from [`crate::parser`] is at most [`crate::parser::MAX_DEPTH`] nodes deep. So
//!   dropping and comparing one (at most 200 bytes of stack a node) is safe on any thread. Cloning
//!   grows the stack itself, and so must every other recursive walk (see [`deeper`]). `AND` and
//!   `OR` chains are flat, as PostgreSQL's are.
//! * A node has a [`Location`] where PostgreSQL gives it a place in the source.
//! * A statement that this tree cannot express is [`Statement::Unsupported`], never a tree with
//!   another meaning.

mod alter;
mod ddl;
mod dml;
mod expr;
mod name;
mod node;
mod object;
mod query;
mod statement;
mod tables;
mod utility;

pub use alter::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use name::*;
pub use node::*;
pub use object::*;
pub use query::*;
pub use statement::*;
pub use tables::{each_free_table, each_free_table_of_select};
pub use utility::*;

/// Stack that must be left before a walk descends a node, and how much to add when
/// it is not: far more than the frames of any walk between two nodes.
const STACK_RED_ZONE: usize = 64 * 1024;
const STACK_CHUNK: usize = 1024 * 1024;

/// Runs one step of a recursive walk over a tree (or over its result), on fresh stack if the
/// present one runs low. It costs a few nanoseconds.
#[inline]
pub fn deeper<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_RED_ZONE, STACK_CHUNK, step)
}
