//! pg_aggregate: PostgreSQL's own aggregates, and users'.

use super::facts::{self, Rows};
use super::rows::{RowsBuilder, optional};
use super::session::SystemContext;
use super::shape::Shape;
use crate::objects::{Aggregate, FinishModify, Function};
use std::sync::Arc;
use steppe_types::{Datum, Oid, Result};

/// The rows of pg_aggregate.
pub(super) fn pg_aggregate(
    shape: &'static Shape,
    context: &SystemContext<'_>,
) -> Result<Option<Rows>> {
    let built_in = facts::rows(shape)?;
    let stored = context.catalog.stored::<Function>().iter();
    let own: Vec<_> = stored.filter(|function| function.is_aggregate()).collect();
    if own.is_empty() {
        return Ok(built_in);
    }
    let mut rows = built_in.map(|rows| (*rows).clone()).unwrap_or_default();
    let mut more = RowsBuilder::of(shape);
    for function in own {
        if let Some(aggregate) = function.aggregate() {
            row(function.oid, aggregate, &mut more);
        }
    }
    rows.extend(more.finish()?);
    Ok(Some(Arc::new(rows)))
}

fn row(oid: Oid, aggregate: &Aggregate, out: &mut RowsBuilder) {
    let moving = aggregate.moving.as_ref();
    let of_moving = |oid: fn(&crate::objects::Moving) -> Oid| Datum::Oid(moving.map_or(0, oid));
    let moving_modify = moving.map_or(FinishModify::ReadOnly, |m| m.finish_modify);
    out.row([
        ("aggfnoid", Datum::Oid(oid)),
        ("aggkind", Datum::Char(aggregate.kind.letter())),
        ("aggnumdirectargs", Datum::Int2(aggregate.direct_args as i16)),
        ("aggtransfn", Datum::Oid(aggregate.transition)),
        ("aggfinalfn", Datum::Oid(aggregate.finish)),
        ("aggcombinefn", Datum::Oid(aggregate.combine)),
        ("aggserialfn", Datum::Oid(aggregate.serialize)),
        ("aggdeserialfn", Datum::Oid(aggregate.deserialize)),
        ("aggmtransfn", of_moving(|m| m.transition)),
        ("aggminvtransfn", of_moving(|m| m.inverse)),
        ("aggmfinalfn", of_moving(|m| m.finish)),
        ("aggfinalextra", Datum::Bool(aggregate.finish_extra)),
        ("aggmfinalextra", Datum::Bool(moving.is_some_and(|m| m.finish_extra))),
        ("aggfinalmodify", Datum::Char(aggregate.finish_modify.letter())),
        ("aggmfinalmodify", Datum::Char(moving_modify.letter())),
        ("aggsortop", Datum::Oid(aggregate.sort_operator)),
        ("aggtranstype", Datum::Oid(aggregate.state)),
        ("aggtransspace", Datum::Int4(aggregate.space)),
        ("aggmtranstype", of_moving(|m| m.state)),
        ("aggmtransspace", Datum::Int4(moving.map_or(0, |m| m.space))),
        ("agginitval", optional(aggregate.initial.as_ref().map(ToString::to_string))),
        ("aggminitval", optional(moving.and_then(|m| m.initial.as_ref()).map(ToString::to_string))),
    ]);
}
