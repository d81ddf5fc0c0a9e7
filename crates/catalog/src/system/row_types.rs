//! pg_type: the built-in types, the row types of the catalog's relations, and users' types. pg_enum.

use super::definitions::{Style, default_definition};
use super::rows::{RowsBuilder, optional, text};
use super::session::SystemContext;
use super::{facts, shape, types};
use crate::Catalog;
use crate::builtin::{self, Type};
use crate::objects::{Domain, UserType};
use crate::row_types::row_type_of;
use steppe_types::{Datum, Oid};

/// record_send and array_send; array_typanalyze.
const RECORD_SEND: u32 = 2403;
const ARRAY_SEND: u32 = 2401;
const ARRAY_TYPANALYZE: u32 = 3816;
/// enum_send
const ENUM_SEND: u32 = 3533;

/// pg_type
pub(super) fn pg_type(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    // Facts that cannot be converted would be a bug in their file, which a test would find.
    let built_in = shape::named("pg_catalog", "pg_type").map(facts::rows);
    if let Some(Ok(Some(rows))) = built_in {
        out.start_with(&rows);
    }
    let catalog = context.catalog;
    for relation in catalog.relations().filter(|r| !r.is_system()) {
        if let Some(ty) = row_type_of(relation) {
            rows(catalog, ty, relation.owner, None, out);
        }
    }
    for own in catalog.stored::<UserType>().iter() {
        rows(catalog, own.oid, own.owner, own.domain(), out);
    }
}

/// The rows of a type and of the array type over it.
fn rows(
    catalog: &Catalog,
    type_oid: Oid,
    owner: Oid,
    domain: Option<&Domain>,
    out: &mut RowsBuilder,
) {
    let Some(ty) = builtin::ty(type_oid) else { return };
    row(catalog, &ty, owner, domain, out);
    if let Some(array) = builtin::ty(ty.array) {
        row(catalog, &array, owner, None, out);
    }
}

fn row(catalog: &Catalog, ty: &Type, owner: Oid, domain: Option<&Domain>, out: &mut RowsBuilder) {
    let is_array = ty.is_true_array();
    let Some((schema, name)) = catalog.type_name(ty.oid) else { return };
    let base = domain.and_then(|_| builtin::ty(catalog.base_type(ty.oid).oid));
    let shown = base.unwrap_or(*ty);
    let storage = types::storage(shown.oid);
    let (send, analyze) = match ty.kind {
        b'e' => (ENUM_SEND, 0),
        b'd' => (types::send_function(shown.oid), types::analyze_function(shown.oid)),
        _ if is_array => (ARRAY_SEND, ARRAY_TYPANALYZE),
        _ => (RECORD_SEND, 0),
    };
    out.row([
        ("oid", Datum::Oid(ty.oid)),
        ("typname", text(name)),
        ("typnamespace", Datum::Oid(schema)),
        ("typowner", Datum::Oid(owner)),
        ("typlen", Datum::Int2(storage.len)),
        ("typbyval", Datum::Bool(storage.by_value)),
        ("typtype", Datum::Char(ty.kind)),
        ("typcategory", Datum::Char(shown.category)),
        ("typisdefined", Datum::Bool(true)),
        ("typdelim", Datum::Char(b',')),
        ("typrelid", Datum::Oid(ty.relation)),
        ("typsubscript", Datum::Oid(ty.subscript)),
        ("typelem", Datum::Oid(ty.element)),
        ("typarray", Datum::Oid(ty.array)),
        ("typinput", Datum::Oid(ty.input)),
        ("typoutput", Datum::Oid(shown.output)),
        ("typreceive", Datum::Oid(ty.receive)),
        ("typsend", Datum::Oid(send)),
        ("typanalyze", Datum::Oid(analyze)),
        ("typalign", Datum::Char(storage.align)),
        ("typstorage", Datum::Char(storage.storage)),
        ("typnotnull", Datum::Bool(domain.is_some_and(|domain| domain.not_null.is_some()))),
        ("typbasetype", Datum::Oid(domain.map_or(0, |domain| domain.base))),
        ("typtypmod", Datum::Int4(domain.map_or(-1, |domain| domain.modifier))),
        ("typndims", Datum::Int4(domain.map_or(0, |d| i32::from(types::is_array(d.base))))),
        ("typcollation", Datum::Oid(domain.map_or(0, |domain| domain.collation))),
        ("typdefaultbin", optional(domain.and_then(|d| d.default.clone()))),
        ("typdefault", optional(domain.and_then(|d| shown_default(catalog, d)))),
    ]);
}

/// A domain's default as pg_get_expr shows it.
fn shown_default(catalog: &Catalog, domain: &Domain) -> Option<String> {
    let default = domain.default.as_ref()?;
    Some(default_definition(catalog, default, Style::PLAIN))
}

/// pg_enum
pub(super) fn pg_enum(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for own in context.catalog.stored::<UserType>().iter() {
        let Some(labels) = context.catalog.enum_labels(own.oid) else { continue };
        for label in &labels.0 {
            out.row([
                ("oid", Datum::Oid(label.oid)),
                ("enumtypid", Datum::Oid(own.oid)),
                ("enumsortorder", Datum::Float4(label.order as f32)),
                ("enumlabel", Datum::Text(label.name.clone())),
            ]);
        }
    }
}
