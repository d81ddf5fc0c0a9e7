//! From SQL text to a plan: parser façade, own syntax tree, binder, planner.
//!
//! ```text
//!   text ─ parser ─► ast::Statement ─ bind ─► query::Query ─ planner ─► plan::PlannedStmt
//! ```

pub mod ast;
pub mod bind;
pub mod constraints;
pub mod deparse;
pub mod expr;
mod implies;
pub mod negate;
pub mod parser;
pub mod partners;
pub mod plan;
pub mod planner;
pub mod prune;
pub mod query;
mod refutes;
pub mod walk;
