//! LATERAL: FROM items that refer to other items beside them.
//!
//! Such an item (an entry, or an outer join as a whole) is planned with run-time parameters in
//! place of the columns that it takes from outside itself, and joined by a nested loop that sets
//! them for each row of what stands before it:
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
//! Merging sub-selects moves their conditions into ON: those may name columns of outside, too.

use super::join::{FromContext, item_rtes, result_rel, take_conditions};
use super::subselect::Correlation;
use super::{Planner, Rel, RteSet, rtes_of, to_slots};
use crate::expr::{ExecParamId, Expr, TypeRef};
use crate::query::{FromItem, JoinKind, Query, RteKind};
use crate::walk;
use hashbrown::HashMap;
use steppe_types::{Error, Result};

/// Parameters with where in a row their values come from.
type Params = Vec<(ExecParamId, Expr)>;

impl FromContext<'_> {
    /// Whether an item takes columns from outside itself.
    pub(super) fn refers_outside(&self, item: &FromItem) -> bool {
        let inside = item_rtes(item);
        let of_entries = inside.iter().filter_map(|rte| self.lateral.get(&rte)).flatten();
        of_entries.into_iter().any(|reference| !rtes_of(reference).is_subset(&inside))
            || condition_refers_outside(item, &inside)
    }
}

fn condition_refers_outside(item: &FromItem, inside: &RteSet) -> bool {
    match item {
        FromItem::Rte(_) => false,
        FromItem::Join { left, right, on, .. } => {
            on.as_ref().is_some_and(|on| !rtes_of(on).is_subset(inside))
                || condition_refers_outside(left, inside)
                || condition_refers_outside(right, inside)
        }
    }
}

impl Planner<'_> {
    /// A LATERAL item runs once for each row of what stands before it.
    pub(super) fn lateral_join(
        &mut self,
        from: &FromContext<'_>,
        outer: Option<Rel>,
        item: FromItem,
        pool: &mut Vec<Expr>,
    ) -> Result<Rel> {
        let outer = outer.unwrap_or_else(result_rel);
        let own = take_conditions(pool, &item_rtes(&item));
        let (inner, params) = self.lateral_item(from, item, own, &outer)?;
        let on = take_conditions(pool, &outer.rtes.union(&inner.rtes));
        self.nest_loop(from, JoinKind::Inner, outer, inner, params, on)
    }

    /// A LATERAL item's plan, with the parameters that it takes from `outer`'s rows.
    pub(super) fn lateral_item(
        &mut self,
        from: &FromContext<'_>,
        mut item: FromItem,
        conditions: Vec<Expr>,
        outer: &Rel,
    ) -> Result<(Rel, Params)> {
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
        let (columns, fixed) = (from.columns.clone(), from.fixed.clone());
        let sub_selects = from.sub_selects;
        let within = FromContext { rtes: &rtes, sub_selects, columns, lateral, fixed };
        let inner = self.join_items(&within, vec![item], conditions)?;
        let params = found.into_iter().map(|(id, e)| Ok((id, to_slots(e, &outer.layout)?)));
        Ok((inner, params.collect::<Result<_>>()?))
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
