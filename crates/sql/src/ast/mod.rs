//! The syntax tree that the rest of the system sees: PostgreSQL's raw parse
//! tree (src/include/nodes/parsenodes.h, primnodes.h of PostgreSQL 18) as plain
//! owned Rust values.
//!
//! The tree says what was *written*, not what it means: no name is looked up, no
//! type is known, no operator is resolved. It owns its strings, holds no pointer
//! into the parser and can be kept, cloned, compared and sent between threads.
//!
//! Guarantees:
//!
//! * A tree that came from [`crate::parser`] is at most
//!   [`crate::parser::MAX_DEPTH`] nodes deep, so that a recursive walk that takes
//!   a bounded amount of stack a level (and its drop, clone and comparison) is
//!   safe. `AND` and `OR` chains are flat, as PostgreSQL's are.
//! * What PostgreSQL gives a place in the source has a [`Location`] here.
//! * What this tree cannot express is [`Statement::Unsupported`], never a tree
//!   that means something else.

mod alter;
mod ddl;
mod dml;
mod expr;
mod name;
mod object;
mod query;
mod statement;
mod utility;

pub use alter::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use name::*;
pub use object::*;
pub use query::*;
pub use statement::*;
pub use utility::*;
