//! The conditions that an index decides (match_clauses_to_index in indxpath.c; nbtree's keys).
//!
//! Conditions are taken column by column of the index:
//!
//! ```text
//!   index (a, b, c, d)   a = 1 AND b IN (2, 3) AND c > 4 AND d = 5 AND e = 6
//!                        └──── keys ─────────┘     │         │        filter
//!                                                bound     check
//! ```
//!
//! Equalities, IS NULL and arrays on the first columns make the searches. The first column that has
//! none of them ends the searches with its bounds. Conditions on later columns are checked in each
//! entry before its row is fetched. A column without any condition can be stepped over instead:
//! each of its values is searched for (PostgreSQL 18's skip scan), which pays if they are few.
//!
//! A row comparison bounds as many columns as stand one after the other in the index. It is always
//! a check as well: a bound alone would let NULLs in later columns through.

use super::cost::strip;
use super::index::{CandidateIndex, Key, same_ordering};
use super::like_prefix::{PrefixBounds, prefix_bounds, text_and_pattern};
use crate::expr::{BoolTest, Expr, RowCompareOp};
use crate::plan::{KeyCheck, KeyEnd, KeySearch};
use std::collections::BTreeMap;
use steppe_catalog::builtin::Strategy;
use steppe_types::{Datum, oid};

/// Combinations of array elements that are searched for one by one.
const SEARCHES_MAX: f64 = 1000.0;

/// Conditions of an index scan, taken from a list of conjuncts.
#[derive(Default)]
pub(super) struct IndexMatch {
    pub(super) keys: Vec<KeySearch>,
    pub(super) lower: Option<KeyEnd>,
    pub(super) upper: Option<KeyEnd>,
    pub(super) not_null: bool,
    pub(super) checks: Vec<KeyCheck>,
    /// Positions of the conjuncts that the index decides fully: by columns, and as they stand.
    pub(super) used: Vec<usize>,
    /// The conditions that bound the visited entries.
    pub(super) bounding: Vec<usize>,
    /// Conditions that follow from patterns, which stay to be decided.
    pub(super) derived: Vec<Expr>,
    /// Columns that are stepped over.
    pub(super) skipped: Vec<usize>,
    /// Searches that arrays lead to.
    pub(super) searches: f64,
    /// Conjuncts that are ORs of equalities, by place, as conditions on an array.
    as_any: BTreeMap<usize, Expr>,
}

impl IndexMatch {
    pub(super) fn is_empty(&self) -> bool {
        self.used.is_empty() && self.bounding.is_empty()
    }

    /// Whether each of the index's columns is compared with one value for equality.
    pub(super) fn is_whole_key(&self, columns: usize) -> bool {
        self.keys.len() == columns && self.keys.iter().all(|key| matches!(key, KeySearch::Equal(_)))
    }

    /// Whether a column has one value in all entries that are found.
    pub(super) fn is_fixed(&self, column: usize) -> bool {
        let key = self.keys.get(column);
        key.is_some_and(|key| matches!(key, KeySearch::Equal(_) | KeySearch::IsNull))
    }

    /// A conjunct as the index decides it.
    pub(super) fn condition<'e>(&'e self, conditions: &'e [Expr], place: usize) -> &'e Expr {
        self.as_any.get(&place).unwrap_or(&conditions[place])
    }

    fn use_up(&mut self, condition: usize, is_bound: bool) {
        if !self.used.contains(&condition) {
            self.used.push(condition);
        }
        if is_bound && !self.bounding.contains(&condition) {
            self.bounding.push(condition);
        }
    }
}

/// A condition on one key.
enum Said {
    Equal(Expr),
    IsNull,
    NotNull,
    /// With the condition on the array, where it was an OR.
    Any(Expr, Option<Expr>),
    Bound {
        value: Expr,
        lower: bool,
        inclusive: bool,
    },
    /// The bounds of the prefix of a pattern.
    Prefix(PrefixBounds),
}

impl CandidateIndex {
    /// The conjuncts that the index decides. With `skips`, columns without conditions are stepped
    /// over where a later one has a condition that can be searched for.
    pub(super) fn matching(&self, rte: usize, conditions: &[Expr], skips: bool) -> IndexMatch {
        let said: Vec<Vec<(usize, Said)>> =
            self.keys.iter().map(|key| key.said_by(conditions, rte, &self.examples)).collect();
        let rows = self.rows_said(rte, conditions);
        let mut found = IndexMatch { searches: 1.0, ..IndexMatch::default() };
        for (condition, said) in said.iter().flatten() {
            if let Said::Any(_, Some(any)) = said {
                found.as_any.insert(*condition, any.clone());
            }
        }
        let mut column = 0;
        while column < said.len() {
            if self.search(column, &said[column], &mut found) {
                column += 1;
                continue;
            }
            let is_bound = |s: &Said| matches!(s, Said::Bound { .. } | Said::Prefix(_));
            let bounds = said[column].iter().any(|(_, said)| is_bound(said))
                || rows.iter().any(|row| row.columns[0] == column);
            let later = said[column + 1..].iter().position(|said| said.iter().any(is_searched));
            if !skips || bounds || later.is_none() || !self.measurable_to(column) {
                break;
            }
            found.keys.push(KeySearch::Each);
            found.skipped.push(column);
            column += 1;
        }
        self.bound(column, &said, &rows, &mut found);
        let columns = self.columns_said(&said, &rows);
        self.check(column, said, rows, &mut found);
        found.used.sort_by_key(|condition| (columns.get(condition).copied(), *condition));
        found
    }

    /// The first column that each condition is about.
    fn columns_said(
        &self,
        said: &[Vec<(usize, Said)>],
        rows: &[RowSaid],
    ) -> BTreeMap<usize, usize> {
        let of_rows = rows.iter().map(|row| (row.condition, row.columns[0]));
        let of_keys = said.iter().enumerate().rev();
        let of_keys =
            of_keys.flat_map(|(column, said)| said.iter().map(move |(c, _)| (*c, column)));
        of_keys.chain(of_rows).collect()
    }

    /// Takes the search for a column. Other conditions on it become checks.
    fn search(&self, column: usize, said: &[(usize, Said)], found: &mut IndexMatch) -> bool {
        let of = |wanted: fn(&Said) -> bool| said.iter().find(|(_, said)| wanted(said));
        let chosen = of(|said| matches!(said, Said::Equal(_) | Said::IsNull));
        let chosen = chosen.or_else(|| {
            of(|said| matches!(said, Said::Any(..))).filter(|(_, said)| {
                let Said::Any(array, _) = said else { return false };
                found.searches == 1.0
                    || found.searches * super::cost::list_length(array).unwrap_or(10) as f64
                        <= SEARCHES_MAX
            })
        });
        let Some((condition, chosen)) = chosen else { return false };
        found.keys.push(match chosen {
            Said::Equal(value) => KeySearch::Equal(value.clone()),
            Said::Any(array, _) => {
                found.searches *= super::cost::list_length(array).unwrap_or(10).max(1) as f64;
                KeySearch::Any(array.clone())
            }
            _ => KeySearch::IsNull,
        });
        found.use_up(*condition, true);
        let measurable = self.measurable_to(column);
        for (other, said) in said.iter().filter(|(other, _)| other != condition && measurable) {
            if let Some(check) = said.check(column) {
                found.checks.push(check);
                found.use_up(*other, false);
            }
        }
        true
    }

    /// The bounds of the column after the searches.
    fn bound(
        &self,
        column: usize,
        said: &[Vec<(usize, Said)>],
        rows: &[RowSaid],
        found: &mut IndexMatch,
    ) {
        for (condition, said) in said.get(column).into_iter().flatten() {
            match said {
                Said::NotNull => {
                    found.not_null = true;
                    found.use_up(*condition, true);
                }
                Said::Bound { value, lower, inclusive } => {
                    let end = if *lower { &mut found.lower } else { &mut found.upper };
                    if end.is_none() {
                        *end = Some(KeyEnd::of(value.clone(), *inclusive));
                        found.use_up(*condition, true);
                    }
                }
                Said::Prefix(bounds) if found.lower.is_none() && found.upper.is_none() => {
                    found.lower = Some(bounds.lower.clone());
                    found.upper = bounds.upper.clone();
                    found.derived.extend(bounds.conditions.iter().cloned());
                    found.bounding.push(*condition);
                }
                _ => {}
            }
        }
        for row in rows.iter().filter(|row| row.columns[0] == column) {
            let end = if row.lower { &mut found.lower } else { &mut found.upper };
            if end.is_some() {
                continue;
            }
            let is_next = |(i, c): &(usize, &usize)| **c == column + i;
            let taken = row.columns.iter().enumerate().take_while(is_next).count();
            *end = Some(KeyEnd {
                values: row.values[..taken].to_vec(),
                inclusive: row.inclusive || taken < row.values.len(),
                pattern: None,
            });
            found.bounding.push(row.condition);
        }
    }

    /// Adds the remaining conditions as checks, from the column after the searches on.
    fn check(
        &self,
        from: usize,
        said: Vec<Vec<(usize, Said)>>,
        rows: Vec<RowSaid>,
        found: &mut IndexMatch,
    ) {
        for (column, said) in said.into_iter().enumerate().skip(from) {
            for row in rows.iter().filter(|row| row.columns[0] == column) {
                self.check_row(row, found);
            }
            for (condition, said) in said {
                if !found.used.contains(&condition)
                    && self.measurable_to(column)
                    && let Some(check) = said.check(column)
                {
                    found.checks.push(check);
                    found.use_up(condition, false);
                }
            }
        }
        for row in rows.iter().filter(|row| row.columns[0] < from) {
            self.check_row(row, found);
        }
    }

    fn check_row(&self, row: &RowSaid, found: &mut IndexMatch) {
        if !row.columns.iter().all(|column| self.measurable_to(*column)) {
            found.bounding.retain(|condition| *condition != row.condition);
            return;
        }
        found.checks.push(KeyCheck::Row {
            columns: row.columns.clone(),
            values: row.values.clone(),
            lower: row.lower,
            inclusive: row.inclusive,
        });
        found.use_up(row.condition, false);
    }

    /// Whether a column's part can be found in an entry's key.
    fn measurable_to(&self, column: usize) -> bool {
        self.keys[..=column].iter().all(|key| steppe_types::key::is_measurable(key.type_oid))
    }

    /// The row comparisons all of whose columns are the index's.
    fn rows_said(&self, rte: usize, conditions: &[Expr]) -> Vec<RowSaid> {
        let row = |(condition, expr): (usize, &Expr)| self.row_said(rte, condition, expr);
        conditions.iter().enumerate().filter_map(row).collect()
    }

    fn row_said(&self, rte: usize, condition: usize, expr: &Expr) -> Option<RowSaid> {
        let Expr::RowCompare { op, left, right, .. } = expr else { return None };
        let lower_if_left = matches!(op, RowCompareOp::Gt | RowCompareOp::Ge);
        let inclusive = matches!(op, RowCompareOp::Ge | RowCompareOp::Le);
        let side = |columns: &[Expr], values: &[Expr], lower| {
            let place = |(column, value): (&Expr, &Expr)| {
                self.keys.iter().position(|key| {
                    key.is(column, rte) && key.is_comparable(column.ty().oid, value)
                })
            };
            let columns: Vec<usize> =
                columns.iter().zip(values).map(place).collect::<Option<_>>()?;
            Some(RowSaid { condition, columns, values: values.to_vec(), lower, inclusive })
        };
        side(left, right, lower_if_left).or_else(|| side(right, left, !lower_if_left))
    }
}

/// A row comparison.
struct RowSaid {
    condition: usize,
    /// Places in the index.
    columns: Vec<usize>,
    values: Vec<Expr>,
    lower: bool,
    inclusive: bool,
}

fn is_searched((_, said): &(usize, Said)) -> bool {
    !matches!(said, Said::NotNull | Said::Prefix(_))
}

impl Said {
    /// As a condition on an entry. A pattern has no such condition.
    fn check(&self, column: usize) -> Option<KeyCheck> {
        Some(match self {
            Said::Prefix(_) => return None,
            Said::Equal(value) => KeyCheck::Equal { column, value: value.clone() },
            Said::IsNull => KeyCheck::Null { column, negated: false },
            Said::NotNull => KeyCheck::Null { column, negated: true },
            Said::Any(array, _) => KeyCheck::Any { column, array: array.clone() },
            Said::Bound { value, lower, inclusive } => KeyCheck::Bound {
                column,
                value: value.clone(),
                lower: *lower,
                inclusive: *inclusive,
            },
        })
    }
}

impl Key {
    /// Whether bounds of the key depend on the value of a pattern.
    pub(super) fn depends_on_pattern(&self, conditions: &[Expr], rte: usize) -> bool {
        conditions.iter().filter_map(text_and_pattern).any(|(text, pattern, _)| {
            !matches!(strip(pattern), Expr::Const(..)) && self.is(text, rte)
        })
    }

    fn said_by(&self, conditions: &[Expr], rte: usize, examples: &[Datum]) -> Vec<(usize, Said)> {
        let said = |(i, condition): (usize, &Expr)| Some((i, self.said(condition, rte, examples)?));
        conditions.iter().enumerate().filter_map(said).collect()
    }

    fn said(&self, condition: &Expr, rte: usize, examples: &[Datum]) -> Option<Said> {
        if self.type_oid == oid::BOOL
            && let Some(value) = self.truth(condition, rte)
        {
            return Some(Said::Equal(Expr::boolean(value)));
        }
        match condition {
            Expr::IsNull { arg, negated } if self.is(arg, rte) => {
                Some(if *negated { Said::NotNull } else { Said::IsNull })
            }
            Expr::ScalarArrayOp { .. } | Expr::Or(_) => {
                self.any(condition, rte).map(|(array, any)| Said::Any(array, any))
            }
            _ => {
                if let Some((text, ..)) = text_and_pattern(condition) {
                    let is_text = same_ordering(self.type_oid, oid::TEXT);
                    let bounds = prefix_bounds(condition, examples);
                    return bounds.filter(|_| is_text && self.is(text, rte)).map(Said::Prefix);
                }
                let (strategy, value) = self.comparison(condition, rte)?;
                Some(match strategy {
                    Strategy::Equal => Said::Equal(value),
                    Strategy::Less => Said::Bound { value, lower: false, inclusive: false },
                    Strategy::LessEqual => Said::Bound { value, lower: false, inclusive: true },
                    Strategy::Greater => Said::Bound { value, lower: true, inclusive: false },
                    Strategy::GreaterEqual => Said::Bound { value, lower: true, inclusive: true },
                })
            }
        }
    }

    /// The value that a condition wants of a boolean key: itself, NOT, IS TRUE and IS FALSE.
    fn truth(&self, condition: &Expr, rte: usize) -> Option<bool> {
        let (arg, value) = match condition {
            Expr::Not(arg) => (&**arg, false),
            Expr::BoolTest { arg, test: BoolTest::True } => (&**arg, true),
            Expr::BoolTest { arg, test: BoolTest::False } => (&**arg, false),
            bare => (bare, true),
        };
        (self.is(arg, rte) || self.is(strip(arg), rte)).then_some(value)
    }
}
