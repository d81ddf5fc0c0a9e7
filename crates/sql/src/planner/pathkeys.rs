//! The order of a plan's rows, derived from the plan itself (pathkeys.c).
//!
//! A scan of an index yields the order of its keys. Sorts, merges and groups by order make one.
//! Joins keep the outer side's, other nodes their input's. A column that conditions restrict to one
//! value is in any order. The keys are expressions over the plan's output row, and end where a key
//! is not part of it.

use super::cost::strip;
use super::index::over_entry;
use super::inline_functions::index_exprs;
use super::{ColumnId, Planner, Rel, is_volatile};
use crate::expr::{CallSyntax, Expr, SortKey, TypeRef};
use crate::implies::{canonical, equivalent};
use crate::plan::*;
use crate::query::JoinKind;
use std::rc::Rc;
use std::sync::Arc;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{RelKind, Relation};
use steppe_types::{Result, oid};

/// The order of a plan's rows.
#[derive(Clone, Debug, Default)]
pub(super) struct RowOrder {
    keys: Vec<KnownKey>,
    /// Expressions that have one value in all rows.
    fixed: Vec<Expr>,
}

/// One key of an order.
#[derive(Clone, Debug)]
pub(super) struct KnownKey {
    key: SortKey,
    /// Expressions that have the same value in each row.
    same: Vec<Expr>,
    /// The place of NULLs does not matter.
    never_null: bool,
}

/// The order of a path's rows: its keys are the query's expressions.
pub(super) type PathOrder = Rc<[Rc<KnownKey>]>;

pub(super) fn no_order() -> PathOrder {
    Rc::from([])
}

/// Whether rows in one order are in that of the first keys of another.
pub(super) fn covers(order: &PathOrder, other: &PathOrder, keys: usize) -> bool {
    let given = order.iter().zip(other.iter()).take(keys);
    order.len() >= keys && given.into_iter().all(|(known, other)| known.gives(&other.key))
}

impl KnownKey {
    pub(super) fn of(key: SortKey) -> KnownKey {
        KnownKey { key, same: Vec::new(), never_null: false }
    }

    pub(super) fn is(&self, expr: &Expr) -> bool {
        is_same(&self.key.expr, expr) || self.same.iter().any(|same| is_same(same, expr))
    }

    pub(super) fn is_descending(&self) -> bool {
        self.key.descending
    }

    /// The key where others are equal to it, none of which is NULL then.
    pub(super) fn also(&self, equal: Vec<Expr>) -> KnownKey {
        let same = self.same.iter().cloned().chain(equal).collect();
        KnownKey { key: self.key.clone(), same, never_null: true }
    }

    pub(super) fn gives(&self, wanted: &SortKey) -> bool {
        let nulls = self.never_null || self.key.nulls_first == wanted.nulls_first;
        self.key.descending == wanted.descending && nulls && self.is(&wanted.expr)
    }

    /// The key over another row, where `place` has at least one of its expressions.
    fn moved(self, place: impl Fn(&Expr) -> Option<Expr>) -> Option<KnownKey> {
        let mut same = std::iter::once(&self.key.expr).chain(&self.same).filter_map(place);
        let key = SortKey { expr: same.next()?, ..self.key };
        Some(KnownKey { key, same: same.collect(), never_null: self.never_null })
    }
}

impl RowOrder {
    fn of_keys(keys: &[SortKey]) -> RowOrder {
        let known = |key: &SortKey| KnownKey::of(key.clone());
        RowOrder { keys: keys.iter().map(known).collect(), fixed: Vec::new() }
    }

    /// The positions of the wanted keys that distinguish rows: without keys of one value, and
    /// without repeated keys.
    pub(super) fn needed(&self, wanted: &[SortKey]) -> Vec<usize> {
        let mut needed: Vec<usize> = Vec::with_capacity(wanted.len());
        for (i, key) in wanted.iter().enumerate() {
            let is_fixed = self.fixed.iter().any(|fixed| is_same(fixed, &key.expr));
            if !is_fixed && !needed.iter().any(|n| wanted[*n].expr == key.expr) {
                needed.push(i);
            }
        }
        needed
    }

    /// The number of the wanted keys, of which each is needed, that the rows are in the order of.
    pub(super) fn prefix(&self, wanted: &[SortKey]) -> usize {
        let known = self.unfixed();
        known.zip(wanted).take_while(|(known, wanted)| known.gives(wanted)).count()
    }

    /// The keys of a set, each with its place in it, in an order that leaves as little as possible
    /// to sort. The keys that the rows are in the order of come first, unless the set's own order
    /// covers as many.
    pub(super) fn arranged(&self, keys: &[SortKey]) -> Vec<(usize, SortKey)> {
        let mut taken: Vec<(usize, SortKey)> = Vec::with_capacity(keys.len());
        for known in self.unfixed() {
            let is_next = |i: &usize| taken.iter().all(|(t, _)| t != i) && known.is(&keys[*i].expr);
            match (0..keys.len()).find(is_next) {
                Some(i) => taken.push((i, SortKey { expr: keys[i].expr.clone(), ..known.key })),
                None => break,
            }
        }
        let own = self.needed(keys).into_iter().map(|i| keys[i].clone()).collect::<Vec<_>>();
        if taken.len() <= self.prefix(&own) {
            taken.clear();
        }
        let is_left = |i: &usize| taken.iter().all(|(t, _)| t != i);
        let left: Vec<usize> = (0..keys.len()).filter(is_left).collect();
        taken.extend(left.into_iter().map(|i| (i, keys[i].clone())));
        taken
    }

    fn unfixed(&self) -> impl Iterator<Item = &KnownKey> {
        self.keys.iter().filter(|k| !self.fixed.iter().any(|f| k.is(f)))
    }

    /// The order of an inner join's rows, of which the keys are equal in pairs. The second ones are
    /// over the inner side's row, which comes after `width` columns.
    fn with_equal(mut self, pairs: &[(Expr, Expr)], width: usize) -> RowOrder {
        for known in &mut self.keys {
            let equal = pairs.iter().filter(|(outer, _)| known.is(outer));
            let equal: Vec<Expr> = equal.map(|(_, inner)| after(inner.clone(), width)).collect();
            if !equal.is_empty() {
                *known = known.also(equal);
            }
        }
        self
    }

    /// The same order of the rows that `project` makes of these.
    fn projected(self, project: &[Expr]) -> RowOrder {
        let place = |expr: &Expr| {
            let index = project.iter().position(|p| is_same(p, expr))?;
            Some(Expr::Slot { index, ty: project[index].ty() })
        };
        let fixed = self.fixed;
        let keys = self.keys.into_iter().filter(|k| !fixed.iter().any(|f| k.is(f)));
        let keys = keys.map_while(|known| known.moved(place)).collect();
        let constants = project.iter().enumerate().filter(|(_, e)| matches!(e, Expr::Const(..)));
        let constants = constants.map(|(index, e)| Expr::Slot { index, ty: e.ty() });
        let fixed = fixed.iter().filter_map(place).chain(constants).collect();
        RowOrder { keys, fixed }
    }
}

/// An expression over a row that comes after `width` columns of another.
fn after(expr: Expr, width: usize) -> Expr {
    let moved = expr.transform::<std::convert::Infallible>(&mut |e| {
        Ok(match e {
            Expr::Slot { index, ty } => Expr::Slot { index: index + width, ty },
            other => other,
        })
    });
    match moved {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

/// An expression over a row as the query has it, if the row's columns are the query's.
fn over_columns(expr: Expr, layout: &[ColumnId]) -> Option<Expr> {
    let moved = expr.transform(&mut |e| match e {
        Expr::Slot { index, ty } => {
            let (rte, attnum) = *layout.get(index).ok_or(())?;
            let column = usize::try_from(attnum - 1).map_err(|_| ())?;
            match StoredForm::of(attnum) {
                None => Ok(Expr::var(rte, column, ty)),
                Some(_) => Err(()),
            }
        }
        other => Ok(other),
    });
    moved.ok()
}

/// Whether two expressions over the same row have the same values.
fn is_same(a: &Expr, b: &Expr) -> bool {
    match (strip(a), strip(b)) {
        (Expr::Slot { index: a, .. }, Expr::Slot { index: b, .. }) => a == b,
        (Expr::Slot { .. }, _) | (_, Expr::Slot { .. }) => false,
        (
            Expr::Var { rte: a, column: of_a, levels_up: at_a, .. },
            Expr::Var { rte: b, column: of_b, levels_up: at_b, .. },
        ) => (a, of_a, at_a) == (b, of_b, at_b),
        (Expr::Var { .. }, _) | (_, Expr::Var { .. }) => false,
        (a, b) => equivalent(a, b),
    }
}

impl Planner<'_> {
    /// The order of a relation's rows as a path has it.
    pub(super) fn path_order(&self, rel: &Rel) -> Result<PathOrder> {
        let order = self.order_of(&rel.plan)?;
        let column = |expr: &Expr| over_columns(expr.clone(), &rel.layout);
        let keys: Vec<KnownKey> = order.unfixed().cloned().collect();
        let keys = keys.into_iter().map_while(|known| known.moved(column));
        Ok(keys.map(Rc::new).collect())
    }

    /// The order of a plan's rows.
    pub(super) fn order_of(&self, plan: &Plan) -> Result<RowOrder> {
        let mut order = self.order_of_input(plan)?;
        if let Some(filter) = &plan.filter {
            fixed_by(filter, &mut order.fixed);
        }
        Ok(match &plan.project {
            Some(project) => order.projected(project),
            None => order,
        })
    }

    /// The order of a node's input row.
    fn order_of_input(&self, plan: &Plan) -> Result<RowOrder> {
        Ok(match &plan.node {
            PlanNode::IndexScan { rel, index, range, backward, columns, .. }
                // A leaf may lack the index.
                if rel.relation.kind != RelKind::PartitionedTable =>
            {
                self.order_of_index(&rel.relation, index, (range, *backward), columns)?
            }
            PlanNode::PartitionScan { template, order, conditions, .. } => {
                order_of_leaves(template, order, conditions)
            }
            PlanNode::Sort { child, keys, .. } => RowOrder {
                fixed: self.order_of(child)?.fixed,
                ..RowOrder::of_keys(keys)
            },
            PlanNode::MergeAppend { keys, .. }
            | PlanNode::SetOp { order: keys, .. }
            | PlanNode::Gather { order: keys, .. } => {
                RowOrder::of_keys(keys)
            }
            PlanNode::Agg { child, strategy: AggStrategy::Sorted, keys, .. } => {
                let order = self.order_of(child)?;
                RowOrder { fixed: Vec::new(), ..order.projected(keys) }
            }
            PlanNode::MergeJoin { outer, kind: JoinKind::Inner, keys, .. } => {
                self.order_of(outer)?.with_equal(keys, outer.types.len())
            }
            PlanNode::NestLoop { outer, kind, .. } | PlanNode::MergeJoin { outer, kind, .. }
                if !matches!(kind, JoinKind::Right | JoinKind::Full) =>
            {
                self.order_of(outer)?
            }
            PlanNode::Result { child: Some(child), .. }
            | PlanNode::Limit { child, .. }
            | PlanNode::WindowAgg { child, .. }
            | PlanNode::Unique { child, .. }
            | PlanNode::SubqueryScan { child, .. }
            | PlanNode::Memoize { child, .. }
            | PlanNode::ProjectSet(child)
            | PlanNode::Materialize(child) => self.order_of(child)?,
            _ => RowOrder::default(),
        })
    }

    fn order_of_index(
        &self,
        table: &Arc<Relation>,
        index: &Relation,
        (range, backward): (&IndexRange, bool),
        columns: &[i16],
    ) -> Result<RowOrder> {
        let Some(info) = &index.index else { return Ok(RowOrder::default()) };
        let computes = info.keys.iter().any(|key| key.expression.is_some());
        let exprs = match computes {
            true => index_exprs(self.ctx.catalog, table, info)?.keys,
            false => Vec::new(),
        };
        let mut order = RowOrder::default();
        for (position, stored) in info.keys.iter().enumerate() {
            let (expr, never_null) = match exprs.get(position) {
                Some(Some(expr)) => (over_row(expr.clone(), columns), false),
                _ => {
                    let column = i32::from(stored.attnum) - 1;
                    let ty = table
                        .columns
                        .get(column as usize)
                        .map(|c| TypeRef { oid: c.type_oid, typmod: c.typmod });
                    let expr = ty.map(|ty| Expr::var(0, column as usize, ty));
                    let never_null = table.is_not_null_below(column as usize);
                    (expr.and_then(|e| over_row(e, columns)), never_null)
                }
            };
            let is_fixed = range.is_fixed(position);
            match expr {
                Some(expr) if is_fixed => order.fixed.push(expr),
                None if is_fixed => {}
                Some(expr) => order.keys.push(KnownKey {
                    same: Vec::new(),
                    key: SortKey {
                        expr,
                        descending: stored.descending != backward,
                        nulls_first: stored.nulls_first != backward,
                    },
                    never_null,
                }),
                None => break,
            }
        }
        Ok(order)
    }
}

/// An expression over a table's columns as one over a scan's row, if that has all of them.
fn over_row(expr: Expr, columns: &[i16]) -> Option<Expr> {
    let moved = canonical(over_entry(expr, 0)).transform(&mut |e| match e {
        Expr::Var { column, levels_up: 0, ty, .. } => {
            let position = columns.iter().position(|a| i32::from(*a) == column + 1);
            position.map(|index| Expr::Slot { index, ty }).ok_or(())
        }
        other => Ok(other),
    });
    moved.ok()
}

fn order_of_leaves(template: &Plan, order: &[SortKey], conditions: &[Expr]) -> RowOrder {
    let (PlanNode::SeqScan { columns, .. } | PlanNode::IndexScan { columns, .. }) = &template.node
    else {
        return RowOrder::default();
    };
    if template.project.is_some() {
        return RowOrder::default();
    }
    let moved = |key: &SortKey| {
        let expr = over_row(key.expr.clone(), columns)?;
        Some(KnownKey::of(SortKey { expr, ..key.clone() }))
    };
    let mut fixed = Vec::new();
    for condition in conditions {
        if let Some(condition) = over_row(condition.clone(), columns) {
            fixed_by(&condition, &mut fixed);
        }
    }
    RowOrder { keys: order.iter().map_while(moved).collect(), fixed }
}

/// Adds the expressions that have one value in the rows for which a condition is true.
fn fixed_by(condition: &Expr, fixed: &mut Vec<Expr>) {
    match condition {
        Expr::And(args) => args.iter().for_each(|arg| fixed_by(arg, fixed)),
        Expr::Func { syntax: CallSyntax::Operator(op), args, .. }
            if op.strategy() == Some(Strategy::Equal) =>
        {
            let [a, b] = args.as_slice() else { return };
            for (expr, value) in [(a, b), (b, a)] {
                if is_constant(value) && !is_constant(expr) {
                    fixed.push(expr.clone());
                }
            }
        }
        Expr::Slot { ty, .. } if ty.oid == oid::BOOL => fixed.push(condition.clone()),
        Expr::Not(arg) if matches!(**arg, Expr::Slot { .. }) => fixed.push((**arg).clone()),
        _ => {}
    }
}

/// Whether an expression over a row has one value while a plan runs.
fn is_constant(expr: &Expr) -> bool {
    !reads_row(expr) && !is_volatile(expr)
}

fn reads_row(expr: &Expr) -> bool {
    matches!(expr, Expr::Slot { .. }) || expr.any_child(reads_row)
}
