//! Keys as columns: their hashes, and whether two are equal, as SQL's default equality says.
//!
//! A value hashes the same in every representation that a column may have, and rows hash column by
//! column: a hash is that of its first value, with those of the others mixed in. NULLs are equal.

use super::{Data, IntKind, Vector};
use crate::hashing::hash_value;
use std::hash::{Hash, Hasher};
use steppe_types::compare::{compare_floats, equal_as, hash_as, hash_datum};
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Oid, oid};

/// Puts the hashes of rows into `out`; the keys have a value for each of so many rows.
pub(crate) fn hash_rows(types: &[Oid], keys: &[&Vector], rows: usize, out: &mut Vec<u64>) {
    out.clear();
    out.resize(rows, 0);
    for (column, (type_oid, key)) in types.iter().zip(keys).enumerate() {
        match column {
            0 => hash_column(*type_oid, key, out, |_, hash| hash),
            _ => hash_column(*type_oid, key, out, mix),
        }
    }
}

#[inline]
fn mix(row: u64, value: u64) -> u64 {
    (row.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn hash_column(type_oid: Oid, key: &Vector, out: &mut [u64], mix: impl Fn(u64, u64) -> u64) {
    match &key.data {
        Data::Ints(IntKind::Bool, v) => {
            each(key, out, mix, |i| hash_value(|state| state.write_u8(1 + (v[i] != 0) as u8)));
        }
        Data::Ints(IntKind::Oid, v) => {
            each(key, out, mix, |i| hash_value(|state| state.write_u32(v[i] as u32)));
        }
        Data::Ints(IntKind::Date, v) => {
            each(key, out, mix, |i| hash_value(|state| state.write_i32(v[i] as i32)));
        }
        Data::Ints(_, v) => each(key, out, mix, |i| hash_value(|state| state.write_i64(v[i]))),
        Data::Floats(v) => {
            each(key, out, mix, |i| hash_value(|state| hash_datum(&Datum::Float8(v[i]), state)))
        }
        Data::Decimals(scale, v) => each(key, out, mix, |i| {
            hash_value(|state| Numeric::from_small(v[i], *scale).hash(state))
        }),
        Data::Texts(v) if type_oid == oid::BPCHAR => {
            each(key, out, mix, |i| hash_value(|state| unpadded(v.get(i)).hash(state)))
        }
        Data::Texts(v) => each(key, out, mix, |i| hash_value(|state| v.get(i).hash(state))),
        Data::Datums(v) => each(key, out, mix, |i| match &v[i] {
            Datum::Null => NULL_HASH,
            value => hash_value(|state| hash_as(type_oid, value, state)),
        }),
    }
}

/// Other than that of any frequent value.
const NULL_HASH: u64 = 0xC2B2_AE3D_27D4_EB4F;

/// Mixes the hash of each value, which `hash` knows if it is not NULL, into its row's.
#[inline]
fn each(key: &Vector, out: &mut [u64], mix: impl Fn(u64, u64) -> u64, hash: impl Fn(usize) -> u64) {
    if key.nulls.none() {
        for (i, row) in out.iter_mut().enumerate() {
            *row = mix(*row, hash(i));
        }
        return;
    }
    for (i, row) in out.iter_mut().enumerate() {
        *row = mix(*row, if key.nulls.get(i) { NULL_HASH } else { hash(i) });
    }
}

/// What counts of a `char(n)` value.
#[inline]
fn unpadded(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b' '] = text {
        text = rest;
    }
    text
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
        (Data::Texts(a), Data::Texts(b)) if type_oid == oid::BPCHAR => {
            unpadded(a.get(i)) == unpadded(b.get(j))
        }
        (Data::Texts(a), Data::Texts(b)) => a.get(i) == b.get(j),
        _ => match (a.datum(i), b.datum(j)) {
            (Ok(a), Ok(b)) => equal_as(type_oid, &a, &b),
            _ => false,
        },
    }
}

/// Calls `differs` with the rows whose value is not that at the place in `others` which `places`
/// has for them; rows without a place are passed over.
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

/// A row without a place.
pub(crate) const NO_PLACE: u32 = u32::MAX;
