//! Scans of partitioned tables: the leaves, one after the other or merged.
//!
//! The node has one template for all leaves. Which leaves can have rows that satisfy its
//! conditions is asked of the catalog when the scan starts, with the values that parameters
//! have then; a leaf is locked and its scan made when its turn
//! comes, so that a LIMIT that is reached early touches no more of them.

use super::merge_append::MergedInputs;
use super::{BoxedNode, CNode, CPlan, Node, PlanCompiler, compile_plan, pump, start as start_node};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Instrument, LeafRun};
use crate::env::FnContext;
use crate::expr::{Compiler, Row};
use crate::partition::{
    LeafCache, LeafTemplate, Leaves, LockedLeaf, ScanPruning, lock_leaf, lock_mode_of, size_of,
};
use crate::sorter::SortColumn;
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;
use steppe_sql::plan::{PlannedStmt, ScanRelation};
use steppe_types::{Error, Oid, Result};

/// So many leaves are looked for at first: mostly all that there are, or all that LIMIT needs.
const LEAVES_AT_FIRST: usize = 32;

/// A compiled scan of a partitioned table.
pub(crate) struct PartitionScanPlan {
    /// Sub-plans and parameters of the template's expressions.
    pub(crate) stmt: Arc<PlannedStmt>,
    pub(crate) rel: ScanRelation,
    pub(crate) template: LeafTemplate,
    /// The order wanted, over a leaf's rows.
    pub(crate) keys: Arc<[SortColumn]>,
    /// Where the template's nodes are numbered from.
    pub(crate) template_id: usize,
    pub(crate) leaves: LeafCache<CPlan>,
    /// Which leaves can have rows.
    pub(crate) pruning: ScanPruning,
}

struct PartitionScanNode {
    plan: Arc<CPlan>,
    /// Those of this scan.
    leaves: Option<Leaves>,
    /// With EXPLAIN ANALYZE a leaf's scan has counters, and is kept for its rescans.
    analyzed: HashMap<Oid, Arc<CPlan>>,
    /// The leaf whose turn comes next.
    next: usize,
    running: Option<Running>,
    scratch: RowBatch,
}

/// What rows come from at present.
enum Running {
    Leaf(BoxedNode),
    Merged(Box<MergedInputs>),
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    let CNode::PartitionScan(scan) = &plan.kind else {
        unreachable!("started as a partition scan")
    };
    let scratch = RowBatch::new(scan.template.plan.types.len());
    Box::new(PartitionScanNode {
        plan,
        leaves: None,
        analyzed: HashMap::new(),
        next: 0,
        running: None,
        scratch,
    })
}

impl PartitionScanPlan {
    /// The scan of a leaf.
    fn scan_of(&self, leaf: &LockedLeaf, cx: &mut ExecContext) -> Result<Arc<CPlan>> {
        if !leaf.is_planned {
            return self.compile(leaf, self.template_id, cx);
        }
        if let Some(found) = self.leaves.get(&leaf.relation) {
            return Ok(found);
        }
        let made = self.compile(leaf, self.template_id, cx)?;
        self.leaves.put(&leaf.relation, &made);
        Ok(made)
    }

    fn compile(
        &self,
        leaf: &LockedLeaf,
        first_id: usize,
        cx: &mut ExecContext,
    ) -> Result<Arc<CPlan>> {
        let LockedLeaf { relation, catalog, .. } = leaf;
        let plan = self.template.plan_of(catalog, relation, &self.rel.alias)?;
        if let Some(instruments) = &mut cx.instruments {
            let needed = first_id + size_of(&plan);
            instruments.resize(needed.max(instruments.len()), Instrument::default());
        }
        let database = cx.txn()?.txn.database().clone();
        let mut exprs = Compiler::new(&self.stmt, FnContext::pure(catalog.clone()));
        let mut compiler = PlanCompiler {
            exprs: &mut exprs,
            stmt: &self.stmt,
            database: Some(&database),
            next_id: first_id,
            work_tables: 0,
            top: false,
        };
        compile_plan(&mut compiler, &plan)
    }
}

impl PartitionScanNode {
    /// The scan of a leaf, which is locked; `None` if it has gone.
    fn scan_of(&mut self, leaf: Oid, cx: &mut ExecContext) -> Result<Option<Arc<CPlan>>> {
        let scan = scan_in(&self.plan)?;
        let mode = lock_mode_of(&scan.stmt, scan.rel.relation.oid);
        let Some(leaf) = lock_leaf(cx, leaf, &scan.rel.relation, mode)? else { return Ok(None) };
        let Some(counted) = cx.instruments.as_ref().map(Vec::len) else {
            return scan.scan_of(&leaf, cx).map(Some);
        };
        if let Some(found) = self.analyzed.get(&leaf.relation.oid) {
            return Ok(Some(found.clone()));
        }
        let made = scan.compile(&leaf, counted, cx)?;
        cx.leaf_runs.push(LeafRun { scan: self.plan.id, leaf: leaf.relation.oid, first: counted });
        self.analyzed.insert(leaf.relation.oid, made.clone());
        Ok(Some(made))
    }

    /// The leaves that are read together next; none if there are no more.
    fn next_group(&mut self, cx: &mut ExecContext) -> Result<Range<usize>> {
        let scan = scan_in(&self.plan)?;
        let known = match self.leaves.take() {
            Some(known) if known.is_complete || self.next < known.oids.len() => known,
            before => {
                let wanted = before.map_or(LEAVES_AT_FIRST, |_| usize::MAX);
                scan.pruning.leaves(&scan.stmt, cx, wanted)?
            }
        };
        let group = known.group(self.next);
        self.next = group.end;
        self.leaves = Some(known);
        Ok(group)
    }

    /// Starts what rows come from next; false if there is nothing left.
    fn start_next(&mut self, cx: &mut ExecContext) -> Result<bool> {
        while self.running.is_none() {
            let group = self.next_group(cx)?;
            if group.is_empty() {
                return Ok(false);
            }
            let mut scans = Vec::with_capacity(group.len());
            for at in group {
                cx.check_interrupts()?;
                let leaf = self.leaves.as_ref().and_then(|leaves| leaves.oids.get(at).copied());
                let leaf = leaf.ok_or_else(|| Error::internal("a scan has lost a leaf"))?;
                scans.extend(self.scan_of(leaf, cx)?);
            }
            self.running = match &scans[..] {
                [] => None,
                [scan] => Some(Running::Leaf(start_node(scan, cx))),
                scans => {
                    let keys = &scan_in(&self.plan)?.keys;
                    Some(Running::Merged(Box::new(MergedInputs::new(keys, scans, cx))))
                }
            };
        }
        Ok(true)
    }

    fn fetch(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let (plan, whole) = (&self.plan, scan_in(&self.plan)?.template.is_whole);
        match &mut self.running {
            None => Ok(()),
            // Rows of a leaf may have more columns: what they are ordered by.
            Some(Running::Leaf(leaf)) if whole && self.scratch.width() > plan.width => {
                self.scratch.clear();
                self.scratch.wanted = out.wanted;
                leaf.next(cx, &mut self.scratch)?;
                let rows = self.scratch.iter();
                rows.for_each(|row| out.push(Row::of(&row[..plan.width])));
                Ok(())
            }
            Some(Running::Leaf(leaf)) => pump(plan, leaf, &mut self.scratch, cx, out),
            Some(Running::Merged(merged)) => merged.fill(cx, out, |cx, row, out| {
                match whole {
                    true => out.push(Row::of(&row[..plan.width])),
                    false => {
                        plan.emit(cx, Row::of(row), out)?;
                    }
                }
                Ok(())
            }),
        }
    }
}

fn scan_in(plan: &CPlan) -> Result<&PartitionScanPlan> {
    match &plan.kind {
        CNode::PartitionScan(scan) => Ok(scan),
        _ => Err(Error::internal("partition scan node over another plan")),
    }
}

impl Node for PartitionScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        while self.running.is_some() || self.start_next(cx)? {
            self.fetch(cx, out)?;
            if !out.is_empty() {
                return Ok(());
            }
            self.running = None;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.leaves = None;
        self.next = 0;
        self.running = None;
        Ok(())
    }
}
