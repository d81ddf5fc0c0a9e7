//! The context of the text and binary formats: settings and the catalog.

use crate::array_io::default_type_of;
use crate::datetime::DateTimeConfig;
use crate::oid::{self, Oid};
use crate::{Datum, Error, Result, SqlState};
use std::fmt;
use std::sync::Arc;

/// The setting bytea_output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteaOutput {
    /// `\x` and hexadecimal digits.
    #[default]
    Hex,
    /// Printable bytes as they are, others as `\ooo`.
    Escape,
}

/// The catalog's knowledge of types: names behind OIDs, and types that are not built in. The
/// session gives its view of the catalog here.
pub trait TypeCatalog: Send + Sync {
    /// The OID that a `reg*` type's text names; called only if the text is no number.
    fn reg_input(&self, type_oid: Oid, text: &str) -> Result<Oid>;

    /// Appends the name of an OID of a `reg*` type; false to print the number.
    fn reg_output(&self, type_oid: Oid, value: Oid, out: &mut Vec<u8>) -> bool;

    /// The OID of a role by its name: 42704 if there is none.
    fn role(&self, name: &str) -> Result<Oid>;

    /// The name of a role.
    fn role_name(&self, role: Oid) -> Option<String>;

    /// The element type of an array type that is not built in.
    fn element_type(&self, _array_type: Oid) -> Option<Oid> {
        None
    }

    /// The types and modifiers of a row type's columns; `None` for any other type.
    fn row_columns(&self, _type_oid: Oid) -> Option<Vec<(Oid, i32)>> {
        None
    }

    /// The names of a row type's columns; `None` for any other type.
    fn row_names(&self, _type_oid: Oid) -> Option<Vec<Arc<str>>> {
        None
    }

    /// The name of a type that is not built in, or of an array type over one.
    fn type_name(&self, _type_oid: Oid) -> Option<String> {
        None
    }

    /// An operator that is not built in, as an expression names it.
    fn operator_name(&self, _operator: Oid) -> Option<String> {
        None
    }

    /// The label of an enum's value; `None` if the type or its label is not there.
    fn enum_label(&self, _type_oid: Oid, _order: f64) -> Option<Arc<str>> {
        None
    }

    /// Reads a value of a type that is not built in; `None` if there is no such type.
    fn input(
        &self,
        _type_oid: Oid,
        _typmod: i32,
        _text: &str,
        _context: &IoContext,
    ) -> Option<Result<Datum>> {
        None
    }
}

/// The types of a row's columns: those of its type, or for a record those of its values.
pub(crate) fn column_types(type_oid: Oid, columns: &[Datum], context: &IoContext) -> Vec<Oid> {
    let declared = context.catalog.as_ref().filter(|_| type_oid != oid::RECORD);
    match declared.and_then(|catalog| catalog.row_columns(type_oid)) {
        Some(types) if types.len() == columns.len() => types.iter().map(|ty| ty.0).collect(),
        _ => columns.iter().map(default_type_of).collect(),
    }
}

/// The session settings that input and output use.
#[derive(Clone)]
pub struct IoContext {
    /// DateStyle, IntervalStyle and TimeZone.
    pub datetime: DateTimeConfig,
    /// The start of the transaction, in microseconds since 2000-01-01 00:00 UTC, for the literals
    /// `now` and `today`.
    pub now: i64,
    /// bytea_output
    pub bytea_output: ByteaOutput,
    /// extra_float_digits; above 0 floats print their shortest exact digits.
    pub extra_float_digits: i32,
    /// array_nulls: whether an unquoted NULL in an array's text is a NULL.
    pub array_nulls: bool,
    /// The catalog, if there is one.
    pub catalog: Option<Arc<dyn TypeCatalog>>,
}

impl IoContext {
    /// The label of an enum's value: 22P03 if the catalog does not have it.
    pub fn label(&self, type_oid: Oid, order: f64) -> Result<Arc<str>> {
        let label = self.catalog.as_ref().and_then(|catalog| catalog.enum_label(type_oid, order));
        label.ok_or_else(|| {
            Error::new(
                SqlState::INVALID_BINARY_REPRESENTATION,
                format!("invalid internal value for enum: {order}"),
            )
        })
    }
}

/// The defaults of a new session.
impl Default for IoContext {
    fn default() -> IoContext {
        IoContext {
            datetime: DateTimeConfig::default(),
            now: 0,
            bytea_output: ByteaOutput::default(),
            extra_float_digits: 1,
            array_nulls: true,
            catalog: None,
        }
    }
}

impl fmt::Debug for IoContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoContext")
            .field("datetime", &self.datetime)
            .field("now", &self.now)
            .field("bytea_output", &self.bytea_output)
            .field("extra_float_digits", &self.extra_float_digits)
            .finish_non_exhaustive()
    }
}

/// 22021 unless the bytes are UTF-8 without a zero byte. The error names the wrong bytes as
/// PostgreSQL does.
pub fn check_text(bytes: &[u8]) -> Result<&str> {
    let (valid, fault) = match std::str::from_utf8(bytes) {
        Ok(text) => match bytes.iter().position(|b| *b == 0) {
            None => return Ok(text),
            Some(at) => (at, &bytes[at..]),
        },
        Err(error) => {
            // A zero byte before the bad sequence is the first fault.
            let valid = error.valid_up_to();
            let at = bytes[..valid].iter().position(|b| *b == 0).unwrap_or(valid);
            (at, &bytes[at..])
        }
    };
    debug_assert!(valid < bytes.len());
    Err(invalid_encoding(fault))
}

/// Shows as many bytes as the first one announces (pg_utf_mblen).
#[cold]
fn invalid_encoding(fault: &[u8]) -> Error {
    let announced = match fault[0] {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    };
    let shown: Vec<String> =
        fault.iter().take(announced).map(|byte| format!("0x{byte:02x}")).collect();
    Error::new(
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    )
}
