//! Casts between the built-in types, and length and precision modifiers.
//!
//! The binder decides whether a cast exists in a context (implicit, assignment, explicit); this
//! module carries it out. Some rules are surprising:
//!
//! - a float becomes an integer by rounding to even, a numeric by rounding half
//!   away from zero;
//! - an explicit cast to `varchar(n)` or `char(n)` cuts silently, a store fails
//!   (22001) unless only blanks are lost;
//! - `char(n)` loses its trailing blanks on the way to any other string type;
//! - a boolean becomes the text `true`, although it prints as `t`.

use crate::arith::{float_overflow, float_underflow, out_of_range};
use crate::compare::bpchar_key;
use crate::datetime::arith;
use crate::datetime::io::{time_typmod, timestamp_typmod};
use crate::datum::Array;
use crate::io::IoContext;
use crate::numeric::Numeric;
use crate::oid::{self, Oid};
use crate::physical::Physical;
use crate::text_io::{fit_bpchar, fit_varchar, input, output_string, truncate_name};
use crate::{Datum, Error, Result};
use std::sync::Arc;

/// Casts `value` of type `from` to type `to` with modifier `typmod` (-1: none).
/// NULL stays NULL.
pub fn cast(
    value: &Datum,
    from: Oid,
    to: Oid,
    typmod: i32,
    explicit: bool,
    context: &IoContext,
) -> Result<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    if from == to {
        return apply_typmod(value.clone(), to, typmod, explicit);
    }
    let plain = match Physical::of(to) {
        Physical::Bool => to_bool(value),
        Physical::Int2 => to_int2(value)?,
        Physical::Int4 => to_int4(value)?,
        Physical::Int8 => to_int8(value)?,
        Physical::Float4 => to_float4(value)?,
        Physical::Float8 => to_float8(value)?,
        Physical::Numeric => to_numeric(value)?,
        Physical::Oid => to_oid(value)?,
        Physical::Char => to_char(value)?,
        Physical::Text => return to_text(value, from, to, typmod, explicit, context),
        Physical::Array => to_array(value, to, typmod, explicit, context)?,
        _ => between_datetimes(value, to, context)?,
    };
    match plain {
        // Such as the time of day of an infinite timestamp.
        Some(Datum::Null) => Ok(Datum::Null),
        Some(datum) => apply_typmod(datum, to, typmod, explicit),
        None => cast_through_text(value, from, to, typmod, explicit, context),
    }
}

/// A string is read as a literal of the target type; other pairs of types have no cast.
fn cast_through_text(
    value: &Datum,
    from: Oid,
    to: Oid,
    typmod: i32,
    explicit: bool,
    context: &IoContext,
) -> Result<Datum> {
    match value {
        Datum::Text(text) => input(to, typmod, without_padding(from, text), context),
        // Types that share a representation (a composite and its row type).
        _ if Physical::of(to).accepts(value) => apply_typmod(value.clone(), to, typmod, explicit),
        _ => Err(Error::internal(format!("no cast from type {from} to type {to}"))),
    }
}

fn without_padding(from: Oid, text: &str) -> &str {
    if from == oid::BPCHAR { bpchar_key(text) } else { text }
}

fn integer(value: &Datum) -> Option<i64> {
    match value {
        Datum::Int2(v) => Some(i64::from(*v)),
        Datum::Int4(v) => Some(i64::from(*v)),
        Datum::Int8(v) => Some(*v),
        _ => None,
    }
}

fn float(value: &Datum) -> Option<f64> {
    match value {
        Datum::Float4(v) => Some(f64::from(*v)),
        Datum::Float8(v) => Some(*v),
        _ => None,
    }
}

fn to_bool(value: &Datum) -> Option<Datum> {
    integer(value).map(|v| Datum::Bool(v != 0))
}

/// A float rounded to even, if it fits an integer type with the least value `min`.
fn round_to(value: f64, min: f64, type_name: &str) -> Result<i64> {
    let rounded = value.round_ties_even();
    // -min is one past the greatest, and exact; NaN fails both.
    if rounded >= min && rounded < -min { Ok(rounded as i64) } else { Err(out_of_range(type_name)) }
}

fn to_int2(value: &Datum) -> Result<Option<Datum>> {
    let fit = |v: i64| i16::try_from(v).map_err(|_| out_of_range("smallint"));
    Ok(Some(Datum::Int2(match value {
        Datum::Numeric(v) => v.to_i16()?,
        _ => match (integer(value), float(value)) {
            (Some(v), _) => fit(v)?,
            (_, Some(v)) => round_to(v, f64::from(i16::MIN), "smallint")? as i16,
            _ => return Ok(None),
        },
    })))
}

fn to_int4(value: &Datum) -> Result<Option<Datum>> {
    Ok(Some(Datum::Int4(match value {
        Datum::Bool(v) => i32::from(*v),
        // "char" is a signed byte as a number; an oid is taken bit by bit.
        Datum::Char(v) => i32::from(*v as i8),
        Datum::Oid(v) => *v as i32,
        Datum::Numeric(v) => v.to_i32()?,
        _ => match (integer(value), float(value)) {
            (Some(v), _) => i32::try_from(v).map_err(|_| out_of_range("integer"))?,
            (_, Some(v)) => round_to(v, f64::from(i32::MIN), "integer")? as i32,
            _ => return Ok(None),
        },
    })))
}

fn to_int8(value: &Datum) -> Result<Option<Datum>> {
    Ok(Some(Datum::Int8(match value {
        Datum::Oid(v) => i64::from(*v),
        Datum::Numeric(v) => v.to_i64()?,
        _ => match (integer(value), float(value)) {
            (Some(v), _) => v,
            (_, Some(v)) => round_to(v, i64::MIN as f64, "bigint")?,
            _ => return Ok(None),
        },
    })))
}

fn to_float4(value: &Datum) -> Result<Option<Datum>> {
    Ok(Some(Datum::Float4(match value {
        Datum::Numeric(v) => v.to_f32()?,
        Datum::Float8(v) => narrow(*v)?,
        _ => match integer(value) {
            Some(v) => v as f32,
            None => return Ok(None),
        },
    })))
}

/// double precision to real.
pub fn narrow(value: f64) -> Result<f32> {
    let narrowed = value as f32;
    if narrowed.is_infinite() && value.is_finite() {
        Err(float_overflow())
    } else if narrowed == 0.0 && value != 0.0 {
        Err(float_underflow())
    } else {
        Ok(narrowed)
    }
}

fn to_float8(value: &Datum) -> Result<Option<Datum>> {
    Ok(Some(Datum::Float8(match value {
        Datum::Numeric(v) => v.to_f64()?,
        Datum::Float4(v) => f64::from(*v),
        _ => match integer(value) {
            Some(v) => v as f64,
            None => return Ok(None),
        },
    })))
}

fn to_numeric(value: &Datum) -> Result<Option<Datum>> {
    Ok(Some(Datum::Numeric(match value {
        Datum::Float4(v) => Numeric::from_f32(*v),
        Datum::Float8(v) => Numeric::from_f64(*v),
        _ => match integer(value) {
            Some(v) => Numeric::from_i128_scaled(i128::from(v), 0),
            None => return Ok(None),
        },
    })))
}

fn to_oid(value: &Datum) -> Result<Option<Datum>> {
    Ok(match value {
        Datum::Oid(v) => Some(Datum::Oid(*v)),
        // int8 is checked, the narrower ones are taken bit by bit.
        Datum::Int8(v) => Some(Datum::Oid(u32::try_from(*v).map_err(|_| out_of_range("OID"))?)),
        Datum::Int4(v) => Some(Datum::Oid(*v as u32)),
        Datum::Int2(v) => Some(Datum::Oid(*v as u32)),
        _ => None,
    })
}

fn to_char(value: &Datum) -> Result<Option<Datum>> {
    Ok(match value {
        Datum::Int4(v) => {
            let byte = i8::try_from(*v).map_err(|_| out_of_range("\"char\""))?;
            Some(Datum::Char(byte as u8))
        }
        _ => None,
    })
}

/// Casts among dates, times and intervals; some of them use the session's zone.
fn between_datetimes(value: &Datum, to: Oid, context: &IoContext) -> Result<Option<Datum>> {
    let zone = &context.datetime.time_zone;
    Ok(Some(match (value, to) {
        (Datum::Date(v), oid::TIMESTAMP) => Datum::Timestamp(arith::date_to_timestamp(*v)?),
        (Datum::Date(v), oid::TIMESTAMPTZ) => {
            Datum::TimestampTz(arith::date_to_timestamptz(*v, zone)?)
        }
        (Datum::Timestamp(v), oid::DATE) => Datum::Date(arith::timestamp_to_date(*v)),
        (Datum::Timestamp(v), oid::TIME) => {
            arith::timestamp_to_time(*v).map_or(Datum::Null, Datum::Time)
        }
        (Datum::Timestamp(v), oid::TIMESTAMPTZ) => {
            Datum::TimestampTz(arith::timestamp_to_timestamptz(*v, zone)?)
        }
        (Datum::TimestampTz(v), oid::DATE) => Datum::Date(arith::timestamptz_to_date(*v, zone)?),
        (Datum::TimestampTz(v), oid::TIME) => {
            let local = arith::timestamptz_to_timestamp(*v, zone)?;
            arith::timestamp_to_time(local).map_or(Datum::Null, Datum::Time)
        }
        (Datum::TimestampTz(v), oid::TIMESTAMP) => {
            Datum::Timestamp(arith::timestamptz_to_timestamp(*v, zone)?)
        }
        (Datum::TimestampTz(v), oid::TIMETZ) => arith::timestamptz_to_timetz(*v, zone)
            .map_or(Datum::Null, |(micros, west)| Datum::TimeTz(micros, west)),
        (Datum::Time(v), oid::INTERVAL) => Datum::Interval(Arc::new(arith::time_to_interval(*v))),
        (Datum::Time(v), oid::TIMETZ) => {
            let (micros, west) = arith::time_to_timetz(*v, zone, context.now);
            Datum::TimeTz(micros, west)
        }
        (Datum::TimeTz(micros, _), oid::TIME) => Datum::Time(*micros),
        (Datum::Interval(v), oid::TIME) => Datum::Time(arith::interval_to_time(v)?),
        _ => return Ok(None),
    }))
}

fn to_text(
    value: &Datum,
    from: Oid,
    to: Oid,
    typmod: i32,
    explicit: bool,
    context: &IoContext,
) -> Result<Datum> {
    let text: Arc<str> = match value {
        Datum::Bool(v) => if *v { "true" } else { "false" }.into(),
        // char(n) and varchar(n) count blanks differently, so that only a cast from char(n) drops
        // them.
        Datum::Text(v) if from == oid::BPCHAR && to != oid::BPCHAR => bpchar_key(v).into(),
        Datum::Text(v) => v.clone(),
        _ => output_string(from, value, context)?.into(),
    };
    if to == oid::NAME {
        return Ok(Datum::text(truncate_name(&text)));
    }
    apply_typmod(Datum::Text(text), to, typmod, explicit)
}

fn to_array(
    value: &Datum,
    to: Oid,
    typmod: i32,
    explicit: bool,
    context: &IoContext,
) -> Result<Option<Datum>> {
    let Datum::Array(array) = value else { return Ok(None) };
    let Some(element_type) = oid::container_element_type(to) else { return Ok(None) };
    let convert = |e: &Datum| cast(e, array.element_type, element_type, typmod, explicit, context);
    let elements = array.elements.iter().map(convert).collect::<Result<Vec<Datum>>>()?;
    let dimensions = array.dimensions.clone();
    Ok(Some(Datum::Array(Arc::new(Array { element_type, dimensions, elements }))))
}

/// Applies a length or precision modifier to a value of the type it belongs to.
pub fn apply_typmod(value: Datum, type_oid: Oid, typmod: i32, explicit: bool) -> Result<Datum> {
    if typmod < 0 {
        return Ok(value);
    }
    match (&value, type_oid) {
        (Datum::Text(text), oid::VARCHAR) => {
            let fitted = fit_varchar(text, typmod, explicit)?;
            Ok(if fitted.len() == text.len() { value } else { Datum::text(fitted) })
        }
        (Datum::Text(text), oid::BPCHAR) => fit_bpchar(text, typmod, explicit).map(Datum::text),
        (Datum::Numeric(number), oid::NUMERIC) => {
            number.clone().apply_typmod(typmod).map(Datum::Numeric)
        }
        (Datum::Time(v), _) => Ok(Datum::Time(time_typmod(*v, typmod))),
        (Datum::TimeTz(v, zone), _) => Ok(Datum::TimeTz(time_typmod(*v, typmod), *zone)),
        (Datum::Timestamp(v), _) => timestamp_typmod(*v, typmod).map(Datum::Timestamp),
        (Datum::TimestampTz(v), _) => timestamp_typmod(*v, typmod).map(Datum::TimestampTz),
        (Datum::Interval(v), _) => v.apply_typmod(typmod).map(|v| Datum::Interval(Arc::new(v))),
        (Datum::Array(array), _) => {
            let element_type = array.element_type;
            let fit = |e: &Datum| apply_typmod(e.clone(), element_type, typmod, explicit);
            let elements = array.elements.iter().map(fit).collect::<Result<Vec<Datum>>>()?;
            let dimensions = array.dimensions.clone();
            Ok(Datum::Array(Arc::new(Array { element_type, dimensions, elements })))
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, from: Oid, to: Oid, typmod: i32, explicit: bool) -> Result<String> {
        let context = IoContext::default();
        let value = input(from, -1, text, &context)?;
        let result = cast(&value, from, to, typmod, explicit, &context)?;
        assert!(Physical::of(to).accepts(&result), "{from} to {to} gives {result:?}");
        output_string(to, &result, &context)
    }

    /// As PostgreSQL 15 casts them.
    #[test]
    fn casts_round_and_format_as_postgresqls_do() {
        let cases = [
            ("2.5", oid::FLOAT8, oid::INT4, "2"),
            ("3.5", oid::FLOAT8, oid::INT4, "4"),
            ("2.5", oid::NUMERIC, oid::INT4, "3"),
            ("-2.5", oid::NUMERIC, oid::INT4, "-3"),
            ("1.5", oid::FLOAT8, oid::NUMERIC, "1.5"),
            ("0.1", oid::FLOAT4, oid::NUMERIC, "0.1"),
            ("0.1", oid::FLOAT4, oid::FLOAT8, "0.10000000149011612"),
            ("t", oid::BOOL, oid::TEXT, "true"),
            ("t", oid::BOOL, oid::INT4, "1"),
            ("2", oid::INT4, oid::BOOL, "t"),
            ("a  ", oid::BPCHAR, oid::TEXT, "a"),
            ("65", oid::INT4, oid::CHAR, "A"),
            ("a", oid::CHAR, oid::INT4, "97"),
            ("4294967295", oid::OID, oid::INT8, "4294967295"),
            ("-1", oid::INT4, oid::OID, "4294967295"),
            (" 12 ", oid::TEXT, oid::INT4, "12"),
            ("12", oid::INT4, oid::TEXT, "12"),
            ("2024-02-29", oid::DATE, oid::TIMESTAMP, "2024-02-29 00:00:00"),
            ("2024-02-29 12:34:56.5", oid::TIMESTAMP, oid::DATE, "2024-02-29"),
            ("2024-02-29 12:34:56.5", oid::TIMESTAMP, oid::TIME, "12:34:56.5"),
            ("2024-02-29 12:00+02", oid::TIMESTAMPTZ, oid::TIMESTAMP, "2024-02-29 10:00:00"),
            ("25:00", oid::INTERVAL, oid::TIME, "01:00:00"),
            ("2024-02-29", oid::TEXT, oid::DATE, "2024-02-29"),
            ("{1,NULL}", 1007, 1016, "{1,NULL}"),
            ("{1,2}", 1007, 1009, "{1,2}"),
        ];
        for (text, from, to, expected) in cases {
            assert_eq!(run(text, from, to, -1, true).unwrap(), expected, "{text} {from} {to}");
        }
    }

    #[test]
    fn casts_out_of_range_fail() {
        let cases = [
            ("3000000000", oid::INT8, oid::INT4, "integer out of range"),
            ("1e10", oid::FLOAT8, oid::INT4, "integer out of range"),
            ("NaN", oid::FLOAT8, oid::INT4, "integer out of range"),
            ("1e20", oid::FLOAT8, oid::INT8, "bigint out of range"),
            ("9223372036854775807", oid::FLOAT8, oid::INT8, "bigint out of range"),
            ("40000", oid::INT4, oid::INT2, "smallint out of range"),
            ("-1", oid::INT8, oid::OID, "OID out of range"),
            ("200", oid::INT4, oid::CHAR, "\"char\" out of range"),
            ("1e40", oid::FLOAT8, oid::FLOAT4, "value out of range: overflow"),
        ];
        for (text, from, to, message) in cases {
            let error = run(text, from, to, -1, true).unwrap_err();
            assert_eq!((error.sqlstate().as_str(), error.message()), ("22003", message));
        }
        assert_eq!(
            run("32767.5", oid::FLOAT8, oid::INT2, -1, true).unwrap_err().message(),
            "smallint out of range"
        );
        assert_eq!(run("-32768.5", oid::FLOAT8, oid::INT2, -1, true).unwrap(), "-32768");
    }

    #[test]
    fn explicit_casts_cut_and_stores_do_not() {
        assert_eq!(run("abc", oid::TEXT, oid::VARCHAR, 6, true).unwrap(), "ab");
        assert_eq!(run("abc", oid::TEXT, oid::BPCHAR, 6, true).unwrap(), "ab");
        assert_eq!(run("ab  ", oid::TEXT, oid::VARCHAR, 6, false).unwrap(), "ab");
        let error = run("abc", oid::TEXT, oid::VARCHAR, 6, false).unwrap_err();
        assert_eq!(error.message(), "value too long for type character varying(2)");
        let typmod = crate::numeric::numeric_typmod(4, Some(1)).unwrap();
        assert_eq!(run("12.345", oid::TEXT, oid::NUMERIC, typmod, true).unwrap(), "12.3");
    }
}
