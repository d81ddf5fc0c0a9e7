//! `=` and `<>` with a value (eqsel, neqsel: selfuncs.c).

use super::variable::{CommonValues, Variable};
use super::{Comparison, DEFAULT_EQUAL, Estimator, Operand};
use steppe_types::Datum;

impl Estimator<'_> {
    /// Fraction of rows where a column equals a value, or differs from it.
    pub(super) fn equality(&self, sides: Option<&Comparison<'_, '_>>, negated: bool) -> f64 {
        let Some(Comparison { variable, value, .. }) = sides else {
            return if negated { 1.0 - DEFAULT_EQUAL } else { DEFAULT_EQUAL };
        };
        let equal = match value {
            Operand::Null => return 0.0,
            Operand::Value(value) => self.equals(variable, value),
            Operand::Unknown => self.equals_unknown(variable),
        };
        match negated {
            true => (1.0 - equal - variable.null_fraction()).clamp(0.0, 1.0),
            false => equal,
        }
    }

    /// Fraction of rows where it equals a value that is known (var_eq_const).
    pub(super) fn equals(&self, variable: &Variable<'_>, value: &Datum) -> f64 {
        if let Some(of_one) = self.one_row(variable) {
            return of_one;
        }
        let Some(found) = variable.statistics else {
            return 1.0 / self.distinct_values(variable).0;
        };
        let common = CommonValues::of(variable);
        if let Some((frequency, _)) = common.look_up(value)
            && frequency > 0.0
        {
            return frequency;
        }
        // What is left is shared by the others; none of them is more common than those that are
        // known to be.
        let rest = (1.0 - common.total() - found.null_fraction).clamp(0.0, 1.0);
        let others = self.distinct_values(variable).0 - found.most_common.len() as f64;
        let share = if others > 1.0 { rest / others } else { rest };
        match found.most_common.last() {
            Some((_, least)) => share.min(*least),
            None => share,
        }
    }

    /// Fraction of rows where it equals a value that is not known: any of its own
    /// (var_eq_non_const).
    pub(super) fn equals_unknown(&self, variable: &Variable<'_>) -> f64 {
        if let Some(of_one) = self.one_row(variable) {
            return of_one;
        }
        let distinct = self.distinct_values(variable).0.max(1.0);
        let Some(found) = variable.statistics else { return 1.0 / distinct };
        let share = (1.0 - found.null_fraction) / distinct;
        match found.most_common.first() {
            Some((_, most)) => share.min(*most),
            None => share,
        }
    }

    /// The fraction that one row is, if no value is in two.
    fn one_row(&self, variable: &Variable<'_>) -> Option<f64> {
        let rte = variable.rte.filter(|_| self.is_unique(variable))?;
        let rows = self.tuples(rte);
        (rows >= 1.0).then(|| 1.0 / rows)
    }
}
