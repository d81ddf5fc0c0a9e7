//! boolean functions (src/backend/utils/adt/bool.c).

use super::{Builtin, Entry, arg};
use crate::FnContext;
use steppe_types::{Datum, Result};

/// Boolean functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("booland_statefunc", Builtin::Scalar(and)),
    ("boolor_statefunc", Builtin::Scalar(or)),
    ("booltext", Builtin::Scalar(to_text)),
    ("bool_int4", Builtin::Scalar(to_int4)),
    ("int4_bool", Builtin::Scalar(from_int4)),
];

fn and(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Bool(arg(args, 0)?.as_bool()? && arg(args, 1)?.as_bool()?))
}

fn or(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Bool(arg(args, 0)?.as_bool()? || arg(args, 1)?.as_bool()?))
}

fn to_text(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::text(if arg(args, 0)?.as_bool()? { "true" } else { "false" }))
}

fn to_int4(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int4(i32::from(arg(args, 0)?.as_bool()?)))
}

fn from_int4(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Bool(arg(args, 0)?.as_int4()? != 0))
}
