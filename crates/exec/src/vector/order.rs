//! The order of rows by key columns, through byte keys.
//!
//! The order of byte strings is the order of the rows whose keys they encode (normalized keys, see
//! Härder 1977 and Graefe's survey of sorting 2006; DuckDB has them, too). A short key is one
//! integer, which is sorted with the row's number and nothing else. The first eight bytes of a
//! longer key decide most comparisons.
//!
//! The bytes of integers, dates, times and mantissas have the sign inverted. Those of floats have
//! NaN greatest and one zero. A string, which has no zero byte inside, ends with one. A descending
//! order inverts all bytes. If there may be NULLs, a flag comes first. Columns of other
//! representations are compared as datums.

use super::column::{Data, IntKind, Vector};
use super::keys::counted;
use crate::sorter::{SortColumn, compare_key, prefix};
use std::cmp::Ordering;
use steppe_types::{Datum, Result};

/// The meaning of a key's bytes. Keys of different forms do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Integers with this number of bits, signed or not.
    Ints(u32, bool),
    Floats,
    Decimals(u8),
    Texts,
}

impl Form {
    fn of(data: &Data) -> Option<Form> {
        Some(match data {
            Data::Ints(IntKind::Bool, _) => Form::Ints(8, false),
            Data::Ints(IntKind::Int2, _) => Form::Ints(16, true),
            Data::Ints(IntKind::Int4 | IntKind::Date, _) => Form::Ints(32, true),
            Data::Ints(IntKind::Oid, _) => Form::Ints(32, false),
            Data::Ints(..) => Form::Ints(64, true),
            Data::Floats(_) => Form::Floats,
            Data::Decimals(scale, _) => Form::Decimals(*scale),
            Data::Texts(_) => Form::Texts,
            Data::Datums(_) => return None,
        })
    }

    /// The number of bits of a value; `None` if it varies.
    fn bits(self) -> Option<u32> {
        match self {
            Form::Ints(bits, _) => Some(bits),
            Form::Floats | Form::Decimals(_) => Some(64),
            Form::Texts => None,
        }
    }
}

/// A key column with its form, and whether a flag marks NULLs.
#[derive(Clone, Copy)]
struct Key<'a> {
    column: &'a SortColumn,
    values: &'a Vector,
    form: Form,
    has_flag: bool,
}

/// The key columns; `None` if one is compared as datums.
fn keys_of<'a>(
    keys: &'a [SortColumn],
    columns: &[&'a Vector],
    always_flag: bool,
) -> Option<Vec<Key<'a>>> {
    let key = |column: &'a SortColumn| {
        let values = *columns.get(column.index)?;
        let form = Form::of(&values.data)?;
        let has_flag = always_flag || !values.nulls.none();
        Some(Key { column, values, form, has_flag })
    };
    keys.iter().map(key).collect()
}

impl Key<'_> {
    /// The flag before a value. It is greater if the value sorts later.
    fn flag(&self, i: usize) -> u8 {
        u8::from(self.values.nulls.get(i) != self.column.nulls_first)
    }

    /// The lowest `bits` bits of a value that has a fixed number of them: in its order.
    #[inline]
    fn fixed(&self, i: usize, bits: u32) -> u64 {
        if self.values.nulls.get(i) {
            return 0;
        }
        let value = match (&self.values.data, self.form) {
            (Data::Ints(_, v), Form::Ints(bits, true)) => (v[i] as u64) ^ (1 << (bits - 1)),
            (Data::Ints(_, v), _) => v[i] as u64,
            (Data::Decimals(_, v), _) => (v[i] as u64) ^ (1 << 63),
            (Data::Floats(v), _) => float_bits(v[i]),
            _ => 0,
        };
        let value = if self.column.descending { !value } else { value };
        value & (u64::MAX >> (64 - bits))
    }

    /// Appends the bytes of a row's value.
    fn write(&self, i: usize, out: &mut Vec<u8>) {
        if self.has_flag {
            out.push(self.flag(i));
        }
        match (&self.values.data, self.form.bits()) {
            (_, Some(bits)) => {
                let value = self.fixed(i, bits).to_be_bytes();
                out.extend_from_slice(&value[8 - bits as usize / 8..]);
            }
            (Data::Texts(_), None) if self.values.nulls.get(i) => {}
            (Data::Texts(texts), None) => {
                let text = counted(self.column.type_oid, texts.get(i));
                if self.column.descending {
                    out.extend(text.iter().map(|byte| !byte));
                    out.push(u8::MAX);
                } else {
                    out.extend_from_slice(text);
                    out.push(0);
                }
            }
            _ => {}
        }
    }
}

/// The bits of a float in PostgreSQL's order: NaN is greatest, and zeros are equal.
fn float_bits(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The numbers of `rows` rows in the order of the keys. Equal rows stay in their order.
pub(crate) fn sorted_rows(
    keys: &[SortColumn],
    columns: &[&Vector],
    rows: usize,
) -> Result<Vec<u32>> {
    let Some(keyed) = keys_of(keys, columns, false) else {
        return sorted_datums(keys, columns, rows);
    };
    let bits = keyed.iter().map(|key| Some(key.form.bits()? + u32::from(key.has_flag)));
    let bits: Option<u32> = bits.sum();
    let mut order: Vec<(u64, u32)> = match bits {
        Some(..=64) => {
            let mut order: Vec<(u64, u32)> = (0..rows as u32).map(|i| (0, i)).collect();
            keyed.iter().for_each(|key| add_short(key, &mut order));
            order.sort_unstable();
            order
        }
        _ => sorted_long(&keyed, rows),
    };
    Ok(order.drain(..).map(|(_, i)| i).collect())
}

/// Appends a key's bits to the rows' bits.
fn add_short(key: &Key<'_>, order: &mut [(u64, u32)]) {
    let bits = key.form.bits().unwrap_or_default();
    for (digest, i) in order {
        let i = *i as usize;
        if key.has_flag {
            *digest = *digest << 1 | u64::from(key.flag(i));
        }
        *digest = digest.checked_shl(bits).unwrap_or_default() | key.fixed(i, bits);
    }
}

/// Rows by keys of more than eight bytes.
fn sorted_long(keys: &[Key<'_>], rows: usize) -> Vec<(u64, u32)> {
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows + 1));
    ends.push(0);
    for i in 0..rows {
        keys.iter().for_each(|key| key.write(i, &mut bytes));
        ends.push(bytes.len());
    }
    let key = |i: u32| &bytes[ends[i as usize]..ends[i as usize + 1]];
    let mut order: Vec<(u64, u32)> = (0..rows as u32).map(|i| (leading(key(i)), i)).collect();
    order.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))).then(a.1.cmp(&b.1))
    });
    order
}

/// The first eight bytes, filled up with zeros. A complete key is never the beginning of another
/// one.
fn leading(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let n = key.len().min(8);
    first[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(first)
}

/// Rows by keys that are compared as datums.
fn sorted_datums(keys: &[SortColumn], columns: &[&Vector], rows: usize) -> Result<Vec<u32>> {
    let mut values: Vec<Vec<Datum>> = Vec::with_capacity(keys.len());
    for key in keys {
        let column = columns[key.index];
        values.push((0..rows).map(|i| column.datum(i)).collect::<Result<_>>()?);
    }
    let digest = |i: usize| keys.first().map_or(0, |key| prefix(key, &values[0][i]));
    let mut order: Vec<(u64, u32)> = (0..rows).map(|i| (digest(i), i as u32)).collect();
    let compare = |a: u32, b: u32| {
        let orders = keys.iter().zip(&values);
        let mut orders = orders.map(|(key, v)| compare_key(key, &v[a as usize], &v[b as usize]));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    order
        .sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| compare(a.1, b.1)).then(a.1.cmp(&b.1)));
    Ok(order.into_iter().map(|(_, i)| i).collect())
}

/// The keys of a row. Later rows that do not sort before it are dropped.
pub(crate) struct Barrier {
    forms: Vec<Form>,
    key: Vec<u8>,
}

impl Barrier {
    /// Row `i`; `None` if its keys have no byte form.
    pub(crate) fn at(keys: &[SortColumn], columns: &[&Vector], i: usize) -> Option<Barrier> {
        let keyed = keys_of(keys, columns, true)?;
        let mut key = Vec::new();
        keyed.iter().for_each(|part| part.write(i, &mut key));
        Some(Barrier { forms: keyed.iter().map(|key| key.form).collect(), key })
    }

    /// The rows that sort before it; `None` if their keys are of other forms.
    pub(crate) fn before(
        &self,
        keys: &[SortColumn],
        columns: &[&Vector],
        rows: usize,
    ) -> Option<Vec<u32>> {
        let keyed = keys_of(keys, columns, true)?;
        if !keyed.iter().map(|key| key.form).eq(self.forms.iter().copied()) {
            return None;
        }
        let mut key = Vec::new();
        let mut is_before = |i: &u32| {
            key.clear();
            // Most rows differ in the first part.
            let mut orders = keyed.iter().map(|part| {
                part.write(*i as usize, &mut key);
                let len = key.len().min(self.key.len());
                key[..len].cmp(&self.key[..len])
            });
            orders.find(|order| order.is_ne()) == Some(Ordering::Less)
        };
        Some((0..rows as u32).filter(|i| is_before(i)).collect())
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
