//! Plain and hashed aggregation of columns.
//!
//! Of each batch the values of all keys, conditions and arguments are computed first, each once
//! however many calls have it; then the rows find their groups; then each call takes in its
//! arguments, in one loop. Where a value gives up, the rows of that batch are taken one by one
//! into the same states. Rows of one group are taken in their order either way.
//!
//! Groups whose states are combined above (`AggMode::Partial`) do not wait for the last row: when
//! there is no room for more of them, they are handed up and new ones begin, unless hardly two rows
//! are of one group (adaptive pre-aggregation: Larson, "Data Reduction by Partial Preaggregation",
//! 2002).
//!
//! An error is the one that comes first by row, and of a row's by call: what fails of a batch is
//! either found a row at a time, or by calls which each say in which row they stopped.

use super::AggPlan;
use super::distinct::Distinct;
use super::groups::Groups;
use super::spilled::{Partition, Spilled, Spilling};
use crate::aggregate::{CallStates, RowError};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::block_file::{BlockFile, BlockReader};
use crate::node::columns::{ColumnInput, ColumnNode, evaluate, for_all};
use crate::node::{BoxedNode, CNode, CPlan, Node};
use crate::vector::{COLUMN_ROWS, ColumnBatch, Data, NO_PLACE, VExpr, Vector, hash_rows};
use std::sync::Arc;
use steppe_sql::plan::{AggMode, AggStrategy};
use steppe_types::{Datum, Error, Result};

/// The expressions of an aggregation over columns.
pub(crate) struct AggColumns {
    /// All of them, each once; the others say at which place. `None`: they are evaluated row by
    /// row.
    pub(crate) values: Option<Box<[VExpr]>>,
    /// The child's columns that they read.
    pub(crate) reads: Box<[usize]>,
    pub(crate) keys: Box<[usize]>,
    pub(crate) calls: Box<[CallColumns]>,
}

/// The expressions of a call.
pub(crate) struct CallColumns {
    pub(crate) filter: Option<usize>,
    pub(crate) args: Box<[usize]>,
}

/// States of so many rows a group at least are handed up when there is no room for more.
const ROWS_A_GROUP: usize = 2;

/// What has been taken in so far.
struct Taken {
    groups: Groups,
    /// How many rows they are made of.
    rows: usize,
    states: Vec<CallStates>,
    /// The values that calls with DISTINCT have taken in.
    distinct: Vec<Option<Distinct>>,
}

struct AggColumnsNode {
    plan: Arc<CPlan>,
    child: ColumnInput,
    taken: Taken,
    /// Next group to hand up.
    next_group: usize,
    loaded: bool,
    /// The child has more rows than the groups so far are made of.
    goes_on: bool,
    spilled: Spilled<BlockFile>,
    /// Finished groups that are handed up, and the place of the next one of them.
    finished: ColumnBatch,
    position: usize,
    /// What became of the group behind them.
    failed: Option<Error>,
}

/// Where rows come from.
enum Source {
    Child,
    Partition(BlockReader),
}

impl Partition for BlockFile {
    fn end(&mut self) -> Result<u64> {
        BlockFile::end(self)
    }
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Agg(agg) = &plan.kind else { unreachable!("started as an aggregation") };
    let node = AggColumnsNode {
        child: ColumnInput::new(&agg.child, cx),
        taken: Taken::new(agg),
        next_group: 0,
        loaded: false,
        goes_on: false,
        spilled: Spilled::default(),
        finished: ColumnBatch::default(),
        position: 0,
        failed: None,
        plan: plan.clone(),
    };
    match plan.columns.is_some() {
        true => for_all(node),
        false => Box::new(node),
    }
}

impl Taken {
    fn new(agg: &AggPlan) -> Taken {
        let states = agg.aggregates.iter().map(|call| CallStates::new(&call.kind)).collect();
        let distinct = agg.aggregates.iter().map(|call| call.distinct.map(Distinct::new)).collect();
        let mut taken = Taken { groups: Groups::new(&agg.key_types), rows: 0, states, distinct };
        if agg.strategy == AggStrategy::Plain {
            taken.grow(1);
        }
        taken
    }

    /// Starts states for groups until there are so many.
    fn grow(&mut self, groups: usize) {
        self.states.iter_mut().for_each(|states| states.grow(groups));
    }

    /// Takes in a batch's rows.
    fn take_batch(
        &mut self,
        (agg, columns): (&AggPlan, &AggColumns),
        batch: &ColumnBatch,
        spilling: &mut Spilling<BlockFile>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let values = columns.values.as_ref().map(|exprs| evaluate(exprs, batch, cx));
        let Some(Ok(values)) = values else {
            return self.take_rows((agg, columns), batch, spilling, cx);
        };
        let mut groups = Vec::new();
        match agg.strategy {
            AggStrategy::Plain => groups.resize(batch.len(), 0),
            _ => {
                let keys: Vec<&Vector> = columns.keys.iter().map(|at| &*values[*at]).collect();
                let hashes = self.find(agg, &keys, batch.len(), spilling, &mut groups, cx)?;
                spill((batch, &columns.reads), (&groups, &hashes), spilling, cx)?;
            }
        }
        let mut failed: Option<RowError> = None;
        for (i, (call, states)) in columns.calls.iter().zip(&mut self.states).enumerate() {
            let args: Vec<&Vector> = call.args.iter().map(|at| &*values[*at]).collect();
            let mut chosen = call.filter.map(|at| chosen(&groups, &values[at]));
            if let (Some(distinct), [arg]) = (&mut self.distinct[i], &args[..]) {
                let counted = chosen.as_ref().unwrap_or(&groups);
                chosen = Some(distinct.first_of(counted, arg, agg.memory(cx), cx)?);
            }
            let groups = chosen.as_ref().unwrap_or(&groups);
            let added = match (agg.mode, &args[..]) {
                (AggMode::Finalize, [part]) => states.combine(groups, part),
                _ => states.add(groups, &args),
            };
            match added {
                Ok(grown) => self.groups.bytes += grown,
                Err(error) if failed.as_ref().is_none_or(|first| error.0 < first.0) => {
                    failed = Some(error);
                }
                Err(_) => {}
            }
        }
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Finds the groups of rows and starts the states of new ones; answers the rows' hashes.
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
        self.groups.state_bytes = self.states.iter().map(CallStates::group_bytes).sum();
        self.groups.find(keys, &hashes, limit, groups)?;
        self.grow(self.groups.len());
        Ok(hashes)
    }

    /// Whether the groups may be handed up before all rows have come, which makes several states
    /// of a group: those are combined anyway. It pays where rows of a group come near one another.
    fn may_come_apart(&self, agg: &AggPlan) -> bool {
        agg.mode == AggMode::Partial && self.rows >= ROWS_A_GROUP * self.groups.len()
    }

    /// Takes in a batch's rows one by one.
    fn take_rows(
        &mut self,
        (agg, columns): (&AggPlan, &AggColumns),
        batch: &ColumnBatch,
        spilling: &mut Spilling<BlockFile>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let (mut row, mut args, mut group) = (Vec::new(), Vec::new(), vec![0]);
        for i in 0..batch.len() {
            row.clear();
            batch.row_into(i, &mut row)?;
            if agg.strategy != AggStrategy::Plain {
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
            }
            let calls = agg.aggregates.iter().zip(&mut self.states).zip(&mut self.distinct);
            for ((call, states), distinct) in calls {
                if !call.counts(Row::of(&row), cx)? {
                    continue;
                }
                args.clear();
                call.args_into(Row::of(&row), &mut args, cx)?;
                if let (Some(distinct), [arg]) = (distinct, &args[..]) {
                    let values = Vector::of(vec![arg.clone()]);
                    if distinct.first_of(&group, &values, agg.memory(cx), cx)?[0] == NO_PLACE {
                        continue;
                    }
                }
                let group = group[0] as usize;
                self.groups.bytes += match (agg.mode, &args[..]) {
                    (AggMode::Finalize, [part]) => states.combine_row(group, part)?,
                    _ => states.add_row(group, &args)?,
                };
            }
        }
        Ok(())
    }

    /// Takes in the distinct values for which there was no room.
    fn finish_distinct(&mut self, agg: &AggPlan, cx: &mut ExecContext) -> Result<()> {
        for (distinct, states) in self.distinct.iter_mut().zip(&mut self.states) {
            if let Some(distinct) = distinct {
                distinct.finish(states, agg.memory(cx), cx)?;
            }
        }
        Ok(())
    }

    /// Finishes the groups from `from` up to `end`: their keys and results as columns. With an
    /// error there are those before the group that failed.
    fn finish_groups(
        &mut self,
        agg: &AggPlan,
        (from, mut end): (usize, usize),
        out: &mut ColumnBatch,
    ) -> Result<()> {
        let mut failed = None;
        let mut results = Vec::with_capacity(agg.aggregates.len());
        for (call, states) in agg.aggregates.iter().zip(&mut self.states) {
            if let Some(result) = states.results(from, end) {
                results.push(result);
                continue;
            }
            let mut values = Vec::with_capacity(end - from);
            let mut failure = None;
            for group in from..end {
                match call.result(states.take(group), agg.mode) {
                    Ok(value) => values.push(value),
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            if failure.is_some() {
                (failed, end) = (failure, from + values.len());
            }
            results.push(Vector::of(values));
        }
        let mut columns = match agg.strategy {
            AggStrategy::Plain => Vec::new(),
            _ => self.groups.keys(from, end),
        };
        columns.append(&mut results);
        let rows: Vec<u32> = (0..(end - from) as u32).collect();
        for column in columns.iter_mut().filter(|column| column.len() > rows.len()) {
            *column = column.gather(&rows);
        }
        out.set(rows.len(), columns);
        failed.map_or(Ok(()), Err)
    }
}

/// The groups of the rows for which a condition holds.
fn chosen(groups: &[u32], condition: &Vector) -> Vec<u32> {
    let holds = |i: usize| match &condition.data {
        Data::Ints(_, values) => values[i] != 0 && !condition.nulls.get(i),
        _ => matches!(condition.datum(i), Ok(Datum::Bool(true))),
    };
    groups.iter().enumerate().map(|(i, g)| if holds(i) { *g } else { NO_PLACE }).collect()
}

/// Writes the rows that have no group, of whose columns some are read.
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

impl AggColumnsNode {
    /// Takes in the rows of the child, or of one partition; of the child's maybe only some.
    fn load(
        &mut self,
        agg: &AggPlan,
        mut source: Source,
        depth: u32,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let Some(columns) = &agg.columns else {
            return Err(Error::internal("aggregation of columns without expressions"));
        };
        let mut spilling = Spilling::new(depth);
        let mut batch = ColumnBatch::new(agg.child.width);
        loop {
            batch.clear();
            let filled = match &mut source {
                Source::Child => self.child.next(cx, &mut batch),
                Source::Partition(reader) => reader.next().map(|block| {
                    let (rows, columns) = block.unwrap_or_default();
                    batch.set(rows, columns);
                }),
            };
            if filled.is_err() && cx.is_overtaken {
                return filled;
            }
            if !batch.is_empty() {
                cx.check_interrupts()?;
                self.taken.take_batch((agg, columns), &batch, &mut spilling, cx)?;
                self.taken.rows += batch.len();
            }
            filled?;
            self.goes_on = matches!(source, Source::Child)
                && self.taken.groups.bytes() > agg.memory(cx)
                && self.taken.may_come_apart(agg)
                && !batch.is_empty();
            if batch.is_empty() || self.goes_on {
                break;
            }
        }
        let bytes = self.taken.groups.bytes()
            + self.taken.distinct.iter().flatten().map(Distinct::bytes).sum::<usize>();
        self.taken.finish_distinct(agg, cx)?;
        if agg.strategy == AggStrategy::Hashed {
            self.spilled.take((spilling, !self.goes_on), bytes, self.plan.id, cx)?;
        }
        Ok(())
    }

    /// How many groups are there to be handed up.
    fn group_count(&self, agg: &AggPlan) -> usize {
        match agg.strategy {
            AggStrategy::Plain => 1,
            _ => self.taken.groups.len(),
        }
    }

    /// Finishes some groups, at most so many, once the last ones have been handed up: none if
    /// there are no more.
    fn finish_some(&mut self, agg: &AggPlan, most: usize, cx: &mut ExecContext) -> Result<()> {
        self.position = 0;
        self.finished.clear();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !self.loaded {
            self.load(agg, Source::Child, 0, cx)?;
            self.loaded = true;
            if self.group_count(agg) == 0 {
                return self.finish_empty(agg);
            }
        }
        while self.next_group >= self.group_count(agg) {
            if self.goes_on {
                self.taken = Taken::new(agg);
                self.next_group = 0;
                self.load(agg, Source::Child, 0, cx)?;
                continue;
            }
            let Some((mut file, depth)) = self.spilled.next() else { return Ok(()) };
            self.taken = Taken::new(agg);
            self.next_group = 0;
            self.load(agg, Source::Partition(file.reader()?), depth, cx)?;
        }
        let from = self.next_group;
        self.next_group = self.group_count(agg).min(from + most.max(1));
        let groups = (from, self.next_group);
        self.failed = self.taken.finish_groups(agg, groups, &mut self.finished).err();
        match self.finished.is_empty() {
            true => self.failed.take().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }

    /// Finishes the groups that are there without any row.
    fn finish_empty(&mut self, agg: &AggPlan) -> Result<()> {
        let width = agg.key_types.len() + agg.aggregates.len();
        self.finished = ColumnBatch::new(width);
        for key in &agg.empty_groups {
            let mut row = key.clone();
            for call in &agg.aggregates {
                row.push(call.result(call.kind.start(), agg.mode)?);
            }
            self.finished.push_row(&row);
        }
        Ok(())
    }

    /// Filters and projects finished groups into `out`.
    fn fill(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let plan = self.plan.clone();
        let agg = agg_of(&plan)?;
        while out.is_empty() {
            self.finish_some(agg, out.wanted.min(COLUMN_ROWS), cx)?;
            if self.finished.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            plan.emit_columns(cx, &self.finished, out)?;
        }
        Ok(())
    }
}

fn agg_of(plan: &CPlan) -> Result<&AggPlan> {
    match &plan.kind {
        CNode::Agg(agg) => Ok(agg),
        _ => Err(Error::internal("aggregation node over another plan")),
    }
}

impl Node for AggColumnsNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let agg = agg_of(&plan)?;
        let mut row = Vec::with_capacity(agg.key_types.len() + agg.aggregates.len());
        while !out.is_full() {
            if self.position >= self.finished.len() {
                self.finish_some(agg, out.room(), cx)?;
                if self.finished.is_empty() {
                    break;
                }
            }
            row.clear();
            self.finished.row_into(self.position, &mut row)?;
            self.position += 1;
            plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        ColumnNode::rescan(self, cx)
    }
}

impl ColumnNode for AggColumnsNode {
    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        self.fill(cx, out)
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.taken = Taken::new(agg_of(&self.plan)?);
        self.next_group = 0;
        self.loaded = false;
        self.goes_on = false;
        self.spilled = Spilled::default();
        self.finished.clear();
        self.position = 0;
        self.failed = None;
        self.child.rescan(cx)
    }
}
