//! From a plan and its counters to a [`Node`] tree: numbers, figures, sub-plans.
//!
//! Nodes are numbered in pre-order as the compiler numbers them, a hash join's
//! Hash node included, so that each finds its counters.

use super::decimals::{hundredths, whole};
use super::document::{Buffers, Node, Value};
use super::names::Name;
use super::partitions::LeavesOfScans;
use super::{ExplainOptions, Explained, milliseconds};
use crate::context::Instrument;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::time::Duration;
use steppe_sql::expr::{ExecParamId, Expr, SubPlan, SubPlanId};
use steppe_sql::plan::{Cost, InnerRows, Plan, PlanNode};
use steppe_sql::query::Command;

/// A block of a spill file, in bytes.
const BLOCK_BYTES: u64 = 8192;

/// Builds the tree.
pub(super) struct Builder<'a> {
    pub(super) explained: Explained<'a>,
    pub(super) options: ExplainOptions,
    /// Columns of several relations occur. They are shown with their relation's name.
    pub(super) many_relations: bool,
    /// The expressions of the parameters set by the nodes above.
    pub(super) exec_params: HashMap<ExecParamId, String>,
    /// The leaves of the scans of partitioned tables.
    pub(super) leaves: &'a LeavesOfScans,
    pub(super) next_id: usize,
    /// The first node number of each sub-plan.
    subplan_ids: Vec<usize>,
    /// Sub-plans printed already.
    shown: BTreeSet<SubPlanId>,
}

/// The place of a node below another.
#[derive(Clone, Default)]
pub(super) struct Place {
    relationship: Option<&'static str>,
    plan_name: Option<String>,
    /// The threads that run the node share its rows.
    parallel_aware: bool,
}

impl Place {
    pub(super) fn below(relationship: &'static str) -> Place {
        Place { relationship: Some(relationship), ..Place::default() }
    }
}

/// The tree of a statement.
pub(super) fn document(explained: Explained<'_>, options: ExplainOptions) -> Node {
    let stmt = explained.stmt;
    let (mut next, mut leaves) = (0, LeavesOfScans::default());
    leaves.add(&stmt.plan, &mut next, explained);
    let mut subplan_ids = Vec::with_capacity(stmt.subplans.len());
    for plan in &stmt.subplans {
        subplan_ids.push(next);
        leaves.add(plan, &mut next, explained);
    }
    let relations = std::iter::once(&stmt.plan).chain(&stmt.subplans).map(relations).sum::<usize>();
    let mut builder = Builder {
        explained,
        options,
        many_relations: relations > 1,
        exec_params: HashMap::new(),
        leaves: &leaves,
        next_id: 0,
        subplan_ids,
        shown: BTreeSet::new(),
    };
    builder.tree(&stmt.plan, Place::default(), true)
}

/// The number of range table entries that a plan stands for.
fn relations(plan: &Plan) -> usize {
    let mut total = match &plan.node {
        PlanNode::SeqScan { .. }
        | PlanNode::IndexScan { .. }
        | PlanNode::BitmapScan { .. }
        | PlanNode::TidScan { .. }
        | PlanNode::FunctionScan { .. }
        | PlanNode::SubqueryScan { .. }
        | PlanNode::CteScan { .. }
        | PlanNode::WorkTableScan { .. }
        | PlanNode::Values(_)
        // The sub-select whose condition that was.
        | PlanNode::WindowAgg { run_condition: Some(_), .. }
        // Besides its leaves.
        | PlanNode::PartitionScan { .. } => 1,
        // UPDATE and DELETE scan the table as well.
        PlanNode::Modify(modify) => usize::from(modify.command == Command::Insert),
        _ => 0,
    };
    crate::deps::for_each_child(plan, &mut |child| total += relations(child));
    total
}

impl<'a> Builder<'a> {
    /// A node with all below it. `root`: of the statement or a sub-plan.
    pub(super) fn tree(&mut self, plan: &'a Plan, place: Place, root: bool) -> Node {
        if let PlanNode::PartitionScan { .. } = &plan.node
            && let Some(node) = self.single_leaf(plan, &place, root)
        {
            return node;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.name_parameters(plan);
        let mut node = Node::default();
        self.kind(plan, id, &mut node);
        let parallel_aware = matches!(
            &plan.node,
            PlanNode::SeqScan { parallel: true, .. }
                | PlanNode::HashJoin { inner_rows: InnerRows::Together, .. }
        );
        put_place(&mut node, Place { parallel_aware, ..place });
        self.identity(plan, &mut node);
        self.figures(&plan.cost, self.instrument(id), &mut node);
        if self.options.verbose {
            self.put_output(plan, &mut node);
        }
        self.properties(plan, id, &mut node);
        self.resources(id, &mut node);
        if root {
            let mut initial = Vec::new();
            collect_initial(plan, &mut initial);
            self.sub_plans(initial, "InitPlan", &mut node);
        }
        match &plan.node {
            PlanNode::PartitionScan { .. } => self.leaf_scans(plan, id, &mut node),
            _ => self.children(plan, &mut node),
        }
        let mut used = Vec::new();
        crate::deps::for_each_shown_expr(plan, &mut |e| collect_subplans(e, false, &mut used));
        self.sub_plans(used, "SubPlan", &mut node);
        node
    }

    /// Records the expressions of the parameters that this node sets for the nodes below it.
    fn name_parameters(&mut self, plan: &'a Plan) {
        if let PlanNode::NestLoop { outer, params, .. } = &plan.node {
            let slots = self.output(outer, true);
            for (id, expr) in params {
                let text = self.text(expr, &slots);
                self.exec_params.insert(*id, text);
            }
        }
        let mut subs: Vec<&SubPlan> = Vec::new();
        crate::deps::for_each_shown_expr(plan, &mut |e| collect_correlated(e, &mut subs));
        if subs.is_empty() {
            return;
        }
        self.name_arguments(&subs, &self.own_input(plan, true));
        // The filter and the output are over the node's result.
        subs.clear();
        let above = plan.filter.iter().chain(plan.project.iter().flatten());
        above.for_each(|e| collect_correlated(e, &mut subs));
        self.name_arguments(&subs, &self.input(plan, true));
    }

    /// Records the expressions of the parameters of sub-plans, over a row of such slots.
    fn name_arguments(&mut self, subs: &[&SubPlan], slots: &[Name]) {
        for (id, expr) in subs.iter().flat_map(|sub| &sub.args) {
            let text = self.text(expr, slots);
            self.exec_params.insert(*id, text);
        }
    }

    /// Estimates and, with ANALYZE, the counters.
    pub(super) fn figures(&self, cost: &Cost, done: Option<&Instrument>, node: &mut Node) {
        if self.options.costs {
            let [startup, total] = [cost.startup, cost.total].map(hundredths);
            let (rows, width) = (whole(cost.rows), cost.width);
            let _ = write!(node.headline, "  (cost={startup}..{total} rows={rows} width={width})");
            node.detail("Startup Cost", Value::Number(startup));
            node.detail("Total Cost", Value::Number(total));
            node.detail("Plan Rows", Value::Number(rows));
            node.detail("Plan Width", Value::from(u64::from(cost.width)));
        }
        if self.options.analyze {
            self.actual(done, node);
        }
        node.detail("Disabled", Value::Bool(false));
    }

    fn actual(&self, done: Option<&Instrument>, node: &mut Node) {
        let Some(done) = done.filter(|done| done.loops > 0) else {
            node.headline.push_str(" (never executed)");
            if self.options.timing {
                node.detail("Actual Startup Time", Value::Number("0.000".to_owned()));
                node.detail("Actual Total Time", Value::Number("0.000".to_owned()));
            }
            node.detail("Actual Rows", Value::from(0));
            node.detail("Actual Loops", Value::from(0));
            return;
        };
        let loops = done.loops as f64;
        let each =
            |time: Duration| milliseconds(Duration::from_secs_f64(time.as_secs_f64() / loops));
        let rows = format!("{:.2}", done.rows as f64 / loops);
        node.headline.push_str(" (actual ");
        if self.options.timing {
            let (startup, total) = (each(done.startup), each(done.total));
            let _ = write!(node.headline, "time={startup}..{total} ");
            node.detail("Actual Startup Time", Value::Number(startup));
            node.detail("Actual Total Time", Value::Number(total));
        }
        let _ = write!(node.headline, "rows={rows} loops={})", done.loops);
        node.detail("Actual Rows", Value::Number(rows));
        node.detail("Actual Loops", Value::from(done.loops));
    }

    /// BUFFERS and WAL, the children's included.
    fn resources(&self, id: usize, node: &mut Node) {
        let done = self.explained.instruments.get(id);
        if self.options.buffers && self.options.analyze {
            let buffers = done.map_or_else(Buffers::default, |done| Buffers {
                shared: done.usage,
                temp: (
                    done.spill_read_bytes.div_ceil(BLOCK_BYTES),
                    done.spill_written_bytes.div_ceil(BLOCK_BYTES),
                ),
            });
            if let Some(line) = buffers.line() {
                node.line(line);
            }
            if let Some(line) = buffers.times_line() {
                node.line(line);
            }
            for (label, count) in buffers.details() {
                node.detail(label, count);
            }
            for (label, time) in buffers.times_details() {
                node.detail(label, time);
            }
        }
        if self.options.wal {
            let usage = done.map(|done| done.usage).unwrap_or_default();
            if usage.log_records > 0 {
                node.line(format!("WAL: records={} bytes={}", usage.log_records, usage.log_bytes));
            }
            node.detail("WAL Records", usage.log_records);
            node.detail("WAL FPI", 0);
            node.detail("WAL Bytes", usage.log_bytes);
            node.detail("WAL Buffers Full", 0);
        }
    }

    /// The counters of a node, with ANALYZE.
    pub(super) fn instrument(&self, id: usize) -> Option<&'a Instrument> {
        self.explained.instruments.get(id).filter(|_| self.options.analyze)
    }

    /// VERBOSE's "Output". An Append's is its children's, and is not shown.
    fn put_output(&self, plan: &Plan, node: &mut Node) {
        let is_hidden = match &plan.node {
            PlanNode::Append(_)
            | PlanNode::MergeAppend { .. }
            | PlanNode::PartitionScan { .. }
            | PlanNode::RecursiveUnion { .. } => true,
            PlanNode::Modify(modify) => !modify.returning,
            _ => false,
        };
        let slots = self.input(plan, self.many_relations);
        let columns: Vec<String> = match &plan.project {
            Some(project) => self.list(project, &slots),
            None => slots.into_iter().map(|name| name.own.to_string()).collect(),
        };
        if !is_hidden && !columns.is_empty() {
            node.property("Output", Value::List(columns));
        }
    }

    fn sub_plans(
        &mut self,
        used: Vec<(SubPlanId, String)>,
        relationship: &'static str,
        node: &mut Node,
    ) {
        let resume = self.next_id;
        let stmt = self.explained.stmt;
        for (sub, name) in used {
            let Some(plan) = stmt.subplans.get(sub) else { continue };
            if !self.shown.insert(sub) {
                continue;
            }
            self.next_id = self.subplan_ids[sub];
            let relationship = Some(relationship);
            let place = Place { relationship, plan_name: Some(name), parallel_aware: false };
            let child = self.tree(plan, place, true);
            node.children.push(child);
        }
        self.next_id = resume;
    }

    fn children(&mut self, plan: &'a Plan, node: &mut Node) {
        let relationships: &[&str] = match &plan.node {
            PlanNode::Append(_) | PlanNode::MergeAppend { .. } => &["Member"],
            PlanNode::SubqueryScan { .. } => &["Subquery"],
            _ => &["Outer", "Inner"],
        };
        let mut children = Vec::new();
        crate::deps::for_each_child(plan, &mut |child| children.push(child));
        for (i, child) in children.into_iter().enumerate() {
            let place = Place::below(relationships[i.min(relationships.len() - 1)]);
            let built = match &plan.node {
                PlanNode::HashJoin { inner_rows, .. } if i == 1 => {
                    let parallel_aware = *inner_rows == InnerRows::Together;
                    self.hash(child, Place { parallel_aware, ..place })
                }
                _ => self.tree(child, place, false),
            };
            node.children.push(built);
        }
    }

    /// The Hash node above a hash join's inner side. Its rows are its input's.
    fn hash(&mut self, inner: &'a Plan, place: Place) -> Node {
        let id = self.next_id;
        self.next_id += 1;
        let headline = if place.parallel_aware { "Parallel Hash" } else { "Hash" };
        let mut node = Node { headline: headline.to_owned(), ..Node::default() };
        node.detail("Node Type", "Hash");
        put_place(&mut node, place);
        let cost = Cost { startup: inner.cost.total, ..inner.cost };
        self.figures(&cost, self.instrument(id + 1), &mut node);
        if self.options.verbose {
            let columns = self.output(inner, self.many_relations);
            let columns = columns.into_iter().map(|name| name.own.to_string()).collect();
            node.property("Output", Value::List(columns));
        }
        self.put_note(id, &mut node);
        self.resources(id + 1, &mut node);
        let child = self.tree(inner, Place::below("Outer"), false);
        node.children.push(child);
        node
    }
}

pub(super) fn put_place(node: &mut Node, place: Place) {
    if let Some(relationship) = place.relationship {
        node.detail("Parent Relationship", relationship);
    }
    if let Some(name) = &place.plan_name {
        node.detail("Subplan Name", name.clone());
    }
    node.plan_name = place.plan_name;
    node.detail("Parallel Aware", Value::Bool(place.parallel_aware));
    node.detail("Async Capable", Value::Bool(false));
}

/// The sub-plans with parameters in an expression.
fn collect_correlated<'a>(expr: &'a Expr, out: &mut Vec<&'a SubPlan>) {
    if let Expr::SubPlan(sub) = expr
        && !sub.args.is_empty()
    {
        out.push(sub);
    }
    expr.for_each_child(&mut |child| collect_correlated(child, out));
}

/// The sub-plans of one kind in an expression, with their labels.
fn collect_subplans(expr: &Expr, initial: bool, out: &mut Vec<(SubPlanId, String)>) {
    if let Expr::SubPlan(sub) = expr
        && sub.runs_once() == initial
    {
        let word = if initial { "InitPlan" } else { "SubPlan" };
        out.push((sub.plan, format!("{word} {}", sub.plan + 1)));
    }
    expr.for_each_child(&mut |child| collect_subplans(child, initial, out));
}

/// CTEs and the sub-plans that run once in a whole tree.
fn collect_initial(plan: &Plan, out: &mut Vec<(SubPlanId, String)>) {
    if let PlanNode::CteScan { plan, name } = &plan.node {
        out.push((*plan, format!("CTE {name}")));
    }
    crate::deps::for_each_shown_expr(plan, &mut |e| collect_subplans(e, true, out));
    crate::deps::for_each_child(plan, &mut |child| collect_initial(child, out));
}
