//! Window functions over sorted rows (PostgreSQL's nodeWindowAgg.c, windowfuncs.c).
//!
//! The node spools the rows of a partition as far ahead as the calls need, to disk past work_mem.
//! It hands them up with the calls' results behind them. If the frame only grew at its end, an
//! aggregate goes on from the row before. If the frame's beginning has moved, rows are removed from
//! the aggregate if it can do that (counts and sums of integers). Otherwise the frame is aggregated
//! again.

use super::window_frame::{CFrame, Frames, Rows};
use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::aggregate::{AggKind, AggState};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::hashing::equal_keys;
use crate::tuplestore::{StoreReader, TupleStore};
use std::ops::Range;
use std::sync::Arc;
use steppe_catalog::Function;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The fewest rows that are requested from the input at a time.
const ROWS_AHEAD_MIN: usize = 16;

/// A compiled WindowAgg.
pub(crate) struct WindowPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) partition_by: Box<[CExpr]>,
    pub(crate) partition_types: Box<[Oid]>,
    pub(crate) frame: CFrame,
    pub(crate) calls: Box<[CCall]>,
    /// The condition over a row with the calls' results.
    pub(crate) run_condition: Option<CExpr>,
}

/// A compiled call.
pub(crate) enum CCall {
    Window { function: WindowFn, args: Box<[CExpr]> },
    Aggregate { kind: AggKind, args: Box<[CExpr]>, filter: Option<CExpr>, ret: Oid },
}

/// A window function that is no aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowFn {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

impl CCall {
    /// A call of a window function.
    pub(crate) fn window(func: &Function, args: Box<[CExpr]>) -> Result<CCall> {
        let function = match func.built_in_name().unwrap_or_default() {
            "row_number" => WindowFn::RowNumber,
            "rank" => WindowFn::Rank,
            "dense_rank" => WindowFn::DenseRank,
            "percent_rank" => WindowFn::PercentRank,
            "cume_dist" => WindowFn::CumeDist,
            "ntile" => WindowFn::Ntile,
            "lag" => WindowFn::Lag,
            "lead" => WindowFn::Lead,
            "first_value" => WindowFn::FirstValue,
            "last_value" => WindowFn::LastValue,
            "nth_value" => WindowFn::NthValue,
            _ => {
                let signature = crate::expr::signature(func);
                return Err(Error::not_supported(format_args!("window function {signature}")));
            }
        };
        Ok(CCall::Window { function, args })
    }
}

/// A reading place in the spool.
#[derive(Default)]
pub(crate) struct Place {
    reader: StoreReader,
    row: Vec<Datum>,
}

impl Place {
    pub(crate) fn rewind(&mut self) {
        self.reader.rewind();
    }
}

/// The rows of one partition, read from the input as far as needed.
pub(crate) struct Spool {
    input: Input,
    store: TupleStore,
    rows: usize,
    key: Vec<Datum>,
    /// The partition has no more rows than the store.
    complete: bool,
    /// The input's present row belongs to the next partition.
    pending: bool,
    ended: bool,
    /// Rows are counted, but not kept.
    discards: bool,
    /// Rows taken from the input so far.
    taken: usize,
}

impl Spool {
    fn new(input: Input, store: TupleStore) -> Spool {
        let key = Vec::new();
        Spool {
            input,
            store,
            rows: 0,
            key,
            complete: true,
            pending: false,
            ended: false,
            discards: false,
            taken: 0,
        }
    }

    /// Moves the input to its next row. At first few rows are requested ahead: a LIMIT above may
    /// need no more.
    fn advance(&mut self, cx: &mut ExecContext) -> Result<bool> {
        self.taken += 1;
        self.input.advance(cx, self.taken.clamp(ROWS_AHEAD_MIN, BATCH_ROWS))
    }

    /// Rows read so far.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is a row `i`; reads on until it is known.
    pub(crate) fn has(
        &mut self,
        i: usize,
        partition_by: &[CExpr],
        types: &[Oid],
        cx: &mut ExecContext,
    ) -> Result<bool> {
        while i >= self.rows && !self.complete {
            if !self.advance(cx)? {
                (self.complete, self.ended) = (true, true);
                break;
            }
            if self.rows.is_multiple_of(BATCH_ROWS) {
                cx.check_interrupts()?;
            }
            if !partition_by.is_empty() {
                let row = Row::of(self.input.row());
                let key =
                    partition_by.iter().map(|e| e.eval(cx, row)).collect::<Result<Vec<_>>>()?;
                if !equal_keys(types, key.iter(), self.key.iter()) {
                    self.key = key;
                    (self.complete, self.pending) = (true, true);
                    break;
                }
            }
            if !self.discards {
                self.store.push(Row::of(self.input.row()))?;
            }
            self.rows += 1;
        }
        Ok(i < self.rows)
    }

    /// Goes on to the next partition, which has at least one row; false if there is none.
    fn next_partition(&mut self, partition_by: &[CExpr], cx: &mut ExecContext) -> Result<bool> {
        self.store.clear();
        self.rows = 0;
        self.discards = false;
        if !std::mem::take(&mut self.pending) {
            if self.ended || !self.advance(cx)? {
                self.ended = true;
                return Ok(false);
            }
            let row = Row::of(self.input.row());
            self.key = partition_by.iter().map(|e| e.eval(cx, row)).collect::<Result<_>>()?;
        }
        self.store.push(Row::of(self.input.row()))?;
        self.rows = 1;
        self.complete = false;
        Ok(true)
    }

    /// Row `i`, which is there.
    pub(crate) fn row<'a>(&'a mut self, place: &'a mut Place, i: usize) -> Result<&'a [Datum]> {
        if self.store.in_memory(i).is_none() {
            place.row.clear();
            self.store.read_at(&mut place.reader, i, &mut place.row)?;
            return Ok(&place.row);
        }
        Ok(self.store.in_memory(i).unwrap_or_default())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.store.clear();
        (self.rows, self.taken, self.discards) = (0, 0, false);
        (self.complete, self.pending, self.ended) = (true, false, false);
        self.input.rescan(cx)
    }
}

/// The state of a call between rows.
#[derive(Default)]
struct CallState {
    place: Place,
    /// ntile's argument, once it is known in the partition.
    buckets: Option<usize>,
    running: Option<Running>,
}

/// An aggregate over a range of rows.
struct Running {
    range: Range<usize>,
    state: AggState,
    /// Rows in the range that the aggregate counts.
    counted: usize,
    result: Datum,
}

struct WindowNode {
    plan: Arc<CPlan>,
    spool: Spool,
    frames: Option<Frames>,
    calls: Vec<CallState>,
    /// The row to be handed up next.
    current: usize,
    place: Place,
    results: Vec<Datum>,
    parts: Vec<Range<usize>>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::WindowAgg(window) = &plan.kind else { unreachable!("started as a window node") };
    let spool = Spool::new(Input::new(&window.child, cx), cx.new_store(window.child.width));
    let calls = window.calls.iter().map(|_| CallState::default()).collect();
    Box::new(WindowNode {
        spool,
        frames: None,
        calls,
        current: 0,
        place: Place::default(),
        results: Vec::new(),
        parts: Vec::new(),
        plan: plan.clone(),
    })
}

impl WindowNode {
    /// Makes `current` a row that is there, in the next partition if need be.
    fn advance(&mut self, window: &WindowPlan, cx: &mut ExecContext) -> Result<bool> {
        if self.frames.is_none() {
            self.frames = Some(Frames::new(&window.frame, cx)?);
        }
        let (partition_by, types) = (&window.partition_by, &window.partition_types);
        if self.spool.has(self.current, partition_by, types, cx)? {
            return Ok(true);
        }
        if !self.spool.next_partition(&window.partition_by, cx)? {
            return Ok(false);
        }
        self.current = 0;
        self.place.rewind();
        self.calls.iter_mut().for_each(|state| *state = CallState::default());
        self.frames.iter_mut().for_each(Frames::restart);
        Ok(true)
    }

    /// Skips the rest of the partition, and ends the node if there is only one partition.
    fn end_partition(&mut self, window: &WindowPlan, cx: &mut ExecContext) -> Result<()> {
        if window.partition_by.is_empty() {
            (self.spool.complete, self.spool.ended) = (true, true);
            self.current = self.spool.rows;
            return Ok(());
        }
        self.spool.discards = true;
        let (partition_by, types) = (&window.partition_by, &window.partition_types);
        loop {
            self.current = self.spool.rows;
            if !self.spool.has(self.current, partition_by, types, cx)? {
                return Ok(());
            }
        }
    }

    /// The calls' results for the current row.
    fn compute(&mut self, window: &WindowPlan, cx: &mut ExecContext) -> Result<()> {
        let Some(frames) = &mut self.frames else {
            return Err(Error::internal("window node has not begun"));
        };
        self.results.clear();
        let mut at = Evaluation {
            frame: &window.frame,
            frames,
            current: self.current,
            parts: &mut self.parts,
            rows: Rows {
                spool: &mut self.spool,
                partition_by: &window.partition_by,
                types: &window.partition_types,
                cx,
            },
        };
        for (call, state) in window.calls.iter().zip(&mut self.calls) {
            self.results.push(match call {
                CCall::Window { function, args } => at.window(*function, args, state)?,
                CCall::Aggregate { kind, args, filter, ret } => {
                    at.aggregate(kind, args, filter.as_ref(), *ret, state)?
                }
            });
        }
        Ok(())
    }
}

impl Node for WindowNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::WindowAgg(window) = &plan.kind else {
            return Err(Error::internal("window node over another plan"));
        };
        while !out.is_full() && self.advance(window, cx)? {
            self.compute(window, cx)?;
            let row = self.spool.row(&mut self.place, self.current)?;
            if let Some(condition) = &window.run_condition
                && !condition.holds(cx, Row::pair(row, &self.results))?
            {
                self.end_partition(window, cx)?;
                continue;
            }
            plan.emit(cx, Row::pair(row, &self.results), out)?;
            self.current += 1;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.frames = None;
        self.current = 0;
        self.place.rewind();
        self.spool.rescan(cx)
    }
}

/// Evaluates calls for one row.
struct Evaluation<'a, 'b> {
    frame: &'b CFrame,
    frames: &'a mut Frames,
    current: usize,
    parts: &'a mut Vec<Range<usize>>,
    rows: Rows<'a, 'b>,
}

impl Evaluation<'_, '_> {
    fn window(
        &mut self,
        function: WindowFn,
        args: &[CExpr],
        state: &mut CallState,
    ) -> Result<Datum> {
        let int8 = |n: usize| Datum::Int8(n as i64);
        let (frame, current) = (self.frame, self.current);
        Ok(match function {
            WindowFn::RowNumber => int8(current + 1),
            WindowFn::Rank => int8(self.frames.first_peer(frame, current, &mut self.rows)? + 1),
            WindowFn::DenseRank => {
                int8(self.frames.group_number(frame, current, &mut self.rows)? + 1)
            }
            WindowFn::PercentRank => {
                let rank = self.frames.first_peer(frame, current, &mut self.rows)?;
                let others = self.rows.total()? - 1;
                Datum::Float8(if others == 0 { 0.0 } else { rank as f64 / others as f64 })
            }
            WindowFn::CumeDist => {
                let end = self.frames.peers(frame, current, &mut self.rows)?.end;
                Datum::Float8(end as f64 / self.rows.total()? as f64)
            }
            WindowFn::Ntile => self.ntile(args, state)?,
            WindowFn::Lag => self.shifted(args, state, true)?,
            WindowFn::Lead => self.shifted(args, state, false)?,
            WindowFn::FirstValue | WindowFn::LastValue | WindowFn::NthValue => {
                match self.frame_row(function, args, state)? {
                    Some(i) => self.rows.value(argument(args, 0)?, &mut state.place, i)?,
                    None => Datum::Null,
                }
            }
        })
    }

    /// An argument over the current row.
    fn own(&mut self, args: &[CExpr], i: usize, state: &mut CallState) -> Result<Datum> {
        self.rows.value(argument(args, i)?, &mut state.place, self.current)
    }

    fn ntile(&mut self, args: &[CExpr], state: &mut CallState) -> Result<Datum> {
        let buckets = match state.buckets {
            Some(buckets) => buckets,
            None => match self.own(args, 0, state)? {
                Datum::Null => return Ok(Datum::Null),
                given => {
                    usize::try_from(given.as_int4()?).ok().filter(|n| *n > 0).ok_or_else(|| {
                        Error::new(
                            SqlState::INVALID_ARGUMENT_FOR_NTILE,
                            "argument of ntile must be greater than zero",
                        )
                    })?
                }
            },
        };
        state.buckets = Some(buckets);
        let total = self.rows.total()?;
        // The first `larger` buckets have a row more than the others.
        let (size, larger) = (total / buckets, total % buckets);
        let in_larger = larger * (size + 1);
        let bucket = match self.current.checked_sub(in_larger) {
            None => self.current / (size + 1),
            Some(rest) => larger + rest / size.max(1),
        };
        Ok(Datum::Int4(bucket as i32 + 1))
    }

    /// lag and lead: a value of the row at the given distance, or the default.
    fn shifted(&mut self, args: &[CExpr], state: &mut CallState, back: bool) -> Result<Datum> {
        let distance = match args.len() {
            0 | 1 => 1,
            _ => match self.own(args, 1, state)? {
                Datum::Null => return Ok(Datum::Null),
                given => i64::from(given.as_int4()?),
            },
        };
        let target = self.current as i64 + if back { -distance } else { distance };
        if let Ok(target) = usize::try_from(target)
            && self.rows.has(target)?
        {
            return self.rows.value(argument(args, 0)?, &mut state.place, target);
        }
        if args.len() > 2 { self.own(args, 2, state) } else { Ok(Datum::Null) }
    }

    /// The row of the frame that first_value, last_value or nth_value returns.
    fn frame_row(
        &mut self,
        function: WindowFn,
        args: &[CExpr],
        state: &mut CallState,
    ) -> Result<Option<usize>> {
        let mut skip = 0;
        if function == WindowFn::NthValue {
            match self.own(args, 1, state)? {
                Datum::Null => return Ok(None),
                given => {
                    let n = usize::try_from(given.as_int4()?).ok();
                    skip = n.and_then(|n| n.checked_sub(1)).ok_or_else(|| {
                        Error::new(
                            SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE,
                            "argument of nth_value must be greater than zero",
                        )
                    })?;
                }
            }
        }
        self.frames.parts(self.frame, self.current, &mut self.rows, self.parts)?;
        if function == WindowFn::LastValue {
            return Ok(self.parts.last().map(|part| part.end - 1));
        }
        for part in self.parts.iter() {
            if skip < part.len() {
                return Ok(Some(part.start + skip));
            }
            skip -= part.len();
        }
        Ok(None)
    }

    fn aggregate(
        &mut self,
        kind: &AggKind,
        args: &[CExpr],
        filter: Option<&CExpr>,
        ret: Oid,
        state: &mut CallState,
    ) -> Result<Datum> {
        self.frames.parts(self.frame, self.current, &mut self.rows, self.parts)?;
        let CallState { place, running, .. } = state;
        if let [_, _, ..] = &self.parts[..] {
            // The rows excluded by EXCLUDE change with the row, so the parts are aggregated again.
            *running = None;
            let mut all = Running {
                range: 0..0,
                state: kind.start_in(self.rows.cx)?,
                counted: 0,
                result: Datum::Null,
            };
            for part in self.parts.clone() {
                take_in(&mut all, part, kind, args, filter, place, &mut self.rows)?;
            }
            return kind.finish_in(all.state, ret, self.rows.cx);
        }
        let range = self.parts.first().cloned().unwrap_or(0..0);
        let mut run = match running.take() {
            Some(run) if run.range == range => {
                let result = run.result.clone();
                *running = Some(run);
                return Ok(result);
            }
            Some(run) if run.range.end <= range.end && run.range.end > range.start => run,
            _ => Running {
                range: range.start..range.start,
                state: kind.start_in(self.rows.cx)?,
                counted: 0,
                result: Datum::Null,
            },
        };
        let leaving = run.range.start..range.start;
        if leaving.start > leaving.end
            || !take_out(&mut run, leaving, kind, args, filter, place, &mut self.rows)?
        {
            run.state = kind.start_in(self.rows.cx)?;
            run.counted = 0;
            run.range = range.start..range.start;
        }
        let coming = run.range.end..range.end;
        take_in(&mut run, coming, kind, args, filter, place, &mut self.rows)?;
        run.range = range;
        run.result = kind.finish_in(run.state.clone(), ret, self.rows.cx)?;
        let result = run.result.clone();
        *running = Some(run);
        Ok(result)
    }
}

fn argument(args: &[CExpr], i: usize) -> Result<&CExpr> {
    args.get(i).ok_or_else(|| Error::internal("window function called with too few arguments"))
}

/// The arguments of an aggregate over a row; `None` if the row does not count.
fn aggregate_args(
    i: usize,
    kind: &AggKind,
    args: &[CExpr],
    filter: Option<&CExpr>,
    place: &mut Place,
    rows: &mut Rows<'_, '_>,
) -> Result<Option<Vec<Datum>>> {
    let row = Row::of(rows.spool.row(place, i)?);
    if let Some(filter) = filter
        && !filter.holds(rows.cx, row)?
    {
        return Ok(None);
    }
    let values = args.iter().map(|e| e.eval(rows.cx, row)).collect::<Result<Vec<_>>>()?;
    let passed_over = kind.skips_nulls() && values.iter().any(Datum::is_null);
    Ok((!passed_over).then_some(values))
}

fn take_in(
    run: &mut Running,
    range: Range<usize>,
    kind: &AggKind,
    args: &[CExpr],
    filter: Option<&CExpr>,
    place: &mut Place,
    rows: &mut Rows<'_, '_>,
) -> Result<()> {
    for i in range {
        if let Some(values) = aggregate_args(i, kind, args, filter, place, rows)? {
            kind.add_in(&mut run.state, &values, rows.cx)?;
            run.counted += 1;
        }
    }
    Ok(())
}

/// Removes rows from an aggregate; false if it cannot do that.
fn take_out(
    run: &mut Running,
    range: Range<usize>,
    kind: &AggKind,
    args: &[CExpr],
    filter: Option<&CExpr>,
    place: &mut Place,
    rows: &mut Rows<'_, '_>,
) -> Result<bool> {
    for i in range {
        if let Some(values) = aggregate_args(i, kind, args, filter, place, rows)? {
            if !kind.remove(&mut run.state, &values)? {
                return Ok(false);
            }
            run.counted -= 1;
        }
    }
    if run.counted == 0 {
        run.state = kind.start_in(rows.cx)?;
    }
    Ok(true)
}
