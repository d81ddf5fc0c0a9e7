//! The calls of one group over rows of datums: their states, and their results at the end of the
//! group (nodeAgg.c, functions advance_aggregates, process_ordered_aggregate_single and
//! finalize_aggregates).

use super::{AggPlan, AggSort, CAggregate};
use crate::aggregate::{AggKind, AggState, SortedRows};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::CPlan;
use crate::sorter::{Sorter, compare_rows};
use steppe_sql::plan::AggMode;
use steppe_types::{Datum, Error, Result};

/// The state of one call in one group.
pub(super) enum CallState {
    Direct(AggState),
    Sorted(Box<Sorter>),
    Ordered(Box<OrderedCall>),
}

/// The rows of one group for an ordered-set aggregate.
pub(super) struct OrderedCall {
    sorter: Sorter,
    rows: usize,
    /// The direct arguments, evaluated at the group's first row.
    direct: Option<Box<[Datum]>>,
}

impl CAggregate {
    /// Puts a row into a call's sorter, unless a NULL excludes it.
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
    /// Starts the states of a group: appends one for each call.
    pub(super) fn start_group(&self, cx: &mut ExecContext, out: &mut Vec<CallState>) -> Result<()> {
        for aggregate in &self.aggregates {
            out.push(match &aggregate.sort {
                None => CallState::Direct(aggregate.kind.start_in(cx)?),
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

    /// Adds a row to a group's states.
    pub(super) fn add(
        &self,
        states: &mut [CallState],
        row: Row<'_>,
        args: &mut Vec<Datum>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        for (aggregate, state) in self.aggregates.iter().zip(states) {
            // Rows that FILTER excludes have the group's direct arguments, too.
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
                        _ => aggregate.kind.add_in(state, args, cx)?,
                    }
                }
                (CallState::Sorted(_) | CallState::Ordered(_), None) => {
                    return Err(Error::internal("aggregate sorts without keys"));
                }
            }
        }
        Ok(())
    }

    /// Evaluates direct arguments for a group without rows. They can read its key, which is at the
    /// end of the child's rows.
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

    /// Hands up the groups that exist even without rows.
    pub(super) fn finish_empty(
        &self,
        plan: &CPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        for key in &self.empty_groups {
            let (mut row, mut states) = (key.clone(), Vec::new());
            self.start_group(cx, &mut states)?;
            self.know_empty_group(&mut states, key, cx)?;
            self.finish_group((&mut row, states.into_iter()), plan, cx, out)?;
        }
        Ok(())
    }

    /// Hands up a group: its key, which is in `row`, then the results of its calls.
    pub(super) fn finish_group(
        &self,
        (row, states): (&mut Vec<Datum>, impl Iterator<Item = CallState>),
        plan: &CPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        for (aggregate, state) in self.aggregates.iter().zip(states) {
            row.push(match state {
                CallState::Direct(state) if aggregate.kind.is_user() => {
                    aggregate.kind.finish_in(state, aggregate.ret, cx)?
                }
                CallState::Direct(state) => aggregate.result(state, self.mode)?,
                CallState::Sorted(sorter) => finish_sorted(aggregate, *sorter, cx)?,
                CallState::Ordered(call) => finish_ordered(aggregate, *call, cx)?,
            });
        }
        plan.emit_owned(cx, row, out).map(drop)
    }
}

/// Feeds the sorted rows of a group to the aggregate, without duplicates for DISTINCT.
fn finish_sorted(
    aggregate: &CAggregate,
    mut sorter: Sorter,
    cx: &mut ExecContext,
) -> Result<Datum> {
    let Some(sort) = &aggregate.sort else {
        return Err(Error::internal("aggregate sorts without keys"));
    };
    let kind = &aggregate.kind;
    sorter.finish()?;
    let mut state = kind.start_in(cx)?;
    let stride = sort.row.len() + sort.keys.computed.len();
    let (mut row, mut last) = (Vec::with_capacity(stride), Vec::new());
    while sorter.next(stride, &mut row)? {
        let same = sort.distinct
            && !last.is_empty()
            && compare_rows(&sort.keys.columns, &row, &last).is_eq();
        if !same {
            kind.add_in(
                &mut state,
                &row[..aggregate.args.len().clamp(usize::from(!row.is_empty()), row.len())],
                cx,
            )?;
        }
        std::mem::swap(&mut row, &mut last);
        row.clear();
    }
    kind.finish_in(state, aggregate.ret, cx)
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

/// Memory of the states that grow with their input.
pub(super) fn collected_bytes(states: &[CallState]) -> usize {
    states
        .iter()
        .map(|s| match s {
            CallState::Direct(state @ (AggState::Collected(_) | AggState::Value(_))) => {
                state.heap_bytes()
            }
            _ => 0,
        })
        .sum()
}
