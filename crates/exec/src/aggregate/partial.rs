//! States as values, and results made of several states of one group.
//!
//! The state of most aggregates is the result that they would return, and states are combined as
//! values are added. The others' states are arrays:
//!
//! | aggregates | state |
//! |---|---|
//! | avg of integers and numeric | sum, number of values |
//! | variance and stddev of integers and numeric | sum, sum of squares, number of values |
//! | avg, variance and stddev of floats | number of values, sum, sum of squared deviations |
//! | corr, covar_* and regr_* but regr_count | the same of both variables, and sum of products |
//! | sum and avg of intervals | number of values, infinities and negative ones; the sum's months, days, microseconds |
//! | string_agg | first delimiter, what comes after it |
//! | array_agg | the values, or the arrays as one |

use super::{AggKind, AggState, PairsResult, float};
use std::sync::Arc;
use steppe_types::datum::Array;
use steppe_types::interval::Interval;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Oid, Result, oid};

impl AggKind {
    /// Whether a state as a value is taken in as the aggregate's arguments are.
    pub(super) fn adds_states(&self) -> bool {
        match self {
            AggKind::SumInt
            | AggKind::SumBig
            | AggKind::SumNumeric
            | AggKind::SumFloat4
            | AggKind::SumFloat8
            | AggKind::Extreme { .. }
            | AggKind::BoolAnd
            | AggKind::BoolOr
            | AggKind::BitAnd
            | AggKind::BitOr
            | AggKind::BitXor
            | AggKind::AnyValue => true,
            AggKind::CountStar
            | AggKind::Count
            | AggKind::SumInterval
            | AggKind::AvgInt
            | AggKind::AvgNumeric
            | AggKind::AvgInterval
            | AggKind::NumericVariance { .. }
            | AggKind::FloatMoments(_)
            | AggKind::Pairs(_)
            | AggKind::StringAgg
            | AggKind::ByteaAgg
            | AggKind::ArrayAgg { .. }
            | AggKind::Ordered(_)
            | AggKind::User(_) => false,
        }
    }

    /// The state as a value; NULL if no value has been taken in.
    pub(crate) fn partial(&self, state: AggState, ret: Oid) -> Result<Datum> {
        Ok(match state {
            AggState::Numeric(sum) => match (self, sum.sum()?) {
                (_, None) => Datum::Null,
                (AggKind::AvgInt | AggKind::AvgNumeric, Some(total)) => {
                    numerics([total, Numeric::from(sum.count())])
                }
                (_, Some(total)) => Datum::Numeric(total),
            },
            AggState::Variance(variance) => match variance.parts()? {
                None => Datum::Null,
                Some((count, sum, squares)) => numerics([sum, squares, Numeric::from(count)]),
            },
            AggState::Moments(moments) => {
                array(oid::FLOAT8, moments.parts().map(Datum::Float8).to_vec())
            }
            AggState::Interval(sum) => {
                let (total, counts) = sum.parts();
                let total = [i64::from(total.months), i64::from(total.days), total.micros];
                let parts = counts.into_iter().chain(total).map(Datum::Int8);
                array(oid::INT8, parts.collect())
            }
            AggState::Pairs(pairs) => match self {
                AggKind::Pairs(PairsResult::Count) => Datum::Int8(pairs.count()),
                _ => array(oid::FLOAT8, pairs.parts().map(Datum::Float8).to_vec()),
            },
            AggState::Collected(collected) => match self {
                AggKind::Ordered(_) => {
                    return Err(Error::internal("an aggregate has no partial state"));
                }
                AggKind::ArrayAgg { .. } => collected.finish(self)?,
                _ => collected.text_parts().map_or(Datum::Null, |parts| {
                    array(oid::BYTEA, parts.map(|part| Datum::Bytea(part.into())).to_vec())
                }),
            },
            AggState::Value(_) if self.is_user() => {
                return Err(Error::internal("a user's aggregate has no partial state"));
            }
            simple => self.finish(simple, ret)?,
        })
    }

    /// Adds a state that [`Self::partial`] has made.
    pub(crate) fn combine(&self, state: &mut AggState, part: &Datum) -> Result<()> {
        if part.is_null() {
            return Ok(());
        }
        match state {
            state if self.adds_states() => self.add(state, std::slice::from_ref(part))?,
            AggState::Count(count) => *count += part.as_int8()?,
            AggState::Numeric(sum) => {
                let [total, count] = elements(part)?;
                sum.add_sum(whole(count)?, total.as_numeric()?);
            }
            AggState::Variance(variance) => {
                let [sum, squares, count] = elements(part)?;
                variance.add_parts(whole(count)?, sum.as_numeric()?, squares.as_numeric()?);
            }
            AggState::Moments(moments) => {
                let [n, sx, sxx] = elements(part)?;
                moments.combine([float(n)?, float(sx)?, float(sxx)?])?;
            }
            AggState::Interval(sum) => {
                let parts: &[Datum; 6] = elements(part)?;
                let [count, above, below, months, days, micros] =
                    [0, 1, 2, 3, 4, 5].map(|at: usize| parts[at].as_int8());
                let out_of_range = |_| Error::internal("a partial state has no interval");
                let total = Interval {
                    months: i32::try_from(months?).map_err(out_of_range)?,
                    days: i32::try_from(days?).map_err(out_of_range)?,
                    micros: micros?,
                };
                sum.add_parts(&total, [count?, above?, below?])?;
            }
            AggState::Pairs(pairs) => match self {
                AggKind::Pairs(PairsResult::Count) => pairs.count_pairs(part.as_int8()?),
                _ => {
                    let parts: &[Datum; 6] = elements(part)?;
                    let mut sums = [0.0; 6];
                    for (sum, part) in sums.iter_mut().zip(parts) {
                        *sum = float(part)?;
                    }
                    pairs.combine(sums)?;
                }
            },
            AggState::Collected(collected) => collected.combine(self, part)?,
            _ => return Err(Error::internal("a partial state is of another aggregate")),
        }
        Ok(())
    }
}

fn numerics<const N: usize>(values: [Numeric; N]) -> Datum {
    array(oid::NUMERIC, values.map(Datum::Numeric).to_vec())
}

fn array(element_type: Oid, elements: Vec<Datum>) -> Datum {
    let dimensions = vec![(elements.len() as i32, 1)];
    Datum::Array(Arc::new(Array { element_type, dimensions, elements }))
}

pub(super) fn elements<const N: usize>(part: &Datum) -> Result<&[Datum; N]> {
    let found = match part {
        Datum::Array(array) => array.elements.as_slice().try_into().ok(),
        _ => None,
    };
    found.ok_or_else(|| Error::internal("a partial state is of another aggregate"))
}

fn whole(count: &Datum) -> Result<i64> {
    count.as_numeric()?.to_i64()
}
