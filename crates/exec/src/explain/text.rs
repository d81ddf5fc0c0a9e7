//! EXPLAIN's text format (PostgreSQL's explain.c).
//!
//! Nodes are numbered in pre-order as the compiler numbers them, a hash join's
//! Hash node included, so that each finds its counters.

use super::deparse::{Names, aggregate, deparse, sort_key};
use crate::context::Instrument;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use steppe_sql::expr::{Expr, SubPlanId};
use steppe_sql::plan::{AggStrategy, Plan, PlanNode, PlannedStmt, ScanRelation};
use steppe_sql::query::{Command, JoinKind, SetOp};

/// Options of EXPLAIN.
#[derive(Clone, Copy, Debug)]
pub struct ExplainOptions {
    /// ANALYZE
    pub analyze: bool,
    /// VERBOSE
    pub verbose: bool,
    /// COSTS
    pub costs: bool,
    /// TIMING
    pub timing: bool,
    /// BUFFERS
    pub buffers: bool,
    /// SUMMARY
    pub summary: bool,
}

impl Default for ExplainOptions {
    fn default() -> ExplainOptions {
        ExplainOptions {
            analyze: false,
            verbose: false,
            costs: true,
            timing: true,
            buffers: false,
            summary: false,
        }
    }
}

struct Printer<'a> {
    stmt: &'a PlannedStmt,
    options: ExplainOptions,
    instruments: &'a [Instrument],
    next_id: usize,
    /// Where each sub-plan's numbering starts.
    subplan_ids: Vec<usize>,
    /// Sub-plans printed already.
    shown: BTreeSet<SubPlanId>,
    /// The prefix to drop from names: there is one relation, so columns need no qualification.
    unqualified: Option<String>,
    lines: Vec<String>,
}

/// The lines of EXPLAIN over a plan; with ANALYZE, `instruments` has the counters.
pub fn explain(
    stmt: &PlannedStmt,
    options: ExplainOptions,
    instruments: &[Instrument],
) -> Vec<String> {
    let mut next = count(&stmt.plan);
    let mut subplan_ids = Vec::with_capacity(stmt.subplans.len());
    for plan in &stmt.subplans {
        subplan_ids.push(next);
        next += count(plan);
    }
    let mut printer = Printer {
        stmt,
        options,
        instruments,
        next_id: 0,
        subplan_ids,
        shown: BTreeSet::new(),
        unqualified: (!options.verbose).then(|| only_alias(stmt)).flatten(),
        lines: Vec::new(),
    };
    printer.node(&stmt.plan, None, true);
    printer.lines
}

/// Numbers a plan takes.
fn count(plan: &Plan) -> usize {
    let mut total = 1 + usize::from(matches!(plan.node, PlanNode::HashJoin { .. }));
    crate::deps::for_each_child(plan, &mut |child| total += count(child));
    total
}

/// The alias of the statement's only relation, with its dot.
fn only_alias(stmt: &PlannedStmt) -> Option<String> {
    let mut aliases = Vec::new();
    std::iter::once(&stmt.plan).chain(&stmt.subplans).for_each(|p| scans(p, &mut aliases));
    match &aliases[..] {
        [only] => Some(format!("{only}.")),
        _ => None,
    }
}

fn scans(plan: &Plan, out: &mut Vec<Arc<str>>) {
    match &plan.node {
        PlanNode::SeqScan { rel, .. } | PlanNode::IndexScan { rel, .. } => {
            out.push(rel.alias.clone());
        }
        PlanNode::FunctionScan { alias, .. } | PlanNode::SubqueryScan { alias, .. } => {
            out.push(alias.clone());
        }
        PlanNode::CteScan { name, .. } | PlanNode::WorkTableScan { name, .. } => {
            out.push(name.clone());
        }
        PlanNode::Values(_) => out.push("*VALUES*".into()),
        _ => {}
    }
    crate::deps::for_each_child(plan, &mut |child| scans(child, out));
}

fn join_name(base: &str, kind: JoinKind) -> String {
    let word = match kind {
        JoinKind::Inner if base == "Nested Loop" => return base.to_owned(),
        JoinKind::Inner => return format!("{base} Join"),
        JoinKind::Left => "Left",
        JoinKind::Right => "Right",
        JoinKind::Full => "Full",
        JoinKind::Semi => "Semi",
        JoinKind::Anti => "Anti",
    };
    format!("{base} {word} Join")
}

impl Printer<'_> {
    fn names<'a>(&'a self, slots: &'a [Arc<str>]) -> Names<'a> {
        Names { slots, unqualified: self.unqualified.as_deref() }
    }

    fn relation(&self, rel: &ScanRelation) -> String {
        let name = &rel.relation.name;
        if *name == rel.alias { name.to_string() } else { format!("{name} {}", rel.alias) }
    }

    /// A node's headline without costs.
    fn title(&self, plan: &Plan) -> String {
        match &plan.node {
            PlanNode::Result { .. } => "Result".to_owned(),
            PlanNode::Values(_) => "Values Scan on \"*VALUES*\"".to_owned(),
            PlanNode::FunctionScan { calls, alias, .. } => {
                let name = match calls.first() {
                    Some((Expr::Func { func, .. }, _)) => {
                        steppe_catalog::Builtins::get().proc(*func).map_or("?", |p| p.name)
                    }
                    _ => "?",
                };
                if name == &**alias {
                    format!("Function Scan on {name}")
                } else {
                    format!("Function Scan on {name} {alias}")
                }
            }
            PlanNode::SeqScan { rel, .. } => format!("Seq Scan on {}", self.relation(rel)),
            PlanNode::IndexScan { rel, index, backward, index_only, .. } => {
                let kind = if *index_only { "Index Only Scan" } else { "Index Scan" };
                let direction = if *backward { " Backward" } else { "" };
                format!("{kind}{direction} using {} on {}", index.name, self.relation(rel))
            }
            PlanNode::NestLoop { kind, .. } => join_name("Nested Loop", *kind),
            PlanNode::HashJoin { kind, .. } => join_name("Hash", *kind),
            PlanNode::MergeJoin { kind, .. } => join_name("Merge", *kind),
            PlanNode::Materialize(_) => "Materialize".to_owned(),
            PlanNode::Sort { .. } => "Sort".to_owned(),
            PlanNode::Limit { .. } => "Limit".to_owned(),
            PlanNode::Agg { strategy: AggStrategy::Plain, .. } => "Aggregate".to_owned(),
            PlanNode::Agg { strategy: AggStrategy::Hashed, .. } => "HashAggregate".to_owned(),
            PlanNode::Agg { aggregates, .. } if aggregates.is_empty() => "Group".to_owned(),
            PlanNode::Agg { .. } => "GroupAggregate".to_owned(),
            PlanNode::Unique { .. } => "Unique".to_owned(),
            PlanNode::Append(_) => "Append".to_owned(),
            PlanNode::SetOp { op, all, .. } => {
                let op = match op {
                    SetOp::Union => "Union",
                    SetOp::Intersect => "Intersect",
                    SetOp::Except => "Except",
                };
                format!("HashSetOp {op}{}", if *all { " All" } else { "" })
            }
            PlanNode::SubqueryScan { alias, .. } => format!("Subquery Scan on {alias}"),
            PlanNode::ProjectSet(_) => "ProjectSet".to_owned(),
            PlanNode::LockRows { .. } => "LockRows".to_owned(),
            PlanNode::CteScan { name, .. } => format!("CTE Scan on {name}"),
            PlanNode::RecursiveUnion { .. } => "Recursive Union".to_owned(),
            PlanNode::WorkTableScan { name, .. } => format!("WorkTable Scan on {name}"),
            PlanNode::Modify(modify) => {
                let word = match modify.command {
                    Command::Insert => "Insert",
                    Command::Update => "Update",
                    _ => "Delete",
                };
                format!("{word} on {}", self.relation(&modify.rel))
            }
        }
    }

    fn figures(&self, plan: &Plan, id: usize, line: &mut String) {
        if self.options.costs {
            let c = &plan.cost;
            let _ = write!(
                line,
                "  (cost={:.2}..{:.2} rows={:.0} width={})",
                c.startup, c.total, c.rows, c.width
            );
        }
        self.actual(id, line);
    }

    fn actual(&self, id: usize, line: &mut String) {
        if !self.options.analyze {
            return;
        }
        match self.instruments.get(id) {
            Some(i) if i.loops > 0 => {
                let loops = i.loops as f64;
                let rows = i.rows as f64 / loops;
                let _ = if self.options.timing {
                    write!(
                        line,
                        " (actual time={:.3}..{:.3} rows={rows:.0} loops={})",
                        i.startup.as_secs_f64() * 1000.0 / loops,
                        i.total.as_secs_f64() * 1000.0 / loops,
                        i.loops
                    )
                } else {
                    write!(line, " (actual rows={rows:.0} loops={})", i.loops)
                };
            }
            _ => line.push_str(" (never executed)"),
        }
    }

    /// A node's headline: behind an arrow at a column, or at the very start.
    fn headline(&mut self, arrow: Option<usize>, text: &str) {
        self.lines.push(match arrow {
            None => text.to_owned(),
            Some(column) => format!("{}->  {text}", " ".repeat(column)),
        });
    }

    /// A property line under a node's headline.
    fn property(&mut self, at: usize, text: String) {
        self.lines.push(format!("{}{text}", " ".repeat(at)));
    }

    /// Prints a node with all below it. Properties stand two columns right of the headline's
    /// text, which is also where the children's arrows are.
    fn plan(&mut self, plan: &Plan, arrow: Option<usize>) {
        self.node(plan, arrow, false);
    }

    fn node(&mut self, plan: &Plan, arrow: Option<usize>, root: bool) {
        let id = self.next_id;
        self.next_id += 1;
        let at = arrow.map_or(2, |column| column + 6);
        let mut line = self.title(plan);
        self.figures(plan, id, &mut line);
        self.headline(arrow, &line);
        if self.options.verbose {
            self.output(plan, at);
        }
        self.details(plan, at, id);
        self.subplans(plan, at, root);
        self.children(plan, at);
    }

    fn output(&mut self, plan: &Plan, at: usize) {
        let names = self.names(&plan.slot_names);
        let columns: Vec<String> = match &plan.project {
            Some(project) => project.iter().map(|e| deparse(e, &names)).collect(),
            None => plan.slot_names.iter().map(|n| names.shown(n)).collect(),
        };
        if !columns.is_empty() {
            self.property(at, format!("Output: {}", columns.join(", ")));
        }
    }

    fn condition(&mut self, at: usize, label: &str, expr: &Expr, slots: &[Arc<str>]) {
        let text = deparse(expr, &self.names(slots));
        let text = if text.starts_with('(') { text } else { format!("({text})") };
        self.property(at, format!("{label}: {text}"));
    }

    fn details(&mut self, plan: &Plan, at: usize, id: usize) {
        match &plan.node {
            PlanNode::Result { one_time_filter: Some(filter), .. } => {
                self.condition(at, "One-Time Filter", filter, &[]);
            }
            PlanNode::IndexScan { rel, range, .. } => {
                let columns = rel.relation.columns.iter();
                let names: Vec<Arc<str>> = columns.map(|c| c.name.clone()).collect();
                if !range.conditions.is_empty() {
                    let names = self.names(&names);
                    let parts: Vec<String> =
                        range.conditions.iter().map(|c| deparse(c, &names)).collect();
                    let text = match &parts[..] {
                        [one] => one.clone(),
                        many => format!("({})", many.join(" AND ")),
                    };
                    self.property(at, format!("Index Cond: {text}"));
                }
            }
            PlanNode::HashJoin { outer, inner, keys, on, .. } => {
                let keys = keys.iter().map(|(a, b, _)| (a, b));
                self.join_condition(at, "Hash Cond", keys, outer, inner);
                self.join_filter(at, on.as_ref(), &plan.slot_names, id);
            }
            PlanNode::MergeJoin { outer, inner, keys, on, .. } => {
                let keys = keys.iter().map(|(a, b)| (a, b));
                self.join_condition(at, "Merge Cond", keys, outer, inner);
                self.join_filter(at, on.as_ref(), &plan.slot_names, id);
            }
            PlanNode::NestLoop { on, .. } => {
                self.join_filter(at, on.as_ref(), &plan.slot_names, id);
            }
            PlanNode::Sort { child, keys, .. } => {
                let slots = output_names(child);
                let names = self.names(&slots);
                let keys: Vec<String> = keys.iter().map(|k| sort_key(k, &names)).collect();
                self.property(at, format!("Sort Key: {}", keys.join(", ")));
            }
            PlanNode::Agg { child, keys, .. } if !keys.is_empty() => {
                let slots = output_names(child);
                let names = self.names(&slots);
                let keys: Vec<String> = keys.iter().map(|k| deparse(k, &names)).collect();
                self.property(at, format!("Group Key: {}", keys.join(", ")));
            }
            PlanNode::Modify(modify) => {
                if let Some(conflict) = &modify.on_conflict {
                    let word = if conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
                    self.property(at, format!("Conflict Resolution: {word}"));
                }
            }
            _ => {}
        }
        if let Some(filter) = &plan.filter {
            self.condition(at, "Filter", filter, &plan.slot_names);
            self.removed(at, "Rows Removed by Filter", id, |i| i.filtered);
        }
        for note in self.instruments.get(id).map(|i| i.notes.clone()).unwrap_or_default() {
            if self.options.analyze {
                self.property(at, note);
            }
        }
    }

    fn removed(&mut self, at: usize, label: &str, id: usize, rows: fn(&Instrument) -> u64) {
        let Some(i) = self.instruments.get(id).filter(|_| self.options.analyze) else { return };
        let average = rows(i) as f64 / i.loops.max(1) as f64;
        if average > 0.0 {
            self.property(at, format!("{label}: {average:.0}"));
        }
    }

    fn join_condition<'a>(
        &mut self,
        at: usize,
        label: &str,
        keys: impl Iterator<Item = (&'a Expr, &'a Expr)>,
        outer: &Plan,
        inner: &Plan,
    ) {
        let (outer, inner) = (output_names(outer), output_names(inner));
        let (outer, inner) = (self.names(&outer), self.names(&inner));
        let parts: Vec<String> = keys
            .map(|(a, b)| format!("({} = {})", deparse(a, &outer), deparse(b, &inner)))
            .collect();
        let text = match &parts[..] {
            [one] => one.clone(),
            many => format!("({})", many.join(" AND ")),
        };
        self.property(at, format!("{label}: {text}"));
    }

    fn join_filter(&mut self, at: usize, on: Option<&Expr>, slots: &[Arc<str>], id: usize) {
        if let Some(on) = on {
            self.condition(at, "Join Filter", on, slots);
            self.removed(at, "Rows Removed by Join Filter", id, |i| i.join_filtered);
        }
    }

    /// Sub-plans: those that run once, CTEs among them, at the root of the tree that uses
    /// them; the others at the node whose expressions they stand in.
    fn subplans(&mut self, plan: &Plan, at: usize, root: bool) {
        let mut used = Vec::new();
        if root {
            collect_initial(plan, &mut used);
        }
        crate::deps::for_each_expr(plan, &mut |e| collect_subplans(e, false, &mut used));
        let resume = self.next_id;
        for (sub, label) in used {
            let Some(sub_plan) = self.stmt.subplans.get(sub) else { continue };
            if !self.shown.insert(sub) {
                continue;
            }
            self.property(at, label);
            self.next_id = self.subplan_ids[sub];
            self.node(sub_plan, Some(at + 2), true);
        }
        self.next_id = resume;
    }

    fn children(&mut self, plan: &Plan, at: usize) {
        match &plan.node {
            PlanNode::HashJoin { outer, inner, .. } => {
                self.plan(outer, Some(at));
                let hash = self.next_id;
                self.next_id += 1;
                let mut line = "Hash".to_owned();
                if self.options.costs {
                    let c = &inner.cost;
                    let _ = write!(
                        line,
                        "  (cost={:.2}..{:.2} rows={:.0} width={})",
                        c.total, c.total, c.rows, c.width
                    );
                }
                // The Hash node's own rows are its input's.
                self.actual(hash + 1, &mut line);
                self.headline(Some(at), &line);
                for note in self.instruments.get(hash).map(|i| i.notes.clone()).unwrap_or_default()
                {
                    if self.options.analyze {
                        self.property(at + 6, note);
                    }
                }
                self.plan(inner, Some(at + 6));
            }
            _ => {
                let mut children = Vec::new();
                crate::deps::for_each_child(plan, &mut |child| children.push(child));
                children.into_iter().for_each(|child| self.plan(child, Some(at)));
            }
        }
    }
}

/// Names of a node's output columns.
fn output_names(plan: &Plan) -> Vec<Arc<str>> {
    let input = input_names(plan);
    match &plan.project {
        None => input,
        Some(project) => {
            let names = Names { slots: &input, unqualified: None };
            project.iter().map(|e| Arc::from(deparse(e, &names))).collect()
        }
    }
}

/// Names of a node's input row, as the planner gave them, or from the aggregates.
fn input_names(plan: &Plan) -> Vec<Arc<str>> {
    if !plan.slot_names.is_empty() {
        return plan.slot_names.to_vec();
    }
    match &plan.node {
        PlanNode::Agg { child, keys, aggregates, .. } => {
            let slots = output_names(child);
            let names = Names { slots: &slots, unqualified: None };
            let keys = keys.iter().map(|k| deparse(k, &names));
            let calls = aggregates.iter().map(|a| format!("({})", aggregate(a, &names)));
            keys.chain(calls).map(Arc::from).collect()
        }
        _ => Vec::new(),
    }
}

/// The sub-plans of one kind in an expression, with their labels.
fn collect_subplans(expr: &Expr, initial: bool, out: &mut Vec<(SubPlanId, String)>) {
    if let Expr::SubPlan(sub) = expr {
        let runs_once = sub.args.is_empty() && sub.hash_keys.is_none() && sub.test.is_none();
        if runs_once == initial {
            let word = if initial { "InitPlan" } else { "SubPlan" };
            out.push((sub.plan, format!("{word} {}", sub.plan + 1)));
        }
    }
    expr.for_each_child(&mut |child| collect_subplans(child, initial, out));
}

/// CTEs and the sub-plans that run once in a whole tree.
fn collect_initial(plan: &Plan, out: &mut Vec<(SubPlanId, String)>) {
    if let PlanNode::CteScan { plan, name } = &plan.node {
        out.push((*plan, format!("CTE {name}")));
    }
    crate::deps::for_each_expr(plan, &mut |e| collect_subplans(e, true, out));
    crate::deps::for_each_child(plan, &mut |child| collect_initial(child, out));
}
