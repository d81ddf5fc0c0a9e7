//! bytea functions (varlena.c, bytea.c, cryptohashfuncs.c of src/backend/utils/adt).

use super::args::{bytes, int4, text, text_datum};
use super::sha2::{Sha2, digest};
use super::{Entry, scalar};
use crate::FnContext;
use crc_fast::{CrcAlgorithm, Digest};
use steppe_types::arith::out_of_range;
use steppe_types::io::check_text;
use steppe_types::text::encode::{decode, encode, md5_hex};
use steppe_types::text::{check_length, substring_bytes};
use steppe_types::{Datum, Error, Result, SqlState, interrupt};

/// bytea functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("byteacat", scalar(concatenate)),
    ("byteaoctetlen", scalar(|a, _| Ok(Datum::Int4(bytes(a, 0)?.len() as i32)))),
    ("bytea_substr", scalar(substring)),
    ("bytea_substr_no_len", scalar(substring)),
    ("byteapos", scalar(position)),
    ("byteatrim", scalar(|a, _| trim(a, true, true))),
    ("bytealtrim", scalar(|a, _| trim(a, true, false))),
    ("byteartrim", scalar(|a, _| trim(a, false, true))),
    ("byteaoverlay", scalar(|a, _| overlay(a, int4(a, 3)?))),
    ("byteaoverlay_no_len", scalar(|a, _| overlay(a, bytes(a, 1)?.len() as i32))),
    ("bytea_reverse", scalar(|a, _| bytea(bytes(a, 0)?.iter().rev().copied().collect()))),
    ("binary_encode", scalar(|a, _| text_datum(encode(bytes(a, 0)?, text(a, 1)?)?))),
    ("binary_decode", scalar(|a, _| bytea(decode(text(a, 0)?, text(a, 1)?)?))),
    ("int2_bytea", scalar(|a, _| bytea(super::arg(a, 0)?.as_int2()?.to_be_bytes().to_vec()))),
    ("int4_bytea", scalar(|a, _| bytea(int4(a, 0)?.to_be_bytes().to_vec()))),
    ("int8_bytea", scalar(|a, _| bytea(super::args::int(a, 0)?.to_be_bytes().to_vec()))),
    ("bytea_int2", scalar(|a, _| Ok(Datum::Int2(integer(a, 2, "smallint")? as i16)))),
    ("bytea_int4", scalar(|a, _| Ok(Datum::Int4(integer(a, 4, "integer")? as i32)))),
    ("bytea_int8", scalar(|a, _| Ok(Datum::Int8(integer(a, 8, "bigint")?)))),
    ("md5_text", scalar(|a, _| text_datum(md5_hex(text(a, 0)?.as_bytes())?))),
    ("md5_bytea", scalar(|a, _| text_datum(md5_hex(bytes(a, 0)?)?))),
    ("sha224_bytea", scalar(|a, _| bytea(digest(Sha2::Sha224, bytes(a, 0)?)?))),
    ("sha256_bytea", scalar(|a, _| bytea(digest(Sha2::Sha256, bytes(a, 0)?)?))),
    ("sha384_bytea", scalar(|a, _| bytea(digest(Sha2::Sha384, bytes(a, 0)?)?))),
    ("sha512_bytea", scalar(|a, _| bytea(digest(Sha2::Sha512, bytes(a, 0)?)?))),
    ("crc32_bytea", scalar(|a, _| crc(bytes(a, 0)?, CrcAlgorithm::Crc32IsoHdlc))),
    ("crc32c_bytea", scalar(|a, _| crc(bytes(a, 0)?, CrcAlgorithm::Crc32Iscsi))),
    ("pg_convert_from", scalar(convert_from)),
    ("pg_convert_to", scalar(convert_to)),
    ("length_in_encoding", scalar(length_in_encoding)),
];

fn bytea(bytes: Vec<u8>) -> Result<Datum> {
    Ok(Datum::Bytea(bytes.into()))
}

fn concatenate(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (a, b) = (bytes(args, 0)?, bytes(args, 1)?);
    check_length(a.len() + b.len())?;
    bytea([a, b].concat())
}

fn substring(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let length = args.get(2).map(Datum::as_int4).transpose()?;
    bytea(substring_bytes(bytes(args, 0)?, int4(args, 1)?, length)?.to_vec())
}

fn position(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (value, needle) = (bytes(args, 0)?, bytes(args, 1)?);
    if needle.is_empty() {
        return Ok(Datum::Int4(1));
    }
    let at_once = (interrupt::CHECK_EVERY_BYTES / needle.len()).max(1);
    let places = value.len().saturating_sub(needle.len() - 1);
    for first in (0..places).step_by(at_once) {
        if first > 0 {
            interrupt::check()?;
        }
        let mut windows = value[first..].windows(needle.len()).take(at_once);
        if let Some(at) = windows.position(|window| window == needle) {
            return Ok(Datum::Int4((first + at) as i32 + 1));
        }
    }
    Ok(Datum::Int4(0))
}

/// Strips bytes that occur in the second argument.
fn trim(args: &[Datum], left: bool, right: bool) -> Result<Datum> {
    let mut value = bytes(args, 0)?;
    let mut is_stripped = [false; 256];
    bytes(args, 1)?.iter().for_each(|byte| is_stripped[usize::from(*byte)] = true);
    while let [first, rest @ ..] = value
        && left
        && is_stripped[usize::from(*first)]
    {
        value = rest;
    }
    while let [rest @ .., last] = value
        && right
        && is_stripped[usize::from(*last)]
    {
        value = rest;
    }
    bytea(value.to_vec())
}

fn overlay(args: &[Datum], length: i32) -> Result<Datum> {
    let (value, new, start) = (bytes(args, 0)?, bytes(args, 1)?, int4(args, 2)?);
    if start <= 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let after = start.checked_add(length).ok_or_else(|| out_of_range("integer"))?;
    let head = substring_bytes(value, 1, Some(start - 1))?;
    bytea([head, new, substring_bytes(value, after, None)?].concat())
}

/// Big-endian bytes as a signed integer of at most `width` bytes; fewer are taken
/// as an unsigned number.
fn integer(args: &[Datum], width: usize, type_name: &str) -> Result<i64> {
    let bytes = bytes(args, 0)?;
    if bytes.len() > width {
        return Err(out_of_range(type_name));
    }
    let value = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    Ok(match width {
        2 => i64::from(value as i16),
        4 => i64::from(value as i32),
        _ => value as i64,
    })
}

/// CRC-32 and CRC-32C (pg_crc.c).
fn crc(bytes: &[u8], algorithm: CrcAlgorithm) -> Result<Datum> {
    let mut digest = Digest::new(algorithm);
    for piece in interrupt::pieces(bytes, interrupt::CHECK_EVERY_BYTES) {
        digest.update(piece?);
    }
    i64::try_from(digest.finalize())
        .map(Datum::Int8)
        .map_err(|_| Error::internal("a CRC of 32 bits"))
}

/// The database's encoding is UTF8; others are not converted.
fn check_encoding(name: &str) -> Result<()> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match plain.as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(Error::not_supported(format_args!("conversion to or from encoding \"{name}\""))),
    }
}

fn convert_from(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    check_encoding(text(args, 1)?)?;
    text_datum(check_text(bytes(args, 0)?)?)
}

fn convert_to(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    check_encoding(text(args, 1)?)?;
    bytea(text(args, 0)?.as_bytes().to_vec())
}

fn length_in_encoding(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    check_encoding(text(args, 1)?)?;
    Ok(Datum::Int4(check_text(bytes(args, 0)?)?.chars().count() as i32))
}
