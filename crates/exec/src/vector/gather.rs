//! Moving values between vectors: appending to a store of many batches, and picking from it.

use super::column::{Data, MAX_TEXT_BYTES, Nulls, Texts, Vector, representation};
use hashbrown::HashMap;
use steppe_spill::datum_bytes;
use steppe_types::Datum;

/// The place of a row that is not there: its values are NULL.
pub(crate) const NO_ROW: u32 = u32::MAX;

impl Vector {
    /// Bytes of memory the values take, for accounting against work_mem.
    pub(crate) fn bytes(&self) -> usize {
        let values = match &self.data {
            Data::Ints(_, v) | Data::Decimals(_, v) => v.len() * size_of::<i64>(),
            Data::Floats(v) => v.len() * size_of::<f64>(),
            Data::Texts(v) => v.len() * size_of::<(u32, u32)>() + v.byte_len(),
            Data::Datums(v) => v.iter().map(datum_bytes).sum(),
        };
        values + self.nulls.flags().len()
    }

    /// Appends all values of another vector.
    pub(crate) fn append(&mut self, from: &Vector) {
        let len = self.len();
        if len == 0 {
            self.clone_from(from);
            return self.settle();
        }
        match (&mut self.data, &from.data) {
            (Data::Ints(a, v), Data::Ints(b, w)) if a == b => v.extend_from_slice(w),
            (Data::Decimals(a, v), Data::Decimals(b, w)) if a == b => v.extend_from_slice(w),
            (Data::Floats(v), Data::Floats(w)) => v.extend_from_slice(w),
            (Data::Datums(v), Data::Datums(w)) => return v.extend_from_slice(w),
            (Data::Texts(v), Data::Texts(w)) if v.has_room(w.byte_len()) => {
                (0..w.len()).for_each(|i| v.push(w.get(i)));
            }
            _ => return self.append_one_by_one(from, 0..from.len()),
        }
        self.nulls.append(len, &from.nulls, from.len());
    }

    /// Appends the values at these places of another vector.
    pub(crate) fn append_rows(&mut self, from: &Vector, rows: &[u32]) {
        let at = |i: &u32| *i as usize;
        let len = self.len();
        if len == 0 {
            *self = from.gather(rows);
            return self.settle();
        }
        match (&mut self.data, &from.data) {
            (Data::Ints(a, v), Data::Ints(b, w)) if a == b => {
                v.extend(rows.iter().map(|i| w[at(i)]));
            }
            (Data::Decimals(a, v), Data::Decimals(b, w)) if a == b => {
                v.extend(rows.iter().map(|i| w[at(i)]));
            }
            (Data::Floats(v), Data::Floats(w)) => v.extend(rows.iter().map(|i| w[at(i)])),
            (Data::Datums(v), Data::Datums(w)) => {
                return v.extend(rows.iter().map(|i| w[at(i)].clone()));
            }
            (Data::Texts(v), Data::Texts(w)) if v.has_room(w.byte_len()) => {
                rows.iter().for_each(|i| v.push(w.get(at(i))));
            }
            _ => return self.append_one_by_one(from, rows.iter().map(at)),
        }
        rows.iter().enumerate().for_each(|(n, i)| self.nulls.push(len + n, from.nulls.get(at(i))));
    }

    /// The values as integers, dates or times, if they are.
    pub(crate) fn integers(&self) -> Option<&[i64]> {
        match &self.data {
            Data::Ints(_, values) => Some(values),
            _ => None,
        }
    }

    /// Gives datums the representation of the first that is not NULL.
    pub(crate) fn settle(&mut self) {
        let Data::Datums(values) = &self.data else { return };
        let Some(first) = values.iter().position(|value| !value.is_null()) else { return };
        let data = representation(&values[first]);
        if matches!(data, Data::Datums(_)) {
            return;
        }
        let mut settled = Vector { data, ..Vector::default() };
        values.iter().for_each(|value| settled.append_datum(value));
        *self = settled;
    }

    /// Appends values of another representation; a text that cannot be read is never put in.
    fn append_one_by_one(&mut self, from: &Vector, rows: impl Iterator<Item = usize>) {
        rows.for_each(|i| self.push(&from.datum(i).unwrap_or(Datum::Null)));
    }

    /// The values at these places, which may be named often; a NULL for each [`NO_ROW`].
    pub(crate) fn pick(&self, rows: &[u32]) -> Vector {
        let data = match &self.data {
            Data::Ints(kind, v) => Data::Ints(*kind, pick(v, rows)),
            Data::Decimals(scale, v) => Data::Decimals(*scale, pick(v, rows)),
            Data::Floats(v) => Data::Floats(pick(v, rows)),
            Data::Texts(v) => match pick_texts(v, rows) {
                Some(texts) => Data::Texts(texts),
                None => return self.pick_shared(rows),
            },
            Data::Datums(v) => {
                let value = |i: &u32| v.get(*i as usize).cloned().unwrap_or(Datum::Null);
                return Vector::datums(rows.iter().map(value).collect());
            }
        };
        let null = |i: &u32| *i == NO_ROW || self.nulls.get(*i as usize);
        let nulls = match self.nulls.none() && !rows.contains(&NO_ROW) {
            true => Nulls::default(),
            false => Nulls::from_flags(rows.iter().map(null).collect()),
        };
        Vector { data, nulls }
    }

    /// [`Self::pick`] of long strings: as datums, each of which is made once.
    fn pick_shared(&self, rows: &[u32]) -> Vector {
        let mut made = HashMap::new();
        let value = |i: &u32| match *i {
            NO_ROW => Datum::Null,
            i => made
                .entry(i)
                .or_insert_with(|| self.datum(i as usize).unwrap_or(Datum::Null))
                .clone(),
        };
        Vector::datums(rows.iter().map(value).collect())
    }
}

fn pick<T: Copy + Default>(values: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|i| values.get(*i as usize).copied().unwrap_or_default()).collect()
}

/// `None`: together they take too much memory.
fn pick_texts(values: &Texts, rows: &[u32]) -> Option<Texts> {
    let there = |i: &&u32| **i != NO_ROW;
    let bytes: usize = rows.iter().filter(there).map(|i| values.get(*i as usize).len()).sum();
    if bytes > MAX_TEXT_BYTES {
        return None;
    }
    let mut out = Texts::with_capacity(rows.len(), bytes);
    for i in rows {
        out.push(if *i == NO_ROW { &[] } else { values.get(*i as usize) });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::IntKind;

    fn texts(values: &[Option<&str>]) -> Vector {
        let mut out = Vector { data: Data::Texts(Texts::default()), nulls: Default::default() };
        values.iter().for_each(|v| out.push(&v.map_or(Datum::Null, Datum::text)));
        out
    }

    fn datums(vector: &Vector) -> Vec<Datum> {
        (0..vector.len()).map(|i| vector.datum(i).unwrap()).collect()
    }

    #[test]
    fn appending_keeps_values_and_nulls_whatever_the_representations() {
        let ints = |values: &[i64]| Vector {
            data: Data::Ints(IntKind::Int4, values.to_vec()),
            nulls: Nulls::default(),
        };
        let mixed = Vector::datums(vec![Datum::Null, Datum::Int4(7)]);
        let mut out = ints(&[1, 2]);
        out.append(&mixed);
        out.append(&ints(&[3]));
        out.append_rows(&mixed, &[1, 0]);
        let expected = [Some(1), Some(2), None, Some(7), Some(3), Some(7), None];
        let expected: Vec<Datum> =
            expected.iter().map(|v| v.map_or(Datum::Null, Datum::Int4)).collect();
        assert_eq!(datums(&out), expected);
        assert!(matches!(out.data, Data::Ints(..)));
        out.append(&Vector::datums(vec![Datum::Int8(9)]));
        assert_eq!(out.datum(7).unwrap(), Datum::Int8(9));
        assert_eq!(out.datum(2).unwrap(), Datum::Null);
    }

    #[test]
    fn picking_repeats_and_makes_nulls() {
        let vector = texts(&[Some("a"), None, Some("bc")]);
        let picked = vector.pick(&[2, NO_ROW, 1, 2, 0]);
        let expected = ["bc", "", "", "bc", "a"];
        let expected: Vec<Datum> = expected
            .iter()
            .map(|t| if t.is_empty() { Datum::Null } else { Datum::text(*t) })
            .collect();
        assert_eq!(datums(&picked), expected);
        let long = "x".repeat(MAX_TEXT_BYTES / 2);
        let picked = texts(&[Some(&long)]).pick(&[0, 0, NO_ROW, 0]);
        assert!(matches!(picked.data, Data::Datums(_)));
        assert_eq!(picked.datum(3).unwrap(), Datum::text(&*long));
        assert!(picked.is_null(2));
    }
}
