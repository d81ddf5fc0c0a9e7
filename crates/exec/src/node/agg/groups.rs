//! The groups of a hashed aggregation whose keys are columns.
//!
//! A batch's rows find their groups in two steps, as in MonetDB/X100. First they are found by hash
//! alone, row by row. Then the keys are compared with those of the found groups, column by column.
//! In the rare case of two keys with one hash, the row is looked up again by hash and key.
//!
//! A group shows the key of its first row: 1.0 and 1.00 are one group.

use crate::vector::{Data, NO_PLACE, Vector, compare_at, equal_values};
use hashbrown::HashTable;
use steppe_spill::datum_bytes;
use steppe_types::{Oid, Result};

/// The groups that are in memory.
pub(super) struct Groups {
    types: Box<[Oid]>,
    /// Key columns, a value a group.
    keys: Vec<Vector>,
    hashes: Vec<u64>,
    index: HashTable<u32>,
    /// Bytes of keys, and of states as they grow with rows.
    pub(super) bytes: usize,
    /// Bytes of each group's states besides.
    pub(super) state_bytes: usize,
}

/// Bytes that a group takes beside its key and states: its hash, and its place in the index.
const GROUP_BYTES: usize = size_of::<u64>() + 2 * size_of::<u32>();

impl Groups {
    /// An empty set of groups, by keys of these types.
    pub(super) fn new(types: &[Oid]) -> Groups {
        Groups {
            types: types.into(),
            keys: vec![Vector::default(); types.len()],
            hashes: Vec::new(),
            index: HashTable::new(),
            bytes: 0,
            state_bytes: 0,
        }
    }

    /// The number of groups.
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.len() * (GROUP_BYTES + self.state_bytes)
    }

    /// The keys of the groups from `from` up to `end`, as columns.
    pub(super) fn keys(&self, from: usize, end: usize) -> Vec<Vector> {
        let groups: Vec<u32> = (from as u32..end as u32).collect();
        self.keys.iter().map(|key| key.gather(&groups)).collect()
    }

    /// Puts the group of each row into `out`. Past `limit` bytes no new groups are made, and their
    /// rows get [`NO_PLACE`].
    pub(super) fn find(
        &mut self,
        keys: &[&Vector],
        hashes: &[u64],
        limit: usize,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.clear();
        out.reserve(hashes.len());
        let mut last = None;
        for (row, hash) in hashes.iter().enumerate() {
            // Rows of a group often come one after the other.
            let group = match last {
                Some((of, group)) if of == *hash => group,
                _ => {
                    let known = &self.hashes;
                    let found = self.index.find(*hash, |group| known[*group as usize] == *hash);
                    match found {
                        Some(group) => *group,
                        None => self.insert(keys, row, *hash, limit)?,
                    }
                }
            };
            // Once there is no room, there is none for later rows either.
            last = Some((*hash, group));
            out.push(group);
        }
        let mut others = Vec::new();
        for ((type_oid, key), known) in self.types.iter().zip(keys).zip(&self.keys) {
            compare_at(*type_oid, key, known, out, |row| others.push(row));
        }
        others.sort_unstable();
        others.dedup();
        for row in others {
            out[row] = self.find_exactly(keys, row, hashes[row], limit)?;
        }
        Ok(())
    }

    fn find_exactly(
        &mut self,
        keys: &[&Vector],
        row: usize,
        hash: u64,
        limit: usize,
    ) -> Result<u32> {
        let same = |group: &u32| {
            self.hashes[*group as usize] == hash
                && self.types.iter().zip(keys).zip(&self.keys).all(|((type_oid, key), known)| {
                    equal_values(*type_oid, (key, row), (known, *group as usize))
                })
        };
        match self.index.find(hash, same) {
            Some(group) => Ok(*group),
            None => self.insert(keys, row, hash, limit),
        }
    }

    /// Makes a group of a row's key, unless there is no room.
    fn insert(&mut self, keys: &[&Vector], row: usize, hash: u64, limit: usize) -> Result<u32> {
        if self.bytes() > limit && !self.hashes.is_empty() {
            return Ok(NO_PLACE);
        }
        let group = self.hashes.len();
        for (known, key) in self.keys.iter_mut().zip(keys) {
            let typed = (!matches!(known.data, Data::Datums(_))).then(|| known.bytes());
            known.push_from(key, row)?;
            self.bytes += match (typed, &known.data) {
                (Some(before), Data::Datums(_)) => known.bytes().saturating_sub(before),
                _ => value_bytes(known, group),
            };
        }
        let group = group as u32;
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.index.insert_unique(hash, group, |group| hashes[*group as usize]);
        Ok(group)
    }
}

/// Bytes of memory that a key's value takes.
fn value_bytes(key: &Vector, group: usize) -> usize {
    match &key.data {
        Data::Texts(texts) => size_of::<(u32, u32)>() + texts.get(group).len(),
        Data::Datums(values) => datum_bytes(&values[group]),
        _ => size_of::<i64>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashing::equal_keys;
    use crate::vector::hash_rows;
    use proptest::prelude::*;
    use steppe_types::numeric::Numeric;
    use steppe_types::{Datum, oid};

    /// Values of three types. Some are equal but have different forms.
    fn value(column: usize, which: usize) -> Datum {
        let numerics = ["1.5", "1.50", "2", "2.000", "NaN", "1e25", "10000000000000000000000000.0"];
        let floats = [0.0, -0.0, 1.5, f64::NAN, -f64::NAN, f64::INFINITY];
        let texts = ["", " ", "a", "a  ", "b", "é "];
        match column {
            0 => numerics.get(which).map(|n| Datum::Numeric(Numeric::parse(n).unwrap())),
            1 => floats.get(which).map(|f| Datum::Float8(*f)),
            2 => texts.get(which).map(|t| Datum::text(*t)),
            _ => [3, 4, 5].get(which).map(|n| Datum::Int4(*n)),
        }
        .unwrap_or(Datum::Null)
    }

    const TYPES: [Oid; 4] = [oid::NUMERIC, oid::FLOAT8, oid::BPCHAR, oid::INT4];

    fn vector(rows: &[[usize; 4]], column: usize, as_datums: bool) -> Vector {
        let values = rows.iter().map(|row| value(column, row[column]));
        if as_datums {
            return Vector::datums(values.collect());
        }
        let mut vector = Vector::default();
        values.for_each(|value| vector.push(&value));
        vector
    }

    proptest! {
        #[test]
        fn rows_are_in_one_group_if_their_keys_are_equal(
            batches in proptest::collection::vec(
                (any::<bool>(), proptest::collection::vec(
                    proptest::array::uniform4(0usize..8), 0..12)), 1..5),
            columns in proptest::collection::vec(0usize..4, 1..4),
        ) {
            let types: Vec<Oid> = columns.iter().map(|column| TYPES[*column]).collect();
            let mut groups = Groups::new(&types);
            let mut known: Vec<Vec<Datum>> = Vec::new();
            for (as_datums, rows) in &batches {
                let keys: Vec<Vector> =
                    columns.iter().map(|column| vector(rows, *column, *as_datums)).collect();
                let keys: Vec<&Vector> = keys.iter().collect();
                let (mut hashes, mut found) = (Vec::new(), Vec::new());
                hash_rows(&types, &keys, rows.len(), &mut hashes);
                groups.find(&keys, &hashes, usize::MAX, &mut found).unwrap();
                for (row, group) in rows.iter().zip(&found) {
                    let key: Vec<Datum> = columns.iter().map(|c| value(*c, row[*c])).collect();
                    let same = |other: &Vec<Datum>| equal_keys(&types, other, &key);
                    let expected = known.iter().position(same).unwrap_or_else(|| {
                        known.push(key.clone());
                        known.len() - 1
                    });
                    prop_assert_eq!(*group as usize, expected);
                }
            }
            let columns = groups.keys(0, groups.len());
            for (group, key) in known.iter().enumerate() {
                let shown: Vec<Datum> = columns.iter().map(|c| c.datum(group).unwrap()).collect();
                prop_assert_eq!(format!("{shown:?}"), format!("{key:?}"));
            }
        }

        #[test]
        fn keys_of_one_hash_are_told_apart(
            rows in proptest::collection::vec(proptest::array::uniform4(0usize..8), 1..20),
        ) {
            let keys = vector(&rows, 3, false);
            let mut groups = Groups::new(&[oid::INT4]);
            let mut found = Vec::new();
            groups.find(&[&keys], &vec![7; rows.len()], usize::MAX, &mut found).unwrap();
            for (a, of_a) in rows.iter().zip(&found) {
                for (b, of_b) in rows.iter().zip(&found) {
                    let equal = value(3, a[3]) == value(3, b[3]);
                    prop_assert_eq!(of_a == of_b, equal);
                }
            }
        }
    }
}
