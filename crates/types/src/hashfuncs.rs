//! PostgreSQL's hash functions, with the same values.
//!
//! They are Bob Jenkins' lookup3 as PostgreSQL uses it (src/common/hashfn.c) with
//! a function for each type on top (access/hash/hashfunc.c and the types' own
//! files). Which leaf of a hash-partitioned table holds a row depends on them, so
//! that a dump, a foreign partition or a data node must agree bit by bit.
//!
//! Each type's function has a 32-bit form (`hash_value`, what `hashint4()` etc.
//! return) and a seeded 64-bit form (`hash_value_extended`).

use crate::compare::{bpchar_key, float_bits};
use crate::interrupt::interruptible;
use crate::oid::{self, Oid};
use crate::{Datum, Error, Result};

/// The seed of hash partitioning (HASH_PARTITION_SEED).
pub const HASH_PARTITION_SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// Lookup3's state.
struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    fn new(length: usize) -> State {
        let start = 0x9e37_79b9_u32.wrapping_add(length as u32).wrapping_add(3_923_095);
        State { a: start, b: start, c: start }
    }

    fn seed(&mut self, seed: u64) {
        if seed != 0 {
            self.a = self.a.wrapping_add((seed >> 32) as u32);
            self.b = self.b.wrapping_add(seed as u32);
            self.mix();
        }
    }

    fn mix(&mut self) {
        let State { mut a, mut b, mut c } = *self;
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        *self = State { a, b, c };
    }

    fn finish(&mut self) {
        let State { mut a, mut b, mut c } = *self;
        c = (c ^ b).wrapping_sub(b.rotate_left(14));
        a = (a ^ c).wrapping_sub(c.rotate_left(11));
        b = (b ^ a).wrapping_sub(a.rotate_left(25));
        c = (c ^ b).wrapping_sub(b.rotate_left(16));
        a = (a ^ c).wrapping_sub(c.rotate_left(4));
        b = (b ^ a).wrapping_sub(a.rotate_left(14));
        c = (c ^ b).wrapping_sub(b.rotate_left(24));
        *self = State { a, b, c };
    }

    fn absorb(&mut self, bytes: &[u8]) {
        let (blocks, tail) = bytes.as_chunks::<12>();
        for block in blocks {
            self.add([word(&block[..4]), word(&block[4..8]), word(&block[8..])]);
            self.mix();
        }
        // The lowest byte of c stands for the length: the tail begins above it.
        let (a, rest) = tail.split_at(tail.len().min(4));
        let (b, c) = rest.split_at(rest.len().min(4));
        self.add([word(a), word(b), word(c) << 8]);
        self.finish();
    }

    fn add(&mut self, words: [u32; 3]) {
        self.a = self.a.wrapping_add(words[0]);
        self.b = self.b.wrapping_add(words[1]);
        self.c = self.c.wrapping_add(words[2]);
    }

    fn wide(&self) -> u64 {
        u64::from(self.b) << 32 | u64::from(self.c)
    }
}

/// Up to four bytes, little-endian.
fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// `hash_bytes`: the hash of a byte string.
pub fn hash_bytes(bytes: &[u8]) -> u32 {
    let mut state = State::new(bytes.len());
    state.absorb(bytes);
    state.c
}

/// `hash_bytes_extended`: the seeded 64-bit hash of a byte string.
pub fn hash_bytes_extended(bytes: &[u8], seed: u64) -> u64 {
    let mut state = State::new(bytes.len());
    state.seed(seed);
    state.absorb(bytes);
    state.wide()
}

/// `hash_bytes_uint32`: the hash of one 32-bit word.
pub fn hash_uint32(value: u32) -> u32 {
    let mut state = State::new(4);
    state.add([value, 0, 0]);
    state.finish();
    state.c
}

/// `hash_bytes_uint32_extended`: the seeded 64-bit hash of one 32-bit word.
pub fn hash_uint32_extended(value: u32, seed: u64) -> u64 {
    let mut state = State::new(4);
    state.seed(seed);
    state.add([value, 0, 0]);
    state.finish();
    state.wide()
}

/// `hash_combine`: folds a hash into the hash of what came before.
pub fn hash_combine(a: u32, b: u32) -> u32 {
    a ^ b.wrapping_add(0x9e37_79b9).wrapping_add(a << 6).wrapping_add(a >> 2)
}

/// `hash_combine64`: folds a hash into the hash of what came before.
pub fn hash_combine64(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(a << 54).wrapping_add(a >> 7)
}

/// `compute_partition_hash_value`: the hash whose remainder determines the partition of a row.
/// NULLs do not change it.
pub fn partition_hash<'a>(key: impl IntoIterator<Item = (Oid, &'a Datum)>) -> Result<u64> {
    key.into_iter().filter(|(_, value)| !value.is_null()).try_fold(0, |hash, (type_oid, value)| {
        Ok(hash_combine64(hash, hash_value_extended(type_oid, value, HASH_PARTITION_SEED)?))
    })
}

/// The input of a value's hash: one word, the value's bytes, or bytes made for the hash. Both
/// widths of hash are made from it.
enum Image<'a> {
    Word(u32),
    Slice(&'a [u8]),
    Bytes([u8; 16], usize),
    /// A value that hashes to a constant: zero, or the seed.
    Neutral,
}

fn short(bytes: &[u8]) -> Image<'static> {
    let mut buffer = [0; 16];
    buffer[..bytes.len()].copy_from_slice(bytes);
    Image::Bytes(buffer, bytes.len())
}

/// `hashint8` folds so that equal values of narrower types hash equal.
fn fold_int8(value: i64) -> u32 {
    let high = (value >> 32) as u32;
    value as u32 ^ if value >= 0 { high } else { !high }
}

fn image<'a>(type_oid: Oid, datum: &'a Datum) -> Option<Image<'a>> {
    Some(match datum {
        Datum::Bool(v) => Image::Word(u32::from(*v)),
        Datum::Char(v) => Image::Word(*v as i8 as u32),
        Datum::Int2(v) => Image::Word(*v as u32),
        Datum::Int4(v) | Datum::Date(v) => Image::Word(*v as u32),
        Datum::Oid(v) => Image::Word(*v),
        Datum::Int8(v) | Datum::Time(v) | Datum::Timestamp(v) | Datum::TimestampTz(v) => {
            Image::Word(fold_int8(*v))
        }
        Datum::Xid8(v) | Datum::PgLsn(v) => Image::Word(fold_int8(*v as i64)),
        Datum::Interval(v) => Image::Word(fold_int8(v.linear() as i64)),
        Datum::Float4(v) => float_image(f64::from(*v)),
        Datum::Float8(v) => float_image(*v),
        // PostgreSQL hashes the label's OID, which is another one in each database.
        Datum::Enum(_, order) => float_image(*order),
        Datum::Text(v) if type_oid == oid::BPCHAR => Image::Slice(bpchar_key(v).as_bytes()),
        Datum::Text(v) => Image::Slice(v.as_bytes()),
        Datum::Bytea(v) => Image::Slice(v),
        Datum::Uuid(v) => Image::Slice(&v[..]),
        Datum::Tid(block, offset) => {
            // ItemPointerData: the block number's halves, high first, then the offset.
            let mut bytes = [0; 6];
            bytes[..2].copy_from_slice(&((block >> 16) as u16).to_le_bytes());
            bytes[2..4].copy_from_slice(&(*block as u16).to_le_bytes());
            bytes[4..].copy_from_slice(&offset.to_le_bytes());
            short(&bytes)
        }
        _ => return None,
    })
}

fn float_image(value: f64) -> Image<'static> {
    if value == 0.0 { Image::Neutral } else { short(&float_bits(value).to_le_bytes()) }
}

#[cold]
fn not_hashable(datum: &Datum) -> Error {
    Error::internal(format!("no hash function for {datum:?}"))
}

/// The 32-bit hash of a non-null value, as the default hash operator class of its
/// type computes it.
pub fn hash_value(type_oid: Oid, datum: &Datum) -> Result<u32> {
    match image(type_oid, datum) {
        Some(Image::Word(word)) => return Ok(hash_uint32(word)),
        Some(Image::Slice(bytes)) => return Ok(hash_bytes(bytes)),
        Some(Image::Bytes(bytes, length)) => return Ok(hash_bytes(&bytes[..length])),
        Some(Image::Neutral) => return Ok(0),
        None => {}
    }
    match datum {
        Datum::TimeTz(time, zone) => Ok(hash_uint32(fold_int8(*time)) ^ hash_uint32(*zone as u32)),
        Datum::Numeric(v) => Ok(match numeric_image(v) {
            NumericImage::Special => 0,
            NumericImage::Zero => u32::MAX,
            NumericImage::Digits(digits, weight) => hash_bytes(&digits) ^ weight as u32,
        }),
        Datum::Array(v) if type_oid == oid::OIDVECTOR => Ok(hash_bytes(&vector_bytes(v))),
        Datum::Array(v) => fold32(1, &v.elements, |e| hash_value(v.element_type, e)),
        Datum::Record(v) => fold32(0, v, |c| hash_value(oid::INVALID_OID, c)),
        _ => Err(not_hashable(datum)),
    }
}

/// The seeded 64-bit hash of a non-null value.
pub fn hash_value_extended(type_oid: Oid, datum: &Datum, seed: u64) -> Result<u64> {
    match image(type_oid, datum) {
        Some(Image::Word(word)) => return Ok(hash_uint32_extended(word, seed)),
        Some(Image::Slice(bytes)) => return Ok(hash_bytes_extended(bytes, seed)),
        Some(Image::Bytes(bytes, length)) => {
            return Ok(hash_bytes_extended(&bytes[..length], seed));
        }
        Some(Image::Neutral) => return Ok(seed),
        None => {}
    }
    match datum {
        Datum::TimeTz(time, zone) => {
            Ok(hash_uint32_extended(fold_int8(*time), seed)
                ^ hash_uint32_extended(*zone as u32, seed))
        }
        Datum::Numeric(v) => Ok(match numeric_image(v) {
            NumericImage::Special => seed,
            NumericImage::Zero => seed.wrapping_sub(1),
            NumericImage::Digits(digits, weight) => {
                hash_bytes_extended(&digits, seed) ^ weight as i64 as u64
            }
        }),
        Datum::Array(v) if type_oid == oid::OIDVECTOR => {
            Ok(hash_bytes_extended(&vector_bytes(v), seed))
        }
        Datum::Array(v) => fold64(1, &v.elements, |e| hash_value_extended(v.element_type, e, seed)),
        Datum::Record(v) => fold64(0, v, |c| hash_value_extended(oid::INVALID_OID, c, seed)),
        _ => Err(not_hashable(datum)),
    }
}

fn fold32(start: u32, values: &[Datum], hash: impl Fn(&Datum) -> Result<u32>) -> Result<u32> {
    interruptible(values.iter()).try_fold(start, |sum, value| {
        let value = if value.is_null() { 0 } else { hash(value)? };
        Ok((sum << 5).wrapping_sub(sum).wrapping_add(value))
    })
}

fn fold64(start: u64, values: &[Datum], hash: impl Fn(&Datum) -> Result<u64>) -> Result<u64> {
    interruptible(values.iter()).try_fold(start, |sum, value| {
        let value = if value.is_null() { 0 } else { hash(value)? };
        Ok((sum << 5).wrapping_sub(sum).wrapping_add(value))
    })
}

fn vector_bytes(array: &crate::datum::Array) -> Vec<u8> {
    let words = array.elements.iter().filter_map(|e| e.as_oid().ok());
    words.flat_map(u32::to_le_bytes).collect()
}

enum NumericImage {
    Special,
    Zero,
    /// Base-10000 digits without leading and trailing zeros, as stored on a
    /// little-endian machine, and the weight of the first.
    Digits(Vec<u8>, i32),
}

/// `hash_numeric` uses digits and weight only, so that the scale does not matter. They are taken
/// from the binary wire form: (count, weight, sign, scale, digits), each a big-endian 16-bit word.
fn numeric_image(numeric: &crate::numeric::Numeric) -> NumericImage {
    if !numeric.is_finite() {
        return NumericImage::Special;
    }
    let mut wire = Vec::new();
    numeric.send(&mut wire);
    let (words, _) = wire.as_chunks::<2>();
    let Some((header, digits)) = words.split_first_chunk::<4>() else {
        return NumericImage::Zero;
    };
    let Some(first) = digits.iter().position(|d| *d != [0, 0]) else {
        return NumericImage::Zero;
    };
    let end = digits.iter().rposition(|d| *d != [0, 0]).map_or(first, |last| last + 1);
    let weight = i32::from(i16::from_be_bytes(header[1])) - first as i32;
    NumericImage::Digits(digits[first..end].iter().flat_map(|d| [d[1], d[0]]).collect(), weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datum::Array;
    use crate::interval::Interval;
    use std::sync::Arc;

    fn numeric(text: &str) -> Datum {
        Datum::Numeric(text.parse().unwrap())
    }

    fn int_array() -> Datum {
        Datum::Array(Arc::new(Array {
            element_type: oid::INT4,
            dimensions: vec![(3, 1)],
            elements: vec![Datum::Int4(1), Datum::Null, Datum::Int4(3)],
        }))
    }

    fn interval() -> Datum {
        Datum::Interval(Arc::new(Interval { months: 1, days: 2, micros: 0 }))
    }

    const NOON_EAST: Datum = Datum::TimeTz(43_200_000_000, -7200);

    /// Values that PostgreSQL 15.18 printed.
    #[test]
    fn hashes_are_postgresqls() {
        let uuid = 0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11_u128.to_be_bytes();
        let oids = Array {
            element_type: oid::OID,
            dimensions: vec![(3, 0)],
            elements: (1..=3).map(Datum::Oid).collect(),
        };
        let cases = [
            (oid::INT4, Datum::Int4(42), 1509752520),
            (oid::INT4, Datum::Int4(-1), 385747274),
            (oid::INT2, Datum::Int2(42), 1509752520),
            (oid::INT8, Datum::Int8(42), 1509752520),
            (oid::INT8, Datum::Int8(-1), 385747274),
            (oid::INT8, Datum::Int8(123456789012345), 297539683),
            (oid::TEXT, Datum::text("hello world, how are you"), -14574851),
            (oid::TEXT, Datum::text(""), -1477818771),
            (oid::TEXT, Datum::text("abc"), -785388649),
            (oid::FLOAT8, Datum::Float8(1.5), 630860146),
            (oid::FLOAT8, Datum::Float8(-0.0), 0),
            (oid::FLOAT4, Datum::Float4(1.5), 630860146),
            (oid::FLOAT8, Datum::Float8(f64::NAN), -1275764840),
            (oid::CHAR, Datum::Char(b'a'), 463612535),
            (oid::CHAR, Datum::Char(0xC3), 372385741),
            (oid::BPCHAR, Datum::text("ab  "), 1718550461),
            (oid::NUMERIC, numeric("0"), -1),
            (oid::NUMERIC, numeric("1.50"), 692967894),
            (oid::NUMERIC, numeric("1.5"), 692967894),
            (oid::NUMERIC, numeric("12345678.9"), -1037569625),
            (oid::NUMERIC, numeric("-0.00012"), 1267246686),
            (oid::NUMERIC, numeric("NaN"), 0),
            (oid::TIMETZ, NOON_EAST, -358750412),
            (oid::INTERVAL, interval(), 1529233503),
            (oid::UUID, Datum::Uuid(Arc::new(uuid)), 1154666245),
            (1007, int_array(), -1134681668),
            (oid::OID, Datum::Oid(4000000000), -739285521),
            (oid::TID, Datum::Tid(70000, 3), -1785034907),
            (oid::OIDVECTOR, Datum::Array(Arc::new(oids)), 1738594973),
            (oid::RECORD, Datum::Record([Datum::Int4(1), Datum::text("a")].into()), -2147270101),
        ];
        for (type_oid, datum, expected) in cases {
            assert_eq!(hash_value(type_oid, &datum).unwrap() as i32, expected, "{datum:?}");
        }
    }

    #[test]
    fn extended_hashes_are_postgresqls() {
        let cases = [
            (oid::INT4, Datum::Int4(42), 0, 8010225493015854792),
            (oid::INT4, Datum::Int4(42), 7, 3069212791777980624),
            (oid::INT8, Datum::Int8(-5), 7, -1153735631166043584),
            (oid::TEXT, Datum::text("hello world, how are you"), 7, 9216068309771433095),
            (oid::FLOAT8, Datum::Float8(0.0), 7, 7),
            (oid::FLOAT8, Datum::Float8(2.5), 7, 5034895273361876367),
            (oid::NUMERIC, numeric("0"), 7, 6),
            (oid::NUMERIC, numeric("12345678.9"), 7, -1484598596060607659),
            (oid::TIMETZ, NOON_EAST, 7, -2034367713752884702),
            (1007, int_array(), 7, -1800384250428611603),
            (oid::CHAR, Datum::Char(b'a'), 7, -9036076911657839185),
            (oid::INTERVAL, interval(), 7, -5381314390118921355),
        ];
        for (type_oid, datum, seed, expected) in cases {
            let hash = hash_value_extended(type_oid, &datum, seed).unwrap();
            assert_eq!(hash as i64, expected, "{datum:?}");
        }
    }

    /// `satisfies_hash_partition('h', 1000003, 823626, 1, 'x'::text)` is true.
    #[test]
    fn rows_go_to_postgresqls_partition() {
        let keys = [(oid::INT4, &Datum::Int4(1)), (oid::TEXT, &Datum::text("x"))];
        assert_eq!(partition_hash(keys).unwrap() % 1_000_003, 823_626);
    }
}
