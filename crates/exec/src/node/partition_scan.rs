//! Scans of partitioned tables: the leaves, one after the other.
//!
//! The node has one template for all leaves. Which leaves can have rows that satisfy its
//! conditions is asked of the catalog when the scan starts, with the values that parameters
//! have then; a leaf is locked and its scan made when its turn
//! comes, so that a LIMIT that is reached early touches no more of them.

use super::{BoxedNode, CNode, CPlan, Node, PlanCompiler, compile_plan, pump, start as start_node};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Instrument, LeafRun};
use crate::env::FnContext;
use crate::expr::Compiler;
use crate::partition::{
    LeafCache, LockedLeaf, ScanPruning, leaf_plan, lock_leaf, lock_mode_of, size_of,
};
use hashbrown::HashMap;
use std::sync::Arc;
use steppe_sql::plan::{Plan, PlannedStmt, ScanRelation};
use steppe_types::{Error, Oid, Result};

/// A compiled scan of a partitioned table.
pub(crate) struct PartitionScanPlan {
    /// Sub-plans and parameters of the template's expressions.
    pub(crate) stmt: Arc<PlannedStmt>,
    pub(crate) rel: ScanRelation,
    pub(crate) template: Plan,
    /// It does all that this node has to do.
    pub(crate) is_whole: bool,
    /// Where the template's nodes are numbered from.
    pub(crate) template_id: usize,
    pub(crate) leaves: LeafCache<CPlan>,
    /// Which leaves can have rows.
    pub(crate) pruning: ScanPruning,
}

struct PartitionScanNode {
    plan: Arc<CPlan>,
    /// Those of this scan; `None` before it has started.
    leaves: Option<Vec<Oid>>,
    /// With EXPLAIN ANALYZE a leaf's scan has counters, and is kept for its rescans.
    analyzed: HashMap<Oid, Arc<CPlan>>,
    current: usize,
    running: Option<BoxedNode>,
    scratch: RowBatch,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    let CNode::PartitionScan(scan) = &plan.kind else {
        unreachable!("started as a partition scan")
    };
    let scratch = RowBatch::new(scan.template.types.len());
    Box::new(PartitionScanNode {
        plan,
        leaves: None,
        analyzed: HashMap::new(),
        current: 0,
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
        let plan = leaf_plan(&self.template, catalog, relation, &self.rel.alias)?;
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
        let CNode::PartitionScan(scan) = &self.plan.kind else {
            return Err(Error::internal("partition scan node over another plan"));
        };
        let mode = lock_mode_of(&scan.stmt, scan.rel.relation.oid);
        let Some(leaf) = lock_leaf(cx, leaf, mode)? else { return Ok(None) };
        let Some(counted) = cx.instruments.as_ref().map(Vec::len) else {
            return scan.scan_of(&leaf, cx).map(Some);
        };
        if let Some(found) = self.analyzed.get(&leaf.relation.oid) {
            return Ok(Some(found.clone()));
        }
        let made = scan.compile(&leaf, counted, cx)?;
        if let Some(instruments) = &mut cx.instruments {
            instruments.resize(counted + size_of(&scan.template), Instrument::default());
        }
        cx.leaf_runs.push(LeafRun { scan: self.plan.id, leaf: leaf.relation.oid, first: counted });
        self.analyzed.insert(leaf.relation.oid, made.clone());
        Ok(Some(made))
    }
}

impl Node for PartitionScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        if self.leaves.is_none() {
            let CNode::PartitionScan(scan) = &self.plan.kind else {
                return Err(Error::internal("partition scan node over another plan"));
            };
            self.leaves = Some(scan.pruning.leaves(&scan.stmt, cx)?);
        }
        while let Some(leaf) = self.leaves.as_ref().and_then(|l| l.get(self.current)).copied() {
            if self.running.is_none()
                && let Some(scan) = self.scan_of(leaf, cx)?
            {
                cx.check_interrupts()?;
                self.running = Some(start_node(&scan, cx));
            }
            if let Some(running) = &mut self.running {
                pump(&self.plan, running, &mut self.scratch, cx, out)?;
            }
            if !out.is_empty() {
                return Ok(());
            }
            self.running = None;
            self.current += 1;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.leaves = None;
        self.current = 0;
        self.running = None;
        Ok(())
    }
}
