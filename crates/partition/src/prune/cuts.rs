//! The place of a value among the values of a key column.
//!
//! A comparison may be with a value of another type than the column's: `int4_key < 3000000000`,
//! `date_key <= now()`. The value is not converted, because that could fail or round. It is
//! *placed*: which values of the column are below it, and which equal it. These pairs of types are
//! supported:
//!
//! ```text
//! column                      value
//! any type                    the same type (one representation)
//! int2, int4, int8            int2, int4, int8, numeric
//! int2, int4                  float4, float8
//! float4, float8              float4, float8
//! numeric                     numeric, int2, int4, int8
//! date, timestamp[tz]         date, timestamp, timestamptz
//! ```
//!
//! A comparison of any other pair prunes nothing.

use crate::key::{MAXVALUE, SPACE_BEGIN, SPACE_END, encode_value};
use crate::prune::Comparison;
use crate::prune::ranges::{KeyRange, KeyRanges};
use steppe_types::datetime::arith::{
    date_to_timestamp, date_to_timestamptz, timestamp_to_date, timestamp_to_timestamptz,
    timestamptz_to_date, timestamptz_to_timestamp,
};
use steppe_types::datetime::{TimeZone, is_infinite_timestamp};
use steppe_types::io::IoContext;
use steppe_types::numeric::Numeric;
use steppe_types::oid::Oid;
use steppe_types::physical::Physical;
use steppe_types::{Datum, Result};

const USECS_PER_DAY: i64 = 86_400_000_000;

/// A value's place in a column's key space.
#[derive(Debug)]
pub(crate) enum Place {
    /// Column values before `lower` are less than the value, those from `upper` on
    /// are greater, and those between equal it.
    Exact { lower: Vec<u8>, upper: Vec<u8> },
    /// Column values before `lower` are less than the value, those from `upper` on
    /// are greater; the order of those between is not that of the key space.
    Vague { lower: Vec<u8>, upper: Vec<u8> },
}

impl Place {
    fn above_all() -> Place {
        Place::between(SPACE_END.to_vec())
    }

    fn below_all() -> Place {
        Place::between(SPACE_BEGIN.to_vec())
    }

    /// Between two column values, equal to none.
    fn between(cut: Vec<u8>) -> Place {
        Place::Exact { lower: cut.clone(), upper: cut }
    }

    /// Exactly where some value of the column is.
    fn at(encoded: Vec<u8>) -> Place {
        let KeyRange { start: lower, end: upper } = KeyRange::prefix(encoded);
        Place::Exact { lower, upper }
    }

    /// Just after some value of the column, but before the next.
    fn after(mut encoded: Vec<u8>) -> Place {
        encoded.push(MAXVALUE);
        Place::between(encoded)
    }

    /// The column values for which `column operator value` holds, or more if the
    /// place is vague.
    pub(crate) fn select(self, operator: Comparison) -> KeyRanges {
        let (lower, upper, vague) = match self {
            Place::Exact { lower, upper } => (lower, upper, false),
            Place::Vague { lower, upper } => (lower, upper, true),
        };
        let below = |end: Vec<u8>| KeyRanges::between(SPACE_BEGIN.to_vec(), end);
        let above = |start: Vec<u8>| KeyRanges::between(start, SPACE_END.to_vec());
        match operator {
            Comparison::Less => below(if vague { upper } else { lower }),
            Comparison::LessEqual => below(upper),
            Comparison::Equal => KeyRanges::between(lower, upper),
            Comparison::GreaterEqual => above(lower),
            Comparison::Greater => above(if vague { lower } else { upper }),
            Comparison::NotEqual if vague => KeyRanges::all(),
            Comparison::NotEqual => below(lower).union(above(upper)),
        }
    }
}

/// The place of a non-null value among the values of a column; `None` if the pair of types is not
/// supported.
pub(crate) fn place(column: Oid, value: &Datum, context: &IoContext) -> Result<Option<Place>> {
    let physical = Physical::of(column);
    let zone = &context.datetime.time_zone;
    let place = match (physical, value) {
        (Physical::Int2 | Physical::Int4 | Physical::Int8, _) => {
            return integer_place(column, physical, value);
        }
        (Physical::Float4 | Physical::Float8, Datum::Float4(_) | Datum::Float8(_)) => {
            Place::at(encoded(column, value)?)
        }
        (Physical::Numeric, Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_)) => {
            let number = Numeric::from_i128_scaled(i128::from(integer(value).unwrap_or(0)), 0);
            Place::at(encoded(column, &Datum::Numeric(number))?)
        }
        (Physical::Date, Datum::Timestamp(value)) => date_place(column, *value)?,
        (Physical::Date, Datum::TimestampTz(value)) => {
            return date_place_in_zone(column, *value, zone);
        }
        (Physical::Timestamp, Datum::Date(date)) => {
            moment_place(column, *date < 0, date_to_timestamp(*date), Datum::Timestamp)?
        }
        (Physical::TimestampTz, Datum::Date(date)) => {
            moment_place(column, *date < 0, date_to_timestamptz(*date, zone), Datum::TimestampTz)?
        }
        (Physical::TimestampTz, Datum::Timestamp(value)) => {
            let instant = timestamp_to_timestamptz(*value, zone);
            moment_place(column, *value < 0, instant, Datum::TimestampTz)?
        }
        (Physical::Timestamp, Datum::TimestampTz(value)) => {
            return local_place(column, *value, zone);
        }
        _ if Physical::of_datum(value) == Some(physical) => Place::at(encoded(column, value)?),
        _ => return Ok(None),
    };
    Ok(Some(place))
}

fn encoded(column: Oid, value: &Datum) -> Result<Vec<u8>> {
    // One more than the greatest fixed-width value with its marker.
    let mut bytes = Vec::with_capacity(18);
    encode_value(column, value, &mut bytes)?;
    Ok(bytes)
}

pub(crate) fn integer(value: &Datum) -> Option<i64> {
    match value {
        Datum::Int2(v) => Some(i64::from(*v)),
        Datum::Int4(v) => Some(i64::from(*v)),
        Datum::Int8(v) => Some(*v),
        _ => None,
    }
}

/// Among integers: the greatest one not above the value decides.
fn integer_place(column: Oid, physical: Physical, value: &Datum) -> Result<Option<Place>> {
    let (floor, is_whole) = match value {
        Datum::Numeric(value) => match numeric_floor(value) {
            Some(found) => found,
            None if value.is_nan() || value.signum() > 0 => return Ok(Some(Place::above_all())),
            None => return Ok(Some(Place::below_all())),
        },
        Datum::Float4(_) | Datum::Float8(_) if physical != Physical::Int8 => {
            let value = match value {
                Datum::Float4(value) => f64::from(*value),
                Datum::Float8(value) => *value,
                _ => return Ok(None),
            };
            if value.is_nan() {
                return Ok(Some(Place::above_all()));
            }
            // Saturates far outside of the column's range.
            (value.floor() as i128, value.floor() == value)
        }
        _ => match integer(value) {
            Some(value) => (i128::from(value), true),
            None => return Ok(None),
        },
    };
    let datum = match physical {
        Physical::Int2 => i16::try_from(floor).ok().map(Datum::Int2),
        Physical::Int4 => i32::try_from(floor).ok().map(Datum::Int4),
        _ => i64::try_from(floor).ok().map(Datum::Int8),
    };
    Ok(Some(match datum {
        Some(datum) if is_whole => Place::at(encoded(column, &datum)?),
        Some(datum) => Place::after(encoded(column, &datum)?),
        None if floor > 0 => Place::above_all(),
        None => Place::below_all(),
    }))
}

/// The greatest integer not above a number, and whether it is the number itself;
/// `None` if there is none, or none of 128 bits.
pub(crate) fn numeric_floor(value: &Numeric) -> Option<(i128, bool)> {
    if !value.is_finite() {
        return None;
    }
    let floor = value.floor().ok()?;
    Some((floor.to_i128()?, floor == *value))
}

/// A timestamp among dates.
fn date_place(column: Oid, value: i64) -> Result<Place> {
    let day = encoded(column, &Datum::Date(timestamp_to_date(value)))?;
    let is_day = is_infinite_timestamp(value) || value.rem_euclid(USECS_PER_DAY) == 0;
    Ok(if is_day { Place::at(day) } else { Place::after(day) })
}

/// An instant among dates, each of which is its midnight in the zone. Midnights
/// ascend with the dates, but two can be the same instant (a zone that skips a day).
fn date_place_in_zone(column: Oid, value: i64, zone: &TimeZone) -> Result<Option<Place>> {
    if is_infinite_timestamp(value) {
        return Ok(Some(Place::at(encoded(column, &Datum::Date(timestamp_to_date(value)))?)));
    }
    let Ok(day) = timestamptz_to_date(value, zone) else { return Ok(None) };
    let mut midnights = Vec::new();
    for date in day.saturating_sub(2)..=day.saturating_add(2) {
        match date_to_timestamptz(date, zone) {
            Ok(midnight) => midnights.push((date, midnight)),
            Err(_) => return Ok(None),
        }
    }
    let first = |reaches: &dyn Fn(i64) -> bool| {
        let found = midnights.iter().find(|(_, midnight)| reaches(*midnight));
        found.map(|(date, _)| encoded(column, &Datum::Date(*date))).transpose()
    };
    let (lower, upper) =
        (first(&|midnight| midnight >= value)?, first(&|midnight| midnight > value)?);
    Ok(lower.zip(upper).map(|(lower, upper)| Place::Exact { lower, upper }))
}

/// A value that names one moment, or that is finite but beyond the column's range.
fn moment_place(
    column: Oid,
    is_negative: bool,
    moment: Result<i64>,
    datum: fn(i64) -> Datum,
) -> Result<Place> {
    Ok(match moment {
        Ok(moment) => Place::at(encoded(column, &datum(moment))?),
        Err(_) if is_negative => Place::after(encoded(column, &datum(i64::MIN))?),
        Err(_) => Place::between(encoded(column, &datum(i64::MAX))?),
    })
}

/// An instant among local timestamps. When clocks change, local time is not in the
/// order of the instants it names; a day on both sides covers any change.
fn local_place(column: Oid, value: i64, zone: &TimeZone) -> Result<Option<Place>> {
    if is_infinite_timestamp(value) {
        return Ok(Some(Place::at(encoded(column, &Datum::Timestamp(value))?)));
    }
    let Ok(local) = timestamptz_to_timestamp(value, zone) else { return Ok(None) };
    // The infinities are never within a day of a valid timestamp.
    let lower = encoded(column, &Datum::Timestamp(local - USECS_PER_DAY))?;
    let upper = encoded(column, &Datum::Timestamp(local + USECS_PER_DAY))?;
    Ok(Some(Place::Vague { lower, upper }))
}
