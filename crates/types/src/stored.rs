//! The bytes of one stored value, without its row.
//!
//! Fixed-width values are little-endian at their natural width. The payload of variable-width
//! values is UTF-8 for text, the bytes of a bytea, and numeric's own stored form. Arrays and
//! composites have a self-describing form:
//!
//! ```text
//! value    := tag:u8 body                       tag 0 is NULL, without a body
//! body     := fixed-width bytes
//!           | length:u32 payload                text, bytea, numeric, array
//!           | count:u32 value*                  record
//! array    := ndim:u8 element_type:u32 (length:i32 lower_bound:i32)* value*
//! ```
//!
//! Tags are on disk: never renumber them. Reading corrupt bytes gives XX001,
//! never a panic, and nesting is bounded so that it cannot exhaust the stack.

use crate::datum::Array;
use crate::interval::Interval;
use crate::numeric::Numeric;
use crate::physical::Physical;
use crate::{Datum, Error, Result, SqlState};
use std::sync::Arc;

/// How deep arrays and composites may nest in a stored value.
const NESTING_MAX: usize = 64;
/// PostgreSQL's MAXDIM.
pub(crate) const ARRAY_DIMENSIONS_MAX: usize = 6;

/// XX001 with the reason.
#[cold]
pub(crate) fn corrupted(what: &str) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("stored value is corrupted: {what}"))
}

/// The first `N` bytes as an array.
fn take<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.first_chunk::<N>().copied().ok_or_else(|| corrupted("a value is cut short"))
}

/// Writes a non-null fixed-width value into exactly its place.
///
/// XX000 if `slot` has another width than the value: the layout's bug.
pub fn write_fixed(datum: &Datum, slot: &mut [u8]) -> Result<()> {
    fn put<const N: usize>(slot: &mut [u8], bytes: [u8; N]) -> Result<()> {
        match <&mut [u8; N]>::try_from(slot) {
            Ok(slot) => {
                *slot = bytes;
                Ok(())
            }
            Err(_) => Err(Error::internal("fixed-width value does not fit its place")),
        }
    }
    match datum {
        Datum::Bool(v) => put(slot, [u8::from(*v)]),
        Datum::Char(v) => put(slot, [*v]),
        Datum::Int2(v) => put(slot, v.to_le_bytes()),
        Datum::Int4(v) | Datum::Date(v) => put(slot, v.to_le_bytes()),
        Datum::Int8(v) | Datum::Time(v) | Datum::Timestamp(v) | Datum::TimestampTz(v) => {
            put(slot, v.to_le_bytes())
        }
        Datum::Float4(v) => put(slot, v.to_le_bytes()),
        Datum::Float8(v) => put(slot, v.to_le_bytes()),
        Datum::Oid(v) => put(slot, v.to_le_bytes()),
        Datum::Xid8(v) | Datum::PgLsn(v) => put(slot, v.to_le_bytes()),
        Datum::TimeTz(micros, zone) => {
            let mut bytes = [0; 12];
            bytes[..8].copy_from_slice(&micros.to_le_bytes());
            bytes[8..].copy_from_slice(&zone.to_le_bytes());
            put(slot, bytes)
        }
        Datum::Tid(block, offset) => {
            let mut bytes = [0; 6];
            bytes[..4].copy_from_slice(&block.to_le_bytes());
            bytes[4..].copy_from_slice(&offset.to_le_bytes());
            put(slot, bytes)
        }
        Datum::Enum(type_oid, order) => {
            let mut bytes = [0; 12];
            bytes[..8].copy_from_slice(&order.to_le_bytes());
            bytes[8..].copy_from_slice(&type_oid.to_le_bytes());
            put(slot, bytes)
        }
        Datum::Interval(v) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&v.months.to_le_bytes());
            bytes[4..8].copy_from_slice(&v.days.to_le_bytes());
            bytes[8..].copy_from_slice(&v.micros.to_le_bytes());
            put(slot, bytes)
        }
        Datum::Uuid(v) => put(slot, **v),
        Datum::Null
        | Datum::Text(_)
        | Datum::Bytea(_)
        | Datum::Numeric(_)
        | Datum::Array(_)
        | Datum::Record(_) => Err(Error::internal("value is not fixed-width")),
    }
}

/// Appends the payload of a non-null variable-width value of representation
/// `physical`.
pub fn write_variable(physical: Physical, datum: &Datum, out: &mut Vec<u8>) -> Result<()> {
    physical.check(datum)?;
    if physical == Physical::Any {
        return write_tagged(datum, out, 0);
    }
    write_payload(datum, out, 0)
}

fn write_payload(datum: &Datum, out: &mut Vec<u8>, depth: usize) -> Result<()> {
    match datum {
        Datum::Text(v) => out.extend_from_slice(v.as_bytes()),
        Datum::Bytea(v) => out.extend_from_slice(v),
        Datum::Numeric(v) => v.write_stored(out),
        Datum::Array(v) => write_array(v, out, depth)?,
        _ => return Err(Error::internal("value is not variable-width")),
    }
    Ok(())
}

fn check_depth(depth: usize) -> Result<()> {
    if depth > NESTING_MAX {
        return Err(Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("composite value is nested more than {NESTING_MAX} levels deep"),
        ));
    }
    Ok(())
}

fn write_array(array: &Array, out: &mut Vec<u8>, depth: usize) -> Result<()> {
    check_depth(depth)?;
    let dimensions = u8::try_from(array.dimensions.len())
        .ok()
        .filter(|n| usize::from(*n) <= ARRAY_DIMENSIONS_MAX)
        .ok_or_else(|| Error::internal("array has too many dimensions"))?;
    out.push(dimensions);
    out.extend_from_slice(&array.element_type.to_le_bytes());
    for (length, lower_bound) in &array.dimensions {
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&lower_bound.to_le_bytes());
    }
    array.elements.iter().try_for_each(|e| write_tagged(e, out, depth + 1))
}

const TAG_RECORD: u8 = 22;
const TAG_PG_LSN: u8 = 23;
const TAG_ENUM: u8 = 24;

/// The representation behind each tag, from 1 on.
const TAGS: [Physical; 21] = [
    Physical::Bool,
    Physical::Char,
    Physical::Int2,
    Physical::Int4,
    Physical::Int8,
    Physical::Float4,
    Physical::Float8,
    Physical::Oid,
    Physical::Date,
    Physical::Time,
    Physical::TimeTz,
    Physical::Timestamp,
    Physical::TimestampTz,
    Physical::Interval,
    Physical::Uuid,
    Physical::Xid8,
    Physical::Tid,
    Physical::Text,
    Physical::Bytea,
    Physical::Numeric,
    Physical::Array,
];

fn tag_of(physical: Physical) -> u8 {
    match TAGS.iter().position(|p| *p == physical) {
        Some(index) => index as u8 + 1,
        None if physical == Physical::PgLsn => TAG_PG_LSN,
        None if physical == Physical::Enum => TAG_ENUM,
        None => TAG_RECORD,
    }
}

fn write_tagged(datum: &Datum, out: &mut Vec<u8>, depth: usize) -> Result<()> {
    let Some(physical) = Physical::of_datum(datum) else {
        out.push(0);
        return Ok(());
    };
    out.push(tag_of(physical));
    if let Some(width) = physical.fixed_width() {
        let start = out.len();
        out.resize(start + width, 0);
        return write_fixed(datum, &mut out[start..]);
    }
    if let Datum::Record(columns) = datum {
        check_depth(depth)?;
        out.extend_from_slice(&length_word(columns.len())?);
        return columns.iter().try_for_each(|c| write_tagged(c, out, depth + 1));
    }
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    write_payload(datum, out, depth)?;
    let length = length_word(out.len() - length_at - 4)?;
    out[length_at..length_at + 4].copy_from_slice(&length);
    Ok(())
}

fn length_word(length: usize) -> Result<[u8; 4]> {
    match u32::try_from(length) {
        Ok(length) => Ok(length.to_le_bytes()),
        Err(_) => {
            Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "value is too large to be stored"))
        }
    }
}

/// Reads a value of representation `physical` from exactly its stored bytes.
pub fn read(physical: Physical, bytes: &[u8]) -> Result<Datum> {
    if let Some(width) = physical.fixed_width() {
        if bytes.len() != width {
            return Err(corrupted("a fixed-width value has the wrong length"));
        }
        return read_fixed(physical, bytes);
    }
    if physical == Physical::Any {
        let mut rest = bytes;
        let datum = read_tagged(&mut rest, 0)?;
        return if rest.is_empty() { Ok(datum) } else { Err(corrupted("bytes after a value")) };
    }
    read_payload(physical, bytes, 0)
}

fn read_fixed(physical: Physical, bytes: &[u8]) -> Result<Datum> {
    Ok(match physical {
        Physical::Bool => match take::<1>(bytes)? {
            [0] => Datum::Bool(false),
            [1] => Datum::Bool(true),
            _ => return Err(corrupted("a boolean is neither true nor false")),
        },
        Physical::Char => Datum::Char(take::<1>(bytes)?[0]),
        Physical::Int2 => Datum::Int2(i16::from_le_bytes(take(bytes)?)),
        Physical::Int4 => Datum::Int4(i32::from_le_bytes(take(bytes)?)),
        Physical::Int8 => Datum::Int8(i64::from_le_bytes(take(bytes)?)),
        Physical::Float4 => Datum::Float4(f32::from_le_bytes(take(bytes)?)),
        Physical::Float8 => Datum::Float8(f64::from_le_bytes(take(bytes)?)),
        Physical::Oid => Datum::Oid(u32::from_le_bytes(take(bytes)?)),
        Physical::Date => Datum::Date(i32::from_le_bytes(take(bytes)?)),
        Physical::Time => Datum::Time(i64::from_le_bytes(take(bytes)?)),
        Physical::TimeTz => {
            let b = take::<12>(bytes)?;
            Datum::TimeTz(i64::from_le_bytes(take(&b)?), i32::from_le_bytes(take(&b[8..])?))
        }
        Physical::Enum => {
            let b = take::<12>(bytes)?;
            Datum::Enum(u32::from_le_bytes(take(&b[8..])?), f64::from_le_bytes(take(&b)?))
        }
        Physical::Timestamp => Datum::Timestamp(i64::from_le_bytes(take(bytes)?)),
        Physical::TimestampTz => Datum::TimestampTz(i64::from_le_bytes(take(bytes)?)),
        Physical::Interval => {
            let b = take::<16>(bytes)?;
            Datum::Interval(Arc::new(Interval {
                months: i32::from_le_bytes(take(&b)?),
                days: i32::from_le_bytes(take(&b[4..])?),
                micros: i64::from_le_bytes(take(&b[8..])?),
            }))
        }
        Physical::Uuid => Datum::Uuid(Arc::new(take(bytes)?)),
        Physical::Xid8 => Datum::Xid8(u64::from_le_bytes(take(bytes)?)),
        Physical::PgLsn => Datum::PgLsn(u64::from_le_bytes(take(bytes)?)),
        Physical::Tid => {
            let b = take::<6>(bytes)?;
            Datum::Tid(u32::from_le_bytes(take(&b)?), u16::from_le_bytes(take(&b[4..])?))
        }
        _ => return Err(Error::internal("representation is not fixed-width")),
    })
}

fn read_payload(physical: Physical, bytes: &[u8], depth: usize) -> Result<Datum> {
    Ok(match physical {
        Physical::Text => match std::str::from_utf8(bytes) {
            Ok(text) => Datum::text(text),
            Err(_) => return Err(corrupted("a text is not valid UTF-8")),
        },
        Physical::Bytea => Datum::Bytea(bytes.into()),
        Physical::Numeric => Datum::Numeric(Numeric::read_stored(bytes)?),
        Physical::Array => {
            let mut rest = bytes;
            let array = read_array(&mut rest, depth)?;
            if !rest.is_empty() {
                return Err(corrupted("bytes after an array"));
            }
            Datum::Array(Arc::new(array))
        }
        _ => return Err(Error::internal("representation is not variable-width")),
    })
}

/// Splits `length` bytes off the front.
fn split<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (head, tail) =
        rest.split_at_checked(length).ok_or_else(|| corrupted("a value is cut short"))?;
    *rest = tail;
    Ok(head)
}

fn read_array(rest: &mut &[u8], depth: usize) -> Result<Array> {
    if depth > NESTING_MAX {
        return Err(corrupted("an array is nested too deeply"));
    }
    let dimension_count = usize::from(split(rest, 1)?[0]);
    if dimension_count > ARRAY_DIMENSIONS_MAX {
        return Err(corrupted("an array has too many dimensions"));
    }
    let element_type = u32::from_le_bytes(take(split(rest, 4)?)?);
    let mut dimensions = Vec::with_capacity(dimension_count);
    let mut count = usize::from(dimension_count > 0);
    for _ in 0..dimension_count {
        let length = i32::from_le_bytes(take(split(rest, 4)?)?);
        let lower_bound = i32::from_le_bytes(take(split(rest, 4)?)?);
        count = usize::try_from(length)
            .ok()
            .and_then(|length| count.checked_mul(length))
            .ok_or_else(|| corrupted("an array has impossible dimensions"))?;
        dimensions.push((length, lower_bound));
    }
    // Every element takes a byte at least, which bounds what we allocate.
    if count > rest.len() {
        return Err(corrupted("an array is cut short"));
    }
    let elements =
        (0..count).map(|_| read_tagged(rest, depth + 1)).collect::<Result<Vec<Datum>>>()?;
    Ok(Array { element_type, dimensions, elements })
}

fn read_tagged(rest: &mut &[u8], depth: usize) -> Result<Datum> {
    let tag = split(rest, 1)?[0];
    if tag == 0 {
        return Ok(Datum::Null);
    }
    if tag == TAG_RECORD {
        if depth > NESTING_MAX {
            return Err(corrupted("a composite value is nested too deeply"));
        }
        let count = u32::from_le_bytes(take(split(rest, 4)?)?) as usize;
        if count > rest.len() {
            return Err(corrupted("a composite value is cut short"));
        }
        let columns =
            (0..count).map(|_| read_tagged(rest, depth + 1)).collect::<Result<Vec<Datum>>>()?;
        return Ok(Datum::Record(columns.into()));
    }
    let physical = match tag {
        TAG_PG_LSN => Physical::PgLsn,
        TAG_ENUM => Physical::Enum,
        _ => *TAGS
            .get(usize::from(tag) - 1)
            .ok_or_else(|| corrupted("a value has an unknown tag"))?,
    };
    if let Some(width) = physical.fixed_width() {
        return read_fixed(physical, split(rest, width)?);
    }
    let length = u32::from_le_bytes(take(split(rest, 4)?)?) as usize;
    read_payload(physical, split(rest, length)?, depth)
}
