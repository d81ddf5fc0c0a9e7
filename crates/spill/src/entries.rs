//! Sorts the entries of an index that is being built (tuplesort.c's index builds).
//!
//! ```text
//!   push ──▶ arena: entry entry entry …      in memory, one after the other
//!              │  in order so far? nothing to sort
//!              ▼  or else places: (head of the key, where) sorted
//!            run ──▶ spill file, when memory is full;  runs are merged at the end
//! ```
//!
//! Entries are compared as bytes: first by the key's first eight as a number, which decides mostly,
//! then by the rest, then by row. Entries that arrive in order, as those of a serial number do, are
//! only compared with their predecessor.

use crate::{SpillFile, SpillReader, TempSpace};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;
use steppe_txn::{IndexEntry, RowId};
use steppe_types::{Error, Result, SqlState};

/// Bytes before an entry's key: its length and whether it has a NULL, and the row.
const HEADER: usize = 12;
const HAS_NULL: u32 = 1 << 31;

/// An entry as it lies in memory and in a file.
#[derive(Clone, Copy)]
struct Entry<'a>(&'a [u8]);

impl<'a> Entry<'a> {
    /// The entry that begins at `at`.
    fn at(bytes: &'a [u8], at: usize) -> Entry<'a> {
        Entry(&bytes[at..at + Entry::len(&bytes[at..])])
    }

    /// The length of the entry that `bytes` begin with.
    fn len(bytes: &[u8]) -> usize {
        let word = u32::from_le_bytes(bytes[..4].try_into().unwrap_or_default());
        HEADER + (word & !HAS_NULL) as usize
    }

    fn key(self) -> &'a [u8] {
        &self.0[HEADER..]
    }

    fn row(self) -> u64 {
        u64::from_le_bytes(self.0[4..HEADER].try_into().unwrap_or_default())
    }

    fn has_null(self) -> bool {
        self.0[3] & 0x80 != 0
    }

    /// The first eight bytes of the key as a number that sorts as they do.
    fn head(self) -> u64 {
        let mut bytes = [0; 8];
        let key = self.key();
        let len = key.len().min(8);
        bytes[..len].copy_from_slice(&key[..len]);
        u64::from_be_bytes(bytes)
    }

    fn compare(self, other: Entry<'_>) -> Ordering {
        self.key().cmp(other.key()).then_with(|| self.row().cmp(&other.row()))
    }

    fn shown(self) -> IndexEntry<'a> {
        IndexEntry { key: self.key(), has_null: self.has_null(), row: RowId(self.row()) }
    }
}

/// The place of an entry, with the part of its key that decides most comparisons.
#[derive(Clone, Copy)]
struct Place {
    head: u64,
    at: usize,
}

/// Takes entries in any order and gives them back in the index's.
pub struct EntrySorter {
    arena: Vec<u8>,
    /// How many entries are in the arena.
    count: usize,
    /// Where the last one begins.
    last: usize,
    /// Whether those in the arena came in order.
    in_order: bool,
    memory_bytes: usize,
    temp: Arc<TempSpace>,
    file: Option<SpillFile>,
    /// Where the runs in the file begin.
    runs: Vec<u64>,
}

impl EntrySorter {
    /// A sorter without entries that keeps at most `memory_bytes` of them in memory.
    pub fn new(memory_bytes: usize, temp: Arc<TempSpace>) -> EntrySorter {
        EntrySorter {
            arena: Vec::new(),
            count: 0,
            last: 0,
            in_order: true,
            memory_bytes,
            temp,
            file: None,
            runs: Vec::new(),
        }
    }

    /// Takes an entry.
    #[inline]
    pub fn push(&mut self, entry: &IndexEntry<'_>) -> Result<()> {
        let places = if self.in_order { 0 } else { self.count * size_of::<Place>() };
        if self.arena.len() + places >= self.memory_bytes && self.count > 0 {
            self.write_run()?;
        }
        let too_long = || Error::internal("the key of an index entry has too many bytes");
        let len = u32::try_from(entry.key.len()).map_err(|_| too_long())?;
        let at = self.arena.len();
        let word = len | if entry.has_null { HAS_NULL } else { 0 };
        self.arena.extend_from_slice(&word.to_le_bytes());
        self.arena.extend_from_slice(&entry.row.0.to_le_bytes());
        self.arena.extend_from_slice(entry.key);
        if self.in_order && self.count > 0 {
            let (last, this) = (Entry::at(&self.arena, self.last), Entry::at(&self.arena, at));
            self.in_order = last.compare(this).is_le();
        }
        (self.last, self.count) = (at, self.count + 1);
        Ok(())
    }

    /// All entries in order.
    pub fn finish(mut self) -> Result<SortedEntries> {
        if self.runs.is_empty() {
            let places = self.places();
            return Ok(SortedEntries(Sorted::InMemory { arena: self.arena, places }));
        }
        if self.count > 0 {
            self.write_run()?;
        }
        let Some(mut file) = self.file.take() else { return Err(lost_file()) };
        let mut heads = BinaryHeap::with_capacity(self.runs.len());
        let end = file.written();
        let ends = self.runs.iter().skip(1).copied().chain([end]);
        for (begin, end) in self.runs.iter().zip(ends) {
            let mut run = Run { reader: file.reader_between(*begin, end)?, entry: Vec::new() };
            if run.advance()? {
                heads.push(run);
            }
        }
        Ok(SortedEntries(Sorted::Merged { heads, _file: file }))
    }

    /// The order of the entries in memory; `None` if they are already in order.
    fn places(&self) -> Option<Vec<Place>> {
        if self.in_order {
            return None;
        }
        let (mut places, mut at) = (Vec::with_capacity(self.count), 0);
        while at < self.arena.len() {
            let entry = Entry::at(&self.arena, at);
            places.push(Place { head: entry.head(), at });
            at += entry.0.len();
        }
        places.sort_unstable_by(|a, b| {
            let entry = |place: &Place| Entry::at(&self.arena, place.at);
            a.head.cmp(&b.head).then_with(|| entry(a).compare(entry(b)))
        });
        Some(places)
    }

    /// Writes the entries in memory to the file, in order.
    fn write_run(&mut self) -> Result<()> {
        let places = self.places();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.temp.create()?),
        };
        self.runs.push(file.written());
        let mut next = 0;
        while let Some(entry) = next_in(&self.arena, places.as_deref(), &mut next) {
            file.write_bytes(entry.0)?;
        }
        self.arena.clear();
        (self.count, self.last, self.in_order) = (0, 0, true);
        Ok(())
    }
}

/// The next entry; `next` is a place's index or, without places, an offset.
fn next_in<'a>(arena: &'a [u8], places: Option<&[Place]>, next: &mut usize) -> Option<Entry<'a>> {
    match places {
        Some(places) => {
            let place = places.get(*next)?;
            *next += 1;
            Some(Entry::at(arena, place.at))
        }
        None if *next < arena.len() => {
            let entry = Entry::at(arena, *next);
            *next += entry.0.len();
            Some(entry)
        }
        None => None,
    }
}

/// A reader of a run, and the run's next entry. The order is reversed, for the heap.
struct Run {
    reader: SpillReader,
    entry: Vec<u8>,
}

impl Run {
    /// Goes on to the next entry; false at the end.
    fn advance(&mut self) -> Result<bool> {
        if !self.reader.read_bytes(&mut self.entry)? {
            return Ok(false);
        }
        let is_whole = self.entry.len() >= HEADER && Entry::len(&self.entry) == self.entry.len();
        match is_whole {
            true => Ok(true),
            false => Err(Error::new(SqlState::DATA_CORRUPTED, "temporary file is corrupted")),
        }
    }
}

impl Ord for Run {
    fn cmp(&self, other: &Run) -> Ordering {
        Entry(&other.entry).compare(Entry(&self.entry))
    }
}

impl PartialOrd for Run {
    fn partial_cmp(&self, other: &Run) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Run {}

/// Entries in the index's order.
pub struct SortedEntries(Sorted);

enum Sorted {
    /// All entries fit into memory.
    InMemory { arena: Vec<u8>, places: Option<Vec<Place>> },
    /// Runs that are merged.
    Merged { heads: BinaryHeap<Run>, _file: SpillFile },
}

impl SortedEntries {
    /// Calls `f` with all entries in order, `count` at a time.
    pub fn in_batches(
        self,
        count: usize,
        f: &mut dyn FnMut(&[IndexEntry<'_>]) -> Result<()>,
    ) -> Result<()> {
        match self.0 {
            Sorted::InMemory { arena, places } => {
                let (mut next, mut batch) = (0, Vec::with_capacity(count));
                while let Some(entry) = next_in(&arena, places.as_deref(), &mut next) {
                    batch.push(entry.shown());
                    if batch.len() == count {
                        f(&batch)?;
                        batch.clear();
                    }
                }
                if batch.is_empty() { Ok(()) } else { f(&batch) }
            }
            Sorted::Merged { mut heads, _file } => {
                let mut arena = Vec::new();
                while !heads.is_empty() {
                    arena.clear();
                    merge(&mut heads, count, &mut arena)?;
                    let mut next = 0;
                    let all = std::iter::from_fn(|| next_in(&arena, None, &mut next));
                    f(&all.map(Entry::shown).collect::<Vec<_>>())?;
                }
                Ok(())
            }
        }
    }
}

/// Appends the next entries of all runs to `arena`, `count` of them or all.
fn merge(heads: &mut BinaryHeap<Run>, count: usize, arena: &mut Vec<u8>) -> Result<()> {
    for _ in 0..count {
        let Some(mut least) = heads.peek_mut() else { return Ok(()) };
        arena.extend_from_slice(&least.entry);
        if !least.advance()? {
            PeekMut::pop(least);
        }
    }
    Ok(())
}

fn lost_file() -> Error {
    Error::internal("an index build has runs but no file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_vfs::{CrashVfs, SeededRandom, Vfs};

    fn sorter(memory_bytes: usize) -> EntrySorter {
        let vfs: Arc<dyn Vfs> = Arc::new(CrashVfs::new(1));
        let directory = std::path::Path::new("/temp");
        vfs.create_dir_all(directory).expect("is made");
        EntrySorter::new(memory_bytes, Arc::new(TempSpace::new(vfs, directory)))
    }

    type Owned = (Vec<u8>, u64, bool);

    fn sorted(memory_bytes: usize, entries: &[Owned], count: usize) -> Vec<Owned> {
        let mut sorter = sorter(memory_bytes);
        for (key, row, has_null) in entries {
            let entry = IndexEntry { key, has_null: *has_null, row: RowId(*row) };
            sorter.push(&entry).expect("is taken");
        }
        let mut out = Vec::new();
        let take = &mut |batch: &[IndexEntry<'_>]| {
            assert!(!batch.is_empty() && batch.len() <= count);
            out.extend(batch.iter().map(|e| (e.key.to_vec(), e.row.0, e.has_null)));
            Ok(())
        };
        sorter.finish().and_then(|sorted| sorted.in_batches(count, take)).expect("sorts");
        out
    }

    #[test]
    fn entries_come_in_order_of_key_and_row() {
        let random = SeededRandom::new(7);
        for round in 0..400 {
            let (keys, long) = (1 + random.below(50), random.below(20));
            let key = |_: u64| {
                let len = random.below(long + 1) as usize;
                let mut key = vec![random.below(keys) as u8; len];
                key.extend_from_slice(&random.below(keys).to_be_bytes());
                key
            };
            let entry = |n| {
                let row = random.below(40);
                (key(n), row, row.is_multiple_of(3))
            };
            let mut entries: Vec<Owned> = (0..random.below(300)).map(entry).collect();
            match round % 4 {
                0 => entries.sort(),
                1 => entries.sort_by(|a, b| a.0.cmp(&b.0)),
                _ => {}
            }
            let memory = [0, 500, 4000, usize::MAX][round % 3 + usize::from(round % 5 == 0)];
            let found = sorted(memory, &entries, 1 + random.below(40) as usize);
            entries.sort();
            assert_eq!(found, entries, "round {round}");
        }
    }

    #[test]
    fn what_comes_in_order_is_not_sorted() {
        let mut sorter = sorter(usize::MAX);
        for row in 0..1000_u64 {
            let entry = IndexEntry { key: &row.to_be_bytes(), has_null: false, row: RowId(row) };
            sorter.push(&entry).expect("is taken");
        }
        assert!(sorter.places().is_none());
    }
}
