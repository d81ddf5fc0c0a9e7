//! Casts that only change the representation, and the length coercions: the
//! second step of a cast to `varchar(n)`, `timestamp(p)` …
//!
//! [`steppe_types::cast`] computes the values; this module attaches the casts to pg_proc rows. It
//! also has the input and output functions, which SQL may call by name.

use super::args::{boolean, int4, text, text_datum};
use super::{CallInfo, Entry, arg, scalar, typed};
use crate::FnContext;
use steppe_types::oid;
use steppe_types::physical::Physical;
use steppe_types::text_io::{self, fit_bpchar, fit_varchar};
use steppe_types::{Datum, Error, Result, SqlState, binary_io, cast};

/// Casts by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("chartoi4", typed(convert)),
    ("xid8toxid", scalar(narrow_xid)),
    ("i4tochar", typed(convert)),
    ("name_text", typed(convert)),
    ("text_name", typed(convert)),
    ("name_bpchar", typed(convert)),
    ("bpchar_name", typed(convert)),
    ("char_text", typed(convert)),
    ("char_bpchar", typed(convert)),
    ("text_char", typed(convert)),
    ("date_timestamp", typed(convert)),
    ("date_timestamptz", typed(convert)),
    ("timestamp_date", typed(convert)),
    ("timestamp_time", typed(convert)),
    ("timestamp_timestamptz", typed(convert)),
    ("timestamptz_date", typed(convert)),
    ("timestamptz_time", typed(convert)),
    ("timestamptz_timetz", typed(convert)),
    ("timestamptz_timestamp", typed(convert)),
    ("time_interval", typed(convert)),
    ("interval_time", typed(convert)),
    ("timetz_time", typed(convert)),
    ("time_timetz", typed(convert)),
    ("varchar", scalar(to_varchar)),
    ("bpchar", scalar(to_bpchar)),
    ("time_scale", typed(fit)),
    ("timetz_scale", typed(fit)),
    ("timestamp_scale", typed(fit)),
    ("timestamptz_scale", typed(fit)),
    ("interval_scale", typed(fit)),
    ("boolin", typed(input)),
    ("boolout", typed(output)),
    ("byteain", typed(input)),
    ("byteaout", typed(output)),
    ("charin", typed(input)),
    ("charout", typed(output)),
    ("namein", typed(input)),
    ("nameout", typed(output)),
    ("int2in", typed(input)),
    ("int2out", typed(output)),
    ("int4in", typed(input)),
    ("int4out", typed(output)),
    ("int8in", typed(input)),
    ("int8out", typed(output)),
    ("float4in", typed(input)),
    ("float4out", typed(output)),
    ("float8in", typed(input)),
    ("float8out", typed(output)),
    ("numeric_in", typed(input)),
    ("numeric_out", typed(output)),
    ("textin", typed(input)),
    ("textout", typed(output)),
    ("unknownin", typed(input)),
    ("unknownout", typed(output)),
    ("varcharin", typed(input)),
    ("varcharout", typed(output)),
    ("bpcharin", typed(input)),
    ("bpcharout", typed(output)),
    ("date_in", typed(input)),
    ("date_out", typed(output)),
    ("time_in", typed(input)),
    ("time_out", typed(output)),
    ("timetz_in", typed(input)),
    ("timetz_out", typed(output)),
    ("timestamp_in", typed(input)),
    ("timestamp_out", typed(output)),
    ("timestamptz_in", typed(input)),
    ("timestamptz_out", typed(output)),
    ("interval_in", typed(input)),
    ("interval_out", typed(output)),
    ("uuid_in", typed(input)),
    ("uuid_out", typed(output)),
    ("oidin", typed(input)),
    ("oidout", typed(output)),
    ("xidin", typed(input)),
    ("xidout", typed(output)),
    ("xid8in", typed(input)),
    ("xid8out", typed(output)),
    ("pg_lsn_in", typed(input)),
    ("pg_lsn_out", typed(output)),
    ("cidin", typed(input)),
    ("cidout", typed(output)),
    ("tidin", typed(input)),
    ("tidout", typed(output)),
    ("array_out", typed(output)),
    ("int2vectorin", typed(input)),
    ("int2vectorout", typed(output)),
    ("oidvectorin", typed(input)),
    ("oidvectorout", typed(output)),
    ("regclassin", typed(input)),
    ("regclassout", typed(output)),
    ("regtypein", typed(input)),
    ("regtypeout", typed(output)),
    ("regprocin", typed(input)),
    ("regprocout", typed(output)),
    ("regprocedurein", typed(input)),
    ("regprocedureout", typed(output)),
    ("regoperin", typed(input)),
    ("regoperout", typed(output)),
    ("regoperatorin", typed(input)),
    ("regoperatorout", typed(output)),
    ("regnamespacein", typed(input)),
    ("regnamespaceout", typed(output)),
    ("regrolein", typed(input)),
    ("regroleout", typed(output)),
    ("regcollationin", typed(input)),
    ("regcollationout", typed(output)),
    ("boolsend", typed(send)),
    ("byteasend", typed(send)),
    ("charsend", typed(send)),
    ("namesend", typed(send)),
    ("int2send", typed(send)),
    ("int4send", typed(send)),
    ("int8send", typed(send)),
    ("float4send", typed(send)),
    ("float8send", typed(send)),
    ("numeric_send", typed(send)),
    ("textsend", typed(send)),
    ("varcharsend", typed(send)),
    ("bpcharsend", typed(send)),
    ("date_send", typed(send)),
    ("time_send", typed(send)),
    ("timetz_send", typed(send)),
    ("timestamp_send", typed(send)),
    ("timestamptz_send", typed(send)),
    ("interval_send", typed(send)),
    ("uuid_send", typed(send)),
    ("oidsend", typed(send)),
    ("array_send", typed(send)),
    ("regclasssend", typed(send)),
    ("regtypesend", typed(send)),
    ("regprocsend", typed(send)),
    ("xidsend", typed(send)),
    ("xid8send", typed(send)),
    ("pg_lsn_send", typed(send)),
    ("cidsend", typed(send)),
    ("tidsend", typed(send)),
    ("i2toi4", typed(widen)),
];

/// The type of the first argument.
fn source(call: &CallInfo) -> u32 {
    call.args.first().copied().unwrap_or(oid::UNKNOWN)
}

fn convert(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    cast::cast(arg(args, 0)?, source(call), call.ret.oid, -1, true, &cx.io)
}

/// A full transaction number without its epoch.
fn narrow_xid(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    match arg(args, 0)? {
        Datum::Xid8(full) => Ok(Datum::Oid(*full as u32)),
        _ => Err(Error::internal("expected xid8")),
    }
}

/// int2 to int4, or to a type that is stored as an oid: by pg_cast any int4 is one.
fn widen(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    let value = i32::from(arg(args, 0)?.as_int2()?);
    Ok(match Physical::of(call.ret.oid) {
        Physical::Oid => Datum::Oid(value as u32),
        _ => Datum::Int4(value),
    })
}

/// `f(value, typmod)`
fn fit(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    cast::apply_typmod(arg(args, 0)?.clone(), call.ret.oid, int4(args, 1)?, true)
}

/// `varchar(value, typmod, explicit)`; a value that fits is shared.
fn to_varchar(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let value = text(args, 0)?;
    let fitted = fit_varchar(value, int4(args, 1)?, boolean(args, 2)?)?;
    if fitted.len() == value.len() { Ok(args[0].clone()) } else { text_datum(fitted) }
}

/// The longest char(n): ten megabytes and the modifier's offset.
const BPCHAR_TYPMOD_MAX: i32 = 10_485_760 + 4;

/// `bpchar(value, typmod, explicit)`
fn to_bpchar(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    if int4(args, 1)? > BPCHAR_TYPMOD_MAX {
        let message = "length for type bpchar cannot exceed 10485760";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    text_datum(fit_bpchar(text(args, 0)?, int4(args, 1)?, boolean(args, 2)?)?)
}

/// `typein(cstring [, typioparam, typmod])`
fn input(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let typmod = args.get(2).map_or(Ok(-1), Datum::as_int4)?;
    text_io::input(call.ret.oid, typmod, text(args, 0)?, &cx.io)
}

fn output(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    text_datum(text_io::output_string(source(call), arg(args, 0)?, &cx.io)?)
}

fn send(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let mut out = Vec::new();
    binary_io::send(source(call), arg(args, 0)?, &cx.io, &mut out)?;
    Ok(Datum::Bytea(out.into()))
}
