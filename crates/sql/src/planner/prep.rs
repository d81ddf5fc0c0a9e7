//! What is rewritten before a query is planned (prepjointree.c, subselect.c).
//!
//! - A simple sub-select in FROM (also a view) is merged into the query around it,
//!   so that its tables take part in the join order and conditions reach them.
//! - A WITH query that is read once becomes a sub-select where it is read.
//! - `EXISTS` and `IN` over sub-selects in WHERE become semi joins, `NOT EXISTS` an
//!   anti join.
//!
//! Merging takes one query level away: columns of the merged level are renumbered,
//! references from inside it to levels further out get one level shorter.

use super::inline::{inline_ctes, is_volatile_here};
use super::row_mark::replace_row_marks;
use super::stored_form::read_stored_forms;
use super::subselect::contains_sublink;
use super::{and_all, conjuncts, is_volatile, returns_set};
use crate::ast;
use crate::bind::SECURITY_BARRIER;
use crate::expr::{CallSyntax, Expr, SubLinkKind, TypeRef};
use crate::query::*;
use crate::walk;
use hashbrown::HashMap;
use steppe_catalog::Relation;
use steppe_types::{Datum, oid};

/// Merged entries: their columns as expressions of the query around.
type Merged = HashMap<usize, Vec<Expr>>;

/// Takes a condition on the columns of the entry `rte` into the sub-select behind it, where it
/// drops whole groups, partitions or rows alike (subquery_push_qual). False: it must stay above.
pub(crate) fn push_down(query: &mut Query, rte: usize, condition: &Expr) -> bool {
    if is_volatile(condition) || contains_sublink(condition) || !may_push(query) {
        return false;
    }
    if let Some(operation) = &mut query.set_operation {
        let same_types = |q: &Query| {
            let visible = q.targets.iter().filter(|t| !t.hidden).map(|t| t.expr.ty().oid);
            visible.eq(operation.types.iter().map(|t| t.oid))
        };
        if !same_types(&operation.left) || !same_types(&operation.right) {
            return false;
        }
        // Both sides or neither: what one of them takes is tried on copies.
        let (mut left, mut right) = (operation.left.clone(), operation.right.clone());
        if !push_down(&mut left, rte, condition) || !push_down(&mut right, rte, condition) {
            return false;
        }
        (operation.left, operation.right) = (left, right);
        return true;
    }
    let columns: Vec<&Expr> = query.targets.iter().filter(|t| !t.hidden).map(|t| &t.expr).collect();
    let mut used = hashbrown::HashSet::new();
    super::collect_columns(condition, &mut used);
    let column = |attribute: i16| columns.get(usize::try_from(attribute - 1).ok()?).copied();
    let pushable = used.iter().all(|(entry, attribute)| {
        *entry == rte && column(*attribute).is_some_and(|e| may_filter_on(query, e))
    });
    if !pushable {
        return false;
    }
    let inner = condition.clone().transform(&mut |e| {
        Ok::<_, std::convert::Infallible>(match e {
            Expr::Var { rte: r, column: c, levels_up: 0, .. } if r == rte => {
                columns.get(c as usize).map_or(e.clone(), |e| (*e).clone())
            }
            other => other,
        })
    });
    match inner {
        Ok(inner) => add_conditions(&mut query.filter, vec![inner]),
        Err(never) => match never {},
    }
    true
}

/// Output columns that nothing reads are not computed: they become NULL, sub-selects in them do not
/// run (remove_unused_subquery_outputs).
pub(crate) fn drop_unused_outputs(query: &mut Query, is_used: impl Fn(usize) -> bool) {
    let counts_rows = matches!(query.distinct, Distinct::No) && query.set_operation.is_none();
    if query.command != Command::Select || !counts_rows {
        return;
    }
    let sorted: Vec<usize> = query.order_by.iter().map(|order| order.target).collect();
    let outputs = query.targets.iter_mut().enumerate().filter(|(_, target)| !target.hidden);
    for (shown, (i, target)) in outputs.enumerate() {
        let is_kept = is_used(shown)
            || sorted.contains(&i)
            || is_volatile_within(&target.expr)
            || returns_set(&target.expr);
        if !is_kept {
            target.expr = Expr::Const(Datum::Null, target.expr.ty());
        }
    }
}

/// Whether a volatile function occurs, in sub-selects as well.
fn is_volatile_within(expr: &Expr) -> bool {
    let mut found = false;
    walk::visit_levels(expr, 0, &mut |node, _| {
        found |= is_volatile_here(node);
        !found
    });
    found
}

/// Whether a view's own conditions come before any of the statement that reads it.
pub(crate) fn is_barrier(view: &Relation) -> bool {
    view.options.iter().any(|(name, value)| {
        &**name == SECURITY_BARRIER && steppe_types::text_io::parse_bool(value).unwrap_or(false)
    })
}

/// Whether rows that a sub-select hands up may be dropped before it counts or numbers them.
fn may_push(query: &Query) -> bool {
    query.command == Command::Select
        && query.limit.is_none()
        && query.offset.is_none()
        && query.row_locks.is_empty()
        && query.grouping_sets.is_none()
        && (!query.has_aggregates || !query.group_by.is_empty())
        && !query.targets.iter().any(|t| returns_set(&t.expr))
}

/// Whether a condition on this output column is one on what the sub-select groups, parts or makes
/// distinct by.
fn may_filter_on(query: &Query, column: &Expr) -> bool {
    let grouped = !query.has_aggregates || query.group_by.contains(column);
    let parted = query.windows.iter().all(|w| w.partition_by.contains(column));
    let distinct = match &query.distinct {
        Distinct::On(on) => on.iter().any(|t| query.targets[*t].expr == *column),
        _ => true,
    };
    grouped && parted && distinct && !is_volatile(column) && !contains_sublink(column)
}

/// All rewrites.
pub(crate) fn prepare(query: &mut Query) {
    replace_row_marks(query);
    inline_ctes(query);
    pull_up_sublinks(query);
    pull_up_subqueries(query);
    read_stored_forms(query);
}

/// Merges simple sub-selects in FROM into the query, innermost first.
pub(crate) fn pull_up_subqueries(query: &mut Query) {
    let items = std::mem::take(&mut query.from);
    let (mut merged, mut filters) = (Merged::new(), Vec::new());
    let mut pull = Pull { query, merged: &mut merged, with_filter: true };
    let items: Vec<FromItem> =
        items.into_iter().map(|item| pull.item(item, false, &mut filters)).collect();
    query.from = items;
    add_conditions_before(&mut query.filter, filters);
    if !merged.is_empty() {
        substitute(query, &merged);
    }
}

struct Pull<'q> {
    query: &'q mut Query,
    merged: &'q mut Merged,
    /// Conditions may be moved out of the present place.
    with_filter: bool,
}

impl Pull<'_> {
    /// `nullable`: an outer join may fill the item's columns with NULLs.
    fn item(&mut self, item: FromItem, nullable: bool, filters: &mut Vec<Expr>) -> FromItem {
        match item {
            FromItem::Rte(rte) => self.entry(rte, nullable, filters),
            FromItem::Join { kind, left, right, on, .. } => {
                let left_nullable = nullable || matches!(kind, JoinKind::Right | JoinKind::Full);
                let right_nullable = nullable || matches!(kind, JoinKind::Left | JoinKind::Full);
                let before = self.with_filter;
                self.with_filter &= kind != JoinKind::Full;
                // The condition of a padded side decides about matches: it belongs to ON.
                let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
                let left = Box::new(self.item(*left, left_nullable, &mut of_left));
                let right = Box::new(self.item(*right, right_nullable, &mut of_right));
                self.with_filter = before;
                let mut on = on;
                let (to_on, above) = match kind {
                    JoinKind::Right => (of_left, of_right),
                    JoinKind::Left | JoinKind::Semi | JoinKind::Anti => (of_right, of_left),
                    _ => (Vec::new(), of_left.into_iter().chain(of_right).collect()),
                };
                add_conditions_before(&mut on, to_on);
                filters.extend(above);
                FromItem::Join { kind, left, right, on, using: Vec::new(), entry: None }
            }
        }
    }

    /// Whether grouping sets tell their keys apart when an entry's columns are what its
    /// sub-select selects. Where two keys would become one expression, or a key one that also
    /// stands for something else, the set that leaves one of them out would miss.
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

    fn entry(&mut self, rte: usize, nullable: bool, filters: &mut Vec<Expr>) -> FromItem {
        let RteKind::Subquery { query, lateral, view } = &mut self.query.rtes[rte].kind else {
            return FromItem::Rte(rte);
        };
        ast::deeper(|| prepare(query));
        let may_filter = self.with_filter || query.filter.is_none();
        let is_barrier = view.as_deref().is_some_and(is_barrier);
        if is_barrier || !may_filter || !is_simple(query, nullable) || *lateral && !is_flat(query) {
            return FromItem::Rte(rte);
        }
        if !self.keeps_keys_apart(rte) {
            return FromItem::Rte(rte);
        }
        let nothing = RteKind::Values(Vec::new());
        let kind = std::mem::replace(&mut self.query.rtes[rte].kind, nothing);
        let RteKind::Subquery { query: mut sub, .. } = kind else { return FromItem::Rte(rte) };
        take_level_away(&mut sub, self.query.rtes.len());
        let sub = *sub;
        self.query.rtes.extend(sub.rtes);
        self.query.row_locks.extend(sub.row_locks);
        let visible = sub.targets.into_iter().filter(|t| !t.hidden);
        self.merged.insert(rte, visible.map(|t| t.expr).collect());
        sub.filter.into_iter().for_each(|f| conjuncts(f, filters));
        joined(sub.from)
    }
}

/// Whether a sub-select is nothing but joins and conditions (is_simple_subquery).
fn is_simple(query: &Query, nullable: bool) -> bool {
    let plain = |t: &Target| match &t.expr {
        // NULL-filled rows must show NULL, which only a column does by itself.
        Expr::Var { levels_up: 0, .. } => true,
        other => {
            !nullable && !returns_set(other) && !is_volatile(other) && !contains_sublink(other)
        }
    };
    joins_only(query)
        && query.order_by.is_empty()
        && query.row_locks.iter().all(|l| l.pushed_down)
        && query.targets.iter().all(plain)
}

/// Whether a query is FROM and WHERE, whatever it selects.
fn joins_only(query: &Query) -> bool {
    query.command == Command::Select
        && query.set_operation.is_none()
        && !query.has_aggregates
        && query.windows.is_empty()
        && matches!(query.distinct, Distinct::No)
        && query.limit.is_none()
        && query.offset.is_none()
        && query.ctes.is_empty()
        && !query.from.is_empty()
}

/// Whether only WHERE and the select list can refer to levels further out.
fn is_flat(query: &Query) -> bool {
    let inner = |item: &FromItem| !refers_outside(item);
    query.from.iter().all(inner)
        && query.rtes.iter().all(|r| matches!(r.kind, RteKind::Relation(_) | RteKind::Join { .. }))
}

fn refers_outside(item: &FromItem) -> bool {
    match item {
        FromItem::Rte(_) => false,
        FromItem::Join { left, right, on, .. } => {
            refers_outside(left)
                || refers_outside(right)
                || on.as_ref().is_some_and(|on| contains_sublink(on) || refers_out(on))
        }
    }
}

fn refers_out(expr: &Expr) -> bool {
    matches!(expr, Expr::Var { levels_up: 1.., .. }) || expr.children().into_iter().any(refers_out)
}

/// Makes a query's parts ones of the query around: its entries start at `offset` there.
fn take_level_away(query: &mut Query, offset: usize) {
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

/// Replaces columns of merged entries by what they stand for.
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

fn joined(items: Vec<FromItem>) -> FromItem {
    let join = |left, right| inner_join(Box::new(left), Box::new(right), None);
    // Merged queries have a FROM clause.
    items.into_iter().reduce(join).unwrap_or(FromItem::Rte(0))
}

fn add_conditions(place: &mut Option<Expr>, conditions: Vec<Expr>) {
    let mut all = Vec::new();
    place.take().into_iter().chain(conditions).for_each(|c| conjuncts(c, &mut all));
    *place = and_all(all);
}

/// The same with those of what stands further in: they are looked at first.
fn add_conditions_before(place: &mut Option<Expr>, mut conditions: Vec<Expr>) {
    conditions.extend(place.take());
    add_conditions(place, conditions);
}

/// EXISTS, NOT EXISTS and IN of sub-selects among the conditions of WHERE become joins.
fn pull_up_sublinks(query: &mut Query) {
    if query.from.is_empty() {
        return;
    }
    let mut conditions = Vec::new();
    query.filter.take().into_iter().for_each(|f| conjuncts(f, &mut conditions));
    let mut kept = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match join_of(condition, query.rtes.len()) {
            Ok(join) => attach(query, join),
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
    if !joins_only(query)
        || query.filter.is_some()
        || values.len() != rows.len()
        || !values.iter().all(|e| plain(e))
    {
        return None;
    }
    let elements = values.into_iter().cloned().collect();
    let array = TypeRef::plain(oid::array_type_of(ty.oid)?);
    let array = Expr::Array { elements, element: ty.oid, multidim: false, ty: array };
    let (left, array) = (Box::new(left.clone()), Box::new(array));
    Some(Expr::ScalarArrayOp { func: *func, all: false, left, array, syntax: *syntax })
}

fn has_columns(expr: &Expr) -> bool {
    matches!(expr, Expr::Var { .. }) || expr.children().into_iter().any(has_columns)
}

/// `EXISTS (SELECT … FROM right WHERE on)`.
fn exists_join(query: Box<Query>, kind: JoinKind, offset: usize) -> Result<SubJoin, Box<Query>> {
    flat_join(query, kind, offset).map(|(join, _)| join)
}

/// `SELECT … FROM right WHERE on` as a join, and what it selects: only WHERE may refer to the
/// query around, and must.
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
    let convertible = joins_only(&query)
        && query.row_locks.is_empty()
        && !query.targets.iter().any(|t| returns_set(&t.expr))
        && query.from.iter().all(|item| !refers_outside(item))
        && query.rtes.iter().all(tables)
        && query
            .filter
            .as_ref()
            .is_some_and(|f| refers_out(f) && !contains_sublink(f) && !is_volatile(f));
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

/// A comparison with a sub-select's columns as one with what stands for them.
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
    let inner: super::RteSet = super::join::item_rtes(&join.right);
    let mut outer = super::RteSet::default();
    for condition in &join.on {
        for rte in super::rtes_of(condition).iter().filter(|r| !inner.contains(*r)) {
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

fn inner_join(left: Box<FromItem>, right: Box<FromItem>, on: Option<Expr>) -> FromItem {
    FromItem::Join { kind: JoinKind::Inner, left, right, on, using: Vec::new(), entry: None }
}

fn attach_below(
    left: FromItem,
    kind: JoinKind,
    right: FromItem,
    conditions: Vec<Expr>,
    outer: &super::RteSet,
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
