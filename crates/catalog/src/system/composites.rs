//! information_schema's views about composite types: user_defined_types and attributes.

use super::information_schema::{collation_name, data_type, int4, yes};
use super::rows::{RowsBuilder, optional, text};
use super::session::SystemContext;
use super::types;
use super::views::schema_name;
use crate::relation::{Column, RelKind, Relation};
use crate::{DEFAULT_COLLATION, PG_CATALOG};
use std::sync::Arc;
use steppe_types::Datum;

fn composites<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = &'c Arc<Relation>> {
    context.catalog.relations().filter(|relation| relation.kind == RelKind::Composite)
}

/// information_schema.user_defined_types
pub(super) fn user_defined_types(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for composite in composites(context) {
        out.row([
            ("user_defined_type_catalog", text(context.database)),
            ("user_defined_type_schema", schema_name(context.catalog, composite.schema)),
            ("user_defined_type_name", Datum::Text(composite.name.clone())),
            ("user_defined_type_category", text("STRUCTURED")),
            ("is_instantiable", yes(true)),
        ]);
    }
}

/// information_schema.attributes
pub(super) fn attributes(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for composite in composites(context) {
        for (column, attnum) in composite.columns.iter().zip(1..) {
            if !column.dropped {
                attribute(context, composite, column, attnum, out);
            }
        }
    }
}

fn attribute(
    context: &SystemContext<'_>,
    composite: &Relation,
    column: &Column,
    attnum: i32,
    out: &mut RowsBuilder,
) {
    let (type_oid, typmod) = (column.type_oid, column.typmod);
    let (precision, radix, scale) = types::numeric_facts(type_oid, typmod);
    let collation =
        collation_name(column.collation).filter(|_| column.collation != DEFAULT_COLLATION);
    let of_collation = |datum: Datum| if collation.is_some() { datum } else { Datum::Null };
    let name = context.catalog.type_name(type_oid);
    let is_own = context.catalog.own_type_name(type_oid).is_some();
    out.row([
        ("udt_catalog", text(context.database)),
        ("udt_schema", schema_name(context.catalog, composite.schema)),
        ("udt_name", Datum::Text(composite.name.clone())),
        ("attribute_name", Datum::Text(column.name.clone())),
        ("ordinal_position", Datum::Int4(attnum)),
        ("is_nullable", yes(true)),
        ("data_type", if is_own { text("USER-DEFINED") } else { data_type(type_oid) }),
        ("character_maximum_length", int4(types::character_length(type_oid, typmod))),
        ("character_octet_length", int4(types::octet_length(type_oid, typmod))),
        ("collation_catalog", of_collation(text(context.database))),
        ("collation_schema", of_collation(schema_name(context.catalog, PG_CATALOG))),
        ("collation_name", optional(collation)),
        ("numeric_precision", int4(precision)),
        ("numeric_precision_radix", int4(radix)),
        ("numeric_scale", int4(scale)),
        ("datetime_precision", int4(types::datetime_precision(type_oid, typmod))),
        ("interval_type", optional(types::interval_fields(type_oid, typmod))),
        ("attribute_udt_catalog", text(context.database)),
        (
            "attribute_udt_schema",
            schema_name(context.catalog, name.as_ref().map_or(PG_CATALOG, |name| name.0)),
        ),
        ("attribute_udt_name", optional(name.map(|name| name.1))),
        ("dtd_identifier", text(attnum.to_string())),
        ("is_derived_reference_attribute", yes(false)),
    ]);
}
