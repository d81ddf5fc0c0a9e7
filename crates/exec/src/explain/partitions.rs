//! Scans of partitioned tables, as PostgreSQL shows them: an Append or Merge Append of the
//! leaves' scans.
//!
//! The plan has one scan for all leaves. EXPLAIN shows it with the leaves of the present catalog,
//! each under an alias of its own (`t_1`, `t_2` …).

use super::Explained;
use super::document::{Node, Value};
use super::names::Name;
use super::plan::{Builder, Place};
use crate::context::{Instrument, LeafRun};
use crate::deps::count_nodes;
use crate::partition::{KnownValues, LeafMember, LeafSet, LeafTemplate, Stage, order_of};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_sql::expr::SortKey;
use steppe_sql::partners::{MatchedLeaves, partner};
use steppe_sql::plan::{ModifyTable, Plan, PlanNode, ScanRelation};
use steppe_sql::query::Command;
use steppe_types::{Oid, Result};

/// The most leaves that are shown. For a table with more, EXPLAIN prints their number.
const LEAVES_SHOWN_MAX: usize = 100;

/// A number of a node that has not run.
const NEVER: usize = usize::MAX / 2;

/// The leaves of a scan of a partitioned table.
#[derive(Default)]
pub(super) struct Leaves {
    /// The number of leaves.
    total: usize,
    /// The number of other leaves that planning alone would have kept.
    removed: usize,
    /// The first of them.
    shown: Vec<Leaf>,
    /// Leaves that are shown below a node of their own, outermost and first ones first; all of
    /// them if all are merged.
    groups: Vec<Group>,
    /// A leaf does all that the scan does.
    is_whole: bool,
    /// The order wanted, over the leaves' rows.
    order: Vec<SortKey>,
    /// The number of leaves that an analyzed execution has touched.
    touched: usize,
}

/// The facts that decide the names of leaves.
struct Naming<'a> {
    /// The node above names their table.
    has_node_above: bool,
    shown: usize,
    total: usize,
    groups: &'a [Group],
}

#[derive(Clone)]
struct Group {
    leaves: Range<usize>,
    is_merge: bool,
}

impl Leaves {
    /// All of them are merged.
    fn is_merge(&self) -> bool {
        let all = |group: &Group| group.is_merge && group.leaves.len() == self.total;
        self.groups.first().is_some_and(all)
    }
}

struct Leaf {
    plan: Plan,
    /// The number of its first node.
    first_id: usize,
}

/// The leaves of each scan of a statement, by the scan's number.
#[derive(Default)]
pub(super) struct LeavesOfScans {
    scans: HashMap<usize, Leaves>,
    /// The number of times each alias has been given.
    used: HashMap<Arc<str>, usize>,
    /// The tables that UPDATE and DELETE change. EXPLAIN shows them by name besides their leaves.
    targets: Vec<ScanRelation>,
}

impl LeavesOfScans {
    /// Adds the scans of a plan whose nodes are numbered from `next` on.
    pub(super) fn add(&mut self, plan: &Plan, next: &mut usize, explained: Explained<'_>) {
        let id = *next;
        *next += 1;
        if let PlanNode::Modify(modify) = &plan.node {
            self.targets.push(modify.rel.clone());
            self.next_alias(&modify.rel.alias);
        }
        if let PlanNode::PartitionScan { .. } = &plan.node {
            // If the catalog or plan contradicts itself, the scan itself reports it.
            let leaves = self.leaves(id, plan, explained).ok().flatten();
            self.scans.insert(id, leaves.unwrap_or_default());
            *next = id + count_nodes(plan);
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
        plan: &Plan,
        explained: Explained<'_>,
    ) -> Result<Option<Leaves>> {
        let PlanNode::PartitionScan { rel, order, partners, matched, .. } = &plan.node else {
            return Ok(None);
        };
        let Some(template) = LeafTemplate::of(plan)? else { return Ok(None) };
        let Explained { stmt, env, params, is_generic, .. } = explained;
        let values = KnownValues { stmt, env, params };
        let at_first = KnownValues { params: if is_generic { &[] } else { params }, ..values };
        let planned = at_first.leaves_of(plan, Stage::Plan, true)?;
        let considered = planned.oids.len();
        // A scan of one leaf is not pruned again.
        let known = match considered {
            0 | 1 => planned,
            _ => values.leaves_of(plan, Stage::Start, true)?,
        };
        let places = match order.is_empty() {
            true => (0..known.oids.len()).collect(),
            false => by_bounds(&known.oids, &values.leaves_of(plan, Stage::Start, false)?.oids),
        };
        let groups = groups_of(&known);
        let shown = &known.oids[..known.oids.len().min(LEAVES_SHOWN_MAX)];
        let naming = Naming {
            has_node_above: considered != 1 && !matches!(template.plan.node, PlanNode::Agg { .. }),
            shown: shown.len(),
            total: known.oids.len(),
            groups: &groups,
        };
        let catalog = explained.catalog;
        let tables: Vec<&ScanRelation> =
            std::iter::once(rel).chain(partners.iter().map(|partner| &partner.rel)).collect();
        let joined = |leaf: &Oid| joined_leaves(catalog, matched.as_deref(), *leaf, &tables);
        let mut named: Vec<(&ScanRelation, Vec<Arc<str>>)> = Vec::with_capacity(tables.len());
        for (number, table) in tables.iter().enumerate() {
            let places = match matched {
                None => Cow::Borrowed(&places),
                Some(_) => {
                    let leaves = known.oids.iter().map(|leaf| Ok(joined(leaf)?[number]));
                    let leaves = leaves.collect::<Result<Vec<Oid>>>()?;
                    Cow::Owned(by_bounds(&leaves, &values.all_leaves(&table.relation)?))
                }
            };
            named.push((table, self.aliases(table, &places, &naming)));
        }
        let runs: HashMap<_, &LeafRun> = explained
            .leaf_runs
            .iter()
            .filter(|run| run.scan == id)
            .map(|run| (run.leaf, run))
            .collect();
        let mut leaves = Vec::with_capacity(shown.len());
        for (place, oid) in shown.iter().enumerate() {
            let member = |(leaf, (table, aliases)): (Oid, &(&ScanRelation, Vec<Arc<str>>))| {
                let (leaf, alias) = (catalog.relation(leaf).cloned(), aliases[place].clone());
                LeafMember { table: (*table).clone(), leaf, alias }
            };
            let members = joined(oid)?.into_iter().zip(&named).map(member).collect();
            let plan = template.plan_of(catalog, &LeafSet { members })?;
            leaves.push(Leaf { plan, first_id: runs.get(oid).map_or(NEVER, |run| run.first) });
        }
        let (total, removed) = (known.oids.len(), considered.saturating_sub(known.oids.len()));
        let LeafTemplate { is_whole, order, .. } = template;
        let touched = runs.len();
        Ok(Some(Leaves { total, removed, shown: leaves, groups, is_whole, order, touched }))
    }

    /// Aliases of the shown leaves: `t_1`, `t_2` … by their bounds, even if they are read in
    /// another order. The node above has the name `t`. A node above a group of leaves has another
    /// alias (select_rtable_names_for_explain).
    fn aliases(
        &mut self,
        rel: &ScanRelation,
        by_bounds: &[usize],
        naming: &Naming<'_>,
    ) -> Vec<Arc<str>> {
        let is_target = self.targets.iter().any(|target| is_same(target, rel));
        if naming.has_node_above && !is_target {
            self.next_alias(&rel.alias);
        }
        let mut aliases = vec![rel.alias.clone(); naming.shown];
        let mut named = vec![false; naming.groups.len()];
        for place in by_bounds.iter().copied().filter(|place| *place < naming.shown) {
            for (group, named) in naming.groups.iter().zip(&mut named) {
                let is_root = group.leaves.len() == naming.total;
                if group.leaves.contains(&place) && !*named && !is_root {
                    self.next_alias(&rel.alias);
                    *named = true;
                }
            }
            aliases[place] = self.next_alias(&rel.alias);
        }
        aliases
    }

    fn next_alias(&mut self, alias: &Arc<str>) -> Arc<str> {
        let used = self.used.entry(alias.clone()).or_default();
        *used += 1;
        match *used {
            1 => alias.clone(),
            further => format!("{alias}_{}", further - 1).into(),
        }
    }

    pub(super) fn get(&self, scan: usize) -> Option<&Leaves> {
        self.scans.get(&scan)
    }
}

impl<'a> Builder<'a> {
    /// The scan of a partitioned table that has only one leaf, or none, and so needs no Append.
    pub(super) fn single_leaf(
        &mut self,
        plan: &'a Plan,
        place: &Place,
        root: bool,
    ) -> Option<Node> {
        let id = self.next_id;
        let leaves = self.leaves.get(id).filter(|leaves| leaves.is_whole)?;
        let node = match &leaves.shown[..] {
            [leaf] if leaves.total + leaves.removed == 1 => {
                self.next_id = leaf.first_id;
                self.tree(&leaf.plan, place.clone(), root)
            }
            [] if leaves.removed == 0 => self.no_leaf(plan, place.clone()),
            _ => return None,
        };
        self.next_id = id + count_nodes(plan);
        Some(node)
    }

    fn no_leaf(&mut self, plan: &Plan, place: Place) -> Node {
        let mut node = Node { headline: "Result".to_owned(), ..Node::default() };
        node.detail("Node Type", "Result");
        super::plan::put_place(&mut node, place);
        self.figures(&plan.cost, self.instrument(self.next_id), &mut node);
        node.property("One-Time Filter", "false");
        node
    }

    /// Whether a scan is shown as one merge of all leaves.
    pub(super) fn is_merge(&self, id: usize) -> bool {
        self.leaves.get(id).is_some_and(Leaves::is_merge)
    }

    /// Prints the number of leaves that planning alone would have kept.
    pub(super) fn put_removed(&self, id: usize, node: &mut Node) {
        match self.leaves.get(id).map_or(0, |leaves| leaves.removed) {
            0 => node.detail("Subplans Removed", 0),
            removed => node.property("Subplans Removed", removed as u64),
        }
    }

    /// The sort keys of a merge of all leaves.
    pub(super) fn merge_keys(&self, plan: &Plan, node: &mut Node) {
        // If the plan contradicts itself, the scan itself reports it.
        let order = order_of(plan).unwrap_or_default();
        self.put_sort_keys(&order, &self.input(plan, true), node);
    }

    fn put_sort_keys(&self, order: &[SortKey], slots: &[Name], node: &mut Node) {
        let keys = order.iter().map(|key| self.sort_key(key, slots)).collect();
        node.property("Sort Key", Value::List(keys));
    }

    /// The leaves' scans below the node that a scan is shown as.
    pub(super) fn leaf_scans(&mut self, plan: &'a Plan, id: usize, node: &mut Node) {
        let Some(leaves) = self.leaves.get(id) else { return };
        if leaves.total > LEAVES_SHOWN_MAX {
            node.property("Leaves", leaves.total as u64);
            if self.options.analyze {
                node.property("Leaves Touched", leaves.touched as u64);
            }
        }
        let mut groups = leaves.groups.iter().skip(usize::from(leaves.is_merge())).peekable();
        self.members(leaves, 0..leaves.shown.len(), &mut groups, node);
        self.next_id = id + count_nodes(plan);
    }

    /// Some leaves' scans. Groups of them are below a node of their own.
    fn members(
        &mut self,
        leaves: &'a Leaves,
        range: Range<usize>,
        groups: &mut Peekable<impl Iterator<Item = &'a Group>>,
        node: &mut Node,
    ) {
        let mut at = range.start;
        while let Some(leaf) = leaves.shown[..range.end].get(at) {
            if let Some(group) = groups.next_if(|group| group.leaves.start == at) {
                let shown = at..group.leaves.end.min(leaves.shown.len());
                let mut above = self.group(leaves, group, &leaves.shown[shown.clone()]);
                self.members(leaves, shown.clone(), groups, &mut above);
                node.children.push(above);
                at = shown.end;
                continue;
            }
            self.next_id = leaf.first_id;
            node.children.push(self.tree(&leaf.plan, Place::below("Member"), false));
            at += 1;
        }
    }

    /// The node above a group of leaves. It has no counters of its own: its rows are the leaves'
    /// rows.
    fn group(&self, leaves: &Leaves, group: &Group, members: &[Leaf]) -> Node {
        let kind = if group.is_merge { "Merge Append" } else { "Append" };
        let mut node = Node { headline: kind.to_owned(), ..Node::default() };
        node.detail("Node Type", kind);
        super::plan::put_place(&mut node, Place::below("Member"));
        let mut cost = members.first().map(|leaf| leaf.plan.cost).unwrap_or_default();
        let mut done = Instrument::default();
        for leaf in members {
            cost.total = cost.total.max(leaf.plan.cost.total);
            if let Some(leaf) = self.explained.instruments.get(leaf.first_id) {
                done.rows += leaf.rows;
                done.loops = done.loops.max(leaf.loops);
                done.startup = done.startup.max(leaf.startup);
                done.total += leaf.total;
            }
        }
        self.figures(&cost, Some(&done), &mut node);
        if group.is_merge
            && let Some(first) = members.first()
        {
            self.put_sort_keys(&leaves.order, &self.output(&first.plan, true), &mut node);
        }
        node
    }

    /// The leaves that an UPDATE or DELETE may change: a line for each.
    pub(super) fn target_leaves(
        &self,
        modify: &ModifyTable,
        word: &str,
        id: usize,
        node: &mut Node,
    ) {
        if modify.command == Command::Insert {
            return;
        }
        for member in &modify.members {
            // A leaf that its constraints exclude is not read.
            let Some(read) = member_in(&modify.child, member, &modify.rel) else { continue };
            let mut target = Node { headline: word.to_owned(), ..Node::default() };
            self.target(read, &mut target);
            node.line(target.headline);
        }
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

/// A leaf of the first table, and the leaves of the others that are joined with it.
fn joined_leaves(
    catalog: &Catalog,
    matched: Option<&MatchedLeaves>,
    leaf: Oid,
    tables: &[&ScanRelation],
) -> Result<Vec<Oid>> {
    let Some((first, others)) = tables.split_first() else { return Ok(Vec::new()) };
    let root = first.relation.oid;
    let others = others.iter().enumerate().map(|(number, table)| {
        partner(catalog, matched, (leaf, root), (number, table.relation.oid))
    });
    std::iter::once(Ok(leaf)).chain(others).collect()
}

/// The groups of leaves that are shown below nodes of their own.
fn groups_of(leaves: &crate::partition::Leaves) -> Vec<Group> {
    let group = |leaves: &Range<usize>, is_merge| Group { leaves: leaves.clone(), is_merge };
    let merged = leaves.merged.iter().map(|leaves| group(leaves, true));
    let nested = leaves.nested.iter().filter(|nested| nested.len() < leaves.oids.len());
    let nested = nested.map(|leaves| group(leaves, false));
    let mut groups: Vec<Group> = merged.chain(nested).collect();
    groups.sort_by_key(|group| (group.leaves.start, Reverse(group.leaves.end)));
    groups
}

/// The places of leaves in a list, in the order of the leaves' bounds.
fn by_bounds(leaves: &[Oid], all: &[Oid]) -> Vec<usize> {
    let places: HashMap<Oid, usize> = leaves.iter().copied().zip(0..).collect();
    all.iter().filter_map(|leaf| places.get(leaf).copied()).collect()
}

/// The scan of a table that is read as one of the descendants of `of`.
fn member_in<'p>(
    plan: &'p Plan,
    member: &ScanRelation,
    of: &ScanRelation,
) -> Option<&'p ScanRelation> {
    let is_it = |rel: &&ScanRelation| {
        let number = rel.alias.strip_prefix(&*of.alias);
        rel.relation.oid == member.relation.oid
            && number.is_some_and(|n| n.is_empty() || n.starts_with('_'))
    };
    if let Some(found) = relation_of(plan).filter(is_it) {
        return Some(found);
    }
    let mut children = Vec::new();
    crate::deps::for_each_child(plan, &mut |child| children.push(child));
    children.into_iter().find_map(|child| member_in(child, member, of))
}

/// The number of the scan of a relation in a plan numbered from `next` on.
fn scan_of(plan: &Plan, rel: &ScanRelation, next: &mut usize) -> Option<usize> {
    let id = *next;
    *next += 1;
    if let PlanNode::PartitionScan { rel: scanned, .. } = &plan.node {
        *next = id + count_nodes(plan);
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
        PlanNode::SeqScan { rel, .. }
        | PlanNode::IndexScan { rel, .. }
        | PlanNode::BitmapScan { rel, .. }
        | PlanNode::TidScan { rel, .. } => Some(rel),
        PlanNode::Append(children) => children.first().and_then(relation_of),
        PlanNode::Sort { child, .. } => relation_of(child),
        _ => None,
    }
}
