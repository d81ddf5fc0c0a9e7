//! Aggregation of rows: plain, over sorted groups, or hashed.

use super::spilled::{Spilled, Spilling};
use super::{AggPlan, AggSort, CAggregate};
use crate::aggregate::{AggKind, AggState, SortedRows};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::hashing::{equal_keys, hash_key};
use crate::node::{BoxedNode, CNode, CPlan, Node, start as start_node};
use crate::sorter::{Sorter, compare_rows};
use crate::spill::{SpillFile, SpillReader, row_bytes};
use hashbrown::HashTable;
use std::sync::Arc;
use steppe_sql::plan::{AggMode, AggStrategy};
use steppe_types::{Datum, Error, Result};

/// The state of one call in one group.
enum CallState {
    Direct(AggState),
    Sorted(Box<Sorter>),
    Ordered(Box<OrderedCall>),
}

/// The rows of one group for an ordered-set aggregate.
struct OrderedCall {
    sorter: Sorter,
    rows: usize,
    /// The direct arguments, evaluated at the group's first row.
    direct: Option<Box<[Datum]>>,
}

impl CAggregate {
    /// Puts a row into a call's sorter, unless a NULL keeps it out.
    fn sort_row(
        &self,
        sort: &AggSort,
        sorter: &mut Sorter,
        row: Row<'_>,
        args: &mut Vec<Datum>,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        for expr in &sort.row {
            args.push(expr.eval(cx, row)?);
        }
        let counted = self.args.len().max(1);
        if self.kind.skips_nulls() && args.iter().take(counted).any(Datum::is_null) {
            return Ok(false);
        }
        sort.keys.push(sorter, args, &mut Vec::new(), cx)?;
        Ok(true)
    }

    fn direct_values(&self, row: Row<'_>, cx: &mut ExecContext) -> Result<Box<[Datum]>> {
        self.direct.iter().map(|expr| expr.eval(cx, row)).collect()
    }
}

impl AggPlan {
    fn start_group(&self, cx: &ExecContext, out: &mut Vec<CallState>) -> Result<()> {
        for aggregate in &self.aggregates {
            out.push(match &aggregate.sort {
                None => CallState::Direct(aggregate.kind.start()),
                Some(sort) => {
                    let stride = sort.row.len() + sort.keys.computed.len();
                    let columns = sort.keys.columns.clone();
                    let work_mem = cx.work_mem_bytes;
                    let sorter = Sorter::new(columns, stride, None, work_mem, cx.temp()?);
                    match aggregate.kind {
                        AggKind::Ordered(_) => CallState::Ordered(Box::new(OrderedCall {
                            sorter,
                            rows: 0,
                            direct: None,
                        })),
                        _ => CallState::Sorted(Box::new(sorter)),
                    }
                }
            });
        }
        Ok(())
    }

    /// Takes a row into a group's states.
    fn add(
        &self,
        states: &mut [CallState],
        row: Row<'_>,
        args: &mut Vec<Datum>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        for (aggregate, state) in self.aggregates.iter().zip(states) {
            // Rows that FILTER leaves out know the group's values, too.
            if let CallState::Ordered(call) = state
                && call.direct.is_none()
            {
                call.direct = Some(aggregate.direct_values(row, cx)?);
            }
            if !aggregate.counts(row, cx)? {
                continue;
            }
            args.clear();
            match (state, &aggregate.sort) {
                (CallState::Sorted(sorter), Some(sort)) => {
                    aggregate.sort_row(sort, sorter, row, args, cx)?;
                }
                (CallState::Ordered(call), Some(sort)) => {
                    let taken = aggregate.sort_row(sort, &mut call.sorter, row, args, cx)?;
                    call.rows += usize::from(taken);
                }
                (CallState::Direct(state), _) => {
                    aggregate.args_into(row, args, cx)?;
                    match (self.mode, args.first()) {
                        (AggMode::Finalize, Some(part)) => aggregate.kind.combine(state, part)?,
                        _ => aggregate.kind.add(state, args)?,
                    }
                }
                (CallState::Sorted(_) | CallState::Ordered(_), None) => {
                    return Err(Error::internal("aggregate sorts without keys"));
                }
            }
        }
        Ok(())
    }

    /// Evaluates direct arguments for a group that no row made: they know its key, which is what the
    /// child's rows end in.
    fn know_empty_group(
        &self,
        states: &mut [CallState],
        key: &[Datum],
        cx: &mut ExecContext,
    ) -> Result<()> {
        let mut row = vec![Datum::Null; self.child.width.saturating_sub(key.len())];
        row.extend_from_slice(key);
        for (aggregate, state) in self.aggregates.iter().zip(states) {
            if let CallState::Ordered(call) = state {
                call.direct = Some(aggregate.direct_values(Row::of(&row), cx)?);
            }
        }
        Ok(())
    }

    /// Appends the results of a group's calls to `out`.
    fn finish_group(
        &self,
        states: impl Iterator<Item = CallState>,
        out: &mut Vec<Datum>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        for (aggregate, state) in self.aggregates.iter().zip(states) {
            out.push(match state {
                CallState::Direct(state) => aggregate.result(state, self.mode)?,
                CallState::Sorted(sorter) => finish_sorted(aggregate, *sorter)?,
                CallState::Ordered(call) => finish_ordered(aggregate, *call, cx)?,
            });
        }
        Ok(())
    }
}

/// Feeds the sorted rows of a group to the aggregate, without duplicates for DISTINCT.
fn finish_sorted(aggregate: &CAggregate, mut sorter: Sorter) -> Result<Datum> {
    let Some(sort) = &aggregate.sort else {
        return Err(Error::internal("aggregate sorts without keys"));
    };
    let kind = &aggregate.kind;
    sorter.finish()?;
    let mut state = kind.start();
    let stride = sort.row.len() + sort.keys.computed.len();
    let (mut row, mut last) = (Vec::with_capacity(stride), Vec::new());
    while sorter.next(stride, &mut row)? {
        let same = sort.distinct
            && !last.is_empty()
            && compare_rows(&sort.keys.columns, &row, &last).is_eq();
        if !same {
            kind.add(
                &mut state,
                &row[..aggregate.args.len().clamp(usize::from(!row.is_empty()), row.len())],
            )?;
        }
        std::mem::swap(&mut row, &mut last);
        row.clear();
    }
    kind.finish(state, aggregate.ret)
}

/// Hands the sorted rows of a group to an ordered-set aggregate.
fn finish_ordered(
    aggregate: &CAggregate,
    call: OrderedCall,
    cx: &mut ExecContext,
) -> Result<Datum> {
    let (AggKind::Ordered(set), Some(sort)) = (&aggregate.kind, &aggregate.sort) else {
        return Err(Error::internal("ordered rows of another aggregate"));
    };
    let OrderedCall { mut sorter, rows: count, direct } = call;
    // Without any row the direct arguments are constants.
    let direct = match direct {
        Some(direct) => direct,
        None => aggregate.direct_values(Row::EMPTY, cx)?,
    };
    sorter.finish()?;
    let stride = sort.row.len() + sort.keys.computed.len();
    let next = &mut |row: &mut Vec<Datum>| sorter.next(stride, row);
    let rows = SortedRows { count, columns: &sort.keys.columns, next };
    set.evaluate(rows, &direct, aggregate.ret)
}

/// The groups of a hashed aggregation that are in memory.
#[derive(Default)]
struct Groups {
    keys: Vec<Datum>,
    hashes: Vec<u64>,
    states: Vec<CallState>,
    index: HashTable<u32>,
    bytes: usize,
}

struct AggNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    incoming: RowBatch,
    position: usize,
    groups: Groups,
    /// Next group to hand up.
    next_group: usize,
    loaded: bool,
    finished: bool,
    spilled: Spilled<SpillFile>,
    /// No row has come.
    empty: bool,
    /// Sorted: the open group.
    open: Option<(Vec<Datum>, Vec<CallState>)>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Agg(agg) = &plan.kind else { unreachable!("started as an aggregation") };
    Box::new(AggNode {
        child: start_node(&agg.child, cx),
        incoming: RowBatch::new(agg.child.width),
        position: 0,
        groups: Groups::default(),
        next_group: 0,
        loaded: false,
        finished: false,
        spilled: Spilled::default(),
        empty: true,
        open: None,
        plan: plan.clone(),
    })
}

impl AggNode {
    /// Plain: one group over everything.
    fn run_plain(&mut self, agg: &AggPlan, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let mut states = Vec::with_capacity(agg.aggregates.len());
        agg.start_group(cx, &mut states)?;
        let mut args = Vec::new();
        loop {
            self.incoming.clear();
            self.child.next(cx, &mut self.incoming)?;
            if self.incoming.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            for row in self.incoming.iter() {
                agg.add(&mut states, Row::of(row), &mut args, cx)?;
            }
        }
        let mut row = Vec::with_capacity(agg.aggregates.len());
        agg.finish_group(states.into_iter(), &mut row, cx)?;
        self.finished = true;
        self.plan.emit_owned(cx, &mut row, out).map(drop)
    }

    /// Sorted: a group ends where the key changes.
    fn run_sorted(
        &mut self,
        agg: &AggPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        let mut args = Vec::new();
        let mut key = Vec::with_capacity(agg.keys.len());
        while !out.is_full() && !self.finished {
            if self.position >= self.incoming.len() {
                self.incoming.clear();
                self.position = 0;
                self.child.next(cx, &mut self.incoming)?;
                cx.check_interrupts()?;
                if self.incoming.is_empty() {
                    self.finished = true;
                    if std::mem::take(&mut self.empty) {
                        return self.finish_empty(agg, cx, out);
                    }
                    return self.close_group(agg, cx, out);
                }
                self.empty = false;
            }
            key.clear();
            for expr in &agg.keys {
                key.push(expr.eval(cx, Row::of(self.incoming.row(self.position)))?);
            }
            let same = self
                .open
                .as_ref()
                .is_some_and(|(open, _)| equal_keys(&agg.key_types, open.iter(), key.iter()));
            if !same {
                let had_group = self.open.is_some();
                self.close_group(agg, cx, out)?;
                let mut states = Vec::with_capacity(agg.aggregates.len());
                agg.start_group(cx, &mut states)?;
                self.open = Some((key.clone(), states));
                if had_group && out.is_full() {
                    // The row at `position` opens the group that is now there: it is added
                    // below by the next call.
                    continue;
                }
            }
            if let Some((_, states)) = &mut self.open {
                let row = Row::of(self.incoming.row(self.position));
                agg.add(states, row, &mut args, cx)?;
            }
            self.position += 1;
        }
        Ok(())
    }

    fn close_group(
        &mut self,
        agg: &AggPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        if let Some((mut row, states)) = self.open.take() {
            agg.finish_group(states.into_iter(), &mut row, cx)?;
            self.plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }

    /// The groups that are there without any row.
    fn finish_empty(
        &mut self,
        agg: &AggPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        for key in &agg.empty_groups {
            let (mut row, mut states) = (key.clone(), Vec::new());
            agg.start_group(cx, &mut states)?;
            agg.know_empty_group(&mut states, key, cx)?;
            agg.finish_group(states.into_iter(), &mut row, cx)?;
            self.plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }

    /// Takes a row into its group; false if the group is not in memory and there is no room.
    fn add_hashed(
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
    fn load_hashed(
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
                if let Some(hash) = self.add_hashed(agg, row, &mut scratch, may_spill, cx)? {
                    let place = spilling.place(hash);
                    let files = spilling.partitions(|| cx.temp()?.create())?;
                    files[place].write(row.iter())?;
                }
            }
        }
        self.spilled.take((spilling, true), self.groups.bytes, self.plan.id, cx)
    }

    fn run_hashed(
        &mut self,
        agg: &AggPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        if !self.loaded {
            self.load_hashed(agg, None, 0, cx)?;
            self.loaded = true;
            if self.groups.hashes.is_empty() {
                self.finish_empty(agg, cx, out)?;
            }
        }
        let (width, calls) = (agg.keys.len(), agg.aggregates.len());
        let mut row = Vec::with_capacity(width + calls);
        while !out.is_full() && !self.finished {
            if self.next_group == self.groups.hashes.len() {
                self.groups = Groups::default();
                self.next_group = 0;
                match self.spilled.next() {
                    None => self.finished = true,
                    Some((mut file, depth)) => {
                        self.load_hashed(agg, Some(file.reader(0)?), depth, cx)?;
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
            agg.finish_group(taken.into_iter(), &mut row, cx)?;
            self.plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }
}

/// Memory of the states that grow with their input.
fn collected_bytes(states: &[CallState]) -> usize {
    states
        .iter()
        .map(|s| match s {
            CallState::Direct(state @ AggState::Collected(_)) => state.heap_bytes(),
            _ => 0,
        })
        .sum()
}

impl Node for AggNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::Agg(agg) = &plan.kind else {
            return Err(Error::internal("aggregation node over another plan"));
        };
        while out.is_empty() && !self.finished {
            match agg.strategy {
                AggStrategy::Plain => self.run_plain(agg, cx, out)?,
                AggStrategy::Sorted => self.run_sorted(agg, cx, out)?,
                AggStrategy::Hashed => self.run_hashed(agg, cx, out)?,
            }
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.groups = Groups::default();
        self.next_group = 0;
        self.loaded = false;
        self.finished = false;
        self.spilled = Spilled::default();
        self.empty = true;
        self.open = None;
        self.incoming.clear();
        self.position = 0;
        self.child.rescan(cx)
    }
}
