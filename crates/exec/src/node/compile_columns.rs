//! Decides which nodes hand up columns, and compiles their expressions over them.

use super::agg::{AggColumns, CAggregate, CallColumns};
use super::nest_loop::NestLoopPlan;
use super::{CNode, CPlan, ColumnPlan, PlanCompiler};
use crate::expr::Compiler;
use crate::vector::VExpr;
use std::collections::BTreeSet;
use steppe_sql::expr::{Aggregate, Expr, SortKey};
use steppe_sql::plan::{AggMode, AggStrategy, Plan, PlanNode};
use steppe_types::Result;

impl PlanCompiler<'_, '_> {
    /// The column plan of a node; `None` if the node handles rows.
    pub(super) fn column_plan(&mut self, kind: &CNode, plan: &Plan) -> Result<Option<ColumnPlan>> {
        if passes_columns(kind, plan) {
            return Ok(Some(ColumnPlan::default()));
        }
        if !makes_columns(kind, plan) {
            return Ok(None);
        }
        if let CNode::NestLoop(NestLoopPlan { columns: Some(columns), .. }) = kind {
            let (filter, project) = columns.over_found(plan);
            return self.filter_and_project(filter.as_ref(), Some(&project));
        }
        self.filter_and_project(plan.filter.as_ref(), plan.project.as_deref())
    }

    /// A filter and a projection over columns; `None` if one of them is evaluated row by row.
    fn filter_and_project(
        &mut self,
        filter: Option<&Expr>,
        project: Option<&[Expr]>,
    ) -> Result<Option<ColumnPlan>> {
        let conjuncts = conjuncts(filter);
        let projected = project.unwrap_or_default();
        let Some(filter) = VExpr::compile_list(conjuncts, self.exprs)? else { return Ok(None) };
        let project = match project {
            None => None,
            Some(project) => match VExpr::compile_list(project, self.exprs)? {
                None => return Ok(None),
                project => project,
            },
        };
        let lists = conjuncts.iter().map(std::slice::from_ref).chain([projected]);
        let reads = lists.map(slots_of).collect();
        Ok(Some(ColumnPlan { filter, project, reads }))
    }

    /// The plan of an aggregation over its child's columns; `None` if it takes rows.
    pub(super) fn agg_columns(
        &mut self,
        node: &PlanNode,
        child: &CPlan,
        calls: &[CAggregate],
    ) -> Result<Option<AggColumns>> {
        let PlanNode::Agg { strategy, mode, keys, aggregates, .. } = node else { return Ok(None) };
        let takes_rows = *strategy == AggStrategy::Sorted
            || calls
                .iter()
                .any(|call| call.kind.is_user() || call.sort.is_some() && call.distinct.is_none());
        let is_distinct = calls.iter().any(|call| call.distinct.is_some());
        if child.columns.is_none() && !is_distinct || takes_rows {
            return Ok(None);
        }
        // Each expression once: sum(x) and avg(x) share theirs.
        let mut exprs: Vec<&Expr> = Vec::new();
        let key_places = keys.iter().map(|key| place(&mut exprs, key)).collect();
        let mut columns = Vec::with_capacity(aggregates.len());
        let state =
            |(i, call): (usize, &Aggregate)| Expr::Slot { index: keys.len() + i, ty: call.ty };
        let states: Vec<Expr> = aggregates.iter().enumerate().map(state).collect();
        for (call, state) in aggregates.iter().zip(&states) {
            let (filter, args) = match mode {
                AggMode::Finalize => (&None, std::slice::from_ref(state)),
                _ => (&call.filter, &call.args[..]),
            };
            columns.push(CallColumns {
                filter: filter.as_ref().map(|filter| place(&mut exprs, filter)),
                args: args.iter().map(|arg| place(&mut exprs, arg)).collect(),
            });
        }
        let reads = slots_of(exprs.iter().copied());
        let values = exprs.into_iter().map(|expr| VExpr::compile(expr, self.exprs));
        let values: Option<Box<[VExpr]>> = values.collect::<Result<Option<_>>>()?;
        let reads = match &values {
            Some(_) => reads,
            None if is_distinct => (0..child.width).collect(),
            None => return Ok(None),
        };
        Ok(Some(AggColumns { values, reads, keys: key_places, calls: columns.into() }))
    }
}

impl PlanCompiler<'_, '_> {
    /// The computed keys of a sort over its child's columns; `None` if it takes rows. `rows` is the
    /// estimate of their number.
    pub(super) fn sort_columns(
        &mut self,
        keys: &[SortKey],
        child: &CPlan,
        rows: f64,
    ) -> Result<Option<Box<[VExpr]>>> {
        if child.columns.is_none() || rows < SORTED_ROWS_MIN {
            return Ok(None);
        }
        let is_column =
            |expr: &Expr| matches!(expr, Expr::Slot { index, .. } if *index < child.width);
        let computed = keys.iter().map(|key| &key.expr).filter(|expr| !is_column(expr));
        computed.map(|expr| VExpr::compile(expr, self.exprs)).collect()
    }
}

/// A condition with the columns that it reads.
pub(super) struct Condition {
    pub(super) condition: VExpr,
    pub(super) reads: Box<[usize]>,
}

impl Condition {
    /// Compiles conditions; `None` if one of them is evaluated row by row.
    pub(super) fn compile_all(
        conditions: &[Expr],
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<Box<[Condition]>>> {
        let compiled = conditions.iter().map(|expr| {
            let condition = VExpr::compile(expr, compiler)?;
            Ok(condition.map(|condition| Condition { condition, reads: slots_of([expr]) }))
        });
        compiled.collect()
    }
}

/// The conditions that are all to hold.
pub(super) fn conjuncts(condition: Option<&Expr>) -> &[Expr] {
    match condition {
        None => &[],
        Some(Expr::And(conjuncts)) => conjuncts,
        Some(condition) => std::slice::from_ref(condition),
    }
}

/// The place of an expression in a list where each is once.
fn place<'a>(exprs: &mut Vec<&'a Expr>, expr: &'a Expr) -> usize {
    exprs.iter().position(|known| *known == expr).unwrap_or_else(|| {
        exprs.push(expr);
        exprs.len() - 1
    })
}

/// The input columns that expressions read, each once.
pub(super) fn slots_of<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Box<[usize]> {
    fn collect(expr: &Expr, out: &mut BTreeSet<usize>) {
        if let Expr::Slot { index, .. } = expr {
            out.insert(*index);
        }
        expr.for_each_child(&mut |child| collect(child, out));
    }
    let mut out = BTreeSet::new();
    exprs.into_iter().for_each(|expr| collect(expr, &mut out));
    out.into_iter().collect()
}

/// A scan with fewer rows ends before columns pay off.
const ROWS_MIN: f64 = 32.0;
/// So does a scan that costs less, even if few of its rows pass.
const COST_MIN: f64 = 100.0;
/// Fewer rows are sorted as rows.
const SORTED_ROWS_MIN: f64 = 32.0;

/// Whether columns pay off for the number of rows that the node reads.
fn is_worth_it(plan: &Plan) -> bool {
    plan.cost.rows >= ROWS_MIN || plan.filter.is_some() && plan.cost.total >= COST_MIN
}

/// Whether a node of this kind can hand up columns.
fn makes_columns(kind: &CNode, plan: &Plan) -> bool {
    match kind {
        CNode::HashJoin(join) => join.columns.is_some(),
        CNode::NestLoop(join) => join.columns.is_some(),
        CNode::Gather(gather) => gather.order.is_none() && gather.child.columns.is_some(),
        CNode::Agg(agg) => agg.strategy == AggStrategy::Hashed && agg.columns.is_some(),
        CNode::Sort(sort) => sort.columns.is_some(),
        CNode::Unique(unique) => unique.child.columns.is_some(),
        CNode::IndexScan(_) => is_worth_it(plan) && kind.scanned().is_some(),
        _ => kind.scanned().is_some(),
    }
}

/// Whether a node of this kind hands up its children's rows, which are columns, or likely to be.
fn passes_columns(kind: &CNode, plan: &Plan) -> bool {
    match kind {
        CNode::Append(children) => plan.is_plain() && children.iter().all(|c| c.columns.is_some()),
        CNode::PartitionScan(scan) => {
            let leaf = &scan.template.plan.node;
            let makes_columns = match leaf {
                PlanNode::IndexScan { index_only, .. } => !index_only,
                PlanNode::SeqScan { .. }
                | PlanNode::BitmapScan { .. }
                | PlanNode::HashJoin { .. } => true,
                _ => false,
            };
            makes_columns && scan.template.is_whole && scan.keys.is_empty() && is_worth_it(plan)
        }
        _ => false,
    }
}
