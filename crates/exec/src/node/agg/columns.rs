//! Plain and hashed aggregation of columns.
//!
//! Of each batch the values of all keys, conditions and arguments are computed first, each once
//! however many calls have it; then the rows find their groups; then each call takes in its
//! arguments, in one loop. Where a value gives up, the rows of that batch are taken one by one
//! into the same states. Rows of one group are taken in their order either way.
//!
//! An error is the one that comes first by row, and of a row's by call: what fails of a batch is
//! either found a row at a time, or by calls which each say in which row they stopped.

use super::AggPlan;
use super::groups::Groups;
use super::spilled::{Spilled, Spilling};
use crate::aggregate::{CallStates, RowError};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::columns::ColumnInput;
use crate::node::{BoxedNode, CNode, CPlan, Node};
use crate::spill::SpillReader;
use crate::vector::{ColumnBatch, Data, GiveUp, NO_PLACE, VExpr, Vector, hash_rows};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_sql::plan::AggStrategy;
use steppe_types::{Datum, Error, Result};

/// The expressions of an aggregation over columns.
pub(crate) struct AggColumns {
    /// All of them, each once; the others say at which place.
    pub(crate) values: Box<[VExpr]>,
    pub(crate) keys: Box<[usize]>,
    pub(crate) calls: Box<[CallColumns]>,
}

/// The expressions of a call.
pub(crate) struct CallColumns {
    pub(crate) filter: Option<usize>,
    pub(crate) args: Box<[usize]>,
}

/// What has been taken in so far.
struct Taken {
    groups: Groups,
    states: Vec<CallStates>,
}

struct AggColumnsNode {
    plan: Arc<CPlan>,
    child: ColumnInput,
    taken: Taken,
    /// Next group to hand up.
    next_group: usize,
    loaded: bool,
    finished: bool,
    spilled: Spilled,
}

/// Where rows come from.
enum Source {
    Child,
    Partition(SpillReader),
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Agg(agg) = &plan.kind else { unreachable!("started as an aggregation") };
    Box::new(AggColumnsNode {
        child: ColumnInput::new(&agg.child, cx),
        taken: Taken::new(agg),
        next_group: 0,
        loaded: false,
        finished: false,
        spilled: Spilled::default(),
        plan: plan.clone(),
    })
}

impl Taken {
    fn new(agg: &AggPlan) -> Taken {
        let states = agg.aggregates.iter().map(|call| CallStates::new(&call.kind)).collect();
        let mut taken = Taken { groups: Groups::new(&agg.key_types, agg.aggregates.len()), states };
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
        spilling: &mut Spilling,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let Ok(values) = evaluate(&columns.values, batch, cx) else {
            return self.take_rows(agg, batch, spilling, cx);
        };
        let mut groups = Vec::new();
        match agg.strategy {
            AggStrategy::Plain => groups.resize(batch.len(), 0),
            _ => {
                let keys: Vec<&Vector> = columns.keys.iter().map(|at| &*values[*at]).collect();
                let hashes = self.find(agg, &keys, batch.len(), spilling, &mut groups, cx)?;
                spill(batch, &groups, &hashes, spilling, cx)?;
            }
        }
        let mut failed: Option<RowError> = None;
        for (call, states) in columns.calls.iter().zip(&mut self.states) {
            let args: Vec<&Vector> = call.args.iter().map(|at| &*values[*at]).collect();
            let chosen = call.filter.map(|at| chosen(&groups, &values[at]));
            match states.add(chosen.as_ref().unwrap_or(&groups), &args) {
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
        spilling: &Spilling,
        groups: &mut Vec<u32>,
        cx: &ExecContext,
    ) -> Result<Vec<u64>> {
        let mut hashes = Vec::new();
        hash_rows(&agg.key_types, keys, rows, &mut hashes);
        let limit = if spilling.may_begin() { cx.work_mem_bytes } else { usize::MAX };
        self.groups.find(keys, &hashes, limit, groups)?;
        self.grow(self.groups.len());
        Ok(hashes)
    }

    /// Takes in a batch's rows one by one.
    fn take_rows(
        &mut self,
        agg: &AggPlan,
        batch: &ColumnBatch,
        spilling: &mut Spilling,
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
                    spilling.write(hashes[0], &row, cx)?;
                    continue;
                }
            }
            for (call, states) in agg.aggregates.iter().zip(&mut self.states) {
                if call.counts(Row::of(&row), cx)? {
                    args.clear();
                    call.args_into(Row::of(&row), &mut args, cx)?;
                    self.groups.bytes += states.add_row(group[0] as usize, &args)?;
                }
            }
        }
        Ok(())
    }

    /// Appends a group's key and results to `out`.
    fn finish_group(&mut self, agg: &AggPlan, group: usize, out: &mut Vec<Datum>) -> Result<()> {
        if agg.strategy != AggStrategy::Plain {
            self.groups.key_into(group, out)?;
        }
        for (call, states) in agg.aggregates.iter().zip(&mut self.states) {
            out.push(call.result(states.take(group), agg.mode)?);
        }
        Ok(())
    }
}

/// The values of expressions; those that are columns of the batch stay there.
fn evaluate<'a>(
    exprs: &[VExpr],
    batch: &'a ColumnBatch,
    cx: &mut ExecContext,
) -> Result<Vec<Cow<'a, Vector>>, GiveUp> {
    let value = |expr: &VExpr| match expr {
        VExpr::Slot(index) => batch.columns.get(*index).map(Cow::Borrowed).ok_or(GiveUp),
        expr => expr.eval(cx, batch).map(Cow::Owned),
    };
    exprs.iter().map(value).collect()
}

/// The groups of the rows for which a condition holds.
fn chosen(groups: &[u32], condition: &Vector) -> Vec<u32> {
    let holds = |i: usize| match &condition.data {
        Data::Ints(_, values) => values[i] != 0 && !condition.nulls.get(i),
        _ => matches!(condition.datum(i), Ok(Datum::Bool(true))),
    };
    groups.iter().enumerate().map(|(i, g)| if holds(i) { *g } else { NO_PLACE }).collect()
}

/// Writes the rows that have no group.
fn spill(
    batch: &ColumnBatch,
    groups: &[u32],
    hashes: &[u64],
    spilling: &mut Spilling,
    cx: &ExecContext,
) -> Result<()> {
    let mut row = Vec::new();
    for i in (0..groups.len()).filter(|i| groups[*i] == NO_PLACE) {
        row.clear();
        batch.row_into(i, &mut row)?;
        spilling.write(hashes[i], &row, cx)?;
    }
    Ok(())
}

impl AggColumnsNode {
    /// Takes in the rows of the child, or of one partition.
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
                Source::Partition(reader) => read_into(reader, &mut batch),
            };
            if filled.is_err() && cx.is_overtaken {
                return filled;
            }
            if !batch.is_empty() {
                cx.check_interrupts()?;
                self.taken.take_batch((agg, columns), &batch, &mut spilling, cx)?;
            }
            filled?;
            if batch.is_empty() {
                break;
            }
        }
        if agg.strategy == AggStrategy::Hashed {
            self.spilled.take(spilling)?;
            self.spilled.note(self.plan.id, self.taken.groups.bytes, cx);
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

    /// Loads the first groups. If there are none, hands up those that are there without any row.
    fn load_first(
        &mut self,
        agg: &AggPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        self.load(agg, Source::Child, 0, cx)?;
        self.loaded = true;
        if self.group_count(agg) > 0 {
            return Ok(());
        }
        for key in &agg.empty_groups {
            let mut row = key.clone();
            for call in &agg.aggregates {
                row.push(call.result(call.kind.start(), agg.mode)?);
            }
            self.plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }
}

/// Reads rows of a partition into an empty batch.
fn read_into(reader: &mut SpillReader, batch: &mut ColumnBatch) -> Result<()> {
    let mut row = Vec::with_capacity(batch.columns.len());
    while batch.len() < batch.wanted && reader.read(&mut row)? {
        batch.push_row(&row);
        row.clear();
    }
    Ok(())
}

impl Node for AggColumnsNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::Agg(agg) = &plan.kind else {
            return Err(Error::internal("aggregation node over another plan"));
        };
        if !self.loaded {
            self.load_first(agg, cx, out)?;
        }
        let mut row = Vec::with_capacity(agg.keys.len() + agg.aggregates.len());
        while !out.is_full() && !self.finished {
            if self.next_group < self.group_count(agg) {
                row.clear();
                self.taken.finish_group(agg, self.next_group, &mut row)?;
                self.next_group += 1;
                plan.emit_owned(cx, &mut row, out)?;
                continue;
            }
            match self.spilled.next()? {
                None => self.finished = true,
                Some((reader, depth)) => {
                    self.taken = Taken::new(agg);
                    self.next_group = 0;
                    self.load(agg, Source::Partition(reader), depth, cx)?;
                }
            }
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        let CNode::Agg(agg) = &self.plan.kind else {
            return Err(Error::internal("aggregation node over another plan"));
        };
        self.taken = Taken::new(agg);
        self.next_group = 0;
        self.loaded = false;
        self.finished = false;
        self.spilled = Spilled::default();
        self.child.rescan(cx)
    }
}
