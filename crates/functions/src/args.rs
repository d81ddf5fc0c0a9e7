//! The arguments of a call as values of the types its signature promises.
//!
//! The binder has coerced them, so that another representation is a bug (XX000),
//! never bad input.

use super::arg;
use std::sync::Arc;
use steppe_types::datetime::TimeZone;
use steppe_types::datum::Array;
use steppe_types::interval::Interval;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Oid, Result};

use crate::FnContext;

/// Argument `i`; `None` if it is NULL or omitted.
pub fn given(args: &[Datum], i: usize) -> Option<&Datum> {
    args.get(i).filter(|value| !value.is_null())
}

/// A text.
pub fn text(args: &[Datum], i: usize) -> Result<&str> {
    arg(args, i)?.as_text().map(|text| &**text)
}

/// A boolean.
pub fn boolean(args: &[Datum], i: usize) -> Result<bool> {
    arg(args, i)?.as_bool()
}

/// An int4.
pub fn int4(args: &[Datum], i: usize) -> Result<i32> {
    arg(args, i)?.as_int4()
}

/// An integer of any width.
pub(crate) fn int(args: &[Datum], i: usize) -> Result<i64> {
    match arg(args, i)? {
        Datum::Int2(v) => Ok(i64::from(*v)),
        Datum::Int4(v) => Ok(i64::from(*v)),
        other => other.as_int8(),
    }
}

pub(crate) fn float8(args: &[Datum], i: usize) -> Result<f64> {
    match arg(args, i)? {
        Datum::Float4(v) => Ok(f64::from(*v)),
        other => other.as_float8(),
    }
}

pub(crate) fn numeric(args: &[Datum], i: usize) -> Result<&Numeric> {
    arg(args, i)?.as_numeric()
}

pub(crate) fn bytes(args: &[Datum], i: usize) -> Result<&[u8]> {
    arg(args, i)?.as_bytea().map(|bytes| &**bytes)
}

/// An OID: of any of the types that are one.
pub fn oid(args: &[Datum], i: usize) -> Result<Oid> {
    arg(args, i)?.as_oid()
}

pub(crate) fn date(args: &[Datum], i: usize) -> Result<i32> {
    arg(args, i)?.as_date()
}

pub(crate) fn time(args: &[Datum], i: usize) -> Result<i64> {
    arg(args, i)?.as_time()
}

/// Time of day and zone in seconds west.
pub(crate) fn timetz(args: &[Datum], i: usize) -> Result<(i64, i32)> {
    match arg(args, i)? {
        Datum::TimeTz(time, west) => Ok((*time, *west)),
        _ => Err(Error::internal("expected timetz")),
    }
}

/// A timestamp of either kind.
pub(crate) fn moment(args: &[Datum], i: usize) -> Result<i64> {
    match arg(args, i)? {
        Datum::Timestamp(v) | Datum::TimestampTz(v) => Ok(*v),
        _ => Err(Error::internal("expected a timestamp")),
    }
}

pub(crate) fn interval(args: &[Datum], i: usize) -> Result<&Interval> {
    arg(args, i)?.as_interval().map(|span| &**span)
}

/// An array of any element type.
pub fn array(args: &[Datum], i: usize) -> Result<&Arc<Array>> {
    arg(args, i)?.as_array()
}

/// The session's time zone.
pub(crate) fn zone(cx: &FnContext) -> &TimeZone {
    &cx.io.datetime.time_zone
}

/// The zone that an argument names.
pub(crate) fn zone_named(args: &[Datum], i: usize, cx: &FnContext) -> Result<TimeZone> {
    TimeZone::by_name_or_abbrev(text(args, i)?, zone(cx))
}

/// A text as a function returns it.
pub fn text_datum(text: impl Into<Arc<str>>) -> Result<Datum> {
    Ok(Datum::Text(text.into()))
}

/// A text, or NULL.
pub fn text_or_null(text: Option<impl Into<Arc<str>>>) -> Result<Datum> {
    Ok(text.map_or(Datum::Null, |text| Datum::Text(text.into())))
}

pub(crate) fn interval_datum(span: Interval) -> Datum {
    Datum::Interval(Arc::new(span))
}

/// The result of a function without one: psql shows an empty field.
pub fn void() -> Result<Datum> {
    Ok(Datum::text(""))
}
