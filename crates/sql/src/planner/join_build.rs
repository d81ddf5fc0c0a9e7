//! Plans of the paths that were chosen (createplan.c).

use super::join::add_filter;
use super::join_clause::{Clause, JoinKey};
use super::merge_path::Sorting;
use super::ordered::ascending;
use super::path::{JoinStep, Method, Path, Step};
use super::path_cost::CostParameters;
use super::{ColumnId, Planner, Rel, RteSet, and_all, column_id, cost, node, to_slots};
use crate::expr::{Expr, SortKey, TypeRef};
use crate::plan::*;
use crate::query::JoinKind;
use std::rc::Rc;
use std::sync::Arc;
use steppe_catalog::FunctionRef;
use steppe_types::{Error, Result};

impl Planner<'_> {
    /// The plan of a path.
    pub(super) fn build(&self, path: &Rc<Path>) -> Result<Rel> {
        let mut rel = match &path.step {
            Step::Planned(rel) => return Ok(Rel::clone(rel)),
            Step::Materialize(child) => materialize(self.build(child)?),
            Step::Memoize(memoized) => self.memoize(self.build(&memoized.child)?, memoized),
            Step::Distinct { child, columns, is_sorted } => {
                let how = (*is_sorted, self.ctx.settings.hash_mem_multiplier);
                distinct(self.build(child)?, columns, how, self.costs())?
            }
            Step::Filter(child, conditions) => {
                let mut rel = self.build(child)?;
                add_filter(&mut rel, conditions.iter().map(|c| c.expr.clone()).collect())?;
                rel
            }
            Step::Join(join) => self.join(join)?,
        };
        rel.plan.cost = path.cost;
        Ok(rel)
    }

    fn join(&self, join: &JoinStep) -> Result<Rel> {
        let (outer, inner) = (self.build(&join.outer)?, self.build(&join.inner)?);
        match &join.method {
            Method::NestLoop(params) => {
                let value =
                    |(id, e): &(usize, Expr)| Ok((*id, to_slots(e.clone(), &outer.layout)?));
                let params = params.iter().map(value).collect::<Result<_>>()?;
                self.joined(join, outer, inner, &[], |kind, outer, inner, on| PlanNode::NestLoop {
                    kind,
                    outer,
                    inner,
                    params,
                    on,
                })
            }
            Method::Hash(keys, _) => {
                let slots = self.key_slots(keys, &join.on, &outer, &inner)?;
                let memory_factor = self.ctx.settings.hash_mem_multiplier;
                self.joined(join, outer, inner, keys, |kind, outer, inner, on| PlanNode::HashJoin {
                    kind,
                    outer,
                    inner,
                    keys: slots,
                    on,
                    memory_factor,
                    inner_rows: InnerRows::Own,
                })
            }
            Method::Merge { keys, outer: of_outer, inner: of_inner } => {
                let slots = self.key_slots(keys, &join.on, &outer, &inner)?;
                let slots: Vec<(Expr, Expr)> = slots.into_iter().map(|(a, b, _)| (a, b)).collect();
                let outer = sorted_side(outer, slots.iter().map(|(key, _)| key), *of_outer);
                let inner = sorted_side(inner, slots.iter().map(|(_, key)| key), *of_inner);
                self.joined(join, outer, inner, keys, |kind, outer, inner, on| {
                    PlanNode::MergeJoin { kind, outer, inner, keys: slots, on }
                })
            }
        }
    }

    /// Keys over the rows of their sides, with the functions that compare them.
    fn key_slots(
        &self,
        keys: &[JoinKey],
        on: &[Rc<Clause>],
        outer: &Rel,
        inner: &Rel,
    ) -> Result<Vec<(Expr, Expr, FunctionRef)>> {
        let slots = |key: &JoinKey| {
            let lost = || Error::internal("a join's key is no equality");
            let (a, b, op) = key.sides(on).ok_or_else(lost)?;
            let func = op.built_in_function().ok_or_else(lost)?;
            Ok((to_slots(a.clone(), &outer.layout)?, to_slots(b.clone(), &inner.layout)?, func))
        };
        keys.iter().map(slots).collect()
    }

    /// Semi and anti joins hand up one side's row alone, unless the joined row is kept.
    fn joined(
        &self,
        join: &JoinStep,
        outer: Rel,
        inner: Rel,
        keys: &[JoinKey],
        node_of: impl FnOnce(JoinKind, Box<Plan>, Box<Plan>, Option<Expr>) -> PlanNode,
    ) -> Result<Rel> {
        let is_key = |at: usize| keys.iter().any(|key| key.clause == at);
        let rest = join.on.iter().enumerate().filter(|(at, _)| !is_key(*at));
        let rest: Vec<Expr> = rest.map(|(_, clause)| clause.expr.clone()).collect();
        let width = outer.layout.len();
        let mut row = JoinedRow::of(&outer, &inner);
        let on = and_all(rest).map(|e| to_slots(e, &row.layout)).transpose()?;
        match join.kind {
            JoinKind::Semi if self.keeps_partners => {}
            JoinKind::Semi | JoinKind::Anti => row.keep(0..width),
            JoinKind::RightSemi | JoinKind::RightAnti => row.keep(width..row.layout.len()),
            _ => {}
        }
        let node_of = node_of(join.kind, Box::new(outer.plan), Box::new(inner.plan), on);
        let plan = node(node_of, row.types, row.names.into(), Cost::default());
        Ok(Rel { plan, layout: row.layout, rtes: row.rtes })
    }
}

/// The columns of a join's row.
struct JoinedRow {
    layout: Vec<ColumnId>,
    types: Vec<TypeRef>,
    names: Vec<Arc<str>>,
    rtes: RteSet,
}

impl JoinedRow {
    fn of(outer: &Rel, inner: &Rel) -> JoinedRow {
        let (a, b) = (output_names(&outer.plan), output_names(&inner.plan));
        JoinedRow {
            layout: outer.layout.iter().chain(&inner.layout).copied().collect(),
            types: outer.plan.types.iter().chain(&inner.plan.types).copied().collect(),
            names: a.iter().chain(b.iter()).cloned().collect(),
            rtes: outer.rtes.union(&inner.rtes),
        }
    }

    fn keep(&mut self, columns: std::ops::Range<usize>) {
        self.layout = self.layout[columns.clone()].to_vec();
        self.types = self.types[columns.clone()].to_vec();
        self.names = self.names[columns].to_vec();
    }
}

/// Each value of these columns once: by sorting, or hashed, where they may take `memory_factor`
/// times work_mem.
fn distinct(
    rel: Rel,
    columns: &[Expr],
    (is_sorted, memory_factor): (bool, f64),
    costs: &CostParameters,
) -> Result<Rel> {
    let mut rel = if rel.plan.project.is_some() { above(rel) } else { rel };
    let position = |column: &Expr| {
        let Expr::Var { rte, column, .. } = column else {
            return Err(Error::internal("a semi join's key is no column"));
        };
        let id = column_id(*rte, *column);
        let found = rel.layout.iter().position(|known| *known == id);
        found.ok_or_else(|| Error::internal(format!("column {id:?} is not in the plan's row")))
    };
    let mut columns = columns.iter().map(position).collect::<Result<Vec<usize>>>()?;
    columns.sort_unstable();
    let types: Vec<TypeRef> = columns.iter().map(|at| rel.plan.types[*at]).collect();
    let slots = columns.iter().zip(&types).map(|(index, ty)| Expr::Slot { index: *index, ty: *ty });
    rel.plan.project = Some(slots.collect());
    rel.layout = columns.iter().map(|at| rel.layout[*at]).collect();
    let keys = types.iter().enumerate().map(|(index, ty)| Expr::Slot { index, ty: *ty });
    let keys: Vec<Expr> = keys.collect();
    rel.plan.types = types.clone();
    if !is_sorted {
        return Ok(super::distinct::hash_distinct(rel, keys, memory_factor));
    }
    let cost = cost::sort_cost(&rel.plan.cost, None, costs);
    let rel = sort_rel(rel, keys.iter().cloned().map(ascending).collect(), 0, cost);
    let (names, cost, columns) =
        (output_names(&rel.plan), rel.plan.cost, (0..keys.len()).collect());
    let unique = PlanNode::Unique { child: Box::new(rel.plan), columns };
    Ok(Rel { plan: node(unique, types, names, cost), ..rel })
}

/// A node that hands up the rows of a plan.
fn above(rel: Rel) -> Rel {
    let (types, names, cost) = (rel.plan.types.clone(), output_names(&rel.plan), rel.plan.cost);
    let result = PlanNode::Result { one_time_filter: None, child: Some(Box::new(rel.plan)) };
    Rel { plan: node(result, types, names, cost), ..rel }
}

/// A side of a merge join in the order of its keys.
fn sorted_side<'k>(rel: Rel, keys: impl Iterator<Item = &'k Expr>, sorting: Sorting) -> Rel {
    match sorting {
        Sorting::No => rel,
        Sorting::By { presorted, cost } => {
            sort_rel(rel, keys.cloned().map(ascending).collect(), presorted, cost)
        }
    }
}

/// Sorts a relation's rows. The first `presorted` keys are in order already.
fn sort_rel(rel: Rel, keys: Vec<SortKey>, presorted: usize, cost: Cost) -> Rel {
    let types = rel.plan.types.clone();
    let names = output_names(&rel.plan);
    let sort = PlanNode::Sort { child: Box::new(rel.plan), keys, presorted, bound: None };
    Rel { plan: node(sort, types, names, cost), ..rel }
}

fn materialize(rel: Rel) -> Rel {
    let (types, names) = (rel.plan.types.clone(), output_names(&rel.plan));
    let cost = rel.plan.cost;
    let plan = node(PlanNode::Materialize(Box::new(rel.plan)), types, names, cost);
    Rel { plan, ..rel }
}

/// Names of a plan's output slots, for the node above.
pub(crate) fn output_names(plan: &Plan) -> Arc<[Arc<str>]> {
    match &plan.project {
        None => plan.slot_names.clone(),
        Some(exprs) => exprs
            .iter()
            .map(|e| match e {
                Expr::Slot { index, .. } => {
                    plan.slot_names.get(*index).cloned().unwrap_or_else(|| "?".into())
                }
                other => format!("({})", shape(other)).into(),
            })
            .collect(),
    }
}

/// A rough name for a computed column.
fn shape(expr: &Expr) -> &'static str {
    match expr {
        Expr::Aggregate(_) => "aggregate",
        Expr::Func { .. } => "expression",
        Expr::Const(..) => "constant",
        _ => "value",
    }
}
