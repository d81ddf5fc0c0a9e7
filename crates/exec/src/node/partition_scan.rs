//! Scans of partitioned tables: the leaves, one after the other or merged.
//!
//! The node has one template for all leaves. When the scan starts, it asks the catalog for the
//! leaves that can have rows that satisfy its conditions, with the current values of parameters. A
//! leaf's scan is made when its turn comes.
//!
//! A scan to the end locks all leaves before the first row, as PostgreSQL does when it plans. So a
//! scan that waits for a leaf's lock has no rows of another leaf locked, for which a third
//! transaction could wait. The client also has no rows yet when a leaf turns out to be overtaken.
//! If there are many leaves, and the reader may stop early (LIMIT, a cursor) or scan again with
//! other values (a join's inner side), each leaf is locked when its turn comes, so that fewer are
//! touched. If rows are locked, too, a few leaves are locked at a time. One lock for all then keeps
//! leaves from getting a new file (TRUNCATE).
//!
//! If several threads share a scan, each visits the same leaves. The leader finds and locks all of
//! them first ([`leaves_for_all`]), since helpers can lock nothing. The threads share the rows of
//! each leaf. A thread that finds no rows left goes on to the next leaf.
//!
//! If order does not matter and the leaf's plan does all the work, the node hands up the leaf's
//! columns unchanged, or its rows if the leaf makes no columns.

use super::columns::ColumnInput;
use super::merge_append::MergedInputs;
use super::{BoxedNode, CNode, CPlan, Exchange, Node, PlanCompiler, compile_plan, pump};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::change::outcome::serialization;
use crate::context::{ExecContext, Instrument, LeafRun};
use crate::deps::count_nodes;
use crate::expr::{Compiler, Row};
use crate::partition::{
    Definition, LeafCache, LeafMember, LeafSet, LeafTemplate, Leaves, LockedLeaf, Models,
    ScanPruning, lock_leaf, lock_mode_of,
};
use crate::sorter::SortColumn;
use crate::vector::ColumnBatch;
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_functions::FnContext;
use steppe_sql::expr::Expr;
use steppe_sql::partners::{MatchedLeaves, partner};
use steppe_sql::plan::{PartnerTable, PlanNode, PlannedStmt, ScanRelation};
use steppe_txn::{IsolationLevel, LeavesLockMode, RelationLockMode};
use steppe_types::{Error, Oid, Result};

/// The number of leaves looked up first. Mostly this is all of them, or enough for LIMIT.
const LEAVES_AT_FIRST: usize = 32;

/// A compiled scan of a partitioned table.
pub(crate) struct PartitionScanPlan {
    /// Sub-plans and parameters of the template's expressions.
    pub(crate) stmt: Arc<PlannedStmt>,
    pub(crate) rel: ScanRelation,
    pub(crate) template: LeafTemplate,
    /// The order wanted, over a leaf's rows.
    pub(crate) keys: Arc<[SortColumn]>,
    /// The number of the template's first node.
    pub(crate) template_id: usize,
    pub(crate) leaves: LeafCache<LeafScan>,
    /// The scans that leaves with the same definitions share.
    pub(crate) models: Models<Arc<CPlan>>,
    /// Finds the leaves that can have rows.
    pub(crate) pruning: ScanPruning,
    /// The pruning depends on an outer row: each rescan may have other leaves.
    pub(crate) is_parameterized: bool,
    /// The tables that are joined leaf by leaf.
    pub(crate) partners: Box<[Partner]>,
    /// The leaves that are joined, if the bounds are not the same.
    pub(crate) matched: Option<Arc<MatchedLeaves>>,
    /// The threads that run the plan share the rows.
    pub(crate) is_shared: bool,
}

/// A leaf's compiled scan, and the versions of the partners' leaves that it is for.
pub(crate) struct LeafScan {
    plan: Arc<CPlan>,
    partners: Vec<Option<Arc<Relation>>>,
}

/// A table that is joined leaf by leaf.
pub(crate) struct Partner {
    rel: ScanRelation,
    /// The pruning by the table's conditions, if they leave out leaves as well.
    pruning: Option<ScanPruning>,
}

impl Partner {
    pub(crate) fn new(table: &PartnerTable) -> Partner {
        let prunes = table.is_needed && !table.conditions.is_empty();
        let pruning = || ScanPruning::new(&table.rel.relation, &table.conditions, &[]);
        Partner { rel: table.rel.clone(), pruning: prunes.then(pruning) }
    }
}

/// The leaves of one turn, which are locked.
struct LockedLeaves {
    leaf: LockedLeaf,
    /// `None`: it is no partition any more.
    partners: Vec<Option<Arc<Relation>>>,
}

struct PartitionScanNode {
    plan: Arc<CPlan>,
    /// The leaves of this scan.
    leaves: Option<Leaves>,
    /// The leaves that are known are locked.
    are_locked: bool,
    /// The leaves are kept from getting new files.
    are_kept: bool,
    /// The rows are read again, mostly with other values of parameters.
    is_rescan: bool,
    /// With EXPLAIN ANALYZE a leaf's scan has counters, and is kept for its rescans.
    analyzed: HashMap<Oid, Arc<CPlan>>,
    /// The leaf whose turn comes next.
    next: usize,
    running: Option<Running>,
    scratch: RowBatch,
}

/// The source of the current rows.
enum Running {
    Leaf(ColumnInput),
    Merged(Box<MergedInputs>),
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(PartitionScanNode::new(plan))
}

/// The scans of all leaves that a scan reads, which are locked from now on: for the threads that
/// share it.
pub(super) fn leaves_for_all(plan: &Arc<CPlan>, cx: &mut ExecContext) -> Result<Vec<Arc<CPlan>>> {
    let mut node = PartitionScanNode::new(plan.clone());
    let found = node.find_leaves(cx, usize::MAX, true)?;
    let mut scans = Vec::with_capacity(found.oids.len());
    for leaf in &found.oids {
        cx.check_interrupts()?;
        scans.extend(node.scan_of(*leaf, cx)?);
    }
    Ok(scans)
}

impl PartitionScanPlan {
    fn mode(&self, rel: &ScanRelation) -> RelationLockMode {
        lock_mode_of(&self.stmt, rel.relation.oid)
    }

    /// Whether conditions depend on an outer row.
    pub(crate) fn is_parameterized(conditions: &[Expr]) -> bool {
        fn reads_parameter(expr: &Expr) -> bool {
            let mut found = matches!(expr, Expr::ExecParam { .. });
            expr.for_each_child(&mut |child| found |= reads_parameter(child));
            found
        }
        conditions.iter().any(reads_parameter)
    }

    /// Whether the plan locks the rows that it reads.
    fn locks_rows(&self) -> bool {
        let mut tables = std::iter::once(&self.rel).chain(self.partners.iter().map(|p| &p.rel));
        tables.any(|rel| self.mode(rel) != RelationLockMode::AccessShare)
    }

    /// The leaves of the other tables that are joined with a leaf, with their tables.
    fn partners_of<'s>(
        &'s self,
        cx: &ExecContext,
        leaf: Oid,
    ) -> impl Iterator<Item = Result<(Oid, &'s ScanRelation)>> + use<'s> {
        let (catalog, root) = (cx.functions.catalog.clone(), self.rel.relation.oid);
        self.partners.iter().enumerate().map(move |(number, Partner { rel, .. })| {
            let (matched, table) = (self.matched.as_deref(), (number, rel.relation.oid));
            Ok((partner(&catalog, matched, (leaf, root), table)?, rel))
        })
    }

    /// Locks leaves and the leaves that correspond to them.
    fn lock(&self, leaves: &[Oid], cx: &mut ExecContext) -> Result<()> {
        let mut is_changed = false;
        for leaf in leaves {
            cx.check_interrupts()?;
            is_changed |= lock_leaf(cx, *leaf, self.mode(&self.rel))?.is_some();
            for partner in self.partners_of(cx, *leaf) {
                let (partner, rel) = partner?;
                is_changed |= lock_leaf(cx, partner, self.mode(rel))?.is_some();
            }
        }
        match is_changed {
            // Whether one of them has been overtaken.
            true => leaves.iter().try_for_each(|leaf| self.locked(*leaf, cx).map(drop)),
            false => Ok(()),
        }
    }

    /// Keeps all leaves, of which few are locked, from being given new files.
    fn keep_files(&self, cx: &mut ExecContext) -> Result<()> {
        for table in std::iter::once(&self.rel).chain(self.partners.iter().map(|p| &p.rel)) {
            let wait = cx.txn()?.txn.lock_leaves(table.relation.oid, LeavesLockMode::Read)?;
            if let Some(wait) = wait {
                cx.functions.session.block_on(wait)?;
            }
        }
        if cx.newer_catalog()?.is_none() {
            return Ok(());
        }
        // Whether one of them has been given one since the snapshot was taken.
        let leaves = self.find_leaves(cx, usize::MAX)?;
        leaves.oids.iter().try_for_each(|leaf| self.locked(*leaf, cx).map(drop))
    }

    /// A locked leaf, and the leaves that correspond to it; `None` if it was dropped.
    fn locked(&self, leaf: Oid, cx: &mut ExecContext) -> Result<Option<LockedLeaves>> {
        let Some(mut locked) = LockedLeaf::held(cx, leaf, &self.rel.relation) else {
            return Ok(None);
        };
        check_not_overtaken(&locked, cx)?;
        let mut partners = Vec::with_capacity(self.partners.len());
        for partner in self.partners_of(cx, leaf) {
            let (oid, rel) = partner?;
            let partner = LockedLeaf::held(cx, oid, &rel.relation);
            partner.as_ref().map_or(Ok(()), |partner| check_not_overtaken(partner, cx))?;
            if let Some(newer) = partner.as_ref().filter(|partner| !partner.is_planned) {
                locked.catalog = newer.catalog.clone();
                locked.is_planned = false;
            }
            partners.push(partner.map(|partner| partner.relation));
        }
        Ok(Some(LockedLeaves { leaf: locked, partners }))
    }

    /// Whether a leaf's scan finds nothing because its file has no pages. Rows inserted from now on
    /// are after the statement's snapshot. (A SERIALIZABLE transaction notes its reads even of
    /// empty tables.)
    fn is_unwritten(&self, leaf: &LockedLeaf, cx: &mut ExecContext) -> Result<bool> {
        let reads_one_table = matches!(
            self.template.plan.node,
            PlanNode::SeqScan { .. }
                | PlanNode::IndexScan { .. }
                | PlanNode::BitmapScan { .. }
                | PlanNode::TidScan { .. }
        );
        let txn = &cx.txn()?.txn;
        match leaf.relation.storage {
            Some(file) if reads_one_table && txn.isolation() != IsolationLevel::Serializable => {
                Ok(txn.engine().tree_of(file)?.is_none())
            }
            _ => Ok(false),
        }
    }

    /// The scan of a locked leaf, if the catalog in force is the statement's, in which the scan has been
    /// found before. Then the scan is made for this version of the leaf and of its partners, and the
    /// leaf's file had pages. (Otherwise the leaf is looked up among all relations.)
    fn known(&self, leaf: Oid, cx: &ExecContext) -> Option<Arc<CPlan>> {
        let planned = &cx.functions.catalog;
        match cx.functions.session.newer_catalog(planned) {
            None => self.leaves.noted(leaf, planned.epoch, |found| Arc::clone(&found.plan)),
            Some(_) => None,
        }
    }

    /// The scan of a leaf.
    fn scan_of(&self, leaves: &LockedLeaves, cx: &mut ExecContext) -> Result<Arc<CPlan>> {
        let LockedLeaves { leaf, partners } = leaves;
        if !leaf.is_planned {
            return self.compile(leaves, self.template_id, cx);
        }
        if let Some(found) = self.leaves.get(&leaf.relation)
            && is_same(&found.partners, partners)
        {
            self.leaves.note(&leaf.relation, leaf.catalog.epoch);
            return Ok(found.plan.clone());
        }
        let plan = self.over_or_compile(leaves, cx)?;
        let made = Arc::new(LeafScan { plan: plan.clone(), partners: partners.clone() });
        self.leaves.put(&leaf.relation, &made);
        self.leaves.note(&leaf.relation, leaf.catalog.epoch);
        Ok(plan)
    }

    /// The scan of leaves that have none yet: that of others with the same definitions, over these.
    fn over_or_compile(&self, leaves: &LockedLeaves, cx: &mut ExecContext) -> Result<Arc<CPlan>> {
        let LockedLeaves { leaf, partners } = leaves;
        let members = std::iter::once(Some(&leaf.relation));
        let members = members.chain(partners.iter().map(Option::as_ref));
        let definition = |leaf: Option<&Arc<_>>| Some(Definition::of(leaf?, &cx.functions.catalog));
        let Some(definitions) = members.map(definition).collect::<Option<Box<[_]>>>() else {
            return self.compile(leaves, self.template_id, cx);
        };
        let epoch = leaf.catalog.epoch;
        if let Some(model) = self.models.of(&definitions, epoch) {
            let engine = cx.txn()?.txn.engine();
            let leaves = Exchange { from: &model.leaves, to: &definitions, engine };
            if let Some(plan) = model.compiled.over(&leaves)? {
                return Ok(plan);
            }
        }
        let plan = self.compile(leaves, self.template_id, cx)?;
        self.models.put(definitions, epoch, Arc::clone(&plan));
        Ok(plan)
    }

    fn compile(
        &self,
        leaves: &LockedLeaves,
        first_id: usize,
        cx: &mut ExecContext,
    ) -> Result<Arc<CPlan>> {
        let LockedLeaves { leaf: LockedLeaf { relation, catalog, .. }, partners } = leaves;
        let member = |table: &ScanRelation, leaf: Option<&Arc<Relation>>| LeafMember {
            table: table.clone(),
            leaf: leaf.cloned(),
            alias: table.alias.clone(),
        };
        let mut members = vec![member(&self.rel, Some(relation))];
        let tables = self.partners.iter().map(|partner| &partner.rel);
        members.extend(tables.zip(partners).map(|(table, leaf)| member(table, leaf.as_ref())));
        let plan = self.template.plan_of(catalog, &LeafSet { members })?;
        if let Some(instruments) = &mut cx.instruments {
            let needed = first_id + count_nodes(&plan);
            instruments.resize(needed.max(instruments.len()), Instrument::default());
        }
        let engine = cx.txn()?.txn.engine().clone();
        let mut exprs = Compiler::new(&self.stmt, FnContext::pure(catalog.clone()));
        let mut compiler = PlanCompiler {
            exprs: &mut exprs,
            stmt: &self.stmt,
            engine: Some(&engine),
            next_id: first_id,
            work_tables: 0,
            top: false,
            row_params: None,
            shared_scans: Vec::new(),
            scans: Vec::new(),
            loops: 1,
        };
        compile_plan(&mut compiler, &plan)
    }

    /// The leaves, or the first `wanted` ones. If tables are joined leaf by leaf, only leaves that
    /// can have rows in all required tables.
    fn find_leaves(&self, cx: &mut ExecContext, wanted: usize) -> Result<Leaves> {
        // Joins have an order of their own: none of them is known to be the first.
        let wanted = if self.matched.is_some() { usize::MAX } else { wanted };
        let mut leaves = self.pruning.leaves(&self.stmt, cx, wanted)?;
        let matched = self.matched.as_deref();
        matched.into_iter().for_each(|matched| leaves.keep_matched(matched));
        for (number, Partner { rel, pruning }) in self.partners.iter().enumerate() {
            let Some(pruning) = pruning else { continue };
            let kept = pruning.leaves(&self.stmt, cx, usize::MAX)?;
            let (root, table) = (self.rel.relation.oid, (number, rel.relation.oid));
            let joined = |leaf| partner(&cx.functions.catalog, matched, (leaf, root), table);
            leaves.keep_joined(joined, &kept)?;
        }
        Ok(leaves)
    }
}

fn is_same(a: &[Option<Arc<Relation>>], b: &[Option<Arc<Relation>>]) -> bool {
    let same = |(a, b): (&Option<Arc<Relation>>, &Option<Arc<Relation>>)| match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

impl PartitionScanNode {
    fn new(plan: Arc<CPlan>) -> PartitionScanNode {
        let CNode::PartitionScan(scan) = &plan.kind else {
            unreachable!("started as a partition scan")
        };
        let scratch = RowBatch::new(scan.template.plan.types.len());
        PartitionScanNode {
            plan,
            leaves: None,
            are_locked: false,
            are_kept: false,
            is_rescan: false,
            analyzed: HashMap::new(),
            next: 0,
            running: None,
            scratch,
        }
    }

    /// Starts the scan of the next leaf that several threads share.
    fn start_shared(&mut self, cx: &mut ExecContext) -> Result<bool> {
        let team = cx.team().ok_or_else(|| Error::internal("nobody shares a scan"))?;
        let leaves = team.leaves(self.plan.id)?;
        let scan = leaves.get(self.next);
        self.next += 1;
        self.running = scan.map(|scan| Running::Leaf(ColumnInput::new(scan, cx)));
        Ok(self.running.is_some())
    }

    /// The scan of a leaf, which is then locked; `None` if the leaf was dropped or has no rows.
    fn scan_of(&mut self, leaf: Oid, cx: &mut ExecContext) -> Result<Option<Arc<CPlan>>> {
        let scan = scan_in(&self.plan)?;
        if !self.are_locked {
            scan.lock(&[leaf], cx)?;
        }
        if cx.instruments.is_none()
            && let Some(found) = scan.known(leaf, cx)
        {
            return Ok(Some(found));
        }
        let Some(leaves) = scan.locked(leaf, cx)? else { return Ok(None) };
        let Some(counted) = cx.instruments.as_ref().map(Vec::len) else {
            if scan.is_unwritten(&leaves.leaf, cx)? {
                return Ok(None);
            }
            return scan.scan_of(&leaves, cx).map(Some);
        };
        if let Some(found) = self.analyzed.get(&leaf) {
            return Ok(Some(found.clone()));
        }
        let made = scan.compile(&leaves, counted, cx)?;
        cx.leaf_runs.push(LeafRun { scan: self.plan.id, leaf, first: counted });
        self.analyzed.insert(leaf, made.clone());
        Ok(Some(made))
    }

    /// The leaves that are read together next; empty if there are no more. The reader has room for
    /// `wanted` rows.
    fn next_group(&mut self, cx: &mut ExecContext, wanted: usize) -> Result<Range<usize>> {
        let reads_all = wanted >= BATCH_ROWS && !self.is_rescan;
        let mut known = match self.leaves.take() {
            Some(known) => known,
            None if reads_all => self.find_leaves(cx, usize::MAX, true)?,
            None => self.find_leaves(cx, LEAVES_AT_FIRST, false)?,
        };
        if self.next >= known.oids.len() && !known.is_complete {
            known = self.find_leaves(cx, usize::MAX, false)?;
        }
        let group = known.group(self.next);
        self.next = group.end;
        self.leaves = Some(known);
        Ok(group)
    }

    /// Finds the leaves, or the first ones, and locks them if that is not done in turn.
    fn find_leaves(
        &mut self,
        cx: &mut ExecContext,
        wanted: usize,
        reads_all: bool,
    ) -> Result<Leaves> {
        let scan = scan_in(&self.plan)?;
        let found = scan.find_leaves(cx, wanted)?;
        let are_few = found.is_complete && wanted == LEAVES_AT_FIRST;
        let locks = !self.is_rescan && (are_few || scan.locks_rows());
        self.are_locked = reads_all || locks;
        let are_all = reads_all || locks && found.is_complete;
        if !self.are_kept && (!are_all || scan.is_parameterized) {
            scan.keep_files(cx)?;
            self.are_kept = true;
        }
        if self.are_locked {
            scan.lock(&found.oids, cx)?;
        }
        Ok(found)
    }

    /// Starts the next source of rows; false if there is none.
    fn start_next(&mut self, cx: &mut ExecContext, wanted: usize) -> Result<bool> {
        if scan_in(&self.plan)?.is_shared {
            return self.start_shared(cx);
        }
        while self.running.is_none() {
            let group = self.next_group(cx, wanted)?;
            if group.is_empty() {
                return Ok(false);
            }
            self.running = match group.len() {
                1 => {
                    let scan = self.scan_at(group.start, cx)?;
                    scan.map(|scan| Running::Leaf(ColumnInput::new(&scan, cx)))
                }
                _ => Some(self.merged(group, cx)?),
            };
        }
        Ok(true)
    }

    /// The scan of the leaf at a place; `None` if the leaf was dropped.
    fn scan_at(&mut self, at: usize, cx: &mut ExecContext) -> Result<Option<Arc<CPlan>>> {
        cx.check_interrupts()?;
        let leaf = self.leaves.as_ref().and_then(|leaves| leaves.oids.get(at).copied());
        self.scan_of(leaf.ok_or_else(|| Error::internal("a scan has lost a leaf"))?, cx)
    }

    fn merged(&mut self, group: Range<usize>, cx: &mut ExecContext) -> Result<Running> {
        let mut scans = Vec::with_capacity(group.len());
        for at in group {
            scans.extend(self.scan_at(at, cx)?);
        }
        let keys = &scan_in(&self.plan)?.keys;
        Ok(Running::Merged(Box::new(MergedInputs::new(keys, &scans, cx))))
    }

    fn fetch(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let (plan, whole) = (&self.plan, scan_in(&self.plan)?.template.is_whole);
        match &mut self.running {
            None => Ok(()),
            // Rows of a leaf may have additional columns that they are ordered by.
            Some(Running::Leaf(leaf)) if whole && self.scratch.width() > plan.width => {
                self.scratch.clear();
                self.scratch.wanted = out.wanted;
                let filled = leaf.node().next(cx, &mut self.scratch);
                let rows = self.scratch.iter();
                rows.for_each(|row| out.push(Row::of(&row[..plan.width])));
                filled
            }
            Some(Running::Leaf(leaf)) => pump(plan, leaf.node(), &mut self.scratch, cx, out),
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

/// PostgreSQL locks the tables first and then takes the snapshot. We lock leaves afterwards. In
/// between another transaction may have put rows into a new file (TRUNCATE and INSERT in one
/// transaction), where the snapshot does not see them. In READ COMMITTED the statement begins again
/// if the client has not seen any of its rows. Otherwise it fails.
fn check_not_overtaken(leaf: &LockedLeaf, cx: &mut ExecContext) -> Result<()> {
    if leaf.is_planned {
        return Ok(());
    }
    let planned = cx.functions.catalog.relation(leaf.relation.oid);
    let same_file = planned.is_none_or(|planned| planned.storage == leaf.relation.storage);
    if same_file || cx.txn()?.txn.isolation() != IsolationLevel::ReadCommitted {
        return Ok(());
    }
    cx.is_overtaken = true;
    Err(serialization("update"))
}

impl Node for PartitionScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        while self.running.is_some() || self.start_next(cx, out.wanted)? {
            self.fetch(cx, out)?;
            if !out.is_empty() {
                return Ok(());
            }
            self.running = None;
        }
        Ok(())
    }

    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        while self.running.is_some() || self.start_next(cx, out.wanted)? {
            match &mut self.running {
                Some(Running::Leaf(leaf)) => leaf.next(cx, out)?,
                _ => return Err(Error::internal("leaves that are merged hand up columns")),
            }
            if !out.is_empty() {
                return Ok(());
            }
            self.running = None;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.leaves = None;
        self.is_rescan = true;
        self.next = 0;
        self.running = None;
        Ok(())
    }
}
