//! Bodies in SQL's own syntax: RETURN, BEGIN ATOMIC.

use super::super::DdlContext;
use steppe_catalog::Function;
use steppe_sql::ast::SqlBody;
use steppe_types::{Error, Result};

/// Gives a function such a body.
pub(super) fn interpret(
    _ctx: &mut DdlContext<'_>,
    body: &SqlBody,
    _function: &mut Function,
) -> Result<()> {
    Err(Error::not_supported(match body {
        SqlBody::Return(_) => "function bodies with RETURN",
        SqlBody::Atomic(_) => "function bodies with BEGIN ATOMIC",
    }))
}
