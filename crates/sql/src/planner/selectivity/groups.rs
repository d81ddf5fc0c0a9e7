//! The number of groups of rows (estimate_num_groups in selfuncs.c).
//!
//! Keys are assumed to be independent of each other. A table has at most as many groups as rows,
//! and at most a tenth of that for several keys of it. Where conditions have left some of a table's
//! rows, some of its values are missing: as many as would be if the rows left were drawn by lot
//! (Dell'Era's approximation of Yao's formula).

use super::Estimator;
use super::variable::Variable;
use crate::expr::Expr;
use crate::planner::{is_volatile, rtes_of};
use steppe_types::oid;

/// The maximum number of combinations of several columns of a table, as a share of its rows.
const COMBINED: f64 = 0.1;

/// A grouping key: a column, or an expression with statistics.
struct Key<'e> {
    expr: &'e Expr,
    rte: Option<usize>,
    /// Its attribute number, if it is a table's column.
    attribute: Option<i16>,
    distinct: f64,
}

impl Estimator<'_> {
    /// The number of groups of `rows` rows by these expressions.
    pub(crate) fn groups<'e>(&self, by: impl IntoIterator<Item = &'e Expr>, rows: f64) -> f64 {
        let rows = rows.max(1.0).round();
        let (mut keys, mut groups, mut of_sets): (Vec<Key<'e>>, f64, f64) = (Vec::new(), 1.0, 1.0);
        let mut is_grouped = false;
        for expr in by {
            is_grouped = true;
            of_sets = of_sets.max(self.set_rows(expr));
            if expr.ty().oid == oid::BOOL {
                groups *= 2.0;
            } else if !self.add_keys(expr, &mut keys) {
                return rows;
            }
        }
        if !is_grouped {
            return 1.0;
        }
        while let Some(first) = keys.first() {
            let rte = first.rte;
            let (of_table, others) = keys.into_iter().partition(|key| key.rte == rte);
            groups *= self.of_table(rte, of_table);
            keys = others;
        }
        (groups * of_sets).ceil().clamp(1.0, rows)
    }

    /// Adds the keys of an expression that is grouped by: itself, or the columns in it. False: each
    /// row may be a group.
    fn add_keys<'e>(&self, expr: &'e Expr, keys: &mut Vec<Key<'e>>) -> bool {
        let variable = self.variable(expr);
        if variable.statistics.is_some() || self.is_unique(&variable) {
            self.add_key(expr, &variable, keys);
            return true;
        }
        if rtes_of(expr).is_empty() {
            return !is_volatile(expr);
        }
        self.add_columns(expr, keys);
        true
    }

    fn add_columns<'e>(&self, expr: &'e Expr, keys: &mut Vec<Key<'e>>) {
        match expr {
            Expr::Var { levels_up: 0, .. } => self.add_key(expr, &self.variable(expr), keys),
            other => other.for_each_child(&mut |child| self.add_columns(child, keys)),
        }
    }

    fn add_key<'e>(&self, expr: &'e Expr, variable: &Variable<'_>, keys: &mut Vec<Key<'e>>) {
        if !keys.iter().any(|key| key.expr == expr) {
            let (distinct, _) = self.distinct_values(variable);
            let column = variable.column.map(|(_, column)| column + 1);
            let attribute = column.and_then(|column| i16::try_from(column).ok());
            keys.push(Key { expr, rte: variable.rte, attribute, distinct });
        }
    }

    /// The number of values of one table's keys. Keys covered by statistics are counted together,
    /// others separately (estimate_multivariate_ndistinct).
    fn distinct_together(&self, rte: Option<usize>, mut keys: Vec<Key<'_>>) -> Vec<f64> {
        let found = rte.map_or_else(Vec::new, |rte| self.found_together(rte));
        let mut numbers = Vec::with_capacity(keys.len());
        while keys.len() > 1 && !found.is_empty() {
            let has = |column: &i16| keys.iter().any(|key| key.attribute == Some(*column));
            let counted = found.iter().flat_map(|object| &object.found.distinct);
            let within = counted.filter(|(columns, _)| columns.iter().all(has));
            let longest = within
                .reduce(|best, other| if other.0.len() > best.0.len() { other } else { best });
            let Some((columns, distinct)) = longest else {
                break;
            };
            numbers.push(*distinct);
            keys.retain(|key| !key.attribute.is_some_and(|column| columns.contains(&column)));
        }
        numbers.extend(keys.iter().map(|key| key.distinct));
        numbers
    }

    /// The groups by some columns of one table.
    fn of_table(&self, rte: Option<usize>, keys: Vec<Key<'_>>) -> f64 {
        let (mut groups, mut most): (f64, f64) = (1.0, 1.0);
        let numbers = self.distinct_together(rte, keys);
        for distinct in &numbers {
            groups *= distinct;
            most = most.max(*distinct);
        }
        let base = rte.and_then(|rte| self.bases?.get(&rte));
        let tuples = base.map_or_else(|| rte.map_or(0.0, |rte| self.tuples(rte)), |b| b.tuples);
        if tuples <= 0.0 {
            return groups;
        }
        let limit = match numbers.len() {
            1 => tuples,
            _ => (tuples * COMBINED).max(most).min(tuples),
        };
        groups = groups.min(limit);
        let left = base.map_or(tuples, |base| base.rows);
        if left < tuples && groups > 0.0 {
            groups *= 1.0 - ((tuples - left) / tuples).powf(tuples / groups);
        }
        groups.max(1.0).round()
    }
}
