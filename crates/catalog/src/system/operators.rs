//! pg_operator: PostgreSQL's own operators, and users'.

use super::facts::{self, Rows};
use super::rows::{RowsBuilder, text};
use super::session::SystemContext;
use super::shape::Shape;
use crate::objects::Operator;
use std::sync::Arc;
use steppe_types::{Datum, Oid, Result};

/// pg_class OID of pg_operator.
pub(super) const PG_OPERATOR: Oid = 2617;

/// The rows of pg_operator.
pub(super) fn pg_operator(
    shape: &'static Shape,
    context: &SystemContext<'_>,
) -> Result<Option<Rows>> {
    let built_in = facts::rows(shape)?;
    let own = context.catalog.stored::<Operator>();
    if own.is_empty() {
        return Ok(built_in);
    }
    let mut rows = built_in.map(|rows| (*rows).clone()).unwrap_or_default();
    let mut more = RowsBuilder::of(shape);
    own.iter().for_each(|operator| row(operator, &mut more));
    rows.extend(more.finish()?);
    Ok(Some(Arc::new(rows)))
}

fn row(operator: &Operator, out: &mut RowsBuilder) {
    let kind = if operator.left == 0 { b'l' } else { b'b' };
    out.row([
        ("oid", Datum::Oid(operator.oid)),
        ("oprname", text(&*operator.name)),
        ("oprnamespace", Datum::Oid(operator.schema)),
        ("oprowner", Datum::Oid(operator.owner)),
        ("oprkind", Datum::Char(kind)),
        ("oprcanmerge", Datum::Bool(operator.can_merge)),
        ("oprcanhash", Datum::Bool(operator.can_hash)),
        ("oprleft", Datum::Oid(operator.left)),
        ("oprright", Datum::Oid(operator.right)),
        ("oprresult", Datum::Oid(operator.result)),
        ("oprcom", Datum::Oid(operator.commutator)),
        ("oprnegate", Datum::Oid(operator.negator)),
        ("oprcode", Datum::Oid(operator.func)),
        ("oprrest", Datum::Oid(operator.restrict)),
        ("oprjoin", Datum::Oid(operator.join)),
    ]);
}
