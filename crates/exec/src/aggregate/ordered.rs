//! Ordered-set aggregates: mode, percentile_disc, percentile_cont
//! (src/backend/utils/adt/orderedsetaggs.c).
//!
//! The Agg node sorts by WITHIN GROUP and hands the sorted values in; the direct
//! argument (the fraction) is evaluated once and set before the result is asked for.

use crate::expr::array::one_dimensional;
use steppe_types::compare::equal;
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// Which ordered-set aggregate, with its direct argument.
#[derive(Clone, Debug)]
pub(crate) struct OrderedSet {
    function: Function,
    fraction: Datum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Mode,
    PercentileDisc,
    PercentileCont,
}

impl OrderedSet {
    pub(super) fn named(name: &str) -> Option<OrderedSet> {
        let function = match name {
            "mode" => Function::Mode,
            "percentile_disc" => Function::PercentileDisc,
            "percentile_cont" => Function::PercentileCont,
            _ => return None,
        };
        Some(OrderedSet { function, fraction: Datum::Null })
    }

    /// The same with its direct argument.
    pub(crate) fn with_fraction(&self, fraction: Datum) -> OrderedSet {
        OrderedSet { function: self.function, fraction }
    }

    /// The result over the sorted values, NULLs left out already.
    pub(super) fn finish(&self, values: Vec<Datum>) -> Result<Datum> {
        if self.function == Function::Mode {
            return Ok(mode(&values));
        }
        match &self.fraction {
            Datum::Null => Ok(Datum::Null),
            Datum::Array(fractions) => {
                if values.is_empty() {
                    return Ok(Datum::Null);
                }
                let element = element_type(&values, self.function);
                let results = fractions.elements.iter().map(|f| match f {
                    Datum::Null => Ok(Datum::Null),
                    f => self.percentile(&values, f.as_float8()?),
                });
                Ok(one_dimensional(element, results.collect::<Result<Vec<_>>>()?))
            }
            fraction => self.percentile(&values, fraction.as_float8()?),
        }
    }

    fn percentile(&self, values: &[Datum], fraction: f64) -> Result<Datum> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(Error::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("percentile value {fraction} is not between 0 and 1"),
            ));
        }
        if values.is_empty() {
            return Ok(Datum::Null);
        }
        if self.function == Function::PercentileDisc {
            let row = (fraction * values.len() as f64).ceil() as usize;
            return Ok(values[row.max(1) - 1].clone());
        }
        let position = fraction * (values.len() - 1) as f64;
        let (low, high) = (position.floor() as usize, position.ceil() as usize);
        if low == high {
            return Ok(values[low].clone());
        }
        let (a, b) = (values[low].as_float8()?, values[high].as_float8()?);
        Ok(Datum::Float8(a + (position - low as f64) * (b - a)))
    }
}

fn element_type(values: &[Datum], function: Function) -> u32 {
    match (function, values.first()) {
        (Function::PercentileCont, _) | (_, Some(Datum::Float8(_))) => oid::FLOAT8,
        (_, Some(Datum::Int4(_))) => oid::INT4,
        (_, Some(Datum::Int8(_))) => oid::INT8,
        (_, Some(Datum::Numeric(_))) => oid::NUMERIC,
        _ => oid::TEXT,
    }
}

/// The value that occurs most often; the first of several.
fn mode(values: &[Datum]) -> Datum {
    let mut best: Option<(&Datum, usize)> = None;
    let mut start = 0;
    for end in 1..=values.len() {
        if end == values.len() || !equal(&values[end], &values[start]) {
            if best.is_none_or(|(_, count)| end - start > count) {
                best = Some((&values[start], end - start));
            }
            start = end;
        }
    }
    best.map_or(Datum::Null, |(value, _)| value.clone())
}
