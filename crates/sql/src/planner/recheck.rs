//! The conditions that a row which was waited for must still satisfy (EvalPlanQual).
//!
//! READ COMMITTED checks the newest version of a row that another transaction has changed. As in
//! PostgreSQL that concerns this row alone: the rows that it was joined with stay the same.
//!
//! | condition | looked at again |
//! |---|---|
//! | WHERE, ON of an inner join | over the new version and the rows that the old one was joined with |
//! | IN, EXISTS that became a semi join | likewise: over the row that made it true |
//! | NOT EXISTS that became an anti join | not at all: there was no row, and there is none |
//! | a sub-select that stayed one | is run again, under the statement's snapshot |
//! | ON of an outer join | decides again whether the padded side is NULL; NULL stays NULL |
//!
//! So a semi join hands up the columns of its inner side that its condition names
//! ([`Planner::keeps_partners`](super::Planner)).

use super::join::item_rtes;
use super::{ColumnId, RteSet, conjuncts, rtes_of};
use crate::expr::Expr;
use crate::query::*;
use hashbrown::HashSet;

/// The conditions of a query that its changed or locked rows are held to again.
#[derive(Clone, Default)]
pub(super) struct Recheck {
    /// The conditions that must hold.
    pub(super) conditions: Vec<Expr>,
    /// Outer joins, innermost first: ON, and the entries that are NULL where it does not hold.
    pub(super) outer_joins: Vec<(Expr, RteSet)>,
}

impl Recheck {
    /// The recheck of a SELECT that locks rows. It is empty for any other.
    pub(super) fn of_locks(query: &Query) -> Recheck {
        let mut recheck = Recheck::default();
        if !query.row_locks.is_empty() {
            recheck.add_conditions(&query.filter);
            query.from.iter().for_each(|item| recheck.add(item));
        }
        recheck
    }

    /// The recheck of an UPDATE or DELETE. FROM cannot refer to `target`: the rows joined there
    /// stay joined.
    pub(super) fn of_change(query: &Query, target: usize) -> Recheck {
        let mut recheck = Recheck::default();
        query.from.iter().for_each(|item| recheck.add(item));
        recheck.conditions.retain(|condition| rtes_of(condition).contains(target));
        recheck.add_conditions(&query.filter);
        recheck
    }

    /// The columns that are rechecked, also where a scan would need them no more.
    pub(super) fn collect_columns(&self, wanted: &mut HashSet<ColumnId>) {
        let joins = self.outer_joins.iter().map(|(on, _)| on);
        self.conditions.iter().chain(joins).for_each(|e| super::collect_columns(e, wanted));
    }

    fn add_conditions(&mut self, conditions: &Option<Expr>) {
        conditions.iter().for_each(|e| conjuncts(e.clone(), &mut self.conditions));
    }

    /// Adds the conditions of an item. Tables on an outer join's nullable side are not locked, so
    /// their rows stay the same. So do the rows within the inner side of a semi or anti join.
    fn add(&mut self, item: &FromItem) {
        let FromItem::Join { kind, left, right, on, .. } = item else { return };
        let padded = match kind {
            JoinKind::Left => {
                self.add(left);
                right
            }
            JoinKind::Right => {
                self.add(right);
                left
            }
            JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti => return,
            JoinKind::Anti => return self.add(left),
            JoinKind::Semi => {
                self.add(left);
                let mut of_join = Recheck::default();
                of_join.add_conditions(on);
                let inside = item_rtes(right);
                of_join.conditions.retain(|c| !rtes_of(c).is_subset(&inside));
                return self.conditions.append(&mut of_join.conditions);
            }
            JoinKind::Inner => {
                self.add(left);
                self.add(right);
                return self.add_conditions(on);
            }
        };
        if let Some(on) = on {
            self.outer_joins.push((on.clone(), item_rtes(padded)));
        }
    }
}
