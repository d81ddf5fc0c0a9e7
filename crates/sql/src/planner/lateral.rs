//! LATERAL: FROM items that refer to other items beside them.
//!
//! Such an item (an entry, or an outer join as a whole) is planned with run-time parameters in
//! place of the columns from outside itself. A nested loop sets them for each row of the items
//! before it:
//!
//! ```text
//!   a, b LEFT JOIN LATERAL f(a.x, b.y) AS s
//!
//!   Nested Loop           $1 := a.x
//!    ├ a
//!    └ Nested Loop Left   $2 := b.y
//!       ├ b
//!       └ f($1, $2)
//! ```
//!
//! Merging sub-selects moves their conditions into ON: those may name columns of outside, too. So
//! may the conditions between the item and the items before it: with parameters, the tables of a
//! join inside can be looked up by them.
//!
//! An item that joins only to such an item comes after it. Before it, it would be multiplied with
//! the items referred to:
//!
//! ```text
//!   a, LATERAL (VALUES (a.x), (a.y)) v (z), b WHERE b.id = v.z        (a, v) first, then b
//! ```

use super::join::{FromContext, add_filter, item_rtes, result_rel, take_conditions};
use super::subselect::Correlation;
use super::{Planner, Rel, RteSet, conjuncts, is_volatile, rtes_of};
use crate::expr::{Expr, TypeRef};
use crate::query::{FromItem, JoinKind, Query, RteKind};
use crate::walk;
use hashbrown::HashMap;
use steppe_types::{Error, Result};

impl FromContext<'_> {
    /// Whether one of the items that inner joins join refers to an item beside it.
    pub(super) fn has_lateral(&self, item: &FromItem) -> bool {
        match item {
            FromItem::Join { kind: JoinKind::Inner, left, right, .. } => {
                self.has_lateral(left) || self.has_lateral(right)
            }
            other => self.refers_outside(other),
        }
    }

    /// Items that inner joins join, and after them lists of the items that conditions join to
    /// LATERAL ones alone.
    fn in_turn(&self, items: Vec<FromItem>, pool: &[Expr]) -> (Vec<FromItem>, Vec<Vec<FromItem>>) {
        let (lateral, plain): (Vec<FromItem>, Vec<FromItem>) =
            items.into_iter().partition(|item| self.refers_outside(item));
        let within = |items: &[FromItem]| {
            items.iter().fold(RteSet::default(), |all, item| all.union(&item_rtes(item)))
        };
        let (of_lateral, of_plain) = (within(&lateral), within(&plain));
        let mut wanted = RteSet::default();
        lateral.iter().for_each(|item| self.collect_references(item, &mut wanted));
        // What conditions without LATERAL items join belongs together.
        let mut parts: Vec<(RteSet, Vec<FromItem>)> =
            plain.into_iter().map(|item| (item_rtes(&item), vec![item])).collect();
        for entries in pool.iter().map(rtes_of).filter(|entries| entries.is_subset(&of_plain)) {
            let mut joined = parts.extract_if(.., |(part, _)| part.overlaps(&entries));
            let Some(mut first) = joined.next() else { continue };
            for (entries, items) in joined {
                first.0 = first.0.union(&entries);
                first.1.extend(items);
            }
            parts.push(first);
        }
        let is_late = |part: &RteSet| {
            let joins = |on: &Expr| {
                let entries = rtes_of(on);
                entries.overlaps(part) && entries.overlaps(&of_lateral)
            };
            !part.overlaps(&wanted) && pool.iter().any(joins)
        };
        let (late, early): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(part, _)| is_late(part));
        let early = early.into_iter().flat_map(|(_, items)| items).chain(lateral).collect();
        (early, late.into_iter().map(|(_, items)| items).collect())
    }

    /// The entries outside an item that it refers to.
    fn collect_references(&self, item: &FromItem, out: &mut RteSet) {
        let inside = item_rtes(item);
        let of_entries = inside.iter().filter_map(|rte| self.lateral.get(&rte)).flatten();
        let mut add = |e: &Expr| {
            rtes_of(e).iter().filter(|rte| !inside.contains(*rte)).for_each(|rte| out.insert(rte));
        };
        of_entries.for_each(&mut add);
        for_each_condition(item, &mut add);
    }

    /// Whether an item takes columns from outside itself.
    pub(super) fn refers_outside(&self, item: &FromItem) -> bool {
        let mut references = RteSet::default();
        self.collect_references(item, &mut references);
        !references.is_empty()
    }
}

/// Calls `f` on the conditions of an item's joins.
fn for_each_condition(item: &FromItem, f: &mut dyn FnMut(&Expr)) {
    let FromItem::Join { left, right, on, .. } = item else { return };
    on.iter().for_each(&mut *f);
    for_each_condition(left, f);
    for_each_condition(right, f);
}

/// The items that inner joins join, with their conditions.
fn flatten_inner(item: FromItem, items: &mut Vec<FromItem>, pool: &mut Vec<Expr>) {
    match item {
        FromItem::Join { kind: JoinKind::Inner, left, right, on, .. } => {
            flatten_inner(*left, items, pool);
            flatten_inner(*right, items, pool);
            on.into_iter().for_each(|on| conjuncts(on, pool));
        }
        other => items.push(other),
    }
}

/// Takes the conditions that a join inside a LATERAL item may be looked up by.
pub(super) fn looked_up(item: &FromItem, on: &mut Vec<Expr>) -> Vec<Expr> {
    let inside = item_rtes(item);
    let is_join = matches!(item, FromItem::Join { .. });
    on.extract_if(.., |c| is_join && rtes_of(c).overlaps(&inside) && !is_volatile(c)).collect()
}

impl Planner<'_> {
    /// A LATERAL item runs once for each row of the items before it.
    pub(super) fn lateral_join(
        &mut self,
        from: &FromContext<'_>,
        outer: Option<Rel>,
        item: FromItem,
        pool: &mut Vec<Expr>,
    ) -> Result<Rel> {
        let outer = outer.unwrap_or_else(result_rel);
        let inside = item_rtes(&item);
        let mut own = take_conditions(pool, &inside);
        let mut on = take_conditions(pool, &outer.rtes.union(&inside));
        own.extend(looked_up(&item, &mut on));
        let (inner, params) = self.lateral_item(from, item, own)?;
        self.nest_loop(from, JoinKind::Inner, outer, inner, params, on)
    }

    /// Joins items some of which join only to LATERAL ones: those last. `None` if there are none
    /// such.
    pub(super) fn join_around_lateral(
        &mut self,
        from: &FromContext<'_>,
        items: &[FromItem],
        pool: &[Expr],
    ) -> Result<Option<Rel>> {
        let (mut flat, mut pool) = (Vec::new(), pool.to_vec());
        items.iter().for_each(|item| flatten_inner(item.clone(), &mut flat, &mut pool));
        let (early, late) = from.in_turn(flat, &pool);
        if late.is_empty() {
            return Ok(None);
        }
        let entries = early.iter().fold(RteSet::default(), |all, i| all.union(&item_rtes(i)));
        let own = take_conditions(&mut pool, &entries);
        let mut joined = self.join_items(from, early, own)?;
        for items in late {
            let entries = items.iter().fold(RteSet::default(), |all, i| all.union(&item_rtes(i)));
            let own = take_conditions(&mut pool, &entries);
            let single = match &items[..] {
                [FromItem::Rte(rte)] => is_table(from, *rte).then(|| (*rte, own.clone())),
                _ => None,
            };
            let other = self.join_items(from, items, own)?;
            let on = take_conditions(&mut pool, &joined.rtes.union(&other.rtes));
            joined = self.cheapest_join(from, JoinKind::Inner, joined, other, on, single)?;
        }
        if !pool.is_empty() {
            add_filter(&mut joined, pool)?;
        }
        Ok(Some(joined))
    }

    /// A LATERAL item's plan, with the parameters that it takes from outside itself.
    pub(super) fn lateral_item(
        &mut self,
        from: &FromContext<'_>,
        mut item: FromItem,
        mut conditions: Vec<Expr>,
    ) -> Result<(Rel, Correlation)> {
        let inside = item_rtes(&item);
        let (mut rtes, mut lateral) = (from.rtes.to_vec(), from.lateral.clone());
        let mut found = Correlation::new();
        for rte in inside.iter() {
            let Some(references) = lateral.get_mut(&rte) else { continue };
            match from.sub_selects.borrow_mut().get_mut(&rte) {
                Some(query) => {
                    self.extract_correlation(query, &|rte| !inside.contains(rte), &mut found);
                }
                None => self.take_from_outside(&mut rtes[rte].kind, &inside, &mut found)?,
            }
            references.retain(|reference| rtes_of(reference).is_subset(&inside));
            if references.is_empty() {
                lateral.remove(&rte);
            }
        }
        self.take_in_conditions(&mut item, &inside, &mut found)?;
        for condition in &mut conditions {
            self.vars_to_params(condition, &inside, &mut found)?;
        }
        let (columns, fixed) = (from.columns.clone(), from.fixed.clone());
        let sub_selects = from.sub_selects;
        let within = FromContext { rtes: &rtes, sub_selects, columns, lateral, fixed };
        let inner = self.join_items(&within, vec![item], conditions)?;
        Ok((inner, found))
    }

    /// Puts parameters in place of the columns that an entry takes from outside its item.
    fn take_from_outside(
        &mut self,
        entry: &mut RteKind,
        inside: &RteSet,
        found: &mut Correlation,
    ) -> Result<()> {
        let (calls, values) = match entry {
            RteKind::Function { calls, .. } => (&mut calls[..], &mut [][..]),
            RteKind::Values(rows) => (&mut [][..], &mut rows[..]),
            _ => return Err(Error::internal("this FROM item cannot be LATERAL")),
        };
        for expr in calls.iter_mut().map(|(call, _)| call).chain(values.iter_mut().flatten()) {
            self.vars_to_params(expr, inside, found)?;
        }
        Ok(())
    }

    fn take_in_conditions(
        &mut self,
        item: &mut FromItem,
        inside: &RteSet,
        found: &mut Correlation,
    ) -> Result<()> {
        let FromItem::Join { left, right, on, .. } = item else { return Ok(()) };
        if let Some(on) = on {
            self.vars_to_params(on, inside, found)?;
        }
        self.take_in_conditions(left, inside, found)?;
        self.take_in_conditions(right, inside, found)
    }

    /// Replaces this level's columns from outside by parameters.
    fn vars_to_params(
        &mut self,
        expr: &mut Expr,
        inside: &RteSet,
        found: &mut Correlation,
    ) -> Result<()> {
        let taken = std::mem::replace(expr, Expr::Default(TypeRef::plain(0)));
        *expr = taken.transform(&mut |e| match e {
            Expr::Var { rte, levels_up: 0, .. } if !inside.contains(rte) => {
                Ok::<_, Error>(self.param_for(e, found))
            }
            other => Ok(other),
        })?;
        Ok(())
    }
}

fn is_table(from: &FromContext<'_>, rte: usize) -> bool {
    matches!(&from.rtes[rte].kind, RteKind::Relation(relation) if !relation.is_distributed())
}

/// Columns of siblings that LATERAL sub-selects, functions and VALUES refer to.
pub(super) fn lateral_references(query: &mut Query) -> HashMap<usize, Vec<Expr>> {
    let mut found: HashMap<usize, Vec<Expr>> = HashMap::new();
    for (i, rte) in query.rtes.iter_mut().enumerate() {
        let mut note = |e: &mut Expr, depth: usize| {
            if let Expr::Var { rte, column, levels_up, ty, at } = e
                && *levels_up == depth
            {
                let outer =
                    Expr::Var { rte: *rte, column: *column, levels_up: 0, ty: *ty, at: *at };
                found.entry(i).or_default().push(outer);
            }
        };
        match &mut rte.kind {
            RteKind::Function { calls, .. } => {
                calls.iter_mut().for_each(|(e, _)| walk::for_each_level(e, 0, &mut note));
            }
            RteKind::Values(rows) => {
                let values = rows.iter_mut().flatten();
                values.for_each(|e| walk::for_each_level(e, 0, &mut note));
            }
            RteKind::Subquery { query, lateral: true, .. } => {
                walk::for_each_node(query, 1, &mut note);
            }
            _ => {}
        }
    }
    found
}
