//! INTERSECT and EXCEPT [ALL], hashed (PostgreSQL's nodeSetOp.c).
//!
//! Each distinct row is counted on both sides. The counts decide how often it is handed up. The
//! left side is read first, so that EXCEPT and INTERSECT keep the order in which rows first occur
//! there.

use super::{BoxedNode, CNode, CPlan, Node, set_op_sorted, start as start_node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::hashing::{equal_keys, hash_key};
use crate::sorter::SortColumn;
use hashbrown::HashTable;
use std::sync::Arc;
use steppe_sql::query::SetOp;
use steppe_types::{Datum, Error, Oid, Result};

/// A compiled set operation.
pub(crate) struct SetOpPlan {
    pub(crate) op: SetOp,
    pub(crate) all: bool,
    pub(crate) left: Arc<CPlan>,
    pub(crate) right: Arc<CPlan>,
    pub(crate) types: Box<[Oid]>,
    /// The order of all columns in both inputs; empty if they are not sorted.
    pub(crate) order: Arc<[SortColumn]>,
}

impl SetOpPlan {
    /// The number of times that a row with these counts is handed up.
    pub(super) fn copies(&self, left: u64, right: u64) -> u64 {
        match (self.op, self.all) {
            (SetOp::Intersect, false) => u64::from(left > 0 && right > 0),
            (SetOp::Intersect, true) => left.min(right),
            (SetOp::Except, false) => u64::from(left > 0 && right == 0),
            (SetOp::Except, true) => left.saturating_sub(right),
            (SetOp::Union, false) => u64::from(left + right > 0),
            (SetOp::Union, true) => left + right,
        }
    }
}

struct SetOpNode {
    plan: Arc<CPlan>,
    left: BoxedNode,
    right: BoxedNode,
    rows: Vec<Datum>,
    counts: Vec<(u64, u64)>,
    index: HashTable<(u64, u32)>,
    loaded: bool,
    /// Next row, and copies of it handed up already.
    next: usize,
    handed: u64,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::SetOp(op) = &plan.kind else { unreachable!("started as a set operation") };
    if !op.order.is_empty() {
        return set_op_sorted::start(plan, cx);
    }
    Box::new(SetOpNode {
        left: start_node(&op.left, cx),
        right: start_node(&op.right, cx),
        rows: Vec::new(),
        counts: Vec::new(),
        index: HashTable::new(),
        loaded: false,
        next: 0,
        handed: 0,
        plan: plan.clone(),
    })
}

impl SetOpNode {
    fn load(&mut self, op: &SetOpPlan, from_left: bool, cx: &mut ExecContext) -> Result<()> {
        let width = op.types.len();
        let mut batch = RowBatch::new(width);
        // Only UNION takes rows that the left side never showed.
        let insert = from_left || op.op == SetOp::Union;
        loop {
            batch.clear();
            let child = if from_left { &mut self.left } else { &mut self.right };
            child.next(cx, &mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            cx.check_interrupts()?;
            for row in batch.iter() {
                let hash = hash_key(&op.types, row);
                let rows = &self.rows;
                let same = |entry: &(u64, u32)| {
                    let at = entry.1 as usize * width;
                    entry.0 == hash && equal_keys(&op.types, &rows[at..at + width], row)
                };
                let found = self.index.find(hash, same).map(|entry| entry.1 as usize);
                let i = match found {
                    Some(i) => i,
                    None if insert => {
                        let i = self.counts.len();
                        self.rows.extend_from_slice(row);
                        self.counts.push((0, 0));
                        self.index.insert_unique(hash, (hash, i as u32), |entry| entry.0);
                        i
                    }
                    None => continue,
                };
                let counts = &mut self.counts[i];
                *(if from_left { &mut counts.0 } else { &mut counts.1 }) += 1;
            }
        }
    }
}

impl Node for SetOpNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::SetOp(op) = &plan.kind else {
            return Err(Error::internal("set operation node over another plan"));
        };
        if !self.loaded {
            self.load(op, true, cx)?;
            self.load(op, false, cx)?;
            self.loaded = true;
        }
        let width = op.types.len();
        while !out.is_full()
            && let Some((left, right)) = self.counts.get(self.next)
        {
            if self.handed >= op.copies(*left, *right) {
                self.next += 1;
                self.handed = 0;
                continue;
            }
            self.handed += 1;
            let row = &self.rows[self.next * width..(self.next + 1) * width];
            plan.emit(cx, Row::of(row), out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.rows.clear();
        self.counts.clear();
        self.index.clear();
        self.loaded = false;
        self.next = 0;
        self.handed = 0;
        self.left.rescan(cx)?;
        self.right.rescan(cx)
    }
}
