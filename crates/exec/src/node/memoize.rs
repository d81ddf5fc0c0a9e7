//! Memoize keeps the rows of its child for each set of parameters, and hands them up again when the
//! same parameters come again (PostgreSQL's nodeMemoize.c).
//!
//! ```text
//!   Nested Loop
//!     -> Seq Scan on orders
//!     -> Memoize                 key: orders.o_custkey
//!          -> Index Scan on customer
//! ```
//!
//! Each set of parameters has an entry with all rows of the child. An entry that is not read to its
//! end is dropped, because its other rows are unknown. When the entries outgrow work_mem ×
//! hash_mem_multiplier, the least recently used ones are dropped. Rows of one set that are too many
//! alone are passed through. If another parameter that the child reads has been set again, all
//! entries are stale. The planner puts the node only over children without volatile functions, and
//! the statement's snapshot does not change. So the child would yield the kept rows again.

use super::{BoxedNode, CNode, CPlan, Node, PlanCompiler, start as start_node};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Note, Versions};
use crate::expr::Row;
use crate::hashing::{equal_keys, hash_key};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Place;
use std::collections::BTreeMap;
use std::sync::Arc;
use steppe_spill::row_bytes;
use steppe_sql::expr::{ExecParamId, Expr};
use steppe_sql::plan::Plan;
use steppe_types::{Datum, Error, Oid, Result};

/// Bytes of an entry besides its key and rows.
const ENTRY_BYTES: usize = 96;

/// A compiled Memoize.
pub(crate) struct MemoizePlan {
    pub(crate) child: Arc<CPlan>,
    /// The parameters that rows are kept for.
    pub(crate) keys: Box<[ExecParamId]>,
    /// Types to hash and compare them as.
    pub(crate) types: Box<[Oid]>,
    /// Equal parameters that are written in different ways have entries of their own.
    pub(crate) is_binary: bool,
    /// The other parameters that the child reads from outside.
    pub(crate) others: Arc<[ExecParamId]>,
    /// The factor by which the entries may exceed work_mem.
    pub(crate) memory_factor: f64,
}

impl PlanCompiler<'_, '_> {
    pub(super) fn memoize(
        &mut self,
        child: &Plan,
        (keys, is_binary): (&[Expr], bool),
        memory_factor: f64,
    ) -> Result<CNode> {
        let child = self.plan(child)?;
        let (mut ids, mut types) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for key in keys {
            let Expr::ExecParam { id, ty } = key else {
                return Err(Error::internal("memoize has a key that is no parameter"));
            };
            ids.push(*id);
            types.push(ty.oid);
        }
        let others = child.dependencies.iter().copied().filter(|id| !ids.contains(id)).collect();
        let (keys, types) = (ids.into(), types.into());
        Ok(CNode::Memoize(MemoizePlan { child, keys, types, is_binary, others, memory_factor }))
    }
}

/// The rows for one set of parameters.
struct Entry {
    key: Box<[Datum]>,
    hash: u64,
    rows: Vec<Datum>,
    count: usize,
    bytes: usize,
    /// The time of the last use.
    stamp: u64,
}

/// The entries.
#[derive(Default)]
struct Cache {
    slots: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_key: HashTable<u32>,
    /// Longest unused first.
    by_use: BTreeMap<u64, u32>,
    clock: u64,
    bytes: usize,
}

/// The source of the present run's rows.
enum Source {
    /// The parameters have not been checked.
    Unknown,
    /// An entry, from this row on.
    Kept { slot: u32, next: usize },
    /// The child, whose rows are kept.
    Filling(u32),
    /// The child, whose rows are not.
    Passing,
    /// The run has ended.
    Done,
}

#[derive(Default)]
struct Counters {
    hits: u64,
    misses: u64,
    evictions: u64,
    overflows: u64,
    peak: usize,
}

struct MemoizeNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    child_ran: bool,
    source: Source,
    cache: Cache,
    /// The versions of the other parameters when the entries were made.
    versions: Option<Versions>,
    limit: usize,
    counters: Counters,
    incoming: RowBatch,
    scratch: Vec<Datum>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Memoize(memoize) = &plan.kind else { unreachable!("started as a memoize") };
    let (width, child) = (memoize.child.width, start_node(&memoize.child, cx));
    let limit = (cx.work_mem_bytes as f64 * memoize.memory_factor) as usize;
    Box::new(MemoizeNode {
        plan,
        child,
        child_ran: false,
        source: Source::Unknown,
        cache: Cache::default(),
        versions: None,
        limit,
        counters: Counters::default(),
        incoming: RowBatch::new(width),
        scratch: Vec::new(),
    })
}

impl Cache {
    fn entry(&mut self, slot: u32) -> Option<&mut Entry> {
        self.slots.get_mut(slot as usize).and_then(Option::as_mut)
    }

    /// The entry of a key, as used now; a new one if there is none (`true`).
    fn find_or_add(&mut self, memoize: &MemoizePlan, key: &[Datum]) -> (u32, bool) {
        let types = &memoize.types;
        self.clock += 1;
        let (hash, clock) = (hash_key(types, key), self.clock);
        let Cache { slots, by_key, .. } = self;
        let of = |slot: &u32| slots.get(*slot as usize).and_then(Option::as_ref);
        let is_same = |known: &[Datum]| match memoize.is_binary {
            true => known == key,
            false => equal_keys(types, known, key),
        };
        let same = |slot: &u32| of(slot).is_some_and(|e| e.hash == hash && is_same(&e.key));
        let rehash = |slot: &u32| of(slot).map_or(0, |entry| entry.hash);
        let (slot, is_new) = match by_key.entry(hash, same, rehash) {
            Place::Occupied(found) => (*found.get(), false),
            Place::Vacant(place) => {
                let slot = self.free.pop().unwrap_or(slots.len() as u32);
                place.insert(slot);
                (slot, true)
            }
        };
        if is_new {
            let bytes = ENTRY_BYTES + row_bytes(key.iter());
            self.bytes += bytes;
            let entry =
                Entry { key: key.into(), hash, rows: Vec::new(), count: 0, bytes, stamp: clock };
            match self.slots.get_mut(slot as usize) {
                Some(free) => *free = Some(entry),
                None => self.slots.push(Some(entry)),
            }
        } else if let Some(entry) = self.entry(slot) {
            let before = std::mem::replace(&mut entry.stamp, clock);
            self.by_use.remove(&before);
        }
        self.by_use.insert(clock, slot);
        (slot, is_new)
    }

    fn remove(&mut self, slot: u32) {
        let Some(entry) = self.slots.get_mut(slot as usize).and_then(Option::take) else { return };
        if let Ok(found) = self.by_key.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        self.by_use.remove(&entry.stamp);
        self.bytes -= entry.bytes;
        self.free.push(slot);
    }

    /// Drops the least recently used entry, but not this one; false if there is no other.
    fn evict_another(&mut self, than: u32) -> bool {
        let oldest = self.by_use.values().copied().find(|slot| *slot != than);
        oldest.inspect(|slot| self.remove(*slot)).is_some()
    }
}

impl MemoizeNode {
    /// Looks for the entry of the present parameters.
    fn open(&mut self, memoize: &MemoizePlan, cx: &mut ExecContext) -> Result<()> {
        if !self.versions.as_ref().is_some_and(|versions| versions.current(cx)) {
            self.cache = Cache::default();
            self.versions = Some(cx.versions(&memoize.others));
        }
        let key: Vec<Datum> = memoize.keys.iter().map(|id| cx.exec_param(*id).clone()).collect();
        let (slot, is_new) = self.cache.find_or_add(memoize, &key);
        if !is_new {
            self.counters.hits += 1;
            self.source = Source::Kept { slot, next: 0 };
            return Ok(());
        }
        self.counters.misses += 1;
        self.source = Source::Filling(slot);
        if std::mem::replace(&mut self.child_ran, true) {
            self.child.rescan(cx)?;
        }
        self.make_room(slot);
        Ok(())
    }

    /// Drops entries until the others fit. An entry that does not fit alone is passed through.
    fn make_room(&mut self, slot: u32) {
        self.counters.peak = self.counters.peak.max(self.cache.bytes);
        while self.cache.bytes > self.limit {
            if self.cache.evict_another(slot) {
                self.counters.evictions += 1;
                continue;
            }
            self.cache.remove(slot);
            self.counters.overflows += 1;
            self.source = Source::Passing;
        }
    }

    /// The child's next rows, kept for the entry.
    fn fill(&mut self, slot: u32) {
        let Some(entry) = self.cache.entry(slot) else { return };
        let mut added = 0;
        for row in self.incoming.iter() {
            entry.rows.extend_from_slice(row);
            entry.count += 1;
            added += row_bytes(row.iter());
        }
        entry.bytes += added;
        self.cache.bytes += added;
        self.make_room(slot);
    }

    fn hand_up_kept(
        &mut self,
        cx: &mut ExecContext,
        (slot, next): (u32, usize),
        out: &mut RowBatch,
    ) -> Result<()> {
        let width = self.incoming.width();
        let lost = || Error::internal("memoize has lost its entry");
        let entry = self.cache.entry(slot).ok_or_else(lost)?;
        let mut at = next;
        while at < entry.count && !out.is_full() {
            self.scratch.clear();
            self.scratch.extend_from_slice(&entry.rows[at * width..(at + 1) * width]);
            self.plan.emit_owned(cx, &mut self.scratch, out)?;
            at += 1;
        }
        let is_end = at == entry.count;
        self.source = if is_end { Source::Done } else { Source::Kept { slot, next: at } };
        Ok(())
    }

    /// Records the counters for EXPLAIN ANALYZE.
    fn note(&mut self, cx: &mut ExecContext) {
        let Counters { hits, misses, evictions, overflows, peak } = self.counters;
        let kilobytes = peak.max(self.cache.bytes).div_ceil(1024) as u64;
        if let Some(instrument) = cx.instrument(self.plan.id) {
            instrument.note = Some(Note::Memoize { hits, misses, evictions, overflows, kilobytes });
        }
    }
}

impl Node for MemoizeNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::Memoize(memoize) = &plan.kind else {
            return Err(Error::internal("memoize node over another plan"));
        };
        while out.is_empty() {
            match self.source {
                Source::Unknown => {
                    self.open(memoize, cx)?;
                    self.note(cx);
                }
                Source::Done => return Ok(()),
                Source::Kept { slot, next } => self.hand_up_kept(cx, (slot, next), out)?,
                Source::Filling(_) | Source::Passing => {
                    self.incoming.clear();
                    // All rows are requested, if they are not many: an entry is useful once it is
                    // complete.
                    self.incoming.wanted = out.room();
                    self.child.next(cx, &mut self.incoming)?;
                    if self.incoming.is_empty() {
                        self.source = Source::Done;
                        continue;
                    }
                    if let Source::Filling(slot) = self.source {
                        self.fill(slot);
                    }
                    for row in self.incoming.iter() {
                        plan.emit(cx, Row::of(row), out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        if let Source::Filling(slot) = std::mem::replace(&mut self.source, Source::Unknown) {
            self.cache.remove(slot);
        }
        Ok(())
    }
}
