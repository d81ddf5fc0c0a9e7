//! String functions (varlena.c, oracle_compat.c, name.c, varchar.c of src/backend/utils/adt);
//! [`steppe_types::text`] does the work.

use super::args::{given, int, int4, text, text_datum};
use super::{Entry, scalar, set};
use crate::FnContext;
use steppe_types::datum::one_dimensional;
use steppe_types::interrupt::interruptible;
use steppe_types::text::{self as strings, Side};
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// String functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("textcat", scalar(concatenate)),
    ("textlen", scalar(|a, _| Ok(Datum::Int4(strings::char_length(text(a, 0)?))))),
    ("bpcharlen", scalar(|a, _| Ok(Datum::Int4(strings::char_length(unpadded(text(a, 0)?)))))),
    ("textoctetlen", scalar(|a, _| Ok(Datum::Int4(strings::octet_length(text(a, 0)?))))),
    ("bpcharoctetlen", scalar(|a, _| Ok(Datum::Int4(strings::octet_length(text(a, 0)?))))),
    ("lower", scalar(|a, _| text_datum(strings::lower(text(a, 0)?)))),
    ("casefold", scalar(|a, _| text_datum(strings::casefold(text(a, 0)?)))),
    ("upper", scalar(|a, _| text_datum(strings::upper(text(a, 0)?)))),
    ("initcap", scalar(|a, _| text_datum(strings::initcap(text(a, 0)?)?))),
    ("text_substr", scalar(substring)),
    ("text_substr_no_len", scalar(substring)),
    ("textpos", scalar(|a, _| Ok(Datum::Int4(strings::strpos(text(a, 0)?, text(a, 1)?))))),
    ("btrim", scalar(|a, _| trim(a, Side::Both))),
    ("btrim1", scalar(|a, _| trim(a, Side::Both))),
    ("ltrim", scalar(|a, _| trim(a, Side::Left))),
    ("ltrim1", scalar(|a, _| trim(a, Side::Left))),
    ("rtrim", scalar(|a, _| trim(a, Side::Right))),
    ("rtrim1", scalar(|a, _| trim(a, Side::Right))),
    ("lpad", scalar(|a, _| pad(a, text(a, 2)?, Side::Left))),
    ("rpad", scalar(|a, _| pad(a, text(a, 2)?, Side::Right))),
    ("replace_text", scalar(replace)),
    ("repeat", scalar(|a, _| text_datum(strings::repeat(text(a, 0)?, int4(a, 1)?)?))),
    ("text_reverse", scalar(|a, _| text_datum(strings::reverse(text(a, 0)?)?))),
    ("split_part", scalar(split_part)),
    ("text_left", scalar(|a, _| text_datum(strings::left(text(a, 0)?, int4(a, 1)?)))),
    ("text_right", scalar(|a, _| text_datum(strings::right(text(a, 0)?, int4(a, 1)?)))),
    ("textoverlay", scalar(|a, _| overlay(a, Some(int4(a, 3)?)))),
    ("textoverlay_no_len", scalar(|a, _| overlay(a, None))),
    ("translate", scalar(translate)),
    ("ascii", scalar(|a, _| Ok(Datum::Int4(strings::ascii(text(a, 0)?))))),
    ("chr", scalar(|a, _| text_datum(strings::chr(int4(a, 0)?)?))),
    ("to_hex32", scalar(|a, _| text_datum(strings::to_hex_int4(int4(a, 0)?)))),
    ("to_hex64", scalar(|a, _| text_datum(strings::to_hex_int8(int(a, 0)?)))),
    ("to_oct32", scalar(|a, _| text_datum(format!("{:o}", int4(a, 0)?)))),
    ("to_oct64", scalar(|a, _| text_datum(format!("{:o}", int(a, 0)?)))),
    ("to_bin32", scalar(|a, _| text_datum(format!("{:b}", int4(a, 0)?)))),
    ("to_bin64", scalar(|a, _| text_datum(format!("{:b}", int(a, 0)?)))),
    ("text_starts_with", scalar(starts_with)),
    ("quote_ident", scalar(|a, _| text_datum(strings::quote::quote_ident(text(a, 0)?)?))),
    ("quote_literal", scalar(|a, _| text_datum(strings::quote::quote_literal(text(a, 0)?)?))),
    ("quote_nullable", scalar(quote_nullable)),
    ("text_to_array", scalar(string_to_array)),
    ("text_to_array_null", scalar(string_to_array)),
    ("text_to_table", set(string_to_table)),
    ("text_to_table_null", set(string_to_table)),
    ("nameconcatoid", scalar(name_and_oid)),
    ("to_ascii_default", scalar(to_ascii)),
    ("unistr", scalar(|a, _| text_datum(unistr(text(a, 0)?)?))),
    ("parse_ident", scalar(parse_ident)),
];

/// Removes the padding blanks of `char(n)`.
fn unpadded(text: &str) -> &str {
    text.trim_end_matches(' ')
}

fn concatenate(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (a, b) = (text(args, 0)?, text(args, 1)?);
    strings::check_length(a.len() + b.len())?;
    let mut joined = String::with_capacity(a.len() + b.len());
    joined.push_str(a);
    joined.push_str(b);
    text_datum(joined)
}

fn substring(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let length = args.get(2).map(Datum::as_int4).transpose()?;
    text_datum(strings::substring(text(args, 0)?, int4(args, 1)?, length)?)
}

/// Trims the characters of the second argument, by default blanks.
fn trim(args: &[Datum], side: Side) -> Result<Datum> {
    let set = if args.len() > 1 { text(args, 1)? } else { " " };
    text_datum(strings::trim(text(args, 0)?, set, side)?)
}

/// `lpad`, `rpad` of the first two arguments.
pub(super) fn pad(args: &[Datum], fill: &str, side: Side) -> Result<Datum> {
    text_datum(strings::pad(text(args, 0)?, int4(args, 1)?, fill, side)?)
}

fn replace(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    text_datum(strings::replace(text(args, 0)?, text(args, 1)?, text(args, 2)?)?)
}

fn split_part(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    text_datum(strings::split_part(text(args, 0)?, text(args, 1)?, int4(args, 2)?)?)
}

fn overlay(args: &[Datum], length: Option<i32>) -> Result<Datum> {
    text_datum(strings::overlay(text(args, 0)?, text(args, 1)?, int4(args, 2)?, length)?)
}

fn translate(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    text_datum(strings::translate(text(args, 0)?, text(args, 1)?, text(args, 2)?)?)
}

fn starts_with(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Bool(strings::starts_with(text(args, 0)?, text(args, 1)?)))
}

fn quote_nullable(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let value = given(args, 0).map(Datum::as_text).transpose()?;
    text_datum(strings::quote::quote_nullable(value.map(|text| &**text))?)
}

/// The fields of `string_to_array`/`_to_table`; `None` if the string is NULL.
fn fields(args: &[Datum]) -> Result<Option<Vec<Datum>>> {
    let Some(value) = given(args, 0) else { return Ok(None) };
    let separator = given(args, 1).map(Datum::as_text).transpose()?;
    let null = given(args, 2).map(Datum::as_text).transpose()?;
    let fields = strings::split_fields(
        value.as_text()?,
        separator.map(|text| &**text),
        null.map(|text| &**text),
    )?;
    Ok(Some(fields.into_iter().map(|f| f.map_or(Datum::Null, Datum::text)).collect()))
}

fn string_to_array(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(fields(args)?.map_or(Datum::Null, |fields| one_dimensional(oid::TEXT, fields)))
}

fn string_to_table(
    args: &[Datum],
    _: &super::CallInfo,
    _: &mut FnContext,
) -> Result<Box<dyn super::SetRows>> {
    Ok(super::series::values(fields(args)?.unwrap_or_default()))
}

/// `name_oid`, with the name cut so that both fit.
fn name_and_oid(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let suffix = format!("_{}", super::args::oid(args, 1)?);
    let mut name = text(args, 0)?;
    while name.len() + suffix.len() > steppe_types::text_io::NAME_BYTES_MAX {
        name = strings::left(name, -1);
    }
    text_datum(format!("{name}{suffix}"))
}

/// Only single-byte encodings have a conversion to ASCII; the database's is not one.
fn to_ascii(_: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Err(Error::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "encoding conversion from UTF8 to ASCII not supported",
    ))
}

/// `unistr`: `\XXXX`, `\+XXXXXX`, `\uXXXX`, `\UXXXXXXXX` and `\\`.
fn unistr(text: &str) -> Result<String> {
    let syntax = |message: &str| Error::new(SqlState::SYNTAX_ERROR, message);
    let escape = || {
        syntax("invalid Unicode escape")
            .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
    };
    let pair = || syntax("invalid Unicode surrogate pair");
    let (mut out, mut rest, mut high) = (String::with_capacity(text.len()), text, None);
    let mut steps = interruptible(std::iter::repeat(()));
    while let Some(at) = rest.find('\\') {
        if at > 0 && high.is_some() {
            return Err(pair());
        }
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        steps.next();
        if let Some(tail) = rest.strip_prefix('\\') {
            if high.is_some() {
                return Err(pair());
            }
            out.push('\\');
            rest = tail;
            continue;
        }
        let (skip, digits) = match rest.as_bytes().first() {
            Some(b'u') => (1, 4),
            Some(b'U') => (1, 8),
            Some(b'+') => (1, 6),
            _ => (0, 4),
        };
        let hex = rest.get(skip..skip + digits).ok_or_else(escape)?;
        if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(escape());
        }
        let code = u32::from_str_radix(hex, 16).map_err(|_| escape())?;
        rest = &rest[skip + digits..];
        let combined = match (high.take(), code) {
            (None, 0xD800..=0xDBFF) => {
                high = Some(code);
                continue;
            }
            (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00),
            (None, code) if !(0xDC00..=0xDFFF).contains(&code) => code,
            _ => return Err(pair()),
        };
        out.push(char::from_u32(combined).filter(|c| *c != '\0').ok_or_else(|| {
            Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid Unicode code point: {combined:04X}"),
            )
        })?);
    }
    if high.is_some() {
        return Err(pair());
    }
    out.push_str(rest);
    Ok(out)
}

/// `parse_ident(text, strict)`: the parts of a dotted name, folded and unquoted.
fn parse_ident(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (source, strict) = (text(args, 0)?, super::args::boolean(args, 1)?);
    let parts = super::reg::split_identifiers(source, strict)?;
    Ok(one_dimensional(oid::TEXT, parts.into_iter().map(Datum::text).collect()))
}
