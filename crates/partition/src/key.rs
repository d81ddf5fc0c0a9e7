//! The key space that bounds and rows share.
//!
//! A row's partition key is encoded as an index key ([`steppe_types::key`]): bytes
//! whose order is SQL's. A bound is a point of the same space:
//!
//! ```text
//! row   (10, 'x')         01 ⟨10⟩ 01 ⟨x⟩
//! bound (10, 'x')         01 ⟨10⟩ 01 ⟨x⟩        the row itself
//! bound (10, MINVALUE)    01 ⟨10⟩ 00            below every row that begins with 10
//! bound (10, MAXVALUE)    01 ⟨10⟩ FF            above every row that begins with 10
//! bound (MINVALUE, …)     00                    below every row
//! ```
//!
//! MINVALUE and MAXVALUE end a bound: later columns cannot matter. Parts are self-delimiting, so
//! one comparison of bytes is the comparison column by column, and the column in which two bounds
//! first differ holds the first byte in which they differ.

use crate::bound::RangeDatum;
use std::sync::Arc;
use steppe_types::key::{KeyPart, encode_part};
use steppe_types::oid::{self, Oid};
use steppe_types::{Datum, Error, Result};

const MINVALUE: u8 = 0;
pub(crate) const MAXVALUE: u8 = 0xFF;

/// The least point: MINVALUE, without its zero.
pub(crate) const SPACE_BEGIN: &[u8] = &[];
/// The greatest point.
pub(crate) const SPACE_END: &[u8] = &[MAXVALUE];

/// The byte before the bytes of a value.
const VALUE: u8 = 1;

/// The bytes of a key that are compared as one number.
const HEAD_BYTES: usize = 16;

/// A point of the key space.
///
/// Trailing zeros are dropped. This makes one point of several that no row distinguishes: only such
/// points lie between a point and the same point with zeros after it, and a row's key never begins
/// with another row's.
///
/// Most keys fit the head, which is compared without reading other memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The first bytes, big-endian, filled up with zeros.
    head: u128,
    /// The bytes after them. `None` is less than any.
    rest: Option<Arc<[u8]>>,
}

impl From<&[u8]> for Key {
    #[inline]
    fn from(bytes: &[u8]) -> Key {
        match bytes.split_first_chunk::<HEAD_BYTES>() {
            Some((head, rest)) => {
                let end = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let rest = (end > 0).then(|| Arc::from(&rest[..end]));
                Key { head: u128::from_be_bytes(*head), rest }
            }
            None => {
                let mut head = [0; HEAD_BYTES];
                head[..bytes.len()].copy_from_slice(bytes);
                Key { head: u128::from_be_bytes(head), rest: None }
            }
        }
    }
}

/// Encodes the hash as [`encode_hash`] does.
impl From<u64> for Key {
    #[inline]
    fn from(number: u64) -> Key {
        let head = (u128::from(VALUE) << 64 | u128::from(number)) << 56;
        Key { head, rest: None }
    }
}

impl Key {
    /// The bytes after the first, which is that of a value in almost all keys: a
    /// lesser hint means a lesser key.
    #[inline]
    pub(crate) fn hint(&self) -> u64 {
        match (self.head >> 120) as u8 {
            // The number leaves bits out on both sides.
            VALUE => (self.head >> 56) as u64,
            MINVALUE => 0,
            _ => u64::MAX,
        }
    }

    /// The hint of the key of a row with one column of an integer's or a time's type: [`Key::from`]
    /// makes the key that [`encode_row`] would make.
    #[inline]
    pub(crate) fn hint_of_number(type_oid: Oid, value: &Datum) -> Option<u64> {
        Some(match (type_oid, value) {
            (oid::INT2, Datum::Int2(v)) => u64::from(*v as u16 ^ 1 << 15) << 48,
            (oid::INT4, Datum::Int4(v)) | (oid::DATE, Datum::Date(v)) => {
                u64::from(*v as u32 ^ 1 << 31) << 32
            }
            (oid::INT8, Datum::Int8(v))
            | (oid::TIMESTAMP, Datum::Timestamp(v))
            | (oid::TIMESTAMPTZ, Datum::TimestampTz(v)) => *v as u64 ^ 1 << 63,
            _ => return None,
        })
    }

    /// The hint, if it determines the key: [`Key::from`] makes the key from it.
    #[inline]
    pub(crate) fn short(&self) -> Option<u64> {
        let hint = self.hint();
        (self.rest.is_none() && Key::from(hint).head == self.head).then_some(hint)
    }

    /// The hint of a key that begins with a value.
    #[inline]
    pub(crate) fn value_hint(&self) -> Option<u64> {
        ((self.head >> 120) as u8 == VALUE).then(|| self.hint())
    }

    /// A bound as a number: a key that begins with a value, and whose hint is not the greatest
    /// number, is not below the bound if its hint is not below the number. `None`: no number
    /// decides that.
    pub(crate) fn limit(&self) -> Option<u64> {
        match (self.head >> 120) as u8 {
            VALUE => self.short(),
            MINVALUE => Some(0),
            MAXVALUE => Some(u64::MAX),
            _ => None,
        }
    }

    /// The bytes, but for trailing zeros of the head.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> {
        let rest = self.rest.iter().flat_map(|rest| rest.iter().copied());
        self.head.to_be_bytes().into_iter().chain(rest)
    }
}

/// A key of half the size: a cache line holds four with their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompactKey {
    Short(u64),
    Long(Arc<Key>),
}

impl From<Key> for CompactKey {
    fn from(key: Key) -> CompactKey {
        match key.short() {
            Some(hint) => CompactKey::Short(hint),
            None => CompactKey::Long(Arc::new(key)),
        }
    }
}

impl CompactKey {
    #[inline]
    pub(crate) fn is_above(&self, key: &Key) -> bool {
        match self {
            CompactKey::Short(hint) => Key::from(*hint) > *key,
            CompactKey::Long(this) => **this > *key,
        }
    }

    pub(crate) fn key(&self) -> Key {
        match self {
            CompactKey::Short(hint) => Key::from(*hint),
            CompactKey::Long(key) => (**key).clone(),
        }
    }
}

/// Appends one non-null value of a key column.
///
/// `real` is encoded as `double precision`, which gives the same bytes, so that values of both
/// types can be searched.
pub(crate) fn encode_value(type_oid: Oid, value: &Datum, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        return Err(Error::internal("NULL has no place in a partition's key space"));
    }
    let type_oid = match (type_oid, value) {
        (oid::FLOAT4, Datum::Float8(_)) => oid::FLOAT8,
        (oid::FLOAT8, Datum::Float4(_)) => oid::FLOAT4,
        _ => type_oid,
    };
    encode_part(value, &KeyPart::ascending(type_oid), out)
}

/// The key of a row without NULLs.
pub(crate) fn encode_row(types: &[Oid], values: &[Datum], out: &mut Vec<u8>) -> Result<()> {
    types.iter().zip(values).try_for_each(|(type_oid, value)| encode_value(*type_oid, value, out))
}

/// A row's or a column's hash, as a value of a key space of its own.
pub(crate) fn encode_hash(hash: u64) -> Vec<u8> {
    [&[VALUE], &hash.to_be_bytes()[..]].concat()
}

/// The hash that [`encode_hash`] encoded.
pub(crate) fn decode_hash(bytes: &[u8]) -> Option<u64> {
    bytes.strip_prefix(&[VALUE])?.first_chunk().map(|hash| u64::from_be_bytes(*hash))
}

/// A range bound in the key space, with the end of each column's part.
pub(crate) struct EncodedBound {
    pub(crate) key: Key,
    column_ends: Vec<usize>,
}

impl EncodedBound {
    pub(crate) fn new(types: &[Oid], datums: &[RangeDatum]) -> Result<EncodedBound> {
        if types.len() != datums.len() {
            return Err(Error::internal("partition bound has not as many values as the key"));
        }
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        let mut column_ends = Vec::with_capacity(types.len());
        for (type_oid, datum) in types.iter().zip(datums) {
            match datum {
                RangeDatum::MinValue => bytes.push(MINVALUE),
                RangeDatum::MaxValue => bytes.push(MAXVALUE),
                RangeDatum::Value(value) => encode_value(*type_oid, value.datum(), &mut bytes)?,
            }
            column_ends.push(bytes.len());
            if !matches!(datum, RangeDatum::Value(_)) {
                break;
            }
        }
        Ok(EncodedBound { key: Key::from(&bytes[..]), column_ends })
    }

    /// The column in which this bound first differs from another point of the
    /// space; the first column if they are equal.
    pub(crate) fn column_of_difference(&self, other: &Key) -> usize {
        match self.key.bytes().zip(other.bytes()).position(|(a, b)| a != b) {
            Some(at) => self.column_ends.partition_point(|end| *end <= at),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_keys_of_their_rows() {
        for number in [0, 1, -1, 255, 256, -256, 32_767, -32_768] {
            let wide = |v: i16| i64::from(v).wrapping_mul(0x1_0001_0001_0001);
            for (type_oid, value) in [
                (oid::INT2, Datum::Int2(number)),
                (oid::INT4, Datum::Int4(i32::from(number).wrapping_mul(0x1_0001))),
                (oid::DATE, Datum::Date(i32::from(number))),
                (oid::INT8, Datum::Int8(wide(number))),
                (oid::TIMESTAMP, Datum::Timestamp(wide(number))),
                (oid::TIMESTAMPTZ, Datum::TimestampTz(i64::from(number))),
            ] {
                let mut bytes = Vec::new();
                encode_row(&[type_oid], std::slice::from_ref(&value), &mut bytes).unwrap();
                let hint = Key::hint_of_number(type_oid, &value);
                assert_eq!(hint.map(Key::from), Some(Key::from(&bytes[..])), "{value:?}");
            }
        }
        // A value of another type has no hint; the general path refuses it.
        assert_eq!(Key::hint_of_number(oid::INT4, &Datum::Int8(1)), None);
    }
}
