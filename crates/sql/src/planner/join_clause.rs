//! Conditions of joins, analysed once (RestrictInfo in PostgreSQL).
//!
//! Many candidate joins need the entries that a condition names, and whether it is an equality of
//! one side with the other. It keeps these results, and candidates share it.

use super::{Planner, RteSet, is_volatile, rtes_of};
use crate::expr::{CallSyntax, Expr};
use std::cell::Cell;
use std::rc::Rc;
use steppe_catalog::OperatorRef;

/// A condition with its entries.
#[derive(Debug)]
pub(super) struct Clause {
    pub(super) expr: Expr,
    pub(super) rtes: RteSet,
    pub(super) equality: Option<Equality>,
    /// The fraction of pairs of rows that it selects, once that has been estimated.
    pairs: Cell<Option<f64>>,
}

impl Clause {
    /// The fraction of pairs of rows that it selects.
    pub(super) fn pairs(&self, estimate: impl Fn(&Expr) -> f64) -> f64 {
        let pairs = self.pairs.get().unwrap_or_else(|| estimate(&self.expr));
        self.pairs.set(Some(pairs));
        pairs
    }
}

/// `left = right`, each over entries of its own, by an operator that hashes.
#[derive(Debug)]
pub(super) struct Equality {
    pub(super) left: Expr,
    pub(super) right: Expr,
    left_rtes: RteSet,
    right_rtes: RteSet,
    operator: OperatorRef,
    commutator: Option<OperatorRef>,
    /// Both sides are of one type, and the operator merges.
    pub(super) merges: bool,
    /// The parts of the sides that a merge reads, once that has been estimated.
    parts_read: Cell<Option<[(f64, f64); 2]>>,
    /// The number of values of each side, once that has been estimated.
    distinct: [Cell<Option<f64>>; 2],
}

/// An equality as a join's key.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinKey {
    /// The index of the join's condition.
    pub(super) clause: usize,
    /// The outer side's expression is the right one.
    is_flipped: bool,
    pub(super) merges: bool,
}

impl JoinKey {
    /// The expression over the outer side, that over the inner side, and the operator.
    pub(super) fn sides<'c>(
        &self,
        on: &'c [Rc<Clause>],
    ) -> Option<(&'c Expr, &'c Expr, OperatorRef)> {
        let equality = on.get(self.clause)?.equality.as_ref()?;
        Some(match self.is_flipped {
            false => (&equality.left, &equality.right, equality.operator.clone()),
            true => (&equality.right, &equality.left, equality.commutator.clone()?),
        })
    }

    /// The number of values of the inner side's expression.
    pub(super) fn inner_distinct(&self, on: &[Rc<Clause>], count: impl Fn(&Expr) -> f64) -> f64 {
        let Some(equality) = on.get(self.clause).and_then(|c| c.equality.as_ref()) else {
            return 1.0;
        };
        let (known, expr) = match self.is_flipped {
            false => (&equality.distinct[1], &equality.right),
            true => (&equality.distinct[0], &equality.left),
        };
        let distinct = known.get().unwrap_or_else(|| count(expr).max(1.0));
        known.set(Some(distinct));
        distinct
    }

    /// The parts of the outer and of the inner side that a merge by this key reads.
    pub(super) fn parts_read(
        &self,
        on: &[Rc<Clause>],
        estimate: impl Fn(&Expr, &Expr) -> [(f64, f64); 2],
    ) -> [(f64, f64); 2] {
        let Some(equality) = on.get(self.clause).and_then(|c| c.equality.as_ref()) else {
            return [(0.0, 1.0); 2];
        };
        let known = equality.parts_read.get();
        let parts = known.unwrap_or_else(|| estimate(&equality.left, &equality.right));
        equality.parts_read.set(Some(parts));
        let [left, right] = parts;
        if self.is_flipped { [right, left] } else { [left, right] }
    }
}

impl Planner<'_> {
    pub(super) fn clause(&self, expr: Expr) -> Rc<Clause> {
        let (rtes, equality) = (rtes_of(&expr), self.equality_of(&expr));
        Rc::new(Clause { expr, rtes, equality, pairs: Cell::default() })
    }

    fn equality_of(&self, expr: &Expr) -> Option<Equality> {
        let Expr::Func { args, syntax: CallSyntax::Operator(op), .. } = expr else { return None };
        let [left, right] = args.as_slice() else { return None };
        if op.built_in_name() != Some("=") || !op.can_hash || is_volatile(expr) {
            return None;
        }
        let (left_rtes, right_rtes) = (rtes_of(left), rtes_of(right));
        if left_rtes.is_empty() || right_rtes.is_empty() || left_rtes.overlaps(&right_rtes) {
            return None;
        }
        Some(Equality {
            left: left.clone(),
            right: right.clone(),
            left_rtes,
            right_rtes,
            operator: op.clone(),
            commutator: OperatorRef::built_in(op.commutator),
            merges: left.ty().oid == right.ty().oid && op.can_merge,
            parts_read: Cell::default(),
            distinct: Default::default(),
        })
    }
}

/// The conditions that are equalities of the outer side with the inner one.
pub(super) fn join_keys(on: &[Rc<Clause>], outer: &RteSet, inner: &RteSet) -> Vec<JoinKey> {
    let key = |(clause, of): (usize, &Rc<Clause>)| {
        let equality = of.equality.as_ref()?;
        let (left, right) = (&equality.left_rtes, &equality.right_rtes);
        let is_flipped = match (left.is_subset(outer), left.is_subset(inner)) {
            (true, _) if right.is_subset(inner) => false,
            (_, true) if right.is_subset(outer) => true,
            _ => return None,
        };
        Some(JoinKey { clause, is_flipped, merges: equality.merges })
    };
    on.iter().enumerate().filter_map(key).collect()
}

/// The entries of which no column may be NULL if a condition is true: it is not true of a row
/// that an outer join has padded (find_nonnullable_rels).
pub(super) fn entries_rejecting_null(condition: &Expr) -> RteSet {
    rejecting(condition, true)
}

/// `is_condition`: false counts as NULL.
fn rejecting(expr: &Expr, is_condition: bool) -> RteSet {
    let of_all = |args: &mut dyn Iterator<Item = &Expr>| {
        args.fold(RteSet::default(), |all, arg| all.union(&rejecting(arg, false)))
    };
    match expr {
        Expr::Var { rte, levels_up: 0, .. } => RteSet::one(*rte),
        Expr::Relabel { arg, .. } | Expr::CoerceViaIo { arg, .. } => rejecting(arg, false),
        Expr::Func { func, args, .. } if func.strict && !func.retset => of_all(&mut args.iter()),
        Expr::Not(arg) => rejecting(arg, false),
        Expr::And(args) if is_condition => {
            args.iter().fold(RteSet::default(), |all, arg| all.union(&rejecting(arg, true)))
        }
        Expr::And(args) | Expr::Or(args) => common(args, is_condition),
        Expr::IsNull { arg, negated: true } if is_condition => match &**arg {
            column @ Expr::Var { .. } => rejecting(column, false),
            _ => RteSet::default(),
        },
        _ => RteSet::default(),
    }
}

/// The entries that each of the arguments rejects NULLs of.
fn common(args: &[Expr], is_condition: bool) -> RteSet {
    let mut sets = args.iter().map(|arg| rejecting(arg, is_condition));
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |kept, other| {
        let mut both = RteSet::default();
        kept.iter().filter(|rte| other.contains(*rte)).for_each(|rte| both.insert(rte));
        both
    })
}
