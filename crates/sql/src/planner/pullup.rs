//! Simple sub-selects in FROM, also views, merged into the query around them, so that their tables
//! take part in the order of joins and conditions reach them (pull_up_subqueries in
//! prepjointree.c).
//!
//! ```text
//!   FROM t, LATERAL (SELECT u.a + t.b AS s FROM u WHERE u.c = t.c) l     FROM t, u WHERE u.c = t.c
//!   FROM t, LATERAL (SELECT t.a + 1 AS s) l                              FROM t
//!   FROM t, LATERAL (VALUES (t.a, t.b)) l (x, y)                         FROM t
//! ```
//!
//! Merging takes one query level away: columns of the merged level are renumbered, references from
//! inside it to levels further out get one level shorter. What was its column becomes the
//! expression that it selects.
//!
//! Where an outer join may pad the sub-select's rows, its expressions must be NULL in those: a
//! column of it is, and so are strict functions of one. A sub-select that refers to its neighbours
//! (LATERAL) is merged below outer joins only where WHERE and the select list alone do. Elsewhere
//! any part of it may refer to them, since such an item is joined to its neighbours (`lateral`).

use super::outer_joins::is_null_with_row;
use super::prep::{is_barrier, prepare};
use super::subselect::contains_sublink;
use super::{and_all, conjuncts, is_volatile, returns_set};
use crate::ast;
use crate::expr::Expr;
use crate::query::*;
use crate::walk;
use hashbrown::HashMap;
use steppe_types::Datum;

/// Merged entries: their columns as expressions of the query around.
type Merged = HashMap<usize, Vec<Expr>>;

/// Merges simple sub-selects in FROM into the query, innermost first.
pub(crate) fn pull_up_subqueries(query: &mut Query) {
    let items = std::mem::take(&mut query.from);
    let (mut merged, mut filters) = (Merged::new(), Vec::new());
    let place = Place { with_filter: true, nullable: false, is_inner: true };
    let mut pull = Pull { query, merged: &mut merged };
    let items: Vec<FromItem> =
        items.into_iter().filter_map(|item| pull.item(item, place, &mut filters)).collect();
    query.from = items;
    add_conditions_before(&mut query.filter, filters);
    if !merged.is_empty() {
        substitute(query, &merged);
    }
}

struct Pull<'q> {
    query: &'q mut Query,
    merged: &'q mut Merged,
}

/// The place of an item.
#[derive(Clone, Copy)]
struct Place {
    /// Conditions may be moved out of it.
    with_filter: bool,
    /// An outer join may fill the item's columns with NULLs.
    nullable: bool,
    /// There are inner joins around it only.
    is_inner: bool,
}

impl Pull<'_> {
    /// The item with its sub-selects merged. `None` if no item is left to be joined.
    fn item(&mut self, item: FromItem, place: Place, filters: &mut Vec<Expr>) -> Option<FromItem> {
        let FromItem::Join { kind, left, right, mut on, .. } = item else {
            let FromItem::Rte(rte) = item else { return Some(item) };
            return self.entry(rte, place, filters);
        };
        let kind = match kind {
            JoinKind::Left if is_always(on.as_ref()) && self.is_one_row(&right) => JoinKind::Inner,
            kind => kind,
        };
        let within = |pads: &[JoinKind]| Place {
            with_filter: place.with_filter && kind != JoinKind::Full,
            nullable: place.nullable || pads.contains(&kind),
            is_inner: place.is_inner && kind == JoinKind::Inner,
        };
        // The condition of a padded side decides about matches: it belongs to ON.
        let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
        let left = self.item(*left, within(&[JoinKind::Right, JoinKind::Full]), &mut of_left);
        let right = self.item(*right, within(&[JoinKind::Left, JoinKind::Full]), &mut of_right);
        let (to_on, above) = match kind {
            JoinKind::Right => (of_left, of_right),
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => (of_right, of_left),
            _ => (Vec::new(), of_left.into_iter().chain(of_right).collect()),
        };
        filters.extend(above);
        match (left, right) {
            (Some(left), Some(right)) => {
                add_conditions_before(&mut on, to_on);
                let (left, right) = (Box::new(left), Box::new(right));
                Some(FromItem::Join { kind, left, right, on, using: Vec::new(), entry: None })
            }
            // Only inner joins lose a side.
            (left, right) => {
                on.into_iter().for_each(|on| conjuncts(on, filters));
                left.or(right)
            }
        }
    }

    /// Whether an item has exactly one row, for any join with it: a sub-select without FROM and
    /// WHERE.
    fn is_one_row(&self, item: &FromItem) -> bool {
        let FromItem::Rte(rte) = item else { return false };
        match &self.query.rtes[*rte].kind {
            RteKind::Subquery { query, .. } => {
                query.from.is_empty() && query.filter.is_none() && is_plain(query)
            }
            _ => false,
        }
    }

    /// Whether grouping sets still distinguish their keys when the expressions of a sub-select
    /// replace an entry's columns. Where two keys would become one expression, or a key one that
    /// also stands for something else, the set that leaves one of them out would miss.
    fn keeps_keys_apart(&self, rte: usize) -> bool {
        let RteKind::Subquery { query: sub, .. } = &self.query.rtes[rte].kind else { return true };
        if self.query.grouping_sets.is_none() {
            return true;
        }
        let visible: Vec<&Expr> =
            sub.targets.iter().filter(|t| !t.hidden).map(|t| &t.expr).collect();
        let mut columns: Vec<usize> = Vec::new();
        for key in &self.query.group_by {
            walk::visit_levels(key, 0, &mut |e, depth| {
                if let Expr::Var { rte: r, column, levels_up, .. } = e
                    && (*r, *levels_up) == (rte, depth)
                    && let Ok(column) = usize::try_from(*column)
                    && !columns.contains(&column)
                {
                    columns.push(column);
                }
                true
            });
        }
        let mut seen: Vec<&Expr> = Vec::new();
        columns.iter().all(|column| match visible.get(*column) {
            Some(expr @ Expr::Var { levels_up: 0, .. }) if !seen.contains(expr) => {
                seen.push(expr);
                true
            }
            _ => false,
        })
    }

    /// Merges an entry, if it can be.
    fn entry(&mut self, rte: usize, place: Place, filters: &mut Vec<Expr>) -> Option<FromItem> {
        let may_vanish = place.is_inner && self.query.command != Command::Insert;
        match &mut self.query.rtes[rte].kind {
            RteKind::Values(rows) if may_vanish => {
                let [row] = rows.as_slice() else { return Some(FromItem::Rte(rte)) };
                if !row.iter().all(is_mergeable) || self.query.grouping_sets.is_some() {
                    return Some(FromItem::Rte(rte));
                }
                let row = std::mem::take(rows).into_iter().flatten().collect();
                self.merged.insert(rte, row);
                None
            }
            RteKind::Subquery { query, lateral, view } => {
                ast::deeper(|| prepare(query));
                let is_kept = view.as_deref().is_some_and(is_barrier)
                    || !(place.with_filter || query.filter.is_none())
                    || !is_simple(query, place.nullable)
                    || query.from.is_empty() && !may_vanish
                    || *lateral && !place.is_inner && !is_flat(query);
                if is_kept || !self.keeps_keys_apart(rte) {
                    return Some(FromItem::Rte(rte));
                }
                self.merge(rte, filters)
            }
            _ => Some(FromItem::Rte(rte)),
        }
    }

    /// Puts a sub-select's parts into the query around; its joins are handed back.
    fn merge(&mut self, rte: usize, filters: &mut Vec<Expr>) -> Option<FromItem> {
        let nothing = RteKind::Values(Vec::new());
        let kind = std::mem::replace(&mut self.query.rtes[rte].kind, nothing);
        let RteKind::Subquery { query: mut sub, lateral, .. } = kind else {
            return Some(FromItem::Rte(rte));
        };
        take_level_away(&mut sub, self.query.rtes.len());
        let mut sub = *sub;
        if lateral {
            sub.rtes.iter_mut().for_each(mark_lateral);
        }
        self.query.rtes.extend(sub.rtes);
        self.query.row_locks.extend(sub.row_locks);
        let visible = sub.targets.into_iter().filter(|t| !t.hidden);
        self.merged.insert(rte, visible.map(|t| t.expr).collect());
        sub.filter.into_iter().for_each(|f| conjuncts(f, filters));
        match sub.from.is_empty() {
            true => None,
            false => Some(joined(sub.from)),
        }
    }
}

/// Marks an entry of a merged LATERAL sub-select as LATERAL if it refers to items beside it.
fn mark_lateral(entry: &mut Rte) {
    let RteKind::Subquery { query, lateral, .. } = &mut entry.kind else { return };
    let mut refers = false;
    walk::for_each_node(query, 1, &mut |e, depth| {
        refers |= matches!(e, Expr::Var { levels_up, .. } if *levels_up == depth);
    });
    *lateral |= refers;
}

fn is_always(condition: Option<&Expr>) -> bool {
    matches!(condition, None | Some(Expr::Const(Datum::Bool(true), _)))
}

/// Whether a sub-select has only joins and conditions (is_simple_subquery).
fn is_simple(query: &Query, nullable: bool) -> bool {
    let is_mergeable = |t: &Target| match &t.expr {
        // Rows that are filled with NULLs must show NULL.
        Expr::Var { levels_up: 0, .. } => true,
        other => is_mergeable(other) && (!nullable || is_null_with_row(other)),
    };
    is_plain(query)
        && query.order_by.is_empty()
        && query.row_locks.iter().all(|l| l.pushed_down)
        && query.targets.iter().all(is_mergeable)
}

/// Whether it makes no difference how often, and where, an expression is evaluated.
fn is_mergeable(expr: &Expr) -> bool {
    !returns_set(expr) && !is_volatile(expr) && !contains_sublink(expr)
}

/// Whether a query is FROM and WHERE, for any select list.
pub(super) fn is_joins_only(query: &Query) -> bool {
    is_plain(query) && !query.from.is_empty()
}

/// The same, perhaps without FROM.
fn is_plain(query: &Query) -> bool {
    query.command == Command::Select
        && query.set_operation.is_none()
        && !query.has_aggregates
        && query.windows.is_empty()
        && matches!(query.distinct, Distinct::No)
        && query.limit.is_none()
        && query.offset.is_none()
        && query.ctes.is_empty()
}

/// Whether only WHERE and the select list can refer to levels further out.
fn is_flat(query: &Query) -> bool {
    let inner = |item: &FromItem| !refers_outside(item);
    let is_table = |rte: &Rte| match &rte.kind {
        RteKind::Relation(_) | RteKind::Join { .. } => true,
        RteKind::Values(rows) => rows.is_empty(),
        _ => false,
    };
    query.from.iter().all(inner) && query.rtes.iter().all(is_table)
}

pub(super) fn refers_outside(item: &FromItem) -> bool {
    match item {
        FromItem::Rte(_) => false,
        FromItem::Join { left, right, on, .. } => {
            refers_outside(left)
                || refers_outside(right)
                || on.as_ref().is_some_and(|on| contains_sublink(on) || refers_out(on))
        }
    }
}

pub(super) fn refers_out(expr: &Expr) -> bool {
    matches!(expr, Expr::Var { levels_up: 1.., .. }) || expr.any_child(refers_out)
}

/// Makes a query's parts ones of the query around: its entries start at `offset` there.
pub(super) fn take_level_away(query: &mut Query, offset: usize) {
    walk::for_each_node(query, 0, &mut |e, depth| match e {
        Expr::Var { rte, levels_up, .. } => {
            if *levels_up == depth {
                *rte += offset;
            } else if *levels_up > depth {
                *levels_up -= 1;
            }
        }
        Expr::Aggregate(a) if a.levels_up > depth => a.levels_up -= 1,
        _ => {}
    });
    walk::for_each_query(query, 0, &mut |query, depth| {
        for rte in &mut query.rtes {
            if let RteKind::Cte { levels_up, .. } = &mut rte.kind
                && *levels_up > depth
            {
                *levels_up -= 1;
            }
        }
    });
    fn shift(item: &mut FromItem, offset: usize) {
        match item {
            FromItem::Rte(rte) => *rte += offset,
            FromItem::Join { left, right, .. } => {
                shift(left, offset);
                shift(right, offset);
            }
        }
    }
    query.from.iter_mut().for_each(|item| shift(item, offset));
    query.row_locks.iter_mut().flat_map(|l| &mut l.rtes).for_each(|rte| *rte += offset);
}

/// Replaces columns of merged entries by their expressions.
fn substitute(query: &mut Query, merged: &Merged) {
    walk::for_each_node(query, 0, &mut |e, depth| {
        while let Expr::Var { rte, column, levels_up, .. } = e
            && *levels_up == depth
            && let Some(columns) = merged.get(rte)
            && let Some(value) = usize::try_from(*column).ok().and_then(|c| columns.get(c))
        {
            *e = raised(value.clone(), depth);
        }
    });
}

/// An expression without sub-selects as seen from `by` levels further in.
fn raised(mut expr: Expr, by: usize) -> Expr {
    walk::for_each_level(&mut expr, 0, &mut |e, _| match e {
        Expr::Var { levels_up, .. } => *levels_up += by,
        Expr::Aggregate(a) => a.levels_up += by,
        _ => {}
    });
    expr
}

pub(super) fn inner_join(left: Box<FromItem>, right: Box<FromItem>, on: Option<Expr>) -> FromItem {
    FromItem::Join { kind: JoinKind::Inner, left, right, on, using: Vec::new(), entry: None }
}

pub(super) fn joined(items: Vec<FromItem>) -> FromItem {
    let join = |left, right| inner_join(Box::new(left), Box::new(right), None);
    // Merged queries have a FROM clause.
    items.into_iter().reduce(join).unwrap_or(FromItem::Rte(0))
}

pub(super) fn add_conditions(place: &mut Option<Expr>, conditions: Vec<Expr>) {
    let mut all = Vec::new();
    place.take().into_iter().chain(conditions).for_each(|c| conjuncts(c, &mut all));
    *place = and_all(all);
}

/// Adds conditions from further in, before the existing ones.
fn add_conditions_before(place: &mut Option<Expr>, mut conditions: Vec<Expr>) {
    conditions.extend(place.take());
    add_conditions(place, conditions);
}
