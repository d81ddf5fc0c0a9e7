//! The text format of every built-in type, for literals and for clients (the *in and *out functions
//! of src/backend/utils/adt).
//!
//! [`input`] and [`output`] dispatch; numbers are in [`crate::number_io`], arrays and composites in
//! [`crate::array_io`], dates and times in [`crate::datetime`]. Types that need the catalog (names
//! of `reg*` types, enums, domains) use [`IoContext::catalog`].

use crate::datetime::io as datetime;
use crate::datum::Array;
use crate::interrupt;
use crate::io::{ByteaOutput, IoContext};
use crate::number_io::{self, invalid_syntax, is_space, trim_spaces, write_int64, write_uint64};
use crate::numeric::Numeric;
use crate::oid::{self, Oid, element_type_of};
use crate::pg_snapshot::PgSnapshot;
use crate::physical::Physical;
use crate::row::RowWriter;
use crate::{Datum, Error, Result, SqlState, acl, array_io, pg_lsn};
use std::sync::Arc;

/// Bytes an identifier may have (NAMEDATALEN - 1).
pub const NAME_BYTES_MAX: usize = 63;
/// A length modifier is stored with this added (VARHDRSZ).
pub const TYPMOD_OFFSET: i32 = 4;

/// Reads a value of a type from its text. `typmod` is -1 where there is none; a
/// literal that is too long for `varchar(n)` is an error here, as in a store.
pub fn input(type_oid: Oid, typmod: i32, text: &str, context: &IoContext) -> Result<Datum> {
    input_as(Physical::of(type_oid), type_oid, typmod, text, context)
}

/// [`input`] for a caller that reads many values of the type and knows its
/// representation already.
#[inline]
pub fn input_as(
    physical: Physical,
    type_oid: Oid,
    typmod: i32,
    text: &str,
    context: &IoContext,
) -> Result<Datum> {
    match physical {
        Physical::Bool => parse_bool(text).map(Datum::Bool),
        Physical::Char => Ok(Datum::Char(parse_char(text))),
        Physical::Int2 => number_io::parse_int2(text).map(Datum::Int2),
        Physical::Int4 => number_io::parse_int4(text).map(Datum::Int4),
        Physical::Int8 => number_io::parse_int8(text).map(Datum::Int8),
        Physical::Float4 => number_io::parse_float4(text).map(Datum::Float4),
        Physical::Float8 => number_io::parse_float8(text).map(Datum::Float8),
        Physical::Oid => parse_oid_like(type_oid, text, context).map(Datum::Oid),
        Physical::Xid8 => number_io::parse_uint64(text, "xid8").map(Datum::Xid8),
        Physical::PgLsn => pg_lsn::parse(text).map(Datum::PgLsn),
        Physical::Tid => parse_tid(text),
        Physical::Uuid => parse_uuid(text).map(|v| Datum::Uuid(Arc::new(v))),
        Physical::Text => parse_text(type_oid, typmod, text),
        Physical::Bytea => parse_bytea(text).map(|v| Datum::Bytea(v.into())),
        Physical::Numeric => Numeric::parse_typmod(text, typmod).map(Datum::Numeric),
        Physical::Date
        | Physical::Time
        | Physical::TimeTz
        | Physical::Timestamp
        | Physical::TimestampTz
        | Physical::Interval => datetime_input(type_oid, typmod, text, context),
        Physical::Array => match type_oid {
            oid::INT2VECTOR => {
                parse_vector(text, oid::INT2, |token| number_io::parse_int2(token).map(Datum::Int2))
            }
            oid::OIDVECTOR => parse_vector(text, oid::OID, |token| {
                number_io::parse_uint32(token, "oid").map(Datum::Oid)
            }),
            _ => match element_type_of(type_oid) {
                Some(element) => array_io::parse_array(element, typmod, text, context),
                None => Err(no_input(type_oid)),
            },
        },
        Physical::Any if type_oid == oid::ACLITEM => acl::input(text, context),
        Physical::Any | Physical::Enum => input_from_catalog(type_oid, typmod, text, context),
    }
}

/// As [`input_as`], but writes the value as the next column of a row. For many rows of the usual
/// types, making a datum first would take a good part of the time.
pub fn input_into(
    row: &mut RowWriter<'_>,
    physical: Physical,
    type_oid: Oid,
    typmod: i32,
    text: &str,
    context: &IoContext,
) -> Result<()> {
    match type_oid {
        oid::INT4 => row.push_i32(number_io::parse_int4(text)?),
        oid::INT8 => row.push_i64(number_io::parse_int8(text)?),
        oid::TIMESTAMP => {
            let (config, now) = (&context.datetime, context.now);
            row.push_i64(datetime::timestamp_in(text, typmod, config, now)?)
        }
        oid::TEXT => row.push_text(text),
        oid::VARCHAR => row.push_text(fit_varchar(text, typmod, false)?),
        oid::BPCHAR => {
            let (text, blanks) = split_bpchar(text, typmod, false)?;
            row.push_padded(text, blanks)
        }
        _ => row.push(&input_as(physical, type_oid, typmod, text, context)?),
    }
}

fn input_from_catalog(
    type_oid: Oid,
    typmod: i32,
    text: &str,
    context: &IoContext,
) -> Result<Datum> {
    if let Some(catalog) = &context.catalog {
        if let Some(element) = catalog.element_type(type_oid) {
            return array_io::parse_array(element, typmod, text, context);
        }
        if let Some(result) = catalog.input(type_oid, typmod, text, context) {
            return result;
        }
    }
    Err(no_input(type_oid))
}

#[cold]
fn no_input(type_oid: Oid) -> Error {
    let pseudo = match type_oid {
        oid::ANY => "any",
        oid::ANYARRAY => "anyarray",
        oid::ANYELEMENT => "anyelement",
        oid::ANYNONARRAY => "anynonarray",
        oid::ANYENUM => "anyenum",
        oid::ANYRANGE => "anyrange",
        oid::ANYCOMPATIBLE => "anycompatible",
        oid::ANYCOMPATIBLEARRAY => "anycompatiblearray",
        oid::ANYCOMPATIBLENONARRAY => "anycompatiblenonarray",
        oid::RECORD => {
            return Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "input of anonymous composite types is not implemented",
            );
        }
        oid::JSONB => return Error::not_supported("type jsonb"),
        other => return Error::not_supported(format_args!("input of the type with OID {other}")),
    };
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot accept a value of type {pseudo}"))
}

/// Appends the text of a non-null value.
pub fn output(type_oid: Oid, datum: &Datum, context: &IoContext, out: &mut Vec<u8>) -> Result<()> {
    match datum {
        Datum::Null => return Err(Error::internal("NULL has no text")),
        Datum::Bool(v) => out.push(if *v { b't' } else { b'f' }),
        Datum::Int2(v) => write_int64(i64::from(*v), out),
        Datum::Int4(v) => write_int64(i64::from(*v), out),
        Datum::Int8(v) => write_int64(*v, out),
        Datum::Float4(v) => number_io::write_float4(*v, context.extra_float_digits, out),
        Datum::Float8(v) => number_io::write_float8(*v, context.extra_float_digits, out),
        Datum::Oid(v) => write_oid_like(type_oid, *v, context, out),
        Datum::Text(v) => out.extend_from_slice(v.as_bytes()),
        Datum::Bytea(v) => write_bytea(v, context.bytea_output, out)?,
        Datum::Char(v) => write_char(*v, out),
        Datum::Numeric(v) => v.write_text(out),
        Datum::Date(v) => datetime::date_out(*v, &context.datetime, out),
        Datum::Time(v) => datetime::time_out(*v, out),
        Datum::TimeTz(micros, zone) => datetime::timetz_out(*micros, *zone, out),
        Datum::Timestamp(v) => datetime::timestamp_out(*v, &context.datetime, out),
        Datum::TimestampTz(v) => datetime::timestamptz_out(*v, &context.datetime, out),
        Datum::Interval(v) => datetime::interval_out(v, &context.datetime, out),
        Datum::Uuid(v) => write_uuid(v, out),
        Datum::Xid8(v) => write_uint64(*v, out),
        Datum::PgLsn(v) => out.extend_from_slice(pg_lsn::shown(*v).as_bytes()),
        Datum::Enum(enum_type, order) => {
            out.extend_from_slice(context.label(*enum_type, *order)?.as_bytes());
        }
        Datum::Tid(block, offset) => {
            out.extend_from_slice(format!("({block},{offset})").as_bytes());
        }
        Datum::Array(v) if oid::vector_element_type(type_oid).is_some() => {
            if v.dimensions.len() > 1 || v.elements.iter().any(Datum::is_null) {
                return Err(not_a_vector(type_oid));
            }
            for (i, element) in v.elements.iter().enumerate() {
                if i > 0 {
                    out.push(b' ');
                }
                output(v.element_type, element, context, out)?;
            }
        }
        Datum::Array(v) => return array_io::write_array(v, context, out),
        Datum::Record(_) if type_oid == oid::ACLITEM => return acl::write(datum, context, out),
        Datum::Record(v) => return array_io::write_record(type_oid, v, context, out),
    }
    Ok(())
}

/// The error of an array that is no valid vector: it has several dimensions, or NULLs.
#[cold]
fn not_a_vector(type_oid: Oid) -> Error {
    let name = if type_oid == oid::INT2VECTOR { "int2vector" } else { "oidvector" };
    Error::new(SqlState::DATATYPE_MISMATCH, format!("array is not a valid {name}"))
}

/// [`output`] as a string.
pub fn output_string(type_oid: Oid, datum: &Datum, context: &IoContext) -> Result<String> {
    let mut out = Vec::new();
    output(type_oid, datum, context, &mut out)?;
    String::from_utf8(out).map_err(|_| Error::internal("a value's text is not valid UTF-8"))
}

/// Reads a boolean: any unambiguous prefix of true, false, yes, no, on and off, or 1 or 0.
pub fn parse_bool(text: &str) -> Result<bool> {
    let word = trim_spaces(text).to_ascii_lowercase();
    let prefix_of = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    if prefix_of("true", 1) || prefix_of("yes", 1) || word == "on" || word == "1" {
        Ok(true)
    } else if prefix_of("false", 1) || prefix_of("no", 1) || prefix_of("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(invalid_syntax("boolean", text))
    }
}

/// Reads a "char": `\ooo`, or the first byte, or zero for the empty string.
fn parse_char(text: &str) -> u8 {
    match text.as_bytes() {
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
            (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
        }
        bytes => bytes.first().copied().unwrap_or(0),
    }
}

fn write_char(value: u8, out: &mut Vec<u8>) {
    match value {
        0 => {}
        1..=0x7F => out.push(value),
        _ => write_octal(value, out),
    }
}

fn write_octal(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]);
}

/// Whether a type is one of the `reg*` family: an OID shown as a name.
pub fn is_reg_type(type_oid: Oid) -> bool {
    Physical::of(type_oid) == Physical::Oid && !matches!(type_oid, oid::OID | oid::XID | oid::CID)
}

fn parse_oid_like(type_oid: Oid, text: &str, context: &IoContext) -> Result<u32> {
    match type_oid {
        oid::OID => number_io::parse_uint32(text, "oid"),
        oid::XID => number_io::parse_uint32(text, "xid"),
        oid::CID => number_io::parse_uint32(text, "cid"),
        // parseNumericOid: digits only, and "-" for none.
        _ if text == "-" && !matches!(type_oid, oid::REGOPER | oid::REGOPERATOR) => {
            Ok(oid::INVALID_OID)
        }
        _ if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            number_io::parse_uint32(text.trim_start_matches('0'), "oid")
                .or_else(|error| if text.bytes().all(|b| b == b'0') { Ok(0) } else { Err(error) })
        }
        _ => match &context.catalog {
            Some(catalog) => catalog.reg_input(type_oid, text),
            None => Err(Error::internal("no catalog to look up a name in")),
        },
    }
}

fn write_oid_like(type_oid: Oid, value: u32, context: &IoContext, out: &mut Vec<u8>) {
    if is_reg_type(type_oid) {
        if value == oid::INVALID_OID && !matches!(type_oid, oid::REGOPER | oid::REGOPERATOR) {
            out.push(b'-');
            return;
        }
        if let Some(catalog) = &context.catalog
            && catalog.reg_output(type_oid, value, out)
        {
            return;
        }
    }
    write_uint64(u64::from(value), out);
}

/// `(block,offset)`, read as leniently as tidin does: what follows `)` is ignored.
fn parse_tid(text: &str) -> Result<Datum> {
    let parse = || {
        // The parts begin behind the first parenthesis or comma, and behind the next comma.
        let body = text.split_once(')').map_or(text, |(body, _)| body);
        let start = body.find(['(', ','])? + 1;
        let second = start + body[start..].find(',')? + 1;
        let (block, rest) = strtoul(&text[start..])?;
        // The block number may be written as a negative one.
        let fits =
            |number: u64| u32::try_from(number).is_ok() || number >= (i32::MIN as i64) as u64;
        let block = Some(block as u32).filter(|_| fits(block) && rest.starts_with(','))?;
        let (offset, rest) = strtoul(&text[second..])?;
        let offset = u16::try_from(offset).ok().filter(|_| rest.starts_with(')'))?;
        Some(Datum::Tid(block, offset))
    };
    parse().ok_or_else(|| invalid_syntax("tid", text))
}

/// C's strtoul with base 10: a number and the text after it, or 0 and the whole text if there are
/// no digits. `None` if the number is too large.
fn strtoul(text: &str) -> Option<(u64, &str)> {
    let body = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let (negative, body) = match body.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix('+').unwrap_or(body)),
    };
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Some((0, text));
    }
    let number: u64 = body[..digits].parse().ok()?;
    Some((if negative { number.wrapping_neg() } else { number }, &body[digits..]))
}

/// Reads a uuid: 32 hexadecimal digits, a hyphen allowed after every fourth, the
/// whole optionally in braces.
fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let parse = || {
        let braced = text.strip_prefix('{');
        let mut rest = braced.unwrap_or(text).as_bytes();
        let mut uuid = [0u8; 16];
        for (i, byte) in uuid.iter_mut().enumerate() {
            let [high, low, tail @ ..] = rest else { return None };
            *byte = (hex_digit(*high)? << 4) | hex_digit(*low)?;
            rest = tail;
            if i % 2 == 1
                && i < 15
                && let [b'-', tail @ ..] = rest
            {
                rest = tail;
            }
        }
        let end: &[u8] = if braced.is_some() { b"}" } else { b"" };
        (rest == end).then_some(uuid)
    };
    parse().ok_or_else(|| invalid_syntax("uuid", text))
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn hex_digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|d| d as u8)
}

/// Appends bytes as lower-case hexadecimal digits.
pub fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

fn write_uuid(uuid: &[u8; 16], out: &mut Vec<u8>) {
    for (i, group) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
        if i > 0 {
            out.push(b'-');
        }
        write_hex(&uuid[group], out);
    }
}

fn parse_text(type_oid: Oid, typmod: i32, text: &str) -> Result<Datum> {
    if text.as_bytes().contains(&0) {
        crate::io::check_text(text.as_bytes())?;
    }
    match type_oid {
        oid::VARCHAR => fit_varchar(text, typmod, false).map(Datum::text),
        oid::BPCHAR => Ok(Datum::text(fit_bpchar(text, typmod, false)?)),
        oid::NAME => Ok(Datum::text(truncate_name(text))),
        oid::JSON => Err(Error::not_supported("type json")),
        oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => Ok(Datum::text(PgSnapshot::parse(text)?.shown())),
        _ => Ok(Datum::text(text)),
    }
}

/// The longest prefix that fits an identifier without cutting a character.
pub fn truncate_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

/// The length n of `varchar(n)`'s or `char(n)`'s modifier.
fn typmod_length(typmod: i32) -> Option<usize> {
    (typmod > TYPMOD_OFFSET).then(|| (typmod - TYPMOD_OFFSET) as usize)
}

/// Splits after `length` characters.
fn split_at_char(text: &str, length: usize) -> (&str, &str) {
    // A string has at most as many characters as bytes.
    if text.len() <= length {
        return (text, "");
    }
    let at = text.char_indices().nth(length).map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

/// Fits a value to `varchar(n)`. A longer value is cut if only blanks are lost or the cast is
/// explicit; otherwise it fails with 22001.
pub fn fit_varchar(text: &str, typmod: i32, explicit: bool) -> Result<&str> {
    let Some(length) = typmod_length(typmod) else { return Ok(text) };
    let (kept, lost) = split_at_char(text, length);
    if explicit || lost.bytes().all(|b| b == b' ') {
        return Ok(kept);
    }
    Err(Error::new(
        SqlState::STRING_DATA_RIGHT_TRUNCATION,
        format!("value too long for type character varying({length})"),
    ))
}

/// Fits a value to `char(n)`: as [`fit_varchar`], and padded with blanks.
pub fn fit_bpchar(text: &str, typmod: i32, explicit: bool) -> Result<String> {
    let (kept, blanks) = split_bpchar(text, typmod, explicit)?;
    let mut padded = String::with_capacity(kept.len() + blanks);
    padded.push_str(kept);
    padded.extend(std::iter::repeat_n(' ', blanks));
    Ok(padded)
}

/// The part of a text that `char(n)` keeps, and the number of blanks after it: [`fit_bpchar`] in
/// parts.
pub fn split_bpchar(text: &str, typmod: i32, explicit: bool) -> Result<(&str, usize)> {
    let Some(length) = typmod_length(typmod) else { return Ok((text, 0)) };
    let (kept, lost) = split_at_char(text, length);
    if !explicit && !lost.bytes().all(|b| b == b' ') {
        return Err(Error::new(
            SqlState::STRING_DATA_RIGHT_TRUNCATION,
            format!("value too long for type character({length})"),
        ));
    }
    Ok((kept, length - kept.chars().count()))
}

/// Reads a bytea in either format.
pub fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => decode_hex(digits),
        None => decode_escape(text, || {
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
        }),
    }
}

/// Hexadecimal digits in pairs, white space allowed between pairs.
pub fn decode_hex(text: &str) -> Result<Vec<u8>> {
    let invalid = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut characters = text.chars();
    let digit = |c: char| {
        c.to_digit(16)
            .map(|d| d as u8)
            .ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")))
    };
    while let Some(first) = characters.next() {
        if bytes.len() % interrupt::CHECK_EVERY_BYTES == 0 {
            interrupt::check()?;
        }
        if matches!(first, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(first)?;
        let Some(second) = characters.next() else {
            return Err(invalid("invalid hexadecimal data: odd number of digits".into()));
        };
        bytes.push(high << 4 | digit(second)?);
    }
    Ok(bytes)
}

/// `\\` and `\ooo`, everything else as it is.
pub fn decode_escape(text: &str, invalid: impl Fn() -> Error) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let mut check_at = rest.len().saturating_sub(interrupt::CHECK_EVERY_BYTES);
    loop {
        if rest.len() < check_at {
            interrupt::check()?;
            check_at = rest.len().saturating_sub(interrupt::CHECK_EVERY_BYTES);
        }
        match rest {
            [] => return Ok(bytes),
            [b'\\', b'\\', tail @ ..] => {
                bytes.push(b'\\');
                rest = tail;
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            [b'\\', ..] => return Err(invalid()),
            [byte, tail @ ..] => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
}

fn write_bytea(bytes: &[u8], format: ByteaOutput, out: &mut Vec<u8>) -> Result<()> {
    let write = match format {
        ByteaOutput::Hex => {
            out.extend_from_slice(b"\\x");
            write_hex
        }
        ByteaOutput::Escape => write_escaped,
    };
    interrupt::pieces(bytes, interrupt::CHECK_EVERY_BYTES).try_for_each(|piece| {
        write(piece?, out);
        Ok(())
    })
}

fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x20..=0x7E => out.push(*byte),
            _ => write_octal(*byte, out),
        }
    }
}

/// int2vector and oidvector: numbers separated by blanks, counted from 0.
fn parse_vector(
    text: &str,
    element_type: Oid,
    parse: impl Fn(&str) -> Result<Datum>,
) -> Result<Datum> {
    let tokens = text.split(|c: char| c.is_ascii() && is_space(c as u8)).filter(|t| !t.is_empty());
    let elements = tokens.map(parse).collect::<Result<Vec<Datum>>>()?;
    let dimensions = vec![(elements.len() as i32, 0)];
    Ok(Datum::Array(Arc::new(Array { element_type, dimensions, elements })))
}

fn datetime_input(type_oid: Oid, typmod: i32, text: &str, context: &IoContext) -> Result<Datum> {
    let (config, now) = (&context.datetime, context.now);
    Ok(match type_oid {
        oid::DATE => Datum::Date(datetime::date_in(text, config, now)?),
        oid::TIME => Datum::Time(datetime::time_in(text, typmod, config, now)?),
        oid::TIMETZ => {
            let (micros, zone) = datetime::timetz_in(text, typmod, config, now)?;
            Datum::TimeTz(micros, zone)
        }
        oid::TIMESTAMP => Datum::Timestamp(datetime::timestamp_in(text, typmod, config, now)?),
        oid::TIMESTAMPTZ => {
            Datum::TimestampTz(datetime::timestamptz_in(text, typmod, config, now)?)
        }
        oid::INTERVAL => Datum::Interval(Arc::new(datetime::interval_in(text, typmod, config)?)),
        _ => return Err(no_input(type_oid)),
    })
}

#[cfg(test)]
#[path = "text_io_tests.rs"]
mod tests;
