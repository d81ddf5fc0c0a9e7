//! The binary format of every built-in type, for clients that ask for format 1 (the *send and *recv
//! functions of src/backend/utils/adt).
//!
//! Everything is big-endian. A truncated message fails with 08P01, one that is too long or has an
//! impossible value with 22P03, and text that is not UTF-8 with 22021.

use crate::array_io::{array_too_large, too_many_dimensions};
use crate::datetime::io as datetime;
use crate::datum::Array;
use crate::io::{IoContext, check_text, column_types};
use crate::numeric::Numeric;
use crate::oid::{self, Oid};
use crate::pg_snapshot::PgSnapshot;
use crate::physical::Physical;
use crate::stored::ARRAY_DIMENSIONS_MAX;
use crate::text_io::{NAME_BYTES_MAX, fit_bpchar, fit_varchar, input};
use crate::{Datum, Error, Result, SqlState};
use std::net::IpAddr;
use std::sync::Arc;

/// PGSQL_AF_INET; that of IPv6 follows.
const INET_V4: u8 = 2;
/// How deep arrays in composites in arrays may nest in a message.
const NESTING_MAX: usize = 64;

/// Appends the binary form of a non-null value, without its length word.
pub fn send(type_oid: Oid, datum: &Datum, context: &IoContext, out: &mut Vec<u8>) -> Result<()> {
    match datum {
        Datum::Null => return Err(Error::internal("NULL has no binary form")),
        Datum::Bool(v) => out.push(u8::from(*v)),
        Datum::Char(v) => out.push(*v),
        Datum::Int2(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Int4(v) | Datum::Date(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Int8(v) | Datum::Time(v) | Datum::Timestamp(v) | Datum::TimestampTz(v) => {
            out.extend_from_slice(&v.to_be_bytes());
        }
        Datum::Float4(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Float8(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Xid8(v) | Datum::PgLsn(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Text(v) => {
            if type_oid == oid::JSONB {
                return Err(Error::not_supported("type jsonb"));
            }
            match type_oid {
                oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => PgSnapshot::parse(v)?.send(out),
                oid::INET => send_inet(v, out)?,
                _ => out.extend_from_slice(v.as_bytes()),
            }
        }
        Datum::Enum(enum_type, order) => {
            out.extend_from_slice(context.label(*enum_type, *order)?.as_bytes());
        }
        Datum::Bytea(v) => out.extend_from_slice(v),
        Datum::Numeric(v) => v.send(out),
        Datum::TimeTz(micros, zone) => {
            out.extend_from_slice(&micros.to_be_bytes());
            out.extend_from_slice(&zone.to_be_bytes());
        }
        Datum::Interval(v) => {
            out.extend_from_slice(&v.micros.to_be_bytes());
            out.extend_from_slice(&v.days.to_be_bytes());
            out.extend_from_slice(&v.months.to_be_bytes());
        }
        Datum::Uuid(v) => out.extend_from_slice(&v[..]),
        Datum::Tid(block, offset) => {
            out.extend_from_slice(&block.to_be_bytes());
            out.extend_from_slice(&offset.to_be_bytes());
        }
        Datum::Array(v) => send_array(v, context, out)?,
        Datum::Record(v) => {
            out.extend_from_slice(&length_word(v.len())?);
            for (column, type_oid) in v.iter().zip(column_types(type_oid, v, context)) {
                out.extend_from_slice(&type_oid.to_be_bytes());
                send_field(type_oid, column, context, out)?;
            }
        }
    }
    Ok(())
}

fn length_word(length: usize) -> Result<[u8; 4]> {
    match i32::try_from(length) {
        Ok(length) => Ok(length.to_be_bytes()),
        Err(_) => {
            Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "value is too large to be sent"))
        }
    }
}

/// A value behind its length word; NULL is the length -1.
pub fn send_field(
    type_oid: Oid,
    datum: &Datum,
    context: &IoContext,
    out: &mut Vec<u8>,
) -> Result<()> {
    let at = out.len();
    out.extend_from_slice(&(-1i32).to_be_bytes());
    if datum.is_null() {
        return Ok(());
    }
    send(type_oid, datum, context, out)?;
    let length = length_word(out.len() - at - 4)?;
    out[at..at + 4].copy_from_slice(&length);
    Ok(())
}

fn send_array(array: &Array, context: &IoContext, out: &mut Vec<u8>) -> Result<()> {
    let nulls = array.elements.iter().any(Datum::is_null);
    out.extend_from_slice(&length_word(array.dimensions.len())?);
    out.extend_from_slice(&i32::from(nulls).to_be_bytes());
    out.extend_from_slice(&array.element_type.to_be_bytes());
    for (length, lower_bound) in &array.dimensions {
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&lower_bound.to_be_bytes());
    }
    array.elements.iter().try_for_each(|e| send_field(array.element_type, e, context, out))
}

/// Reads a value of a type from exactly its binary form.
pub fn receive(type_oid: Oid, typmod: i32, bytes: &[u8], context: &IoContext) -> Result<Datum> {
    let mut message = Message { rest: bytes, context };
    let datum = receive_value(type_oid, typmod, &mut message, 0)?;
    if message.rest.is_empty() {
        return Ok(datum);
    }
    Err(Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format"))
}

/// A binary value being read.
struct Message<'a> {
    rest: &'a [u8],
    context: &'a IoContext,
}

impl<'a> Message<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((head, tail)) = self.rest.split_at_checked(length) else {
            return Err(cut_short());
        };
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((head, tail)) = self.rest.split_first_chunk::<N>() else {
            return Err(cut_short());
        };
        self.rest = tail;
        Ok(*head)
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn int4(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    fn int8(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }
}

#[cold]
fn cut_short() -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}

fn receive_value(
    type_oid: Oid,
    typmod: i32,
    message: &mut Message<'_>,
    depth: usize,
) -> Result<Datum> {
    Ok(match Physical::of(type_oid) {
        Physical::Bool => Datum::Bool(message.array::<1>()? != [0]),
        Physical::Char => Datum::Char(message.array::<1>()?[0]),
        Physical::Int2 => Datum::Int2(i16::from_be_bytes(message.array()?)),
        Physical::Int4 => Datum::Int4(message.int4()?),
        Physical::Int8 => Datum::Int8(message.int8()?),
        Physical::Float4 => Datum::Float4(f32::from_be_bytes(message.array()?)),
        Physical::Float8 => Datum::Float8(f64::from_be_bytes(message.array()?)),
        Physical::Oid => Datum::Oid(u32::from_be_bytes(message.array()?)),
        Physical::Xid8 => Datum::Xid8(u64::from_be_bytes(message.array()?)),
        Physical::PgLsn => Datum::PgLsn(u64::from_be_bytes(message.array()?)),
        Physical::Uuid => Datum::Uuid(Arc::new(message.array()?)),
        Physical::Tid => {
            Datum::Tid(u32::from_be_bytes(message.array()?), u16::from_be_bytes(message.array()?))
        }
        Physical::Bytea => Datum::Bytea(message.all().into()),
        Physical::Text => receive_text(type_oid, typmod, message.all())?,
        Physical::Numeric => Datum::Numeric(Numeric::receive(message.all())?.apply_typmod(typmod)?),
        Physical::Date
        | Physical::Time
        | Physical::TimeTz
        | Physical::Timestamp
        | Physical::TimestampTz
        | Physical::Interval => receive_datetime(type_oid, typmod, message)?,
        Physical::Array => receive_array(type_oid, typmod, message, depth)?,
        Physical::Enum => {
            let label = check_text(message.all())?;
            input(type_oid, typmod, label, message.context)?
        }
        Physical::Any => receive_of_catalog(type_oid, typmod, message, depth)?,
    })
}

/// Reads a row, or an array of rows, of a type that only the catalog knows.
fn receive_of_catalog(
    type_oid: Oid,
    typmod: i32,
    message: &mut Message<'_>,
    depth: usize,
) -> Result<Datum> {
    if let Some(catalog) = &message.context.catalog {
        if catalog.element_type(type_oid).is_some() {
            return receive_array(type_oid, typmod, message, depth);
        }
        if let Some(columns) = catalog.row_columns(type_oid) {
            return receive_row(&columns, message, depth);
        }
    }
    Err(Error::not_supported(format_args!("binary input of the type with OID {type_oid}")))
}

/// record_recv
fn receive_row(columns: &[(Oid, i32)], message: &mut Message<'_>, depth: usize) -> Result<Datum> {
    if depth >= NESTING_MAX {
        return Err(invalid("rows are nested too deeply"));
    }
    let mismatch = |message| Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    let count = message.int4()?;
    if usize::try_from(count) != Ok(columns.len()) {
        return mismatch(format!("wrong number of columns: {count}, expected {}", columns.len()));
    }
    let mut row = Vec::with_capacity(columns.len());
    for (i, (expected, typmod)) in columns.iter().enumerate() {
        let type_oid = u32::from_be_bytes(message.array()?);
        if type_oid != *expected {
            return mismatch(format!(
                "binary data has type {type_oid} instead of expected {expected} in record column \
                 {}",
                i + 1
            ));
        }
        row.push(receive_element(type_oid, *typmod, message, depth)?);
    }
    Ok(Datum::Record(row.into()))
}

/// The address of a client's host (inet_send).
fn send_inet(text: &str, out: &mut Vec<u8>) -> Result<()> {
    let address: IpAddr = text.parse().map_err(|_| Error::internal("a host's address"))?;
    let mut put = |family: u8, bytes: &[u8]| {
        let length = bytes.len() as u8;
        out.extend_from_slice(&[family, length * 8, 0, length]);
        out.extend_from_slice(bytes);
    };
    match address {
        IpAddr::V4(address) => put(INET_V4, &address.octets()),
        IpAddr::V6(address) => put(INET_V4 + 1, &address.octets()),
    }
    Ok(())
}

fn receive_text(type_oid: Oid, typmod: i32, bytes: &[u8]) -> Result<Datum> {
    if matches!(type_oid, oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT) {
        return Ok(Datum::text(PgSnapshot::receive(bytes)?.shown()));
    }
    let text = check_text(bytes)?;
    match type_oid {
        oid::VARCHAR => fit_varchar(text, typmod, false).map(Datum::text),
        oid::BPCHAR => fit_bpchar(text, typmod, false).map(Datum::text),
        oid::NAME if text.len() > NAME_BYTES_MAX => {
            Err(Error::new(SqlState::NAME_TOO_LONG, "identifier too long")
                .detail("Identifier must be less than 64 characters."))
        }
        oid::JSON => Err(Error::not_supported("type json")),
        _ => Ok(Datum::text(text)),
    }
}

fn receive_datetime(type_oid: Oid, typmod: i32, message: &mut Message<'_>) -> Result<Datum> {
    Ok(match type_oid {
        oid::DATE => Datum::Date(datetime::date_recv(message.bytes(4)?)?),
        oid::TIME => Datum::Time(datetime::time_recv(message.bytes(8)?, typmod)?),
        oid::TIMETZ => {
            let (micros, zone) = datetime::timetz_recv(message.bytes(12)?, typmod)?;
            Datum::TimeTz(micros, zone)
        }
        oid::TIMESTAMP => Datum::Timestamp(datetime::timestamp_recv(message.bytes(8)?, typmod)?),
        oid::TIMESTAMPTZ => {
            Datum::TimestampTz(datetime::timestamp_recv(message.bytes(8)?, typmod)?)
        }
        _ => Datum::Interval(Arc::new(datetime::interval_recv(message.bytes(16)?, typmod)?)),
    })
}

fn receive_array(
    type_oid: Oid,
    typmod: i32,
    message: &mut Message<'_>,
    depth: usize,
) -> Result<Datum> {
    if depth > NESTING_MAX {
        return Err(invalid("array is nested too deeply"));
    }
    let dimension_count = message.int4()?;
    if dimension_count < 0 {
        return Err(invalid(format!("invalid number of dimensions: {dimension_count}")));
    }
    let dimension_count = dimension_count as usize;
    if dimension_count > ARRAY_DIMENSIONS_MAX {
        return Err(too_many_dimensions(dimension_count));
    }
    if !(0..=1).contains(&message.int4()?) {
        return Err(invalid("invalid array flags"));
    }
    let element_type = u32::from_be_bytes(message.array()?);
    let of_catalog = || message.context.catalog.as_ref()?.element_type(type_oid);
    let expected = oid::container_element_type(type_oid).or_else(of_catalog);
    if expected.is_some_and(|expected| expected != element_type) {
        return Err(Error::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "binary data has array element type {element_type} instead of expected {}",
                expected.unwrap_or_default()
            ),
        ));
    }
    let mut dimensions = Vec::with_capacity(dimension_count);
    let mut count = usize::from(dimension_count > 0);
    for _ in 0..dimension_count {
        let (length, lower_bound) = (message.int4()?, message.int4()?);
        if length < 0 || lower_bound.checked_add(length).is_none() {
            return Err(array_too_large());
        }
        count = count.checked_mul(length as usize).ok_or_else(array_too_large)?;
        dimensions.push((length, lower_bound));
    }
    // Every element has a length word at least, which bounds what we allocate.
    if count > message.rest.len() / 4 {
        return Err(cut_short());
    }
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        elements.push(receive_element(element_type, typmod, message, depth)?);
    }
    let vector = oid::vector_element_type(type_oid).is_some();
    if vector && (dimensions.len() != 1 || elements.iter().any(Datum::is_null)) {
        return Err(invalid("invalid vector data"));
    }
    if elements.is_empty() && !vector {
        dimensions.clear();
    }
    Ok(Datum::Array(Arc::new(Array { element_type, dimensions, elements })))
}

fn receive_element(
    element_type: Oid,
    typmod: i32,
    message: &mut Message<'_>,
    depth: usize,
) -> Result<Datum> {
    let length = message.int4()?;
    if length == -1 {
        return Ok(Datum::Null);
    }
    let length = usize::try_from(length).map_err(|_| cut_short())?;
    let mut element = Message { rest: message.bytes(length)?, context: message.context };
    let datum = receive_value(element_type, typmod, &mut element, depth + 1)?;
    if !element.rest.is_empty() {
        return Err(invalid("improper binary format in array element"));
    }
    Ok(datum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_io::{input, output_string};

    /// As `encode(int4send(1), 'hex')` and its like give them in PostgreSQL 15.
    #[test]
    fn binary_forms_are_postgresqls() {
        let cases: [(Oid, &str, &str); 12] = [
            (oid::BOOL, "t", "01"),
            (oid::INT2, "-2", "fffe"),
            (oid::INT4, "1", "00000001"),
            (oid::INT8, "-1", "ffffffffffffffff"),
            (oid::FLOAT4, "1.5", "3fc00000"),
            (oid::FLOAT8, "-0", "8000000000000000"),
            (oid::TEXT, "h\u{e9}", "68c3a9"),
            (oid::NUMERIC, "12345.678", "00030001000000030001 0929 1a7c"),
            (oid::TID, "(70000,3)", "000111700003"),
            (oid::OIDVECTOR, "1 2", ORACLE_OIDVECTOR),
            (1007, "[2:3]={7,NULL}", ORACLE_ARRAY),
            (1009, "{}", "00000000 00000000 00000019"),
        ];
        let context = IoContext::default();
        for (type_oid, text, hex) in cases {
            let datum = input(type_oid, -1, text, &context).unwrap();
            let mut sent = Vec::new();
            send(type_oid, &datum, &IoContext::default(), &mut sent).unwrap();
            let shown: String = sent.iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(shown, hex.replace(' ', ""), "{text}");
            let back = receive(type_oid, -1, &sent, &IoContext::default()).unwrap();
            assert_eq!(output_string(type_oid, &back, &context).unwrap(), text);
            for cut in 0..sent.len() {
                // A shorter message is an error, or a shorter text.
                let _ = receive(type_oid, -1, &sent[..cut], &IoContext::default());
            }
        }
    }

    const ORACLE_OIDVECTOR: &str = "00000001 00000000 0000001a 00000002 00000000 \
        00000004 00000001 00000004 00000002";
    const ORACLE_ARRAY: &str = "00000001 00000001 00000017 00000002 00000002 \
        00000004 00000007 ffffffff";

    #[test]
    fn bad_messages_have_postgresqls_sqlstates() {
        let code = |type_oid, bytes: &[u8]| {
            receive(type_oid, -1, bytes, &IoContext::default()).unwrap_err().sqlstate().to_string()
        };
        assert_eq!(code(oid::INT4, &[0, 0, 1]), "08P01");
        assert_eq!(code(oid::INT4, &[0, 0, 0, 1, 2]), "22P03");
        assert_eq!(code(oid::TEXT, &[b'a', 0xFF]), "22021");
        assert_eq!(code(oid::TEXT, b"a\0b"), "22021");
        assert_eq!(code(oid::TIME, &(-1i64).to_be_bytes()), "22008");
        assert_eq!(code(oid::TIMESTAMP, &(i64::MIN + 1).to_be_bytes()), "22008");
        let mut huge = Vec::new();
        for word in [2, 0, 23, i32::MAX, 0, i32::MAX, 0] {
            huge.extend_from_slice(&word.to_be_bytes());
        }
        assert_eq!(code(1007, &huge), "08P01");
        let message = receive(oid::TEXT, -1, &[0xE9, b' '], &IoContext::default()).unwrap_err();
        assert_eq!(message.message(), "invalid byte sequence for encoding \"UTF8\": 0xe9 0x20");
    }
}
