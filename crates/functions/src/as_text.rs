//! Values to text and back, for casts and error details.

use crate::FnContext;
use steppe_types::{Datum, Oid, Result, text_io};

/// The text of a value; `None` for NULL.
pub fn to_text(value: &Datum, type_oid: Oid, cx: &FnContext) -> Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    text_io::output_string(type_oid, value, &cx.io).map(Some)
}

/// A cast by way of the text form (PostgreSQL's CoerceViaIO).
pub fn cast_via_text(value: &Datum, from: Oid, to: Oid, cx: &mut FnContext) -> Result<Datum> {
    match to_text(value, from, cx)? {
        None => Ok(Datum::Null),
        Some(text) => text_io::input(to, -1, &text, &cx.io),
    }
}
