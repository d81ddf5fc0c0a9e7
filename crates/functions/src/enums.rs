//! Functions of enums (src/backend/utils/adt/enum.c). A function takes the enum from the declared
//! types of the call's arguments, because the values may all be NULL.

use super::args::given;
use super::{CallInfo, Entry, arg, scalar, typed};
use crate::FnContext;
use crate::reg::CatalogNames;
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_catalog::objects::{EnumLabel, EnumLabels};
use steppe_types::compare::compare;
use steppe_types::datum::one_dimensional;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// Enum functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("enum_cmp", scalar(|a, _| Ok(Datum::Int4(order(a)? as i32)))),
    ("enum_smaller", scalar(|a, _| pick(a, Ordering::Less))),
    ("enum_larger", scalar(|a, _| pick(a, Ordering::Greater))),
    ("enum_first", typed(|_, call, cx| end_of(call, cx, <[EnumLabel]>::first))),
    ("enum_last", typed(|_, call, cx| end_of(call, cx, <[EnumLabel]>::last))),
    ("enum_range_all", typed(range)),
    ("enum_range_bounds", typed(range)),
];

fn order(args: &[Datum]) -> Result<Ordering> {
    Ok(compare(arg(args, 0)?, arg(args, 1)?))
}

/// The argument that comes first in this direction.
fn pick(args: &[Datum], wanted: Ordering) -> Result<Datum> {
    let at = if order(args)? == wanted { 0 } else { 1 };
    arg(args, at).cloned()
}

/// The enum of a call: the first of the argument types that is one. 0A000 if none is.
fn enum_of(call: &CallInfo, catalog: &Arc<Catalog>) -> Result<(Oid, EnumLabels)> {
    let enums = call.args.iter().filter_map(|ty| Some((*ty, catalog.enum_labels(*ty)?.clone())));
    enums.into_iter().next().ok_or_else(|| {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, "could not determine actual enum type")
    })
}

/// A label as a value: 55P04 if it may not be used yet.
fn value(ty: Oid, label: &EnumLabel, cx: &FnContext) -> Result<Datum> {
    if label.uncommitted {
        let names = CatalogNames::of(cx);
        label.check_safe(&cx.catalog.shown_type_name(ty, names.path()))?;
    }
    Ok(Datum::Enum(ty, label.order))
}

/// enum_first, enum_last
fn end_of(
    call: &CallInfo,
    cx: &FnContext,
    end: fn(&[EnumLabel]) -> Option<&EnumLabel>,
) -> Result<Datum> {
    let (ty, labels) = enum_of(call, &cx.catalog)?;
    match end(&labels.0) {
        Some(label) => value(ty, label, cx),
        None => {
            let names = CatalogNames::of(cx);
            let shown = cx.catalog.shown_type_name(ty, names.path());
            let message = format!("enum {shown} contains no values");
            Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        }
    }
}

/// `enum_range(anyenum)`, `enum_range(anyenum, anyenum)`: the labels between two bounds, a NULL one
/// being none.
fn range(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let (ty, labels) = enum_of(call, &cx.catalog)?;
    let has_bounds = args.len() == 2;
    let bound = |at| given(args, at).filter(|_| has_bounds);
    let is_within = |value: &Datum| {
        bound(0).is_none_or(|lower| compare(value, lower).is_ge())
            && bound(1).is_none_or(|upper| compare(value, upper).is_le())
    };
    let mut values = Vec::new();
    for label in &labels.0 {
        if is_within(&Datum::Enum(ty, label.order)) {
            values.push(value(ty, label, cx)?);
        }
    }
    Ok(one_dimensional(ty, values))
}
