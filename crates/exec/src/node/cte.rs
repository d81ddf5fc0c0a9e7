//! CTE scans, recursive unions and their working tables
//! (PostgreSQL's nodeCtescan.c, nodeRecursiveunion.c, nodeWorktablescan.c).

use super::{BoxedNode, CNode, CPlan, Node, start as start_node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::hashing::{equal_keys, hash_key};
use crate::tuplestore::{StoreReader, TupleStore};
use hashbrown::HashTable;
use std::sync::Arc;
use steppe_sql::expr::SubPlanId;
use steppe_types::{Datum, Error, Oid, Result};

/// A compiled CTE scan.
pub(crate) struct CteScanPlan {
    pub(crate) plan: SubPlanId,
}

/// A scan of a CTE's shared rows. It reads the stored rows and then makes the CTE produce more, so
/// that a LIMIT above stops the CTE too.
struct CteScanNode {
    plan: Arc<CPlan>,
    reader: StoreReader,
    /// The run of the CTE that `reader` is a place in.
    generation: u64,
    scratch: Vec<Datum>,
}

pub(super) fn start_scan(plan: Arc<CPlan>) -> BoxedNode {
    let reader = StoreReader::default();
    Box::new(CteScanNode { plan, reader, generation: 0, scratch: Vec::new() })
}

impl Node for CteScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::CteScan(scan) = &plan.kind else {
            return Err(Error::internal("CTE scan node over another plan"));
        };
        while out.is_empty() {
            let current = cx.subplans[scan.plan].cte.as_ref();
            if current.is_none_or(|cte| !cte.versions.current(cx)) {
                crate::expr::advance_cte(cx, scan.plan, &self.plan.dependencies)?;
            }
            let Some(cte) = &cx.subplans[scan.plan].cte else {
                return Err(Error::internal("CTE has no rows"));
            };
            if self.generation != cte.generation {
                self.generation = cte.generation;
                self.reader.rewind();
            }
            let finished = self.read(scan.plan, cx, out)?;
            if !out.is_empty() || finished {
                return Ok(());
            }
            crate::expr::advance_cte(cx, scan.plan, &self.plan.dependencies)?;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.reader.rewind();
        Ok(())
    }
}

impl CteScanNode {
    /// Reads the rows of the store; true if there will be no more. The borrow of the store ends
    /// before each row is projected. An expression of the projection may read the same CTE, and add
    /// rows.
    fn read(&mut self, plan: SubPlanId, cx: &mut ExecContext, out: &mut RowBatch) -> Result<bool> {
        while !out.is_full() {
            self.scratch.clear();
            let Some(cte) = &mut cx.subplans[plan].cte else { return Ok(false) };
            if !cte.store.read_one(&mut self.reader, &mut self.scratch)? {
                return Ok(cte.finished);
            }
            self.plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        Ok(false)
    }
}

/// A compiled recursive union.
pub(crate) struct RecursiveUnionPlan {
    pub(crate) left: Arc<CPlan>,
    pub(crate) right: Arc<CPlan>,
    pub(crate) all: bool,
    pub(crate) work_table: usize,
    pub(crate) types: Box<[Oid]>,
}

struct RecursiveUnionNode {
    plan: Arc<CPlan>,
    left: BoxedNode,
    right: BoxedNode,
    /// Rows that the present iteration adds. They are the next one's working table.
    fresh: Option<TupleStore>,
    seen: Seen,
    recursing: bool,
    finished: bool,
    scratch: RowBatch,
}

/// UNION: the rows handed up so far.
#[derive(Default)]
struct Seen {
    rows: Vec<Datum>,
    index: HashTable<(u64, u32)>,
}

impl Seen {
    /// Adds a row; false if it was there.
    fn insert(&mut self, types: &[Oid], row: &[Datum]) -> bool {
        let width = types.len();
        let hash = hash_key(types, row);
        let rows = &self.rows;
        let same = |entry: &(u64, u32)| {
            let at = entry.1 as usize * width;
            entry.0 == hash && equal_keys(types, &rows[at..at + width], row)
        };
        if self.index.find(hash, same).is_some() {
            return false;
        }
        let i = self.index.len() as u32;
        self.rows.extend_from_slice(row);
        self.index.insert_unique(hash, (hash, i), |entry| entry.0);
        true
    }
}

pub(super) fn start_recursive(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::RecursiveUnion(union) = &plan.kind else {
        unreachable!("started as a recursive union")
    };
    Box::new(RecursiveUnionNode {
        left: start_node(&union.left, cx),
        right: start_node(&union.right, cx),
        fresh: None,
        seen: Seen::default(),
        recursing: false,
        finished: false,
        scratch: RowBatch::new(union.left.width),
        plan: plan.clone(),
    })
}

impl RecursiveUnionNode {
    /// Makes the fresh rows the working table; false if there are none.
    fn iterate(&mut self, union: &RecursiveUnionPlan, cx: &mut ExecContext) -> Result<bool> {
        let fresh = self.fresh.take().filter(|store| !store.is_empty());
        let Some(fresh) = fresh else { return Ok(false) };
        let slot = cx
            .work_tables
            .get_mut(union.work_table)
            .ok_or_else(|| Error::internal("recursive union without a working table"))?;
        *slot = Some(fresh);
        cx.touch_work_table(union.work_table);
        self.right.rescan(cx)?;
        self.recursing = true;
        Ok(true)
    }
}

impl Node for RecursiveUnionNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::RecursiveUnion(union) = &plan.kind else {
            return Err(Error::internal("recursive union node over another plan"));
        };
        while out.is_empty() && !self.finished {
            self.scratch.clear();
            self.scratch.wanted = out.wanted;
            let child = if self.recursing { &mut self.right } else { &mut self.left };
            child.next(cx, &mut self.scratch)?;
            if self.scratch.is_empty() {
                cx.check_interrupts()?;
                self.finished = !self.iterate(union, cx)?;
                continue;
            }
            for row in self.scratch.iter() {
                if !union.all && !self.seen.insert(&union.types, row) {
                    continue;
                }
                if self.fresh.is_none() {
                    self.fresh = Some(cx.new_store(union.types.len()));
                }
                if let Some(fresh) = &mut self.fresh {
                    fresh.push(Row::of(row))?;
                }
                plan.emit(cx, Row::of(row), out)?;
            }
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.fresh = None;
        self.seen = Seen::default();
        self.recursing = false;
        self.finished = false;
        self.left.rescan(cx)
    }
}

struct WorkTableNode {
    plan: Arc<CPlan>,
    reader: StoreReader,
    scratch: Vec<Datum>,
}

pub(super) fn start_work_table(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(WorkTableNode { plan, reader: StoreReader::default(), scratch: Vec::new() })
}

impl Node for WorkTableNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::WorkTableScan(table) = &self.plan.kind else {
            return Err(Error::internal("working table scan over another plan"));
        };
        let Some(mut store) = cx.work_tables.get_mut(*table).and_then(Option::take) else {
            return Ok(());
        };
        self.scratch.clear();
        let mut result = Ok(());
        while result.is_ok() && !out.is_full() {
            match store.read_one(&mut self.reader, &mut self.scratch) {
                Ok(false) => break,
                Ok(true) => {
                    result = self.plan.emit_owned(cx, &mut self.scratch, out).map(drop);
                    self.scratch.clear();
                }
                Err(error) => result = Err(error),
            }
        }
        cx.work_tables[*table] = Some(store);
        result
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.reader.rewind();
        Ok(())
    }
}
