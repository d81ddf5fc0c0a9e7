//! Merge join of two sorted inputs (PostgreSQL's nodeMergejoin.c).
//!
//! The inner rows of one key are gathered in a group; every outer row of that key
//! is paired with all of them. NULL keys match nothing. A group past work_mem is
//! kept on disk. Without keys (FULL JOIN ON true) all inner rows are one group.

use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::sorter::{SortColumn, compare_key};
use crate::tuplestore::{StoreReader, TupleStore};
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_sql::query::JoinKind;
use steppe_types::{Datum, Error, Oid, Result};

/// A compiled merge join.
pub(crate) struct MergeJoinPlan {
    pub(crate) kind: JoinKind,
    pub(crate) outer: Arc<CPlan>,
    pub(crate) inner: Arc<CPlan>,
    pub(crate) outer_keys: Box<[CExpr]>,
    pub(crate) inner_keys: Box<[CExpr]>,
    pub(crate) types: Box<[Oid]>,
    pub(crate) on: Option<CExpr>,
}

impl MergeJoinPlan {
    fn keeps_outer(&self) -> bool {
        matches!(self.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    fn keeps_inner(&self) -> bool {
        matches!(self.kind, JoinKind::Right | JoinKind::Full)
    }

    fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        for (i, type_oid) in self.types.iter().enumerate() {
            let key =
                SortColumn { index: i, type_oid: *type_oid, descending: false, nulls_first: false };
            let order = compare_key(&key, &a[i], &b[i]);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }
}

/// One side: an input with the key of its present row.
struct Side {
    input: Input,
    key: Vec<Datum>,
    /// A row is there.
    open: bool,
}

impl Side {
    fn advance(&mut self, keys: &[CExpr], cx: &mut ExecContext) -> Result<()> {
        self.open = self.input.advance(cx, BATCH_ROWS)?;
        self.key.clear();
        if self.open {
            for expr in keys {
                self.key.push(expr.eval(cx, Row::of(self.input.row()))?);
            }
        }
        Ok(())
    }

    fn has_null(&self) -> bool {
        self.key.iter().any(Datum::is_null)
    }
}

/// The inner rows of one key.
struct Group {
    key: Vec<Datum>,
    rows: TupleStore,
    reader: StoreReader,
    /// The row read last from a store on disk.
    present: Vec<Datum>,
    matched: Vec<bool>,
}

impl Group {
    fn clear(&mut self) {
        self.rows.clear();
        self.reader.rewind();
        self.matched.clear();
    }

    fn row(&mut self, i: usize) -> Result<&[Datum]> {
        if self.rows.in_memory(i).is_none() {
            self.present.clear();
            self.rows.read_at(&mut self.reader, i, &mut self.present)?;
            return Ok(&self.present);
        }
        Ok(self.rows.in_memory(i).unwrap_or_default())
    }
}

enum Phase {
    Start,
    /// Find the next step by comparing the sides.
    Advance,
    /// The present outer row has the group's key: pair it from this row of the group on.
    Pair(usize),
    /// Hand up the group's unmatched rows from this one on.
    DrainGroup(usize),
    Finished,
}

struct MergeJoinNode {
    plan: Arc<CPlan>,
    outer: Side,
    inner: Side,
    group: Group,
    outer_matched: bool,
    phase: Phase,
    nulls_outer: Vec<Datum>,
    nulls_inner: Vec<Datum>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::MergeJoin(join) = &plan.kind else { unreachable!("started as a merge join") };
    let side = |plan: &Arc<CPlan>, cx: &mut ExecContext| Side {
        input: Input::new(plan, cx),
        key: Vec::new(),
        open: false,
    };
    Box::new(MergeJoinNode {
        outer: side(&join.outer, cx),
        inner: side(&join.inner, cx),
        group: Group {
            key: Vec::new(),
            rows: cx.new_store(join.inner.width),
            reader: StoreReader::default(),
            present: Vec::new(),
            matched: Vec::new(),
        },
        outer_matched: false,
        phase: Phase::Start,
        nulls_outer: vec![Datum::Null; join.outer.width],
        nulls_inner: vec![Datum::Null; join.inner.width],
        plan: plan.clone(),
    })
}

impl MergeJoinNode {
    /// Hands up the outer row if nothing matched it, and moves on.
    fn finish_outer(
        &mut self,
        join: &MergeJoinPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        if !self.outer_matched && join.keeps_outer() {
            let outer = self.outer.input.row();
            match join.kind {
                JoinKind::Anti => self.plan.emit(cx, Row::of(outer), out)?,
                _ => self.plan.emit(cx, Row::pair(outer, &self.nulls_inner), out)?,
            };
        }
        self.outer_matched = false;
        self.outer.advance(&join.outer_keys, cx)
    }

    /// Gathers the inner rows that share the present one's key.
    fn load_group(&mut self, join: &MergeJoinPlan, cx: &mut ExecContext) -> Result<()> {
        self.group.clear();
        self.group.key.clone_from(&self.inner.key);
        while self.inner.open && join.compare(&self.inner.key, &self.group.key).is_eq() {
            self.group.rows.push(Row::of(self.inner.input.row()))?;
            self.group.matched.push(false);
            self.inner.advance(&join.inner_keys, cx)?;
        }
        Ok(())
    }

    /// Compares the sides once.
    fn advance(
        &mut self,
        join: &MergeJoinPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        if self.outer.open
            && !self.group.matched.is_empty()
            && !self.outer.has_null()
            && join.compare(&self.outer.key, &self.group.key).is_eq()
        {
            self.phase = Phase::Pair(0);
            return Ok(());
        }
        if !self.group.matched.is_empty() {
            // Later outer rows have other keys.
            self.phase = Phase::DrainGroup(0);
            return Ok(());
        }
        let inner_first = match (self.outer.open, self.inner.open) {
            (false, false) => {
                self.phase = Phase::Finished;
                return Ok(());
            }
            (true, false) if join.keeps_outer() => return self.finish_outer(join, cx, out),
            (true, false) => {
                self.phase = Phase::Finished;
                return Ok(());
            }
            (false, true) if !join.keeps_inner() => {
                self.phase = Phase::Finished;
                return Ok(());
            }
            (false, true) => true,
            (true, true) if self.outer.has_null() => return self.finish_outer(join, cx, out),
            (true, true) if self.inner.has_null() => true,
            (true, true) => match join.compare(&self.outer.key, &self.inner.key) {
                Ordering::Less => return self.finish_outer(join, cx, out),
                Ordering::Equal => return self.load_group(join, cx),
                Ordering::Greater => true,
            },
        };
        debug_assert!(inner_first);
        if join.keeps_inner() {
            let pair = Row::pair(&self.nulls_outer, self.inner.input.row());
            self.plan.emit(cx, pair, out)?;
        }
        self.inner.advance(&join.inner_keys, cx)
    }

    /// Pairs the outer row with the group from row `from` on.
    fn pair(
        &mut self,
        from: usize,
        join: &MergeJoinPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        for i in from..self.group.matched.len() {
            if out.is_full() {
                self.phase = Phase::Pair(i);
                return Ok(());
            }
            let inner = self.group.row(i)?;
            let pair = Row::pair(self.outer.input.row(), inner);
            if !self.plan.joins(join.on.as_ref(), cx, pair)? {
                continue;
            }
            self.outer_matched = true;
            match join.kind {
                JoinKind::Semi => {
                    self.plan.emit_semi(cx, (self.outer.input.row(), inner), out)?;
                    break;
                }
                JoinKind::Anti => break,
                _ => {
                    self.plan.emit(cx, pair, out)?;
                    self.group.matched[i] = true;
                }
            }
        }
        self.phase = Phase::Advance;
        if out.is_full() && !self.outer_matched && join.keeps_outer() {
            self.phase = Phase::Pair(self.group.matched.len());
            return Ok(());
        }
        self.finish_outer(join, cx, out)
    }

    fn drain_group(
        &mut self,
        from: usize,
        join: &MergeJoinPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        if join.keeps_inner() {
            for i in from..self.group.matched.len() {
                if out.is_full() {
                    self.phase = Phase::DrainGroup(i);
                    return Ok(());
                }
                if !self.group.matched[i] {
                    let inner = self.group.row(i)?;
                    self.plan.emit(cx, Row::pair(&self.nulls_outer, inner), out)?;
                }
            }
        }
        self.group.clear();
        self.phase = Phase::Advance;
        Ok(())
    }
}

impl Node for MergeJoinNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::MergeJoin(join) = &plan.kind else {
            return Err(Error::internal("merge join node over another plan"));
        };
        while !out.is_full() {
            match self.phase {
                Phase::Start => {
                    self.outer.advance(&join.outer_keys, cx)?;
                    self.inner.advance(&join.inner_keys, cx)?;
                    self.phase = Phase::Advance;
                }
                Phase::Advance => self.advance(join, cx, out)?,
                Phase::Pair(from) => self.pair(from, join, cx, out)?,
                Phase::DrainGroup(from) => self.drain_group(from, join, cx, out)?,
                Phase::Finished => break,
            }
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.phase = Phase::Start;
        self.group.clear();
        self.outer_matched = false;
        self.outer.input.rescan(cx)?;
        self.inner.input.rescan(cx)
    }
}
