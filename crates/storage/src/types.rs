//! Types that all modules share.

use crate::wal::{Lsn, Priority};

/// Bytes of a page, in memory and on disk.
pub const PAGE_SIZE: usize = 8192;

/// The longest key.
pub const MAX_KEY_LEN: usize = 2000;

/// The longest key and value together. A leaf with the two longest possible fences still has room
/// for one such entry, so splits always end.
pub const MAX_ENTRY_LEN: usize = 2700;

/// Log record kinds below this are storage's own; the layers above use the others.
pub const FIRST_USER_KIND: u8 = 64;

/// A page's number in the data file. Numbers are reused: a page id alone is never an identity (a
/// generation must be added, as in [`TreeId`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u64);

/// The identity of a tree: its root page (which never moves) and a number that no other tree of
/// this store has or had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId {
    /// The root page.
    pub root: PageId,
    /// A number that is never reused.
    pub generation: u64,
}

/// A bit that is set in the generation of an unlogged tree, on its pages too: see `unlogged`.
const UNLOGGED: u64 = 1 << 63;

impl TreeId {
    /// The identity of an unlogged tree.
    pub(crate) fn unlogged(root: PageId, generation: u64) -> TreeId {
        TreeId { root, generation: generation | UNLOGGED }
    }

    /// Whether changes of the tree are not in the log, so that a crash empties it.
    #[inline]
    pub fn is_unlogged(self) -> bool {
        self.generation & UNLOGGED != 0
    }

    /// The number in a generation, without the bit for unlogged trees.
    pub(crate) fn number_of(generation: u64) -> u64 {
        generation & !UNLOGGED
    }

    /// Bytes of the encoded form.
    pub const ENCODED_LEN: usize = 16;

    /// The form that catalogs and log records store.
    pub fn to_bytes(self) -> [u8; TreeId::ENCODED_LEN] {
        let mut bytes = [0; TreeId::ENCODED_LEN];
        bytes[..8].copy_from_slice(&self.root.0.to_le_bytes());
        bytes[8..].copy_from_slice(&self.generation.to_le_bytes());
        bytes
    }

    /// The inverse of [`TreeId::to_bytes`].
    pub fn from_bytes(bytes: [u8; TreeId::ENCODED_LEN]) -> TreeId {
        let number = u128::from_le_bytes(bytes);
        TreeId { root: PageId(number as u64), generation: (number >> 64) as u64 }
    }
}

/// The caller's part of a log record's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogHeader {
    /// The transaction, or 0.
    pub xid: u64,
    /// The transaction's previous record, or [`Lsn::INVALID`].
    pub prev_lsn: Lsn,
    /// In a compensation record: the transaction's next record to undo ([`Lsn::INVALID`] if none is
    /// left).
    pub undo_next: Option<Lsn>,
    /// Whether the append may fail on a full disk.
    pub priority: Priority,
}

impl LogHeader {
    /// A transaction's change: new work.
    pub fn change(xid: u64, prev_lsn: Lsn) -> LogHeader {
        LogHeader { xid, prev_lsn, undo_next: None, priority: Priority::Normal }
    }

    /// A compensation: it may use the space that is reserved for ending transactions.
    pub fn compensation(xid: u64, prev_lsn: Lsn, undo_next: Lsn) -> LogHeader {
        let undo_next = Some(undo_next);
        LogHeader { xid, prev_lsn, undo_next, priority: Priority::MustSucceed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_id_round_trips() {
        let id = TreeId { root: PageId(0x0102_0304_0506), generation: u64::MAX - 7 };
        assert_eq!(TreeId::from_bytes(id.to_bytes()), id);
    }
}
