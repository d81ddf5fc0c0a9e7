//! From SQL text to a plan.

pub mod ast;
pub mod expr;
pub mod plan;
pub mod query;
