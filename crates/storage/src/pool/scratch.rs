//! Private pages for scans, for reading the file and for rewriting nodes. Threads reuse their
//! memory: its alignment is its own size, and such memory is expensive to allocate.

use super::memory::PageBuf;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// The most private pages that a thread keeps for its next scans.
const SPARES_MAX: usize = 8;

thread_local! {
    static SPARES: RefCell<Vec<Box<PageBuf>>> = const { RefCell::new(Vec::new()) };
}

/// A private page with arbitrary content. The thread that drops it reuses its memory: a statement
/// may scan thousands of leaves.
pub(crate) struct ScratchPage(Option<Box<PageBuf>>);

impl ScratchPage {
    pub(crate) fn new() -> ScratchPage {
        let spare = SPARES.try_with(|spares| spares.borrow_mut().pop());
        ScratchPage(Some(spare.ok().flatten().unwrap_or_else(PageBuf::zeroed)))
    }

    /// A page of zeros.
    pub(crate) fn zeroed() -> ScratchPage {
        let mut page = ScratchPage::new();
        page.bytes_mut().fill(0);
        page
    }
}

impl Deref for ScratchPage {
    type Target = PageBuf;

    #[inline]
    fn deref(&self) -> &PageBuf {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for ScratchPage {
    #[inline]
    fn deref_mut(&mut self) -> &mut PageBuf {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for ScratchPage {
    fn drop(&mut self) {
        // A thread that is ending keeps no pages.
        let _ = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() < SPARES_MAX {
                spares.extend(self.0.take());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_uses_its_scratch_pages_again() {
        let mut one = ScratchPage::new();
        one.bytes_mut()[7] = 1;
        let place = one.bytes().as_ptr();
        let other = ScratchPage::new();
        assert_ne!(other.bytes().as_ptr(), place);
        drop(one);
        assert_eq!(ScratchPage::new().bytes().as_ptr(), place);
        assert_eq!(ScratchPage::zeroed().bytes(), &[0; crate::types::PAGE_SIZE]);
    }
}
