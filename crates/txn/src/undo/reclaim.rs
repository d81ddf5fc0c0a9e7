//! What becomes of undo that nobody needs: shown to the purge, then freed.
//!
//! ```text
//!   segment   │ shown │ settled, not yet shown │ not settled │ free │
//!             0       shown_words              first xid >= horizon
//! ```
//!
//! 1. A record is shown once, when its transaction is below the horizon: it has ended, with all
//!    that it marked as undone, and everybody sees what it did. In a segment that is being filled
//!    as in a full one: what a record has deleted does not wait until a megabyte of others has come.
//! 2. A segment is freed when it is full, every transaction in it is below the horizon, and every
//!    record was shown.
//!
//! Records are shown in the order in which they were appended. Behind the first one that is not
//! settled may be others that are; they come with it. While the horizon stands still (an old
//! snapshot), nothing is looked at.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_types::Result;

use super::{
    Body, HEAD_WORDS, OFFSET_BITS, Sealed, Segment, UndoHead, UndoLog, head_of, load_bytes,
    vfs_error, words_of,
};

impl UndoLog {
    /// Shows every record below the horizon that was not shown yet to `purge`, and frees every
    /// full segment whose transactions are all below it. Only one caller works at a time; others
    /// return at once.
    pub(crate) fn reclaim(
        &self,
        horizon: u64,
        mut purge: impl FnMut(&UndoHead, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(mut shown_up_to) = self.reclaiming.try_lock() else { return Ok(()) };
        if horizon > *shown_up_to {
            for segment in self.segments_to_show(horizon) {
                self.show_settled(&segment, horizon, &mut purge)?;
            }
            *shown_up_to = horizon;
        }
        self.free_settled(horizon);
        Ok(())
    }

    /// Those that may have records to show. (The open ones are asked for first: one that is sealed
    /// meanwhile is met twice rather than not at all.)
    fn segments_to_show(&self, horizon: u64) -> Vec<Arc<Segment>> {
        let has_some = |s: &&Arc<Segment>| {
            s.next_xid_to_show.load(Ordering::Relaxed) < horizon && !s.is_shown()
        };
        let open = self.arenas.iter().filter_map(|arena| arena.lock().current.clone());
        let open: Vec<Arc<Segment>> = open.collect();
        let mut found: Vec<Arc<Segment>> =
            self.sealed.lock().queue.iter().filter(has_some).cloned().collect();
        found.extend(open.iter().filter(has_some).cloned());
        found
    }

    /// Shows a segment's records up to the first that is not settled.
    fn show_settled(
        &self,
        segment: &Segment,
        horizon: u64,
        purge: &mut impl FnMut(&UndoHead, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let start = segment.shown_words.load(Ordering::Relaxed);
        let bytes = self.words_from(segment, start)?;
        let mut at = 0;
        while let Some(head_bytes) = bytes.get(at..at + HEAD_WORDS * 8) {
            let head = head_of(words_of(head_bytes));
            segment.next_xid_to_show.store(head.xid, Ordering::Relaxed);
            let body_at = at + HEAD_WORDS * 8;
            let next = body_at + head.len.div_ceil(8) * 8;
            let body = bytes.get(body_at..body_at + head.len);
            let Some(body) = body.filter(|_| head.xid < horizon) else { break };
            // Should that fail, it is tried again from this record on.
            purge(&head, body)?;
            at = next;
            segment.shown_words.store(start + at / 8, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A copy of what is in a segment from a word on.
    fn words_from(&self, segment: &Segment, start: usize) -> Result<Vec<u8>> {
        let used = segment.used_words.load(Ordering::Acquire);
        let mut bytes = Vec::new();
        match &*segment.body.read() {
            Body::Memory(words) => load_bytes(&words[start..used], (used - start) * 8, &mut bytes),
            Body::Spilled(offset) => {
                bytes.resize((used - start) * 8, 0);
                let position = offset + start as u64 * 8;
                self.spill_file()?.read_exact_at(&mut bytes, position).map_err(vfs_error)?;
            }
        }
        Ok(bytes)
    }

    /// Frees what is full, settled and shown.
    fn free_settled(&self, horizon: u64) {
        let is_done =
            |s: &Arc<Segment>| s.max_xid.load(Ordering::Relaxed) < horizon && s.is_shown();
        let mut spilled_some = false;
        loop {
            let mut sealed = self.sealed.lock();
            let at = sealed.queue.iter().position(is_done);
            let Some(segment) = at.and_then(|at| sealed.queue.remove(at)) else { break };
            drop(sealed);
            spilled_some |= self.free(&segment);
        }
        if spilled_some {
            self.shorten_spill_file();
        }
    }

    /// Says whether it was in the file.
    fn free(&self, segment: &Segment) -> bool {
        if self.first_segment.load(Ordering::Relaxed) > 1 {
            let mut restored = self.restored.write();
            restored.retain(|_, new| *new >> OFFSET_BITS != segment.number);
        }
        self.shard(segment.number).write().remove(&segment.number);
        match std::mem::replace(&mut *segment.body.write(), Body::Memory(Box::default())) {
            Body::Memory(words) => {
                self.memory_bytes.fetch_sub(self.segment_bytes(), Ordering::Relaxed);
                self.keep_buffer(words);
                false
            }
            Body::Spilled(offset) => {
                self.sealed.lock().spill_slots_free.push(offset / self.segment_bytes());
                // Nothing is lost but the space if the file system refuses.
                if let Ok(file) = self.spill_file() {
                    let _ = file.punch_hole(offset, self.segment_bytes());
                }
                true
            }
        }
    }

    /// Cuts the spill file behind its last segment. Nobody moves one there meanwhile: that takes
    /// `reclaiming`, too.
    fn shorten_spill_file(&self) {
        let slots = self.sealed.lock().drop_free_slots_at_the_end();
        // As above.
        if let (Some(slots), Ok(file)) = (slots, self.spill_file()) {
            let _ = file.set_len(slots * self.segment_bytes());
        }
    }
}

impl Sealed {
    /// Forgets the slots behind the last one in use; says how many are left, if any went.
    fn drop_free_slots_at_the_end(&mut self) -> Option<u64> {
        let before = self.spill_slots;
        self.spill_slots_free.sort_unstable();
        while self.spill_slots > 0
            && self.spill_slots_free.pop_if(|slot| *slot + 1 == self.spill_slots).is_some()
        {
            self.spill_slots -= 1;
        }
        (self.spill_slots < before).then_some(self.spill_slots)
    }
}

impl Segment {
    /// Whether nothing in it is left to be shown.
    fn is_shown(&self) -> bool {
        self.shown_words.load(Ordering::Relaxed) == self.used_words.load(Ordering::Acquire)
    }
}
