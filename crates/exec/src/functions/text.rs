//! text basics; the long tail lives in the files beside.

use super::{Builtin, Entry, arg};
use crate::env::FnContext;
use steppe_types::{Datum, Result};

/// Text functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("textcat", Builtin::Scalar(concatenate)),
    ("textlen", Builtin::Scalar(length)),
    ("textoctetlen", Builtin::Scalar(octet_length)),
    ("lower", Builtin::Scalar(lower)),
    ("upper", Builtin::Scalar(upper)),
];

fn concatenate(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (a, b) = (arg(args, 0)?.as_text()?, arg(args, 1)?.as_text()?);
    let mut joined = String::with_capacity(a.len() + b.len());
    joined.push_str(a);
    joined.push_str(b);
    Ok(Datum::text(joined))
}

fn length(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int4(arg(args, 0)?.as_text()?.chars().count() as i32))
}

fn octet_length(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int4(arg(args, 0)?.as_text()?.len() as i32))
}

fn lower(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::text(arg(args, 0)?.as_text()?.to_lowercase()))
}

fn upper(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::text(arg(args, 0)?.as_text()?.to_uppercase()))
}
