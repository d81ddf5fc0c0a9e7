//! Converts a referencing value to the type of the referenced column.
//!
//! A look-up in the referenced index needs a value of that type. The two types may differ if
//! PostgreSQL compares them with an operator of the index's operator family. The conversion loses
//! nothing. A value that the referenced type cannot hold is in no referenced row.

use std::sync::Arc;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Oid, oid};

/// Types whose values are text without padding.
fn is_text(ty: Oid) -> bool {
    matches!(ty, oid::TEXT | oid::VARCHAR)
}

fn is_integer(ty: Oid) -> bool {
    matches!(ty, oid::INT2 | oid::INT4 | oid::INT8)
}

/// Whether values of a referencing column can be looked up in a referenced one.
pub fn converts(from: Oid, to: Oid) -> bool {
    from == to
        || is_text(from) && is_text(to)
        || is_integer(from) && (is_integer(to) || to == oid::NUMERIC)
        || (from, to) == (oid::FLOAT4, oid::FLOAT8)
}

/// The value as the referenced column has it. `None`: no row can have it.
pub(super) fn converted(value: &Datum, to: Oid) -> Option<Datum> {
    let integer = match value {
        Datum::Int2(n) => i64::from(*n),
        Datum::Int4(n) => i64::from(*n),
        Datum::Int8(n) => *n,
        Datum::Float4(x) if to == oid::FLOAT8 => return Some(Datum::Float8(f64::from(*x))),
        Datum::Text(text) => return Some(Datum::Text(Arc::clone(text))),
        other => return Some(other.clone()),
    };
    match to {
        oid::INT2 => i16::try_from(integer).ok().map(Datum::Int2),
        oid::INT4 => i32::try_from(integer).ok().map(Datum::Int4),
        oid::INT8 => Some(Datum::Int8(integer)),
        oid::NUMERIC => Some(Datum::Numeric(Numeric::from(integer))),
        _ => Some(value.clone()),
    }
}
