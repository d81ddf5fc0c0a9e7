//! Index keys: bytes whose unsigned lexicographic order is SQL's order.
//!
//! A key is its parts one after the other, and each part is self-delimiting, so
//! that no key is a prefix of another one with the same parts and a prefix of the
//! parts bounds a range.
//!
//! ```text
//! part   := marker body
//! marker := 00 NULL, NULLS FIRST │ 01 a value │ 02 NULL, NULLS LAST
//! body   := the encoding below; every byte inverted where the part is DESC
//!
//! integers, date, time, timestamp   big-endian, sign bit flipped
//! oid, xid8, uuid, "char", bool     big-endian, unsigned
//! floats                            IEEE bits: negative inverted, else sign flipped;
//!                                   one NaN, greatest; -0 is 0
//! text, bytea                       bytes with 00 as 00 FF, then 00 00
//! char(n)                           as text without its trailing blanks
//! interval                          its span in microseconds, 128 bits
//! numeric                           numeric's own order-preserving form
//! enum                              the place in the type's order, as a float; not the type
//! array                             (01 element │ 02)* 00, dimensions, lengths, bounds
//! record                            (01 column │ 02)* 00
//! ```
//!
//! Correctness: for all values a, b of one type, `encode(a) < encode(b)` exactly
//! if [`crate::compare::compare_as`] says a < b, and equal exactly if it says
//! equal. Keys are on disk: the encoding never changes.

use crate::compare::{bpchar_key, float_bits, utc_time};
use crate::datum::Array;
use crate::numeric::Numeric;
use crate::oid::{self, Oid};
use crate::physical::Physical;
use crate::{Datum, Error, Result, SqlState};
use std::sync::Arc;

const NULL_FIRST: u8 = 0;
const VALUE: u8 = 1;
const NULL_LAST: u8 = 2;

/// Keys whose first part is not NULL are from the first of these on and before the second.
pub const WITH_A_VALUE: [&[u8]; 2] = [&[VALUE], &[VALUE + 1]];

const ELEMENTS_END: u8 = 0;
const ELEMENT: u8 = 1;
const ELEMENT_NULL: u8 = 2;

const ESCAPED_ZERO: [u8; 2] = [0, 0xFF];
const STRING_END: [u8; 2] = [0, 0];

/// How deep arrays and composites may nest in a key.
const NESTING_MAX: usize = 64;

/// One column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The column's type.
    pub type_oid: Oid,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

impl KeyPart {
    /// Ascending with nulls last, an index's default.
    pub fn ascending(type_oid: Oid) -> KeyPart {
        KeyPart { type_oid, descending: false, nulls_first: false }
    }

    /// Descending with nulls first, DESC's default.
    pub fn descending(type_oid: Oid) -> KeyPart {
        KeyPart { type_oid, descending: true, nulls_first: true }
    }
}

/// Appends the key of `values` to `out`. `values` may be shorter than `parts`:
/// the result is then the common prefix of all keys that begin so.
pub fn encode_key(values: &[Datum], parts: &[KeyPart], out: &mut Vec<u8>) -> Result<()> {
    if values.len() > parts.len() {
        return Err(Error::internal("key has more values than its index has columns"));
    }
    values.iter().zip(parts).try_for_each(|(value, part)| encode_part(value, part, out))
}

/// Appends one part of a key.
pub fn encode_part(value: &Datum, part: &KeyPart, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.push(if part.nulls_first { NULL_FIRST } else { NULL_LAST });
        return Ok(());
    }
    // A key of another shape would silently be out of order: refuse it.
    Physical::of(part.type_oid).check(value)?;
    out.push(VALUE);
    let start = out.len();
    encode_value(part.type_oid, value, out, 0)?;
    if part.descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

fn encode_value(type_oid: Oid, value: &Datum, out: &mut Vec<u8>, depth: usize) -> Result<()> {
    match value {
        Datum::Null => return Err(Error::internal("NULL has no key bytes of its own")),
        Datum::Bool(v) => out.push(u8::from(*v)),
        Datum::Char(v) => out.push(*v),
        Datum::Int2(v) => out.extend_from_slice(&(*v as u16 ^ 1 << 15).to_be_bytes()),
        Datum::Int4(v) | Datum::Date(v) => out.extend_from_slice(&flip32(*v)),
        Datum::Int8(v) | Datum::Time(v) | Datum::Timestamp(v) | Datum::TimestampTz(v) => {
            out.extend_from_slice(&flip64(*v));
        }
        // Widening keeps the order, and one encoding is enough.
        Datum::Float4(v) => out.extend_from_slice(&encode_float(f64::from(*v))),
        Datum::Float8(v) => out.extend_from_slice(&encode_float(*v)),
        Datum::Enum(_, order) => out.extend_from_slice(&encode_float(*order)),
        Datum::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Xid8(v) | Datum::PgLsn(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::TimeTz(micros, zone) => {
            out.extend_from_slice(&flip64(utc_time(*micros, *zone)));
            out.extend_from_slice(&flip32(*zone));
        }
        Datum::Tid(block, offset) => {
            out.extend_from_slice(&block.to_be_bytes());
            out.extend_from_slice(&offset.to_be_bytes());
        }
        Datum::Uuid(v) => out.extend_from_slice(&v[..]),
        Datum::Interval(v) => {
            let flipped = v.linear() as u128 ^ 1 << 127;
            out.extend_from_slice(&flipped.to_be_bytes());
        }
        Datum::Text(v) if type_oid == oid::BPCHAR => encode_bytes(bpchar_key(v).as_bytes(), out),
        Datum::Text(v) => encode_bytes(v.as_bytes(), out),
        Datum::Bytea(v) => encode_bytes(v, out),
        Datum::Numeric(v) => v.write_memcomparable(out),
        Datum::Array(v) => encode_array(v, out, depth)?,
        Datum::Record(v) => encode_elements(oid::RECORD, v, out, depth)?,
    }
    Ok(())
}

fn flip32(value: i32) -> [u8; 4] {
    (value as u32 ^ 1 << 31).to_be_bytes()
}

fn flip64(value: i64) -> [u8; 8] {
    (value as u64 ^ 1 << 63).to_be_bytes()
}

fn encode_float(value: f64) -> [u8; 8] {
    let bits = float_bits(value);
    let ordered = if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 };
    ordered.to_be_bytes()
}

fn decode_float(bytes: [u8; 8]) -> f64 {
    let ordered = u64::from_be_bytes(bytes);
    f64::from_bits(if ordered >> 63 == 1 { ordered ^ 1 << 63 } else { !ordered })
}

fn encode_bytes(mut bytes: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = bytes.iter().position(|b| *b == 0) {
        out.extend_from_slice(&bytes[..at]);
        out.extend_from_slice(&ESCAPED_ZERO);
        bytes = &bytes[at + 1..];
    }
    out.extend_from_slice(bytes);
    out.extend_from_slice(&STRING_END);
}

fn encode_elements(
    element_type: Oid,
    elements: &[Datum],
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<()> {
    if depth > NESTING_MAX {
        return Err(Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("index key is nested more than {NESTING_MAX} levels deep"),
        ));
    }
    for element in elements {
        if element.is_null() {
            out.push(ELEMENT_NULL);
        } else {
            out.push(ELEMENT);
            encode_value(element_type, element, out, depth + 1)?;
        }
    }
    out.push(ELEMENTS_END);
    Ok(())
}

fn encode_array(array: &Array, out: &mut Vec<u8>, depth: usize) -> Result<()> {
    encode_elements(array.element_type, &array.elements, out, depth)?;
    let dimensions = u8::try_from(array.dimensions.len())
        .map_err(|_| Error::internal("array has too many dimensions"))?;
    out.push(dimensions);
    array.dimensions.iter().for_each(|(length, _)| out.extend_from_slice(&flip32(*length)));
    array.dimensions.iter().for_each(|(_, bound)| out.extend_from_slice(&flip32(*bound)));
    Ok(())
}

/// Turns the key of a prefix into the least byte string above all keys that begin
/// with it: the exclusive upper bound of a scan. False, with `key` emptied, where
/// there is none (an empty prefix has no end).
pub fn prefix_successor(key: &mut Vec<u8>) -> bool {
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return true;
        }
    }
    false
}

/// Whether a value of the type can be recovered exactly from its key, as index-only scans need it.
/// The exceptions are floats (-0), numeric (display scale), interval (1 day is 24 hours), `char(n)`
/// (its blanks), arrays and composites.
pub fn is_exact(type_oid: Oid) -> bool {
    type_oid != oid::BPCHAR
        && !matches!(
            Physical::of(type_oid),
            Physical::Float4
                | Physical::Float8
                | Physical::Numeric
                | Physical::Interval
                | Physical::Array
                | Physical::Any
        )
}

/// Reads back a key of exactly `parts`, of types that are all [`is_exact`],
/// appending the values to `out`. Returns the bytes after the last part.
pub fn decode_key<'a>(key: &'a [u8], parts: &[KeyPart], out: &mut Vec<Datum>) -> Result<&'a [u8]> {
    let mut rest = key;
    for part in parts {
        out.push(decode_part(&mut rest, part)?);
    }
    Ok(rest)
}

/// Whether [`part_len`] can find the end of a part of the type. The exceptions are arrays and
/// composites.
pub fn is_measurable(type_oid: Oid) -> bool {
    !matches!(Physical::of(type_oid), Physical::Array | Physical::Any)
}

/// The length of the first part of a key, in bytes; its type [`is_measurable`].
pub fn part_len(key: &[u8], part: &KeyPart) -> Result<usize> {
    let (marker, body) = key.split_first().ok_or_else(corrupted)?;
    if *marker != VALUE {
        return Ok(1);
    }
    let inverted = if part.descending { 0xFF } else { 0 };
    let length = match Physical::of(part.type_oid) {
        Physical::Bool | Physical::Char => 1,
        Physical::Int2 => 2,
        Physical::Int4 | Physical::Date | Physical::Oid => 4,
        Physical::Int8
        | Physical::Time
        | Physical::Timestamp
        | Physical::TimestampTz
        | Physical::Xid8
        | Physical::PgLsn
        | Physical::Float4
        | Physical::Float8
        | Physical::Enum => 8,
        Physical::Tid => 6,
        Physical::TimeTz => 12,
        Physical::Uuid | Physical::Interval => 16,
        Physical::Numeric => {
            let body: Vec<u8> = body.iter().map(|byte| byte ^ inverted).collect();
            Numeric::read_memcomparable(&body)?.1
        }
        Physical::Text | Physical::Bytea => {
            let mut rest = body;
            decode_bytes(&mut rest, inverted)?;
            body.len() - rest.len()
        }
        _ => return Err(Error::internal("the end of an index key's part cannot be told")),
    };
    if body.len() < length { Err(corrupted()) } else { Ok(1 + length) }
}

#[cold]
fn corrupted() -> Error {
    Error::new(SqlState::INDEX_CORRUPTED, "index key is corrupted")
}

fn decode_part(rest: &mut &[u8], part: &KeyPart) -> Result<Datum> {
    if !is_exact(part.type_oid) {
        return Err(Error::internal("index key cannot be read back exactly"));
    }
    let (marker, tail) = rest.split_first().ok_or_else(corrupted)?;
    *rest = tail;
    match *marker {
        NULL_FIRST if part.nulls_first => Ok(Datum::Null),
        NULL_LAST if !part.nulls_first => Ok(Datum::Null),
        VALUE => decode_value(rest, part),
        _ => Err(corrupted()),
    }
}

/// The next `N` bytes, as they were before DESC inverted them.
fn take<const N: usize>(rest: &mut &[u8], inverted: u8) -> Result<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or_else(corrupted)?;
    *rest = tail;
    Ok(head.map(|byte| byte ^ inverted))
}

fn decode_value(rest: &mut &[u8], part: &KeyPart) -> Result<Datum> {
    let inverted = if part.descending { 0xFF } else { 0 };
    let int4 = |rest: &mut &[u8]| -> Result<i32> {
        Ok((u32::from_be_bytes(take(rest, inverted)?) ^ 1 << 31) as i32)
    };
    let int8 = |rest: &mut &[u8]| -> Result<i64> {
        Ok((u64::from_be_bytes(take(rest, inverted)?) ^ 1 << 63) as i64)
    };
    Ok(match Physical::of(part.type_oid) {
        Physical::Bool => match take::<1>(rest, inverted)? {
            [0] => Datum::Bool(false),
            [1] => Datum::Bool(true),
            _ => return Err(corrupted()),
        },
        Physical::Char => Datum::Char(take::<1>(rest, inverted)?[0]),
        Physical::Int2 => Datum::Int2((u16::from_be_bytes(take(rest, inverted)?) ^ 1 << 15) as i16),
        Physical::Int4 => Datum::Int4(int4(rest)?),
        Physical::Date => Datum::Date(int4(rest)?),
        Physical::Int8 => Datum::Int8(int8(rest)?),
        Physical::Time => Datum::Time(int8(rest)?),
        Physical::Timestamp => Datum::Timestamp(int8(rest)?),
        Physical::TimestampTz => Datum::TimestampTz(int8(rest)?),
        Physical::TimeTz => {
            let utc = int8(rest)?;
            let zone = int4(rest)?;
            Datum::TimeTz(utc.wrapping_sub(i64::from(zone) * 1_000_000), zone)
        }
        Physical::Oid => Datum::Oid(u32::from_be_bytes(take(rest, inverted)?)),
        Physical::Xid8 => Datum::Xid8(u64::from_be_bytes(take(rest, inverted)?)),
        Physical::PgLsn => Datum::PgLsn(u64::from_be_bytes(take(rest, inverted)?)),
        Physical::Tid => {
            let block = u32::from_be_bytes(take(rest, inverted)?);
            Datum::Tid(block, u16::from_be_bytes(take(rest, inverted)?))
        }
        Physical::Uuid => Datum::Uuid(Arc::new(take(rest, inverted)?)),
        // A place is never -0 or NaN.
        Physical::Enum => Datum::Enum(part.type_oid, decode_float(take(rest, inverted)?)),
        Physical::Text => match String::from_utf8(decode_bytes(rest, inverted)?) {
            Ok(text) => Datum::text(text),
            Err(_) => return Err(corrupted()),
        },
        Physical::Bytea => Datum::Bytea(decode_bytes(rest, inverted)?.into()),
        _ => return Err(Error::internal("index key cannot be read back exactly")),
    })
}

fn decode_bytes(rest: &mut &[u8], inverted: u8) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        match take::<1>(rest, inverted)?[0] {
            0 => match take::<1>(rest, inverted)?[0] {
                0 => return Ok(bytes),
                0xFF => bytes.push(0),
                _ => return Err(corrupted()),
            },
            byte => bytes.push(byte),
        }
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
