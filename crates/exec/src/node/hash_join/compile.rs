//! The column form of a hash join: its keys and ON condition over columns, and the columns that
//! each step reads, so that no other column is moved.

use super::table::KeyAt;
use crate::expr::Compiler;
use crate::node::CPlan;
use crate::node::compile_columns::{Condition, conjuncts, slots_of};
use crate::vector::VExpr;
use std::collections::BTreeSet;
use steppe_catalog::FunctionRef;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{Plan, PlanNode};
use steppe_sql::query::JoinKind;
use steppe_types::Result;

/// A hash join over columns.
pub(crate) struct ColumnJoin {
    pub(super) outer_keys: KeyColumns,
    pub(super) inner_keys: KeyColumns,
    /// The conditions of ON, which must all hold, in this order.
    pub(super) on: Box<[Condition]>,
    /// The columns that each condition of the filter reads.
    pub(super) filter_reads: Box<[Box<[usize]>]>,
    /// The columns handed up.
    pub(super) outputs: Box<[Output]>,
    /// The columns that computed ones read.
    pub(super) output_reads: Box<[usize]>,
    /// The columns of each side that are read behind the computed keys.
    pub(super) outer_kept: Box<[usize]>,
    pub(super) inner_kept: Box<[usize]>,
    /// The outer side's first rows are read before the inner side. If there are none, the inner
    /// side is skipped (nodeHashjoin.c does so if the outer side's first row costs less).
    pub(super) peeks: bool,
    /// The columns of the outer side's scan that have its keys, if the scan may drop rows without a
    /// match.
    pub(super) sought: Option<Box<[usize]>>,
}

/// The keys of one side.
pub(super) struct KeyColumns {
    pub(super) at: Box<[KeyAt]>,
    pub(super) computed: Box<[VExpr]>,
}

/// A column to hand up.
#[derive(Clone, Copy)]
pub(super) enum Output {
    /// A column of the row.
    Column(usize),
    /// This expression of the projection.
    Computed(usize),
}

impl ColumnJoin {
    /// `None`: no side hands up columns, or the join's conditions do not compile to columns.
    pub(crate) fn compile(
        plan: &Plan,
        (outer, inner): (&CPlan, &CPlan),
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<ColumnJoin>> {
        let PlanNode::HashJoin { kind, keys, on, outer: o, inner: i, .. } = &plan.node else {
            return Ok(None);
        };
        if outer.columns.is_none() && inner.columns.is_none() {
            return Ok(None);
        }
        let side =
            |key: fn(&(Expr, Expr, FunctionRef)) -> &Expr| keys.iter().map(key).collect::<Vec<_>>();
        let (outer_exprs, inner_exprs) = (side(|key| &key.0), side(|key| &key.1));
        let Some(outer_keys) = KeyColumns::compile(&outer_exprs, compiler)? else {
            return Ok(None);
        };
        let Some(inner_keys) = KeyColumns::compile(&inner_exprs, compiler)? else {
            return Ok(None);
        };
        let Some(on) = Condition::compile_all(conjuncts(on.as_ref()), compiler)? else {
            return Ok(None);
        };
        let filter_reads: Box<[_]> =
            conjuncts(plan.filter.as_ref()).iter().map(|c| slots_of([c])).collect();
        let sought = sought(*kind, outer, &outer_keys);
        let (outputs, output_reads) = outputs(plan);
        // A join that hands up inner rows alone numbers their columns from 0.
        let width = outer.width;
        let base = match kind {
            JoinKind::RightSemi | JoinKind::RightAnti => width,
            _ => 0,
        };
        let columns = outputs.iter().filter_map(|output| match output {
            Output::Column(slot) => Some(slot),
            Output::Computed(_) => None,
        });
        let above = filter_reads.iter().flatten().chain(&output_reads).chain(columns);
        let read: BTreeSet<usize> = on
            .iter()
            .flat_map(|on| on.reads.iter().copied())
            .chain(above.map(|slot| slot + base))
            .chain(outer_keys.columns())
            .chain(inner_keys.columns().map(|slot| slot + width))
            .collect();
        Ok(Some(ColumnJoin {
            outer_kept: read.iter().copied().filter(|slot| *slot < width).collect(),
            inner_kept: read.iter().filter_map(|slot| slot.checked_sub(width)).collect(),
            outer_keys,
            inner_keys,
            on,
            sought,
            filter_reads,
            outputs,
            output_reads,
            peeks: match kind {
                JoinKind::Right | JoinKind::Full | JoinKind::RightAnti => false,
                JoinKind::Left | JoinKind::Anti => true,
                _ => o.cost.startup < i.cost.total,
            },
        }))
    }
}

impl KeyColumns {
    fn compile(keys: &[&Expr], compiler: &mut Compiler<'_>) -> Result<Option<KeyColumns>> {
        let (mut at, mut computed) = (Vec::new(), Vec::new());
        for key in keys {
            if let Expr::Slot { index, .. } = key {
                at.push(KeyAt::Column(*index));
                continue;
            }
            let Some(compiled) = VExpr::compile(key, compiler)? else { return Ok(None) };
            at.push(KeyAt::Computed(computed.len()));
            computed.push(compiled);
        }
        Ok(Some(KeyColumns { at: at.into(), computed: computed.into() }))
    }

    fn columns(&self) -> impl Iterator<Item = usize> {
        self.at.iter().filter_map(|key| match key {
            KeyAt::Column(i) => Some(*i),
            KeyAt::Computed(_) => None,
        })
    }
}

/// The columns of the outer side's scan that have the join's keys, if the scan may drop rows
/// without a match. The scan must hand up stored columns only, since their output cannot fail.
fn sought(kind: JoinKind, outer: &CPlan, keys: &KeyColumns) -> Option<Box<[usize]>> {
    if matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti) {
        return None;
    }
    let columns = outer.columns.as_ref().filter(|_| outer.kind.scanned().is_some())?;
    let slot_of = |expr: &VExpr| match expr {
        VExpr::Slot(slot) => Some(*slot),
        _ => None,
    };
    let slots: Option<Vec<usize>> = match &columns.project {
        None => None,
        Some(project) => Some(project.iter().map(slot_of).collect::<Option<_>>()?),
    };
    let slot = |key: &KeyAt| match (key, &slots) {
        (KeyAt::Column(i), None) => Some(*i),
        (KeyAt::Column(i), Some(slots)) => slots.get(*i).copied(),
        (KeyAt::Computed(_), _) => None,
    };
    keys.at.iter().map(slot).collect()
}

/// The columns to hand up, and the columns that computed ones of them read.
fn outputs(plan: &Plan) -> (Box<[Output]>, Box<[usize]>) {
    let Some(project) = &plan.project else {
        return ((0..plan.types.len()).map(Output::Column).collect(), Box::new([]));
    };
    let output = |(i, expr): (usize, &Expr)| match expr {
        Expr::Slot { index, .. } => Output::Column(*index),
        _ => Output::Computed(i),
    };
    let computed = project.iter().filter(|expr| !matches!(expr, Expr::Slot { .. }));
    (project.iter().enumerate().map(output).collect(), slots_of(computed))
}
