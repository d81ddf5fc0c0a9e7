//! The calls of all groups over columns: their states and their results.

use super::super::distinct::Distinct;
use super::{AggPlan, Parts};
use crate::aggregate::{CallStates, RowError};
use crate::context::ExecContext;
use crate::expr::Row;
use crate::vector::{ColumnBatch, Data, NO_PLACE, Vector};
use std::borrow::Cow;
use steppe_sql::plan::AggMode;
use steppe_types::{Datum, Result};

/// The states of all groups, call by call.
pub(super) struct Calls {
    states: Vec<CallStates>,
    /// The values that calls with DISTINCT have added.
    distinct: Vec<Option<Distinct>>,
}

impl Calls {
    /// The states of all calls, without groups.
    pub(super) fn new(agg: &AggPlan) -> Calls {
        let states = agg.aggregates.iter().map(|call| CallStates::new(&call.kind)).collect();
        let distinct = agg.aggregates.iter().map(|call| call.distinct.map(Distinct::new)).collect();
        Calls { states, distinct }
    }

    /// Starts states until there are `groups` groups.
    pub(super) fn grow(&mut self, groups: usize) {
        self.states.iter_mut().for_each(|states| states.grow(groups));
    }

    /// The initial bytes of a group's states.
    pub(super) fn group_bytes(&self) -> usize {
        self.states.iter().map(CallStates::group_bytes).sum()
    }

    /// The bytes of the values of calls with DISTINCT.
    pub(super) fn distinct_bytes(&self) -> usize {
        self.distinct.iter().flatten().map(Distinct::bytes).sum()
    }

    /// Adds a batch's rows. `values` are the plan's expressions, `groups` the rows' groups. Returns
    /// by how many bytes the states have grown.
    pub(super) fn add(
        &mut self,
        Parts { agg, columns, .. }: Parts<'_>,
        values: &[Cow<'_, Vector>],
        groups: &[u32],
        cx: &mut ExecContext,
    ) -> Result<usize> {
        let mut bytes = 0;
        let mut failed: Option<RowError> = None;
        for (i, (call, states)) in columns.calls.iter().zip(&mut self.states).enumerate() {
            let args: Vec<&Vector> = call.args.iter().map(|at| &*values[*at]).collect();
            let mut chosen = call.filter.map(|at| chosen(groups, &values[at]));
            if let (Some(distinct), [arg]) = (&mut self.distinct[i], &args[..]) {
                let counted = chosen.as_deref().unwrap_or(groups);
                chosen = Some(distinct.first_of(counted, arg, agg.memory(cx), cx)?);
            }
            let groups = chosen.as_deref().unwrap_or(groups);
            let added = match (agg.mode, &args[..]) {
                (AggMode::Finalize, [part]) => states.combine(groups, part),
                _ => states.add(groups, &args),
            };
            match added {
                Ok(grown) => bytes += grown,
                Err(error) if failed.as_ref().is_none_or(|first| error.0 < first.0) => {
                    failed = Some(error);
                }
                Err(_) => {}
            }
        }
        failed.map_or(Ok(bytes), |(_, error)| Err(error))
    }

    /// Adds a row to its group.
    pub(super) fn add_row(
        &mut self,
        agg: &AggPlan,
        row: Row<'_>,
        group: u32,
        cx: &mut ExecContext,
    ) -> Result<usize> {
        let (mut bytes, mut args) = (0, Vec::new());
        let calls = agg.aggregates.iter().zip(&mut self.states).zip(&mut self.distinct);
        for ((call, states), distinct) in calls {
            if !call.counts(row, cx)? {
                continue;
            }
            args.clear();
            call.args_into(row, &mut args, cx)?;
            if let (Some(distinct), [arg]) = (distinct, &args[..]) {
                let values = Vector::of(vec![arg.clone()]);
                if distinct.first_of(&[group], &values, agg.memory(cx), cx)?[0] == NO_PLACE {
                    continue;
                }
            }
            let group = group as usize;
            bytes += match (agg.mode, &args[..]) {
                (AggMode::Finalize, [part]) => states.combine_row(group, part)?,
                _ => states.add_row(group, &args)?,
            };
        }
        Ok(bytes)
    }

    /// Adds the distinct values for which there was no room.
    pub(super) fn finish_distinct(&mut self, agg: &AggPlan, cx: &mut ExecContext) -> Result<()> {
        for (distinct, states) in self.distinct.iter_mut().zip(&mut self.states) {
            if let Some(distinct) = distinct {
                distinct.finish(states, agg.memory(cx), cx)?;
            }
        }
        Ok(())
    }

    /// Finishes the groups from `from` up to `end`: puts their `keys` and the calls' results into
    /// `out`. With an error it has the groups before the one that failed.
    pub(super) fn finish(
        &mut self,
        agg: &AggPlan,
        (from, mut end): (usize, usize),
        keys: impl FnOnce(usize, usize) -> Vec<Vector>,
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
        let rows: Vec<u32> = (0..(end - from) as u32).collect();
        for column in results.iter_mut().filter(|column| column.len() > rows.len()) {
            *column = column.gather(&rows);
        }
        let mut columns = keys(from, end);
        columns.append(&mut results);
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
