//! Conditions taken out of an OR: the ones that its arms have in common (prepqual.c), and the ones
//! on each of several tables (orclauses.c).
//!
//! ```text
//!   (a AND b) OR (a AND c)              becomes   a AND (b OR c)
//!   t.x = 1 AND u.y = 2                 stays, and t is read by   t.x = 1 OR t.x = 3
//!     OR t.x = 3 AND u.y = 4                       u is read by   u.y = 2 OR u.y = 4
//! ```
//!
//! The first form gives joins their conditions back. It is equivalent, NULLs included: AND
//! distributes over OR in three-valued logic. The second adds conditions that hold wherever the OR
//! does, so that rows are dropped before they are joined. The OR is checked above nevertheless. The
//! share of rows that it lets through there is its remaining one ([`share_left`]), since the
//! tables' rows have been counted without those dropped.

use super::cost::Estimator;
use super::{RteSet, and_all, conjuncts, is_volatile, rtes_of};
use crate::expr::Expr;
use crate::query::{FromItem, JoinKind, Query, Rte, RteKind};
use steppe_types::interrupt;

/// A condition that lets a larger share of rows through is not worth its check.
const SHARE_MAX: f64 = 0.9;

/// Takes the common conditions out of the ORs in WHERE and ON.
pub(super) fn factor_conditions(query: &mut Query) {
    query.filter.iter_mut().for_each(factor);
    query.from.iter_mut().for_each(factor_joins);
}

fn factor_joins(item: &mut FromItem) {
    if let FromItem::Join { left, right, on, .. } = item {
        factor_joins(left);
        factor_joins(right);
        on.iter_mut().for_each(factor);
    }
}

/// Rewrites AND and OR from the leaves up (find_duplicate_ors).
fn factor(expr: &mut Expr) {
    interrupt::check_unwinding();
    match expr {
        Expr::And(args) => {
            args.iter_mut().for_each(factor);
            let mut flat = Vec::with_capacity(args.len());
            std::mem::take(args).into_iter().for_each(|arg| conjuncts(arg, &mut flat));
            *expr = and_all(flat).unwrap_or_else(|| Expr::boolean(true));
        }
        Expr::Or(args) => {
            args.iter_mut().for_each(factor);
            *expr = without_duplicates(disjuncts(std::mem::take(args)));
        }
        _ => {}
    }
}

/// The arms with those of ORs among them.
fn disjuncts(args: Vec<Expr>) -> Vec<Expr> {
    let mut flat = Vec::with_capacity(args.len());
    for arg in args {
        match arg {
            Expr::Or(below) => flat.extend(below),
            other => flat.push(other),
        }
    }
    flat
}

fn or_all(mut arms: Vec<Expr>) -> Expr {
    match arms.len() {
        1 => arms.pop().unwrap_or_else(|| Expr::boolean(false)),
        _ => Expr::Or(arms),
    }
}

/// The parts that an arm joins by AND.
fn parts(arm: &Expr) -> &[Expr] {
    match arm {
        Expr::And(args) => args,
        one => std::slice::from_ref(one),
    }
}

/// An OR without the conditions that all its arms have in common, and these before it
/// (process_duplicate_ors).
fn without_duplicates(arms: Vec<Expr>) -> Expr {
    let Some(shortest) = arms.iter().map(parts).min_by_key(|parts| parts.len()) else {
        return Expr::boolean(false);
    };
    let mut common: Vec<Expr> = Vec::new();
    for part in shortest {
        let is_everywhere = || arms.iter().all(|arm| parts(arm).contains(part));
        if !common.contains(part) && is_everywhere() {
            common.push(part.clone());
        }
    }
    if common.is_empty() {
        return or_all(arms);
    }
    let mut rest = Vec::with_capacity(arms.len());
    for arm in &arms {
        let own = parts(arm).iter().filter(|part| !common.contains(part)).cloned().collect();
        match and_all(own) {
            Some(own) => rest.push(own),
            // The arm has only the common conditions: so does the OR.
            None => {
                rest.clear();
                break;
            }
        }
    }
    if !rest.is_empty() {
        common.push(or_all(disjuncts(rest)));
    }
    let mut all = Vec::with_capacity(common.len());
    common.into_iter().for_each(|part| conjuncts(part, &mut all));
    and_all(all).unwrap_or_else(|| Expr::boolean(true))
}

/// Adds to WHERE and ON the conditions on one table that follow from their ORs over several.
pub(super) fn restrict_by_arms(query: &mut Query, estimator: &dyn Fn(&[Rte], &Expr) -> f64) {
    let rtes = &query.rtes;
    let mut padded = RteSet::default();
    let nullable = query.from.iter().flat_map(FromItem::nullable_entries);
    nullable.for_each(|rte| padded.insert(rte));
    let is_read = |rte: usize| is_table(rtes, rte) && !padded.contains(rte);
    extend(&mut query.filter, &is_read, &|e| estimator(rtes, e));
    query.from.iter_mut().for_each(|item| restrict_joins(item, rtes, estimator));
}

fn is_table(rtes: &[Rte], rte: usize) -> bool {
    rtes.get(rte).is_some_and(|rte| matches!(rte.kind, RteKind::Relation(_)))
}

/// ON of an outer join does not restrict the side whose rows are kept.
fn restrict_joins(item: &mut FromItem, rtes: &[Rte], estimator: &dyn Fn(&[Rte], &Expr) -> f64) {
    let FromItem::Join { kind, left, right, on, .. } = item else { return };
    restrict_joins(left, rtes, estimator);
    restrict_joins(right, rtes, estimator);
    let sides: &[&FromItem] = match kind {
        JoinKind::Inner | JoinKind::Semi => &[left, right],
        JoinKind::Left | JoinKind::Anti => &[right],
        JoinKind::Right => &[left],
        // FROM has no other way round of semi and anti joins.
        JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti => return,
    };
    let mut read = RteSet::default();
    for side in sides {
        let padded = side.nullable_entries();
        let kept = side.entries().into_iter().filter(|rte| !padded.contains(rte));
        kept.for_each(|rte| read.insert(rte));
    }
    let is_read = |rte: usize| is_table(rtes, rte) && read.contains(rte);
    extend(on, &is_read, &|e| estimator(rtes, e));
}

fn extend(place: &mut Option<Expr>, is_read: &dyn Fn(usize) -> bool, share: &dyn Fn(&Expr) -> f64) {
    let Some(condition) = place else { return };
    let ors: Vec<&[Expr]> = parts(condition).iter().filter_map(arms_over_many).collect();
    let mut added = Vec::new();
    for arms in ors {
        for rte in rtes_of_arms(arms).iter().filter(|rte| is_read(*rte)) {
            added.extend(worth_its_check(arms, rte, share).map(|(condition, _)| condition));
        }
    }
    if !added.is_empty() {
        let mut all = Vec::new();
        place.take().into_iter().chain(added).for_each(|c| conjuncts(c, &mut all));
        *place = and_all(all);
    }
}

/// The arms of an OR over more than one entry.
fn arms_over_many(condition: &Expr) -> Option<&[Expr]> {
    let Expr::Or(arms) = condition else { return None };
    (rtes_of_arms(arms).iter().nth(1).is_some()).then_some(arms)
}

fn rtes_of_arms(arms: &[Expr]) -> RteSet {
    arms.iter().fold(RteSet::default(), |all, arm| all.union(&rtes_of(arm)))
}

/// An OR's condition on an entry, if that drops enough of its rows, and the share that it keeps.
fn worth_its_check(arms: &[Expr], rte: usize, share: &dyn Fn(&Expr) -> f64) -> Option<(Expr, f64)> {
    let condition = or_all(arms_over(arms, rte)?);
    let share = share(&condition);
    (share <= SHARE_MAX).then_some((condition, share))
}

/// The parts of each arm that name no other entry (extract_or_clause). `None`: an arm has no such
/// part.
fn arms_over(arms: &[Expr], rte: usize) -> Option<Vec<Expr>> {
    let mut restricted = Vec::with_capacity(arms.len());
    for arm in arms {
        interrupt::check_unwinding();
        let mut own = Vec::new();
        for part in parts(arm) {
            match part {
                Expr::Or(below) => own.extend(arms_over(below, rte).map(or_all)),
                part if rtes_of(part) == RteSet::one(rte) && !is_volatile(part) => {
                    own.push(part.clone());
                }
                _ => {}
            }
        }
        restricted.push(and_all(own)?);
    }
    Some(disjuncts(restricted))
}

/// The share of joined rows that an OR lets through, if its tables have been read by its conditions
/// on each. `all` is its own share. (PostgreSQL keeps it in the clause's norm_selec.)
pub(super) fn share_left(arms: &[Expr], all: f64, estimator: &Estimator<'_>) -> f64 {
    let rtes = rtes_of_arms(arms);
    if rtes.iter().nth(1).is_none() {
        return all;
    }
    let mut left = all;
    for rte in rtes.iter().filter(|rte| is_table(estimator.rtes(), *rte)) {
        let share = |e: &Expr| estimator.selectivity_of(e);
        if let Some((_, share)) = worth_its_check(arms, rte, &share) {
            left /= share;
        }
    }
    left.min(1.0)
}
