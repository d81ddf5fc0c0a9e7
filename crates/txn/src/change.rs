//! What a change must remember so that it can be taken back: one encoding, used
//! as undo record in memory and as payload in the log.
//!
//! Also the layout of row headers and posting words:
//!
//! ```text
//!   row, inserted │ flags u8 ‖ xid u56 │ 1 ‖ command id (of 63 bits) │ bytes…
//!   row, changed  │ flags u8 ‖ xid u56 │ 0 ‖ undo pointer            │ bytes…
//!   posting       │ flags u8 ‖ xid u56 │
//! ```
//!
//! A row's flags have the number of its version in their upper half.
//!
//! The command id matters to its own transaction only. A changed row's is in the undo
//! record, which lives as long as that: every stored row is four bytes shorter for it.

use steppe_storage::TreeId;
use steppe_types::{Error, Result, SqlState};

use crate::files::FileId;
use crate::undo::UndoPtr;

/// Bytes of [`RowHeader`] before the row's own.
pub(crate) const ROW_HEADER_LEN: usize = 16;

/// The version is a deletion; the bytes are those of the version before.
pub(crate) const DELETED: u8 = 1;
/// The version changed a key: its writer holds the row in mode UPDATE, not NO
/// KEY UPDATE.
pub(crate) const KEY_CHANGED: u8 = 2;

/// The version is a deletion, for the row's new version is in another table.
pub(crate) const MOVED: u8 = 8;

/// The row's version was written over one that its writer had locked first, or that its snapshot
/// did not see: PostgreSQL shows its xid as xmax, too. (A row's; a posting has [`REVIVED`].)
pub(crate) const LOCKED: u8 = 4;

/// Above a row's flags: a count of its versions, which tells their ctids apart.
const VERSION_SHIFT: u32 = 4;

/// The posting was deleted before and came back to life: the row had the key at
/// two different times.
pub(crate) const REVIVED: u8 = 4;

const XID_MASK: u64 = (1 << 56) - 1;

/// An xid with flags in the top byte: the word of rows and postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) fn new(xid: u64, flags: u8) -> Word {
        Word(xid & XID_MASK | u64::from(flags) << 56)
    }
    pub(crate) fn xid(self) -> u64 {
        self.0 & XID_MASK
    }
    pub(crate) fn flags(self) -> u8 {
        (self.0 >> 56) as u8
    }
    pub(crate) fn is_deleted(self) -> bool {
        self.flags() & DELETED != 0
    }
    pub(crate) fn is_moved(self) -> bool {
        self.flags() & MOVED != 0
    }
    /// Counts a row's versions, up to 15 and again from 0.
    pub(crate) fn version(self) -> u8 {
        self.flags() >> VERSION_SHIFT
    }
    /// The word of the version that comes after a row's.
    pub(crate) fn next(self, xid: u64, flags: u8) -> Word {
        Word::new(xid, flags | self.version().wrapping_add(1) << VERSION_SHIFT)
    }
}

/// What precedes the bytes of a row in its table's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowHeader {
    pub(crate) word: Word,
    pub(crate) origin: Origin,
}

/// How a version of a row came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This command of its transaction inserted it.
    Inserted(u32),
    /// It took the place of the version that this undo record leads to, which also has
    /// the command.
    Changed(UndoPtr),
}

/// Set in the second word of an inserted row's header.
const INSERTED: u64 = 1 << 63;

impl RowHeader {
    pub(crate) fn to_bytes(self) -> [u8; ROW_HEADER_LEN] {
        let mut bytes = [0; ROW_HEADER_LEN];
        bytes[..8].copy_from_slice(&self.word.0.to_le_bytes());
        let origin = match self.origin {
            Origin::Inserted(cid) => INSERTED | u64::from(cid),
            Origin::Changed(undo) => undo,
        };
        bytes[8..].copy_from_slice(&origin.to_le_bytes());
        bytes
    }

    /// Splits a tree value into header and row bytes.
    #[inline]
    pub(crate) fn split(value: &[u8]) -> Result<(RowHeader, &[u8])> {
        let Some((head, row)) = value.split_at_checked(ROW_HEADER_LEN) else {
            return Err(corrupt("row header"));
        };
        let mut reader = Reader(head);
        let (word, origin) = (Word(reader.u64()?), reader.u64()?);
        let origin = match origin & INSERTED {
            0 => Origin::Changed(origin),
            _ => Origin::Inserted(origin as u32),
        };
        Ok((RowHeader { word, origin }, row))
    }
}

#[cold]
pub(crate) fn corrupt(what: &str) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("invalid {what}"))
}

/// Where undo goes on after a compensation record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UndoNext {
    /// At this log record (0: nothing is left).
    At(u64),
    /// Part of a batch was taken back; the batch is to be undone again, which
    /// does no harm. Follow the record's own chain.
    SameRecord,
}

/// A change, as undo and log know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// Rows of consecutive ids came to be.
    RowInsert { tree: TreeId, first: u64, count: u64 },
    /// A row was replaced. Old bytes = `prefix` bytes of the new row, `middle`,
    /// the last `suffix` bytes of the new row.
    RowUpdate {
        tree: TreeId,
        row: u64,
        before: RowHeader,
        prefix: u32,
        suffix: u32,
        middle: &'a [u8],
    },
    /// A row was marked as deleted.
    RowDelete { tree: TreeId, row: u64, before: RowHeader },
    /// A posting came to be, or came back to life (`before`). Deleted postings of the same key have
    /// gone with it: `gone` is the newest of their deleters, or 0.
    PostingInsert {
        tree: TreeId,
        row: u64,
        unique: bool,
        before: Option<Word>,
        gone: u64,
        key: &'a [u8],
    },
    /// A posting was marked as deleted.
    PostingDelete { tree: TreeId, row: u64, unique: bool, before: Word, key: &'a [u8] },
    /// New entries: tree keys as they are stored, each behind its u16 length,
    /// row ids behind each (u64).
    PostingBatch { tree: TreeId, unique: bool, entries: &'a [u8] },
    /// A file came to be, without a tree.
    CreateFile { file: FileId },
    /// A tree was made for a file. Not undone: the file's end is the tree's.
    FileTree { tree: TreeId, file: FileId },
    /// A value was stored out of line.
    OverflowPut { tree: TreeId, id: u64, chunks: u32 },
    /// A value is to be removed once no snapshot can see it.
    OverflowFree { tree: TreeId, id: u64, chunks: u32 },
    /// The record that carries this takes an earlier one back.
    Compensation { next: UndoNext, kept: Option<u64> },
    /// The tree of cells was made.
    SystemTree { tree: TreeId },
    /// The record removes entries that transactions up to `newest` have deleted. A snapshot that does
    /// not see that transaction may have needed them. No transaction owns the record, and it is never
    /// undone.
    Purge { newest: u64 },
}

const ROW_INSERT: u8 = 1;
const ROW_UPDATE: u8 = 2;
const ROW_DELETE: u8 = 3;
const POSTING_INSERT: u8 = 4;
const POSTING_DELETE: u8 = 5;
const POSTING_BATCH: u8 = 6;
const CREATE_FILE: u8 = 7;
const OVERFLOW_PUT: u8 = 8;
const OVERFLOW_FREE: u8 = 9;
const COMPENSATION: u8 = 10;
const SYSTEM_TREE: u8 = 11;
const FILE_TREE: u8 = 12;
const PURGE: u8 = 13;

impl Change<'_> {
    /// Appends the encoded form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Change::RowInsert { tree, first, count } => {
                start(out, ROW_INSERT, Some(tree));
                put_u64(out, first);
                put_u64(out, count);
            }
            Change::RowUpdate { tree, row, before, prefix, suffix, middle } => {
                start(out, ROW_UPDATE, Some(tree));
                put_u64(out, row);
                out.extend_from_slice(&before.to_bytes());
                out.extend_from_slice(&prefix.to_le_bytes());
                out.extend_from_slice(&suffix.to_le_bytes());
                out.extend_from_slice(middle);
            }
            Change::RowDelete { tree, row, before } => {
                start(out, ROW_DELETE, Some(tree));
                put_u64(out, row);
                out.extend_from_slice(&before.to_bytes());
            }
            Change::PostingInsert { tree, row, unique, before, gone, key } => {
                start(out, POSTING_INSERT, Some(tree));
                put_u64(out, row);
                let parts = u8::from(before.is_some()) << 1 | u8::from(gone != 0) << 2;
                out.push(u8::from(unique) | parts);
                put_u64(out, before.map_or(0, |word| word.0));
                if gone != 0 {
                    put_u64(out, gone);
                }
                out.extend_from_slice(key);
            }
            Change::PostingDelete { tree, row, unique, before, key } => {
                start(out, POSTING_DELETE, Some(tree));
                put_u64(out, row);
                out.push(u8::from(unique));
                put_u64(out, before.0);
                out.extend_from_slice(key);
            }
            Change::PostingBatch { tree, unique, entries } => {
                start(out, POSTING_BATCH, Some(tree));
                out.push(u8::from(unique));
                out.extend_from_slice(entries);
            }
            Change::CreateFile { file } => {
                start(out, CREATE_FILE, None);
                file.encode(out);
            }
            Change::FileTree { tree, file } => {
                start(out, FILE_TREE, Some(tree));
                file.encode(out);
            }
            Change::OverflowPut { tree, id, chunks } => {
                start(out, OVERFLOW_PUT, Some(tree));
                put_u64(out, id);
                out.extend_from_slice(&chunks.to_le_bytes());
            }
            Change::OverflowFree { tree, id, chunks } => {
                start(out, OVERFLOW_FREE, Some(tree));
                put_u64(out, id);
                out.extend_from_slice(&chunks.to_le_bytes());
            }
            Change::Compensation { next, kept } => {
                start(out, COMPENSATION, None);
                let (flag, lsn) = match next {
                    UndoNext::At(lsn) => (0, lsn),
                    UndoNext::SameRecord => (1, 0),
                };
                out.push(flag | u8::from(kept.is_some()) << 1);
                put_u64(out, lsn);
                put_u64(out, kept.unwrap_or(0));
            }
            Change::SystemTree { tree } => start(out, SYSTEM_TREE, Some(tree)),
            Change::Purge { newest } => {
                start(out, PURGE, None);
                put_u64(out, newest);
            }
        }
    }

    /// Reads the encoded form.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Change<'_>> {
        let mut reader = Reader(bytes);
        let kind = reader.u8()?;
        if kind == COMPENSATION {
            let flags = reader.u8()?;
            let (lsn, id) = (reader.u64()?, reader.u64()?);
            let next = if flags & 1 == 0 { UndoNext::At(lsn) } else { UndoNext::SameRecord };
            return Ok(Change::Compensation { next, kept: (flags & 2 != 0).then_some(id) });
        }
        if kind == PURGE {
            return Ok(Change::Purge { newest: reader.u64()? });
        }
        if kind == CREATE_FILE {
            return Ok(Change::CreateFile { file: FileId::decode(&mut reader)? });
        }
        let tree = reader.tree()?;
        Ok(match kind {
            ROW_INSERT => Change::RowInsert { tree, first: reader.u64()?, count: reader.u64()? },
            ROW_UPDATE => Change::RowUpdate {
                tree,
                row: reader.u64()?,
                before: reader.header()?,
                prefix: reader.u32()?,
                suffix: reader.u32()?,
                middle: reader.0,
            },
            ROW_DELETE => Change::RowDelete { tree, row: reader.u64()?, before: reader.header()? },
            POSTING_INSERT => {
                let row = reader.u64()?;
                let flags = reader.u8()?;
                let word = Word(reader.u64()?);
                let before = (flags & 2 != 0).then_some(word);
                let gone = if flags & 4 != 0 { reader.u64()? } else { 0 };
                let (unique, key) = (flags & 1 != 0, reader.0);
                Change::PostingInsert { tree, row, unique, before, gone, key }
            }
            POSTING_DELETE => {
                let row = reader.u64()?;
                let unique = reader.u8()? & 1 != 0;
                let before = Word(reader.u64()?);
                Change::PostingDelete { tree, row, unique, before, key: reader.0 }
            }
            POSTING_BATCH => {
                let unique = reader.u8()? & 1 != 0;
                Change::PostingBatch { tree, unique, entries: reader.0 }
            }
            FILE_TREE => Change::FileTree { tree, file: FileId::decode(&mut reader)? },
            OVERFLOW_PUT => Change::OverflowPut { tree, id: reader.u64()?, chunks: reader.u32()? },
            OVERFLOW_FREE => {
                Change::OverflowFree { tree, id: reader.u64()?, chunks: reader.u32()? }
            }
            SYSTEM_TREE => Change::SystemTree { tree },
            _ => return Err(corrupt("undo record kind")),
        })
    }

    /// Whether it is a change of an unlogged file's tree.
    pub(crate) fn is_unlogged(&self) -> bool {
        self.tree().is_some_and(TreeId::is_unlogged)
    }

    /// The tree that it has changed, if it is one of entries.
    pub(crate) fn tree(&self) -> Option<TreeId> {
        match *self {
            Change::RowInsert { tree, .. }
            | Change::RowUpdate { tree, .. }
            | Change::RowDelete { tree, .. }
            | Change::PostingInsert { tree, .. }
            | Change::PostingDelete { tree, .. }
            | Change::PostingBatch { tree, .. }
            | Change::OverflowPut { tree, .. }
            | Change::OverflowFree { tree, .. } => Some(tree),
            Change::CreateFile { .. }
            | Change::FileTree { .. }
            | Change::Compensation { .. }
            | Change::Purge { .. }
            | Change::SystemTree { .. } => None,
        }
    }

    /// A bound on the log that taking this change back appends; see `budget`.
    pub(crate) fn undo_cost(&self) -> u64 {
        /// A compensation's header, operation and payload, without the bytes it restores.
        const RECORD: u64 = 128;
        /// A unique key's list of postings, as long as no old snapshot makes it longer.
        const POSTINGS: u64 = 256;
        match self {
            // One record a leaf, and seldom more leaves than the rows were put on.
            Change::RowInsert { count, .. } => 3 * RECORD + count,
            Change::RowUpdate { prefix, middle, .. } => {
                RECORD + ROW_HEADER_LEN as u64 + u64::from(*prefix) + middle.len() as u64
            }
            Change::RowDelete { .. } => RECORD + ROW_HEADER_LEN as u64,
            Change::PostingInsert { unique: true, .. }
            | Change::PostingDelete { unique: true, .. } => RECORD + POSTINGS,
            Change::PostingInsert { .. } | Change::PostingDelete { .. } => RECORD,
            Change::PostingBatch { entries, .. } => 3 * RECORD + entries.len() as u64 / 4,
            // Freeing the root, the entry, the compensation.
            Change::CreateFile { .. } => 3 * RECORD,
            Change::OverflowPut { chunks, .. } => {
                // Two chunks or three a leaf.
                RECORD + RECORD / 2 * u64::from(*chunks)
            }
            Change::OverflowFree { .. } => RECORD,
            Change::Compensation { .. }
            | Change::SystemTree { .. }
            | Change::FileTree { .. }
            | Change::Purge { .. } => 0,
        }
    }

    /// Encodes into an empty buffer.
    pub(crate) fn to_vec(self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }
}

fn start(out: &mut Vec<u8>, kind: u8, tree: Option<TreeId>) {
    out.push(kind);
    if let Some(tree) = tree {
        out.extend_from_slice(&tree.to_bytes());
    }
}

pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Takes little-endian numbers off the front of a slice.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((head, rest)) = self.0.split_at_checked(len) else {
            return Err(corrupt("transaction record: it ends too early"));
        };
        self.0 = rest;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }
    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }
    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    pub(crate) fn tree(&mut self) -> Result<TreeId> {
        Ok(TreeId::from_bytes(self.array()?))
    }
    fn header(&mut self) -> Result<RowHeader> {
        Ok(RowHeader::split(self.bytes(ROW_HEADER_LEN)?)?.0)
    }
}

/// The lengths of what two rows have in common at their beginning and end.
pub(crate) fn common_ends(old: &[u8], new: &[u8]) -> (usize, usize) {
    let shorter = old.len().min(new.len());
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = shorter - prefix;
    let suffix =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (prefix, suffix)
}

/// Rebuilds the row before an update, in `row`.
pub(crate) fn apply_delta(
    row: &mut Vec<u8>,
    prefix: u32,
    suffix: u32,
    middle: &[u8],
) -> Result<()> {
    let (prefix, suffix) = (prefix as usize, suffix as usize);
    if prefix + suffix > row.len() {
        return Err(corrupt("undo record: its delta does not fit the row"));
    }
    let end = row.len() - suffix;
    row.splice(prefix..end, middle.iter().copied());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{DatabaseId, RelFileNumber};
    use proptest::prelude::*;
    use steppe_storage::PageId;

    proptest! {
        #[test]
        fn a_delta_restores_the_old_row(old: Vec<u8>, cut in 0usize..40, new: Vec<u8>) {
            // Rows that share their ends are the usual case: make some.
            let mut mixed = old.clone();
            mixed.splice(cut.min(old.len()).., new.iter().copied());
            for target in [&new, &mixed] {
                let (prefix, suffix) = common_ends(&old, target);
                let middle = &old[prefix..old.len() - suffix];
                let mut row = target.clone();
                apply_delta(&mut row, prefix as u32, suffix as u32, middle).expect("fits");
                prop_assert_eq!(&row, &old);
            }
        }

        #[test]
        fn decoding_never_panics(
            mut bytes: Vec<u8>,
            kind in 0u8..32,
            flips: Vec<(prop::sample::Index, u8)>,
        ) {
            let _ = Change::decode(&bytes);
            // Most of what is random is of no known kind.
            bytes.insert(0, kind);
            let _ = Change::decode(&bytes);
            let tree = TreeId { root: PageId(7), generation: 8 };
            let word = Word::new(9, 1);
            let before = RowHeader { word, origin: Origin::Changed(10) };
            for change in [
                Change::RowUpdate { tree, row: 1, before, prefix: 2, suffix: 3, middle: &bytes },
                Change::PostingInsert {
                    tree, row: 1, unique: true, before: Some(word), gone: 3, key: &bytes,
                },
                Change::Purge { newest: 4 },
                Change::PostingBatch { tree, unique: false, entries: &bytes },
            ] {
                let mut changed = change.to_vec();
                for (at, byte) in &flips {
                    let at = at.index(changed.len());
                    changed[at] = *byte;
                }
                let _ = Change::decode(&changed);
            }
        }

        #[test]
        fn changes_round_trip(row: u64, undo: u64, cid: u32, xid in 0u64..1 << 56,
                              flags: u8, key: Vec<u8>, unique: bool) {
            let tree = TreeId { root: PageId(7), generation: 8 };
            let word = Word::new(xid, flags);
            let before = RowHeader { word, origin: Origin::Changed(undo >> 1) };
            let inserted = RowHeader { word, origin: Origin::Inserted(cid) };
            let file = FileId { database: DatabaseId(cid), number: RelFileNumber(row) };
            for change in [
                Change::RowDelete { tree, row, before: inserted },
                Change::RowInsert { tree, first: row, count: undo },
                Change::RowUpdate { tree, row, before, prefix: cid, suffix: 1, middle: &key },
                Change::RowDelete { tree, row, before },
                Change::PostingInsert { tree, row, unique, before: Some(word), gone: 0, key: &key },
                Change::PostingInsert { tree, row, unique, before: None, gone: xid, key: &key },
                Change::Purge { newest: xid },
                Change::PostingDelete { tree, row, unique, before: word, key: &key },
                Change::PostingBatch { tree, unique, entries: &key },
                Change::CreateFile { file },
                Change::FileTree { tree, file },
                Change::OverflowPut { tree, id: row, chunks: cid },
                Change::OverflowFree { tree, id: row, chunks: cid },
                Change::Compensation { next: UndoNext::At(row), kept: None },
                Change::Compensation { next: UndoNext::SameRecord, kept: Some(undo) },
                Change::SystemTree { tree },
            ] {
                let bytes = change.to_vec();
                prop_assert_eq!(Change::decode(&bytes).expect("decodes"), change);
            }
        }
    }
}
