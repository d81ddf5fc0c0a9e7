//! pg_cast: PostgreSQL's own casts, and users'.

use super::facts::{self, Rows};
use super::rows::RowsBuilder;
use super::session::SystemContext;
use super::shape::Shape;
use crate::builtin::{CastContext, CastMethod};
use crate::objects::UserCast;
use std::sync::Arc;
use steppe_types::{Datum, Result};

/// pg_class OID of pg_cast.
pub(super) const PG_CAST: steppe_types::Oid = 2605;

/// The rows of pg_cast.
pub(super) fn pg_cast(shape: &'static Shape, context: &SystemContext<'_>) -> Result<Option<Rows>> {
    let built_in = facts::rows(shape)?;
    let own = context.catalog.stored::<UserCast>();
    if own.is_empty() {
        return Ok(built_in);
    }
    let mut rows = built_in.map(|rows| (*rows).clone()).unwrap_or_default();
    let mut more = RowsBuilder::of(shape);
    own.iter().for_each(|cast| row(cast, &mut more));
    rows.extend(more.finish()?);
    Ok(Some(Arc::new(rows)))
}

fn row(cast: &UserCast, out: &mut RowsBuilder) {
    let context = match cast.context {
        CastContext::Implicit => b'i',
        CastContext::Assignment => b'a',
        CastContext::Explicit => b'e',
    };
    let method = match cast.method {
        CastMethod::Function(_) => b'f',
        CastMethod::InOut => b'i',
        CastMethod::Binary => b'b',
    };
    out.row([
        ("oid", Datum::Oid(cast.oid)),
        ("castsource", Datum::Oid(cast.source)),
        ("casttarget", Datum::Oid(cast.target)),
        ("castfunc", Datum::Oid(cast.function().unwrap_or(0))),
        ("castcontext", Datum::Char(context)),
        ("castmethod", Datum::Char(method)),
    ]);
}
