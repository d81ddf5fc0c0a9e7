//! Joins of a table to itself by a key (remove_useless_self_joins in analyzejoins.c).
//!
//! ```text
//!   FROM t a JOIN t b ON a.id = b.id WHERE a.x = 3 AND b.y = 4      FROM t b WHERE b.x = 3 AND b.y = 4
//! ```
//!
//! Correctness: in each row that all inner joins and WHERE let through, the unique key of both
//! entries has one value. So both are the same row of the table, under one snapshot, and one may
//! stand for the other wherever it is named. `a.id = b.id` leaves that id is not NULL. The entry
//! that a statement changes or locks is another matter: its row may be rechecked, in a newer
//! version, without the other.

use super::cost::strip;
use super::equivalence::{equated_sides, known_value};
use super::{Planner, and_all, conjuncts, rtes_of};
use crate::expr::Expr;
use crate::query::{FromItem, JoinKind, Query, RteKind};
use crate::walk;
use hashbrown::HashSet;
use steppe_catalog::RelKind;

impl Planner<'_> {
    /// Leaves one of the entries that are joined by a key of the table. The earlier one is removed.
    pub(super) fn remove_self_joins(&mut self, query: &mut Query) {
        if !self.ctx.settings.self_join_elimination {
            return;
        }
        let mut entries = Vec::new();
        query.from.iter().for_each(|item| inner_entries(item, &mut entries));
        entries.retain(|rte| self.may_join_itself(query, *rte));
        for (at, gone) in entries.iter().enumerate() {
            let others = entries[at + 1..].iter().copied();
            let is_same = |kept: &usize| same_table(query, *gone, *kept);
            let candidates: Vec<usize> = others.filter(is_same).collect();
            if candidates.is_empty() {
                continue;
            }
            let conditions = inner_conditions(query);
            let kept = candidates.into_iter().find(|kept| {
                let columns = shared_columns(&conditions, *gone, *kept);
                let RteKind::Relation(relation) = &query.rtes[*gone].kind else { return false };
                self.has_key_in(relation, &query.rtes[*gone], &columns)
            });
            if let Some(kept) = kept {
                replace_entry(query, *gone, kept);
            }
        }
    }

    fn may_join_itself(&self, query: &Query, rte: usize) -> bool {
        let entry = &query.rtes[rte];
        let RteKind::Relation(relation) = &entry.kind else { return false };
        relation.kind == RelKind::Table
            && !self.is_inherited(entry)
            && query.result_relation != Some(rte)
            && query.row_locks.is_empty()
    }
}

/// The entries that inner joins alone join.
fn inner_entries(item: &FromItem, out: &mut Vec<usize>) {
    match item {
        FromItem::Rte(rte) => out.push(*rte),
        FromItem::Join { kind: JoinKind::Inner, left, right, .. } => {
            inner_entries(left, out);
            inner_entries(right, out);
        }
        FromItem::Join { .. } => {}
    }
}

fn same_table(query: &Query, a: usize, b: usize) -> bool {
    match (&query.rtes[a].kind, &query.rtes[b].kind) {
        (RteKind::Relation(a), RteKind::Relation(b)) => a.oid == b.oid,
        _ => false,
    }
}

/// The conditions that every row satisfies.
fn inner_conditions(query: &Query) -> Vec<Expr> {
    fn of_joins(item: &FromItem, out: &mut Vec<Expr>) {
        if let FromItem::Join { kind: JoinKind::Inner, left, right, on, .. } = item {
            of_joins(left, out);
            of_joins(right, out);
            on.iter().for_each(|on| conjuncts(on.clone(), out));
        }
    }
    let mut conditions = Vec::new();
    query.from.iter().for_each(|item| of_joins(item, &mut conditions));
    query.filter.iter().for_each(|filter| conjuncts(filter.clone(), &mut conditions));
    conditions
}

/// The columns that conditions hold equal in two entries of a table.
fn shared_columns(conditions: &[Expr], a: usize, b: usize) -> HashSet<usize> {
    let column = |expr: &Expr| match strip(expr) {
        Expr::Var { rte, column, levels_up: 0, .. } => Some((*rte, usize::try_from(*column).ok()?)),
        _ => None,
    };
    let shared = |[left, right]: [Expr; 2]| match (column(&left)?, column(&right)?) {
        ((rte, x), (of, y)) if x == y && ((rte, of) == (a, b) || (rte, of) == (b, a)) => Some(x),
        _ => None,
    };
    conditions.iter().filter_map(equated_sides).filter_map(shared).collect()
}

/// Puts one entry in the place of another, which FROM loses.
fn replace_entry(query: &mut Query, gone: usize, kept: usize) {
    let mut conditions = Vec::new();
    let from = std::mem::take(&mut query.from);
    query.from = from.into_iter().filter_map(|item| without(item, gone, &mut conditions)).collect();
    query.filter.take().into_iter().for_each(|filter| conjuncts(filter, &mut conditions));
    // The conditions of the entry that stays come first.
    conditions.sort_by_key(|condition| rtes_of(condition).contains(gone));
    query.filter = and_all(conditions);
    walk::for_each_node(query, 0, &mut |e, depth| {
        if let Expr::Var { rte, levels_up, .. } = e
            && (*rte, *levels_up) == (gone, depth)
        {
            *rte = kept;
        }
    });
    let mut conditions: Vec<Expr> = Vec::new();
    let mut all = Vec::new();
    query.filter.take().into_iter().for_each(|filter| conjuncts(filter, &mut all));
    for condition in all {
        let condition = known_value(&condition).unwrap_or(condition);
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    query.filter = and_all(conditions);
}

/// An item without an entry that inner joins join; their conditions are moved out.
fn without(item: FromItem, gone: usize, conditions: &mut Vec<Expr>) -> Option<FromItem> {
    match item {
        FromItem::Rte(rte) => (rte != gone).then_some(item),
        FromItem::Join { kind: JoinKind::Inner, left, right, on, using, entry } => {
            on.into_iter().for_each(|on| conjuncts(on, conditions));
            match (without(*left, gone, conditions), without(*right, gone, conditions)) {
                (Some(left), Some(right)) => {
                    let (kind, left, right) = (JoinKind::Inner, Box::new(left), Box::new(right));
                    Some(FromItem::Join { kind, left, right, on: None, using, entry })
                }
                (left, right) => left.or(right),
            }
        }
        other => Some(other),
    }
}
