//! Page operations: the changes of pages in log records, and their redo.
//!
//! A record of storage's own kinds has the body
//!
//! ```text
//!  ┌ length of the operations u32 ┬ operations … ┬ caller's payload ┐
//!  operation: ┌ opcode u8 ┬ page id u48 ┬ arguments … ┐
//! ```
//!
//! Each operation changes one page, is complete in itself, and is applied iff the page's LSN is
//! below the record's end. Structure modifications use [`apply`] in normal operation too, so that
//! redo cannot differ.

use crate::page::edit::{self, NodeHeader};
use crate::page::{self, Kind, bitmap, node};
use crate::pool::memory::{PageMut, PageRef};
use crate::pool::scratch::ScratchPage;
use crate::types::{PAGE_SIZE, PageId, TreeId};

/// Record kinds of storage (below [`crate::FIRST_USER_KIND`]).
pub(crate) mod kind {
    /// A change of one leaf with the caller's payload.
    pub(crate) const CHANGE: u8 = 1;
    /// A structure modification: split, merge, new bitmap page, freed pages.
    pub(crate) const STRUCTURE: u8 = 2;
    /// A new tree, with the caller's payload.
    pub(crate) const CREATE_TREE: u8 = 3;
    /// A record without effect: it fills the rest of a segment.
    pub(crate) const FILLER: u8 = 4;
}

const INSERT: u8 = 1;
const REPLACE: u8 = 2;
const SPLICE: u8 = 3;
const REMOVE: u8 = 4;
const INSERT_MANY: u8 = 5;
const IMAGE: u8 = 6;
const TRUNCATE: u8 = 7;
const FREE: u8 = 8;
const BITMAP_RUNS: u8 = 9;
const BITMAP_INIT: u8 = 10;
const EMPTY_NODE: u8 = 11;
const REMOVE_MANY: u8 = 12;
const SPLICE_BEHIND: u8 = 13;

/// Bytes of the length word before the operations.
pub(crate) const PREFIX_LEN: usize = 4;

/// A record body under construction: length word and operations.
#[derive(Default)]
pub(crate) struct OpsBuffer(Vec<u8>);

impl OpsBuffer {
    /// Removes all operations.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
        self.0.extend_from_slice(&[0; PREFIX_LEN]);
    }

    /// Fills in the length word. The bytes are the beginning of the record's body.
    pub(crate) fn finish(&mut self) -> &[u8] {
        let len = (self.0.len() - PREFIX_LEN) as u32;
        self.0[..PREFIX_LEN].copy_from_slice(&len.to_le_bytes());
        &self.0
    }

    fn begin(&mut self, opcode: u8, page: PageId) {
        debug_assert!(self.0.len() >= PREFIX_LEN && page.0 < 1 << 48);
        self.0.push(opcode);
        self.0.extend_from_slice(&page.0.to_le_bytes()[..6]);
    }

    fn u16(&mut self, value: usize) {
        debug_assert!(value <= usize::from(u16::MAX));
        self.0.extend_from_slice(&(value as u16).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.u16(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// Inserts an entry before slot `index`.
    pub(crate) fn insert(&mut self, page: PageId, index: usize, suffix: &[u8], value: &[u8]) {
        self.begin(INSERT, page);
        self.u16(index);
        self.bytes(suffix);
        self.bytes(value);
    }

    /// Replaces the value of slot `index`.
    pub(crate) fn replace(&mut self, page: PageId, index: usize, value: &[u8]) {
        self.begin(REPLACE, page);
        self.u16(index);
        self.bytes(value);
    }

    /// Replaces bytes inside the value of slot `index`, and overwrites the value's beginning with
    /// `head` if that is not empty.
    pub(crate) fn splice(
        &mut self,
        page: PageId,
        index: usize,
        (offset, old_len): (usize, usize),
        (head, new): (&[u8], &[u8]),
    ) {
        self.begin(if head.is_empty() { SPLICE } else { SPLICE_BEHIND }, page);
        self.u16(index);
        self.u16(offset);
        self.u16(old_len);
        if !head.is_empty() {
            self.bytes(head);
        }
        self.bytes(new);
    }

    /// Removes slot `index`.
    pub(crate) fn remove(&mut self, page: PageId, index: usize) {
        self.begin(REMOVE, page);
        self.u16(index);
    }

    /// Removes the slots of some runs (first, count), in ascending order.
    pub(crate) fn remove_many(&mut self, page: PageId, runs: &[(u16, u16)]) {
        self.begin(REMOVE_MANY, page);
        self.runs(runs);
    }

    fn runs(&mut self, runs: &[(u16, u16)]) {
        self.u16(runs.len());
        for &(first, count) in runs {
            self.u16(usize::from(first));
            self.u16(usize::from(count));
        }
    }

    /// Inserts consecutive entries (suffix, value) before slot `index`. The common beginning of all
    /// values (for rows of one statement, their header) is written once.
    pub(crate) fn insert_many<'e>(
        &mut self,
        page: PageId,
        index: usize,
        entries: impl ExactSizeIterator<Item = (&'e [u8], &'e [u8])> + Clone,
    ) {
        self.begin(INSERT_MANY, page);
        self.u16(index);
        self.u16(entries.len());
        let shared = common_beginning(entries.clone().map(|(_, value)| value));
        self.bytes(shared);
        for (suffix, value) in entries {
            self.bytes(suffix);
            self.bytes(&value[shared.len()..]);
        }
    }

    /// Sets the whole content of a page; the unused middle is not stored.
    pub(crate) fn image(&mut self, page: PageRef<'_>) {
        let slots_end = node::SLOTS + node::slot_count(page) * node::SLOT_SIZE;
        let heap_start = usize::from(page.u16_at(node::HEAP_START));
        self.begin(IMAGE, PageId(page.u64_at(page::PAGE_ID)));
        self.u16(slots_end);
        self.u16(heap_start);
        let complete = page.append_to(0, slots_end, &mut self.0)
            && page.append_to(heap_start, PAGE_SIZE - heap_start, &mut self.0);
        assert!(complete, "an image is made of a valid node");
    }

    /// Removes the slots from `at` on, and sets the upper fence to `upper`.
    pub(crate) fn truncate(&mut self, page: PageId, at: usize, upper: &[u8]) {
        self.begin(TRUNCATE, page);
        self.u16(at);
        self.bytes(upper);
    }

    /// Frees the page: it becomes empty.
    pub(crate) fn free(&mut self, page: PageId) {
        self.begin(FREE, page);
    }

    /// Sets or clears runs of bits (first, count) of a bitmap page.
    pub(crate) fn bitmap_runs(&mut self, page: PageId, used: bool, runs: &[(u16, u16)]) {
        self.begin(BITMAP_RUNS, page);
        self.0.push(u8::from(used));
        self.runs(runs);
    }

    /// Creates a bitmap page.
    pub(crate) fn bitmap_init(&mut self, page: PageId) {
        self.begin(BITMAP_INIT, page);
    }

    /// Creates the root of a new tree: an empty leaf without fences.
    pub(crate) fn empty_root(&mut self, tree: TreeId) {
        self.begin(EMPTY_NODE, tree.root);
        self.0.extend_from_slice(&tree.generation.to_le_bytes());
    }
}

/// One decoded operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op<'a> {
    pub(crate) page: PageId,
    opcode: u8,
    arguments: &'a [u8],
}

impl Op<'_> {
    /// Whether the operation ignores the page's previous content.
    pub(crate) fn formats(&self) -> bool {
        matches!(self.opcode, IMAGE | FREE | BITMAP_INIT | EMPTY_NODE)
    }

    /// The generation of the tree that the operation creates.
    pub(crate) fn new_generation(&self) -> Option<u64> {
        (self.opcode == EMPTY_NODE).then(|| Reader(self.arguments).u64()).flatten()
    }
}

/// A bounds-checked reader of a record's bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    fn u16(&mut self) -> Option<usize> {
        self.take(2).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.u16()?;
        self.take(len)
    }
}

/// Splits a record's body into its operations and the caller's payload.
pub(crate) fn split_body(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = Reader(body);
    let len = reader.take(PREFIX_LEN)?;
    let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]);
    let ops = reader.take(usize::try_from(len).ok()?)?;
    Some((ops, reader.0))
}

/// Calls `f` for each operation of a record; an error says which part cannot be decoded.
pub(crate) fn for_each<'a, E: From<&'static str>>(
    ops: &'a [u8],
    mut f: impl FnMut(Op<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader(ops);
    while !reader.0.is_empty() {
        let op = next_op(&mut reader).ok_or("truncated or unknown page operation")?;
        f(op)?;
    }
    Ok(())
}

fn next_op<'a>(reader: &mut Reader<'a>) -> Option<Op<'a>> {
    let opcode = reader.u8()?;
    let id = reader.take(6)?;
    let page = PageId(u64::from_le_bytes([id[0], id[1], id[2], id[3], id[4], id[5], 0, 0]));
    let start = reader.0;
    match opcode {
        INSERT => {
            reader.u16()?;
            reader.bytes()?;
            reader.bytes()?;
        }
        REPLACE | TRUNCATE => {
            reader.u16()?;
            reader.bytes()?;
        }
        SPLICE => {
            reader.take(6)?;
            reader.bytes()?;
        }
        SPLICE_BEHIND => {
            reader.take(6)?;
            reader.bytes()?;
            reader.bytes()?;
        }
        REMOVE => drop(reader.u16()?),
        REMOVE_MANY => {
            let runs = reader.u16()?;
            reader.take(runs * 4)?;
        }
        INSERT_MANY => {
            reader.u16()?;
            let count = reader.u16()?;
            reader.bytes()?;
            for _ in 0..count {
                reader.bytes()?;
                reader.bytes()?;
            }
        }
        IMAGE => {
            let slots_end = reader.u16()?;
            let heap_start = reader.u16()?;
            reader.take(slots_end + PAGE_SIZE.checked_sub(heap_start)?)?;
        }
        FREE | BITMAP_INIT => {}
        BITMAP_RUNS => {
            reader.u8()?;
            let runs = reader.u16()?;
            reader.take(runs * 4)?;
        }
        EMPTY_NODE => drop(reader.u64()?),
        _ => return None,
    }
    let arguments = &start[..start.len() - reader.0.len()];
    Some(Op { page, opcode, arguments })
}

/// The error if an operation does not fit its page.
const MISFIT: &str = "page operation does not fit its page";

/// Applies an operation to its page. The page must be in the state that it had when the operation
/// was logged; any other page is refused before it is changed.
pub(crate) fn apply(page: &mut PageMut<'_>, op: &Op<'_>) -> Result<(), &'static str> {
    let on_node = !op.formats() && op.opcode != BITMAP_RUNS;
    if on_node && page::kind(**page) != Some(Kind::Node) {
        return Err("operation on a tree's page meets another kind of page");
    }
    apply_checked(page, op).ok_or(MISFIT)
}

fn apply_checked(page: &mut PageMut<'_>, op: &Op<'_>) -> Option<()> {
    let mut reader = Reader(op.arguments);
    let count = node::slot_count(**page);
    match op.opcode {
        INSERT => {
            let (index, suffix, value) = (reader.u16()?, reader.bytes()?, reader.bytes()?);
            inserts_well(**page, index, suffix, value)
                .then(|| edit::insert(page, index, suffix, value))
        }
        REPLACE => {
            let (index, value) = (reader.u16()?, reader.bytes()?);
            let fits = index < count && edit::fits_value(**page, index, value.len());
            let fits = fits && has_value_len(**page, value.len());
            fits.then(|| edit::replace(page, index, value))
        }
        SPLICE | SPLICE_BEHIND => apply_splice(page, op.opcode == SPLICE_BEHIND, &mut reader),
        REMOVE => {
            let index = reader.u16()?;
            (index < count).then(|| edit::remove(page, index))
        }
        REMOVE_MANY => apply_remove_many(page, &mut reader),
        INSERT_MANY => apply_insert_many(page, &mut reader),
        IMAGE => apply_image(page, op.page, &mut reader),
        TRUNCATE => {
            let (at, upper) = (reader.u16()?, reader.bytes()?);
            truncate_fits(**page, at, upper).then(|| edit::truncate(page, at, upper))
        }
        FREE => {
            page::format(page, op.page, Kind::Free);
            Some(())
        }
        BITMAP_RUNS => apply_bitmap_runs(page, &mut reader),
        BITMAP_INIT => {
            bitmap::init(page, op.page);
            Some(())
        }
        EMPTY_NODE => {
            let tree = TreeId { root: op.page, generation: reader.u64()? };
            let first_child = PageId(0);
            let header =
                NodeHeader { id: op.page, tree, level: 0, lower: &[], upper: None, first_child };
            edit::init(page, header);
            Some(())
        }
        _ => None,
    }
}

/// Whether an entry belongs before slot `index`, and fits the page.
fn inserts_well(page: PageRef<'_>, index: usize, suffix: &[u8], value: &[u8]) -> bool {
    node::search(page, suffix) == (index, false)
        && has_value_len(page, value.len())
        && edit::fits(page, suffix.len(), value.len())
}

/// Whether a value may have this length: in inner nodes values are page ids of children.
fn has_value_len(page: PageRef<'_>, len: usize) -> bool {
    node::level(page) == 0 || len == node::CHILD_LEN
}

/// Whether all slots below `at` are below `upper`, and fit the page with it as the upper fence.
fn truncate_fits(page: PageRef<'_>, at: usize, upper: &[u8]) -> bool {
    if !node::covers(page, upper) || at > node::search(page, node::suffix_of(page, upper)).0 {
        return false;
    }
    let lower = node::lower_fence_key(page);
    let prefix = edit::common_prefix(&lower, upper);
    let size = edit::size_with_fences(page, 0..at, lower.len(), upper.len(), prefix);
    size <= edit::CAPACITY
}

fn apply_splice(page: &mut PageMut<'_>, has_head: bool, reader: &mut Reader<'_>) -> Option<()> {
    let (index, offset, old_len) = (reader.u16()?, reader.u16()?, reader.u16()?);
    let head = if has_head { reader.bytes()? } else { &[] };
    let new = reader.bytes()?;
    if index >= node::slot_count(**page) {
        return None;
    }
    let value_len = node::entry(**page, index)?.value_len;
    if offset + old_len > value_len || head.len() > offset {
        return None;
    }
    let new_len = value_len - old_len + new.len();
    let fits = has_value_len(**page, new_len) && edit::fits_value(**page, index, new_len);
    fits.then(|| edit::splice(page, index, (offset, old_len), (head, new)))
}

/// The common beginning of all values.
fn common_beginning<'v>(mut values: impl Iterator<Item = &'v [u8]>) -> &'v [u8] {
    let Some(mut shared) = values.next() else { return &[] };
    for value in values {
        if !value.starts_with(shared) {
            shared = &shared[..edit::common_prefix(shared, value)];
        }
    }
    shared
}

fn apply_remove_many(page: &mut PageMut<'_>, reader: &mut Reader<'_>) -> Option<()> {
    let mut runs = Vec::new();
    let mut end = 0;
    for _ in 0..reader.u16()? {
        let (first, count) = (reader.u16()?, reader.u16()?);
        if first < end || count == 0 || first + count > node::slot_count(**page) {
            return None;
        }
        end = first + count;
        runs.push((first, count));
    }
    edit::remove_runs(page, runs.into_iter());
    Some(())
}

fn apply_insert_many(page: &mut PageMut<'_>, reader: &mut Reader<'_>) -> Option<()> {
    let (first, count) = (reader.u16()?, reader.u16()?);
    let shared = reader.bytes()?;
    let mut parts = Vec::with_capacity(count.min(node::MAX_SLOTS));
    let mut needed = 0;
    for _ in 0..count {
        let (suffix, rest) = (reader.bytes()?, reader.bytes()?);
        let value_len = shared.len() + rest.len();
        if !has_value_len(**page, value_len) {
            return None;
        }
        needed += node::SLOT_SIZE + node::heap_cost(suffix.len(), value_len);
        parts.push((suffix, [shared, rest].concat()));
    }
    let entries: Vec<_> = parts.iter().map(|(suffix, value)| (*suffix, &value[..])).collect();
    let present = node::slot_count(**page);
    let fits =
        first <= present && present + count <= node::MAX_SLOTS && node::room(**page) >= needed;
    let belongs = |&(suffix, _): &(&[u8], &[u8])| node::search(**page, suffix) == (first, false);
    let in_order = entries.windows(2).all(|pair| pair[0].0 < pair[1].0)
        && entries.first().is_none_or(belongs)
        && entries.last().is_none_or(belongs);
    (in_order && fits).then(|| edit::insert_many(page, first, entries.iter().copied()))
}

fn apply_image(page: &mut PageMut<'_>, id: PageId, reader: &mut Reader<'_>) -> Option<()> {
    let (slots_end, heap_start) = (reader.u16()?, reader.u16()?);
    if slots_end > heap_start || heap_start > PAGE_SIZE || slots_end < node::SLOTS {
        return None;
    }
    let mut image = ScratchPage::zeroed();
    image.bytes_mut()[..slots_end].copy_from_slice(reader.take(slots_end)?);
    image.bytes_mut()[heap_start..].copy_from_slice(reader.take(PAGE_SIZE - heap_start)?);
    let view = image.page();
    let sound = view.u64_at(page::PAGE_ID) == id.0
        && page::kind(view) == Some(Kind::Node)
        && node::validate(view).is_ok();
    sound.then(|| page.copy_from(&image))
}

fn apply_bitmap_runs(page: &mut PageMut<'_>, reader: &mut Reader<'_>) -> Option<()> {
    if page::kind(**page) != Some(Kind::Bitmap) {
        return None;
    }
    let used = reader.u8()? != 0;
    for _ in 0..reader.u16()? {
        let (first, count) = (reader.u16()?, reader.u16()?);
        if !bitmap::set_run(page, first as u16, count as u16, used) {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: PageId = PageId(3);

    fn leaf(keys: &[Vec<u8>]) -> ScratchPage {
        let mut page = ScratchPage::zeroed();
        let tree = TreeId { root: ID, generation: 1 };
        let header = NodeHeader {
            id: ID,
            tree,
            level: 0,
            lower: b"aa",
            upper: Some(b"ab"),
            first_child: PageId(0),
        };
        edit::init(&mut page.page_mut(), header);
        for suffix in keys {
            edit::append(&mut page.page_mut(), &[b"aa", &suffix[..]].concat(), b"value");
        }
        page
    }

    /// Argument bytes that are often nearly valid.
    fn argument() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            (0..6u16).prop_map(|n| n.to_le_bytes().to_vec()),
            any::<u16>().prop_map(|n| n.to_le_bytes().to_vec()),
            Just(vec![2, 0, b'a', b'a']),
            prop::collection::vec(any::<u8>(), 0..12).prop_map(|b| [
                &(b.len() as u16).to_le_bytes()[..],
                &b
            ]
            .concat()),
        ]
    }

    proptest! {
        /// Redo refuses any damaged record, or leaves a valid page.
        #[test]
        fn nonsense_is_refused(
            keys in prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..6), 0..20),
            opcode in 0..14u8,
            arguments in prop::collection::vec(argument(), 0..6),
        ) {
            let keys: Vec<Vec<u8>> = keys.into_iter().collect();
            let mut page = leaf(&keys);
            let mut bytes = vec![opcode, 3, 0, 0, 0, 0, 0];
            bytes.extend(arguments.concat());
            let _ = for_each(&bytes, |op| {
                apply(&mut page.page_mut(), &op)?;
                Ok::<(), &'static str>(())
            });
            let view = page.page();
            if page::kind(view) == Some(Kind::Node) {
                for index in 0..node::slot_count(view) {
                    prop_assert!(node::entry(view, index).is_some());
                }
            }
        }
    }

    #[test]
    fn no_entries_past_the_last_slot_are_refused() {
        let mut page = leaf(&[]);
        let bytes = [INSERT_MANY, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0];
        let applied = for_each(&bytes, |op| apply(&mut page.page_mut(), &op));
        assert!(applied.is_err());
    }

    #[test]
    fn an_image_restores_the_page() {
        let page = leaf(&[b"x".to_vec(), b"y".to_vec()]);
        let mut ops = OpsBuffer::default();
        ops.clear();
        ops.image(page.page());
        let body = [ops.finish(), b"payload"].concat();
        let (operations, payload) = split_body(&body).unwrap();
        assert_eq!(payload, b"payload");
        let mut other = ScratchPage::zeroed();
        for_each(operations, |op| apply(&mut other.page_mut(), &op)).unwrap();
        assert!(other.bytes() == page.bytes());
    }
}
