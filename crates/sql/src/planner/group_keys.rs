//! GROUP BY's keys that distinguish no groups (remove_useless_groupby_columns in initsplan.c, and
//! the redundant keys of make_pathkeys_for_sortclauses).
//!
//! A table's columns depend on those of a unique index of it that are never NULL: if all of these
//! are grouped by, the table's other columns have one value in each group. So has a column that
//! WHERE, or an inner join, holds equal to another key, or to a constant. Such columns are no keys
//! any more; where they are read above, the group's value is taken from its rows.
//!
//! Correctness: a group is a class of rows that have the keys in common, and these have the other
//! column in common as well. One key is kept, so that no rows still make no group.

use super::equivalence::equality;
use super::{Planner, conjuncts};
use crate::expr::Expr;
use crate::prune::{fixes, is_same};
use crate::query::{FromItem, JoinKind, Query, Rte, RteKind};
use steppe_catalog::IndexInfo;

impl Planner<'_> {
    /// Drops the keys of GROUP BY that distinguish no groups.
    pub(super) fn drop_useless_group_keys(&self, query: &mut Query) {
        if query.group_by.len() < 2 || query.grouping_sets.is_some() {
            return;
        }
        self.drop_dependent_keys(query);
        drop_equal_keys(query);
    }

    /// Drops each table's columns that depend on other columns of it.
    fn drop_dependent_keys(&self, query: &mut Query) {
        for rte in 0..query.rtes.len() {
            let column = |key: &Expr| match key {
                Expr::Var { rte: of, column, levels_up: 0, .. } if *of == rte => Some(*column),
                _ => None,
            };
            let columns: Vec<i32> = query.group_by.iter().filter_map(column).collect();
            if columns.len() < 2 {
                continue;
            }
            let Some(kept) = self.shortest_unique_key(&query.rtes[rte], &columns) else { continue };
            query.group_by.retain(|key| column(key).is_none_or(|column| kept.contains(&column)));
        }
    }

    /// The columns of the shortest unique index that has fewer than these, and none of which may be
    /// NULL.
    fn shortest_unique_key(&self, entry: &Rte, columns: &[i32]) -> Option<Vec<i32>> {
        let RteKind::Relation(relation) = &entry.kind else { return None };
        if self.is_inherited(entry) {
            return None;
        }
        let key = |info: &IndexInfo| -> Option<Vec<i32>> {
            let is_eligible = info.is_unique_now() && info.predicate.is_none();
            let keys = info.keys.iter().map(|key| i32::from(key.attnum) - 1);
            let keys: Vec<i32> = keys.collect();
            let is_known = |column: &i32| {
                let at = usize::try_from(*column).ok();
                columns.contains(column)
                    && at
                        .is_some_and(|at| info.nulls_not_distinct || relation.is_not_null_below(at))
            };
            (is_eligible && keys.len() < columns.len() && keys.iter().all(is_known)).then_some(keys)
        };
        let usable = self.ctx.catalog.indexes_of(relation);
        let usable = usable.filter(|index| self.ctx.has_all_versions(index));
        let keys = usable.filter_map(|index| key(index.index.as_ref()?));
        keys.min_by_key(Vec::len)
    }
}

/// Columns that a condition holds equal to an earlier key, or to a constant.
fn drop_equal_keys(query: &mut Query) {
    let mut conditions = Vec::new();
    query.filter.iter().for_each(|filter| conjuncts(filter.clone(), &mut conditions));
    query.from.iter().for_each(|item| inner_conditions(item, &mut conditions));
    let equal: Vec<[Expr; 2]> =
        conditions.iter().filter_map(|c| equality(c).map(|(_, sides)| sides)).collect();
    if equal.is_empty() {
        return;
    }
    let mut kept: Vec<Expr> = Vec::with_capacity(query.group_by.len());
    for key in std::mem::take(&mut query.group_by) {
        let is_useless = matches!(key, Expr::Var { levels_up: 0, .. })
            && (conditions.iter().any(|c| fixes(c, &key))
                || kept.iter().any(|known| are_equal(known, &key, &equal)));
        if !is_useless {
            kept.push(key);
        } else if kept.is_empty() {
            query.group_by.push(key);
        }
    }
    // All have one value: the first of them stands for them.
    if kept.is_empty() {
        query.group_by.truncate(1);
    } else {
        query.group_by = kept;
    }
}

/// Whether a chain of the pairs makes two expressions equal.
fn are_equal(a: &Expr, b: &Expr, pairs: &[[Expr; 2]]) -> bool {
    let mut reached = vec![a.clone()];
    let mut at = 0;
    while at < reached.len() {
        if is_same(&reached[at], b) {
            return true;
        }
        for [left, right] in pairs {
            for (from, to) in [(left, right), (right, left)] {
                if is_same(from, &reached[at]) && !reached.iter().any(|known| is_same(known, to)) {
                    reached.push(to.clone());
                }
            }
        }
        at += 1;
    }
    false
}

/// The conditions that hold for all rows that come out of a FROM item.
fn inner_conditions(item: &FromItem, out: &mut Vec<Expr>) {
    let FromItem::Join { kind: JoinKind::Inner, left, right, on, .. } = item else { return };
    on.iter().for_each(|on| conjuncts(on.clone(), out));
    inner_conditions(left, out);
    inner_conditions(right, out);
}
