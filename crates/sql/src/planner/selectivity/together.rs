//! The use of CREATE STATISTICS on several columns, for conditions that AND joins
//! (extended_stats.c, mcv.c, dependencies.c).
//!
//! 1. Conditions on columns of one object are looked up among its most common combinations, which
//!    gives the fraction that they leave of those. The rest is the fraction that the conditions
//!    would leave were the columns independent, without the share of the combinations in it.
//! 2. One of the equalities that are left is implied by others to a degree: P(a, b) = P(a) · (d +
//!    (1 - d) · P(b)), where a decides b to the degree d.
//!
//! A condition that neither covers is estimated by itself.

use super::scalar::order;
use super::{Estimator, Operand};
use crate::expr::{CallSyntax, Expr};
use crate::planner::cost::strip;
use crate::planner::{is_volatile, rtes_of};
use crate::query::RteKind;
use hashbrown::HashMap;
use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use steppe_catalog::builtin::Estimate;
use steppe_catalog::{Combination, ExtendedFound, Operator};
use steppe_types::Datum;

/// The extended statistics of some columns (attribute numbers) of a table.
pub(super) struct Together<'a> {
    columns: &'a [i16],
    pub(super) found: &'a ExtendedFound,
}

/// The columns, the last of which depends on the others, and the degree of that.
type Dependency = (Vec<i16>, f64);

impl<'a> Estimator<'a> {
    /// The extended statistics of an entry's columns.
    pub(super) fn found_together(&self, rte: usize) -> Vec<Together<'a>> {
        let Some(entry) = self.rtes.get(rte) else { return Vec::new() };
        let RteKind::Relation(relation) = &entry.kind else { return Vec::new() };
        if relation.extended.is_empty() {
            return Vec::new();
        }
        let inherited = self.has_children(relation, entry);
        let of = |found: &&ExtendedFound| found.inherited == inherited;
        let all = relation.extended.iter().map(|object| (object, object.found.iter().find(of)));
        all.filter_map(|(object, found)| Some(Together { columns: &object.columns, found: found? }))
            .collect()
    }

    /// The fraction of rows that the conditions covered by statistics on several columns leave, and
    /// these conditions.
    pub(super) fn together<E: Borrow<Expr>>(&self, conditions: &[E]) -> Option<(f64, Vec<bool>)> {
        let rte = self.only_entry(conditions)?;
        let found = self.found_together(rte);
        if found.is_empty() {
            return None;
        }
        let conditions: Vec<&Expr> = conditions.iter().map(E::borrow).collect();
        let mut estimated = vec![false; conditions.len()];
        let by_values = self.by_combinations(rte, &found, &conditions, &mut estimated);
        let by_degree = self.by_dependencies(rte, &found, &conditions, &mut estimated);
        Some((by_values * by_degree, estimated))
    }

    /// The one entry that all conditions are about (find_single_rel_for_clauses).
    fn only_entry<E: Borrow<Expr>>(&self, conditions: &[E]) -> Option<usize> {
        let mut only = None;
        for condition in conditions {
            for rte in rtes_of(condition.borrow()).iter() {
                if *only.get_or_insert(rte) != rte {
                    return None;
                }
            }
        }
        only
    }

    /// The attribute number of the entry's column that an expression is.
    fn attribute(&self, rte: usize, expr: &Expr) -> Option<i16> {
        match strip(expr) {
            Expr::Var { rte: of, column, levels_up: 0, .. } if *of == rte && *column >= 0 => {
                i16::try_from(column + 1).ok()
            }
            _ => None,
        }
    }

    /// By the most common combinations (statext_mcv_clauselist_selectivity).
    fn by_combinations(
        &self,
        rte: usize,
        found: &[Together<'_>],
        conditions: &[&Expr],
        estimated: &mut [bool],
    ) -> f64 {
        let attributes: Vec<Option<BTreeSet<i16>>> =
            conditions.iter().map(|condition| self.comparable(rte, condition)).collect();
        let mut selected = 1.0;
        loop {
            let covered = |object: &Together<'_>| -> (usize, Vec<usize>) {
                let is_covered = |at: &usize| {
                    let own = attributes[*at].as_ref().filter(|own| !own.is_empty());
                    !estimated[*at]
                        && own.is_some_and(|o| o.iter().all(|a| object.columns.contains(a)))
                };
                let places: Vec<usize> = (0..conditions.len()).filter(is_covered).collect();
                let columns: BTreeSet<i16> = places
                    .iter()
                    .filter_map(|at| attributes[*at].as_ref())
                    .flatten()
                    .copied()
                    .collect();
                (columns.len(), places)
            };
            let objects = found.iter().filter(|object| !object.found.most_common.is_empty());
            let best = objects
                .map(|object| (object, covered(object)))
                .filter(|(_, (columns, _))| *columns > 1)
                .reduce(|best, other| {
                    let rank = |(object, (columns, _)): &(&Together<'_>, (usize, Vec<usize>))| {
                        (*columns, usize::MAX - object.columns.len())
                    };
                    if rank(&other) > rank(&best) { other } else { best }
                });
            let Some((object, (_, places))) = best else { return selected };
            let of_object: Vec<&Expr> = places.iter().map(|at| conditions[*at]).collect();
            places.iter().for_each(|at| estimated[*at] = true);
            selected *= self.by_combination(rte, object, &of_object);
        }
    }

    /// (mcv_clauselist_selectivity, mcv_combine_selectivities)
    fn by_combination(&self, rte: usize, object: &Together<'_>, conditions: &[&Expr]) -> f64 {
        let alone = self.independent(conditions.iter().copied());
        let (mut known, mut known_alone, mut total) = (0.0, 0.0, 0.0);
        for combination in &object.found.most_common {
            total += combination.frequency;
            let row = (rte, object.columns, combination);
            if conditions.iter().all(|condition| self.holds(row, condition)) {
                known += combination.frequency;
                known_alone += combination.base_frequency;
            }
        }
        let rest = (alone - known_alone).clamp(0.0, 1.0).min((1.0 - total).max(0.0));
        (known + rest).clamp(0.0, 1.0)
    }

    /// The columns of a condition that a combination of known values decides. `None`: it does not
    /// (statext_is_compatible_clause).
    fn comparable(&self, rte: usize, condition: &Expr) -> Option<BTreeSet<i16>> {
        let of =
            |expr: &Expr| self.attribute(rte, expr).map(|attribute| BTreeSet::from([attribute]));
        match condition {
            Expr::And(args) | Expr::Or(args) => {
                args.iter().try_fold(BTreeSet::new(), |mut all, arg| {
                    all.append(&mut self.comparable(rte, arg)?);
                    Some(all)
                })
            }
            Expr::Not(arg) => self.comparable(rte, arg),
            Expr::IsNull { arg, .. } => of(arg),
            Expr::Func { syntax: CallSyntax::Operator(op), args, .. } => {
                let [left, right] = args.as_slice() else { return None };
                let (column, value) =
                    if rtes_of(left).is_empty() { (right, left) } else { (left, right) };
                op.estimate().is_of_comparison().then_some(())?;
                matches!(self.operand(value), Operand::Value(_)).then(|| of(column))?
            }
            Expr::ScalarArrayOp { left, array, syntax: CallSyntax::Operator(op), .. } => {
                op.estimate().is_of_comparison().then_some(())?;
                self.elements_of(array).is_some().then(|| of(left))?
            }
            other if other.ty().oid == steppe_types::oid::BOOL => of(other),
            _ => None,
        }
    }

    /// The elements of an array, if all are known.
    fn elements_of<'e>(&self, array: &'e Expr) -> Option<Vec<Cow<'e, Datum>>> {
        if let Expr::Array { elements, multidim: false, .. } = strip(array) {
            let value = |element: &'e Expr| match self.operand(element) {
                Operand::Value(value) => Some(value),
                Operand::Null => Some(Cow::Owned(Datum::Null)),
                Operand::Unknown => None,
            };
            return elements.iter().map(value).collect();
        }
        let Operand::Value(value) = self.operand(array) else { return None };
        let Datum::Array(array) = &*value else { return None };
        Some(array.elements.iter().map(|element| Cow::Owned(element.clone())).collect())
    }

    /// Whether a combination of values satisfies a condition; NULL does not (mcv_get_match_bitmap).
    fn holds(&self, row: (usize, &[i16], &Combination), condition: &Expr) -> bool {
        let (rte, columns, combination) = row;
        let of = |expr: &Expr| {
            let attribute = self.attribute(rte, expr)?;
            let at = columns.iter().position(|column| *column == attribute)?;
            combination.values.get(at)
        };
        match condition {
            Expr::And(args) => args.iter().all(|arg| self.holds(row, arg)),
            Expr::Or(args) => args.iter().any(|arg| self.holds(row, arg)),
            Expr::Not(arg) => !self.holds(row, arg),
            Expr::IsNull { arg, negated } => {
                of(arg).is_some_and(|value| value.is_null() != *negated)
            }
            Expr::Func { syntax: CallSyntax::Operator(op), args, .. } => {
                let [left, right] = args.as_slice() else { return false };
                let is_left = !rtes_of(left).is_empty();
                let (column, value) = if is_left { (left, right) } else { (right, left) };
                let Operand::Value(value) = self.operand(value) else { return false };
                of(column).is_some_and(|known| compares(op, column, known, &value, is_left))
            }
            Expr::ScalarArrayOp { all, left, array, syntax: CallSyntax::Operator(op), .. } => {
                let (Some(known), Some(elements)) = (of(left), self.elements_of(array)) else {
                    return false;
                };
                let mut each = elements.iter().map(|value| compares(op, left, known, value, true));
                if *all { each.all(|holds| holds) } else { each.any(|holds| holds) }
            }
            other => matches!(of(other), Some(Datum::Bool(true))),
        }
    }

    /// The selectivity by dependencies between columns (dependencies_clauselist_selectivity).
    fn by_dependencies(
        &self,
        rte: usize,
        found: &[Together<'_>],
        conditions: &[&Expr],
        estimated: &mut [bool],
    ) -> f64 {
        let equalities: Vec<Option<i16>> = (0..conditions.len())
            .map(|at| (!estimated[at]).then(|| self.equality_of(rte, conditions[at]))?)
            .collect();
        let mut left: BTreeSet<i16> = equalities.iter().flatten().copied().collect();
        let mut chosen: Vec<&Dependency> = Vec::new();
        while left.len() > 1
            && let Some(strongest) = strongest(found, &left)
        {
            strongest.0.last().into_iter().for_each(|implied| {
                left.remove(implied);
            });
            chosen.push(strongest);
        }
        let columns: BTreeSet<i16> = chosen.iter().flat_map(|d| d.0.iter().copied()).collect();
        let mut selected: HashMap<i16, f64> = HashMap::with_capacity(columns.len());
        for column in columns {
            let places: Vec<usize> =
                (0..conditions.len()).filter(|at| equalities[*at] == Some(column)).collect();
            places.iter().for_each(|at| estimated[*at] = true);
            selected.insert(column, self.independent(places.iter().map(|at| conditions[*at])));
        }
        for (columns, degree) in chosen.into_iter().rev() {
            let Some((implied, deciding)) = columns.split_last() else { continue };
            let of = |column: &i16| selected.get(column).copied().unwrap_or(1.0);
            let (deciding, alone) = (deciding.iter().map(of).product::<f64>(), of(implied));
            let both = if deciding <= alone { 1.0 } else { alone / deciding };
            selected.insert(*implied, degree * both + (1.0 - degree) * alone);
        }
        selected.values().product::<f64>().clamp(0.0, 1.0)
    }

    /// The column that a condition compares with values for equality
    /// (dependency_is_compatible_clause).
    fn equality_of(&self, rte: usize, condition: &Expr) -> Option<i16> {
        let is_equal = |op: &Operator| matches!(op.estimate(), Estimate::Equal);
        let is_fixed = |expr: &Expr| rtes_of(expr).is_empty() && !is_volatile(expr);
        match condition {
            Expr::Func { syntax: CallSyntax::Operator(op), args, .. } if is_equal(op) => {
                let [left, right] = args.as_slice() else { return None };
                let (column, value) = if is_fixed(left) { (right, left) } else { (left, right) };
                is_fixed(value).then(|| self.attribute(rte, column))?
            }
            Expr::ScalarArrayOp {
                all: false,
                left,
                array,
                syntax: CallSyntax::Operator(op),
                ..
            } if is_equal(op) && is_fixed(array) => self.attribute(rte, left),
            Expr::Or(args) => {
                let mut columns = args.iter().map(|arg| self.equality_of(rte, arg));
                let first = columns.next()??;
                columns.all(|column| column == Some(first)).then_some(first)
            }
            Expr::Not(arg) => self.attribute(rte, arg),
            other if other.ty().oid == steppe_types::oid::BOOL => self.attribute(rte, other),
            _ => None,
        }
    }
}

/// The dependency on most of these columns, or of the highest degree (find_strongest_dependency).
fn strongest<'f>(found: &[Together<'f>], among: &BTreeSet<i16>) -> Option<&'f Dependency> {
    let all = found.iter().flat_map(|object| object.found.dependencies.iter());
    let within = all.filter(|(columns, _)| columns.iter().all(|column| among.contains(column)));
    within.reduce(|best, other| match (other.0.len(), other.1) > (best.0.len(), best.1) {
        true => other,
        false => best,
    })
}

/// Whether an operator holds between a column's value and another.
fn compares(
    operator: &Operator,
    column: &Expr,
    known: &Datum,
    value: &Datum,
    is_left: bool,
) -> bool {
    if known.is_null() || value.is_null() {
        return false;
    }
    let Some(order) = order(strip(column).ty().oid, known, value) else { return false };
    let order = if is_left { order } else { order.reverse() };
    match operator.estimate() {
        Estimate::Equal => order == Ordering::Equal,
        Estimate::NotEqual => order != Ordering::Equal,
        Estimate::Less => order == Ordering::Less,
        Estimate::LessEqual => order != Ordering::Greater,
        Estimate::Greater => order == Ordering::Greater,
        Estimate::GreaterEqual => order != Ordering::Less,
        _ => false,
    }
}
