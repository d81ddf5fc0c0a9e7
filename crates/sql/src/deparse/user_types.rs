//! Users' types in printed expressions: by name where the text is shown to a session, by OID where it
//! is stored (see [`steppe_catalog::type_spelling`]).

use crate::bind::typename::format_type_with_typmod;
use crate::expr::TypeRef;
use steppe_catalog::type_spelling::{place_spelling, places_spelling};
use steppe_types::io::IoContext;
use steppe_types::{Datum, oid};

/// The name of a type. The settings of a session have a catalog with the names.
pub(super) fn type_text(ty: TypeRef, io: &IoContext) -> String {
    let named = io.catalog.as_ref().and_then(|catalog| catalog.type_name(ty.oid));
    named.unwrap_or_else(|| format_type_with_typmod(ty.oid, ty.typmod))
}

/// A constant with values of enums, where there is no catalog with their labels.
pub(super) fn stored_constant(value: &Datum, io: &IoContext) -> Option<String> {
    if io.catalog.is_some() {
        return None;
    }
    match value {
        Datum::Enum(ty, order) => Some(place_spelling(*ty, *order)),
        Datum::Array(array) if oid::is_enum_type(array.element_type) => places_spelling(array),
        _ => None,
    }
}
