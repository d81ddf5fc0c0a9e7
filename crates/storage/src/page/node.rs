//! Reading nodes of a B+tree: slotted pages with fence keys, prefix truncation and key heads
//! (Graefe, "Modern B-Tree Techniques", 2011, and LeanStore, Leis et al., ICDE 2018).
//!
//! ```text
//!  0                  40         42        44         46          48
//! ┌──────────────────┬──────────┬─────────┬──────────┬───────────┬───────────
//! │ page header      │heap start│heap used│prefix len│last insert│
//! └──────────────────┴──────────┴─────────┴──────────┴───────────┴───────────
//!  48                   52                   56             64
//! ──┬────────────────────┬────────────────────┬─────────────┬───────────┐
//!   │lower fence off, len│upper fence off, len│ first child │ slots …   │
//! ──┴────────────────────┴────────────────────┴─────────────┴───────────┘
//!  slot (8 bytes):  ┌ key suffix len u16 ┬ offset u16 ┬ head u32 ┐
//!  heap entry at offset (even): ┌ value len u16 ┬ key suffix ┬ value ┐
//! ```
//!
//! - The node holds the keys k with lower fence ≤ k < upper fence. An empty lower
//!   fence is minus infinity; an upper length of `NO_FENCE` is plus infinity.
//! - `prefix len` bytes are common to both fences, hence to all keys, and stored
//!   only there. Slots are sorted by suffix. A slot's head is the first four bytes
//!   of the suffix, zero-padded, as a big-endian number: most comparisons end there.
//! - Inner nodes: the value is a child's page id (8 bytes). The child of slot i
//!   covers [key i, key i+1); `first child` covers [lower fence, key 0).
//! - `heap used` counts live heap bytes; the other bytes behind `heap start` are garbage that
//!   `edit::compact` recovers.
//!
//! All functions here may run on a torn page: results are then garbage within bounds, and the
//! caller's validation of the page's version discards them.

use super::{GENERATION, LEVEL, SLOT_COUNT};
use crate::pool::memory::PageRef;
use crate::types::{PAGE_SIZE, PageId};
use std::cmp::Ordering;

pub(crate) const HEAP_START: usize = 40;
pub(crate) const HEAP_USED: usize = 42;
pub(crate) const PREFIX_LEN: usize = 44;
pub(crate) const LAST_INSERT: usize = 46;
pub(crate) const LOWER_OFFSET: usize = 48;
pub(crate) const LOWER_LEN: usize = 50;
pub(crate) const UPPER_OFFSET: usize = 52;
pub(crate) const UPPER_LEN: usize = 54;
pub(crate) const FIRST_CHILD: usize = 56;
pub(crate) const SLOTS: usize = 64;
pub(crate) const SLOT_SIZE: usize = 8;
pub(crate) const MAX_SLOTS: usize = (PAGE_SIZE - SLOTS) / SLOT_SIZE;
/// The upper fence's length if there is no upper fence.
pub(crate) const NO_FENCE: u16 = u16::MAX;
/// Bytes of a suffix that its slot contains.
const HEAD_LEN: usize = 4;
/// Bytes of a child pointer.
pub(crate) const CHILD_LEN: usize = 8;

/// The places of an entry's parts in the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) key_offset: usize,
    pub(crate) key_len: usize,
    pub(crate) value_offset: usize,
    pub(crate) value_len: usize,
}

/// The number of slots of the page, at most as many as fit.
#[inline]
pub(crate) fn slot_count(page: PageRef<'_>) -> usize {
    usize::from(page.u16_at(SLOT_COUNT)).min(MAX_SLOTS)
}

/// The node's level; 0 for a leaf.
#[inline]
pub(crate) fn level(page: PageRef<'_>) -> u8 {
    page.u8_at(LEVEL)
}

/// The generation of the tree the page belongs to.
#[inline]
pub(crate) fn generation(page: PageRef<'_>) -> u64 {
    page.u64_at(GENERATION)
}

/// The length of the keys' common prefix.
#[inline]
pub(crate) fn prefix_len(page: PageRef<'_>) -> usize {
    usize::from(page.u16_at(PREFIX_LEN))
}

/// The first four bytes as a number that sorts as they do.
#[inline]
pub(crate) fn head(suffix: &[u8]) -> u32 {
    match suffix {
        [a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        [a, b, c] => u32::from_be_bytes([*a, *b, *c, 0]),
        [a, b] => u32::from_be_bytes([*a, *b, 0, 0]),
        [a] => u32::from_be_bytes([*a, 0, 0, 0]),
        [] => 0,
    }
}

/// The part of `key` that slots of this page store.
#[inline]
pub(crate) fn suffix_of<'k>(page: PageRef<'_>, key: &'k [u8]) -> &'k [u8] {
    key.get(prefix_len(page)..).unwrap_or(&[])
}

#[inline]
fn slot(page: PageRef<'_>, index: usize) -> u64 {
    page.u64_at(SLOTS + index * SLOT_SIZE)
}

#[inline]
fn slot_head(slot: u64) -> u32 {
    (slot >> 32) as u32
}

/// Builds a slot word.
#[inline]
pub(crate) fn make_slot(head: u32, offset: usize, key_len: usize) -> u64 {
    debug_assert!(offset < PAGE_SIZE && offset.is_multiple_of(2) && key_len < PAGE_SIZE);
    u64::from(head) << 32 | (offset as u64) << 16 | key_len as u64
}

#[inline]
fn slot_key(slot: u64) -> (usize, usize) {
    ((slot >> 16 & 0xffff) as usize + 2, (slot & 0xffff) as usize)
}

/// The entry of a slot; `None` if it does not lie in the page (torn or corrupt).
#[inline]
pub(crate) fn entry(page: PageRef<'_>, index: usize) -> Option<Entry> {
    let (key_offset, key_len) = slot_key(slot(page, index));
    let value_len = usize::from(page.u16_at(key_offset - 2));
    let value_offset = key_offset + key_len;
    (value_offset + value_len <= PAGE_SIZE).then_some(Entry {
        key_offset,
        key_len,
        value_offset,
        value_len,
    })
}

/// Slots that are searched first on each side of a head's likely position: a cache line of them.
const NEAR: usize = 3;
/// With this many slots a guess of a head's position is worth a division.
const GUESSED_FROM: usize = 4 * NEAR;

/// The most bytes of an entry that are loaded before its length is known.
const ENTRY_PREFETCHED_MAX: usize = 512;

/// The first slot in `from..count` whose head is not below `head` (or not at or
/// below it).
///
/// Each probe of a page that is not in the processor's cache waits for memory, and the next probe
/// waits for it. Numbers are mostly spread evenly over a page. So a search in many slots begins
/// where the head should be between the first and the last one (interpolation search, Peterson
/// 1957). If the head is elsewhere, this probe has divided the slots like any other.
#[inline]
fn head_bound(page: PageRef<'_>, from: usize, count: usize, head: u32, or_equal: bool) -> usize {
    let head_at = |index: usize| slot_head(slot(page, index));
    let below = |index: usize| {
        let other = head_at(index);
        other < head || (or_equal && other == head)
    };
    if count - from < GUESSED_FROM {
        return bound_between(from, count, below);
    }
    let (first, last) = (slot(page, from), slot(page, count - 1));
    let guess = from + guess(page, first, last, count - 1 - from, head);
    bound_around(guess, from, count, below)
}

/// The first of `from..to` for which `below` does not hold; the search begins around `guess`.
#[inline]
fn bound_around(guess: usize, from: usize, to: usize, below: impl Fn(usize) -> bool) -> usize {
    let low = guess.saturating_sub(NEAR).max(from);
    let high = (guess + NEAR).min(to);
    if low > from && !below(low - 1) {
        return bound_between(from, low - 1, below);
    }
    if high < to && below(high) {
        return bound_between(high + 1, to, below);
    }
    bound_between(low, high, below)
}

/// The likely position of a head between two slots, where the last one is `steps` after the first.
/// Also starts loading the entry there, which lies on another line: a page that was loaded or split
/// in order has its entries in order, too.
#[inline]
fn guess(page: PageRef<'_>, first: u64, last: u64, steps: usize, head: u32) -> usize {
    let (low, high) = (slot_head(first), slot_head(last));
    // A torn page may be in any order.
    let span = i64::from(high.saturating_sub(low)).max(1);
    let distance = i64::from(head.clamp(low, high.max(low)) - low);
    let offset = |slot: u64| slot_key(slot).0 as i64;
    let entry = offset(first) + (offset(last) - offset(first)) * distance / span;
    page.prefetch(entry as usize);
    (distance * steps as i64 / span) as usize
}

/// The first of `from..to` for which `below` does not hold, without branches that depend on it.
#[inline]
fn bound_between(from: usize, to: usize, below: impl Fn(usize) -> bool) -> usize {
    let mut base = from;
    let mut left = to - from;
    while left > 1 {
        let half = left / 2;
        base += if below(base + half - 1) { half } else { 0 };
        left -= half;
    }
    base + usize::from(left == 1 && below(base))
}

/// The first slot whose suffix is ≥ `suffix`, and whether it is equal.
#[inline]
pub(crate) fn search(page: PageRef<'_>, suffix: &[u8]) -> (usize, bool) {
    let (count, head) = (slot_count(page), head(suffix));
    let low = head_bound(page, 0, count, head, false);
    search_from(page, suffix, low, count)
}

/// Starts loading the memory that [`guess_slot`] reads besides the page's beginning.
#[inline]
pub(crate) fn prefetch_last_slot(page: PageRef<'_>) {
    let count = slot_count(page);
    if count >= GUESSED_FROM {
        page.prefetch_range(SLOTS + (count - 1) * SLOT_SIZE, SLOT_SIZE);
    }
}

/// The first half of a search: the likely slot of the suffix. Starts loading the memory there, for
/// [`search_near`].
#[inline]
pub(crate) fn guess_slot(page: PageRef<'_>, suffix: &[u8]) -> usize {
    let count = slot_count(page);
    if count < GUESSED_FROM {
        page.prefetch_range(SLOTS, count * SLOT_SIZE);
        return 0;
    }
    let (first, last) = (slot(page, 0), slot(page, count - 1));
    let guess = guess(page, first, last, count - 1, head(suffix));
    let low = guess.saturating_sub(NEAR + 1);
    page.prefetch_range(SLOTS + low * SLOT_SIZE, (2 * NEAR + 2) * SLOT_SIZE);
    guess
}

/// The second half of a search, with the result of [`search`].
#[inline]
pub(crate) fn search_near(page: PageRef<'_>, suffix: &[u8], guess: usize) -> (usize, bool) {
    let (count, head) = (slot_count(page), head(suffix));
    let below = |index: usize| slot_head(slot(page, index)) < head;
    let low = match count < GUESSED_FROM {
        true => bound_between(0, count, below),
        // The page may have changed since the guess.
        false => bound_around(guess.min(count - 1), 0, count, below),
    };
    search_from(page, suffix, low, count)
}

/// The rest of a search: `low` is the first slot whose head is not below that of `suffix`.
#[inline]
fn search_from(page: PageRef<'_>, suffix: &[u8], mut low: usize, count: usize) -> (usize, bool) {
    let head = head(suffix);
    if low == count || slot_head(slot(page, low)) != head {
        return (low, false);
    }
    // Among the slots with the same head (mostly one) the rest of the suffix decides.
    let one = low + 1 == count || slot_head(slot(page, low + 1)) != head;
    let mut end = if one { low + 1 } else { head_bound(page, low, count, head, true) };
    while low < end {
        let middle = low + (end - low) / 2;
        match compare_equal_heads(page, slot(page, middle), suffix) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return (middle, true),
            Ordering::Greater => end = middle,
        }
    }
    (low, false)
}

/// Compares a slot's suffix with one that has the same head. If both suffixes are no longer than
/// their heads, they differ at most by zeros at the end, and the entry need not be loaded.
#[inline]
fn compare_equal_heads(page: PageRef<'_>, slot: u64, suffix: &[u8]) -> Ordering {
    let (offset, len) = slot_key(slot);
    match len <= HEAD_LEN && suffix.len() <= HEAD_LEN {
        true => len.cmp(&suffix.len()),
        false => page.compare(offset, len, suffix),
    }
}

/// Whether the slot exists and its suffix begins with `start`.
#[inline]
pub(crate) fn starts_with(page: PageRef<'_>, index: usize, start: &[u8]) -> bool {
    if index >= slot_count(page) {
        return false;
    }
    let slot = slot(page, index);
    let (offset, len) = slot_key(slot);
    let same = slot_head(slot) ^ head(start);
    let heads_agree = start.is_empty() || same >> (32 - 8 * start.len().min(HEAD_LEN)) == 0;
    heads_agree
        && len >= start.len()
        && (start.len() <= HEAD_LEN || page.compare(offset, start.len(), start).is_eq())
}

/// Starts loading as many bytes of a slot's entry as the page's entries have on average.
#[inline]
pub(crate) fn prefetch_entry(page: PageRef<'_>, index: usize) {
    let count = slot_count(page);
    if index < count {
        let (offset, _) = slot_key(slot(page, index));
        let len = usize::from(page.u16_at(HEAP_USED)) / count;
        page.prefetch_range(offset - 2, len.min(ENTRY_PREFETCHED_MAX));
    }
}

/// Whether the slot exists and its suffix is `suffix`.
#[inline]
pub(crate) fn is_at(page: PageRef<'_>, index: usize, suffix: &[u8]) -> bool {
    if index >= slot_count(page) {
        return false;
    }
    let slot = slot(page, index);
    let (offset, len) = slot_key(slot);
    slot_head(slot) == head(suffix)
        && len == suffix.len()
        && (len <= HEAD_LEN || page.compare(offset, len, suffix).is_eq())
}

/// Appends the value of a slot to `value`; false if it does not lie in the page.
#[inline]
pub(crate) fn append_value(page: PageRef<'_>, index: usize, value: &mut Vec<u8>) -> bool {
    entry(page, index)
        .is_some_and(|entry| page.append_to(entry.value_offset, entry.value_len, value))
}

/// The child pointer at `position`: 0 is the first child, i + 1 the child of slot i.
#[inline]
pub(crate) fn child_at(page: PageRef<'_>, position: usize) -> Option<PageId> {
    if position == 0 {
        return Some(PageId(page.u64_at(FIRST_CHILD)));
    }
    let entry = entry(page, position - 1)?;
    let mut bytes = [0; CHILD_LEN];
    (entry.value_len == CHILD_LEN && page.copy_to(entry.value_offset, &mut bytes))
        .then(|| PageId(u64::from_le_bytes(bytes)))
}

/// The position (as in [`child_at`]) of the child that covers `key`.
#[inline]
pub(crate) fn child_position(page: PageRef<'_>, key: &[u8]) -> usize {
    let (slot, found) = search(page, suffix_of(page, key));
    slot + usize::from(found)
}

/// The position of the child that covers the keys just below `key`.
#[inline]
pub(crate) fn child_position_below(page: PageRef<'_>, key: &[u8]) -> usize {
    search(page, suffix_of(page, key)).0
}

/// Offset and length of the lower fence.
#[inline]
pub(crate) fn lower_fence(page: PageRef<'_>) -> (usize, usize) {
    (usize::from(page.u16_at(LOWER_OFFSET)), usize::from(page.u16_at(LOWER_LEN)))
}

/// Offset and length of the upper fence; `None` is plus infinity.
#[inline]
pub(crate) fn upper_fence(page: PageRef<'_>) -> Option<(usize, usize)> {
    let len = page.u16_at(UPPER_LEN);
    (len != NO_FENCE).then(|| (usize::from(page.u16_at(UPPER_OFFSET)), usize::from(len)))
}

/// A copy of the lower fence. Empty: minus infinity.
pub(crate) fn lower_fence_key(page: PageRef<'_>) -> Vec<u8> {
    let (offset, len) = lower_fence(page);
    let mut key = Vec::new();
    // The result is empty if the fence is outside the page: the page is torn, or `validate` refused
    // it.
    let _ = page.append_to(offset, len, &mut key);
    key
}

/// A copy of the upper fence. `None`: plus infinity.
pub(crate) fn upper_fence_key(page: PageRef<'_>) -> Option<Vec<u8>> {
    let (offset, len) = upper_fence(page)?;
    let mut key = Vec::new();
    let _ = page.append_to(offset, len, &mut key);
    Some(key)
}

/// Appends the full key of a slot to `key`.
#[must_use]
pub(crate) fn full_key(page: PageRef<'_>, index: usize, key: &mut Vec<u8>) -> bool {
    let Some(entry) = entry(page, index) else { return false };
    page.append_to(lower_fence(page).0, prefix_len(page), key)
        && page.append_to(entry.key_offset, entry.key_len, key)
}

/// Whether `key` lies between the fences.
pub(crate) fn covers(page: PageRef<'_>, key: &[u8]) -> bool {
    let (offset, len) = lower_fence(page);
    let above = page.compare(offset, len, key) != Ordering::Greater;
    let below = upper_fence(page)
        .is_none_or(|(offset, len)| page.compare(offset, len, key) == Ordering::Greater);
    above && below
}

/// Heap bytes of an entry: length word, key suffix and value, rounded to even.
#[inline]
pub(crate) fn heap_cost(suffix_len: usize, value_len: usize) -> usize {
    (2 + suffix_len + value_len).next_multiple_of(2)
}

/// Heap bytes of a fence.
#[inline]
pub(crate) fn fence_cost(len: usize) -> usize {
    len.next_multiple_of(2)
}

/// Bytes free in the node, garbage included.
#[inline]
pub(crate) fn room(page: PageRef<'_>) -> usize {
    (PAGE_SIZE - SLOTS)
        .saturating_sub(slot_count(page) * SLOT_SIZE)
        .saturating_sub(usize::from(page.u16_at(HEAP_USED)))
}

/// Bytes taken by slots and live heap.
#[inline]
pub(crate) fn used(page: PageRef<'_>) -> usize {
    PAGE_SIZE - SLOTS - room(page)
}

/// Checks the structure of a node that is not being written: offsets are in bounds, ranges do not
/// overlap, slots are in order. A node that passes can be edited without further checks.
///
/// Each page that is read from the file is checked here, so each slot is loaded only once. Ranges
/// that follow one another, as after a split or a load, are recognised as disjoint without the
/// slower check.
pub(crate) fn validate(page: PageRef<'_>) -> Result<(), &'static str> {
    let count = usize::from(page.u16_at(SLOT_COUNT));
    let heap_start = usize::from(page.u16_at(HEAP_START));
    if count > MAX_SLOTS || heap_start > PAGE_SIZE || heap_start < SLOTS + count * SLOT_SIZE {
        return Err("slots and heap overlap");
    }
    let inside = |offset: usize, len: usize| offset >= heap_start && offset + len <= PAGE_SIZE;
    let (lower, upper) = (lower_fence(page), upper_fence(page).unwrap_or((PAGE_SIZE, 0)));
    if !inside(lower.0, lower.1) || !inside(upper.0, upper.1) {
        return Err("fence outside the page");
    }
    if prefix_len(page) > lower.1.min(upper.1) {
        return Err("prefix longer than a fence");
    }
    let mut laid = Downwards::default();
    laid.take(lower);
    laid.take(upper);
    let mut heap_used = fence_cost(lower.1) + fence_cost(upper.1);
    let inner = level(page) > 0;
    let mut before = None;
    for index in 0..count {
        let this = slot(page, index);
        let (key_offset, key_len) = slot_key(this);
        let value_len = usize::from(page.u16_at(key_offset - 2));
        let len = 2 + key_len + value_len;
        if !inside(key_offset - 2, len) || !key_offset.is_multiple_of(2) {
            return Err("entry outside the page");
        }
        if slot_head(this) != page.head_of(key_offset, key_len) {
            return Err("slot and key differ");
        }
        if inner && value_len != CHILD_LEN {
            return Err("child pointer of a wrong length");
        }
        if before.is_some_and(|before| !in_order(page, before, this)) {
            return Err("keys out of order");
        }
        laid.take((key_offset - 2, len));
        heap_used += heap_cost(key_len, value_len);
        before = Some(this);
    }
    if !laid.all && !is_disjoint(page, [lower, upper]) {
        return Err("entries overlap");
    }
    if heap_used != usize::from(page.u16_at(HEAP_USED)) || heap_used > PAGE_SIZE - heap_start {
        return Err("heap accounting is wrong");
    }
    Ok(())
}

/// The half-words of the page that a range touches.
#[inline]
fn half_words((offset, len): (usize, usize)) -> (usize, usize) {
    (offset / 2, (offset + len).div_ceil(2))
}

/// Whether each range lies below the previous one: then they do not overlap.
struct Downwards {
    all: bool,
    /// The beginning of the last range, in half-words.
    floor: usize,
}

impl Default for Downwards {
    fn default() -> Downwards {
        Downwards { all: true, floor: PAGE_SIZE / 2 }
    }
}

impl Downwards {
    #[inline]
    fn take(&mut self, range: (usize, usize)) {
        let (start, end) = half_words(range);
        if start < end {
            self.all &= end <= self.floor;
            self.floor = start;
        }
    }
}

/// Whether all fences and entries, which lie in the page, are disjoint.
#[cold]
fn is_disjoint(page: PageRef<'_>, fences: [(usize, usize); 2]) -> bool {
    let mut taken = Taken([0; PAGE_SIZE / 2 / 64]);
    fences.into_iter().all(|fence| taken.take(fence))
        && (0..slot_count(page)).all(|index| {
            let (key_offset, key_len) = slot_key(slot(page, index));
            let value_len = usize::from(page.u16_at(key_offset - 2));
            taken.take((key_offset - 2, 2 + key_len + value_len))
        })
}

/// The half-words of a page that are in use.
struct Taken([u64; PAGE_SIZE / 2 / 64]);

impl Taken {
    /// Takes a range; false if a part of it is already taken.
    fn take(&mut self, range: (usize, usize)) -> bool {
        let (mut at, end) = half_words(range);
        while at < end {
            let (bit, count) = (at % 64, (end - at).min(64 - at % 64));
            let mask = u64::MAX >> (64 - count) << bit;
            let Some(word) = self.0.get_mut(at / 64).filter(|word| **word & mask == 0) else {
                return false;
            };
            *word |= mask;
            at += count;
        }
        true
    }
}

/// Whether a slot's key is greater than that of the slot before.
#[inline]
fn in_order(page: PageRef<'_>, before: u64, this: u64) -> bool {
    match slot_head(before).cmp(&slot_head(this)) {
        Ordering::Equal => page.compare_ranges(slot_key(before), slot_key(this)) == Ordering::Less,
        heads => heads == Ordering::Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::memory::PageBuf;
    use steppe_vfs::SeededRandom;

    fn page_of(heads: &[u32]) -> Box<PageBuf> {
        let mut buffer = PageBuf::zeroed();
        for (at, head) in heads.iter().enumerate() {
            let entry = PAGE_SIZE - 8 * (at + 1);
            buffer.page_mut().put_u64(SLOTS + at * SLOT_SIZE, make_slot(*head, entry, 4));
        }
        buffer
    }

    /// Heads in several distributions: even, skewed, with duplicates, in one cluster, over the
    /// whole range.
    fn heads(random: &SeededRandom, count: usize) -> Vec<u32> {
        let shape = random.below(5);
        let (low, wide) = (random.next() as u32, random.below(32));
        let head = |at: usize| match shape {
            0 => (at as u32).wrapping_mul(1000),
            1 => random.next() as u32,
            2 => (1u64 << random.below(33)).wrapping_sub(random.below(3)) as u32,
            3 => low.saturating_add(random.below(1 << wide) as u32),
            _ => random.below(4) as u32 * (u32::MAX / 3),
        };
        (0..count).map(head).collect()
    }

    #[test]
    fn a_head_is_found_however_heads_are_spread() {
        let random = SeededRandom::new(20);
        for _ in 0..4000 {
            let count = 1 + random.below(MAX_SLOTS as u64 / 2) as usize;
            let mut heads = heads(&random, count);
            heads.sort_unstable();
            let buffer = page_of(&heads);
            let from = random.below(count as u64) as usize;
            for _ in 0..8 {
                let near = heads[random.below(count as u64) as usize];
                let head = match random.below(3) {
                    0 => near,
                    1 => near.wrapping_add(random.below(3) as u32).wrapping_sub(1),
                    _ => random.next() as u32,
                };
                for or_equal in [false, true] {
                    let found = head_bound(buffer.page(), from, count, head, or_equal);
                    let below = |other: &u32| *other < head || (or_equal && *other == head);
                    assert_eq!(
                        found,
                        from + heads[from..].partition_point(below),
                        "{head} in {heads:?}"
                    );
                }
            }
        }
    }

    /// A leaf without fences whose entries lie at these offsets. Each has a key of four bytes and a
    /// value of two.
    fn leaf_of(offsets: &[usize]) -> Box<PageBuf> {
        let mut buffer = PageBuf::zeroed();
        let mut page = buffer.page_mut();
        let lowest = offsets.iter().copied().min().unwrap_or(PAGE_SIZE);
        page.put_u16(SLOT_COUNT, offsets.len() as u16);
        page.put_u16(HEAP_START, lowest as u16);
        page.put_u16(HEAP_USED, (offsets.len() * heap_cost(4, 2)) as u16);
        page.put_u16(LOWER_OFFSET, lowest as u16);
        page.put_u16(UPPER_LEN, NO_FENCE);
        for (at, &offset) in offsets.iter().enumerate() {
            page.put_u16(offset, 2);
            page.write(offset + 2, &(at as u32).to_be_bytes());
            page.put_u64(SLOTS + at * SLOT_SIZE, make_slot(at as u32, offset, 4));
        }
        buffer
    }

    #[test]
    fn entries_on_top_of_each_other_are_noticed_in_any_order() {
        let random = SeededRandom::new(22);
        for _ in 0..500 {
            let count = 2 + random.below(200) as usize;
            // The step leaves room for one more entry between two.
            let step = 2 * heap_cost(4, 2) + 2 * random.below(3) as usize;
            let count = count.min((PAGE_SIZE - SLOTS) / (step + SLOT_SIZE));
            let mut offsets: Vec<usize> = (1..=count).map(|at| PAGE_SIZE - at * step).collect();
            match random.below(3) {
                0 => offsets.reverse(),
                1 => (1..count).for_each(|at| offsets.swap(at, random.below(at as u64) as usize)),
                _ => {}
            }
            assert_eq!(validate(leaf_of(&offsets).page()), Ok(()));
            // An entry begins inside another one's value.
            let other = 1 + random.below(count as u64 - 1) as usize;
            let one = random.below(other as u64) as usize;
            let (mut bad, at) = (leaf_of(&offsets), offsets[one] + heap_cost(4, 2) - 2);
            let mut page = bad.page_mut();
            page.put_u16(at, 2);
            page.write(at + 2, &(other as u32).to_be_bytes());
            page.put_u64(SLOTS + other * SLOT_SIZE, make_slot(other as u32, at, 4));
            assert_eq!(validate(bad.page()), Err("entries overlap"), "{one}, {other}: {offsets:?}");
        }
    }

    #[test]
    fn heads_out_of_order_lead_nowhere_else() {
        let random = SeededRandom::new(21);
        for _ in 0..4000 {
            let count = 1 + random.below(MAX_SLOTS as u64) as usize;
            let buffer = page_of(&heads(&random, count.min(MAX_SLOTS / 2)));
            let from = random.below(count as u64) as usize;
            let found = head_bound(buffer.page(), from, count, random.next() as u32, true);
            assert!((from..=count).contains(&found), "{found} is not in {from}..={count}");
        }
    }
}
