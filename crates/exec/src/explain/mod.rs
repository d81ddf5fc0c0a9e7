//! EXPLAIN.

mod deparse;
mod text;

pub use text::{ExplainOptions, explain};
