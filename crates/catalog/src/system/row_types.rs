//! pg_type: the built-in types, and the row types of the catalog's relations.

use super::facts;
use super::rows::{RowsBuilder, text};
use super::session::SystemContext;
use super::shape;
use crate::builtin::{self, Type};
use crate::row_types::row_type_of;
use crate::{Catalog, Relation};
use steppe_types::Datum;

/// record_send and array_send; array_typanalyze.
const RECORD_SEND: u32 = 2403;
const ARRAY_SEND: u32 = 2401;
const ARRAY_TYPANALYZE: u32 = 3816;

/// pg_type
pub(super) fn pg_type(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    // Facts that cannot be converted would be a bug in their file, which a test would find.
    let built_in = shape::named("pg_catalog", "pg_type").map(facts::rows);
    if let Some(Ok(Some(rows))) = built_in {
        out.start_with(&rows);
    }
    for relation in context.catalog.relations().filter(|r| !r.is_system()) {
        let Some(ty) = row_type_of(relation).and_then(builtin::ty) else {
            continue;
        };
        row(context.catalog, relation, &ty, out);
        if let Some(array) = builtin::ty(ty.array) {
            row(context.catalog, relation, &array, out);
        }
    }
}

/// The row of a relation's row type or of the array type over it.
fn row(catalog: &Catalog, relation: &Relation, ty: &Type, out: &mut RowsBuilder) {
    let is_array = ty.is_true_array();
    let name = match is_array {
        true => text(catalog.array_type_name(relation)),
        false => Datum::Text(relation.name.clone()),
    };
    out.row([
        ("oid", Datum::Oid(ty.oid)),
        ("typname", name),
        ("typnamespace", Datum::Oid(relation.schema)),
        ("typowner", Datum::Oid(relation.owner)),
        ("typlen", Datum::Int2(ty.len)),
        ("typtype", Datum::Char(ty.kind)),
        ("typcategory", Datum::Char(ty.category)),
        ("typisdefined", Datum::Bool(true)),
        ("typdelim", Datum::Char(b',')),
        ("typrelid", Datum::Oid(ty.relation)),
        ("typsubscript", Datum::Oid(ty.subscript)),
        ("typelem", Datum::Oid(ty.element)),
        ("typarray", Datum::Oid(ty.array)),
        ("typinput", Datum::Oid(ty.input)),
        ("typoutput", Datum::Oid(ty.output)),
        ("typreceive", Datum::Oid(ty.receive)),
        ("typsend", Datum::Oid(if is_array { ARRAY_SEND } else { RECORD_SEND })),
        ("typanalyze", Datum::Oid(if is_array { ARRAY_TYPANALYZE } else { 0 })),
        ("typalign", Datum::Char(b'd')),
        ("typstorage", Datum::Char(b'x')),
        ("typtypmod", Datum::Int4(-1)),
    ]);
}
