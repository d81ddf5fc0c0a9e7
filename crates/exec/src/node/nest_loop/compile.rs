//! The nested loops that look up the inner rows of many outer rows together, and their expressions
//! over columns.
//!
//! The inner side is either kept rows or an index scan. Each search key of the index scan is
//! computed from the outer row, or is the same for all outer rows. The scan hands up columns of the
//! row that it finds. Its filter, the ON condition and the output are rewritten to read one row,
//! outer ‖ found:
//!
//! ```text
//!   scan     slot i          ──▶ slot width + i
//!            parameter p     ──▶ the outer row's column that p is set to
//!   join     slot width + j  ──▶ slot width + i, where the scan's output j is its column i
//! ```
//!
//! A loop with a handful of outer rows is not worth the vectors, and stays on rows.

use crate::access::ScanColumn;
use crate::expr::{CExpr, Compiler};
use crate::node::compile_columns::{Condition, conjuncts};
use crate::node::{CNode, CPlan};
use crate::vector::VExpr;
use std::convert::Infallible;
use steppe_sql::expr::{ExecParamId, Expr, TypeRef};
use steppe_sql::plan::{IndexRange, KeySearch, Plan, PlanNode};
use steppe_sql::query::JoinKind;
use steppe_types::Result;

/// Fewer outer rows are joined row by row.
const OUTER_ROWS_MIN: f64 = 16.0;

/// A nested loop over columns.
pub(crate) struct ColumnLoop {
    pub(super) inner: InnerSide,
    /// The scan's filter over outer ‖ found: all of these hold, in this order.
    pub(super) filter: Box<[Condition]>,
    /// The ON condition, likewise.
    pub(super) on: Box<[Condition]>,
    /// Columns of the found row.
    pub(super) columns: usize,
    /// Columns of the outer row.
    width: usize,
    /// For each column of the inner side, its place in the found row.
    found: Box<[usize]>,
}

/// The source of inner rows.
pub(super) enum InnerSide {
    /// An index, searched by these keys. The found columns have these positions in the table.
    Index { keys: Box<[Key]>, positions: Box<[usize]> },
    /// The rows that a Materialize node keeps.
    Kept,
}

/// A value to search for.
pub(super) enum Key {
    /// A column of the outer row.
    Column(usize),
    /// The same for all rows.
    Same(CExpr),
    /// Computed from the outer row.
    Computed(VExpr),
}

impl ColumnLoop {
    /// `None`: the inner side is run for each outer row.
    pub(crate) fn compile(
        plan: &Plan,
        (outer, inner): (&CPlan, &CPlan),
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<ColumnLoop>> {
        let PlanNode::NestLoop { kind, outer: o, inner: i, params, on } = &plan.node else {
            return Ok(None);
        };
        let kinds = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti];
        if o.cost.rows < OUTER_ROWS_MIN || !kinds.contains(kind) {
            return Ok(None);
        }
        let Some(params) = params_of(params) else { return Ok(None) };
        let width = outer.width;
        let (side, columns, found) = match &i.node {
            PlanNode::IndexScan { range, .. } => {
                let Some(positions) = stored_positions(inner) else { return Ok(None) };
                let columns = positions.len();
                let Some(found) = plain_slots(i, columns) else { return Ok(None) };
                let Some(keys) = keys(range, &params, compiler)? else { return Ok(None) };
                (InnerSide::Index { keys, positions }, columns, found)
            }
            PlanNode::Materialize(_) if params.is_empty() && i.is_plain() => {
                (InnerSide::Kept, inner.width, (0..inner.width).collect())
            }
            _ => return Ok(None),
        };
        let of_scan = |condition: &Expr| of_scan(condition, width, &params);
        let filter: Vec<Expr> = conjuncts(i.filter.as_ref()).iter().map(of_scan).collect();
        let Some(filter) = Condition::compile_all(&filter, compiler)? else { return Ok(None) };
        let mut join = ColumnLoop { inner: side, filter, on: Box::new([]), columns, width, found };
        let on: Vec<Expr> = conjuncts(on.as_ref()).iter().map(|on| join.of_join(on)).collect();
        let Some(on) = Condition::compile_all(&on, compiler)? else { return Ok(None) };
        join.on = on;
        Ok(Some(join))
    }

    /// The join's filter, and its output, over outer ‖ found.
    pub(crate) fn over_found(&self, plan: &Plan) -> (Option<Expr>, Vec<Expr>) {
        let filter = plan.filter.as_ref().map(|filter| self.of_join(filter));
        let project = match &plan.project {
            Some(project) => project.iter().map(|expr| self.of_join(expr)).collect(),
            None => plan.types.iter().enumerate().map(|(i, ty)| self.slot(i, *ty)).collect(),
        };
        (filter, project)
    }

    /// The join's output column `i` over outer ‖ found.
    fn slot(&self, i: usize, ty: TypeRef) -> Expr {
        let index = match i.checked_sub(self.width) {
            // A missing column is refused when it is read.
            Some(inner) => self.found.get(inner).map_or(usize::MAX, |found| self.width + found),
            None => i,
        };
        Expr::Slot { index, ty }
    }

    /// An expression over outer ‖ the scan's output.
    fn of_join(&self, expr: &Expr) -> Expr {
        rewritten(expr, |leaf| match leaf {
            Expr::Slot { index, ty } => self.slot(index, ty),
            other => other,
        })
    }
}

/// The parameters that the join sets, each with the outer row's column that it is set to.
fn params_of(params: &[(ExecParamId, Expr)]) -> Option<Vec<(ExecParamId, usize)>> {
    let column = |(id, expr): &(ExecParamId, Expr)| match expr {
        Expr::Slot { index, .. } => Some((*id, *index)),
        _ => None,
    };
    params.iter().map(column).collect()
}

/// An expression of the scan.
fn of_scan(expr: &Expr, width: usize, params: &[(ExecParamId, usize)]) -> Expr {
    rewritten(expr, |leaf| match leaf {
        Expr::Slot { index, ty } => Expr::Slot { index: width + index, ty },
        Expr::ExecParam { id, ty } => match params.iter().find(|param| param.0 == id) {
            Some((_, column)) => Expr::Slot { index: *column, ty },
            None => Expr::ExecParam { id, ty },
        },
        other => other,
    })
}

fn rewritten(expr: &Expr, leaf: impl Fn(Expr) -> Expr) -> Expr {
    match expr.clone().transform(&mut |node| Ok::<_, Infallible>(leaf(node))) {
        Ok(rewritten) => rewritten,
        Err(never) => match never {},
    }
}

/// Positions in the table of the columns that an index scan finds, if all of them are stored ones.
fn stored_positions(inner: &CPlan) -> Option<Box<[usize]>> {
    let CNode::IndexScan(scan) = &inner.kind else { return None };
    let position = |column: &ScanColumn| match column {
        ScanColumn::Stored(i) => Some(*i),
        _ => None,
    };
    scan.columns.iter().map(position).collect()
}

/// For each output column of a scan with `columns` columns, its input column. `None` if one is
/// computed.
fn plain_slots(scan: &Plan, columns: usize) -> Option<Box<[usize]>> {
    let Some(project) = &scan.project else { return Some((0..columns).collect()) };
    let slot = |expr: &Expr| match expr {
        Expr::Slot { index, .. } => Some(*index),
        _ => None,
    };
    project.iter().map(slot).collect()
}

/// The search keys of an index, if they are values of its first columns and nothing else.
fn keys(
    range: &IndexRange,
    params: &[(ExecParamId, usize)],
    compiler: &mut Compiler<'_>,
) -> Result<Option<Box<[Key]>>> {
    let has_ends = range.lower.is_some() || range.upper.is_some() || range.not_null;
    if range.keys.is_empty() || has_ends || !range.checks.is_empty() {
        return Ok(None);
    }
    let mut keys = Vec::with_capacity(range.keys.len());
    for key in &range.keys {
        let KeySearch::Equal(value) = key else { return Ok(None) };
        // A scan's keys read no columns of its own, so a slot is now the outer row's.
        match VExpr::compile(&of_scan(value, 0, params), compiler)? {
            Some(VExpr::Slot(column)) => keys.push(Key::Column(column)),
            Some(VExpr::Same(value)) => keys.push(Key::Same(value)),
            Some(computed) => keys.push(Key::Computed(computed)),
            None => return Ok(None),
        }
    }
    Ok(Some(keys.into()))
}
