//! Single bits and bytes of bytea (get_bit, set_byte … of varlena.c).

use super::args::{bytes, int, int4};
use super::{Entry, scalar};
use crate::FnContext;
use steppe_types::{Datum, Error, Result, SqlState};

/// Bit functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("byteaGetByte", scalar(get_byte)),
    ("byteaSetByte", scalar(set_byte)),
    ("byteaGetBit", scalar(get_bit)),
    ("byteaSetBit", scalar(set_bit)),
    ("bytea_bit_count", scalar(bit_count)),
];

/// An index below `size`.
fn index(at: i64, size: usize) -> Result<usize> {
    usize::try_from(at).ok().filter(|at| *at < size).ok_or_else(|| {
        Error::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            format!("index {at} out of valid range, 0..{}", size as i64 - 1),
        )
    })
}

fn get_byte(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let bytes = bytes(args, 0)?;
    Ok(Datum::Int4(i32::from(bytes[index(int(args, 1)?, bytes.len())?])))
}

fn set_byte(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let mut bytes = bytes(args, 0)?.to_vec();
    let at = index(int(args, 1)?, bytes.len())?;
    bytes[at] = int4(args, 2)? as u8;
    Ok(Datum::Bytea(bytes.into()))
}

fn get_bit(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let bytes = bytes(args, 0)?;
    let at = index(int(args, 1)?, bytes.len() * 8)?;
    Ok(Datum::Int4(i32::from(bytes[at / 8] >> (at % 8) & 1)))
}

fn set_bit(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let mut bytes = bytes(args, 0)?.to_vec();
    let at = index(int(args, 1)?, bytes.len() * 8)?;
    match int4(args, 2)? {
        0 => bytes[at / 8] &= !(1 << (at % 8)),
        1 => bytes[at / 8] |= 1 << (at % 8),
        _ => {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1"));
        }
    }
    Ok(Datum::Bytea(bytes.into()))
}

fn bit_count(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let ones = bytes(args, 0)?.iter().map(|byte| i64::from(byte.count_ones())).sum();
    Ok(Datum::Int8(ones))
}
