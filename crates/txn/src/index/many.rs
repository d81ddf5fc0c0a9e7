//! Keys that are looked up many at a time.

use std::ops::{Bound, Range};

use steppe_storage::Direction;
use steppe_types::Result;

use super::{IndexStore, Visibility};
use crate::table::RowId;
use crate::view::View;

/// Keys to look up, one after the other in one buffer.
#[derive(Default, Debug)]
pub struct LookupKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl LookupKeys {
    /// Adds a key.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Adds the key that `write` appends to its buffer; none if it fails or says no.
    pub fn push_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let start = self.bytes.len();
        let written = write(&mut self.bytes);
        match written {
            Ok(true) => self.ends.push(self.bytes.len()),
            _ => self.bytes.truncate(start),
        }
        written
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Key `i`.
    #[inline]
    pub fn key(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    /// Forgets the keys, not the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// What [`IndexStore::lookup_many`] has found: for each key, in order, the postings that the
/// snapshot sees or may see, in the order of the index.
#[derive(Default, Debug)]
pub struct Found {
    rows: Vec<RowId>,
    postings: Vec<Posting>,
    /// The keys of the postings.
    keys: Vec<u8>,
    /// Where in `rows` each key's postings end.
    ends: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    key: (u32, u32),
    visibility: Visibility,
}

impl Found {
    /// How many keys were looked up.
    #[inline]
    pub fn keys(&self) -> usize {
        self.ends.len()
    }

    /// Which of [`Self::rows`] are those of the `i`-th of these keys.
    #[inline]
    pub fn rows_of(&self, i: usize) -> Range<usize> {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        start..self.ends[i]
    }

    /// The rows of all keys.
    #[inline]
    pub fn rows(&self) -> &[RowId] {
        &self.rows
    }

    /// How much the posting of row `at` says.
    #[inline]
    pub fn visibility(&self, at: usize) -> Visibility {
        self.postings[at].visibility
    }

    /// The whole key that the posting of row `at` has.
    #[inline]
    pub fn key(&self, at: usize) -> &[u8] {
        let (start, end) = self.postings[at].key;
        &self.keys[start as usize..end as usize]
    }

    /// Forgets everything, but not the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.postings.clear();
        self.keys.clear();
        self.ends.clear();
    }

    fn push(&mut self, key: (u32, u32), row: RowId, visibility: Visibility) {
        self.rows.push(row);
        self.postings.push(Posting { key, visibility });
    }

    /// Takes a key, and says where it is.
    fn push_key(&mut self, key: &[u8]) -> (u32, u32) {
        let start = self.keys.len() as u32;
        self.keys.extend_from_slice(key);
        (start, self.keys.len() as u32)
    }

    /// Forgets what was found of a key that has not been looked up to its end.
    fn forget_last(&mut self) {
        let rows = self.ends.last().copied().unwrap_or(0);
        self.rows.truncate(rows);
        self.postings.truncate(rows);
        self.keys.truncate(self.postings.last().map_or(0, |posting| posting.key.1 as usize));
    }
}

impl IndexStore {
    /// Looks up the keys from number `from` on, which are prefixes as in [`IndexStore::scan`]: finds
    /// what a forward scan of all entries that start with the key would have found at some
    /// moment during the call, for later keys at later moments. Stops before the key with which
    /// `found` would have more than `most` rows: [`Found::keys`] says how many were looked up. If
    /// it is none, the first has too many for this: scan. With an error `found` has the keys before
    /// the one that failed.
    pub fn lookup_many(
        &self,
        view: &View,
        keys: &LookupKeys,
        from: usize,
        most: usize,
        found: &mut Found,
    ) -> Result<()> {
        found.clear();
        for i in from..keys.len() {
            let done = self.lookup_one(view, keys.key(i), most, found);
            if !matches!(done, Ok(true)) {
                found.forget_last();
                return done.map(|_| ());
            }
            found.ends.push(found.rows.len());
        }
        Ok(())
    }

    /// False if there are too many rows.
    fn lookup_one(&self, view: &View, key: &[u8], most: usize, found: &mut Found) -> Result<bool> {
        let range = Bound::Included(key);
        let mut cursor = self.scan(view.clone(), range, range, Direction::Forward)?;
        while let Some((key, row, visibility)) = cursor.next()? {
            if found.rows.len() == most {
                return Ok(false);
            }
            let key = found.push_key(key);
            found.push(key, row, visibility);
        }
        Ok(true)
    }
}
