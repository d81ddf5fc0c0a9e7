//! Merge joins (joinpath.c: sort_inner_and_outer, match_unsorted_outer).
//!
//! Both sides come in the order of the join's keys. A path that is in that order by itself, an
//! index's or that of a merge join below, is taken as it is. One that is in the order of the first
//! keys is sorted group by group. Any other one is sorted whole. The order of the keys themselves
//! is free: each order that a side has is tried, and each key in the first place.
//!
//! The place of NULLs in a side's order does not matter: keys that are NULL match no row, and the
//! others are in one order without them. The rows come out as the outer side's do, and in inner
//! joins the inner side's keys are as good, as they are equal.

use super::join::FromContext;
use super::join_clause::JoinKey;
use super::join_cost::{self, MergeSide};
use super::path::{FORBIDDEN, JoinStep, Method, Pair, Path, Paths, Step};
use super::pathkeys::{KnownKey, PathOrder, no_order};
use super::{Planner, ordered::ascending};
use crate::expr::Expr;
use crate::plan::*;
use crate::query::JoinKind;
use std::rc::Rc;

/// At most `FIRST_KEYS_MAX` keys are tried in the first place.
const FIRST_KEYS_MAX: usize = 4;

/// How a side gets into the order of the keys.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sorting {
    /// It is in order already.
    No,
    /// By a sort of the rows that have `presorted` first keys in common, at this cost.
    By { presorted: usize, cost: Cost },
}

/// A side as it is read.
struct Sorted<'p> {
    path: &'p Rc<Path>,
    sorting: Sorting,
    cost: Cost,
}

/// The part of a side that is read: from where to where.
type Part = (f64, f64);

impl Planner<'_> {
    /// Considers merge joins by these keys. The list is empty if all rows are of one group.
    pub(super) fn consider_merge_join(
        &self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        keys: Vec<JoinKey>,
        paths: &mut Paths,
    ) {
        for keys in first_keys(pair, &keys) {
            let outer = self.in_order_of(from, pair, &keys, (&pair.outer.best, true));
            self.consider_inner_sides(from, pair, &keys, &outer, paths);
        }
        for outer in pair.outer.paths() {
            let keys_in_order = outer_prefix(pair, &keys, &outer.order);
            let is_whole = keys_in_order.len() == keys.len();
            if keys_in_order.is_empty() || pair.kind == JoinKind::Full && !is_whole {
                continue;
            }
            let outer = Sorted { path: outer, sorting: Sorting::No, cost: outer.cost };
            self.consider_inner_sides(from, pair, &keys_in_order, &outer, paths);
        }
    }

    /// Considers the inner side's paths: one that is in the order of the first keys may be merged by
    /// these, and the others are then conditions on each pair.
    fn consider_inner_sides(
        &self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        keys: &[JoinKey],
        outer: &Sorted<'_>,
        paths: &mut Paths,
    ) {
        let order = useful_order(pair, keys, outer, paths);
        if order.is_none() && paths.is_hopeless(outer.cost.startup) {
            return;
        }
        let inner = self.in_order_of(from, pair, keys, (&pair.inner.best, false));
        let is_sorted = matches!(inner.sorting, Sorting::By { .. });
        let order = order.as_ref();
        self.consider_merge(from, pair, keys, (outer, &inner), order, paths);
        for path in pair.inner.paths().filter(|path| !path.order.is_empty()) {
            let known = inner_prefix(pair, keys, &path.order);
            let is_whole = known == keys.len();
            let is_new = is_sorted || !Rc::ptr_eq(path, &pair.inner.best);
            if known > 0 && is_new && (is_whole || pair.kind != JoinKind::Full) {
                let inner = Sorted { path, sorting: Sorting::No, cost: path.cost };
                let sides = (outer, &inner);
                if is_whole {
                    self.consider_merge(from, pair, keys, sides, order, paths);
                    continue;
                }
                let order = useful_order(pair, &keys[..known], outer, paths);
                self.consider_merge(from, pair, &keys[..known], sides, order.as_ref(), paths);
            }
        }
    }

    fn consider_merge(
        &self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        keys: &[JoinKey],
        (outer, inner): (&Sorted<'_>, &Sorted<'_>),
        order: Option<&(PathOrder, usize)>,
        paths: &mut Paths,
    ) {
        if order.is_none() && paths.is_hopeless(outer.cost.startup + inner.cost.startup) {
            return;
        }
        let [read_of_outer, read_of_inner] = self.read_by_merge(from, pair, keys);
        let shape = self.shape_by_keys((from, pair, keys), pair.kind, outer.path, inner.path);
        let cost = shape.merge_join(
            keys.len() as f64,
            MergeSide { cost: outer.cost, read: read_of_outer },
            MergeSide { cost: inner.cost, read: read_of_inner },
        );
        let is_allowed = self.ctx.settings.mergejoin || keys.is_empty();
        let step = || {
            let (outer_sorting, inner_sorting) = (outer.sorting, inner.sorting);
            let keys = keys.to_vec();
            Step::Join(JoinStep {
                method: Method::Merge { keys, outer: outer_sorting, inner: inner_sorting },
                kind: pair.kind,
                outer: outer.path.clone(),
                inner: inner.path.clone(),
                on: pair.on.clone(),
            })
        };
        match order {
            Some((order, useful)) => paths.consider(cost, is_allowed, (order, *useful), step),
            None => paths.consider_in_any_order(cost, is_allowed, || {
                (merged_order(pair, keys, outer), step())
            }),
        }
    }

    /// The part of each side that is read, from where to where: rows before the other side's first
    /// are passed over, and rows after its last are not read, unless they come out as well.
    fn read_by_merge(
        &self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        keys: &[JoinKey],
    ) -> [Part; 2] {
        const ALL: Part = (0.0, 1.0);
        let Some(first) = keys.first() else { return [ALL; 2] };
        let [outer, inner] =
            first.parts_read(&pair.on, |a, b| from.estimator(self).parts_merged(a, b));
        match pair.kind {
            JoinKind::Left | JoinKind::Anti => [ALL, inner],
            JoinKind::Right => [outer, ALL],
            JoinKind::Full => [ALL; 2],
            _ => [outer, inner],
        }
    }

    /// A side's cheapest path in the order of the keys. Only the outer side is sorted group by
    /// group, as in PostgreSQL.
    fn in_order_of<'p>(
        &self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        keys: &[JoinKey],
        (path, is_outer): (&'p Rc<Path>, bool),
    ) -> Sorted<'p> {
        let known = match is_outer {
            true => prefix(&path.order, keys.iter().map(|key| side_of(pair, key, true))),
            false => inner_prefix(pair, keys, &path.order),
        };
        if known == keys.len() {
            return Sorted { path, sorting: Sorting::No, cost: path.cost };
        }
        let settings = self.ctx.settings;
        let (mut presorted, mut cost) = (0, join_cost::sorted(&path.cost, &self.means()));
        if is_outer && known > 0 && settings.incremental_sort {
            let first = keys[..known].iter().filter_map(|key| side_of(pair, key, true));
            let groups = from.estimator(self).groups(first, path.cost.rows);
            let by_groups = self.incremental_sort_cost(&path.cost, groups, None);
            if by_groups.total <= cost.total {
                (presorted, cost) = (known, by_groups);
            }
        }
        if !settings.sort {
            cost.total += FORBIDDEN;
        }
        Sorted { path, sorting: Sorting::By { presorted, cost }, cost }
    }
}

/// A key's expression over one side.
fn side_of<'p>(pair: &'p Pair<'_>, key: &JoinKey, is_outer: bool) -> Option<&'p Expr> {
    let (outer, inner, _) = key.sides(&pair.on)?;
    Some(if is_outer { outer } else { inner })
}

/// The number of the expressions, ascending, that rows in this order are in the order of.
fn prefix<'e>(order: &PathOrder, exprs: impl Iterator<Item = Option<&'e Expr>>) -> usize {
    let is_next = |(known, expr): &(&Rc<KnownKey>, Option<&Expr>)| {
        !known.is_descending() && expr.is_some_and(|expr| known.is(expr))
    };
    order.iter().zip(exprs).take_while(is_next).count()
}

fn inner_prefix(pair: &Pair<'_>, keys: &[JoinKey], order: &PathOrder) -> usize {
    prefix(order, keys.iter().map(|key| side_of(pair, key, false)))
}

/// The keys that rows in the outer side's order can be merged by, in that order
/// (find_mergeclauses_for_outer_pathkeys).
fn outer_prefix(pair: &Pair<'_>, keys: &[JoinKey], order: &PathOrder) -> Vec<JoinKey> {
    let mut found: Vec<JoinKey> = Vec::with_capacity(keys.len());
    for known in order.iter().take_while(|known| !known.is_descending()) {
        let is_its = |key: &&JoinKey| side_of(pair, key, true).is_some_and(|e| known.is(e));
        let Some(key) = keys.iter().find(is_its) else { break };
        found.push(*key);
    }
    found
}

/// The orders of keys to sort by: as the cheapest outer path's rows come as far as they can, and
/// each key in the first place.
fn first_keys(pair: &Pair<'_>, keys: &[JoinKey]) -> Vec<Vec<JoinKey>> {
    if keys.len() < 2 {
        return vec![keys.to_vec()];
    }
    let with_first = |first: Vec<JoinKey>| {
        let is_left = |key: &&JoinKey| first.iter().all(|taken| taken.clause != key.clause);
        let left: Vec<JoinKey> = keys.iter().filter(is_left).copied().collect();
        first.into_iter().chain(left).collect::<Vec<JoinKey>>()
    };
    let mut all = vec![with_first(outer_prefix(pair, keys, &pair.outer.best.order))];
    for key in keys.iter().take(FIRST_KEYS_MAX) {
        let is_known = |known: &Vec<JoinKey>| known[0].clause == key.clause;
        if !all.iter().any(is_known) {
            all.push(with_first(vec![*key]));
        }
    }
    all
}

/// The order in which a merge join's rows come, with how many of its keys may be of use, if any may.
fn useful_order(
    pair: &Pair<'_>,
    keys: &[JoinKey],
    outer: &Sorted<'_>,
    paths: &Paths,
) -> Option<(PathOrder, usize)> {
    if !paths.wants_order() {
        return None;
    }
    let order = merged_order(pair, keys, outer);
    let useful = paths.length(&order);
    (useful > 0).then_some((order, useful))
}

/// The order in which a merge join's rows come.
fn merged_order(pair: &Pair<'_>, keys: &[JoinKey], outer: &Sorted<'_>) -> PathOrder {
    if matches!(pair.kind, JoinKind::Right | JoinKind::Full) {
        return no_order();
    }
    let sorted: PathOrder;
    let order = match outer.sorting {
        Sorting::No => &outer.path.order,
        _ => {
            let exprs = keys.iter().filter_map(|key| side_of(pair, key, true));
            sorted = exprs.map(|e| Rc::new(KnownKey::of(ascending(e.clone())))).collect();
            &sorted
        }
    };
    if pair.kind != JoinKind::Inner {
        return order.clone();
    }
    let with_inner = |known: &Rc<KnownKey>| {
        let equal = keys.iter().filter_map(|key| key.sides(&pair.on));
        let equal = equal.filter(|(outer, ..)| known.is(outer)).map(|(_, inner, _)| inner.clone());
        let equal: Vec<Expr> = equal.collect();
        if equal.is_empty() { known.clone() } else { Rc::new(known.also(equal)) }
    };
    order.iter().map(with_inner).collect()
}
