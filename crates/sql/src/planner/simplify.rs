//! The rewrites after a query's sub-selects are planned and before the order of its joins is
//! searched. These are the steps of subquery_planner and query_planner that need the catalog.
//!
//! 1. Conditions that all arms of an OR share become conditions of their own (`or_clauses`).
//! 2. Outer joins whose padded rows no condition lets through become inner or anti joins
//!    (`outer_joins`).
//! 3. Joins that neither add rows nor drop any are removed (`useless_joins`, `self_joins`).
//! 4. Tests for NULL of columns that are never NULL are removed (`never_null`).
//! 5. ORs over several tables restrict each of them (`or_clauses`).

use super::Planner;
use super::selectivity::Estimator;
use super::{never_null, or_clauses, outer_joins};
use crate::query::Query;

impl Planner<'_> {
    /// Simplifies a query's joins and conditions.
    pub(super) fn simplify(&mut self, query: &mut Query) {
        or_clauses::factor_conditions(query);
        outer_joins::reduce(query);
        self.remove_useless_joins(query);
        self.remove_self_joins(query);
        never_null::fold(query);
        let context = self.ctx;
        or_clauses::restrict_by_arms(query, &|rtes, condition| {
            Estimator::new(context, rtes).selectivity_of(condition)
        });
    }
}
