//! The partitions that meet a set of keys, in the order of their bounds.
//!
//! Partitions are searched in the set's ranges, one after the other on demand: a caller that stops
//! early pays only for the partitions so far.

use crate::hash::HashPartitions;
use crate::key::{Key, decode_hash};
use crate::list::{ListPartition, ListPartitions};
use crate::map::{PartitionMap, Partitions};
use crate::prune::KeySet;
use crate::prune::ranges::{KeyRange, KeyRanges};
use crate::range::{RangePartition, RangePartitions};
use crate::sorted::{Ascending, Descending, SortedMap};
use std::vec;
use steppe_types::oid::Oid;

/// Partitions, as [`PartitionMap::select`] finds them.
#[derive(Clone, Debug)]
pub struct Selected<'a> {
    before: Option<Oid>,
    walk: Walk<'a>,
    /// The last one that the walk found: a partition can meet several ranges.
    last: Option<Oid>,
    after: [Option<Oid>; 2],
}

#[derive(Clone, Debug)]
enum Walk<'a> {
    Ranges(Entries<'a, RangePartition>),
    Lists(Entries<'a, ListPartition>),
    Found(vec::IntoIter<Oid>),
}

impl Iterator for Selected<'_> {
    type Item = Oid;

    fn next(&mut self) -> Option<Oid> {
        if let Some(relation) = self.before.take() {
            return Some(relation);
        }
        loop {
            let relation = match &mut self.walk {
                Walk::Ranges(entries) => entries.next().map(|entry| entry.value.relation),
                Walk::Lists(entries) => entries.next().map(|entry| entry.value.relation),
                Walk::Found(relations) => relations.next(),
            };
            match relation {
                None => return self.after.iter_mut().find_map(Option::take),
                Some(_) if relation == self.last => {}
                Some(_) => {
                    self.last = relation;
                    return relation;
                }
            }
        }
    }
}

/// The wanted order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyOrder {
    /// From the greatest key to the least.
    pub descending: bool,
    /// NULL before every value.
    pub nulls_first: bool,
}

impl PartitionMap {
    /// The partitions that can hold a row whose key is in the set, in PostgreSQL's
    /// order: by bound, the default partition last.
    pub fn select<'a>(&'a self, set: &'a KeySet) -> Selected<'a> {
        let mut null = None;
        let walk = match &self.partitions {
            Partitions::Range(partitions) => {
                Walk::Ranges(Entries::new(&partitions.by_lower, &set.ranges, false))
            }
            Partitions::List(partitions) if partitions.has_shared() => {
                Walk::Found(lists_by_least_value(partitions, set).into_iter())
            }
            Partitions::List(partitions) => {
                null = partitions.null().filter(|_| set.null).map(|partition| partition.relation);
                Walk::Lists(Entries::new(&partitions.by_value, &set.ranges, false))
            }
            Partitions::Hash(partitions) => {
                Walk::Found(hash_partitions(partitions, set).into_iter())
            }
        };
        let default = self.default.filter(|_| self.keeps_default(set));
        Selected { before: None, walk, last: None, after: [null, default] }
    }

    /// As [`PartitionMap::select`], with all keys of each partition before all keys of the next in
    /// the wanted order. `None` if the partitions do not have this order, because a default
    /// partition or a list has keys among those of another.
    pub fn select_ordered<'a>(&'a self, set: &'a KeySet, order: KeyOrder) -> Option<Selected<'a>> {
        if self.keeps_default(set) {
            return None;
        }
        let mut null = None;
        let walk = match &self.partitions {
            Partitions::Range(partitions) => {
                Walk::Ranges(Entries::new(&partitions.by_lower, &set.ranges, order.descending))
            }
            Partitions::List(partitions) => {
                let entries = Entries::new(&partitions.by_value, &set.ranges, order.descending);
                null = partitions.null().filter(|_| set.null).map(|partition| partition.relation);
                if partitions.has_shared() && has_interleaved(entries.clone(), null) {
                    return None;
                }
                Walk::Lists(entries)
            }
            Partitions::Hash(_) => return None,
        };
        let (before, after) = if order.nulls_first { (null, None) } else { (None, null) };
        Some(Selected { before, walk, last: None, after: [after, None] })
    }

    /// Whether the default partition, if there is one, can hold a row whose key is
    /// in the set: some key in it is in no other partition.
    pub fn keeps_default(&self, set: &KeySet) -> bool {
        if self.default.is_none() {
            return false;
        }
        match &self.partitions {
            Partitions::Range(partitions) => set.null || has_gap(partitions, &set.ranges),
            Partitions::List(partitions) => {
                let null_is_taken = partitions.null().is_some();
                let is_taken = |range: &KeyRange| {
                    range.is_prefix() && partitions.by_value.get(&key(&range.start)).is_some()
                };
                set.null && !null_is_taken || !set.ranges.as_slice().iter().all(is_taken)
            }
            Partitions::Hash(_) => false,
        }
    }
}

fn key(bytes: &[u8]) -> Key {
    Key::from(bytes)
}

/// Whether some key of the ranges is in no partition.
fn has_gap(partitions: &RangePartitions, ranges: &KeyRanges) -> bool {
    let mut entries = Entries::new(&partitions.by_lower, ranges, false).peekable();
    ranges.as_slice().iter().enumerate().any(|(n, range)| {
        let mut covered_to = key(&range.start);
        while let Some(entry) = entries.next_if(|entry| entry.range == n) {
            if *entry.key > covered_to {
                return true;
            }
            covered_to = entry.value.upper.key();
        }
        covered_to < key(&range.end)
    })
}

/// For parents whose partitions take several values: each partition once, by its least value.
fn lists_by_least_value(partitions: &ListPartitions, set: &KeySet) -> Vec<Oid> {
    let entries = Entries::new(&partitions.by_value, &set.ranges, false);
    let mut found: Vec<(Option<&Key>, Oid)> = entries
        .map(|entry| {
            (Some(entry.value.least.as_deref().unwrap_or(entry.key)), entry.value.relation)
        })
        .collect();
    if let Some(null) = partitions.null().filter(|_| set.null) {
        found.push((null.least.as_deref(), null.relation));
    }
    // A partition that takes only NULL is last.
    found.sort_by(|(a, _), (b, _)| a.is_none().cmp(&b.is_none()).then_with(|| a.cmp(b)));
    found.dedup();
    found.into_iter().map(|(_, relation)| relation).collect()
}

/// Whether values of one partition lie between values of another, or beside NULL.
fn has_interleaved(entries: Entries<'_, ListPartition>, null: Option<Oid>) -> bool {
    let mut runs: Vec<Oid> = entries.map(|entry| entry.value.relation).collect();
    runs.dedup();
    runs.extend(null);
    let count = runs.len();
    runs.sort_unstable();
    runs.dedup();
    runs.len() < count
}

fn hash_partitions(partitions: &HashPartitions, set: &KeySet) -> Vec<Oid> {
    if set.ranges.is_all() {
        return partitions.all().map(|partition| partition.relation).collect();
    }
    let hashes = set.ranges.as_slice().iter().filter_map(|range| decode_hash(&range.start));
    let mut found: Vec<_> = hashes.filter_map(|hash| partitions.find(hash)).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|partition| partition.relation).collect()
}

/// An entry that meets the `range`-th range.
#[derive(Clone, Debug)]
struct Entry<'a, V> {
    range: usize,
    key: &'a Key,
    value: &'a V,
}

/// The end of an entry that begins at its key.
trait Extent {
    /// Whether some of it is at or above `start`.
    fn reaches(&self, key: &Key, start: &Key) -> bool;
}

impl Extent for RangePartition {
    fn reaches(&self, _: &Key, start: &Key) -> bool {
        self.upper.is_above(start)
    }
}

impl Extent for ListPartition {
    fn reaches(&self, key: &Key, start: &Key) -> bool {
        key >= start
    }
}

/// The entries of a map that meet ranges; an entry that meets several ranges is repeated.
#[derive(Clone, Debug)]
struct Entries<'a, V> {
    map: &'a SortedMap<V>,
    ranges: &'a [KeyRange],
    descending: bool,
    /// Ranges not yet begun: they are `ranges[waiting]`.
    waiting: std::ops::Range<usize>,
    current: Option<Within<'a, V>>,
}

/// The entries that meet one range.
#[derive(Clone, Debug)]
struct Within<'a, V> {
    range: usize,
    start: Key,
    end: Key,
    cursor: Cursor<'a, V>,
}

#[derive(Clone, Debug)]
enum Cursor<'a, V> {
    Ascending(Ascending<'a, V>),
    Descending(Descending<'a, V>),
}

impl<'a, V> Entries<'a, V> {
    fn new(map: &'a SortedMap<V>, ranges: &'a KeyRanges, descending: bool) -> Entries<'a, V> {
        let ranges = ranges.as_slice();
        Entries { map, ranges, descending, waiting: 0..ranges.len(), current: None }
    }

    fn begin(&mut self) -> Option<Within<'a, V>> {
        let range = if self.descending { self.waiting.next_back() } else { self.waiting.next() }?;
        let (start, end) = (key(&self.ranges[range].start), key(&self.ranges[range].end));
        let cursor = match self.descending {
            true => Cursor::Descending(self.map.descending(&end)),
            false => Cursor::Ascending(self.map.ascending_around(&start)),
        };
        Some(Within { range, start, end, cursor })
    }
}

impl<'a, V: Extent> Iterator for Entries<'a, V> {
    type Item = Entry<'a, V>;

    fn next(&mut self) -> Option<Entry<'a, V>> {
        loop {
            if let Some(entry) = self.current.as_mut().and_then(Within::next) {
                return Some(entry);
            }
            self.current = Some(self.begin()?);
        }
    }
}

impl<'a, V: Extent> Within<'a, V> {
    fn next(&mut self) -> Option<Entry<'a, V>> {
        let (key, value) = match &mut self.cursor {
            Cursor::Descending(entries) => {
                entries.next().filter(|(key, value)| value.reaches(key, &self.start))?
            }
            // The first one may end before the range begins.
            Cursor::Ascending(entries) => entries
                .find(|(key, value)| value.reaches(key, &self.start))
                .filter(|(key, _)| **key < self.end)?,
        };
        Some(Entry { range: self.range, key, value })
    }
}
