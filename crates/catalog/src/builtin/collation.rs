//! pg_collation: the existing collations, and the collation of a type's values.

use super::{table, ty};
use crate::{C_COLLATION, DEFAULT_COLLATION};
use steppe_types::Oid;

/// pg_collation: POSIX, ucs_basic, pg_c_utf8.
const POSIX: Oid = 951;
const UCS_BASIC: Oid = 962;
const PG_C_UTF8: Oid = 811;

/// The collation of a type's values without COLLATE, or 0.
pub fn collation_of(type_oid: Oid) -> Oid {
    ty(type_oid).map_or(0, |ty| ty.collation)
}

/// A collation's name.
pub fn collation_name(collation: Oid) -> Option<&'static str> {
    let row = table("pg_collation")?.rows().find(|row| row.number::<Oid>("oid") == collation)?;
    row.get("collname")
}

/// The collation of this name.
pub fn collation_named(name: &str) -> Option<Oid> {
    let mut rows = table("pg_collation")?.rows();
    Some(rows.find(|row| row.get("collname") == Some(name))?.number("oid"))
}

/// Whether a collation sorts by code point, as all text comparisons here do.
pub fn sorts_by_code_point(collation: Oid) -> bool {
    matches!(collation, DEFAULT_COLLATION | C_COLLATION | POSIX | UCS_BASIC | PG_C_UTF8)
}
