//! Set-returning functions (generate_series, unnest, generate_subscripts), and the sets of known
//! rows that other families return.

use super::{Builtin, CallInfo, Entry, SetRows, arg};
use crate::FnContext;
use std::sync::Arc;
use steppe_types::datetime::TimeZone;
use steppe_types::datetime::arith::{timestamp_plus_interval, timestamptz_plus_interval};
use steppe_types::datum::Array;
use steppe_types::interval::Interval;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Result, SqlState};

/// Set-returning functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("generate_series_int4", Builtin::Set(integers)),
    ("generate_series_step_int4", Builtin::Set(integers)),
    ("generate_series_int8", Builtin::Set(integers)),
    ("generate_series_step_int8", Builtin::Set(integers)),
    ("generate_series_numeric", Builtin::Set(numerics)),
    ("generate_series_step_numeric", Builtin::Set(numerics)),
    ("generate_series_timestamp", Builtin::Set(moments)),
    ("generate_series_timestamptz", Builtin::Set(moments)),
    ("generate_series_timestamptz_at_zone", Builtin::Set(moments)),
    ("array_unnest", Builtin::Set(unnest)),
    ("generate_subscripts", Builtin::Set(subscripts)),
    ("generate_subscripts_nodir", Builtin::Set(subscripts)),
];

#[cold]
fn zero_step() -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

/// `start, start + step, … stop`, ending silently where the type's range ends.
struct Integers {
    next: Option<i64>,
    stop: i64,
    step: i64,
    wide: bool,
}

impl SetRows for Integers {
    fn next(&mut self, out: &mut Vec<Datum>, _: &mut FnContext) -> Result<bool> {
        let Some(value) = self.next else { return Ok(false) };
        if (self.step > 0 && value > self.stop) || (self.step < 0 && value < self.stop) {
            self.next = None;
            return Ok(false);
        }
        self.next = value.checked_add(self.step);
        out.push(if self.wide { Datum::Int8(value) } else { Datum::Int4(value as i32) });
        Ok(true)
    }

    fn fill(&mut self, wanted: usize, out: &mut Vec<Datum>, _: &mut FnContext) -> Result<usize> {
        let Some(first) = self.next else { return Ok(0) };
        let up = self.step > 0;
        let (from, to) = if up { (first, self.stop) } else { (self.stop, first) };
        let steps = (i128::from(to) - i128::from(from)).div_euclid(self.step.unsigned_abs().into());
        // `left` is 0 if the first is past the stop already.
        let left = usize::try_from(steps + 1).unwrap_or(if steps < 0 { 0 } else { usize::MAX });
        let count = left.min(wanted);
        // Values between start and stop do not overflow, even if those are far from each other.
        let value = |i: usize| first.wrapping_add((i as i64).wrapping_mul(self.step));
        match self.wide {
            true => out.extend((0..count).map(|i| Datum::Int8(value(i)))),
            false => out.extend((0..count).map(|i| Datum::Int4(value(i) as i32))),
        }
        self.next = (count < left).then(|| value(count));
        Ok(count)
    }
}

fn integers(args: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let value = |d: &Datum| match d {
        Datum::Int4(v) => Ok(i64::from(*v)),
        other => other.as_int8(),
    };
    let step = args.get(2).map_or(Ok(1), value)?;
    if step == 0 {
        return Err(zero_step());
    }
    let start = arg(args, 0)?;
    Ok(Box::new(Integers {
        next: Some(value(start)?),
        stop: value(arg(args, 1)?)?,
        step,
        wide: matches!(start, Datum::Int8(_)),
    }))
}

struct Numerics {
    /// The next value; None once it would leave the type's range, which is beyond any stop.
    next: Option<Numeric>,
    stop: Numeric,
    step: Numeric,
}

impl SetRows for Numerics {
    fn next(&mut self, out: &mut Vec<Datum>, _: &mut FnContext) -> Result<bool> {
        let up = self.step.signum() > 0;
        let Some(value) = self.next.take() else { return Ok(false) };
        if (up && value > self.stop) || (!up && value < self.stop) {
            return Ok(false);
        }
        self.next = value.add(&self.step).ok();
        out.push(Datum::Numeric(value));
        Ok(true)
    }
}

fn numerics(args: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let checked = |i: usize, what: &str| -> Result<Numeric> {
        let value = arg(args, i)?.as_numeric()?;
        let bad = |kind: &str| {
            let message = format!("{what} cannot be {kind}");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        };
        match value {
            v if v.is_nan() => bad("NaN"),
            v if v.is_infinite() => bad("infinity"),
            v => Ok(v.clone()),
        }
    };
    let (start, stop) = (checked(0, "start value")?, checked(1, "stop value")?);
    let step = if args.len() > 2 { checked(2, "step size")? } else { Numeric::ONE };
    if step.is_zero() {
        return Err(zero_step());
    }
    Ok(Box::new(Numerics { next: Some(start), stop, step }))
}

struct Unnest {
    array: Arc<Array>,
    next: usize,
}

impl SetRows for Unnest {
    fn next(&mut self, out: &mut Vec<Datum>, _: &mut FnContext) -> Result<bool> {
        let Some(element) = self.array.elements.get(self.next) else { return Ok(false) };
        self.next += 1;
        out.push(element.clone());
        Ok(true)
    }
}

fn unnest(args: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    Ok(Box::new(Unnest { array: arg(args, 0)?.as_array()?.clone(), next: 0 }))
}

/// `unnest(array) WITH ORDINALITY`
pub(crate) fn expand_array(
    args: &[Datum],
    call: &CallInfo,
    cx: &mut FnContext,
) -> Result<Box<dyn SetRows>> {
    Ok(Box::new(Numbered { rows: unnest(args, call, cx)?, number: 0 }))
}

/// Rows with their number, from 1.
struct Numbered {
    rows: Box<dyn SetRows>,
    number: i32,
}

impl SetRows for Numbered {
    fn next(&mut self, out: &mut Vec<Datum>, cx: &mut FnContext) -> Result<bool> {
        let found = self.rows.next(out, cx)?;
        if found {
            self.number += 1;
            out.push(Datum::Int4(self.number));
        }
        Ok(found)
    }
}

fn subscripts(args: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let array = arg(args, 0)?.as_array()?;
    let dimension = arg(args, 1)?.as_int4()?;
    let reverse = match args.get(2) {
        Some(reverse) => reverse.as_bool()?,
        None => false,
    };
    let index = dimension.checked_sub(1).and_then(|index| usize::try_from(index).ok());
    let found = index.and_then(|index| array.dimensions.get(index));
    let Some((length, lower)) = found else {
        return Ok(Box::new(Integers { next: None, stop: 0, step: 1, wide: false }));
    };
    let (first, last) = (i64::from(*lower), i64::from(*lower) + i64::from(*length) - 1);
    let (start, stop, step) = if reverse { (last, first, -1) } else { (first, last, 1) };
    Ok(Box::new(Integers { next: Some(start), stop, step, wide: false }))
}

/// `start, start + step, … stop`, months and days counted in the zone.
struct Moments {
    next: i64,
    stop: i64,
    step: Arc<Interval>,
    up: bool,
    /// `None` for timestamps without time zone.
    zone: Option<TimeZone>,
}

impl SetRows for Moments {
    fn next(&mut self, out: &mut Vec<Datum>, _: &mut FnContext) -> Result<bool> {
        let value = self.next;
        if (self.up && value > self.stop) || (!self.up && value < self.stop) {
            return Ok(false);
        }
        self.next = match &self.zone {
            None => timestamp_plus_interval(value, &self.step)?,
            Some(zone) => timestamptz_plus_interval(value, &self.step, zone)?,
        };
        out.push(match self.zone {
            None => Datum::Timestamp(value),
            Some(_) => Datum::TimestampTz(value),
        });
        Ok(true)
    }
}

fn moments(args: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let zone = match (arg(args, 0)?, args.get(3)) {
        (Datum::Timestamp(_), _) => None,
        (_, None) => Some(cx.io.datetime.time_zone.clone()),
        (_, Some(name)) => {
            Some(TimeZone::by_name_or_abbrev(name.as_text()?, &cx.io.datetime.time_zone)?)
        }
    };
    let step = arg(args, 2)?.as_interval()?.clone();
    if step.is_infinite() {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "step size cannot be infinite"));
    }
    let direction = step.linear().signum();
    if direction == 0 {
        return Err(zero_step());
    }
    let (next, stop) = (super::args::moment(args, 0)?, super::args::moment(args, 1)?);
    Ok(Box::new(Moments { next, stop, step, up: direction > 0, zone }))
}

struct Values(std::vec::IntoIter<Datum>);

impl SetRows for Values {
    fn next(&mut self, out: &mut Vec<Datum>, _: &mut FnContext) -> Result<bool> {
        let Some(value) = self.0.next() else { return Ok(false) };
        out.push(value);
        Ok(true)
    }
}

/// A set of known one-column rows.
pub(crate) fn values(rows: Vec<Datum>) -> Box<dyn SetRows> {
    Box::new(Values(rows.into_iter()))
}

struct Rows(std::vec::IntoIter<Vec<Datum>>);

impl SetRows for Rows {
    fn next(&mut self, out: &mut Vec<Datum>, _: &mut FnContext) -> Result<bool> {
        let Some(row) = self.0.next() else { return Ok(false) };
        out.extend(row);
        Ok(true)
    }
}

/// A set of known rows.
pub fn rows(rows: Vec<Vec<Datum>>) -> Box<dyn SetRows> {
    Box::new(Rows(rows.into_iter()))
}
