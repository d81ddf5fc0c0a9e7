//! Hashing and comparing rows by key columns, as SQL's default equality does.
//!
//! A value has the same hash in every representation of a vector: a kernel feeds the same words to
//! [`Mixer`] as [`hash_as`] does for the datum. The mixing is foldhash's multiplication of 64 by 64
//! bits, folded (Orson Peters, 2024). NULLs have one hash and are equal.

use super::column::{Data, IntKind, Vector};
use std::hash::{Hash, Hasher};
use steppe_types::compare::{compare_floats, equal_as, hash_as, hash_datum};
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Oid, oid};

const SEED: u64 = 0x57E9_9E00_243F_6A89;
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hasher of few instructions for values of few bytes.
struct Mixer(u64);

impl Mixer {
    #[inline]
    fn mix(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * u128::from(FACTOR);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            // The length distinguishes trailing zeros.
            self.mix(u64::from_le_bytes(word) ^ ((rest.len() as u64) << 56));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.mix(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.mix(value.into());
    }

    #[inline]
    fn write_i32(&mut self, value: i32) {
        self.mix(i64::from(value) as u64);
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    #[inline]
    fn write_i64(&mut self, value: i64) {
        self.mix(value as u64);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
}

/// The hash of a NULL.
const NULL: u64 = 0xC2B2_AE3D_27D4_EB4F;

/// A row without a place.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// Puts the hashes of `rows` rows into `out`. Each key has a value for each row.
pub(crate) fn hash_rows(types: &[Oid], keys: &[&Vector], rows: usize, out: &mut Vec<u64>) {
    out.clear();
    out.resize(rows, SEED);
    for (type_oid, key) in types.iter().zip(keys) {
        hash_column(*type_oid, key, out);
    }
}

fn hash_column(type_oid: Oid, key: &Vector, out: &mut [u64]) {
    match &key.data {
        // A boolean differs from a NULL as in [`hash_datum`].
        Data::Ints(IntKind::Bool, v) => {
            each(key, out, |i, mixer| mixer.write_u8(1 + (v[i] != 0) as u8));
        }
        Data::Ints(_, v) => each(key, out, |i, mixer| mixer.write_i64(v[i])),
        Data::Floats(v) => each(key, out, |i, mixer| hash_datum(&Datum::Float8(v[i]), mixer)),
        Data::Decimals(scale, v) => {
            each(key, out, |i, mixer| Numeric::from_small(v[i], *scale).hash(mixer));
        }
        Data::Texts(v) => each(key, out, |i, mixer| counted(type_oid, v.get(i)).hash(mixer)),
        Data::Datums(v) => each(key, out, |i, mixer| match &v[i] {
            Datum::Null => mixer.mix(NULL),
            value => hash_as(type_oid, value, mixer),
        }),
    }
}

/// Mixes the hash of each value into its row's; `feed` hashes one that is not NULL.
#[inline]
fn each(key: &Vector, out: &mut [u64], feed: impl Fn(usize, &mut Mixer)) {
    let has_nulls = !key.nulls.none();
    for (i, hash) in out.iter_mut().enumerate() {
        let mut mixer = Mixer(*hash);
        match has_nulls && key.nulls.get(i) {
            true => mixer.mix(NULL),
            false => feed(i, &mut mixer),
        }
        *hash = mixer.0;
    }
}

/// The bytes of a string that count in comparisons of this type.
#[inline]
pub(super) fn counted(type_oid: Oid, text: &[u8]) -> &[u8] {
    match type_oid {
        oid::BPCHAR => {
            let blanks = text.iter().rev().take_while(|byte| **byte == b' ').count();
            &text[..text.len() - blanks]
        }
        _ => text,
    }
}

/// Whether value `i` of one column and value `j` of another, of the same type, are equal.
pub(crate) fn equal_values(
    type_oid: Oid,
    (a, i): (&Vector, usize),
    (b, j): (&Vector, usize),
) -> bool {
    match (a.is_null(i), b.is_null(j)) {
        (false, false) => {}
        (a, b) => return a == b,
    }
    match (&a.data, &b.data) {
        (Data::Ints(_, a), Data::Ints(_, b)) => a[i] == b[j],
        (Data::Decimals(of_a, a), Data::Decimals(of_b, b)) if of_a == of_b => a[i] == b[j],
        (Data::Floats(a), Data::Floats(b)) => compare_floats(a[i], b[j]).is_eq(),
        (Data::Texts(a), Data::Texts(b)) => {
            counted(type_oid, a.get(i)) == counted(type_oid, b.get(j))
        }
        _ => match (a.datum(i), b.datum(j)) {
            (Ok(a), Ok(b)) => equal_as(type_oid, &a, &b),
            _ => false,
        },
    }
}

/// Calls `differs` with the rows whose value differs from the one in `others` at the row's place in
/// `places`. Rows without a place are skipped.
pub(crate) fn compare_at(
    type_oid: Oid,
    values: &Vector,
    others: &Vector,
    places: &[u32],
    differs: impl FnMut(usize),
) {
    if values.nulls.none() && others.nulls.none() {
        match (&values.data, &others.data) {
            (Data::Ints(_, a), Data::Ints(_, b)) => {
                return check(places, |i, j| a[i] == b[j], differs);
            }
            (Data::Decimals(x, a), Data::Decimals(y, b)) if x == y => {
                return check(places, |i, j| a[i] == b[j], differs);
            }
            _ => {}
        }
    }
    check(places, |i, j| equal_values(type_oid, (values, i), (others, j)), differs);
}

#[inline]
fn check(places: &[u32], equal: impl Fn(usize, usize) -> bool, mut differs: impl FnMut(usize)) {
    for (i, place) in places.iter().enumerate() {
        if *place != NO_PLACE && !equal(i, *place as usize) {
            differs(i);
        }
    }
}

/// Sets for each row except the first whether its value differs from the one before.
pub(crate) fn mark_changes(type_oid: Oid, values: &Vector, changed: &mut [bool]) {
    let pairs = changed.iter_mut().enumerate().skip(1);
    match &values.data {
        Data::Ints(_, v) | Data::Decimals(_, v) if values.nulls.none() => {
            pairs.for_each(|(i, changed)| *changed |= v[i] != v[i - 1]);
        }
        _ => pairs.for_each(|(i, changed)| {
            *changed |= !*changed && !equal_values(type_oid, (values, i), (values, i - 1));
        }),
    }
}

/// Whether each row has a NULL in its key; empty if none has.
pub(crate) fn null_keys(keys: &[&Vector], rows: usize) -> Vec<bool> {
    let mut out = Vec::new();
    for key in keys {
        let none = match &key.data {
            Data::Datums(v) => !v.iter().any(Datum::is_null),
            _ => key.nulls.none(),
        };
        if !none {
            out.resize(rows, false);
            out.iter_mut().enumerate().for_each(|(i, null)| *null |= key.is_null(i));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(type_oid: Oid, key: &Vector) -> u64 {
        let mut out = Vec::new();
        hash_rows(&[type_oid], &[key], 1, &mut out);
        out[0]
    }

    fn vector(value: &Datum) -> Vector {
        let mut out = Vector::default();
        out.push(value);
        out
    }

    fn numeric(text: &str) -> Datum {
        Datum::Numeric(text.parse().unwrap())
    }

    #[test]
    fn equal_values_hash_alike_in_every_representation() {
        let same = [
            (oid::INT8, Datum::Int2(-7), Datum::Int8(-7)),
            (oid::INT8, Datum::Int4(i32::MIN), Datum::Int8(i32::MIN.into())),
            (oid::FLOAT8, Datum::Float8(-0.0), Datum::Float4(0.0)),
            (oid::FLOAT8, Datum::Float8(f64::NAN), Datum::Float8(-f64::NAN)),
            (oid::NUMERIC, numeric("1.50"), numeric("1.5")),
            (oid::NUMERIC, numeric("120"), numeric("120.0000000000000000000000000")),
            (oid::NUMERIC, numeric("-0.0"), numeric("0")),
            (oid::BPCHAR, Datum::text("ab   "), Datum::text("ab")),
            (oid::BPCHAR, Datum::text("   "), Datum::text("")),
            (oid::TEXT, Datum::text("twelve bytes"), Datum::text("twelve bytes")),
            (oid::BOOL, Datum::Bool(true), Datum::Bool(true)),
            (oid::DATE, Datum::Date(-3), Datum::Date(-3)),
            (oid::OID, Datum::Oid(u32::MAX), Datum::Oid(u32::MAX)),
        ];
        for (type_oid, a, b) in same {
            let forms = [&a, &b].map(|v| [vector(v), Vector::datums(vec![v.clone()])]);
            for x in forms.as_flattened() {
                for y in forms.as_flattened() {
                    assert_eq!(hash_of(type_oid, x), hash_of(type_oid, y), "{a:?} {b:?}");
                    assert!(equal_values(type_oid, (x, 0), (y, 0)), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn changes_are_where_a_value_is_not_that_of_the_row_before() {
        let texts = [Some("a"), Some("a  "), None, None, Some("b"), Some("a")];
        let texts: Vec<Datum> = texts.iter().map(|t| t.map_or(Datum::Null, Datum::text)).collect();
        let floats = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::INFINITY];
        let floats: Vec<Datum> = floats.map(Datum::Float8).to_vec();
        let ints = [3, 3, 4, 4, 4, 5].map(Datum::Int4).to_vec();
        let nulls = [Datum::Int8(1), Datum::Null, Datum::Null, Datum::Int8(0), Datum::Int8(0)];
        let cases = [
            (oid::BPCHAR, texts.clone(), "01011"),
            (oid::TEXT, texts, "11011"),
            (oid::FLOAT8, floats, "01010"),
            (oid::INT4, ints, "01001"),
            (oid::INT8, nulls.to_vec(), "1010"),
        ];
        for (type_oid, values, expected) in cases {
            let expected: Vec<bool> = expected.chars().map(|c| c == '1').collect();
            for vector in [Vector::of(values.clone()), Vector::datums(values)] {
                let mut changed = vec![false; vector.len()];
                mark_changes(type_oid, &vector, &mut changed);
                assert_eq!(changed[1..], expected, "{type_oid}");
            }
        }
        let mut none: [bool; 0] = [];
        mark_changes(oid::INT4, &Vector::default(), &mut none);
    }

    #[test]
    fn different_values_are_told_apart() {
        let text = |text: &str| vector(&Datum::text(text));
        assert!(!equal_values(oid::TEXT, (&text("ab "), 0), (&text("ab"), 0)));
        assert_ne!(hash_of(oid::TEXT, &text("ab ")), hash_of(oid::TEXT, &text("ab")));
        assert_ne!(hash_of(oid::TEXT, &text("a\0")), hash_of(oid::TEXT, &text("a")));
        let scaled = |text: &str| vector(&numeric(text));
        assert!(!equal_values(oid::NUMERIC, (&scaled("1.5"), 0), (&scaled("0.15"), 0)));
        assert_ne!(hash_of(oid::NUMERIC, &scaled("1.5")), hash_of(oid::NUMERIC, &scaled("0.15")));
    }
}
