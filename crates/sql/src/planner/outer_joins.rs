//! Outer joins that are less than that (reduce_outer_joins in prepjointree.c).
//!
//! ```text
//!   t LEFT JOIN u ON … WHERE u.x > 1                    t JOIN u          no padded row passes
//!   t FULL JOIN u ON … WHERE t.x > 1                    t LEFT JOIN u
//!   t LEFT JOIN u ON t.a = u.a WHERE u.a IS NULL        t ANTI JOIN u     only padded rows pass
//! ```
//!
//! A condition is *strict* for a table if it cannot be true where all of the table's columns are
//! NULL. WHERE, and the conditions of inner and semi joins around an outer join, drop the rows
//! that it pads if they are strict for the padded table. A RIGHT join is turned into a LEFT one.
//!
//! In an anti join's rows the right side is NULL: columns of it become NULL wherever they are
//! named outside the join.

use super::join::item_rtes;
use super::{ColumnId, RteSet, and_all, column_id, conjuncts};
use crate::expr::{BoolTest, Expr};
use crate::query::{FromItem, JoinKind, Query, RteKind};
use crate::walk;
use hashbrown::HashSet;
use steppe_catalog::{Function, is_row_type};
use steppe_types::{Datum, interrupt, oid};

/// The properties of the rows that pass the conditions around a join.
#[derive(Clone, Default)]
struct Known {
    /// Entries that conditions are strict for.
    strict: RteSet,
    /// Columns that are NULL.
    null: HashSet<ColumnId>,
}

impl Known {
    fn of(condition: Option<&Expr>) -> Known {
        let mut known = Known::default();
        if let Some(condition) = condition {
            known.strict = strict_entries(condition, true);
            null_columns(condition, &mut known.null);
        }
        known
    }

    fn and(&self, other: &Known) -> Known {
        let null = self.null.union(&other.null).copied().collect();
        Known { strict: self.strict.union(&other.strict), null }
    }
}

/// Reduces the outer joins of a query.
pub(super) fn reduce(query: &mut Query) {
    if !query.from.iter().any(contains_outer) {
        return;
    }
    let known = Known::of(query.filter.as_ref());
    let mut nulled = Vec::new();
    query.from.iter_mut().for_each(|item| reduce_item(item, &known, &mut nulled));
    if !nulled.is_empty() {
        put_nulls(query, &nulled);
    }
}

fn contains_outer(item: &FromItem) -> bool {
    let FromItem::Join { kind, left, right, .. } = item else { return false };
    matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Full)
        || contains_outer(left)
        || contains_outer(right)
}

/// `nulled`: the right sides of joins that have become anti joins.
fn reduce_item(item: &mut FromItem, known: &Known, nulled: &mut Vec<RteSet>) {
    let FromItem::Join { kind, left, right, on, .. } = item else { return };
    let (of_left, of_right) = (item_rtes(left), item_rtes(right));
    let (drops_left, drops_right) =
        (known.strict.overlaps(&of_left), known.strict.overlaps(&of_right));
    *kind = match *kind {
        JoinKind::Left if drops_right => JoinKind::Inner,
        JoinKind::Right | JoinKind::Full if drops_left && drops_right => JoinKind::Inner,
        JoinKind::Right if drops_left => JoinKind::Inner,
        JoinKind::Full if drops_left => JoinKind::Left,
        JoinKind::Full if drops_right => JoinKind::Right,
        other => other,
    };
    let of_right = match kind {
        JoinKind::Right => {
            *kind = JoinKind::Left;
            std::mem::swap(left, right);
            of_left
        }
        _ => of_right,
    };
    let is_padded =
        |column: &&ColumnId| of_right.contains(column.0) && known.null.contains(*column);
    if *kind == JoinKind::Left
        && known.null.iter().any(|column| of_right.contains(column.0))
        && on.as_ref().is_some_and(|on| strict_columns(on, true).iter().any(|c| is_padded(&c)))
    {
        *kind = JoinKind::Anti;
        nulled.push(of_right);
    }
    let own = Known::of(on.as_ref());
    let (to_left, to_right) = match kind {
        JoinKind::Inner | JoinKind::Semi => {
            let both = own.and(known);
            (both.clone(), both)
        }
        JoinKind::Full => (Known::default(), Known::default()),
        _ => (known.clone(), own),
    };
    reduce_item(left, &to_left, nulled);
    reduce_item(right, &to_right, nulled);
}

/// The entries that a condition is strict for (find_nonnullable_rels). `is_condition`: false is
/// as good as NULL.
fn strict_entries(expr: &Expr, is_condition: bool) -> RteSet {
    let found = strict_for(expr, is_condition, &|(rte, _)| (rte, 0));
    found.into_iter().fold(RteSet::default(), |mut set, (rte, _)| {
        set.insert(rte);
        set
    })
}

/// The columns that a condition is strict for (find_nonnullable_vars).
fn strict_columns(expr: &Expr, is_condition: bool) -> HashSet<ColumnId> {
    strict_for(expr, is_condition, &|column| column)
}

/// The columns that a condition is strict for, each mapped by `of`.
fn strict_for(
    expr: &Expr,
    is_condition: bool,
    of: &dyn Fn(ColumnId) -> ColumnId,
) -> HashSet<ColumnId> {
    interrupt::check_unwinding();
    let union = |args: &mut dyn Iterator<Item = &Expr>, is_condition| {
        args.flat_map(|arg| strict_for(arg, is_condition, of)).collect()
    };
    match expr {
        Expr::Var { rte, column, levels_up: 0, .. } => [of(column_id(*rte, *column))].into(),
        Expr::Func { func, args, .. } if is_strict(func) => union(&mut args.iter(), false),
        Expr::ScalarArrayOp { func, all, left, array, .. }
            if is_strict(func) && (!all && is_condition || has_elements(array)) =>
        {
            union(&mut [&**left, &**array].into_iter(), false)
        }
        Expr::And(args) if is_condition => union(&mut args.iter(), true),
        Expr::And(args) | Expr::Or(args) => in_all(args, &|arg| strict_for(arg, is_condition, of)),
        Expr::Not(arg) => strict_for(arg, false, of),
        Expr::Relabel { arg, .. } | Expr::CoerceViaIo { arg, .. } => {
            strict_for(arg, is_condition, of)
        }
        Expr::IsNull { arg, negated: true } if is_condition && !is_row(arg) => {
            strict_for(arg, false, of)
        }
        Expr::BoolTest { arg, test: BoolTest::True | BoolTest::False | BoolTest::NotUnknown }
            if is_condition =>
        {
            strict_for(arg, false, of)
        }
        _ => HashSet::new(),
    }
}

/// Whether an expression over the columns of a query is NULL where all of those are: there is one,
/// and nothing that makes a value of NULL (contain_nonstrict_functions).
pub(super) fn is_null_with_row(expr: &Expr) -> bool {
    let is_strict_here = |expr: &Expr| match expr {
        Expr::Var { .. } | Expr::Const(..) | Expr::Param { .. } => true,
        Expr::Func { func, .. } => is_strict(func),
        Expr::Relabel { .. } | Expr::CoerceViaIo { .. } => true,
        _ => false,
    };
    fn all(expr: &Expr, holds: &dyn Fn(&Expr) -> bool) -> bool {
        holds(expr) && expr.children().into_iter().all(|child| all(child, holds))
    }
    all(expr, &is_strict_here) && !super::rtes_of(expr).is_empty()
}

/// The columns that each of these is strict for.
fn in_all(args: &[Expr], strict_for: &dyn Fn(&Expr) -> HashSet<ColumnId>) -> HashSet<ColumnId> {
    let mut args = args.iter();
    let mut common = args.next().map(strict_for).unwrap_or_default();
    for arg in args {
        if common.is_empty() {
            break;
        }
        let of_arg = strict_for(arg);
        common.retain(|column| of_arg.contains(column));
    }
    common
}

fn is_strict(func: &Function) -> bool {
    func.strict && !func.retset
}

/// Whether an array is known not to be empty: ALL of nothing is true.
fn has_elements(array: &Expr) -> bool {
    match array {
        Expr::Const(Datum::Array(array), _) => !array.elements.is_empty(),
        Expr::Array { elements, multidim: false, .. } => !elements.is_empty(),
        _ => false,
    }
}

fn is_row(expr: &Expr) -> bool {
    let ty = expr.ty().oid;
    ty == oid::RECORD || is_row_type(ty)
}

/// The columns that a condition wants to be NULL (find_forced_null_vars).
fn null_columns(condition: &Expr, out: &mut HashSet<ColumnId>) {
    match condition {
        Expr::And(args) => args.iter().for_each(|arg| null_columns(arg, out)),
        Expr::IsNull { arg, negated: false } | Expr::BoolTest { arg, test: BoolTest::Unknown } => {
            if let Expr::Var { rte, column, levels_up: 0, .. } = &**arg
                && !is_row(arg)
            {
                out.insert(column_id(*rte, *column));
            }
        }
        _ => {}
    }
}

/// Puts NULL in place of the columns of anti joins' right sides, outside those joins.
fn put_nulls(query: &mut Query, nulled: &[RteSet]) {
    let sets: Vec<&RteSet> = nulled.iter().collect();
    let mut from = std::mem::take(&mut query.from);
    let mut rtes = std::mem::take(&mut query.rtes);
    walk::for_each_node(query, 0, &mut |e, depth| put_null(e, depth, &sets));
    from.iter_mut().for_each(|item| put_nulls_in(item, &sets));
    for (rte, entry) in rtes.iter_mut().enumerate() {
        let outside: Vec<&RteSet> = sets.iter().copied().filter(|set| !set.contains(rte)).collect();
        let mut put = |e: &mut Expr, depth: usize| put_null(e, depth, &outside);
        match &mut entry.kind {
            RteKind::Function { calls, .. } => {
                calls.iter_mut().for_each(|(call, _)| walk::for_each_level(call, 0, &mut put));
            }
            RteKind::Values(rows) => {
                rows.iter_mut().flatten().for_each(|e| walk::for_each_level(e, 0, &mut put));
            }
            RteKind::Subquery { query, .. } => walk::for_each_node(query, 1, &mut put),
            RteKind::Relation(_) | RteKind::Join { .. } | RteKind::Cte { .. } => {}
        }
    }
    (query.from, query.rtes) = (from, rtes);
    let mut conditions = Vec::new();
    query.filter.take().into_iter().for_each(|filter| conjuncts(filter, &mut conditions));
    conditions.retain(|condition| !is_null_test_of_null(condition));
    query.filter = and_all(conditions);
}

fn put_null(expr: &mut Expr, depth: usize, sets: &[&RteSet]) {
    if let Expr::Var { rte, levels_up, ty, .. } = expr
        && *levels_up == depth
        && sets.iter().any(|set| set.contains(*rte))
    {
        *expr = Expr::Const(Datum::Null, *ty);
    }
}

fn put_nulls_in(item: &mut FromItem, sets: &[&RteSet]) {
    let FromItem::Join { kind, left, right, on, .. } = item else { return };
    let of_right = item_rtes(right);
    let inside: Vec<&RteSet> = match kind {
        JoinKind::Anti => sets.iter().copied().filter(|set| **set != of_right).collect(),
        _ => sets.to_vec(),
    };
    put_nulls_in(left, sets);
    put_nulls_in(right, &inside);
    if let Some(on) = on {
        walk::for_each_level(on, 0, &mut |e, depth| put_null(e, depth, &inside));
    }
}

fn is_null_test_of_null(condition: &Expr) -> bool {
    let arg = match condition {
        Expr::IsNull { arg, negated: false } | Expr::BoolTest { arg, test: BoolTest::Unknown } => {
            arg
        }
        _ => return false,
    };
    matches!(**arg, Expr::Const(Datum::Null, _))
}
