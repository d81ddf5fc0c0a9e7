//! Comparisons between date, timestamp and timestamptz
//! (src/backend/utils/adt/date.c, timestamp.c).
//!
//! For comparison with timestamptz the other side is converted in the session's time zone. A value
//! without a counterpart there is beyond all finite timestamps.

use super::args::zone;
use super::{CmpOp, Entry, arg, scalar};
use crate::FnContext;
use std::cmp::Ordering;
use steppe_types::datetime::arith::{
    compare_date_timestamp, date_to_timestamptz, timestamp_to_timestamptz,
};
use steppe_types::datetime::{TIMESTAMP_INFINITY, TIMESTAMP_NEG_INFINITY};
use steppe_types::{Datum, Error, Result};

/// An out-of-range counterpart lies outside the finite timestamps, inside the infinities.
fn beyond(after: bool, other: i64) -> Ordering {
    match (after, other) {
        (true, TIMESTAMP_INFINITY) => Ordering::Less,
        (true, _) => Ordering::Greater,
        (false, TIMESTAMP_NEG_INFINITY) => Ordering::Greater,
        (false, _) => Ordering::Less,
    }
}

/// The order of two values of date, timestamp and timestamptz that are not of the same type.
#[inline]
pub fn order(a: &Datum, b: &Datum, cx: &FnContext) -> Result<Ordering> {
    let date_to_tz = |date: i32, at: i64| match date_to_timestamptz(date, zone(cx)) {
        Ok(instant) => instant.cmp(&at),
        Err(_) => beyond(date > 0, at),
    };
    let local_to_tz = |local: i64, at: i64| match timestamp_to_timestamptz(local, zone(cx)) {
        Ok(instant) => instant.cmp(&at),
        Err(_) => beyond(local > 0, at),
    };
    Ok(match (a, b) {
        (Datum::Date(d), Datum::Timestamp(t)) => compare_date_timestamp(*d, *t),
        (Datum::Timestamp(t), Datum::Date(d)) => compare_date_timestamp(*d, *t).reverse(),
        (Datum::Date(d), Datum::TimestampTz(t)) => date_to_tz(*d, *t),
        (Datum::TimestampTz(t), Datum::Date(d)) => date_to_tz(*d, *t).reverse(),
        (Datum::Timestamp(l), Datum::TimestampTz(t)) => local_to_tz(*l, *t),
        (Datum::TimestampTz(t), Datum::Timestamp(l)) => local_to_tz(*l, *t).reverse(),
        _ => return Err(Error::internal("expected a date and a timestamp")),
    })
}

fn test(args: &[Datum], cx: &FnContext, op: CmpOp) -> Result<Datum> {
    let order = order(arg(args, 0)?, arg(args, 1)?, cx)?;
    Ok(Datum::Bool(op.accepts(order)))
}

macro_rules! pairs {
    ($($left:literal, $right:literal;)*) => {
        /// Mixed comparisons by prosrc.
        pub(super) const TABLE: &[Entry] = &[$(
            (concat!($left, "_eq_", $right), scalar(|a, cx| test(a, cx, CmpOp::Eq))),
            (concat!($left, "_ne_", $right), scalar(|a, cx| test(a, cx, CmpOp::Ne))),
            (concat!($left, "_lt_", $right), scalar(|a, cx| test(a, cx, CmpOp::Lt))),
            (concat!($left, "_le_", $right), scalar(|a, cx| test(a, cx, CmpOp::Le))),
            (concat!($left, "_gt_", $right), scalar(|a, cx| test(a, cx, CmpOp::Gt))),
            (concat!($left, "_ge_", $right), scalar(|a, cx| test(a, cx, CmpOp::Ge))),
            (
                concat!($left, "_cmp_", $right),
                scalar(|a, cx| Ok(Datum::Int4(order(arg(a, 0)?, arg(a, 1)?, cx)? as i32))),
            ),
        )*];
    };
}

pairs! {
    "date", "timestamp";
    "date", "timestamptz";
    "timestamp", "date";
    "timestamptz", "date";
    "timestamp", "timestamptz";
    "timestamptz", "timestamp";
}
