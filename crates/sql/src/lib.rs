//! From SQL text to a plan.

pub mod ast;
