//! COMMENT ON FUNCTION, PROCEDURE, ROUTINE, AGGREGATE.

use super::super::DdlContext;
use super::find::{Kind, find};
use super::{own, put};
use steppe_catalog::RareText;
use steppe_sql::ast::ObjectWithArgs;
use steppe_types::Result;

/// Sets or removes the description of a function.
pub(crate) fn comment(
    ctx: &mut DdlContext<'_>,
    named: &ObjectWithArgs,
    kind: Kind,
    text: Option<RareText>,
) -> Result<()> {
    let found = find(ctx, named, kind)?;
    let mut function = (*own(ctx, found.oid, "COMMENT")?).clone();
    function.comment = text;
    put(ctx, function);
    Ok(())
}
