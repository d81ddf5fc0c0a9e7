//! SERIALIZABLE: serializable snapshot isolation.
//!
//! Transactions run on a snapshot, as in REPEATABLE READ, and nobody waits for a reader.
//! What is added is watching for *rw-conflicts*: T1 →rw T2 if T1 read something in a state
//! from before a change by T2, with which it ran at the same time. In every execution that
//! no serial order explains there are two such edges in a row,
//!
//! ```text
//!   Tin ──rw──▶ Tpivot ──rw──▶ Tout        where Tout committed first of the three
//! ```
//!
//! (Fekete et al., "Making Snapshot Isolation Serializable", TODS 2005; Cahill et al.,
//! SIGMOD 2008). Whenever two edges could become that, one transaction fails with 40001.
//! The rules, and which transaction it is, are those of PostgreSQL (Ports and Grittner,
//! VLDB 2012; predicate.c).
//!
//! An edge is found from either side:
//!
//! | first | then | found by |
//! |---|---|---|
//! | T1 reads | T2 writes | T2: it finds T1's SIREAD lock (`locks`) |
//! | T2 writes | T1 reads | T1: it meets a version that its snapshot does not see |
//!
//! *No edge is missed*: a reader enters its lock before it reads, a writer looks for locks
//! after it has written, with a full fence between the two steps of each. So at least one of
//! them sees the other.
//!
//! A reader locks what it asks for: a row, all rows of a file (a scan over the table), or a
//! range of keys of an index, whether there are entries in it or not. A changed key counts
//! against the ranges, a changed row against the rows. Locks outlive their transaction, until
//! no other that ran at the same time is left. Only serializable transactions take part; the
//! others pay one look at an `Option`. Catalogs do not take part, as in PostgreSQL.
//!
//! A READ ONLY transaction is *safe* once all writers that ran when it began have ended and
//! none of them had an edge to one that had committed before: no cycle can reach it. Then it
//! gives up its locks; DEFERRABLE waits for that before it reads.

mod graph;
mod locks;
mod report;

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use parking_lot::Mutex;
use steppe_types::{Error, Result, SqlState};

use crate::files::RelFileNumber;
use graph::{Freed, Graph, SUMMARY};
use locks::{Held, SireadLocks};

pub use locks::Granule;
pub use report::SireadReport;

/// A serializable transaction, to those who look through its view.
pub(crate) struct Member {
    number: u64,
    /// It is to fail, for the others' sake.
    doomed: AtomicBool,
    /// It needs no watching any more.
    safe: AtomicBool,
    /// Its id, once it writes.
    xid: AtomicU64,
    held: Mutex<Held>,
}

/// All serializable transactions of an engine.
pub(crate) struct Serializable {
    graph: Mutex<Graph>,
    locks: SireadLocks,
    /// Holds the locks of the summarised ones.
    summary: Member,
    /// How many that have committed are kept one by one.
    kept_max: usize,
}

/// Whether a READ ONLY transaction's snapshot is safe.
pub(crate) enum Safety<W> {
    /// It is.
    Safe,
    /// It cannot become so: take another.
    Unsafe,
    /// It depends on a transaction that runs.
    DependsOn(W),
}

/// 40001, with PostgreSQL's words.
#[cold]
fn failure(reason: &str) -> Error {
    Error::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access due to read/write dependencies among transactions",
    )
    .detail(format!("Reason code: {reason}."))
    .hint("The transaction might succeed if retried.")
}

fn takes_part(file: RelFileNumber) -> bool {
    file >= RelFileNumber::FIRST_FREE
}

impl Member {
    fn new(number: u64) -> Member {
        Member {
            number,
            doomed: AtomicBool::new(false),
            safe: AtomicBool::new(false),
            xid: AtomicU64::new(0),
            held: Mutex::default(),
        }
    }

    fn is_safe(&self) -> bool {
        self.safe.load(Ordering::Acquire)
    }

    fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    /// What it has read, as long as that matters.
    pub(crate) fn encode_reads(&self) -> Option<Vec<u8>> {
        (!self.is_safe()).then(|| locks::encode(&self.held.lock()))
    }

    /// 40001 if somebody has decided that this one is to fail.
    fn check(&self, doing: &str) -> Result<()> {
        if self.is_doomed() {
            return Err(failure(&format!("Canceled on identification as a pivot, during {doing}")));
        }
        Ok(())
    }
}

impl Serializable {
    pub(crate) fn new(kept_max: usize) -> Serializable {
        Serializable {
            graph: Mutex::default(),
            locks: SireadLocks::default(),
            summary: Member::new(SUMMARY),
            kept_max,
        }
    }

    /// Does what is to be done about something that a transaction, if it is serializable, is about
    /// to read or has just written.
    #[inline]
    pub(crate) fn watch(
        &self,
        member: Option<&Arc<Member>>,
        what: impl FnOnce(&Serializable, &Member) -> Result<()>,
    ) -> Result<()> {
        member.map_or(Ok(()), |member| what(self, member))
    }

    // ----- the life of a transaction -----

    /// Begins one; `take_snapshot` runs while none can begin or end.
    pub(crate) fn begin(
        &self,
        pid: u32,
        read_only: bool,
        take_snapshot: impl FnOnce(),
    ) -> Arc<Member> {
        let mut graph = self.graph.lock();
        take_snapshot();
        graph.begin(pid, read_only)
    }

    /// Notes the id under which it writes, before it does.
    pub(crate) fn set_xid(&self, member: &Member, xid: u64) {
        member.xid.store(xid, Ordering::Release);
        self.graph.lock().set_xid(member.number, xid);
    }

    /// Another session stands for it from here on.
    pub(crate) fn set_owner(&self, member: &Member, pid: u32) {
        self.graph.lock().set_owner(member.number, pid);
    }

    /// After a crash: a prepared one, with what it has read. Nobody knows its conflicts any more.
    pub(crate) fn restore(&self, pid: u32, xid: u64, reads: &[u8]) -> Result<Arc<Member>> {
        let member = self.graph.lock().restore(pid, xid);
        self.locks.restore(&member, reads)?;
        Ok(member)
    }

    /// Whether it may commit; after this it will, unless the log is full. `wrote`: anything.
    pub(crate) fn prepare(&self, member: &Member) -> Result<()> {
        if member.is_safe() {
            return Ok(());
        }
        self.graph.lock().prepare(member)
    }

    /// It has committed, with or without having written something.
    pub(crate) fn committed(&self, member: &Member, wrote: bool) {
        self.ended(|graph| graph.committed(member, wrote, self.kept_max));
        if member.is_safe() {
            self.locks.release(member);
        }
    }

    /// It has rolled back.
    pub(crate) fn rolled_back(&self, member: &Member) {
        self.locks.release(member);
        self.ended(|graph| graph.rolled_back(member.number));
    }

    /// Frees the locks of those that nobody can conflict with any more. That of the summary
    /// happens while none can end: another's locks may be about to become the summary's.
    fn ended(&self, end: impl FnOnce(&mut Graph) -> Freed) {
        let mut graph = self.graph.lock();
        let freed = end(&mut graph);
        if freed.summary {
            self.locks.release(&self.summary);
        }
        freed.summarised.iter().for_each(|member| self.locks.hand_over(member, &self.summary));
        drop(graph);
        freed.released.iter().for_each(|member| self.locks.release(member));
    }

    /// Whether a READ ONLY transaction's snapshot is safe; `wait_for` is called, while no
    /// transaction can end, with the session of one that it depends on.
    pub(crate) fn safety<T>(&self, member: &Member, wait_for: impl FnOnce(u32) -> T) -> Safety<T> {
        let graph = self.graph.lock();
        match graph.safety(member.number) {
            Safety::DependsOn(pid) => Safety::DependsOn(wait_for(pid)),
            Safety::Safe => Safety::Safe,
            Safety::Unsafe => Safety::Unsafe,
        }
    }

    // ----- reading -----
    //
    // 40001 if somebody has decided that the reader is to fail (CheckForSerializableConflictOut).

    /// A row is about to be read.
    pub(crate) fn read_row(&self, member: &Member, file: RelFileNumber, row: u64) -> Result<()> {
        self.read(member, file, |locks| locks.lock_row(member, file, row))
    }

    /// All rows of a file are about to be read.
    pub(crate) fn read_file(&self, member: &Member, file: RelFileNumber) -> Result<()> {
        self.read(member, file, |locks| locks.lock_file(member, file))
    }

    /// The keys of an index between two bounds are about to be read.
    pub(crate) fn read_keys(
        &self,
        member: &Member,
        file: RelFileNumber,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<()> {
        self.read(member, file, |locks| {
            locks.lock_keys(member, file, lower, upper);
            true
        })
    }

    /// `lock` says whether a lock has been added.
    fn read(
        &self,
        member: &Member,
        file: RelFileNumber,
        lock: impl FnOnce(&SireadLocks) -> bool,
    ) -> Result<()> {
        if !takes_part(file) || member.is_safe() {
            return Ok(());
        }
        member.check("conflict out checking")?;
        if lock(&self.locks) {
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    /// A version by transaction `xid` was met that the snapshot does not see.
    #[cold]
    pub(crate) fn met_unseen(&self, member: &Member, xid: u64) -> Result<()> {
        if member.is_safe() {
            return Ok(());
        }
        member.check("conflict out checking")?;
        self.graph.lock().conflict_out(member, xid)
    }

    // ----- writing -----

    /// A row was inserted.
    pub(crate) fn inserted_row(&self, member: &Member, file: RelFileNumber) -> Result<()> {
        self.wrote(member, file, None, |locks| locks.readers_of_file(file))
    }

    /// A row was changed or deleted, of which transaction `replaced` had made the last version.
    ///
    /// Of what reads an older version this is no conflict of its own: reader →rw `replaced` is
    /// one, and `replaced` came before this writer. A cycle through both is one without the
    /// reader's second edge, too.
    pub(crate) fn changed_row(
        &self,
        member: &Member,
        (file, row): (RelFileNumber, u64),
        replaced: u64,
    ) -> Result<()> {
        self.wrote(member, file, Some(replaced), |locks| locks.readers_of_row(file, row))
    }

    /// A key was added to an index, or taken away.
    pub(crate) fn changed_key(
        &self,
        member: &Member,
        file: RelFileNumber,
        key: &[u8],
    ) -> Result<()> {
        self.wrote(member, file, None, |locks| locks.readers_of_key(file, key))
    }

    /// A file is to be dropped, with all that is in it.
    pub(crate) fn dropped_file(&self, member: &Member, file: RelFileNumber) -> Result<()> {
        self.wrote(member, file, None, |locks| locks.readers_of_anything(file))
    }

    fn wrote(
        &self,
        member: &Member,
        file: RelFileNumber,
        replaced: Option<u64>,
        readers: impl FnOnce(&SireadLocks) -> Vec<u64>,
    ) -> Result<()> {
        if !takes_part(file) {
            return Ok(());
        }
        fence(Ordering::SeqCst);
        member.check("conflict in checking")?;
        let mut readers = readers(&self.locks);
        readers.retain(|&reader| reader != member.number);
        if readers.is_empty() {
            return Ok(());
        }
        let mut graph = self.graph.lock();
        readers.into_iter().try_for_each(|reader| graph.conflict_in(member, reader, replaced))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: RelFileNumber = RelFileNumber(100);

    /// How many transactions and files with locks are known.
    fn left(all: &Serializable) -> (usize, usize) {
        (all.graph.lock().len(), all.locks.file_count())
    }

    #[test]
    fn nothing_is_left_of_transactions_that_ran_with_none_of_the_running() {
        let all = Serializable::new(10);
        let begin = |pid| all.begin(pid, false, || ());
        let (first, second) = (begin(1), begin(2));
        all.read_row(&first, FILE, 7).expect("nobody has doomed it");
        all.read_keys(&first, FILE, Bound::Unbounded, Bound::Excluded(b"k"))
            .expect("nobody has doomed it");
        all.committed(&first, false);
        assert_eq!(left(&all), (2, 1), "the second ran beside it");
        let third = begin(3);
        all.read_file(&third, FILE).expect("nobody has doomed it");
        all.committed(&second, true);
        assert_eq!(left(&all), (2, 1), "the third ran beside the second");
        all.rolled_back(&third);
        assert_eq!(left(&all), (0, 0));
    }

    #[test]
    fn the_summary_is_bounded_and_goes() {
        let all = Serializable::new(2);
        let old = all.begin(1, false, || ());
        for n in 0..3000 {
            let member = all.begin(2, false, || ());
            all.read_row(&member, FILE, n).expect("nobody has doomed it");
            all.prepare(&member).expect("nothing is in the way");
            all.committed(&member, false);
        }
        assert_eq!(left(&all), (3, 1));
        assert!(all.locks.readers_of_row(FILE, 9999).contains(&SUMMARY), "it has the file");
        all.changed_row(&old, (FILE, 3), 0).expect("one edge is no structure");
        all.committed(&old, true);
        assert_eq!(left(&all), (0, 0));
    }

    #[test]
    fn many_rows_become_the_file_and_all_writers_meet_it() {
        let all = Serializable::new(10);
        let (reader, writer) = (all.begin(1, false, || ()), all.begin(2, false, || ()));
        let read = |row| all.read_row(&reader, FILE, row).expect("nobody has doomed it");
        (0..2000).for_each(read);
        all.changed_row(&writer, (FILE, 5000), 0).expect("one edge is no structure");
        let conflicts = all.locks.readers_of_row(FILE, 5000);
        assert_eq!(conflicts, [reader.number]);
    }

    /// One that reads a row and then writes one, in place of a version by whom `writes` says.
    fn runs(all: &Serializable, xid: u64, reads: u64, writes: (u64, u64)) -> Arc<Member> {
        let member = all.begin(u32::try_from(xid).expect("small"), false, || ());
        all.read_row(&member, FILE, reads).expect("nobody has doomed it");
        all.set_xid(&member, xid);
        all.changed_row(&member, (FILE, writes.0), writes.1).expect("no structure yet");
        member
    }

    #[test]
    fn a_later_writer_has_no_conflict_with_who_read_what_was_replaced_before() {
        for replaced in [1, 0] {
            let all = Serializable::new(10);
            let reader = all.begin(9, false, || ());
            all.read_row(&reader, FILE, 10).expect("nobody has doomed it");
            let first = runs(&all, 1, 11, (10, 0));
            all.prepare(&first).expect("one edge is no structure");
            all.committed(&first, true);
            // Now second →rw third, and reader →rw second would make the second a pivot.
            let second = runs(&all, 2, 20, (10, replaced));
            let third = runs(&all, 3, 21, (20, 0));
            all.prepare(&third).expect("it has an edge in only");
            all.committed(&third, true);
            assert_eq!(all.prepare(&second).is_ok(), replaced == 1);
        }
    }
}
