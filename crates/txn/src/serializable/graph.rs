//! Which serializable transactions there are, and the rw-conflicts between them.
//!
//! Two clocks order them, both ticked here: a transaction is *prepared* when nothing can
//! stop its commit any more, and *committed* when others have begun to see it. One that has
//! committed stays as long as another is left that began before that.
//!
//! Of those only so many are kept: the oldest are *summarised* beyond that. Its locks become
//! those of one member that stands for all of them, and what matters of its edges is noted with
//! those at their other ends. That forgets a little more than PostgreSQL's summary does, on the
//! safe side.
//!
//! The functions that decide are named after what PostgreSQL's predicate.c does at the same
//! place; the comments there have the proofs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashMap;
use steppe_types::Result;

use super::{Member, Safety, failure};

/// Of a moment: how many had been prepared or committed.
type Seq = u64;

/// The number of the member that stands for all that were summarised.
pub(super) const SUMMARY: u64 = 0;

pub(super) struct Node {
    pub(super) member: Arc<Member>,
    pub(super) pid: u32,
    /// It writes nothing.
    read_only: bool,
    /// The clock when it took its snapshot.
    snapshot: Seq,
    prepared: Option<Seq>,
    committed: Option<Seq>,
    /// When the first of those was prepared that it had a conflict out to and that
    /// committed before it.
    earliest_out: Option<Seq>,
    /// Whose reads it has overwritten: x →rw this.
    conflicts_in: Vec<u64>,
    /// Those that have overwritten its reads: this →rw x.
    conflicts_out: Vec<u64>,
    /// READ ONLY: the writers that ran when it began and that decide whether it is safe.
    pub(super) depends_on: BTreeSet<u64>,
    /// READ ONLY: one of those has decided that it is not.
    is_unsafe: bool,
    /// The last commit among the summarised whose reads it has overwritten.
    summary_in: Option<Seq>,
    /// When the first of the summarised was prepared that have overwritten its reads.
    summary_out: Option<Seq>,
}

/// What is left of a writer that was summarised.
struct Old {
    prepared: Seq,
    committed: Seq,
    earliest_out: Option<Seq>,
}

impl Node {
    /// Of a transaction that may write and has met nobody yet.
    fn new(member: &Arc<Member>, pid: u32, snapshot: Seq) -> Node {
        Node {
            member: Arc::clone(member),
            pid,
            read_only: false,
            snapshot,
            prepared: None,
            committed: None,
            earliest_out: None,
            conflicts_in: Vec::new(),
            conflicts_out: Vec::new(),
            depends_on: BTreeSet::new(),
            is_unsafe: false,
            summary_in: None,
            summary_out: None,
        }
    }

    fn is_doomed(&self) -> bool {
        self.member.is_doomed()
    }

    fn doom(&self) {
        self.member.doomed.store(true, Ordering::Release);
    }

    fn is_committed(&self) -> bool {
        self.committed.is_some()
    }

    /// One whose reads it has overwritten, and that committed then, is summarised.
    fn summarise_in(&mut self, committed: Seq) {
        self.summary_in = self.summary_in.max(Some(committed));
    }

    /// One that has overwritten its reads, and was prepared then, is summarised.
    fn summarise_out(&mut self, prepared: Seq) {
        self.summary_out = Some(self.summary_out.map_or(prepared, |seq| seq.min(prepared)));
    }
}

type Nodes = HashMap<u64, Node, foldhash::fast::RandomState>;

/// What becomes of locks.
#[derive(Default)]
pub(super) struct Freed {
    /// These members' locks are not needed any more.
    pub(super) released: Vec<Arc<Member>>,
    /// These become the summary's.
    pub(super) summarised: Vec<Arc<Member>>,
    /// The summary's are not needed any more.
    pub(super) summary: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Graph {
    clock: Seq,
    next_number: u64,
    pub(super) nodes: Nodes,
    by_xid: HashMap<u64, u64, foldhash::fast::RandomState>,
    /// The running ones by the clock of their snapshot.
    running: BTreeSet<(Seq, u64)>,
    /// The committed ones in their order.
    ended: BTreeMap<Seq, u64>,
    /// Writers that were summarised, by xid.
    old: BTreeMap<u64, Old>,
    /// The last commit of all that were summarised; `None`: nobody can conflict with them.
    summary: Option<Seq>,
}

impl Graph {
    fn tick(&mut self) -> Seq {
        self.clock += 1;
        self.clock
    }

    pub(super) fn begin(&mut self, pid: u32, read_only: bool) -> Arc<Member> {
        self.next_number += 1;
        let number = self.next_number;
        let member = Arc::new(Member::new(number));
        let writers = || {
            let running = self.running.iter().map(|&(_, other)| other);
            running.filter(|other| self.nodes.get(other).is_some_and(|n| !n.read_only)).collect()
        };
        let depends_on: BTreeSet<u64> = if read_only { writers() } else { BTreeSet::new() };
        if read_only && depends_on.is_empty() {
            member.safe.store(true, Ordering::Release);
            return member;
        }
        let node = Node { read_only, depends_on, ..Node::new(&member, pid, self.clock) };
        self.running.insert((self.clock, number));
        self.nodes.insert(number, node);
        member
    }

    /// A prepared one, after a crash. It had conflicts of both kinds, for all that is known
    /// (predicatelock_twophase_recover): with those around that were prepared before anybody
    /// else, and that have not committed.
    pub(super) fn restore(&mut self, pid: u32, xid: u64) -> Arc<Member> {
        self.next_number += 1;
        let member = Arc::new(Member::new(self.next_number));
        member.xid.store(xid, Ordering::Release);
        let node = Node {
            prepared: Some(0),
            summary_in: Some(Seq::MAX),
            summary_out: Some(0),
            ..Node::new(&member, pid, self.clock)
        };
        self.running.insert((node.snapshot, member.number));
        self.nodes.insert(member.number, node);
        self.by_xid.insert(xid, member.number);
        member
    }

    pub(super) fn set_owner(&mut self, number: u64, pid: u32) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.pid = pid;
        }
    }

    pub(super) fn set_xid(&mut self, number: u64, xid: u64) {
        if self.nodes.contains_key(&number) {
            self.by_xid.insert(xid, number);
        }
    }

    /// Those that are safe are not kept; the session is that of one on which it depends.
    pub(super) fn safety(&self, number: u64) -> Safety<u32> {
        match self.nodes.get(&number) {
            None => Safety::Safe,
            Some(node) if node.is_unsafe => Safety::Unsafe,
            Some(node) => match node.depends_on.iter().find_map(|other| self.nodes.get(other)) {
                Some(writer) => Safety::DependsOn(writer.pid),
                None => Safety::Safe,
            },
        }
    }

    fn known<'a>(&'a self, numbers: &'a [u64]) -> impl Iterator<Item = &'a Node> {
        numbers.iter().filter_map(|number| self.nodes.get(number))
    }

    /// The sessions of transactions.
    pub(super) fn known_of(&self, numbers: &BTreeSet<u64>) -> impl Iterator<Item = u32> {
        numbers.iter().filter_map(|number| self.nodes.get(number)).map(|node| node.pid)
    }

    // ----- conflicts -----

    /// The reader has met a version by `xid` that it does not see
    /// (CheckForSerializableConflictOut).
    pub(super) fn conflict_out(&mut self, reader: &Member, xid: u64) -> Result<()> {
        let Some(&writer) = self.by_xid.get(&xid) else {
            return self.conflict_out_to_old(reader.number, xid);
        };
        let (Some(from), Some(to)) = (self.nodes.get(&reader.number), self.nodes.get(&writer))
        else {
            return Ok(());
        };
        if writer == reader.number || to.is_doomed() {
            return Ok(());
        }
        // What committed before a READ ONLY transaction began is all that can hurt it.
        let harmless = to.earliest_out.is_none_or(|seq| from.snapshot < seq);
        if from.read_only && to.is_committed() && harmless {
            return Ok(());
        }
        self.flag(reader.number, writer, reader.number)
    }

    /// The same, if the version is by one that was summarised.
    fn conflict_out_to_old(&mut self, reader: u64, xid: u64) -> Result<()> {
        let (Some(from), Some(old)) = (self.nodes.get(&reader), self.old.get(&xid)) else {
            return Ok(());
        };
        if from.read_only && old.earliest_out.is_none_or(|seq| from.snapshot < seq) {
            return Ok(());
        }
        if old.earliest_out.is_some() {
            return Err(failure(&format!("Canceled on conflict out to old pivot {xid}")));
        }
        if self.is_pivot_before(from, old.prepared) {
            return Err(failure(
                "Canceled on identification as a pivot, \
                 with conflict out to old committed transaction",
            ));
        }
        let prepared = old.prepared;
        if let Some(node) = self.nodes.get_mut(&reader) {
            node.summarise_out(prepared);
        }
        Ok(())
    }

    /// The writer has found a lock of the summary on what it wrote.
    fn conflict_in_from_summary(&mut self, writer: u64) -> Result<()> {
        let (Some(to), Some(last)) = (self.nodes.get(&writer), self.summary) else {
            return Ok(());
        };
        if last <= to.snapshot {
            return Ok(());
        }
        // Whichever it was has committed, and not after `last`.
        let outs = self.known(&to.conflicts_out).filter_map(|out| out.prepared);
        let is_pivot = outs.chain(to.summary_out).any(|seq| seq <= last);
        if is_pivot {
            return Err(failure("Canceled on identification as a pivot, during write"));
        }
        if let Some(node) = self.nodes.get_mut(&writer) {
            node.summarise_in(last);
        }
        Ok(())
    }

    /// The writer has found a lock of `reader` on what it wrote
    /// (CheckForSerializableConflictIn), in place of a version by `replaced`.
    pub(super) fn conflict_in(
        &mut self,
        writer: &Member,
        reader: u64,
        replaced: Option<u64>,
    ) -> Result<()> {
        // It may have been summarised since its lock was found.
        if reader == SUMMARY || !self.nodes.contains_key(&reader) {
            return self.conflict_in_from_summary(writer.number);
        }
        let (Some(from), Some(to)) = (self.nodes.get(&reader), self.nodes.get(&writer.number))
        else {
            return Ok(());
        };
        let before = from.committed.is_some_and(|seq| seq <= to.snapshot);
        if from.is_doomed() || before {
            return Ok(());
        }
        // With an edge to it the reader sees nothing of it, so that it read an older version.
        let by_whom = replaced.and_then(|xid| self.by_xid.get(&xid));
        if by_whom.is_some_and(|by| from.conflicts_out.contains(by)) {
            return Ok(());
        }
        self.flag(reader, writer.number, writer.number)
    }

    /// Adds the edge reader →rw writer, which `me` has found, unless it is there (FlagRWConflict).
    fn flag(&mut self, reader: u64, writer: u64, me: u64) -> Result<()> {
        let (Some(from), Some(to)) = (self.nodes.get(&reader), self.nodes.get(&writer)) else {
            return Ok(());
        };
        if from.conflicts_out.contains(&writer) {
            return Ok(());
        }
        self.check_new_edge(from, to, me == writer)?;
        if let Some(node) = self.nodes.get_mut(&reader) {
            node.conflicts_out.push(writer);
        }
        if let Some(node) = self.nodes.get_mut(&writer) {
            node.conflicts_in.push(reader);
        }
        Ok(())
    }

    /// Whether the edge would make a dangerous structure; then somebody has to go
    /// (OnConflict_CheckForSerializationFailure).
    fn check_new_edge(&self, from: &Node, to: &Node, i_am_writer: bool) -> Result<()> {
        if !self.writer_is_pivot(from, to) && !self.reader_is_pivot(from, to) {
            return Ok(());
        }
        if i_am_writer {
            return Err(failure("Canceled on identification as a pivot, during write"));
        }
        if to.prepared.is_some() {
            let xid = to.member.xid.load(Ordering::Acquire);
            return Err(failure(&format!("Canceled on conflict out to pivot {xid}, during read")));
        }
        to.doom();
        Ok(())
    }

    /// reader →rw writer →rw x, and x was the first to commit.
    fn writer_is_pivot(&self, reader: &Node, writer: &Node) -> bool {
        if writer.is_committed() && writer.earliest_out.is_some() {
            return true;
        }
        let not_after = |seq: Seq, other: Option<Seq>| other.is_none_or(|other| seq <= other);
        let outs = self.known(&writer.conflicts_out).filter_map(|out| out.prepared);
        outs.chain(writer.summary_out).any(|seq| {
            not_after(seq, reader.committed)
                && not_after(seq, writer.committed)
                && (!reader.read_only || seq <= reader.snapshot)
        })
    }

    /// x →rw reader →rw writer, and the writer was the first to commit.
    fn reader_is_pivot(&self, reader: &Node, writer: &Node) -> bool {
        writer.prepared.is_some_and(|seq| self.is_pivot_before(reader, seq))
    }

    /// x →rw reader, and x did not commit before `seq`, when somebody else was prepared who has
    /// overwritten what the reader has read.
    fn is_pivot_before(&self, reader: &Node, seq: Seq) -> bool {
        if reader.read_only {
            return false;
        }
        if reader.summary_in.is_some_and(|committed| committed >= seq) {
            return true;
        }
        self.known(&reader.conflicts_in).any(|first| {
            !first.is_doomed()
                && first.committed.is_none_or(|committed| committed >= seq)
                && (!first.read_only || first.snapshot >= seq)
        })
    }

    // ----- the end -----

    /// Whether a transaction may commit (PreCommit_CheckForSerializationFailure).
    pub(super) fn prepare(&mut self, member: &Member) -> Result<()> {
        member.check("commit attempt")?;
        let Some(node) = self.nodes.get(&member.number) else { return Ok(()) };
        for near in self.known(&node.conflicts_in) {
            if near.is_committed() || near.is_doomed() {
                continue;
            }
            let dangerous = self.known(&near.conflicts_in).any(|far| {
                let runs = !far.is_committed() && !far.read_only && !far.is_doomed();
                far.member.number == member.number || runs
            });
            if !dangerous {
                continue;
            }
            if near.prepared.is_some() {
                return Err(failure(
                    "Canceled on commit attempt with conflict in from prepared pivot",
                ));
            }
            near.doom();
        }
        let seq = self.tick();
        if let Some(node) = self.nodes.get_mut(&member.number) {
            node.prepared = Some(seq);
        }
        Ok(())
    }

    /// `kept_max`: how many that have committed are not summarised.
    pub(super) fn committed(&mut self, member: &Member, wrote: bool, kept_max: usize) -> Freed {
        let number = member.number;
        let seq = self.tick();
        let Some(node) = self.nodes.get(&number) else { return Freed::default() };
        // A reader closes no cycle as the one in the middle.
        let (snapshot, read_only) = (node.snapshot, node.read_only || !wrote);
        let earliest_out = {
            let outs = self.known(&node.conflicts_out).filter(|out| out.is_committed());
            let outs = outs.filter_map(|out| out.prepared).chain(node.summary_out);
            outs.min().filter(|_| !read_only)
        };
        if let Some(node) = self.nodes.get_mut(&number) {
            node.committed = Some(seq);
            node.read_only = read_only;
            node.earliest_out = earliest_out;
        }
        self.running.remove(&(snapshot, number));
        self.ended.insert(seq, number);
        let mut freed =
            Freed { released: self.decide_safety(number, earliest_out), ..Freed::default() };
        self.forget_ended(&mut freed);
        while self.ended.len() > kept_max
            && let Some((_, oldest)) = self.ended.pop_first()
        {
            freed.summarised.extend(self.summarise(oldest));
        }
        freed
    }

    pub(super) fn rolled_back(&mut self, number: u64) -> Freed {
        self.forget(number);
        let mut freed = Freed { released: self.decide_safety(number, None), ..Freed::default() };
        self.forget_ended(&mut freed);
        freed
    }

    /// Forgets one that has committed, but for what may still matter.
    fn summarise(&mut self, number: u64) -> Option<Arc<Member>> {
        let node = self.nodes.get(&number)?;
        let committed = node.committed?;
        let prepared = node.prepared.unwrap_or(committed);
        let xid = node.member.xid.load(Ordering::Acquire);
        if xid != 0 {
            let outs = self.known(&node.conflicts_out).filter_map(|out| out.prepared);
            let earliest_out = outs.filter(|seq| *seq <= committed).chain(node.earliest_out).min();
            self.old.insert(xid, Old { prepared, committed, earliest_out });
        }
        let (readers, writers) = (node.conflicts_in.clone(), node.conflicts_out.clone());
        for reader in readers {
            if let Some(node) = self.nodes.get_mut(&reader) {
                node.summarise_out(prepared);
            }
        }
        for writer in writers {
            if let Some(node) = self.nodes.get_mut(&writer) {
                node.summarise_in(committed);
            }
        }
        self.summary = self.summary.max(Some(committed));
        self.forget(number)
    }

    /// A writer has ended: READ ONLY transactions that began during it know more now.
    /// Returns those that are safe.
    fn decide_safety(&mut self, writer: u64, earliest_out: Option<Seq>) -> Vec<Arc<Member>> {
        let mut safe = Vec::new();
        for &(_, number) in &self.running {
            let Some(node) = self.nodes.get_mut(&number) else { continue };
            if !node.depends_on.remove(&writer) {
                continue;
            }
            if earliest_out.is_some_and(|seq| seq <= node.snapshot) {
                node.is_unsafe = true;
                node.depends_on.clear();
            } else if node.depends_on.is_empty() {
                node.member.safe.store(true, Ordering::Release);
                safe.push(number);
            }
        }
        safe.into_iter().filter_map(|number| self.forget(number)).collect()
    }

    /// Forgets the committed ones that ran with none of the running ones.
    fn forget_ended(&mut self, freed: &mut Freed) {
        let oldest = self.running.first().map_or(Seq::MAX, |&(snapshot, _)| snapshot);
        while let Some(entry) = self.ended.first_entry()
            && *entry.key() <= oldest
        {
            let number = entry.remove();
            freed.released.extend(self.forget(number));
        }
        if self.summary.is_some_and(|last| last <= oldest) {
            self.summary = None;
            freed.summary = true;
        }
        // In the order of xids, which is nearly that of the commits: what is left goes later.
        while let Some(old) = self.old.first_entry()
            && old.get().committed <= oldest
        {
            old.remove();
        }
    }

    /// Takes a transaction out, with its edges.
    fn forget(&mut self, number: u64) -> Option<Arc<Member>> {
        let node = self.nodes.remove(&number)?;
        self.running.remove(&(node.snapshot, number));
        let xid = node.member.xid.load(Ordering::Acquire);
        if xid != 0 {
            self.by_xid.remove(&xid);
        }
        for reader in &node.conflicts_in {
            if let Some(other) = self.nodes.get_mut(reader) {
                other.conflicts_out.retain(|&out| out != number);
            }
        }
        for writer in &node.conflicts_out {
            if let Some(other) = self.nodes.get_mut(writer) {
                other.conflicts_in.retain(|&from| from != number);
            }
        }
        Some(node.member)
    }

    /// How many transactions are known.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}
