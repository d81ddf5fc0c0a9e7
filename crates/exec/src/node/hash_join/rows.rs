//! Hash join of rows of datums.

use super::spill::{Open, Pending};
use super::{DEPTH_MAX, HashJoinPlan, note_size};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::{ExecContext, Versions};
use crate::expr::Row;
use crate::hashing::{equal_keys, hash_key};
use crate::node::{BoxedNode, CNode, CPlan, Input, Node, start as start_node};
use crate::vector::NO_ROW;
use hashbrown::HashTable;
use std::sync::Arc;
use steppe_spill::{SpillFile, SpillReader, row_bytes};
use steppe_sql::query::JoinKind;
use steppe_types::{Datum, Error, Oid, Result};

/// The inner rows in memory. A stored row is the inner row ‖ its keys.
struct JoinTable {
    stride: usize,
    width: usize,
    rows: Vec<Datum>,
    hashes: Vec<u64>,
    /// First row of each key; rows of one key are chained.
    index: HashTable<u32>,
    next: Vec<u32>,
    matched: Vec<bool>,
    bytes: usize,
}

impl JoinTable {
    fn new(width: usize, keys: usize) -> JoinTable {
        JoinTable {
            stride: width + keys,
            width,
            rows: Vec::new(),
            hashes: Vec::new(),
            index: HashTable::new(),
            next: Vec::new(),
            matched: Vec::new(),
            bytes: 0,
        }
    }

    fn len(&self) -> usize {
        self.hashes.len()
    }

    fn stored(&self, i: u32) -> &[Datum] {
        let at = i as usize * self.stride;
        &self.rows[at..at + self.stride]
    }

    fn row(&self, i: u32) -> &[Datum] {
        &self.stored(i)[..self.width]
    }

    fn key(&self, i: u32) -> &[Datum] {
        &self.stored(i)[self.width..]
    }

    /// Adds a row; one with a NULL in its key is stored but not indexed.
    fn insert(&mut self, types: &[Oid], row: Row<'_>, hash: u64) {
        let i = self.len() as u32;
        self.rows.extend(row.iter().cloned());
        self.bytes += row_bytes(row.iter()) + 24;
        self.hashes.push(hash);
        self.matched.push(false);
        self.next.push(NO_ROW);
        if self.key(i).iter().any(Datum::is_null) {
            return;
        }
        let key = &self.rows[i as usize * self.stride + self.width..];
        let (rows, stride, width) = (&self.rows, self.stride, self.width);
        let same = |other: &u32| {
            let at = *other as usize * stride;
            equal_keys(types, &rows[at + width..at + stride], key)
        };
        let hashes = &self.hashes;
        let entry = self.index.entry(hash, same, |other| hashes[*other as usize]);
        match entry {
            hashbrown::hash_table::Entry::Occupied(mut head) => {
                self.next[i as usize] = *head.get();
                *head.get_mut() = i;
            }
            hashbrown::hash_table::Entry::Vacant(free) => {
                free.insert(i);
            }
        }
    }

    fn find(&self, types: &[Oid], key: &[Datum], hash: u64) -> u32 {
        let same =
            |i: &u32| self.hashes[*i as usize] == hash && equal_keys(types, self.key(*i), key);
        self.index.find(hash, same).copied().unwrap_or(NO_ROW)
    }
}

/// The source of probe rows.
enum Source {
    Child,
    File { reader: SpillReader, row: Vec<Datum> },
}

enum Phase {
    Build,
    Probe,
    /// Hands up unmatched inner rows from this row on.
    Unmatched(u32),
    Finished,
}

struct HashJoinNode {
    plan: Arc<CPlan>,
    outer: Input,
    inner: BoxedNode,
    table: JoinTable,
    /// Valid for re-scans while the inner side's parameters stay the same.
    built: Option<Versions>,
    ever_spilled: bool,
    /// Rows and bytes of the table when it was spilled.
    peak: (usize, usize),
    phase: Phase,
    source: Source,
    /// Partitions that are being filled in the present pass.
    open: Option<Open<SpillFile>>,
    pending: Pending<SpillFile>,
    depth: u32,
    /// Next candidate for the present outer row.
    candidate: u32,
    outer_open: bool,
    outer_matched: bool,
    key: Vec<Datum>,
    nulls_outer: Vec<Datum>,
    nulls_inner: Vec<Datum>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::HashJoin(join) = &plan.kind else { unreachable!("started as a hash join") };
    let keys = join.types.len();
    Box::new(HashJoinNode {
        outer: Input::new(&join.outer, cx),
        inner: start_node(&join.inner, cx),
        table: JoinTable::new(join.inner.width, keys),
        built: None,
        ever_spilled: false,
        peak: (0, 0),
        phase: Phase::Build,
        source: Source::Child,
        open: None,
        pending: Pending::default(),
        depth: 0,
        candidate: NO_ROW,
        outer_open: false,
        outer_matched: false,
        key: Vec::with_capacity(keys),
        nulls_outer: vec![Datum::Null; join.outer.width],
        nulls_inner: vec![Datum::Null; join.inner.width],
        plan: plan.clone(),
    })
}

impl HashJoinNode {
    /// Loads the inner side.
    fn build(&mut self, join: &HashJoinPlan, cx: &mut ExecContext) -> Result<()> {
        let versions = cx.versions(&join.inner.dependencies);
        let mut batch = RowBatch::new(join.inner.width);
        let mut key = Vec::with_capacity(join.types.len());
        loop {
            batch.clear();
            self.inner.next(cx, &mut batch)?;
            if batch.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            for row in batch.iter() {
                key.clear();
                for expr in &join.inner_keys {
                    key.push(expr.eval(cx, Row::of(row))?);
                }
                self.add_inner(join, Row::pair(row, &key), cx)?;
            }
        }
        let batches = self.open.as_ref().map_or(1, Open::batches);
        let table = (self.table.len().max(self.peak.0), self.table.bytes.max(self.peak.1));
        note_size(join, table, batches, cx);
        self.built = Some(versions);
        Ok(())
    }

    /// Puts an inner row (with its key) where it belongs in this pass.
    fn add_inner(&mut self, join: &HashJoinPlan, row: Row<'_>, cx: &ExecContext) -> Result<()> {
        let null_key = row.iter().skip(join.inner.width).any(Datum::is_null);
        if null_key && !join.keeps_inner() {
            return Ok(());
        }
        let hash = hash_key(&join.types, row.iter().skip(join.inner.width));
        if let Some(partition) = self.open.as_mut().and_then(|open| open.on_disk(hash)) {
            return partition.inner.write(row.iter());
        }
        self.table.insert(&join.types, row, hash);
        let memory = (cx.work_mem_bytes as f64 * join.memory_factor) as usize;
        while self.table.bytes > memory.max(1) && self.depth < DEPTH_MAX {
            self.shed(join, cx)?;
        }
        Ok(())
    }

    /// Moves half of the table's partitions to disk.
    fn shed(&mut self, join: &HashJoinPlan, cx: &ExecContext) -> Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let temp = cx.temp()?;
                let create = || Ok((temp.create()?, temp.create()?));
                self.open.insert(Open::new(self.depth, create)?)
            }
        };
        open.shed();
        if self.table.bytes > self.peak.1 {
            self.peak = (self.table.len(), self.table.bytes);
        }
        let kept = JoinTable::new(self.table.width, self.table.stride - self.table.width);
        let table = std::mem::replace(&mut self.table, kept);
        for i in 0..table.len() as u32 {
            let (hash, row) = (table.hashes[i as usize], table.stored(i));
            match open.on_disk(hash) {
                Some(partition) => partition.inner.write(row.iter())?,
                None => self.table.insert(&join.types, Row::of(row), hash),
            }
        }
        self.ever_spilled = true;
        Ok(())
    }

    /// Opens the next outer row; false at the end of the present pass.
    fn next_outer(&mut self, join: &HashJoinPlan, cx: &mut ExecContext) -> Result<bool> {
        loop {
            match &mut self.source {
                Source::Child => {
                    if !self.outer.advance(cx, BATCH_ROWS)? {
                        return Ok(false);
                    }
                }
                Source::File { reader, row } => {
                    row.clear();
                    if !reader.read(row)? {
                        return Ok(false);
                    }
                }
            }
            let row = outer_row(&self.outer, &self.source);
            self.key.clear();
            for expr in &join.outer_keys {
                self.key.push(expr.eval(cx, Row::of(row))?);
            }
            let null_key = self.key.iter().any(Datum::is_null);
            if null_key && !join.keeps_outer() {
                continue;
            }
            self.outer_matched = false;
            self.outer_open = true;
            self.candidate = NO_ROW;
            if null_key {
                return Ok(true);
            }
            let hash = hash_key(&join.types, &self.key);
            if let Some(partition) = self.open.as_mut().and_then(|open| open.on_disk(hash)) {
                partition.outer.write(row.iter())?;
                self.outer_open = false;
                continue;
            }
            self.candidate = self.table.find(&join.types, &self.key, hash);
            return Ok(true);
        }
    }

    /// Joins the open outer row until `out` is full or its candidates have run out.
    fn join_open(
        &mut self,
        join: &HashJoinPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        while self.candidate != NO_ROW {
            if out.is_full() {
                return Ok(());
            }
            let i = self.candidate;
            self.candidate = self.table.next[i as usize];
            if join.matches_once() && self.table.matched[i as usize] {
                continue;
            }
            let outer = outer_row(&self.outer, &self.source);
            let pair = Row::pair(outer, self.table.row(i));
            if !self.plan.joins(join.on.as_ref(), cx, pair)? {
                continue;
            }
            self.outer_matched = true;
            match join.kind {
                JoinKind::Semi => {
                    self.outer_open = false;
                    self.plan.emit_semi(cx, (outer, self.table.row(i)), out)?;
                    return Ok(());
                }
                JoinKind::Anti => {
                    self.outer_open = false;
                    return Ok(());
                }
                JoinKind::RightAnti => self.table.matched[i as usize] = true,
                JoinKind::RightSemi => {
                    self.plan.emit(cx, Row::of(self.table.row(i)), out)?;
                    self.table.matched[i as usize] = true;
                }
                _ => {
                    self.plan.emit(cx, pair, out)?;
                    if join.keeps_inner() {
                        self.table.matched[i as usize] = true;
                    }
                }
            }
        }
        if out.is_full() && !self.outer_matched && join.keeps_outer() {
            return Ok(());
        }
        self.outer_open = false;
        if !self.outer_matched && join.keeps_outer() {
            let outer = outer_row(&self.outer, &self.source);
            match join.kind {
                JoinKind::Anti => self.plan.emit(cx, Row::of(outer), out)?,
                _ => self.plan.emit(cx, Row::pair(outer, &self.nulls_inner), out)?,
            };
        }
        Ok(())
    }

    fn hand_up_unmatched(
        &mut self,
        from: u32,
        join: &HashJoinPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        let mut i = from;
        while (i as usize) < self.table.len() && !out.is_full() {
            if !self.table.matched[i as usize] {
                let inner = self.table.row(i);
                match join.kind {
                    JoinKind::RightAnti => self.plan.emit(cx, Row::of(inner), out)?,
                    _ => self.plan.emit(cx, Row::pair(&self.nulls_outer, inner), out)?,
                };
            }
            i += 1;
        }
        if (i as usize) < self.table.len() {
            self.phase = Phase::Unmatched(i);
            return Ok(());
        }
        self.next_partition(cx)
    }

    /// Ends a pass. The partitions that it wrote to disk are joined next.
    fn next_partition(&mut self, cx: &mut ExecContext) -> Result<()> {
        let CNode::HashJoin(join) = &self.plan.clone().kind else {
            return Err(Error::internal("hash join node over another plan"));
        };
        self.pending.take(self.open.take());
        let Some(mut partition) = self.pending.next(join) else {
            self.phase = Phase::Finished;
            return Ok(());
        };
        cx.check_interrupts()?;
        self.depth = partition.depth;
        self.table = JoinTable::new(join.inner.width, join.types.len());
        let mut reader = partition.inner.reader(0)?;
        let mut row = Vec::new();
        while reader.read(&mut row)? {
            self.add_inner(join, Row::of(&row), cx)?;
            row.clear();
        }
        self.source = Source::File { reader: partition.outer.reader(0)?, row: Vec::new() };
        self.phase = Phase::Probe;
        Ok(())
    }
}

/// The present outer row.
fn outer_row<'a>(outer: &'a Input, source: &'a Source) -> &'a [Datum] {
    match source {
        Source::Child => outer.row(),
        Source::File { row, .. } => row,
    }
}

impl Node for HashJoinNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::HashJoin(join) = &plan.kind else {
            return Err(Error::internal("hash join node over another plan"));
        };
        while !out.is_full() {
            match self.phase {
                Phase::Build => {
                    if self.built.is_none() {
                        self.build(join, cx)?;
                    }
                    let empty = self.table.len() == 0 && self.open.is_none();
                    self.phase = match empty && !join.keeps_outer() {
                        true => Phase::Finished,
                        false => Phase::Probe,
                    };
                }
                Phase::Probe => {
                    if !self.outer_open && !self.next_outer(join, cx)? {
                        match join.keeps_inner() {
                            true => self.phase = Phase::Unmatched(0),
                            false => self.next_partition(cx)?,
                        }
                        continue;
                    }
                    self.join_open(join, cx, out)?;
                }
                Phase::Unmatched(from) => self.hand_up_unmatched(from, join, cx, out)?,
                Phase::Finished => break,
            }
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        let keep = !self.ever_spilled && self.built.as_ref().is_some_and(|v| v.current(cx));
        if keep {
            self.table.matched.fill(false);
        } else {
            let CNode::HashJoin(join) = &self.plan.kind else {
                return Err(Error::internal("hash join node over another plan"));
            };
            self.table = JoinTable::new(join.inner.width, join.types.len());
            if self.built.take().is_some() {
                self.inner.rescan(cx)?;
            }
            self.ever_spilled = false;
            self.peak = (0, 0);
        }
        self.phase = Phase::Build;
        self.source = Source::Child;
        self.open = None;
        self.pending = Pending::default();
        self.depth = 0;
        self.outer_open = false;
        self.outer.rescan(cx)
    }
}
