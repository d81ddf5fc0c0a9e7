//! `=` and `<>` with a value (eqsel, neqsel: selfuncs.c).

use super::variable::{CommonValues, Variable};
use super::{Comparison, DEFAULT_EQUAL, Estimator, Operand};
use steppe_types::Datum;

/// The frequencies of a column's values.
pub(super) struct Frequencies<'a> {
    /// `None`: each is as often there as any.
    common: Option<CommonValues<'a>>,
    /// The frequency of any other value.
    others: f64,
}

impl Frequencies<'_> {
    /// The fraction of rows that have a value.
    pub(super) fn of(&self, value: &Datum) -> f64 {
        let found = self.common.as_ref().and_then(|common| common.look_up(value));
        match found {
            Some((frequency, _)) if frequency > 0.0 => frequency,
            _ => self.others,
        }
    }
}

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
        self.frequencies(variable).of(value)
    }

    /// The frequencies of a column's values, for looking several up.
    pub(super) fn frequencies<'v>(&self, variable: &Variable<'v>) -> Frequencies<'v> {
        let common = CommonValues::of(variable);
        let others = if let Some(of_one) = self.one_row(variable) {
            return Frequencies { common: None, others: of_one };
        } else if let Some(found) = variable.statistics {
            // The other values share the rest; none of them is more common than a known common one.
            let rest = (1.0 - common.total() - found.null_fraction).clamp(0.0, 1.0);
            let others = self.distinct_values(variable).0 - found.most_common.len() as f64;
            let share = if others > 1.0 { rest / others } else { rest };
            found.most_common.last().map_or(share, |(_, least)| share.min(*least))
        } else {
            1.0 / self.distinct_values(variable).0
        };
        Frequencies { common: Some(common), others }
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
