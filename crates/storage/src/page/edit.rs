//! Changes of nodes. Each depends only on the page's content and its arguments, so that redo
//! repeats exactly the same change.
//!
//! The caller checks room before anything is logged; here it is asserted.

use super::node::{
    self, CHILD_LEN, FIRST_CHILD, HEAP_START, HEAP_USED, LAST_INSERT, LOWER_LEN, LOWER_OFFSET,
    MAX_SLOTS, NO_FENCE, PREFIX_LEN, SLOT_SIZE, SLOTS, UPPER_LEN, UPPER_OFFSET,
};
use super::{GENERATION, Kind, LEVEL, ROOT, SLOT_COUNT, format};
use crate::pool::memory::{PageMut, PageRef};
use crate::pool::scratch::ScratchPage;
use crate::types::{PAGE_SIZE, PageId, TreeId};

/// The value of `last insert` if there was none: no slot follows it.
const NO_INSERT: u16 = u16::MAX - 1;

/// The properties of a fresh node.
#[derive(Clone, Copy)]
pub(crate) struct NodeHeader<'a> {
    pub(crate) id: PageId,
    pub(crate) tree: TreeId,
    pub(crate) level: u8,
    pub(crate) lower: &'a [u8],
    pub(crate) upper: Option<&'a [u8]>,
    pub(crate) first_child: PageId,
}

/// The number of leading bytes that two byte strings share.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Makes an empty node.
pub(crate) fn init(page: &mut PageMut<'_>, header: NodeHeader<'_>) {
    format(page, header.id, Kind::Node);
    page.put_u8(LEVEL, header.level);
    page.put_u64(GENERATION, header.tree.generation);
    page.put_u64(ROOT, header.tree.root.0);
    page.put_u64(FIRST_CHILD, header.first_child.0);
    page.put_u16(LAST_INSERT, NO_INSERT);
    page.put_u16(HEAP_START, PAGE_SIZE as u16);
    write_fences(page, header.lower, header.upper);
}

/// Stores fences into an empty heap, and sets the prefix that follows from them.
fn write_fences(page: &mut PageMut<'_>, lower: &[u8], upper: Option<&[u8]>) {
    debug_assert_eq!(usize::from(page.u16_at(HEAP_START)), PAGE_SIZE);
    let lower_offset = PAGE_SIZE - node::fence_cost(lower.len());
    let upper_cost = node::fence_cost(upper.map_or(0, <[u8]>::len));
    let upper_offset = lower_offset - upper_cost;
    page.write(lower_offset, lower);
    page.write(upper_offset, upper.unwrap_or_default());
    page.put_u16(LOWER_OFFSET, lower_offset as u16);
    page.put_u16(LOWER_LEN, lower.len() as u16);
    page.put_u16(UPPER_OFFSET, upper_offset as u16);
    page.put_u16(UPPER_LEN, upper.map_or(NO_FENCE, |key| key.len() as u16));
    page.put_u16(PREFIX_LEN, upper.map_or(0, |upper| common_prefix(lower, upper)) as u16);
    page.put_u16(HEAP_START, upper_offset as u16);
    page.put_u16(HEAP_USED, (PAGE_SIZE - upper_offset) as u16);
}

/// Whether an entry with this suffix fits.
#[inline]
pub(crate) fn fits(page: PageRef<'_>, suffix_len: usize, value_len: usize) -> bool {
    node::slot_count(page) < MAX_SLOTS
        && node::room(page) >= SLOT_SIZE + node::heap_cost(suffix_len, value_len)
}

/// Takes `heap_bytes` from the heap; `slots` more slots will follow.
fn allocate(page: &mut PageMut<'_>, heap_bytes: usize, slots: usize) -> usize {
    let slots_end = SLOTS + (node::slot_count(**page) + slots) * SLOT_SIZE;
    let needed = slots_end + heap_bytes;
    if usize::from(page.u16_at(HEAP_START)) < needed {
        compact(page);
    }
    let heap_start = usize::from(page.u16_at(HEAP_START));
    assert!(heap_start >= needed, "no room in the page: the caller must check before it logs");
    let offset = heap_start - heap_bytes;
    page.put_u16(HEAP_START, offset as u16);
    page.put_u16(HEAP_USED, page.u16_at(HEAP_USED) + heap_bytes as u16);
    offset
}

fn write_entry(page: &mut PageMut<'_>, offset: usize, suffix: &[u8], value: &[u8]) {
    page.put_u16(offset, value.len() as u16);
    page.write(offset + 2, suffix);
    page.write(offset + 2 + suffix.len(), value);
}

fn put_slot(page: &mut PageMut<'_>, index: usize, slot: u64) {
    page.put_u64(SLOTS + index * SLOT_SIZE, slot);
}

/// Inserts an entry before slot `index`.
pub(crate) fn insert(page: &mut PageMut<'_>, index: usize, suffix: &[u8], value: &[u8]) {
    let count = node::slot_count(**page);
    assert!(index <= count && count < MAX_SLOTS);
    let offset = allocate(page, node::heap_cost(suffix.len(), value.len()), 1);
    write_entry(page, offset, suffix, value);
    let at = SLOTS + index * SLOT_SIZE;
    page.move_within(at, at + SLOT_SIZE, (count - index) * SLOT_SIZE);
    put_slot(page, index, node::make_slot(node::head(suffix), offset, suffix.len()));
    page.put_u16(SLOT_COUNT, (count + 1) as u16);
    page.put_u16(LAST_INSERT, index as u16);
}

/// Inserts entries, in the order of their keys, before slot `index`.
pub(crate) fn insert_many<'e>(
    page: &mut PageMut<'_>,
    index: usize,
    entries: impl ExactSizeIterator<Item = (&'e [u8], &'e [u8])> + Clone,
) {
    let (count, added) = (node::slot_count(**page), entries.len());
    assert!(index <= count && count + added <= MAX_SLOTS);
    let cost = |(suffix, value): (&[u8], &[u8])| node::heap_cost(suffix.len(), value.len());
    let bytes = entries.clone().map(cost).sum();
    let mut offset = allocate(page, bytes, added) + bytes;
    let at = SLOTS + index * SLOT_SIZE;
    page.move_within(at, at + added * SLOT_SIZE, (count - index) * SLOT_SIZE);
    for (slot, (suffix, value)) in (index..).zip(entries) {
        offset -= cost((suffix, value));
        write_entry(page, offset, suffix, value);
        put_slot(page, slot, node::make_slot(node::head(suffix), offset, suffix.len()));
    }
    page.put_u16(SLOT_COUNT, (count + added) as u16);
    page.put_u16(LAST_INSERT, (index + added).saturating_sub(1) as u16);
}

/// Whether an insertion before slot `index` directly follows the last one.
pub(crate) fn is_ascending(page: PageRef<'_>, index: usize) -> bool {
    usize::from(page.u16_at(LAST_INSERT)) + 1 == index
}

/// Removes the entry of slot `index`.
pub(crate) fn remove(page: &mut PageMut<'_>, index: usize) {
    remove_runs(page, std::iter::once((index, 1)));
}

/// Removes the entries of some runs of slots (first, count), given in ascending order.
pub(crate) fn remove_runs(
    page: &mut PageMut<'_>,
    runs: impl DoubleEndedIterator<Item = (usize, usize)>,
) {
    for (first, run) in runs.rev() {
        let count = node::slot_count(**page);
        assert!(run <= count && first <= count - run);
        for index in first..first + run {
            release(page, index);
        }
        let (from, to) = (first + run, first);
        let moved = (count - from) * SLOT_SIZE;
        page.move_within(SLOTS + from * SLOT_SIZE, SLOTS + to * SLOT_SIZE, moved);
        page.put_u16(SLOT_COUNT, (count - run) as u16);
    }
    page.put_u16(LAST_INSERT, NO_INSERT);
}

/// Frees the heap bytes of a slot's entry.
fn release(page: &mut PageMut<'_>, index: usize) {
    let entry = checked_entry(**page, index);
    let cost = node::heap_cost(entry.key_len, entry.value_len);
    page.put_u16(HEAP_USED, page.u16_at(HEAP_USED) - cost as u16);
    if usize::from(page.u16_at(HEAP_START)) == entry.key_offset - 2 {
        page.put_u16(HEAP_START, (entry.key_offset - 2 + cost) as u16);
    }
}

fn checked_entry(page: PageRef<'_>, index: usize) -> node::Entry {
    node::entry(page, index).expect("entries of a latched page were validated when it was read")
}

/// Whether the entry of slot `index` can get a value of this length.
pub(crate) fn fits_value(page: PageRef<'_>, index: usize, value_len: usize) -> bool {
    let entry = checked_entry(page, index);
    let old_cost = node::heap_cost(entry.key_len, entry.value_len);
    node::room(page) + old_cost >= node::heap_cost(entry.key_len, value_len)
}

/// Replaces the value of slot `index`.
pub(crate) fn replace(page: &mut PageMut<'_>, index: usize, value: &[u8]) {
    let entry = checked_entry(**page, index);
    let old_cost = node::heap_cost(entry.key_len, entry.value_len);
    let new_cost = node::heap_cost(entry.key_len, value.len());
    if new_cost <= old_cost {
        page.put_u16(entry.key_offset - 2, value.len() as u16);
        page.write(entry.value_offset, value);
        let used = page.u16_at(HEAP_USED) - (old_cost - new_cost) as u16;
        page.put_u16(HEAP_USED, used);
        return;
    }
    // The old copy becomes garbage first, so that compaction can use its room. Its slot is removed
    // meanwhile, or compaction would keep the copy.
    let suffix = page.bytes(entry.key_offset, entry.key_len).to_vec();
    let last_insert = page.u16_at(LAST_INSERT);
    remove(page, index);
    insert(page, index, &suffix, value);
    page.put_u16(LAST_INSERT, last_insert);
}

/// Overwrites the beginning of the value of slot `index` with `head`, and replaces `old_len` bytes
/// at `offset` by `new`.
pub(crate) fn splice(
    page: &mut PageMut<'_>,
    index: usize,
    (offset, old_len): (usize, usize),
    (head, new): (&[u8], &[u8]),
) {
    let entry = checked_entry(**page, index);
    assert!(head.len() <= offset && offset + old_len <= entry.value_len);
    if !head.is_empty() {
        page.write(entry.value_offset, head);
    }
    if old_len == new.len() {
        page.write(entry.value_offset + offset, new);
        return;
    }
    let old = page.bytes(entry.value_offset, entry.value_len);
    let value = [&old[..offset], new, &old[offset + old_len..]].concat();
    replace(page, index, &value);
}

/// Rewrites the page without garbage. Its prefix stays the same: the caller's suffixes depend on
/// it.
fn compact(page: &mut PageMut<'_>) {
    let (header, lower, upper) = parts(**page);
    let header = NodeHeader { lower: &lower, upper: upper.as_deref(), ..header };
    let last_insert = page.u16_at(LAST_INSERT);
    let lsn = super::lsn(**page);
    let mut fresh = ScratchPage::zeroed();
    init(&mut fresh.page_mut(), header);
    fresh.page_mut().put_u16(PREFIX_LEN, page.u16_at(PREFIX_LEN));
    append_range(&mut fresh.page_mut(), **page, 0..node::slot_count(**page));
    page.copy_from(&fresh);
    page.put_u16(LAST_INSERT, last_insert);
    super::set_lsn(page, lsn);
}

/// The tree of a node.
pub(crate) fn tree_of(page: PageRef<'_>) -> TreeId {
    TreeId { root: PageId(page.u64_at(ROOT)), generation: page.u64_at(GENERATION) }
}

/// The header and fences of a node (the header's own fences are empty).
pub(crate) fn parts(page: PageRef<'_>) -> (NodeHeader<'static>, Vec<u8>, Option<Vec<u8>>) {
    let header = NodeHeader {
        id: PageId(page.u64_at(super::PAGE_ID)),
        tree: tree_of(page),
        level: node::level(page),
        lower: &[],
        upper: None,
        first_child: PageId(page.u64_at(FIRST_CHILD)),
    };
    (header, node::lower_fence_key(page), node::upper_fence_key(page))
}

/// Copies entries of `source` behind the last one of `target`, whose prefix may
/// be longer or shorter.
pub(crate) fn append_range(
    target: &mut PageMut<'_>,
    source: PageRef<'_>,
    range: std::ops::Range<usize>,
) {
    let prefix_len = node::prefix_len(source);
    match node::prefix_len(**target).checked_sub(prefix_len) {
        Some(cut) => append_cut(target, source, range, cut),
        None => append_lengthened(target, source, range),
    }
    target.put_u16(LAST_INSERT, NO_INSERT);
}

/// Shortens keys by their first `cut` bytes: suffix and value are one range in either page.
fn append_cut(
    target: &mut PageMut<'_>,
    source: PageRef<'_>,
    range: std::ops::Range<usize>,
    cut: usize,
) {
    let cost = |entry: &node::Entry| node::heap_cost(entry.key_len - cut, entry.value_len);
    let bytes = range.clone().map(|index| cost(&checked_entry(source, index))).sum();
    let count = node::slot_count(**target);
    let mut offset = allocate(target, bytes, range.len()) + bytes;
    for (slot, index) in (count..).zip(range.clone()) {
        let entry = checked_entry(source, index);
        let suffix_len = entry.key_len - cut;
        offset -= cost(&entry);
        target.put_u16(offset, entry.value_len as u16);
        target.copy_range(offset + 2, source, entry.key_offset + cut, suffix_len + entry.value_len);
        let mut head = [0; 4];
        let copied = target.copy_to(offset + 2, &mut head[..suffix_len.min(4)]);
        assert!(copied, "the suffix was just written");
        put_slot(target, slot, node::make_slot(node::head(&head), offset, suffix_len));
    }
    target.put_u16(SLOT_COUNT, (count + range.len()) as u16);
}

/// Restores a part of the keys' former common prefix.
fn append_lengthened(target: &mut PageMut<'_>, source: PageRef<'_>, range: std::ops::Range<usize>) {
    let mut key = Vec::new();
    let mut value = Vec::new();
    for index in range {
        let entry = checked_entry(source, index);
        key.clear();
        value.clear();
        let complete = node::full_key(source, index, &mut key)
            && source.append_to(entry.value_offset, entry.value_len, &mut value);
        assert!(complete, "a latched page is intact");
        append(target, &key, &value);
    }
}

/// Inserts an entry behind the last one, given its full key.
pub(crate) fn append(target: &mut PageMut<'_>, key: &[u8], value: &[u8]) {
    let suffix = node::suffix_of(**target, key);
    insert(target, node::slot_count(**target), suffix, value);
}

/// The bytes that `slots` of this page would take in a node with other fences.
pub(crate) fn size_with_fences(
    page: PageRef<'_>,
    slots: std::ops::Range<usize>,
    lower_len: usize,
    upper_len: usize,
    new_prefix_len: usize,
) -> usize {
    let prefix_len = node::prefix_len(page);
    let entries: usize = slots
        .map(|index| {
            let entry = checked_entry(page, index);
            let suffix_len = entry.key_len + prefix_len - new_prefix_len;
            SLOT_SIZE + node::heap_cost(suffix_len, entry.value_len)
        })
        .sum();
    entries + node::fence_cost(lower_len) + node::fence_cost(upper_len)
}

/// Cuts the node at slot `at`: it and all slots above belong to another node, and the upper fence
/// moves down to `upper`.
pub(crate) fn truncate(page: &mut PageMut<'_>, at: usize, upper: &[u8]) {
    if at == node::slot_count(**page) && move_upper_fence(page, upper) {
        page.put_u16(LAST_INSERT, NO_INSERT);
        return;
    }
    let (header, lower, _) = parts(**page);
    let header = NodeHeader { lower: &lower, upper: Some(upper), ..header };
    let lsn = super::lsn(**page);
    let mut fresh = ScratchPage::zeroed();
    init(&mut fresh.page_mut(), header);
    append_range(&mut fresh.page_mut(), **page, 0..at);
    page.copy_from(&fresh);
    super::set_lsn(page, lsn);
}

/// Gives the node another upper fence and leaves its entries unchanged; false if the fence needs
/// room and there is none. Its keys may then share more bytes than the prefix, until they are
/// written to another page.
fn move_upper_fence(page: &mut PageMut<'_>, upper: &[u8]) -> bool {
    let Some((old_offset, old_len)) = node::upper_fence(**page) else { return false };
    let lower = node::lower_fence(**page);
    let prefix_len = common_prefix(page.bytes(lower.0, lower.1), upper);
    let (old_cost, new_cost) = (node::fence_cost(old_len), node::fence_cost(upper.len()));
    if prefix_len < node::prefix_len(**page) {
        return false;
    }
    let offset = if new_cost <= old_cost {
        old_offset
    } else {
        let slots_end = SLOTS + node::slot_count(**page) * SLOT_SIZE;
        let heap_start = usize::from(page.u16_at(HEAP_START));
        if heap_start < slots_end + new_cost {
            return false;
        }
        page.put_u16(HEAP_START, (heap_start - new_cost) as u16);
        heap_start - new_cost
    };
    page.write(offset, upper);
    page.put_u16(UPPER_OFFSET, offset as u16);
    page.put_u16(UPPER_LEN, upper.len() as u16);
    page.put_u16(HEAP_USED, page.u16_at(HEAP_USED) + new_cost as u16 - old_cost as u16);
    true
}

/// The value of an inner node's entry.
pub(crate) fn child_bytes(child: PageId) -> [u8; CHILD_LEN] {
    child.0.to_le_bytes()
}

/// The most bytes that a node's slots and heap may use.
pub(crate) const CAPACITY: usize = PAGE_SIZE - SLOTS;
