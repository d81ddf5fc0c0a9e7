//! Keys that are looked up many at a time.
//!
//! The tree finds the entries that begin with a key on the leaf of the first, in groups of descents
//! that wait for memory together ([`Tree::match_many`]). If the next leaf may have more, the key
//! is scanned for by itself: a group of some keys has one or none of these. What the snapshot sees
//! of a posting is decided as by a scan. The keys of a serializable transaction are noted one
//! after the other, each before it is read, and scanned for.
//!
//! [`Tree::match_many`]: steppe_storage::Tree::match_many

use std::ops::{Bound, Range};

use steppe_storage::{Direction, Matches, StorageError, TreeId};
use steppe_types::{Error, Result};

use super::{IndexStore, PLAIN_LEN, Visibility};
use crate::change::{Reader, Word, corrupt};
use crate::purge::{Entries, Passed};
use crate::table::RowId;
use crate::view::View;

/// Keys to look up, one after the other in one buffer.
#[derive(Default, Debug)]
pub struct LookupKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl LookupKeys {
    /// Makes room for so many keys of about such a length.
    pub fn reserve(&mut self, keys: usize, length: usize) {
        self.bytes.reserve(keys * length);
        self.ends.reserve(keys);
    }

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
    matches: Matches,
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
    fn push_key(&mut self, parts: &[&[u8]]) -> Result<(u32, u32)> {
        let start = self.keys.len() as u32;
        parts.iter().for_each(|part| self.keys.extend_from_slice(part));
        let end = u32::try_from(self.keys.len());
        let end = end.map_err(|_| Error::internal("too many keys were found at once"))?;
        Ok((start, end))
    }

    /// Forgets what was found of a key that has not been looked up to its end.
    fn forget_last(&mut self) {
        let rows = self.ends.last().copied().unwrap_or(0);
        self.rows.truncate(rows);
        self.postings.truncate(rows);
        self.keys.truncate(self.postings.last().map_or(0, |posting| posting.key.1 as usize));
    }
}

/// An entry of the tree that begins with a key.
struct Entry<'a> {
    tree: TreeId,
    prefix: &'a [u8],
    rest: &'a [u8],
    value: &'a [u8],
}

/// Why no further keys are looked up.
enum Stop {
    /// There would be too many rows.
    Full,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl From<StorageError> for Stop {
    fn from(error: StorageError) -> Stop {
        Stop::Failed(error.into())
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
        let done = self.lookup_all(view, (keys, from), most, found);
        found.forget_last();
        match done {
            Ok(()) | Err(Stop::Full) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    fn lookup_all(
        &self,
        view: &View,
        (keys, from): (&LookupKeys, usize),
        most: usize,
        found: &mut Found,
    ) -> Result<(), Stop> {
        let tree = match self.file.tree()? {
            Some(tree) if view.member.is_none() => tree,
            _ => {
                for i in from..keys.len() {
                    self.lookup_one(view, keys.key(i), most, found)?;
                    found.ends.push(found.rows.len());
                }
                return Ok(());
            }
        };
        let count = keys.len().saturating_sub(from);
        found.ends.reserve(count);
        let (mut matches, mut passed) = (std::mem::take(&mut found.matches), Passed::default());
        let key = |i: usize| keys.key(from + i);
        let done = tree.match_many(count, key, &mut matches, |i, matches| {
            if matches.goes_on() {
                self.lookup_one(view, key(i), most, found)?;
            } else {
                passed.live();
                for (rest, value) in matches.iter() {
                    let entry = Entry { tree: tree.id(), prefix: key(i), rest, value };
                    self.take(view, &entry, &mut passed, found)?;
                }
                if found.rows.len() > most {
                    return Err(Stop::Full);
                }
            }
            found.ends.push(found.rows.len());
            Ok(())
        });
        found.matches = matches;
        done
    }

    /// Takes those postings of an entry that the snapshot sees or may see.
    fn take(
        &self,
        view: &View,
        entry: &Entry<'_>,
        passed: &mut Passed,
        found: &mut Found,
    ) -> Result<()> {
        let is_list = self.unique && entry.value.len() != PLAIN_LEN;
        let (rest, row) = match entry.rest.split_last_chunk::<8>() {
            _ if is_list => (entry.rest, None),
            Some((rest, row)) => (rest, Some(u64::from_be_bytes(*row))),
            None => return Err(corrupt("index key")),
        };
        let mut reader = Reader(entry.value);
        let mut key = None;
        while !reader.0.is_empty() {
            let row = RowId(row.map_or_else(|| reader.u64(), Ok)?);
            let word = Word(reader.u64()?);
            let visibility = match view.posting(word) {
                Some(true) => Visibility::Definitive,
                Some(false) => {
                    let kind =
                        if self.unique { Entries::UniquePostings } else { Entries::Postings };
                    passed.deleted(view.engine(), word, (entry.tree, kind), |out| {
                        out.extend_from_slice(entry.prefix);
                        out.extend_from_slice(entry.rest);
                    });
                    continue;
                }
                None => Visibility::AskRow,
            };
            passed.live();
            let key = match key {
                Some(key) => key,
                None => *key.insert(found.push_key(&[entry.prefix, rest])?),
            };
            found.push(key, row, visibility);
        }
        Ok(())
    }

    /// Looks one key up by a scan, which may be of several leaves.
    fn lookup_one(
        &self,
        view: &View,
        key: &[u8],
        most: usize,
        found: &mut Found,
    ) -> Result<(), Stop> {
        let range = Bound::Included(key);
        let mut cursor = self.scan(view.clone(), range, range, Direction::Forward)?;
        while let Some((key, row, visibility)) = cursor.next()? {
            if found.rows.len() == most {
                return Err(Stop::Full);
            }
            let key = found.push_key(&[key])?;
            found.push(key, row, visibility);
        }
        Ok(())
    }
}
