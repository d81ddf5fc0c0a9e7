//! The inner side of a hash join over columns.
//!
//! Rows are appended as columns. When all are there, as many buckets as rows are made. A bucket has
//! the first row of its chain, and a filter with a bit for each of the chain's rows. So a look-up
//! of a missing key seldom costs more than reading its bucket (Leis et al., 2014, tag their
//! pointers so). Rows are put at the head of their chain. So the rows of one key are found last in,
//! first out, as in the table of rows.

use crate::sought::Buckets;
use crate::vector::{NO_ROW, Vector, equal_values, null_keys};
use std::sync::Arc;
use steppe_types::Oid;

/// The place of a key's values.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyAt {
    /// A column of the row.
    Column(usize),
    /// One of the columns that are computed for keys.
    Computed(usize),
}

/// Rows as columns, with the computed columns of their keys.
#[derive(Default)]
pub(super) struct Keyed {
    pub(super) rows: usize,
    pub(super) columns: Vec<Vector>,
    pub(super) computed: Vec<Vector>,
}

impl Keyed {
    /// An empty batch with `width` columns and `computed` key columns.
    pub(super) fn new(width: usize, computed: usize) -> Keyed {
        let vectors = |count| (0..count).map(|_| Vector::default()).collect();
        Keyed { rows: 0, columns: vectors(width), computed: vectors(computed) }
    }

    /// The columns of the keys.
    pub(super) fn keys(&self, keys: &[KeyAt]) -> Vec<&Vector> {
        let key = |key: &KeyAt| match *key {
            KeyAt::Column(i) => &self.columns[i],
            KeyAt::Computed(i) => &self.computed[i],
        };
        keys.iter().map(key).collect()
    }

    /// Gives the columns of the keys the representation that their values have.
    pub(super) fn type_keys(&mut self, keys: &[KeyAt]) {
        for key in keys {
            let column = match *key {
                KeyAt::Column(i) => &mut self.columns[i],
                KeyAt::Computed(i) => &mut self.computed[i],
            };
            column.settle();
        }
    }

    /// Keeps these rows.
    pub(super) fn keep(&mut self, rows: &[u32]) {
        self.rows = rows.len();
        for column in self.columns.iter_mut().chain(&mut self.computed) {
            if column.len() > 0 {
                *column = column.gather(rows);
            }
        }
    }
}

/// The inner rows in memory.
#[derive(Default)]
pub(super) struct Table {
    pub(super) inner: Keyed,
    /// The hash of each row, until it is not needed any more.
    pub(super) hashes: Vec<u64>,
    pub(super) buckets: Arc<Buckets>,
    /// The next row of each row's chain.
    next: Vec<u32>,
    /// The bytes of the rows, with their places in chains and buckets.
    pub(super) bytes: usize,
}

impl Table {
    pub(super) fn new(width: usize, computed: usize) -> Table {
        Table { inner: Keyed::new(width, computed), ..Table::default() }
    }

    /// Appends rows, with only the columns of `kept`.
    pub(super) fn append(&mut self, rows: &Keyed, kept: &[usize], hashes: &[u64]) {
        let columns = kept.iter().map(|i| (*i, &rows.columns[*i]));
        for (i, column) in columns {
            self.bytes += column.bytes();
            self.inner.columns[i].append(column);
        }
        for (i, column) in rows.computed.iter().enumerate() {
            self.bytes += column.bytes();
            self.inner.computed[i].append(column);
        }
        self.inner.rows += rows.rows;
        self.hashes.extend_from_slice(hashes);
        // A hash, a link and, on average, one and a half buckets.
        self.bytes += rows.rows * 24;
    }

    /// Makes the buckets. A row with a NULL in its key is in none.
    pub(super) fn index(&mut self, keys: &[KeyAt]) {
        let keys = self.inner.keys(keys);
        let rows = self.inner.rows;
        let nulls = null_keys(&keys, rows);
        let mut buckets = Buckets::new(rows);
        self.next = vec![NO_ROW; rows];
        for (i, hash) in self.hashes.iter().enumerate() {
            if nulls.get(i) != Some(&true) {
                self.next[i] = buckets.insert(*hash, i as u32);
            }
        }
        self.buckets = Arc::new(buckets);
        if one_integer(&keys) {
            self.hashes = Vec::new();
        }
    }

    /// For each hash, the head of the chain that may have its key.
    pub(super) fn find(&self, hashes: &[u64], out: &mut Vec<u32>) {
        self.buckets.find(hashes, out);
    }

    /// The row behind row `i` in its chain.
    #[inline]
    pub(super) fn next(&self, i: u32) -> u32 {
        self.next[i as usize]
    }
}

/// Whether the key is an integer, which is compared rather than its hash.
fn one_integer(keys: &[&Vector]) -> bool {
    matches!(keys, [key] if key.integers().is_some())
}

/// Compares keys of a batch of outer rows with those of the table.
pub(super) enum Comparison<'a> {
    Integers(&'a [i64], &'a [i64]),
    Hashed {
        types: &'a [Oid],
        /// The hashes of both sides, if they are known.
        hashes: Option<(&'a [u64], &'a [u64])>,
        keys: (Vec<&'a Vector>, Vec<&'a Vector>),
    },
}

impl<'a> Comparison<'a> {
    /// `hashes`: the hashes of the outer rows' keys.
    pub(super) fn new(
        types: &'a [Oid],
        (outer, outer_keys, hashes): (&'a Keyed, &[KeyAt], &'a [u64]),
        (table, inner_keys): (&'a Table, &[KeyAt]),
    ) -> Comparison<'a> {
        let keys = (outer.keys(outer_keys), table.inner.keys(inner_keys));
        if let ([x], [y]) = (&keys.0[..], &keys.1[..])
            && let (Some(x), Some(y)) = (x.integers(), y.integers())
        {
            return Comparison::Integers(x, y);
        }
        let known = table.hashes.len() == table.inner.rows;
        let hashes = known.then_some((hashes, &table.hashes[..]));
        Comparison::Hashed { types, hashes, keys }
    }

    /// Whether the key of outer row `o` equals that of the table's row `i`.
    #[inline]
    pub(super) fn equal(&self, o: usize, i: u32) -> bool {
        let i = i as usize;
        match self {
            Comparison::Integers(x, y) => x[o] == y[i],
            Comparison::Hashed { types, hashes, keys } => {
                hashes.is_none_or(|(x, y)| x[o] == y[i])
                    && types
                        .iter()
                        .zip(&keys.0)
                        .zip(&keys.1)
                        .all(|((ty, x), y)| equal_values(*ty, (x, o), (y, i)))
            }
        }
    }
}
