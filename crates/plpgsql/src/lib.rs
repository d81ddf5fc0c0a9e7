//! PL/pgSQL: its parser and its execution.
//!
//! [`parse`] makes a [`tree::Program`] of a function's body. Names are resolved to slots of one
//! frame; SQL within the body stays text, with the names visible there. [`run`] executes it.
//!
//! It guarantees:
//!
//! * A body is accepted, or refused with an error's code, words, position and line, as PostgreSQL
//!   18 does it. PostgreSQL's answers are recorded in `tests/data`.
//! * Every body ends without a panic and within the stack: blocks and loops nest at most
//!   [`NESTING_MAX`] deep.
//! * Time is linear in the body's length.

pub mod conditions;
mod error;
mod keywords;
mod lexer;
pub mod names;
mod parse;
pub mod run;
mod scan;
mod strings;
pub mod tree;
pub mod types;

pub use self::error::CompileError;
pub use self::parse::{NESTING_MAX, parse};
