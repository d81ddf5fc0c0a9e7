//! SIREAD locks: who has read what. They keep nobody waiting.
//!
//! Locks of a file are together, in one of a few shards. A transaction knows what it holds:
//! what it reads again costs no visit to the shard. When it has many rows of a file, or many
//! ranges of keys, it gets the whole file instead.

use std::ops::{Bound, RangeBounds};

use hashbrown::{HashMap, HashSet};
use parking_lot::{Mutex, MutexGuard};

use steppe_types::Result;

use super::Member;
use crate::change::{Reader, put_u64};
use crate::files::RelFileNumber;

const SHARDS: usize = 16;
/// With more rows of one file a transaction gets the file.
const ROWS_MAX: usize = 1024;
/// With more ranges of one index it gets the index.
const RANGES_MAX: usize = 64;

type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// What one transaction holds of each file.
pub(super) type Held = FastMap<RelFileNumber, HeldOfFile>;

#[derive(Default)]
pub(super) struct HeldOfFile {
    whole: bool,
    rows: HashSet<u64, foldhash::fast::RandomState>,
    ranges: Vec<Range>,
}

/// What is locked of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granule {
    /// All there is in it, and will be.
    File,
    /// A row of a table.
    Row(u64),
    /// A range of an index's keys.
    Range,
}

impl HeldOfFile {
    /// All locks.
    pub(super) fn granules(&self) -> impl Iterator<Item = Granule> {
        let whole = self.whole.then_some(Granule::File);
        let rows = self.rows.iter().map(|row| Granule::Row(*row));
        whole.into_iter().chain(rows).chain(self.ranges.iter().map(|_| Granule::Range))
    }
}

#[derive(Clone, PartialEq, Eq)]
struct Range {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

impl Range {
    fn contains(&self, key: &[u8]) -> bool {
        let bounds =
            (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice));
        bounds.contains(key)
    }
}

const WHOLE: u8 = 0;
const ROW: u8 = 1;
const RANGE: u8 = 2;

/// All locks of a transaction: file, kind, and what of it.
pub(super) fn encode(held: &Held) -> Vec<u8> {
    let mut out = Vec::new();
    for (file, held) in held {
        if held.whole {
            put_u64(&mut out, file.0);
            out.push(WHOLE);
        }
        for row in &held.rows {
            put_u64(&mut out, file.0);
            out.push(ROW);
            put_u64(&mut out, *row);
        }
        for range in &held.ranges {
            put_u64(&mut out, file.0);
            out.push(RANGE);
            put_bound(&mut out, &range.lower);
            put_bound(&mut out, &range.upper);
        }
    }
    out
}

fn put_bound(out: &mut Vec<u8>, bound: &Bound<Vec<u8>>) {
    let (kind, key) = match bound {
        Bound::Unbounded => (0, &[][..]),
        Bound::Included(key) => (1, &key[..]),
        Bound::Excluded(key) => (2, &key[..]),
    };
    out.push(kind);
    put_u64(out, key.len() as u64);
    out.extend_from_slice(key);
}

fn take_bound<'a>(reader: &mut Reader<'a>) -> Result<Bound<&'a [u8]>> {
    let kind = reader.u8()?;
    let len = reader.u64()?;
    let key = reader.bytes(usize::try_from(len).unwrap_or(usize::MAX))?;
    Ok(match kind {
        0 => Bound::Unbounded,
        1 => Bound::Included(key),
        _ => Bound::Excluded(key),
    })
}

/// The locks of one file, by the numbers of their holders.
#[derive(Default)]
struct OfFile {
    whole: Vec<u64>,
    rows: FastMap<u64, Vec<u64>>,
    ranges: Vec<(Range, u64)>,
}

impl OfFile {
    fn release(&mut self, held: &HeldOfFile, number: u64) {
        self.whole.retain(|&holder| holder != number);
        for row in &held.rows {
            let Some(holders) = self.rows.get_mut(row) else { continue };
            holders.retain(|&holder| holder != number);
            if holders.is_empty() {
                self.rows.remove(row);
            }
        }
        if !held.ranges.is_empty() {
            self.ranges.retain(|&(_, holder)| holder != number);
        }
    }

    fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.rows.is_empty() && self.ranges.is_empty()
    }
}

/// All SIREAD locks of an engine.
#[derive(Default)]
pub(super) struct SireadLocks {
    shards: [Mutex<FastMap<RelFileNumber, OfFile>>; SHARDS],
}

impl SireadLocks {
    fn shard(&self, file: RelFileNumber) -> MutexGuard<'_, FastMap<RelFileNumber, OfFile>> {
        self.shards[file.0 as usize % SHARDS].lock()
    }

    /// Locks a row; false if that was so already.
    pub(super) fn lock_row(&self, member: &Member, file: RelFileNumber, row: u64) -> bool {
        let mut held = member.held.lock();
        let held = held.entry(file).or_default();
        if held.whole || held.rows.contains(&row) {
            return false;
        }
        if held.rows.len() == ROWS_MAX {
            self.lock_whole(member, file, held);
            return true;
        }
        held.rows.insert(row);
        let mut shard = self.shard(file);
        shard.entry(file).or_default().rows.entry(row).or_default().push(member.number);
        true
    }

    /// Locks all there is in a file, and will be; false if that was so already.
    pub(super) fn lock_file(&self, member: &Member, file: RelFileNumber) -> bool {
        let mut held = member.held.lock();
        let held = held.entry(file).or_default();
        let is_new = !held.whole;
        if is_new {
            self.lock_whole(member, file, held);
        }
        is_new
    }

    /// Puts one lock in the place of what is held of the file.
    fn lock_whole(&self, member: &Member, file: RelFileNumber, held: &mut HeldOfFile) {
        let mut shard = self.shard(file);
        let of_file = shard.entry(file).or_default();
        of_file.release(held, member.number);
        of_file.whole.push(member.number);
        *held = HeldOfFile { whole: true, ..HeldOfFile::default() };
    }

    /// Locks a range of keys.
    pub(super) fn lock_keys(
        &self,
        member: &Member,
        file: RelFileNumber,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) {
        let mut held = member.held.lock();
        let held = held.entry(file).or_default();
        let range = Range { lower: lower.map(<[u8]>::to_vec), upper: upper.map(<[u8]>::to_vec) };
        if held.whole || held.ranges.contains(&range) {
            return;
        }
        if held.ranges.len() == RANGES_MAX {
            self.lock_whole(member, file, held);
            return;
        }
        held.ranges.push(range.clone());
        self.shard(file).entry(file).or_default().ranges.push((range, member.number));
    }

    /// Makes the locks of one the locks of another; both are entered for a moment.
    pub(super) fn hand_over(&self, from: &Member, to: &Member) {
        for (file, held) in from.held.lock().iter() {
            if held.whole {
                self.lock_file(to, *file);
            }
            for row in &held.rows {
                self.lock_row(to, *file, *row);
            }
            for Range { lower, upper } in &held.ranges {
                let lower = lower.as_ref().map(Vec::as_slice);
                self.lock_keys(to, *file, lower, upper.as_ref().map(Vec::as_slice));
            }
        }
        self.release(from);
    }

    /// Enters what [`encode`] has told of another run.
    pub(super) fn restore(&self, member: &Member, reads: &[u8]) -> Result<()> {
        let mut reader = Reader(reads);
        while !reader.0.is_empty() {
            let file = RelFileNumber(reader.u64()?);
            match reader.u8()? {
                WHOLE => drop(self.lock_file(member, file)),
                ROW => drop(self.lock_row(member, file, reader.u64()?)),
                _ => {
                    let (lower, upper) = (take_bound(&mut reader)?, take_bound(&mut reader)?);
                    self.lock_keys(member, file, lower, upper);
                }
            }
        }
        Ok(())
    }

    /// Gives up all that a transaction holds.
    pub(super) fn release(&self, member: &Member) {
        for (file, held) in member.held.lock().drain() {
            let mut shard = self.shard(file);
            let Some(of_file) = shard.get_mut(&file) else { continue };
            of_file.release(&held, member.number);
            if of_file.is_empty() {
                shard.remove(&file);
            }
        }
    }

    /// Those who have read the whole file, into which a row came.
    pub(super) fn readers_of_file(&self, file: RelFileNumber) -> Vec<u64> {
        self.shard(file).get(&file).map_or_else(Vec::new, |of_file| of_file.whole.clone())
    }

    /// Those who have read a row.
    pub(super) fn readers_of_row(&self, file: RelFileNumber, row: u64) -> Vec<u64> {
        let shard = self.shard(file);
        let Some(of_file) = shard.get(&file) else { return Vec::new() };
        let of_row = of_file.rows.get(&row).into_iter().flatten();
        of_file.whole.iter().chain(of_row).copied().collect()
    }

    /// Those who have looked for a key of an index.
    pub(super) fn readers_of_key(&self, file: RelFileNumber, key: &[u8]) -> Vec<u64> {
        let shard = self.shard(file);
        let Some(of_file) = shard.get(&file) else { return Vec::new() };
        let of_key = of_file.ranges.iter().filter(|(range, _)| range.contains(key));
        of_file.whole.iter().copied().chain(of_key.map(|(_, holder)| *holder)).collect()
    }

    /// Those who have read anything in a file.
    pub(super) fn readers_of_anything(&self, file: RelFileNumber) -> Vec<u64> {
        let shard = self.shard(file);
        let Some(of_file) = shard.get(&file) else { return Vec::new() };
        let of_rows = of_file.rows.values().flatten();
        let of_ranges = of_file.ranges.iter().map(|(_, holder)| holder);
        let all = of_file.whole.iter().chain(of_rows).chain(of_ranges);
        let distinct: HashSet<u64, foldhash::fast::RandomState> = all.copied().collect();
        distinct.into_iter().collect()
    }

    /// How many files have locks.
    #[cfg(test)]
    pub(super) fn file_count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}
