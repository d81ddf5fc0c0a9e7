//! pg_…_is_visible: whether an object's bare name finds it (namespace.c).
//!
//! A built-in object of pg_catalog is always found, one of information_schema where
//! the search path has that; an OID without an object is NULL.

use super::args::oid;
use super::reg::CatalogNames;
use super::{Entry, scalar};
use crate::FnContext;
use steppe_catalog::system::extended_statistics::{
    statistics_object, statistics_object_is_visible,
};
use steppe_catalog::{INFORMATION_SCHEMA, PG_CATALOG, TEMPORARY_SCHEMA, builtin};
use steppe_types::{Datum, Result};

/// Visibility functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_table_is_visible", scalar(relation)),
    ("pg_type_is_visible", scalar(data_type)),
    ("pg_function_is_visible", scalar(function)),
    ("pg_operator_is_visible", scalar(operator)),
    ("pg_opclass_is_visible", scalar(|a, _| listed("pg_opclass", oid(a, 0)?))),
    ("pg_opfamily_is_visible", scalar(|a, _| listed("pg_opfamily", oid(a, 0)?))),
    ("pg_collation_is_visible", scalar(|a, _| listed("pg_collation", oid(a, 0)?))),
    ("pg_statistics_obj_is_visible", scalar(statistics)),
    // Objects of these kinds do not exist.
    ("pg_conversion_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_ts_parser_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_ts_dict_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_ts_template_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_ts_config_is_visible", scalar(|_, _| Ok(Datum::Null))),
    ("pg_my_temp_schema", scalar(|_, cx| Ok(Datum::Oid(own_temporary_schema(cx))))),
    ("pg_is_other_temp_schema", scalar(other_temporary_schema)),
];

/// The session's schema of temporary objects, or 0.
fn own_temporary_schema(cx: &FnContext) -> u32 {
    let names = CatalogNames::of(cx);
    cx.catalog.schema_in(TEMPORARY_SCHEMA, names.path()).map_or(0, |schema| schema.oid)
}

fn other_temporary_schema(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let schema = oid(args, 0)?;
    let temporary = cx.catalog.schema(schema).is_some_and(|schema| schema.is_temporary());
    Ok(Datum::Bool(temporary && schema != own_temporary_schema(cx)))
}

/// information_schema's types are visible if it is in the search path, a user's type and a row type
/// if they are found by name.
fn data_type(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let type_oid = oid(args, 0)?;
    let Some(ty) = builtin::ty(type_oid).filter(|_| cx.catalog.has_type(type_oid)) else {
        return Ok(Datum::Null);
    };
    let own = if ty.is_true_array() { ty.element } else { type_oid };
    let visible = match cx.catalog.own_type_name(own) {
        Some((_, name)) => CatalogNames::of(cx).types().is_visible(own, &name),
        None => !ty.in_information_schema || searches_information_schema(cx),
    };
    Ok(Datum::Bool(visible))
}

fn searches_information_schema(cx: &FnContext) -> bool {
    CatalogNames::of(cx).path().contains(&INFORMATION_SCHEMA)
}

/// A function is visible if no other one with the same arguments is found before it.
fn function(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(function) = cx.catalog.function(oid(args, 0)?) else { return Ok(Datum::Null) };
    if cx.catalog.schema_of(&function).is_none() {
        return Ok(Datum::Null);
    }
    let path = CatalogNames::of(cx);
    Ok(Datum::Bool(cx.catalog.function_is_visible(&function, path.path())))
}

/// An operator is visible if no other one over the same types is found before it.
fn operator(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(operator) = cx.catalog.operator(oid(args, 0)?) else { return Ok(Datum::Null) };
    let path = CatalogNames::of(cx);
    Ok(Datum::Bool(cx.catalog.operator_is_visible(&operator, path.path())))
}

fn statistics(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some((_, object)) = statistics_object(&cx.catalog, oid(args, 0)?) else {
        return Ok(Datum::Null);
    };
    let names = CatalogNames::of(cx);
    Ok(Datum::Bool(statistics_object_is_visible(&cx.catalog, object, names.path())))
}

fn present(exists: bool) -> Result<Datum> {
    Ok(if exists { Datum::Bool(true) } else { Datum::Null })
}

fn listed(table: &str, object: u32) -> Result<Datum> {
    let shown = object.to_string();
    let table = builtin::table(table);
    present(table.is_some_and(|table| table.rows().any(|row| row.get("oid") == Some(&shown))))
}

fn relation(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(relation) = cx.catalog.relation(oid(args, 0)?).cloned() else {
        return Ok(Datum::Null);
    };
    // A relation of the catalog schema cannot be hidden.
    let visible = relation.schema == PG_CATALOG || CatalogNames::of(cx).is_visible(&relation);
    Ok(Datum::Bool(visible))
}
