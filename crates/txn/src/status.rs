//! Which transactions have ended, how and when: one atomic word per xid.
//!
//! Correctness conditions:
//!
//! 1. *Snapshot = log position.* A transaction's commit sequence number (CSN) is
//!    the end of its commit record in the log; a snapshot is the log's insert
//!    position; a version is visible iff `csn <= snapshot`. Commits are thus
//!    numbered in log order by construction, and taking a snapshot is one load.
//! 2. *No commit is seen late.* A committer sets COMMITTING before it reserves
//!    log space. A reader whose snapshot includes the reservation synchronises
//!    with it (both are operations on the insert position), hence finds
//!    COMMITTING or the CSN, never "in progress"; it spins on COMMITTING.
//! 3. *Horizon.* Every xid below the horizon has ended, is durable, and ended
//!    before every held snapshot was taken. So a version with such an xid is
//!    visible to everyone without a look-up. The horizon only moves forward.
//!
//! Words live in a ring of chunks. An xid's slot is found by arithmetic; when the
//! ring comes around while a long-running reader holds the horizon back, the
//! oldest chunk is *frozen*: reduced to its smallest and greatest CSN and one
//! bit per aborted xid, plus its words only if a held snapshot lies between the
//! two. So a reader that stays for hours costs 1 bit per transaction, not 8
//! bytes. Transactions that are still running then move to a small map.
//!
//! A reader checks `frozen_before` *after* it has loaded a slot: a slot is
//! reused only after `frozen_before` was raised, so a stale word is noticed.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};

const CHUNK_BITS: u32 = if cfg!(test) { 6 } else { 16 };
const CHUNK: usize = 1 << CHUNK_BITS;
const RING: usize = if cfg!(test) { 4 } else { 64 };

const TAG_SHIFT: u32 = 62;
const IN_PROGRESS: u64 = 0;
const COMMITTING: u64 = 1;
const ABORTED: u64 = 2;
const COMMITTED: u64 = 3;
const PAYLOAD: u64 = (1 << TAG_SHIFT) - 1;
/// In a slot whose chunk is being frozen. Readers take it for a commit about to
/// be published and look again; by then `frozen_before` sends them elsewhere.
const MOVED: u64 = COMMITTING << TAG_SHIFT | PAYLOAD;

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TxnStatus {
    /// Running, in the session of this pid.
    InProgress(u32),
    /// Ended well, at this CSN (the greatest of its chunk if that is frozen).
    Committed(u64),
    /// Rolled back: none of its versions is in a table any more.
    Aborted(u64),
}

impl TxnStatus {
    fn from_word(word: u64) -> TxnStatus {
        let payload = word & PAYLOAD;
        match word >> TAG_SHIFT {
            ABORTED => TxnStatus::Aborted(payload),
            COMMITTED => TxnStatus::Committed(payload),
            _ => TxnStatus::InProgress(payload as u32),
        }
    }
}

fn word(tag: u64, payload: u64) -> u64 {
    tag << TAG_SHIFT | (payload & PAYLOAD)
}

/// A chunk that has left the ring.
struct Frozen {
    csn_max: u64,
    /// The last end of any kind, for the horizon.
    end_max: u64,
    /// One bit per xid; `None` if none aborted.
    aborted: Option<Box<[u64]>>,
    /// All words, if a held snapshot lies among the CSNs.
    words: Option<Box<[u64]>>,
}

impl Frozen {
    fn is_aborted(&self, at: usize) -> bool {
        self.aborted.as_ref().is_some_and(|bits| bits[at / 64] >> (at % 64) & 1 == 1)
    }
}

#[derive(Default)]
struct Attic {
    chunks: BTreeMap<u64, Frozen>,
    /// Transactions that were running when their chunk was frozen.
    stragglers: HashMap<u64, u64, foldhash::fast::RandomState>,
}

/// The status table.
pub(crate) struct StatusTable {
    next_xid: Padded,
    horizon: Padded,
    /// Xids below have no slot in the ring.
    frozen_before: AtomicU64,
    /// Xids below have a slot that is ready.
    prepared_until: AtomicU64,
    ring: Box<[OnceLock<Box<[AtomicU64]>>]>,
    attic: RwLock<Attic>,
    growing: Mutex<()>,
    advancing: Mutex<()>,
}

#[repr(align(128))]
struct Padded(AtomicU64);

/// The first transaction's number: below are PostgreSQL's InvalidTransactionId,
/// BootstrapTransactionId and FrozenTransactionId.
pub(crate) const FIRST_XID: u64 = 3;

impl StatusTable {
    /// A table whose first transaction is `first_xid`; all before have ended.
    pub(crate) fn new(first_xid: u64) -> StatusTable {
        let first_xid = first_xid.max(1);
        let chunk_start = first_xid >> CHUNK_BITS << CHUNK_BITS;
        StatusTable {
            next_xid: Padded(AtomicU64::new(first_xid)),
            horizon: Padded(AtomicU64::new(first_xid)),
            frozen_before: AtomicU64::new(chunk_start),
            prepared_until: AtomicU64::new(chunk_start),
            ring: (0..RING).map(|_| OnceLock::new()).collect(),
            attic: RwLock::default(),
            growing: Mutex::new(()),
            advancing: Mutex::new(()),
        }
    }

    /// A table after a crash: of the transactions before `first_xid` only `running` (each with
    /// its owner) have not ended; what is left of the others, everybody sees.
    pub(crate) fn after_crash(first_xid: u64, running: &[(u64, u32)]) -> StatusTable {
        let table = StatusTable::new(first_xid);
        let Some(oldest) = running.iter().map(|&(xid, _)| xid).min() else { return table };
        let (first_xid, chunk_start) =
            (table.next_xid(), table.frozen_before.load(Ordering::Relaxed));
        let ended = |xid| if xid < first_xid { word(COMMITTED, 0) } else { 0 };
        let slots = chunk_start..chunk_start + CHUNK as u64;
        table.ring[(chunk_start >> CHUNK_BITS) as usize % RING]
            .get_or_init(|| slots.clone().map(|xid| AtomicU64::new(ended(xid))).collect());
        table.prepared_until.store(slots.end, Ordering::Relaxed);
        let mut attic = table.attic.write();
        for chunk in oldest >> CHUNK_BITS..chunk_start >> CHUNK_BITS {
            let frozen = Frozen { csn_max: 0, end_max: 0, aborted: None, words: None };
            attic.chunks.insert(chunk, frozen);
        }
        for &(xid, pid) in running {
            let word = word(IN_PROGRESS, u64::from(pid));
            match table.slot(xid).filter(|_| xid >= chunk_start) {
                Some(slot) => slot.store(word, Ordering::Relaxed),
                None => drop(attic.stragglers.insert(xid, word)),
            }
        }
        drop(attic);
        table.horizon.0.store(oldest, Ordering::Release);
        table
    }

    /// The next xid to be assigned.
    pub(crate) fn next_xid(&self) -> u64 {
        self.next_xid.0.load(Ordering::Acquire)
    }

    /// See the module's header, condition 3.
    pub(crate) fn horizon(&self) -> u64 {
        self.horizon.0.load(Ordering::Acquire)
    }

    fn slot(&self, xid: u64) -> Option<&AtomicU64> {
        let chunk = (xid >> CHUNK_BITS) as usize % RING;
        Some(&self.ring[chunk].get()?[xid as usize % CHUNK])
    }

    /// Starts a transaction. `held` lists the ranges of held snapshots.
    pub(crate) fn assign(&self, pid: u32, held: impl Fn() -> Vec<(u64, u64)>) -> u64 {
        loop {
            let xid = self.next_xid.0.fetch_add(1, Ordering::AcqRel);
            if xid >= self.prepared_until.load(Ordering::Acquire) {
                self.grow(xid, &held);
            }
            // What shows 32 bits of it would show one of PostgreSQL's special numbers.
            let is_special = u64::from(xid as u32) < FIRST_XID && xid > FIRST_XID;
            let state = if is_special { ABORTED } else { IN_PROGRESS };
            let about = if is_special { 0 } else { u64::from(pid) };
            if let Some(slot) = self.slot(xid) {
                slot.store(word(state, about), Ordering::Release);
            }
            if !is_special {
                return xid;
            }
        }
    }

    #[cold]
    fn grow(&self, xid: u64, held: &impl Fn() -> Vec<(u64, u64)>) {
        let _one_at_a_time = self.growing.lock();
        while self.prepared_until.load(Ordering::Acquire) <= xid {
            let start = self.prepared_until.load(Ordering::Acquire);
            let chunk = start >> CHUNK_BITS;
            let position = chunk as usize % RING;
            if let Some(old) = self.ring[position].get() {
                self.freeze(chunk - RING as u64, old, held());
                for slot in old {
                    slot.store(0, Ordering::Release);
                }
            } else {
                self.ring[position].get_or_init(|| (0..CHUNK).map(|_| AtomicU64::new(0)).collect());
            }
            self.prepared_until.store(start + CHUNK as u64, Ordering::Release);
        }
    }

    /// Moves a chunk out of the ring.
    fn freeze(&self, chunk: u64, slots: &[AtomicU64], held: Vec<(u64, u64)>) {
        let first = chunk << CHUNK_BITS;
        let after = first + CHUNK as u64;
        let mut attic = self.attic.write();
        let mut words: Box<[u64]> = vec![0; CHUNK].into();
        let (mut csn_min, mut csn_max, mut end_max) = (u64::MAX, 0, 0);
        let mut aborted: Box<[u64]> = vec![0; CHUNK.div_ceil(64)].into();
        let mut any_aborted = false;
        for (at, slot) in slots.iter().enumerate() {
            // A transaction that ends from now on finds another word than its
            // own in the slot and goes to the map, which is latched until the
            // chunk is in place.
            words[at] = slot.swap(MOVED, Ordering::AcqRel);
            match TxnStatus::from_word(words[at]) {
                TxnStatus::Committed(csn) => {
                    (csn_min, csn_max) = (csn_min.min(csn), csn_max.max(csn));
                    end_max = end_max.max(csn);
                }
                TxnStatus::Aborted(end) => {
                    aborted[at / 64] |= 1 << (at % 64);
                    any_aborted = true;
                    end_max = end_max.max(end);
                }
                TxnStatus::InProgress(_) if first + at as u64 >= self.horizon() => {
                    attic.stragglers.insert(first + at as u64, words[at]);
                }
                TxnStatus::InProgress(_) => {}
            }
        }
        let needs_words = held.iter().any(|&(low, high)| low < csn_max && high >= csn_min);
        let frozen = Frozen {
            csn_max,
            end_max,
            aborted: any_aborted.then_some(aborted),
            words: needs_words.then_some(words),
        };
        attic.chunks.insert(chunk, frozen);
        self.frozen_before.store(after, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Changes the word of a running transaction of session `pid`.
    fn set(&self, xid: u64, pid: u32, new: u64) {
        let own = [word(IN_PROGRESS, u64::from(pid)), word(COMMITTING, u64::from(pid))];
        if let Some(slot) = self.slot(xid) {
            for expected in own {
                let swapped =
                    slot.compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire);
                if swapped.is_ok() {
                    return;
                }
            }
        }
        self.attic.write().stragglers.insert(xid, new);
    }

    /// Comes before the commit record's space is reserved.
    pub(crate) fn set_committing(&self, xid: u64, pid: u32) {
        self.set(xid, pid, word(COMMITTING, u64::from(pid)));
    }

    /// The commit failed before its record was in the log.
    pub(crate) fn set_in_progress(&self, xid: u64, pid: u32) {
        self.set(xid, pid, word(IN_PROGRESS, u64::from(pid)));
    }

    /// Another session stands for a running transaction from here on.
    pub(crate) fn set_owner(&self, xid: u64, from: u32, to: u32) {
        self.set(xid, from, word(IN_PROGRESS, u64::from(to)));
    }

    /// Whether a transaction runs, and this session is the one to wait for.
    pub(crate) fn is_run_by(&self, xid: u64, pid: u32) -> bool {
        self.status(xid) == TxnStatus::InProgress(pid)
    }

    /// Publishes a commit: from here on it is visible to later snapshots.
    pub(crate) fn set_committed(&self, xid: u64, pid: u32, csn: u64) {
        self.set(xid, pid, word(COMMITTED, csn));
    }

    /// Publishes an abort; all versions of the transaction are gone already.
    pub(crate) fn set_aborted(&self, xid: u64, pid: u32, end: u64) {
        self.set(xid, pid, word(ABORTED, end));
    }

    /// The word of an xid at or above the horizon, or `None` if it is frozen.
    fn load(&self, xid: u64) -> Option<u64> {
        let mut spins = 0u32;
        loop {
            let word = self.slot(xid)?.load(Ordering::Acquire);
            fence(Ordering::Acquire);
            if xid < self.frozen_before.load(Ordering::Acquire) {
                return None;
            }
            if word >> TAG_SHIFT != COMMITTING {
                return Some(word);
            }
            spins += 1;
            if spins < 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    /// The state of a transaction.
    pub(crate) fn status(&self, xid: u64) -> TxnStatus {
        if xid < self.horizon() {
            return TxnStatus::Committed(0);
        }
        match self.load(xid) {
            Some(word) => TxnStatus::from_word(word),
            None => self.frozen_status(xid),
        }
    }

    fn straggler(&self, xid: u64) -> Option<u64> {
        loop {
            let word = self.attic.read().stragglers.get(&xid).copied()?;
            if word >> TAG_SHIFT != COMMITTING {
                return Some(word);
            }
            std::thread::yield_now();
        }
    }

    #[cold]
    fn frozen_status(&self, xid: u64) -> TxnStatus {
        if let Some(word) = self.straggler(xid) {
            return TxnStatus::from_word(word);
        }
        let attic = self.attic.read();
        match attic.chunks.get(&(xid >> CHUNK_BITS)) {
            Some(frozen) if frozen.is_aborted(xid as usize % CHUNK) => {
                TxnStatus::Aborted(frozen.end_max)
            }
            Some(frozen) => TxnStatus::Committed(frozen.csn_max),
            // The horizon has passed it meanwhile.
            None => TxnStatus::Committed(0),
        }
    }

    /// The exact CSN of a transaction, if it has committed, is not below the
    /// horizon and not frozen.
    pub(crate) fn exact_csn(&self, xid: u64) -> Option<u64> {
        if xid < self.horizon() {
            return None;
        }
        match TxnStatus::from_word(self.load(xid)?) {
            TxnStatus::Committed(csn) => Some(csn),
            _ => None,
        }
    }

    /// How a transaction ended that the ring still knows of, even below the horizon; `None`: it
    /// is too long ago, or was before the last start.
    pub(crate) fn remembered(&self, xid: u64) -> Option<TxnStatus> {
        if xid >= self.horizon() {
            return Some(self.status(xid));
        }
        if xid < self.frozen_before.load(Ordering::Acquire) {
            return None;
        }
        let word = self.load(xid)?;
        // What was never assigned since the start has no session and no position.
        (word & PAYLOAD != 0).then(|| TxnStatus::from_word(word))
    }

    /// Whether another transaction's version is visible to a snapshot, and if so
    /// the CSN (0 if it is below the horizon, hence durable).
    pub(crate) fn visible(&self, xid: u64, snapshot: u64) -> Option<u64> {
        if xid < self.horizon() {
            return Some(0);
        }
        let status = match self.load(xid) {
            Some(word) => TxnStatus::from_word(word),
            None => return self.frozen_visible(xid, snapshot),
        };
        match status {
            TxnStatus::Committed(csn) if csn <= snapshot => Some(csn),
            _ => None,
        }
    }

    #[cold]
    fn frozen_visible(&self, xid: u64, snapshot: u64) -> Option<u64> {
        let straggler = self.straggler(xid);
        let attic = self.attic.read();
        let at = xid as usize % CHUNK;
        let status = match (straggler, attic.chunks.get(&(xid >> CHUNK_BITS))) {
            (Some(word), _) => TxnStatus::from_word(word),
            (None, None) => return Some(0),
            (None, Some(frozen)) => match &frozen.words {
                Some(words) => TxnStatus::from_word(words[at]),
                None if frozen.is_aborted(at) => return None,
                // No held snapshot lies among the CSNs: all or none is visible.
                None => TxnStatus::Committed(frozen.csn_max),
            },
        };
        match status {
            TxnStatus::Committed(csn) if csn <= snapshot => Some(csn),
            _ => None,
        }
    }

    /// Moves the horizon over every transaction that ended at or before `limit`
    /// (durable, and no newer than the oldest held snapshot), and returns it.
    pub(crate) fn advance_horizon(&self, limit: u64) -> u64 {
        let Some(_advancing) = self.advancing.try_lock() else { return self.horizon() };
        let start = self.horizon();
        let next = self.next_xid();
        let mut xid = start;
        while xid < next {
            let frozen_until = self.frozen_before.load(Ordering::Acquire);
            if xid < frozen_until {
                match self.skip_frozen(xid, limit) {
                    Some(after) => xid = after,
                    None => break,
                }
                continue;
            }
            // Not through `load`: never spin here.
            let Some(slot) = self.slot(xid) else { break };
            let word = slot.load(Ordering::Acquire);
            if xid < self.frozen_before.load(Ordering::Acquire) {
                continue;
            }
            let ended = matches!(word >> TAG_SHIFT, COMMITTED | ABORTED);
            if !ended || word & PAYLOAD > limit {
                break;
            }
            xid += 1;
        }
        if xid > start {
            self.horizon.0.store(xid, Ordering::Release);
            self.sweep_attic(xid);
        }
        xid
    }

    /// The first xid after those of a frozen chunk that `limit` covers.
    fn skip_frozen(&self, xid: u64, limit: u64) -> Option<u64> {
        let attic = self.attic.read();
        let Some(frozen) = attic.chunks.get(&(xid >> CHUNK_BITS)) else { return Some(xid + 1) };
        let after = ((xid >> CHUNK_BITS) + 1) << CHUNK_BITS;
        if frozen.end_max > limit {
            return None;
        }
        let unfinished = |(&xid, &word): (&u64, &u64)| {
            let ended = matches!(word >> TAG_SHIFT, COMMITTED | ABORTED) && word & PAYLOAD <= limit;
            (!ended).then_some(xid)
        };
        let stragglers = attic.stragglers.iter().filter_map(unfinished);
        let first = stragglers.filter(|&s| s >= xid && s < after).min().unwrap_or(after);
        (first > xid).then_some(first)
    }

    fn sweep_attic(&self, horizon: u64) {
        if self.attic.read().chunks.is_empty() {
            return;
        }
        let mut attic = self.attic.write();
        let live = attic.chunks.split_off(&(horizon >> CHUNK_BITS));
        attic.chunks = live;
        attic.stragglers.retain(|&xid, _| xid >= horizon);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing_held() -> Vec<(u64, u64)> {
        Vec::new()
    }

    #[test]
    fn no_xid_looks_like_a_special_one_in_32_bits() {
        let table = StatusTable::new((1 << 32) - 1);
        let next = || table.assign(7, Vec::new);
        assert_eq!([next(), next()], [(1 << 32) - 1, (1 << 32) + 3]);
        for xid in [(1 << 32) - 1, (1 << 32) + 3] {
            table.set_committed(xid, 7, 10);
        }
        assert_eq!(table.advance_horizon(1000), table.next_xid());
    }

    #[test]
    fn visible_iff_committed_at_or_before_the_snapshot() {
        let table = StatusTable::new(1);
        let xid = table.assign(7, nothing_held);
        assert_eq!(table.status(xid), TxnStatus::InProgress(7));
        assert_eq!(table.visible(xid, u64::MAX >> 3), None);
        table.set_committing(xid, 7);
        table.set_committed(xid, 7, 100);
        assert_eq!(table.visible(xid, 99), None);
        assert_eq!(table.visible(xid, 100), Some(100));
        assert_eq!(table.status(xid), TxnStatus::Committed(100));
    }

    #[test]
    fn horizon_stops_at_running_undurable_and_unseen() {
        let table = StatusTable::new(1);
        let a = table.assign(1, nothing_held);
        let b = table.assign(2, nothing_held);
        let c = table.assign(3, nothing_held);
        table.set_committed(a, 1, 10);
        table.set_aborted(b, 2, 20);
        assert_eq!(table.advance_horizon(9), a);
        assert_eq!(table.advance_horizon(15), b);
        assert_eq!(table.advance_horizon(100), c);
        assert_eq!(table.visible(a, 0), Some(0), "below the horizon nobody asks");
    }

    /// However far behind the prepared transactions are, and whichever chunk they are in.
    #[test]
    fn after_a_crash_only_the_running_run() {
        for first_xid in [CHUNK as u64 * 9, CHUNK as u64 * 9 + 17] {
            for oldest in [first_xid - 1, first_xid - 20, first_xid - CHUNK as u64, 5] {
                let running = [(oldest, 1 << 31 | 1), (first_xid - 1, 1 << 31 | 2)];
                let table = StatusTable::after_crash(first_xid, &running[..]);
                for xid in oldest..first_xid {
                    let runs = running.iter().rfind(|(running, _)| *running == xid);
                    match runs {
                        Some(&(_, pid)) => {
                            assert!(table.is_run_by(xid, pid));
                            assert_eq!(table.visible(xid, 1000), None);
                        }
                        None => assert!(table.visible(xid, 1000).is_some(), "{xid}"),
                    }
                }
                assert_eq!(table.advance_horizon(1 << 40), oldest);
                let next = table.assign(3, nothing_held);
                assert_eq!(next, first_xid);
                table.set_committed(next, 3, 2000);
                table.set_committed(oldest, 1 << 31 | 1, 2000);
                table.set_committed(first_xid - 1, 1 << 31 | 2, 2000);
                let after = table.advance_horizon(1 << 40);
                // The same transaction twice: the last one to be entered counts.
                assert_eq!(after, first_xid + 1, "{oldest}");
            }
        }
    }

    /// The ring comes around many times under one old snapshot and one old
    /// writer; every answer equals that of a plain map.
    #[test]
    fn frozen_chunks_answer_as_the_ring_did() {
        let table = StatusTable::new(5);
        let straggler = table.assign(9, nothing_held);
        let count = (CHUNK * RING * 3) as u64;
        let reader = 1000 + count / 10;
        let held = || vec![(reader, reader)];
        let mut ends = Vec::new();
        for n in 0..count {
            let xid = table.assign(1, held);
            let end = 1000 + n;
            if n % 7 == 0 {
                table.set_aborted(xid, 1, end);
                ends.push((xid, None));
            } else {
                table.set_committed(xid, 1, end);
                ends.push((xid, Some(end)));
            }
        }
        table.advance_horizon(reader);
        assert_eq!(table.status(straggler), TxnStatus::InProgress(9));
        for &(xid, csn) in &ends {
            for snapshot in [reader, 1000 + count] {
                let expected = csn.is_some_and(|csn| csn <= snapshot);
                assert_eq!(table.visible(xid, snapshot).is_some(), expected, "{xid} {snapshot}");
            }
            let committed = matches!(table.status(xid), TxnStatus::Committed(_));
            assert_eq!(committed, csn.is_some());
        }
        table.set_committed(straggler, 9, 1000 + count);
        assert_eq!(table.visible(straggler, reader), None);
        assert!(table.visible(straggler, 1000 + count).is_some());
        assert_eq!(table.advance_horizon(1000 + count), table.next_xid());
        assert!(table.attic.read().chunks.is_empty());
    }
}
