//! Trigonometry in degrees (sind, cosd … of src/backend/utils/adt/float.c).
//!
//! The well-known values are exact (`sind(30) = 0.5`): every quadrant is folded into 0–90, and each
//! piece is scaled by the library's own value at the angle whose sine or cosine is a half.

use super::args::float8;
use super::{Entry, scalar};
use std::sync::OnceLock;
use steppe_types::{Datum, Error, Result, SqlState};

/// Degree functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("dsind", scalar(|a, _| of_finite(float8(a, 0)?, sind))),
    ("dcosd", scalar(|a, _| of_finite(float8(a, 0)?, cosd))),
    ("dtand", scalar(|a, _| of_finite(float8(a, 0)?, tand))),
    ("dcotd", scalar(|a, _| of_finite(float8(a, 0)?, cotd))),
    ("dasind", scalar(|a, _| of_unit(float8(a, 0)?, asind))),
    ("dacosd", scalar(|a, _| of_unit(float8(a, 0)?, acosd))),
    ("datand", scalar(|a, _| Ok(Datum::Float8(scaled_atan(float8(a, 0)?.atan()))))),
    ("datan2d", scalar(|a, _| Ok(Datum::Float8(scaled_atan(float8(a, 0)?.atan2(float8(a, 1)?)))))),
];

/// The library's values that the pieces are scaled by.
struct Scale {
    sin_30: f64,
    one_minus_cos_60: f64,
    asin_half: f64,
    acos_half: f64,
    atan_one: f64,
    tan_45: f64,
    cot_45: f64,
}

fn scale() -> &'static Scale {
    static SCALE: OnceLock<Scale> = OnceLock::new();
    SCALE.get_or_init(|| {
        let mut scale = Scale {
            sin_30: 30f64.to_radians().sin(),
            one_minus_cos_60: 1.0 - 60f64.to_radians().cos(),
            asin_half: 0.5f64.asin(),
            acos_half: 0.5f64.acos(),
            atan_one: 1f64.atan(),
            tan_45: 1.0,
            cot_45: 1.0,
        };
        scale.tan_45 = sin_quadrant(45.0, &scale) / cos_quadrant(45.0, &scale);
        scale.cot_45 = cos_quadrant(45.0, &scale) / sin_quadrant(45.0, &scale);
        scale
    })
}

fn out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

fn of_finite(v: f64, function: fn(f64, &Scale) -> f64) -> Result<Datum> {
    if v.is_nan() {
        return Ok(Datum::Float8(v));
    }
    if v.is_infinite() {
        return Err(out_of_range());
    }
    Ok(Datum::Float8(function(v, scale())))
}

fn of_unit(v: f64, function: fn(f64, &Scale) -> f64) -> Result<Datum> {
    if v.is_nan() {
        return Ok(Datum::Float8(v));
    }
    if v.abs() > 1.0 {
        return Err(out_of_range());
    }
    Ok(Datum::Float8(function(v, scale())))
}

/// Up to 30 degrees.
fn sin_small(x: f64, s: &Scale) -> f64 {
    x.to_radians().sin() / s.sin_30 / 2.0
}

/// Up to 60 degrees.
fn cos_small(x: f64, s: &Scale) -> f64 {
    1.0 - (1.0 - x.to_radians().cos()) / s.one_minus_cos_60 / 2.0
}

/// Up to 90 degrees.
fn sin_quadrant(x: f64, s: &Scale) -> f64 {
    if x <= 30.0 { sin_small(x, s) } else { cos_small(90.0 - x, s) }
}

/// Up to 90 degrees.
fn cos_quadrant(x: f64, s: &Scale) -> f64 {
    if x <= 60.0 { cos_small(x, s) } else { sin_small(90.0 - x, s) }
}

fn sind(angle: f64, s: &Scale) -> f64 {
    let mut x = angle % 360.0;
    let mut sign = 1.0;
    if x < 0.0 {
        (x, sign) = (-x, -sign);
    }
    if x > 180.0 {
        (x, sign) = (360.0 - x, -sign);
    }
    if x > 90.0 {
        x = 180.0 - x;
    }
    sign * sin_quadrant(x, s)
}

fn cosd(angle: f64, s: &Scale) -> f64 {
    let mut x = (angle % 360.0).abs();
    let mut sign = 1.0;
    if x > 180.0 {
        x = 360.0 - x;
    }
    if x > 90.0 {
        (x, sign) = (180.0 - x, -sign);
    }
    sign * cos_quadrant(x, s)
}

/// The angle folded into 0–90 with the sign of its tangent.
fn fold_tangent(angle: f64) -> (f64, f64) {
    let mut x = angle % 360.0;
    let mut sign = 1.0;
    if x < 0.0 {
        (x, sign) = (-x, -sign);
    }
    if x > 180.0 {
        (x, sign) = (360.0 - x, -sign);
    }
    if x > 90.0 {
        (x, sign) = (180.0 - x, -sign);
    }
    (x, sign)
}

fn tand(angle: f64, s: &Scale) -> f64 {
    let (x, sign) = fold_tangent(angle);
    let result = sign * (sin_quadrant(x, s) / cos_quadrant(x, s) / s.tan_45);
    // The zeros are plain zeros.
    if result == 0.0 { 0.0 } else { result }
}

fn cotd(angle: f64, s: &Scale) -> f64 {
    let (x, sign) = fold_tangent(angle);
    let result = sign * (cos_quadrant(x, s) / sin_quadrant(x, s) / s.cot_45);
    if result == 0.0 { 0.0 } else { result }
}

/// The inverse sine of 0–1.
fn asin_quadrant(x: f64, s: &Scale) -> f64 {
    if x <= 0.5 { x.asin() / s.asin_half * 30.0 } else { 90.0 - x.acos() / s.acos_half * 60.0 }
}

/// The inverse cosine of 0–1.
fn acos_quadrant(x: f64, s: &Scale) -> f64 {
    if x <= 0.5 { 90.0 - x.asin() / s.asin_half * 30.0 } else { x.acos() / s.acos_half * 60.0 }
}

fn asind(v: f64, s: &Scale) -> f64 {
    if v >= 0.0 { asin_quadrant(v, s) } else { -asin_quadrant(-v, s) }
}

fn acosd(v: f64, s: &Scale) -> f64 {
    if v >= 0.0 { acos_quadrant(v, s) } else { 90.0 + asin_quadrant(-v, s) }
}

/// An angle that atan or atan2 found, in degrees.
fn scaled_atan(radians: f64) -> f64 {
    radians / scale().atan_one * 45.0
}
