//! The allocation bitmap, which says which pages of the data file are in use.
//!
//! Bitmap page k is page `1 + k * PAGES_PER_BITMAP` and covers the
//! `PAGES_PER_BITMAP` pages from itself on (the first also stands for page 0,
//! which is always in use). A bitmap page's own bit is set.
//!
//! ```text
//!  0              64                                             8192
//! ┌──────────────┬─────────────────────────────────────────────────┐
//! │ page header  │ bits: bit i = page (this page's id + i)         │
//! └──────────────┴─────────────────────────────────────────────────┘
//! ```

use super::{Kind, format};
use crate::pool::memory::{PageMut, PageRef};
use crate::types::{PAGE_SIZE, PageId};

const BITS: usize = 64;

/// The pages that one bitmap page covers. (Unit tests use fewer, so that a small file has several
/// bitmap pages.)
pub(crate) const PAGES_PER_BITMAP: u64 =
    if cfg!(test) { 512 } else { ((PAGE_SIZE - BITS) * 8) as u64 };

/// The bitmap page that covers `id`, and the bit in it.
pub(crate) fn locate(id: PageId) -> (PageId, u16) {
    debug_assert!(id.0 >= 1, "page 0 has no bit");
    let bit = (id.0 - 1) % PAGES_PER_BITMAP;
    (PageId(id.0 - bit), bit as u16)
}

/// Whether `id` is the id of a bitmap page.
pub(crate) fn is_bitmap_page(id: PageId) -> bool {
    id.0 >= 1 && (id.0 - 1).is_multiple_of(PAGES_PER_BITMAP)
}

/// Makes an empty bitmap page, with its own bit set.
pub(crate) fn init(page: &mut PageMut<'_>, id: PageId) {
    format(page, id, Kind::Bitmap);
    page.put_u8(BITS, 1);
}

/// The 64 bits from bit `word * 64` on.
pub(crate) fn word(page: PageRef<'_>, word: usize) -> u64 {
    page.u64_at(BITS + word * 8)
}

/// Words of a bitmap page.
pub(crate) const WORDS: usize = (PAGE_SIZE - BITS) / 8;

/// Whether the bits `first..first + count` exist and all have the opposite value. If one already
/// has the new value, two trees would share a page.
pub(crate) fn is_run(page: PageRef<'_>, first: u16, count: u16, used: bool) -> bool {
    let end = u64::from(first) + u64::from(count);
    let is_set = |bit: usize| page.u8_at(BITS + bit / 8) >> (bit % 8) & 1 == 1;
    end <= PAGES_PER_BITMAP && (usize::from(first)..end as usize).all(|bit| is_set(bit) != used)
}

/// Sets or clears the bits of a run; false, without a change, if it [is none](is_run).
#[must_use]
pub(crate) fn set_run(page: &mut PageMut<'_>, first: u16, count: u16, used: bool) -> bool {
    if !is_run(**page, first, count, used) {
        return false;
    }
    for bit in usize::from(first)..usize::from(first) + usize::from(count) {
        let at = BITS + bit / 8;
        let byte = page.u8_at(at) ^ 1 << (bit % 8);
        page.put_u8(at, byte);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::memory::PageBuf;

    #[test]
    fn runs_are_set_and_cleared_once() {
        let mut buffer = PageBuf::zeroed();
        let mut page = buffer.page_mut();
        init(&mut page, PageId(1));
        assert_eq!(word(*page, 0), 1);
        assert!(set_run(&mut page, 60, 10, true));
        assert_eq!(word(*page, 0), 0xf << 60 | 1);
        assert_eq!(word(*page, 1), 0x3f);
        assert!(!set_run(&mut page, 69, 2, true), "bit 69 is set already");
        assert!(set_run(&mut page, 60, 4, false));
        assert_eq!(word(*page, 0), 1);
        assert!(!set_run(&mut page, (PAGES_PER_BITMAP - 1) as u16, 2, true));
    }

    #[test]
    fn locate_maps_each_page_to_one_bit() {
        assert_eq!(locate(PageId(1)), (PageId(1), 0));
        assert_eq!(locate(PageId(PAGES_PER_BITMAP)), (PageId(1), PAGES_PER_BITMAP as u16 - 1));
        let second = PageId(1 + PAGES_PER_BITMAP);
        assert_eq!(locate(second), (second, 0));
        assert!(is_bitmap_page(second) && !is_bitmap_page(PageId(2)) && !is_bitmap_page(PageId(0)));
    }
}
