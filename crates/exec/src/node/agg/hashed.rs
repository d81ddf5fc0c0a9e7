//! Aggregation of rows by hash.

use super::calls::{CallState, collected_bytes};
use super::spilled::{Spilled, Spilling};
use super::{AggPlan, agg_of};
use crate::aggregate::AggState;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::hashing::{equal_keys, hash_key};
use crate::node::{BoxedNode, CPlan, Node, start as start_node};
use hashbrown::HashTable;
use std::sync::Arc;
use steppe_spill::{SpillFile, SpillReader, row_bytes};
use steppe_types::{Datum, Result};

/// The groups of a hashed aggregation that are in memory.
#[derive(Default)]
struct Groups {
    keys: Vec<Datum>,
    hashes: Vec<u64>,
    states: Vec<CallState>,
    index: HashTable<u32>,
    bytes: usize,
}

struct HashedNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    groups: Groups,
    /// Next group to hand up.
    next_group: usize,
    is_loaded: bool,
    is_finished: bool,
    spilled: Spilled<SpillFile>,
}

pub(super) fn start(plan: &Arc<CPlan>, agg: &AggPlan, cx: &mut ExecContext) -> BoxedNode {
    Box::new(HashedNode {
        plan: plan.clone(),
        child: start_node(&agg.child, cx),
        groups: Groups::default(),
        next_group: 0,
        is_loaded: false,
        is_finished: false,
        spilled: Spilled::default(),
    })
}

impl HashedNode {
    /// Adds a row to its group, and returns `None`. If the group is not in memory and there is no
    /// room, it returns the key's hash.
    fn add(
        &mut self,
        agg: &AggPlan,
        row: &[Datum],
        scratch: &mut (Vec<Datum>, Vec<Datum>),
        may_spill: bool,
        cx: &mut ExecContext,
    ) -> Result<Option<u64>> {
        let (key, args) = scratch;
        key.clear();
        for expr in &agg.keys {
            key.push(expr.eval(cx, Row::of(row))?);
        }
        let width = agg.keys.len();
        let hash = hash_key(&agg.key_types, key.iter());
        let groups = &mut self.groups;
        let (keys, hashes) = (&groups.keys, &groups.hashes);
        let same = |i: &u32| {
            let at = *i as usize * width;
            hashes[*i as usize] == hash
                && equal_keys(&agg.key_types, keys[at..at + width].iter(), key.iter())
        };
        let group = match groups.index.find(hash, same) {
            Some(i) => *i as usize,
            None => {
                let full = groups.bytes > agg.memory(cx) && !groups.hashes.is_empty();
                if may_spill && full {
                    return Ok(Some(hash));
                }
                let i = groups.hashes.len();
                groups.bytes += row_bytes(key.iter()) + 24;
                groups.keys.append(key);
                groups.hashes.push(hash);
                let hashes = &groups.hashes;
                groups.index.insert_unique(hash, i as u32, |i| hashes[*i as usize]);
                agg.start_group(cx, &mut groups.states)?;
                groups.bytes += agg.aggregates.len() * 64;
                i
            }
        };
        let calls = agg.aggregates.len();
        let states = &mut groups.states[group * calls..(group + 1) * calls];
        if !agg.collects {
            agg.add(states, Row::of(row), args, cx)?;
            return Ok(None);
        }
        let before = collected_bytes(states);
        agg.add(states, Row::of(row), args, cx)?;
        groups.bytes += collected_bytes(states).saturating_sub(before);
        Ok(None)
    }

    /// Loads the hash table from the child, or from one partition.
    fn load(
        &mut self,
        agg: &AggPlan,
        mut source: Option<SpillReader>,
        depth: u32,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let mut scratch = (Vec::new(), Vec::new());
        let mut spilling = Spilling::new(depth);
        let mut incoming = RowBatch::new(agg.child.width);
        loop {
            incoming.clear();
            match &mut source {
                None => self.child.next(cx, &mut incoming)?,
                Some(reader) => {
                    while !incoming.is_full() && reader.read(incoming.open_row())? {
                        incoming.finish_row();
                    }
                }
            }
            if incoming.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            for row in incoming.iter() {
                let may_spill = spilling.may_begin();
                if let Some(hash) = self.add(agg, row, &mut scratch, may_spill, cx)? {
                    let place = spilling.place(hash);
                    let files = spilling.partitions(|| cx.temp()?.create())?;
                    files[place].write(row.iter())?;
                }
            }
        }
        self.spilled.take((spilling, true), self.groups.bytes, self.plan.id, cx)
    }

    /// Fills `out` with groups.
    fn run(&mut self, agg: &AggPlan, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        if !self.is_loaded {
            self.load(agg, None, 0, cx)?;
            self.is_loaded = true;
            if self.groups.hashes.is_empty() {
                agg.finish_empty(&self.plan, cx, out)?;
            }
        }
        let (width, calls) = (agg.keys.len(), agg.aggregates.len());
        let mut row = Vec::with_capacity(width + calls);
        while !out.is_full() && !self.is_finished {
            if self.next_group == self.groups.hashes.len() {
                self.groups = Groups::default();
                self.next_group = 0;
                match self.spilled.next() {
                    None => self.is_finished = true,
                    Some((mut file, depth)) => {
                        self.load(agg, Some(file.reader(0)?), depth, cx)?;
                    }
                }
                continue;
            }
            let group = self.next_group;
            self.next_group += 1;
            row.clear();
            let keys = &mut self.groups.keys[group * width..(group + 1) * width];
            row.extend(keys.iter_mut().map(std::mem::take));
            let states = &mut self.groups.states[group * calls..(group + 1) * calls];
            let taken = states
                .iter_mut()
                .map(|s| std::mem::replace(s, CallState::Direct(AggState::Count(0))));
            let taken: Vec<CallState> = taken.collect();
            agg.finish_group((&mut row, taken.into_iter()), &self.plan, cx, out)?;
        }
        Ok(())
    }
}

impl Node for HashedNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let agg = agg_of(&plan)?;
        while out.is_empty() && !self.is_finished {
            self.run(agg, cx, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.groups = Groups::default();
        self.next_group = 0;
        self.is_loaded = false;
        self.is_finished = false;
        self.spilled = Spilled::default();
        self.child.rescan(cx)
    }
}
