//! Aggregation of columns by hash.
//!
//! Groups whose states are combined above (`AggMode::Partial`) do not wait for the last row. When
//! there is no room for more groups, they are handed up and new ones begin, unless the groups have
//! fewer than two rows on average (adaptive pre-aggregation, see Larson, "Data Reduction by Partial
//! Preaggregation", 2002).

use super::super::groups::Groups;
use super::super::spilled::{Partition, Spilled, Spilling};
use super::calls::Calls;
use super::output::Aggregation;
use super::{AggPlan, Parts, for_each_batch};
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::block_file::{BlockFile, BlockReader};
use crate::node::columns::{ColumnInput, evaluate};
use crate::vector::{ColumnBatch, NO_PLACE, Vector, hash_rows};
use std::ops::ControlFlow;
use steppe_sql::plan::AggMode;
use steppe_types::Result;

/// The fewest rows a group, on average, for which groups are handed up when there is no room for
/// more.
const ROWS_A_GROUP: usize = 2;

pub(super) struct Hashed {
    child: ColumnInput,
    table: Table,
    /// Next group to hand up.
    next_group: usize,
    is_loaded: bool,
    /// The child has more rows than those of the groups so far.
    goes_on: bool,
    spilled: Spilled<BlockFile>,
}

/// The groups that are in memory.
struct Table {
    groups: Groups,
    /// The number of their rows.
    rows: usize,
    calls: Calls,
}

/// The source of rows.
enum Source {
    Child,
    Partition(BlockReader),
}

impl Partition for BlockFile {
    fn end(&mut self) -> Result<u64> {
        BlockFile::end(self)
    }
}

impl Hashed {
    pub(super) fn start(Parts { agg, .. }: Parts<'_>, cx: &mut ExecContext) -> Hashed {
        Hashed {
            child: ColumnInput::new(&agg.child, cx),
            table: Table::new(agg),
            next_group: 0,
            is_loaded: false,
            goes_on: false,
            spilled: Spilled::default(),
        }
    }

    /// Adds the rows of the child, or of one partition; perhaps only some of the child's.
    fn load(
        &mut self,
        parts: Parts<'_>,
        mut source: Source,
        depth: u32,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let agg = parts.agg;
        let mut spilling = Spilling::new(depth);
        let is_child = matches!(source, Source::Child);
        let Hashed { child, table, goes_on, .. } = self;
        *goes_on = false;
        for_each_batch(
            agg.child.width,
            cx,
            |cx, batch| match &mut source {
                Source::Child => child.next(cx, batch),
                Source::Partition(reader) => reader.next().map(|block| {
                    let (rows, columns) = block.unwrap_or_default();
                    batch.set(rows, columns);
                }),
            },
            |cx, batch| {
                table.take(parts, batch, &mut spilling, cx)?;
                *goes_on =
                    is_child && table.groups.bytes() > agg.memory(cx) && table.may_come_apart(agg);
                Ok(if *goes_on { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        )?;
        let bytes = table.groups.bytes() + table.calls.distinct_bytes();
        table.calls.finish_distinct(agg, cx)?;
        self.spilled.take((spilling, !self.goes_on), bytes, parts.id, cx)
    }
}

impl Table {
    fn new(agg: &AggPlan) -> Table {
        Table { groups: Groups::new(&agg.key_types), rows: 0, calls: Calls::new(agg) }
    }

    /// Adds a batch's rows.
    fn take(
        &mut self,
        parts: Parts<'_>,
        batch: &ColumnBatch,
        spilling: &mut Spilling<BlockFile>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let Parts { agg, columns, .. } = parts;
        self.rows += batch.len();
        let values = columns.values.as_ref().map(|exprs| evaluate(exprs, batch, cx));
        let Some(Ok(values)) = values else {
            return self.take_rows(parts, batch, spilling, cx);
        };
        let mut groups = Vec::new();
        let keys: Vec<&Vector> = columns.keys.iter().map(|at| &*values[*at]).collect();
        let hashes = self.find(agg, &keys, batch.len(), spilling, &mut groups, cx)?;
        spill((batch, &columns.reads), (&groups, &hashes), spilling, cx)?;
        self.groups.bytes += self.calls.add(parts, &values, &groups, cx)?;
        Ok(())
    }

    /// Adds a batch's rows one by one.
    fn take_rows(
        &mut self,
        Parts { agg, columns, .. }: Parts<'_>,
        batch: &ColumnBatch,
        spilling: &mut Spilling<BlockFile>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let (mut row, mut group) = (Vec::new(), Vec::new());
        for i in 0..batch.len() {
            row.clear();
            batch.row_into(i, &mut row)?;
            let mut keys = vec![Vector::default(); agg.keys.len()];
            for (key, expr) in keys.iter_mut().zip(&agg.keys) {
                key.push(&expr.eval(cx, Row::of(&row))?);
            }
            let keys: Vec<&Vector> = keys.iter().collect();
            let hashes = self.find(agg, &keys, 1, spilling, &mut group, cx)?;
            if group[0] == NO_PLACE {
                let place = spilling.place(hashes[0]);
                write((batch, &columns.reads), &[i as u32], place, spilling, cx)?;
                continue;
            }
            self.groups.bytes += self.calls.add_row(agg, Row::of(&row), group[0], cx)?;
        }
        Ok(())
    }

    /// Finds the groups of rows and starts the states of new ones; returns the rows' hashes.
    fn find(
        &mut self,
        agg: &AggPlan,
        keys: &[&Vector],
        rows: usize,
        spilling: &Spilling<BlockFile>,
        groups: &mut Vec<u32>,
        cx: &ExecContext,
    ) -> Result<Vec<u64>> {
        let mut hashes = Vec::new();
        hash_rows(&agg.key_types, keys, rows, &mut hashes);
        let comes_apart = spilling.is_first() && self.may_come_apart(agg);
        let is_limited = spilling.may_begin() && !comes_apart;
        let limit = if is_limited { agg.memory(cx) } else { usize::MAX };
        self.groups.state_bytes = self.calls.group_bytes();
        self.groups.find(keys, &hashes, limit, groups)?;
        self.calls.grow(self.groups.len());
        Ok(hashes)
    }

    /// Whether the groups may be handed up before all rows have been read. A group then has several
    /// states, which are combined above. This pays off if a group has several rows close together.
    fn may_come_apart(&self, agg: &AggPlan) -> bool {
        agg.mode == AggMode::Partial && self.rows >= ROWS_A_GROUP * self.groups.len()
    }
}

/// Writes the rows that have no group, with the columns that are read.
fn spill(
    rows: (&ColumnBatch, &[usize]),
    (groups, hashes): (&[u32], &[u64]),
    spilling: &mut Spilling<BlockFile>,
    cx: &ExecContext,
) -> Result<()> {
    let mut places: Vec<Vec<u32>> = Vec::new();
    for (i, (_, hash)) in
        groups.iter().zip(hashes).enumerate().filter(|(_, (g, _))| **g == NO_PLACE)
    {
        let partition = spilling.place(*hash);
        if places.len() <= partition {
            places.resize(partition + 1, Vec::new());
        }
        places[partition].push(i as u32);
    }
    for (partition, places) in places.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
        write(rows, places, partition, spilling, cx)?;
    }
    Ok(())
}

/// Writes the rows at these places to a partition.
fn write(
    (batch, reads): (&ColumnBatch, &[usize]),
    places: &[u32],
    partition: usize,
    spilling: &mut Spilling<BlockFile>,
    cx: &ExecContext,
) -> Result<()> {
    let width = batch.columns.len();
    let create = || BlockFile::create(&*cx.temp()?, width);
    let columns = reads.iter().map(|i| (*i, &batch.columns[*i]));
    spilling.partitions(create)?[partition].write(columns, places)
}

/// Finishes the groups that exist even without rows.
fn finish_empty(agg: &AggPlan, out: &mut ColumnBatch) -> Result<()> {
    *out = ColumnBatch::new(agg.key_types.len() + agg.aggregates.len());
    for key in &agg.empty_groups {
        let mut row = key.clone();
        for call in &agg.aggregates {
            row.push(call.result(call.kind.start(), agg.mode)?);
        }
        out.push_row(&row);
    }
    Ok(())
}

impl Aggregation for Hashed {
    fn finish_some(
        &mut self,
        parts: Parts<'_>,
        most: usize,
        cx: &mut ExecContext,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        let agg = parts.agg;
        if !self.is_loaded {
            self.load(parts, Source::Child, 0, cx)?;
            self.is_loaded = true;
            if self.table.groups.len() == 0 {
                return finish_empty(agg, out);
            }
        }
        while self.next_group >= self.table.groups.len() {
            if self.goes_on {
                self.table = Table::new(agg);
                self.next_group = 0;
                self.load(parts, Source::Child, 0, cx)?;
                continue;
            }
            let Some((mut file, depth)) = self.spilled.next() else { return Ok(()) };
            self.table = Table::new(agg);
            self.next_group = 0;
            self.load(parts, Source::Partition(file.reader()?), depth, cx)?;
        }
        let Table { groups, calls, .. } = &mut self.table;
        let from = self.next_group;
        self.next_group = groups.len().min(from + most);
        calls.finish(agg, (from, self.next_group), |from, end| groups.keys(from, end), out)
    }

    fn rescan(&mut self, agg: &AggPlan, cx: &mut ExecContext) -> Result<()> {
        self.table = Table::new(agg);
        self.next_group = 0;
        self.is_loaded = false;
        self.goes_on = false;
        self.spilled = Spilled::default();
        self.child.rescan(cx)
    }
}
