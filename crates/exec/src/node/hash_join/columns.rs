//! Hash join of columns.
//!
//! The inner rows are a [`Table`] of the columns that the join reads. Outer rows are looked up a
//! batch at a time ([`super::pairs`]). The join hands up the same rows as the join of rows, in the
//! same order.
//!
//! Threads that find the inner rows together share the table as well ([`super::shared_table`]).
//!
//! An inner join that finds one side empty does not read the other to its end. If the outer side's
//! first row is cheap, the join requests it before it builds the table. nodeHashjoin.c does both.

use super::compile::{ColumnJoin, KeyColumns};
use super::pairs::{Collecting, Pairs, Probe, Sides};
use super::shared_table::{Claim, Held};
use super::spill::{BlockReader, Blocks, Open, Pending, Side};
use super::table::{Comparison, KeyAt, Keyed, Table};
use super::{DEPTH_MAX, HashJoinPlan, note_size};
use crate::context::{ExecContext, Versions};
use crate::expr::{CExpr, Row};
use crate::node::columns::{ColumnInput, ColumnNode, for_all};
use crate::node::{BoxedNode, CNode, CPlan};
use crate::sought::Sought;
use crate::vector::{COLUMN_ROWS, ColumnBatch, GiveUp, NO_ROW, Vector, hash_rows, null_keys};
use std::sync::Arc;
use steppe_sql::query::JoinKind;
use steppe_types::{Error, Result};

enum Phase {
    Build,
    Probe,
    /// Hands up unmatched inner rows from this row on.
    Unmatched(u32),
    Finished,
}

struct ColumnJoinNode {
    plan: Arc<CPlan>,
    outer: ColumnInput,
    inner: ColumnInput,
    table: Held,
    /// Whether each of its rows has had a match.
    matched: Vec<bool>,
    /// Valid for re-scans while the inner side's parameters stay the same.
    built: Option<Versions>,
    ever_spilled: bool,
    /// Rows and bytes of the table when it was spilled.
    peak: (usize, usize),
    phase: Phase,
    /// The source of outer rows, if it is not the child.
    file: Option<BlockReader>,
    batch: ColumnBatch,
    /// The present outer rows, and the hashes of their keys.
    rows: Keyed,
    hashes: Vec<u64>,
    /// The present outer rows have not been looked up yet.
    peeked: bool,
    probe: Probe,
    /// The error of the outer row behind the present batch's last one.
    failed: Option<Error>,
    /// Partitions that are being filled in the present pass.
    open: Option<Open<Blocks>>,
    pending: Pending<Blocks>,
    depth: u32,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::HashJoin(join) = &plan.kind else { unreachable!("started as a hash join") };
    cx.seek_all(join.outer.id);
    for_all(ColumnJoinNode {
        outer: ColumnInput::new(&join.outer, cx),
        inner: ColumnInput::new(&join.inner, cx),
        table: Held::default(),
        matched: Vec::new(),
        built: None,
        ever_spilled: false,
        peak: (0, 0),
        phase: Phase::Build,
        file: None,
        batch: ColumnBatch::new(join.outer.width),
        rows: Keyed::new(join.outer.width, 0),
        hashes: Vec::new(),
        peeked: false,
        probe: Probe::default(),
        failed: None,
        open: None,
        pending: Pending::default(),
        depth: 0,
        plan: plan.clone(),
    })
}

/// The plan's parts.
#[derive(Clone, Copy)]
struct Parts<'a> {
    plan: &'a CPlan,
    join: &'a HashJoinPlan,
    columns: &'a ColumnJoin,
}

impl<'a> Parts<'a> {
    fn of(plan: &'a CPlan) -> Result<Parts<'a>> {
        match &plan.kind {
            CNode::HashJoin(join @ HashJoinPlan { columns: Some(columns), .. }) => {
                Ok(Parts { plan, join, columns })
            }
            _ => Err(Error::internal("hash join of columns over another plan")),
        }
    }
}

impl ColumnJoinNode {
    fn fill(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let plan = self.plan.clone();
        let parts = Parts::of(&plan)?;
        while out.is_empty() {
            match self.phase {
                Phase::Build => self.begin(parts, cx)?,
                Phase::Probe if self.probe.is_done() => {
                    if self.next_outer(parts, cx)? {
                        continue;
                    }
                    match parts.join.keeps_inner() {
                        true => self.phase = Phase::Unmatched(0),
                        false => self.next_partition(parts, cx)?,
                    }
                }
                Phase::Probe => self.join_some(parts, cx, out)?,
                Phase::Unmatched(from) => self.hand_up_unmatched(from, parts, cx, out)?,
                Phase::Finished => break,
            }
        }
        Ok(())
    }

    /// Makes the table, unless it is there from an earlier scan.
    fn begin(&mut self, parts: Parts<'_>, cx: &mut ExecContext) -> Result<()> {
        if self.built.is_none() {
            if parts.columns.peeks {
                self.peeked = self.fetch_outer(cx)?;
                if !self.peeked {
                    self.phase = Phase::Finished;
                    return Ok(());
                }
            }
            self.build(parts, cx)?;
        }
        let empty = self.table.inner.rows == 0 && self.open.is_none();
        self.phase = match empty && !parts.join.keeps_outer() {
            true => Phase::Finished,
            false => Phase::Probe,
        };
        Ok(())
    }

    /// Makes the table, or takes the one that threads share.
    fn build(&mut self, parts: Parts<'_>, cx: &mut ExecContext) -> Result<()> {
        let versions = cx.versions(&parts.join.inner.dependencies);
        match Claim::of(parts.join, cx)? {
            Claim::Own => self.load(parts, cx)?,
            Claim::Make(shared) => shared.make(|| {
                self.load(parts, cx)?;
                Ok(self.open.is_none().then(|| self.table.share()))
            })?,
            Claim::Have(table) => self.table = Held::Shared(table),
        }
        self.matched.clear();
        self.matched.resize(self.table.inner.rows, false);
        self.built = Some(versions);
        if let (Some(columns), None) = (&parts.columns.sought, &self.open) {
            cx.seek(Sought {
                scan: parts.join.outer.id,
                columns: columns.clone(),
                types: parts.join.types.clone(),
                buckets: self.table.buckets.clone(),
            });
        }
        Ok(())
    }

    /// Loads the inner side.
    fn load(&mut self, parts: Parts<'_>, cx: &mut ExecContext) -> Result<()> {
        let mut batch = ColumnBatch::new(parts.join.inner.width);
        self.table = Held::Own(new_table(parts));
        loop {
            batch.clear();
            self.inner.next(cx, &mut batch)?;
            if batch.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            let keys = &parts.columns.inner_keys;
            let computed = match compute_keys(keys, cx, &batch) {
                Some(computed) => computed,
                None => {
                    let (computed, failed) = key_rows(keys, &parts.join.inner_keys, cx, &batch)?;
                    failed.map_or(Ok(computed), Err)?
                }
            };
            let rows = batch.len();
            let columns = std::mem::take(&mut batch.columns);
            let mut keyed = Keyed { rows, columns, computed };
            self.add_inner(parts, &mut keyed, cx)?;
            batch.columns = keyed.columns;
        }
        self.end_of_inner(parts);
        let batches = self.open.as_ref().map_or(1, Open::batches);
        let table = (self.table.inner.rows.max(self.peak.0), self.table.bytes.max(self.peak.1));
        note_size(parts.join, table, batches, cx);
        Ok(())
    }

    /// All inner rows of this pass are in the table or on disk.
    fn end_of_inner(&mut self, parts: Parts<'_>) {
        self.table.own().index(&parts.columns.inner_keys.at);
        self.matched.clear();
        self.matched.resize(self.table.inner.rows, false);
    }

    /// Puts inner rows into the table or into partitions of this pass.
    fn add_inner(&mut self, parts: Parts<'_>, rows: &mut Keyed, cx: &ExecContext) -> Result<()> {
        let (join, kept) = (parts.join, &parts.columns.inner_kept);
        let at = &parts.columns.inner_keys.at;
        if !join.keeps_inner() {
            let nulls = null_keys(&rows.keys(at), rows.rows);
            if nulls.contains(&true) {
                rows.keep(&places_of(&nulls, false));
            }
        }
        let mut hashes = Vec::new();
        hash_rows(&join.types, &rows.keys(at), rows.rows, &mut hashes);
        if let Some(open) = &mut self.open {
            let left = open.distribute(Side::Inner, (rows, kept), (&hashes, &[]))?;
            rows.keep(&left);
            hashes = left.iter().map(|i| hashes[*i as usize]).collect();
        }
        self.table.own().append(rows, kept, &hashes);
        let memory = (cx.work_mem_bytes as f64 * join.memory_factor) as usize;
        while self.table.bytes > memory.max(1) && self.depth < DEPTH_MAX {
            self.shed(parts, cx)?;
        }
        Ok(())
    }

    /// Moves half of the table's partitions to disk.
    fn shed(&mut self, parts: Parts<'_>, cx: &ExecContext) -> Result<()> {
        let (join, columns) = (parts.join, parts.columns);
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let inner = (join.inner.width, columns.inner_keys.computed.len());
                let outer = (join.outer.width, columns.outer_keys.computed.len());
                let temp = cx.temp()?;
                let create = || Ok((Blocks::create(&temp, inner)?, Blocks::create(&temp, outer)?));
                self.open.insert(Open::new(self.depth, create)?)
            }
        };
        open.shed();
        let mut table = std::mem::replace(self.table.own(), new_table(parts));
        if table.bytes > self.peak.1 {
            self.peak = (table.inner.rows, table.bytes);
        }
        let kept = &columns.inner_kept[..];
        let left = open.distribute(Side::Inner, (&table.inner, kept), (&table.hashes, &[]))?;
        table.inner.keep(&left);
        let hashes: Vec<u64> = left.iter().map(|i| table.hashes[*i as usize]).collect();
        self.table.own().append(&table.inner, kept, &hashes);
        self.ever_spilled = true;
        Ok(())
    }

    /// Puts the next outer rows into `probe`; false at the end of the present pass.
    fn fetch_outer(&mut self, cx: &mut ExecContext) -> Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if let Some(file) = &mut self.file {
            let Some(rows) = file.next()? else { return Ok(false) };
            self.rows = rows;
            return Ok(true);
        }
        self.batch.clear();
        if let Err(error) = self.outer.next(cx, &mut self.batch) {
            if self.batch.is_empty() || cx.is_overtaken {
                return Err(error);
            }
            self.failed = Some(error);
        }
        self.rows.rows = self.batch.len();
        std::mem::swap(&mut self.rows.columns, &mut self.batch.columns);
        Ok(!self.batch.is_empty())
    }

    /// Looks up the next outer rows, or writes them to partitions; false at the end of the
    /// present pass.
    fn next_outer(&mut self, parts: Parts<'_>, cx: &mut ExecContext) -> Result<bool> {
        if !std::mem::take(&mut self.peeked) && !self.fetch_outer(cx)? {
            return Ok(false);
        }
        cx.check_interrupts()?;
        let (join, keys) = (parts.join, &parts.columns.outer_keys);
        if self.file.is_none() {
            self.key_outer(keys, &join.outer_keys, cx)?;
        }
        let (outer, hashes, heads) = (&mut self.rows, &mut self.hashes, &mut self.probe.heads);
        outer.type_keys(&keys.at);
        let mut nulls = null_keys(&outer.keys(&keys.at), outer.rows);
        hash_rows(&join.types, &outer.keys(&keys.at), outer.rows, hashes);
        if let Some(open) = &mut self.open {
            let kept = &parts.columns.outer_kept;
            let mut left = open.distribute(Side::Outer, (outer, kept), (hashes, &nulls))?;
            // An outer row without a match is needed only if the join hands it up.
            left.retain(|i| join.keeps_outer() || nulls.get(*i as usize) != Some(&true));
            outer.keep(&left);
            *hashes = left.iter().map(|i| hashes[*i as usize]).collect();
            nulls = null_keys(&outer.keys(&keys.at), outer.rows);
        }
        self.table.find(hashes, heads);
        for (head, null) in heads.iter_mut().zip(&nulls) {
            if *null {
                *head = NO_ROW;
            }
        }
        self.probe.restart();
        Ok(true)
    }

    /// Computes the keys of the outer rows from the child. If a key fails, the rows before it are
    /// returned first, then the error.
    fn key_outer(
        &mut self,
        keys: &KeyColumns,
        by_row: &[CExpr],
        cx: &mut ExecContext,
    ) -> Result<()> {
        if keys.computed.is_empty() {
            return Ok(());
        }
        let outer = &mut self.rows;
        let mut batch = ColumnBatch::new(0);
        batch.set(outer.rows, std::mem::take(&mut outer.columns));
        let computed = compute_keys(keys, cx, &batch);
        let rows = match computed {
            Some(_) => None,
            None => Some(key_rows(keys, by_row, cx, &batch)?),
        };
        outer.columns = batch.columns;
        outer.computed = computed.unwrap_or_default();
        if let Some((computed, failed)) = rows {
            let good = computed.first().map_or(0, Vector::len);
            outer.computed.clear();
            outer.keep(&(0..good as u32).collect::<Vec<_>>());
            outer.computed = computed;
            if let Some(error) = failed {
                self.failed = Some(error);
            }
        }
        Ok(())
    }

    /// Joins some of the rows in `probe`.
    fn join_some(
        &mut self,
        parts: Parts<'_>,
        cx: &mut ExecContext,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        cx.check_interrupts()?;
        let Parts { plan, join, columns } = parts;
        let comparison = Comparison::new(
            &join.types,
            (&self.rows, &columns.outer_keys.at, &self.hashes),
            (&self.table, &columns.inner_keys.at),
        );
        let (how, limit) = (Collecting::new(join, columns), out.wanted.clamp(1, COLUMN_ROWS));
        let found = (&*self.table, &self.matched[..]);
        self.probe.collect(found, &comparison, &how, limit);
        let (outer, inner) = (&self.rows, &self.table.inner);
        let sides = Sides { plan, join, columns, outer, inner };
        let plain = join.kind == JoinKind::Inner && columns.on.is_empty();
        let resolved = match plain {
            true => Ok(()),
            false => resolve(&sides, &mut self.probe, &mut self.matched, cx),
        };
        sides.emit(cx, &self.probe.pairs, out)?;
        resolved
    }

    /// Hands up some of the inner rows that had no match.
    fn hand_up_unmatched(
        &mut self,
        from: u32,
        parts: Parts<'_>,
        cx: &mut ExecContext,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        cx.check_interrupts()?;
        let Parts { plan, join, columns } = parts;
        let mut pairs = Pairs::default();
        let limit = out.wanted.clamp(1, COLUMN_ROWS);
        let mut next = from;
        for matched in self.matched.iter().skip(from as usize) {
            if pairs.inner.len() >= limit {
                break;
            }
            if !matched {
                pairs.push(NO_ROW, next);
            }
            next += 1;
        }
        let (outer, inner) = (&self.rows, &self.table.inner);
        Sides { plan, join, columns, outer, inner }.emit(cx, &pairs, out)?;
        if (next as usize) < self.matched.len() {
            self.phase = Phase::Unmatched(next);
            return Ok(());
        }
        self.next_partition(parts, cx)
    }

    /// Ends a pass. The partitions that it wrote to disk are joined next.
    fn next_partition(&mut self, parts: Parts<'_>, cx: &mut ExecContext) -> Result<()> {
        self.pending.take(self.open.take());
        let Some(mut partition) = self.pending.next(parts.join) else {
            self.phase = Phase::Finished;
            return Ok(());
        };
        self.depth = partition.depth;
        self.table = Held::Own(new_table(parts));
        let mut reader = partition.inner.reader()?;
        while let Some(mut rows) = reader.next()? {
            cx.check_interrupts()?;
            self.add_inner(parts, &mut rows, cx)?;
        }
        self.end_of_inner(parts);
        self.file = Some(partition.outer.reader()?);
        self.phase = Phase::Probe;
        Ok(())
    }
}

/// Keeps the collected pairs that are to be handed up. With an error they are the pairs before the
/// one that failed.
fn resolve(
    sides: &Sides<'_>,
    probe: &mut Probe,
    matched: &mut [bool],
    cx: &mut ExecContext,
) -> Result<()> {
    let passed = sides.pass(cx, &probe.pairs);
    let (dropped, resolved) = probe.resolve(sides.join, matched, |at, o, i| match &passed {
        Ok(passed) => Ok(passed[at]),
        Err(GiveUp) => sides.passes(cx, o, i),
    });
    if let Some(instrument) = cx.instrument(sides.plan.id) {
        instrument.join_filtered += dropped;
    }
    resolved
}

fn new_table(parts: Parts<'_>) -> Table {
    Table::new(parts.join.inner.width, parts.columns.inner_keys.computed.len())
}

/// The rows whose flag equals `set`.
fn places_of(flags: &[bool], set: bool) -> Vec<u32> {
    let places = flags.iter().enumerate().filter(|(_, flag)| **flag == set);
    places.map(|(i, _)| i as u32).collect()
}

/// The computed keys of a batch; `None` if they must be computed row by row.
fn compute_keys(
    keys: &KeyColumns,
    cx: &mut ExecContext,
    batch: &ColumnBatch,
) -> Option<Vec<Vector>> {
    keys.computed.iter().map(|key| key.eval(cx, batch).ok()).collect()
}

/// The computed keys row by row up to the first that fails, and its error.
fn key_rows(
    keys: &KeyColumns,
    by_row: &[CExpr],
    cx: &mut ExecContext,
    batch: &ColumnBatch,
) -> Result<(Vec<Vector>, Option<Error>)> {
    let mut out = vec![Vector::default(); keys.computed.len()];
    let (mut row, mut values) = (Vec::new(), Vec::new());
    for i in 0..batch.len() {
        row.clear();
        batch.row_into(i, &mut row)?;
        values.clear();
        for (key, at) in by_row.iter().zip(&keys.at) {
            if let KeyAt::Computed(_) = at {
                match key.eval(cx, Row::of(&row)) {
                    Ok(value) => values.push(value),
                    Err(error) => return Ok((out, Some(error))),
                }
            }
        }
        out.iter_mut().zip(&values).for_each(|(column, value)| column.push(value));
    }
    Ok((out, None))
}

impl ColumnNode for ColumnJoinNode {
    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        self.fill(cx, out)
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        let keep = !self.ever_spilled && self.built.as_ref().is_some_and(|v| v.current(cx));
        if keep {
            self.matched.fill(false);
        } else {
            self.table = Held::default();
            cx.seek_all(Parts::of(&self.plan)?.join.outer.id);
            if self.built.take().is_some() {
                self.inner.rescan(cx)?;
            }
            self.ever_spilled = false;
            self.peak = (0, 0);
        }
        self.phase = Phase::Build;
        self.file = None;
        let width = Parts::of(&self.plan)?.join.outer.width;
        (self.rows, self.batch) = (Keyed::new(width, 0), ColumnBatch::new(width));
        self.probe = Probe::default();
        (self.peeked, self.failed) = (false, None);
        self.open = None;
        self.pending = Pending::default();
        self.depth = 0;
        self.outer.rescan(cx)
    }
}
