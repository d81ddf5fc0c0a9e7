//! Pages: the common header, checksums, and the kinds of page.
//!
//! All numbers are little-endian.
//!
//! ```text
//!  0       4    5     6       8                16               24
//! ┌────────┬────┬─────┬───────┬────────────────┬────────────────┐
//! │checksum│kind│level│ slots │      LSN       │    page id     │ every page
//! ├────────┴────┴─────┴───────┼────────────────┼────────────────┘
//! 24                          32               40
//! │ generation of the tree    │ root of it     │ then as node.rs / bitmap.rs say
//! └───────────────────────────┴────────────────┘
//! ```
//!
//! The checksum is CRC-32C over everything after itself. It covers the page id, so that a page
//! written to a wrong place fails the check.

pub(crate) mod bitmap;
pub(crate) mod edit;
pub(crate) mod node;

use crate::pool::memory::{PageBuf, PageMut, PageRef};
use crate::types::{PAGE_SIZE, PageId};
use crate::wal::Lsn;

pub(crate) const CHECKSUM: usize = 0;
pub(crate) const KIND: usize = 4;
pub(crate) const LEVEL: usize = 5;
pub(crate) const SLOT_COUNT: usize = 6;
pub(crate) const LSN: usize = 8;
pub(crate) const PAGE_ID: usize = 16;
pub(crate) const GENERATION: usize = 24;
pub(crate) const ROOT: usize = 32;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The page is not in use: it was never written, or was freed.
    Free = 0,
    /// Page 0.
    FileHeader = 1,
    /// A part of the allocation bitmap.
    Bitmap = 2,
    /// A node of a tree.
    Node = 3,
}

/// The page's kind byte as an enum; `None` if it is invalid.
#[inline]
pub(crate) fn kind(page: PageRef<'_>) -> Option<Kind> {
    match page.u8_at(KIND) {
        0 => Some(Kind::Free),
        1 => Some(Kind::FileHeader),
        2 => Some(Kind::Bitmap),
        3 => Some(Kind::Node),
        _ => None,
    }
}

/// The end of the last record applied to the page.
#[inline]
pub(crate) fn lsn(page: PageRef<'_>) -> Lsn {
    Lsn(page.u64_at(LSN))
}

/// Sets the page's LSN.
#[inline]
pub(crate) fn set_lsn(page: &mut PageMut<'_>, lsn: Lsn) {
    page.put_u64(LSN, lsn.0);
}

/// Zeroes the page and writes the common header.
pub(crate) fn format(page: &mut PageMut<'_>, id: PageId, kind: Kind) {
    page.zero(0, PAGE_SIZE);
    page.put_u8(KIND, kind as u8);
    page.put_u64(PAGE_ID, id.0);
}

fn checksum(page: &[u8; PAGE_SIZE]) -> u32 {
    let covered = &page[CHECKSUM + 4..];
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, covered) as u32
}

/// Computes the checksum of a page that is about to be written to disk.
pub(crate) fn seal(page: &mut PageBuf) {
    let sum = checksum(page.bytes());
    page.bytes_mut()[CHECKSUM..CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes());
    debug_assert_eq!(verify(page, PageId(page.page().u64_at(PAGE_ID))), Ok(()));
}

/// The reason why a page read from disk is not good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// The page is all zeros: it was never written.
    NeverWritten,
    /// The checksum or the page id is wrong.
    Damaged(&'static str),
}

impl Bad {
    pub(crate) fn what(self) -> &'static str {
        match self {
            Bad::NeverWritten => "page was never written",
            Bad::Damaged(what) => what,
        }
    }
}

/// Checks a page read from disk: checksum, identity, structure.
pub(crate) fn verify(page: &PageBuf, id: PageId) -> Result<(), Bad> {
    verify_bytes(page.bytes(), page.page(), id)
}

/// As [`verify`] for a page of the pool that the caller has latched.
pub(crate) fn verify_latched(page: &PageMut<'_>, id: PageId) -> Result<(), Bad> {
    verify_bytes(page.all_bytes(), **page, id)
}

fn verify_bytes(bytes: &[u8; PAGE_SIZE], view: PageRef<'_>, id: PageId) -> Result<(), Bad> {
    let stored = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    if stored != checksum(bytes) {
        let blank = bytes.iter().all(|&b| b == 0);
        return Err(if blank { Bad::NeverWritten } else { Bad::Damaged("checksum mismatch") });
    }
    if view.u64_at(PAGE_ID) != id.0 {
        return Err(Bad::Damaged("page belongs to another place"));
    }
    match kind(view) {
        Some(Kind::Node) => node::validate(view).map_err(Bad::Damaged),
        Some(_) => Ok(()),
        None => Err(Bad::Damaged("unknown page kind")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_or_a_wrong_place_is_noticed() {
        let mut page = PageBuf::zeroed();
        assert_eq!(verify(&page, PageId(5)), Err(Bad::NeverWritten));
        format(&mut page.page_mut(), PageId(5), Kind::Bitmap);
        seal(&mut page);
        assert_eq!(verify(&page, PageId(5)), Ok(()));
        assert!(matches!(verify(&page, PageId(6)), Err(Bad::Damaged(_))));
        for bit in (0..PAGE_SIZE * 8).step_by(977) {
            page.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(verify(&page, PageId(5)), Err(Bad::Damaged(_))), "bit {bit}");
            page.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
