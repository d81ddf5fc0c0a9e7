//! pg_…_is_visible: whether an object's bare name finds it (namespace.c).
//!
//! Only relations can be outside pg_catalog; a built-in object is always found,
//! and an OID without an object is NULL.

use super::args::oid;
use super::reg::CatalogNames;
use super::{Entry, scalar};
use crate::env::FnContext;
use steppe_catalog::{Builtins, PG_CATALOG};
use steppe_types::{Datum, Result};

/// Visibility functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_table_is_visible", scalar(relation)),
    ("pg_type_is_visible", scalar(|a, _| builtin(Builtins::get().ty(oid(a, 0)?).is_some()))),
    ("pg_function_is_visible", scalar(|a, _| builtin(Builtins::get().proc(oid(a, 0)?).is_some()))),
    (
        "pg_operator_is_visible",
        scalar(|a, _| builtin(Builtins::get().operator(oid(a, 0)?).is_some())),
    ),
    ("pg_opclass_is_visible", scalar(|a, _| listed("pg_opclass", oid(a, 0)?))),
    ("pg_opfamily_is_visible", scalar(|a, _| listed("pg_opfamily", oid(a, 0)?))),
    ("pg_collation_is_visible", scalar(|a, _| listed("pg_collation", oid(a, 0)?))),
    // None of these objects exists.
    ("pg_conversion_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_statistics_obj_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_ts_parser_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_ts_dict_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_ts_template_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_ts_config_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_my_temp_schema", scalar(|_, _| Ok(Datum::Oid(0)))),
    ("pg_is_other_temp_schema", scalar(|_, _| Ok(Datum::Bool(false)))),
];

fn builtin(exists: bool) -> Result<Datum> {
    Ok(if exists { Datum::Bool(true) } else { Datum::Null })
}

fn listed(table: &str, object: u32) -> Result<Datum> {
    let shown = object.to_string();
    let table = Builtins::get().table(table);
    builtin(table.is_some_and(|table| table.rows().any(|row| row.get("oid") == Some(&shown))))
}

fn relation(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(relation) = cx.catalog.relation(oid(args, 0)?).cloned() else {
        return Ok(Datum::Null);
    };
    // Nothing can hide what the catalog schema holds.
    let visible = relation.schema == PG_CATALOG || CatalogNames::of(cx).is_visible(&relation);
    Ok(Datum::Bool(visible))
}
