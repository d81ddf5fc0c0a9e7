//! to_regclass and its kin, which return NULL if the input functions fail
//! (src/backend/utils/adt/regproc.c).

use super::args::{text, text_datum};
use super::reg::CatalogNames;
use super::{CallInfo, Entry, scalar, typed};
use crate::FnContext;
use steppe_types::io::TypeCatalog;
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// Look-up functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    (
        "text_regclass",
        scalar(|a, cx| {
            CatalogNames::of(cx).relation_in_schema(text(a, 0)?).map(|r| Datum::Oid(r.oid))
        }),
    ),
    ("to_regclass", typed(look_up)),
    ("to_regtype", typed(look_up)),
    ("to_regproc", typed(look_up)),
    ("to_regprocedure", typed(look_up)),
    ("to_regoper", typed(look_up)),
    ("to_regoperator", typed(look_up)),
    ("to_regnamespace", typed(look_up)),
    ("to_regrole", typed(look_up)),
    ("to_regcollation", typed(look_up)),
    (
        "to_regtypemod",
        scalar(|a, cx| {
            let found = CatalogNames::of(cx).parse_type(text(a, 0)?);
            Ok(soft(found)?.map_or(Datum::Null, |ty| Datum::Int4(ty.typmod)))
        }),
    ),
    ("oidvectortypes", scalar(oid_vector_types)),
];

/// Only syntax errors are errors: a missing object is NULL.
fn soft<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(value) => Ok(Some(value)),
        Err(e) if is_hard(&e) => Err(e),
        Err(_) => Ok(None),
    }
}

fn is_hard(error: &Error) -> bool {
    matches!(error.sqlstate(), SqlState::SYNTAX_ERROR | SqlState::FEATURE_NOT_SUPPORTED)
}

fn look_up(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let name = text(args, 0)?;
    // PostgreSQL does not parse a blank name.
    if call.ret.oid == oid::REGTYPE && name.trim().is_empty() {
        return Ok(Datum::Null);
    }
    let numeric = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    if name == "-" && !matches!(call.ret.oid, oid::REGOPER | oid::REGOPERATOR) {
        return Ok(Datum::Oid(oid::INVALID_OID));
    }
    if numeric {
        return Ok(name.parse().map_or(Datum::Null, Datum::Oid));
    }
    let found = soft(CatalogNames::of(cx).reg_input(call.ret.oid, name))?;
    Ok(found.map_or(Datum::Null, Datum::Oid))
}

/// `oidvectortypes(oidvector)`: the types' names, for function signatures.
fn oid_vector_types(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let types = super::args::array(args, 0)?;
    let names = CatalogNames::of(cx);
    let name = |ty: &Datum| ty.as_oid().map(|ty| names.types().format(ty, -1));
    text_datum(types.elements.iter().map(name).collect::<Result<Vec<_>>>()?.join(", "))
}
