//! EXISTS, NOT EXISTS and IN of sub-selects among the conditions of WHERE as joins
//! (pull_up_sublinks in prepjointree.c, convert_EXISTS_sublink_to_join and
//! convert_ANY_sublink_to_join in subselect.c).
//!
//! ```text
//!   WHERE EXISTS (SELECT FROM u WHERE u.a = t.a)         t SEMI JOIN u ON u.a = t.a
//!   WHERE NOT EXISTS (SELECT FROM u WHERE u.a = t.a)     t ANTI JOIN u ON u.a = t.a
//!   WHERE t.a IN (SELECT u.a FROM u)                     t SEMI JOIN (SELECT u.a FROM u) ON …
//! ```
//!
//! The join is put on the smallest part of FROM that its condition names columns of. `NOT IN` stays
//! a sub-select: a NULL makes it neither true nor false.
//!
//! A sub-select of one table may have sub-selects among its own conditions. An EXISTS or IN that
//! names only columns from further out is a condition of the query around as well, where it may
//! become a join of its own. A scalar one, or one that names columns of both, is evaluated for each
//! row, or pair of rows, as any condition of the join. One that names columns of that table alone
//! keeps both as sub-selects: within, it becomes a join, or is hashed. (PostgreSQL joins all of
//! them. Here a join is not looked up by values of outer rows, so that few of those would read all
//! of it.)

use super::hashed_exists::simplify_exists;
use super::or_lists::array_of;
use super::prep::is_volatile_within;
use super::pullup::{
    inner_join, is_joins_only, joined, pull_up_subqueries, refers_out, refers_outside,
    take_level_away,
};
use super::subselect::contains_sublink;
use super::{RteSet, and_all, conjuncts, is_volatile, returns_set};
use crate::expr::{CallSyntax, Expr, SubLinkKind, TypeRef};
use crate::query::*;
use crate::walk;
use steppe_types::oid;

/// EXISTS, NOT EXISTS and IN of sub-selects among the conditions of WHERE become joins.
pub(super) fn pull_up_sublinks(query: &mut Query) {
    if query.from.is_empty() {
        return;
    }
    let mut conditions = Vec::new();
    query.filter.take().into_iter().for_each(|f| conjuncts(f, &mut conditions));
    conditions.reverse();
    let mut kept = Vec::with_capacity(conditions.len());
    while let Some(condition) = conditions.pop() {
        match join_of(condition, query.rtes.len()) {
            Ok(mut join) => {
                if join.kind == JoinKind::Semi {
                    conditions.extend(join.take_outer_sublinks());
                }
                attach(query, join);
            }
            Err(condition) => kept.push(condition),
        }
    }
    query.filter = and_all(kept);
}

/// A sub-select as the right side of a join.
struct SubJoin {
    kind: JoinKind,
    rtes: Vec<Rte>,
    right: FromItem,
    on: Vec<Expr>,
}

impl SubJoin {
    /// Takes out the conditions with sub-selects that name no column of the right side.
    fn take_outer_sublinks(&mut self) -> Vec<Expr> {
        let inner = super::join::item_rtes(&self.right);
        let is_outer = |e: &mut Expr| {
            contains_sublink(e) && !entries_within(e).iter().any(|rte| inner.contains(rte))
        };
        self.on.extract_if(.., is_outer).collect()
    }
}

/// The entries of this query that an expression names columns of, in sub-selects as well.
fn entries_within(expr: &Expr) -> RteSet {
    let mut entries = RteSet::default();
    walk::visit_levels(expr, 0, &mut |node, depth| {
        match node {
            Expr::Var { rte, levels_up, .. } if *levels_up == depth => entries.insert(*rte),
            _ => {}
        }
        true
    });
    entries
}

/// Whether EXISTS or IN of a sub-select occurs that names nothing of the queries around this one.
fn asks_within(expr: &Expr) -> bool {
    matches!(expr, Expr::SubLink { kind: SubLinkKind::Exists | SubLinkKind::Any, .. })
        && !reaches_out(expr)
        || expr.any_child(asks_within)
}

/// Whether an expression names anything of the queries around this one, in sub-selects as well.
fn reaches_out(expr: &Expr) -> bool {
    let mut found = false;
    walk::visit_levels(expr, 0, &mut |node, depth| {
        found |= matches!(node, Expr::Var { levels_up, .. } if *levels_up > depth);
        !found
    });
    found
}

/// The join that a condition means, or the condition back.
fn join_of(condition: Expr, offset: usize) -> Result<SubJoin, Expr> {
    match condition {
        Expr::SubLink { kind: SubLinkKind::Exists, test: None, query, ty } => {
            exists_join(query, JoinKind::Semi, offset).map_err(|query| Expr::SubLink {
                kind: SubLinkKind::Exists,
                test: None,
                query,
                ty,
            })
        }
        Expr::Not(arg) => match *arg {
            Expr::SubLink { kind: SubLinkKind::Exists, test: None, query, ty } => {
                exists_join(query, JoinKind::Anti, offset).map_err(|query| {
                    let kind = SubLinkKind::Exists;
                    Expr::Not(Box::new(Expr::SubLink { kind, test: None, query, ty }))
                })
            }
            other => Err(Expr::Not(Box::new(other))),
        },
        Expr::SubLink { kind: SubLinkKind::Any, test: Some(test), query, ty } => {
            if let Some(probe) = probe_of_values(&test, &query) {
                return Err(probe);
            }
            in_join(query, test, offset).map_err(|(query, test)| Expr::SubLink {
                kind: SubLinkKind::Any,
                test: Some(test),
                query,
                ty,
            })
        }
        other => Err(other),
    }
}

/// `x IN (VALUES …)` over constants and the like as `x = ANY (ARRAY[…])` (convert_VALUES_to_ANY).
fn probe_of_values(test: &Expr, query: &Query) -> Option<Expr> {
    let Expr::Func { func, args, syntax: syntax @ CallSyntax::Operator(_), .. } = test else {
        return None;
    };
    let [left, Expr::SubLinkColumn { .. }] = args.as_slice() else { return None };
    let ([FromItem::Rte(rte)], [Target { expr: Expr::Var { levels_up: 0, ty, .. }, .. }]) =
        (query.from.as_slice(), query.targets.as_slice())
    else {
        return None;
    };
    let RteKind::Values(rows) = &query.rtes[*rte].kind else { return None };
    let plain = |e: &Expr| !is_volatile(e) && !contains_sublink(e) && !has_columns(e);
    let values: Vec<&Expr> = rows.iter().flatten().collect();
    if !is_joins_only(query)
        || query.filter.is_some()
        || values.len() != rows.len()
        || !values.iter().all(|e| plain(e))
    {
        return None;
    }
    let elements = values.into_iter().cloned().collect();
    let array = TypeRef::plain(oid::array_type_of(ty.oid)?);
    let array = Box::new(array_of(elements, ty.oid, array));
    let left = Box::new(left.clone());
    Some(Expr::ScalarArrayOp {
        func: func.clone(),
        all: false,
        left,
        array,
        syntax: syntax.clone(),
    })
}

fn has_columns(expr: &Expr) -> bool {
    matches!(expr, Expr::Var { .. }) || expr.any_child(has_columns)
}

/// `EXISTS (SELECT … FROM right WHERE on)`.
fn exists_join(
    mut query: Box<Query>,
    kind: JoinKind,
    offset: usize,
) -> Result<SubJoin, Box<Query>> {
    simplify_exists(&mut query);
    flat_join(query, kind, offset).map(|(join, _)| join)
}

/// `SELECT … FROM right WHERE on` as a join, and its select list: only WHERE may refer to the query
/// around, and must.
fn flat_join(
    mut query: Box<Query>,
    kind: JoinKind,
    offset: usize,
) -> Result<(SubJoin, Vec<Target>), Box<Query>> {
    pull_up_subqueries(&mut query);
    let tables = |r: &Rte| match &r.kind {
        RteKind::Relation(_) | RteKind::Join { .. } => true,
        RteKind::Values(rows) => rows.is_empty(),
        _ => false,
    };
    let is_one = matches!(query.from.as_slice(), [FromItem::Rte(_)]);
    let convertible = is_joins_only(&query)
        && query.row_locks.is_empty()
        && !query.targets.iter().any(|t| returns_set(&t.expr))
        && query.from.iter().all(|item| !refers_outside(item))
        && query.rtes.iter().all(tables)
        && query.filter.as_ref().is_some_and(|f| {
            let may_ask = is_one && !asks_within(f);
            refers_out(f) && (may_ask || !contains_sublink(f)) && !is_volatile_within(f)
        });
    if !convertible {
        return Err(query);
    }
    query.order_by.clear();
    take_level_away(&mut query, offset);
    let mut on = Vec::new();
    query.filter.take().into_iter().for_each(|f| conjuncts(f, &mut on));
    Ok((SubJoin { kind, rtes: query.rtes, right: joined(query.from), on }, query.targets))
}

/// `x IN (SELECT c …)`: the sub-select as an entry, or merged if it refers to the query around.
#[allow(clippy::type_complexity)]
fn in_join(
    mut query: Box<Query>,
    test: Box<Expr>,
    offset: usize,
) -> Result<SubJoin, (Box<Query>, Box<Expr>)> {
    let mut correlated = false;
    walk::for_each_node(&mut query, 0, &mut |e, depth| {
        correlated |= matches!(e, Expr::Var { levels_up, .. } if *levels_up > depth);
    });
    let names_columns = super::rtes_of(&test);
    if names_columns.is_empty() || is_volatile(&test) || contains_sublink(&test) {
        return Err((query, test));
    }
    if correlated {
        return correlated_in_join(query, test, offset);
    }
    let columns: Vec<RteColumn> = query
        .targets
        .iter()
        .filter(|t| !t.hidden)
        .map(|t| RteColumn { name: t.name.clone(), ty: t.expr.ty(), dropped: false })
        .collect();
    let mut conditions = Vec::new();
    let column = |index, ty| Expr::var(offset, index, ty);
    conjuncts(over_columns(*test, &column), &mut conditions);
    let rte = Rte {
        alias: "ANY_subquery".into(),
        has_alias: false,
        kind: RteKind::Subquery { query, lateral: false, view: None },
        inherit: false,
        columns,
    };
    let right = FromItem::Rte(offset);
    Ok(SubJoin { kind: JoinKind::Semi, rtes: vec![rte], right, on: conditions })
}

/// `x IN (SELECT c FROM right WHERE on)` with an `on` that refers to the query around: a join on it
/// and `x = c`.
#[allow(clippy::type_complexity)]
fn correlated_in_join(
    query: Box<Query>,
    test: Box<Expr>,
    offset: usize,
) -> Result<SubJoin, (Box<Query>, Box<Expr>)> {
    let plain = |t: &Target| !is_volatile(&t.expr) && !contains_sublink(&t.expr);
    if !query.targets.iter().all(plain) {
        return Err((query, test));
    }
    let (mut join, targets) = match flat_join(query, JoinKind::Semi, offset) {
        Ok(join) => join,
        Err(query) => return Err((query, test)),
    };
    let columns: Vec<Expr> = targets.into_iter().filter(|t| !t.hidden).map(|t| t.expr).collect();
    let column = |index: usize, ty| match columns.get(index) {
        Some(column) => column.clone(),
        None => Expr::SubLinkColumn { index, ty },
    };
    conjuncts(over_columns(*test, &column), &mut join.on);
    Ok(join)
}

/// A comparison with a sub-select's columns as one with their expressions.
fn over_columns(test: Expr, column: &dyn Fn(usize, TypeRef) -> Expr) -> Expr {
    let over = test.transform(&mut |e| {
        Ok::<_, std::convert::Infallible>(match e {
            Expr::SubLinkColumn { index, ty } => column(index, ty),
            other => other,
        })
    });
    match over {
        Ok(over) => over,
        Err(never) => match never {},
    }
}

/// Joins a sub-select to the smallest part of FROM that its condition names columns of.
fn attach(query: &mut Query, join: SubJoin) {
    let inner: RteSet = super::join::item_rtes(&join.right);
    let mut outer = RteSet::default();
    for condition in &join.on {
        for rte in entries_within(condition).iter().filter(|r| !inner.contains(*r)) {
            outer.insert(rte);
        }
    }
    // What refers to its neighbours is planned beside them.
    let lateral = super::lateral::lateral_references(query);
    query.rtes.extend(join.rtes);
    let holds = |item: &FromItem| {
        let rtes = super::join::item_rtes(item);
        outer.is_subset(&rtes) && !lateral.keys().any(|rte| rtes.contains(*rte))
    };
    let position = query.from.iter().position(holds);
    let Some(place) = position else {
        let left = Box::new(joined(std::mem::take(&mut query.from)));
        let (right, on) = (Box::new(join.right), and_all(join.on));
        query.from = vec![FromItem::Join {
            kind: join.kind,
            left,
            right,
            on,
            using: Vec::new(),
            entry: None,
        }];
        return;
    };
    let left = query.from.remove(place);
    let item = attach_below(left, join.kind, join.right, join.on, &outer);
    query.from.insert(place, item);
}

fn attach_below(
    left: FromItem,
    kind: JoinKind,
    right: FromItem,
    conditions: Vec<Expr>,
    outer: &RteSet,
) -> FromItem {
    if let FromItem::Join { kind: JoinKind::Inner, left: a, right: b, on, .. } = left {
        let is_in = |item: &FromItem| outer.is_subset(&super::join::item_rtes(item));
        if is_in(&a) {
            let a = Box::new(attach_below(*a, kind, right, conditions, outer));
            return inner_join(a, b, on);
        }
        if is_in(&b) {
            let b = Box::new(attach_below(*b, kind, right, conditions, outer));
            return inner_join(a, b, on);
        }
        let left = Box::new(inner_join(a, b, on));
        let (right, on) = (Box::new(right), and_all(conditions));
        return FromItem::Join { kind, left, right, on, using: Vec::new(), entry: None };
    }
    let (left, right) = (Box::new(left), Box::new(right));
    FromItem::Join { kind, left, right, on: and_all(conditions), using: Vec::new(), entry: None }
}
