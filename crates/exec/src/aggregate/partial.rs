//! States as values, and results made of several states of one group.
//!
//! The state of most aggregates is what they would answer, and states are put together as values
//! are taken in. The others' are arrays:
//!
//! | aggregates | state |
//! |---|---|
//! | sum of bigint and numeric, avg of integers and numeric | sum, number of values |
//! | variance and stddev of integers and numeric | sum, sum of squares, number of values |
//! | avg, variance and stddev of floats | number of values, sum, sum of squared deviations |

use super::{AggKind, AggState, float};
use std::sync::Arc;
use steppe_types::datum::Array;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Oid, Result, oid};

impl AggKind {
    /// The state as a value; NULL if no value has been taken in.
    pub(crate) fn partial(&self, state: AggState, ret: Oid) -> Result<Datum> {
        Ok(match state {
            AggState::Numeric(sum) => match sum.sum()? {
                None => Datum::Null,
                Some(total) => numerics([total, Numeric::from(sum.count())]),
            },
            AggState::Variance(variance) => match variance.parts()? {
                None => Datum::Null,
                Some((count, sum, squares)) => numerics([sum, squares, Numeric::from(count)]),
            },
            AggState::Moments(moments) => {
                array(oid::FLOAT8, moments.parts().map(Datum::Float8).to_vec())
            }
            AggState::Interval(_) | AggState::Pairs(_) | AggState::Collected(_) => {
                return Err(Error::internal("an aggregate has no partial state"));
            }
            simple => self.finish(simple, ret)?,
        })
    }

    /// Takes in a state that [`Self::partial`] has made.
    pub(crate) fn combine(&self, state: &mut AggState, part: &Datum) -> Result<()> {
        if part.is_null() {
            return Ok(());
        }
        match state {
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
            simple => self.add(simple, std::slice::from_ref(part))?,
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

fn elements<const N: usize>(part: &Datum) -> Result<&[Datum; N]> {
    let found = match part {
        Datum::Array(array) => array.elements.as_slice().try_into().ok(),
        _ => None,
    };
    found.ok_or_else(|| Error::internal("a partial state is of another aggregate"))
}

fn whole(count: &Datum) -> Result<i64> {
    count.as_numeric()?.to_i64()
}
