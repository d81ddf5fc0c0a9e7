//! The built-in functions that PostgreSQL defines in SQL
//! (src/backend/catalog/system_functions.sql): they are found by OID, because they have no C
//! symbol.

use super::args::{given, int4, numeric, text, text_datum, text_or_null};
use super::date_functions::{age_today, date_part};
use super::date_operators::{add_span, overlaps};
use super::text_variadic::shown;
use super::{Builtin, CallInfo, arg, rules, scalar, series, set, typed};
use crate::FnContext;
use steppe_types::datetime::arith as dt;
use steppe_types::numeric::Numeric;
use steppe_types::text::{Side, quote};
use steppe_types::{Datum, Oid, Result};

/// The implementation of an SQL-bodied function.
pub fn lookup(function: Oid) -> Option<Builtin> {
    let at = TABLE.binary_search_by_key(&function, |(oid, _)| *oid).ok()?;
    Some(TABLE[at].1)
}

/// By pg_proc OID, ascending.
const TABLE: &[(Oid, Builtin)] = &[
    (879, scalar(|a, _| super::text::pad(a, " ", Side::Left))),
    (880, scalar(|a, _| super::text::pad(a, " ", Side::Right))),
    // timestamptz(date, time)
    (1176, scalar(date_time_to_timestamptz)),
    (1215, scalar(rules::object_description)),
    (1216, scalar(rules::column_description)),
    (1285, typed(quote_literal)),
    (1290, typed(quote_nullable)),
    // time + date, timetz + date
    (
        1296,
        scalar(|a, _| {
            dt::date_plus_time(a_date(a, 1)?, arg(a, 0)?.as_time()?).map(Datum::Timestamp)
        }),
    ),
    (1298, scalar(timetz_plus_date)),
    (1305, scalar(overlaps)),
    (1306, scalar(overlaps)),
    (1307, scalar(overlaps)),
    (1309, scalar(overlaps)),
    (1310, scalar(overlaps)),
    (1311, scalar(overlaps)),
    (1348, scalar(rules::object_description)),
    // date_part(text, date)
    (1384, scalar(date_part_of_date)),
    (1386, scalar(age_today)),
    // log10(numeric), round(numeric), trunc(numeric), log(numeric)
    (1481, scalar(|a, _| log10(numeric(a, 0)?))),
    (1708, scalar(|a, _| numeric(a, 0)?.round(0).map(Datum::Numeric))),
    (1710, scalar(|a, _| numeric(a, 0)?.trunc(0).map(Datum::Numeric))),
    (1741, scalar(|a, _| log10(numeric(a, 0)?))),
    // bit_length(bytea), bit_length(text)
    (1810, scalar(bit_length)),
    (1811, scalar(bit_length)),
    // interval + time
    (1848, scalar(|a, cx| add_span(a, 1, 0, cx))),
    // Descriptions of shared objects: there are none.
    (1993, scalar(|_, _| Ok(Datum::Null))),
    (2003, typed(concatenate)),
    (2004, typed(concatenate)),
    (2042, scalar(overlaps)),
    (2043, scalar(overlaps)),
    (2044, scalar(overlaps)),
    (2059, scalar(age_today)),
    (2074, scalar(|a, _| super::pattern::similar_substring(text(a, 0)?, text(a, 1)?, text(a, 2)?))),
    // interval + date, timetz, timestamp, timestamptz; integer + date
    (2546, scalar(|a, cx| add_span(a, 1, 0, cx))),
    (2547, scalar(|a, cx| add_span(a, 1, 0, cx))),
    (2548, scalar(|a, cx| add_span(a, 1, 0, cx))),
    (2549, scalar(|a, cx| add_span(a, 1, 0, cx))),
    (2550, scalar(|a, _| dt::date_plus_days(a_date(a, 1)?, int4(a, 0)?).map(Datum::Date))),
    // numeric + pg_lsn
    (5023, scalar(super::pg_lsn::plus_after)),
    // information_schema._pg_expandarray
    (13145, set(series::expand_array)),
];

fn a_date(args: &[Datum], i: usize) -> Result<i32> {
    super::args::date(args, i)
}

fn date_time_to_timestamptz(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let local = dt::date_plus_time(a_date(args, 0)?, arg(args, 1)?.as_time()?)?;
    dt::timestamp_to_timestamptz(local, super::args::zone(cx)).map(Datum::TimestampTz)
}

fn timetz_plus_date(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (time, west) = super::args::timetz(args, 0)?;
    dt::date_plus_timetz(a_date(args, 1)?, time, west).map(Datum::TimestampTz)
}

/// A date's parts are those of its midnight.
fn date_part_of_date(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let midnight = Datum::Timestamp(dt::date_to_timestamp(a_date(args, 1)?)?);
    date_part(&[arg(args, 0)?.clone(), midnight], cx)
}

fn log10(value: &Numeric) -> Result<Datum> {
    value.log(&Numeric::from(10i64)).map(Datum::Numeric)
}

fn bit_length(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let bytes = match arg(args, 0)? {
        Datum::Bytea(bytes) => bytes.len(),
        other => other.as_text()?.len(),
    };
    i32::try_from(bytes * 8)
        .map(Datum::Int4)
        .map_err(|_| steppe_types::arith::out_of_range("integer"))
}

fn quote_literal(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let text = shown(args, 0, call, cx)?;
    text_or_null(text.map(|text| quote::quote_literal(&text)).transpose()?)
}

fn quote_nullable(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    text_datum(quote::quote_nullable(shown(args, 0, call, cx)?.as_deref())?)
}

/// `text || any` and `any || text`: a cast to text, which prints booleans in full.
fn concatenate(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let mut joined = String::new();
    for i in 0..2 {
        match given(args, i) {
            Some(Datum::Bool(v)) => joined.push_str(if *v { "true" } else { "false" }),
            // Trailing blanks are removed, as in any cast of char(n) to text.
            Some(Datum::Text(v)) if call.args.get(i) == Some(&steppe_types::oid::BPCHAR) => {
                joined.push_str(v.trim_end_matches(' '));
            }
            _ => joined.push_str(&shown(args, i, call, cx)?.unwrap_or_default()),
        }
    }
    text_datum(joined)
}
