//! Aggregate functions: which one a call means, its running state, its result.
//!
//! | file | aggregates |
//! |---|---|
//! | `mod` | count, sum, avg, min, max, bool_*, bit_*, any_value |
//! | `statistics` | variance and stddev over floats, corr, covar_*, regr_* |
//! | `collect` | string_agg, array_agg |
//! | `partial` | states as values, of all of the above |
//! | `columns` | states of all groups, and kernels over columns, of the most frequent |
//! | `user` | those that users define |
//! | `ordered` | mode, percentile_cont, percentile_disc, rank and its kin WITHIN GROUP |
//!
//! DISTINCT, ORDER BY and FILTER are the Agg node's business: a state sees just
//! the rows that count, in the order in which they count.

mod collect;
#[cfg(test)]
mod column_tests;
mod columns;
mod ordered;
mod partial;
mod statistics;
mod user;

use crate::expr::signature;
use collect::Collected;
use statistics::{Moments, Pairs, PairsResult};
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_sql::expr::Aggregate;
use steppe_types::compare::compare_as;
use steppe_types::interval::IntervalSum;
use steppe_types::numeric::{Numeric, NumericSum, NumericVariance};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

pub(crate) use columns::{CallStates, RowError};
pub(crate) use ordered::{OrderedSet, SortedRows};

/// The computation of an aggregate call.
#[derive(Clone, Debug)]
pub(crate) enum AggKind {
    CountStar,
    Count,
    /// sum(smallint), sum(integer): bigint.
    SumInt,
    /// sum(bigint): numeric.
    SumBig,
    SumNumeric,
    SumFloat4,
    SumFloat8,
    SumInterval,
    AvgInt,
    AvgNumeric,
    AvgInterval,
    Extreme {
        max: bool,
        type_oid: Oid,
    },
    BoolAnd,
    BoolOr,
    BitAnd,
    BitOr,
    BitXor,
    AnyValue,
    /// Variance of integers and numerics.
    NumericVariance {
        sample: bool,
        root: bool,
    },
    /// avg, variance and stddev of floats.
    FloatMoments(statistics::MomentsResult),
    Pairs(PairsResult),
    StringAgg,
    ByteaAgg,
    ArrayAgg {
        element: Oid,
        of_arrays: bool,
    },
    /// Ordered-set aggregates get their rows from the Agg node's sort.
    Ordered(OrderedSet),
    /// A user's.
    User(Arc<user::UserAggregate>),
}

/// The running state of one aggregate in one group.
#[derive(Clone, Debug)]
pub(crate) enum AggState {
    Count(i64),
    Int(Option<i64>),
    Float(Option<f64>),
    Numeric(Box<NumericSum>),
    Interval(Box<IntervalSum>),
    Value(Option<Datum>),
    Bool(Option<bool>),
    Variance(Box<NumericVariance>),
    Moments(Moments),
    Pairs(Box<Pairs>),
    Collected(Box<Collected>),
}

impl AggKind {
    /// The kind of a call of a built-in aggregate; 0A000 if it is not implemented.
    fn of(aggregate: &Aggregate) -> Result<AggKind> {
        let first = aggregate.args.first().map_or(0, |a| a.ty().oid);
        let unsupported =
            || Error::not_supported(format_args!("aggregate {}", signature(&aggregate.func)));
        let is_float = matches!(first, oid::FLOAT4 | oid::FLOAT8);
        let variance = |sample: bool, root: bool| match first {
            oid::FLOAT4 | oid::FLOAT8 => {
                AggKind::FloatMoments(statistics::MomentsResult::spread(sample, root))
            }
            _ => AggKind::NumericVariance { sample, root },
        };
        let Some(name) = aggregate.func.built_in_name() else { return Err(unsupported()) };
        Ok(match name {
            "count" if aggregate.args.is_empty() => AggKind::CountStar,
            "count" => AggKind::Count,
            "sum" => match first {
                oid::INT2 | oid::INT4 => AggKind::SumInt,
                oid::INT8 => AggKind::SumBig,
                oid::NUMERIC => AggKind::SumNumeric,
                oid::FLOAT4 => AggKind::SumFloat4,
                oid::FLOAT8 => AggKind::SumFloat8,
                oid::INTERVAL => AggKind::SumInterval,
                _ => return Err(unsupported()),
            },
            "avg" => match first {
                oid::INT2 | oid::INT4 | oid::INT8 => AggKind::AvgInt,
                oid::NUMERIC => AggKind::AvgNumeric,
                oid::INTERVAL => AggKind::AvgInterval,
                _ if is_float => AggKind::FloatMoments(statistics::MomentsResult::Mean),
                _ => return Err(unsupported()),
            },
            "min" => AggKind::Extreme { max: false, type_oid: first },
            "max" => AggKind::Extreme { max: true, type_oid: first },
            "bool_and" | "every" => AggKind::BoolAnd,
            "bool_or" => AggKind::BoolOr,
            "bit_and" => AggKind::BitAnd,
            "bit_or" => AggKind::BitOr,
            "bit_xor" => AggKind::BitXor,
            "any_value" => AggKind::AnyValue,
            "stddev" | "stddev_samp" => variance(true, true),
            "stddev_pop" => variance(false, true),
            "variance" | "var_samp" => variance(true, false),
            "var_pop" => variance(false, false),
            "string_agg" if first == oid::BYTEA => AggKind::ByteaAgg,
            "string_agg" => AggKind::StringAgg,
            "array_agg" => match oid::container_element_type(first) {
                Some(element) => AggKind::ArrayAgg { element, of_arrays: true },
                None => AggKind::ArrayAgg { element: first, of_arrays: false },
            },
            name => match PairsResult::named(name) {
                Some(result) => AggKind::Pairs(result),
                None => match OrderedSet::named(name) {
                    Some(ordered) => AggKind::Ordered(ordered),
                    None => return Err(unsupported()),
                },
            },
        })
    }

    /// Whether a row with a NULL argument is skipped (all but these few are strict).
    pub(crate) fn skips_nulls(&self) -> bool {
        match self {
            AggKind::CountStar
            | AggKind::ArrayAgg { .. }
            | AggKind::StringAgg
            | AggKind::ByteaAgg => false,
            AggKind::Ordered(set) => !set.is_hypothetical(),
            AggKind::User(_) => self.is_strict_user(),
            _ => true,
        }
    }

    /// Whether its state keeps the rows' values.
    pub(crate) fn collects(&self) -> bool {
        matches!(
            self,
            AggKind::StringAgg | AggKind::ByteaAgg | AggKind::ArrayAgg { .. } | AggKind::User(_)
        )
    }

    /// The state before any row.
    pub(crate) fn start(&self) -> AggState {
        match self {
            AggKind::CountStar | AggKind::Count => AggState::Count(0),
            AggKind::SumInt | AggKind::BitAnd | AggKind::BitOr | AggKind::BitXor => {
                AggState::Int(None)
            }
            AggKind::SumBig | AggKind::SumNumeric | AggKind::AvgInt | AggKind::AvgNumeric => {
                AggState::Numeric(Box::default())
            }
            AggKind::SumFloat4 | AggKind::SumFloat8 => AggState::Float(None),
            AggKind::SumInterval | AggKind::AvgInterval => AggState::Interval(Box::default()),
            AggKind::Extreme { .. } | AggKind::AnyValue | AggKind::User(_) => AggState::Value(None),
            AggKind::BoolAnd | AggKind::BoolOr => AggState::Bool(None),
            AggKind::NumericVariance { .. } => AggState::Variance(Box::default()),
            AggKind::FloatMoments(_) => AggState::Moments(Moments::default()),
            AggKind::Pairs(_) => AggState::Pairs(Box::default()),
            AggKind::StringAgg
            | AggKind::ByteaAgg
            | AggKind::ArrayAgg { .. }
            | AggKind::Ordered(_) => AggState::Collected(Box::default()),
        }
    }

    /// Adds one row's arguments.
    #[inline]
    pub(crate) fn add(&self, state: &mut AggState, args: &[Datum]) -> Result<()> {
        if self.skips_nulls() && args.iter().any(Datum::is_null) {
            return Ok(());
        }
        match state {
            AggState::Count(count) => *count += 1,
            AggState::Int(sum) => self.add_integer(sum, first(args)?)?,
            AggState::Float(sum) => *sum = Some(self.add_float(*sum, first(args)?)?),
            AggState::Numeric(sum) => match first(args)? {
                Datum::Numeric(v) => sum.add(v),
                other => sum.add_i64(integer(other)?),
            },
            AggState::Interval(sum) => sum.add(first(args)?.as_interval()?)?,
            AggState::Value(_) if self.is_user() => {
                return Err(Error::internal("a user's aggregate without a context"));
            }
            AggState::Value(best) => self.add_value(best, first(args)?),
            AggState::Bool(all) => {
                let value = first(args)?.as_bool()?;
                *all = Some(match (*all, self) {
                    (None, _) => value,
                    (Some(so_far), AggKind::BoolAnd) => so_far && value,
                    (Some(so_far), _) => so_far || value,
                });
            }
            AggState::Variance(variance) => match first(args)? {
                Datum::Numeric(v) => variance.add(v)?,
                other => variance.add(&Numeric::from(integer(other)?))?,
            },
            AggState::Moments(moments) => moments.add(float(first(args)?)?)?,
            AggState::Pairs(pairs) => {
                let [y, x] = args else {
                    return Err(Error::internal("aggregate of pairs without a pair"));
                };
                match self {
                    // Pairs that are only counted are not summed, since their sums could overflow.
                    AggKind::Pairs(PairsResult::Count) => pairs.count_pair(),
                    _ => pairs.add(float(y)?, float(x)?)?,
                }
            }
            AggState::Collected(collected) => collected.add(self, args)?,
        }
        Ok(())
    }

    /// Removes one row's arguments (the inverse transition of a moving frame). False: this
    /// aggregate cannot do that, and its state is of no further use.
    pub(crate) fn remove(&self, state: &mut AggState, args: &[Datum]) -> Result<bool> {
        match (self, state) {
            (AggKind::CountStar | AggKind::Count, AggState::Count(count)) => *count -= 1,
            (AggKind::SumInt, AggState::Int(Some(sum))) => *sum -= integer(first(args)?)?,
            (AggKind::SumBig | AggKind::AvgInt, AggState::Numeric(sum)) => {
                return Ok(sum.remove_i64(integer(first(args)?)?));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn add_integer(&self, sum: &mut Option<i64>, value: &Datum) -> Result<()> {
        let value = integer(value)?;
        *sum = Some(match (*sum, self) {
            (None, _) => value,
            (Some(so_far), AggKind::BitAnd) => so_far & value,
            (Some(so_far), AggKind::BitOr) => so_far | value,
            (Some(so_far), AggKind::BitXor) => so_far ^ value,
            (Some(so_far), _) => so_far.checked_add(value).ok_or_else(bigint_out_of_range)?,
        });
        Ok(())
    }

    fn add_float(&self, sum: Option<f64>, value: &Datum) -> Result<f64> {
        let value = float(value)?;
        let Some(sum) = sum else { return Ok(value) };
        match self {
            AggKind::SumFloat4 => {
                let result = f64::from(sum as f32 + value as f32);
                statistics::check_sum(sum, value, result)
            }
            _ => statistics::checked_sum(sum, value),
        }
    }

    fn add_value(&self, best: &mut Option<Datum>, value: &Datum) {
        let replace = match (best.as_ref(), self) {
            (None, _) => true,
            (Some(so_far), AggKind::Extreme { max, type_oid }) => {
                // Equal values may have different forms (1.0 and 1.00). The last one counts, but
                // for char(n) the first, as in PostgreSQL.
                match compare_as(*type_oid, value, so_far) {
                    Ordering::Equal => *type_oid != oid::BPCHAR,
                    order => (order == Ordering::Greater) == *max,
                }
            }
            _ => false,
        };
        if replace {
            *best = Some(value.clone());
        }
    }

    /// The result over the rows taken in.
    pub(crate) fn finish(&self, state: AggState, ret: Oid) -> Result<Datum> {
        if self.is_user() {
            return Err(Error::internal("a user's aggregate without a context"));
        }
        Ok(match state {
            AggState::Count(count) => Datum::Int8(count),
            AggState::Int(None) | AggState::Float(None) => Datum::Null,
            AggState::Int(Some(v)) => match ret {
                oid::INT2 => Datum::Int2(v as i16),
                oid::INT4 => Datum::Int4(v as i32),
                _ => Datum::Int8(v),
            },
            AggState::Float(Some(v)) => match self {
                AggKind::SumFloat4 => Datum::Float4(v as f32),
                _ => Datum::Float8(v),
            },
            AggState::Numeric(sum) => {
                let result = match self {
                    AggKind::AvgInt | AggKind::AvgNumeric => sum.avg()?,
                    _ => sum.sum()?,
                };
                result.map_or(Datum::Null, Datum::Numeric)
            }
            AggState::Interval(sum) => {
                let result = match self {
                    AggKind::AvgInterval => sum.avg()?,
                    _ => sum.sum()?,
                };
                result.map_or(Datum::Null, |span| Datum::Interval(Arc::new(span)))
            }
            AggState::Value(value) => value.unwrap_or(Datum::Null),
            AggState::Bool(value) => value.map_or(Datum::Null, Datum::Bool),
            AggState::Variance(variance) => match self {
                AggKind::NumericVariance { sample, root: true } => variance.stddev(*sample)?,
                AggKind::NumericVariance { sample, .. } => variance.variance(*sample)?,
                _ => return Err(Error::internal("variance state of another aggregate")),
            }
            .map_or(Datum::Null, Datum::Numeric),
            AggState::Moments(moments) => match self {
                AggKind::FloatMoments(result) => float8(moments.result(*result)),
                _ => return Err(Error::internal("moments state of another aggregate")),
            },
            AggState::Pairs(pairs) => match self {
                AggKind::Pairs(PairsResult::Count) => Datum::Int8(pairs.count()),
                AggKind::Pairs(result) => float8(pairs.result(*result)),
                _ => return Err(Error::internal("pairs state of another aggregate")),
            },
            AggState::Collected(collected) => collected.finish(self)?,
        })
    }
}

impl AggState {
    /// Bytes of memory beyond the state itself, roughly.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            AggState::Numeric(_) | AggState::Variance(_) => 160,
            AggState::Interval(_) => 48,
            AggState::Pairs(_) => 64,
            AggState::Value(Some(value)) => steppe_spill::datum_bytes(value),
            AggState::Collected(collected) => collected.bytes(),
            _ => 0,
        }
    }
}

fn float8(value: Option<f64>) -> Datum {
    value.map_or(Datum::Null, Datum::Float8)
}

fn first(args: &[Datum]) -> Result<&Datum> {
    args.first().ok_or_else(|| Error::internal("aggregate called without an argument"))
}

#[cold]
fn bigint_out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")
}

#[inline]
fn integer(value: &Datum) -> Result<i64> {
    match value {
        Datum::Int2(v) => Ok(i64::from(*v)),
        Datum::Int4(v) => Ok(i64::from(*v)),
        other => other.as_int8(),
    }
}

fn float(value: &Datum) -> Result<f64> {
    match value {
        Datum::Float4(v) => Ok(f64::from(*v)),
        other => other.as_float8(),
    }
}
