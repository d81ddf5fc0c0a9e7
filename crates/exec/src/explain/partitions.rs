//! Scans of partitioned tables, as PostgreSQL shows them: an Append of the leaves' scans.
//!
//! The plan has one scan for all leaves; what is shown is what that comes to with the leaves
//! that there are, each under an alias of its own (`t_1`, `t_2` …).

use super::Explained;
use super::document::Node;
use super::plan::{Builder, Place, count};
use crate::context::LeafRun;
use crate::partition::{leaf_plan, leaves_known, whole_template};
use std::collections::HashMap;
use std::sync::Arc;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{ModifyTable, Plan, PlanNode, ScanRelation};

/// So many leaves are shown; of a table with more, their number is told.
const LEAVES_SHOWN_MAX: usize = 100;

/// A number of a node that has not run.
const NEVER: usize = usize::MAX / 2;

/// What the scan of a partitioned table comes to.
#[derive(Default)]
pub(super) struct Leaves {
    /// How many there are.
    total: usize,
    /// The first of them.
    shown: Vec<Leaf>,
    /// How many an analyzed execution has touched.
    touched: usize,
}

struct Leaf {
    plan: Plan,
    /// Where its nodes are numbered from.
    first_id: usize,
}

/// The leaves of each scan of a statement, by the scan's number.
#[derive(Default)]
pub(super) struct LeavesOfScans {
    scans: HashMap<usize, Leaves>,
    /// How many leaves are called after each alias.
    aliases: HashMap<Arc<str>, usize>,
    /// What UPDATE and DELETE change, which is shown under its own name besides its leaves.
    targets: Vec<ScanRelation>,
}

impl LeavesOfScans {
    /// Adds the scans of a plan whose nodes are numbered from `next` on.
    pub(super) fn add(&mut self, plan: &Plan, next: &mut usize, explained: Explained<'_>) {
        let id = *next;
        *next += 1;
        if let PlanNode::Modify(modify) = &plan.node {
            self.targets.push(modify.rel.clone());
        }
        if let PlanNode::PartitionScan { rel, template, conditions } = &plan.node {
            let whole = whole_template(plan);
            let template = whole.as_ref().unwrap_or(template);
            let leaves = self.leaves(id, (rel, conditions), template, explained);
            self.scans.insert(id, leaves);
            *next = id + count(plan);
            return;
        }
        let mut children = Vec::new();
        crate::deps::for_each_child(plan, &mut |child| children.push(child));
        for (i, child) in children.into_iter().enumerate() {
            // A hash join's Hash node has a number.
            *next += usize::from(i == 1 && matches!(plan.node, PlanNode::HashJoin { .. }));
            self.add(child, next, explained);
        }
    }

    fn leaves(
        &mut self,
        id: usize,
        (rel, conditions): (&ScanRelation, &[Expr]),
        template: &Plan,
        explained: Explained<'_>,
    ) -> Leaves {
        let catalog = explained.catalog;
        // A catalog that contradicts itself is what the scan itself complains about.
        let oids = leaves_known(catalog, &rel.relation, conditions).unwrap_or_default();
        let runs: HashMap<_, &LeafRun> = explained
            .leaf_runs
            .iter()
            .filter(|run| run.scan == id)
            .map(|run| (run.leaf, run))
            .collect();
        let mut shown = Vec::new();
        for oid in oids.iter().take(LEAVES_SHOWN_MAX) {
            let is_target = self.targets.iter().any(|target| is_same(target, rel));
            let alias = match oids.len() {
                1 if !is_target => rel.alias.clone(),
                _ => self.next_alias(&rel.alias),
            };
            let plan = catalog.relation(*oid);
            let plan = plan.and_then(|leaf| leaf_plan(template, catalog, leaf, &alias).ok());
            let first_id = runs.get(oid).map_or(NEVER, |run| run.first);
            shown.extend(plan.map(|plan| Leaf { plan, first_id }));
        }
        Leaves { total: oids.len(), shown, touched: runs.len() }
    }

    fn next_alias(&mut self, alias: &Arc<str>) -> Arc<str> {
        let used = self.aliases.entry(alias.clone()).or_default();
        *used += 1;
        format!("{alias}_{used}").into()
    }

    pub(super) fn get(&self, scan: usize) -> Option<&Leaves> {
        self.scans.get(&scan)
    }
}

impl<'a> Builder<'a> {
    /// The scan of a partitioned table that comes to less than an Append: of its only leaf, or
    /// of none.
    pub(super) fn single_leaf(
        &mut self,
        plan: &'a Plan,
        place: &Place,
        root: bool,
    ) -> Option<Node> {
        let id = self.next_id;
        let leaves = self.leaves.get(id).filter(|_| whole_template(plan).is_some())?;
        let node = match &leaves.shown[..] {
            [leaf] if leaves.total == 1 => {
                self.next_id = leaf.first_id;
                self.tree(&leaf.plan, place.clone(), root)
            }
            [] => self.no_leaf(plan, place.clone()),
            _ => return None,
        };
        self.next_id = id + count(plan);
        Some(node)
    }

    fn no_leaf(&mut self, plan: &Plan, place: Place) -> Node {
        let mut node = Node { headline: "Result".to_owned(), ..Node::default() };
        node.detail("Node Type", "Result");
        super::plan::put_place(&mut node, place);
        self.figures(&plan.cost, self.next_id, &mut node);
        node.property("One-Time Filter", "false");
        node
    }

    /// The leaves' scans below the Append that a scan is shown as.
    pub(super) fn leaf_scans(&mut self, plan: &'a Plan, id: usize, node: &mut Node) {
        let Some(leaves) = self.leaves.get(id) else { return };
        if leaves.total > LEAVES_SHOWN_MAX {
            node.property("Leaves", leaves.total as u64);
            if self.options.analyze {
                node.property("Leaves Touched", leaves.touched as u64);
            }
        }
        for leaf in &leaves.shown {
            self.next_id = leaf.first_id;
            let child = self.tree(&leaf.plan, Place::below("Member"), false);
            node.children.push(child);
        }
        self.next_id = id + count(plan);
    }

    /// The leaves that an UPDATE or DELETE may change: a line for each.
    pub(super) fn target_leaves(
        &self,
        modify: &ModifyTable,
        word: &str,
        id: usize,
        node: &mut Node,
    ) {
        let Some(scan) = scan_of(&modify.child, &modify.rel, &mut (id + 1)) else { return };
        for leaf in self.leaves.get(scan).iter().flat_map(|leaves| &leaves.shown) {
            if let Some(rel) = relation_of(&leaf.plan) {
                let mut target = Node { headline: word.to_owned(), ..Node::default() };
                self.target(rel, &mut target);
                node.line(target.headline);
            }
        }
    }
}

/// The number of the scan of a relation in a plan numbered from `next` on.
fn scan_of(plan: &Plan, rel: &ScanRelation, next: &mut usize) -> Option<usize> {
    let id = *next;
    *next += 1;
    if let PlanNode::PartitionScan { rel: scanned, .. } = &plan.node {
        *next = id + count(plan);
        return is_same(scanned, rel).then_some(id);
    }
    let mut children = Vec::new();
    crate::deps::for_each_child(plan, &mut |child| children.push(child));
    children.into_iter().enumerate().find_map(|(i, child)| {
        *next += usize::from(i == 1 && matches!(plan.node, PlanNode::HashJoin { .. }));
        scan_of(child, rel, next)
    })
}

fn is_same(a: &ScanRelation, b: &ScanRelation) -> bool {
    a.relation.oid == b.relation.oid && a.alias == b.alias
}

fn relation_of(plan: &Plan) -> Option<&ScanRelation> {
    match &plan.node {
        PlanNode::SeqScan { rel, .. } | PlanNode::IndexScan { rel, .. } => Some(rel),
        PlanNode::Append(children) => children.first().and_then(relation_of),
        _ => None,
    }
}
