//! Integer and float arithmetic with PostgreSQL's errors (int.c, int8.c, float.c).
//!
//! An operator of mixed widths works in the wider type: the caller widens first.

use crate::{Error, Result, SqlState};

/// 22003 `{type} out of range`.
#[cold]
pub fn out_of_range(type_name: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
}

/// 22012.
#[cold]
pub fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// 22003 `value out of range: overflow`.
#[cold]
pub fn float_overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// 22003 `value out of range: underflow`.
#[cold]
pub fn float_underflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

macro_rules! integer_arithmetic {
    ($ty:ident, $sql:literal, $shift_left:expr, $shift_right:expr;
     $add:ident $sub:ident $mul:ident $div:ident $rem:ident $neg:ident $abs:ident
     $gcd:ident $lcm:ident $shl:ident $shr:ident) => {
        #[doc = concat!("`", $sql, " + ", $sql, "`")]
        #[inline]
        pub fn $add(a: $ty, b: $ty) -> Result<$ty> {
            a.checked_add(b).ok_or_else(|| out_of_range($sql))
        }
        #[doc = concat!("`", $sql, " - ", $sql, "`")]
        #[inline]
        pub fn $sub(a: $ty, b: $ty) -> Result<$ty> {
            a.checked_sub(b).ok_or_else(|| out_of_range($sql))
        }
        #[doc = concat!("`", $sql, " * ", $sql, "`")]
        #[inline]
        pub fn $mul(a: $ty, b: $ty) -> Result<$ty> {
            a.checked_mul(b).ok_or_else(|| out_of_range($sql))
        }
        #[doc = concat!("`", $sql, " / ", $sql, "`, toward zero")]
        #[inline]
        pub fn $div(a: $ty, b: $ty) -> Result<$ty> {
            if b == 0 {
                return Err(division_by_zero());
            }
            a.checked_div(b).ok_or_else(|| out_of_range($sql))
        }
        #[doc = concat!("`", $sql, " % ", $sql, "`, with the dividend's sign")]
        #[inline]
        pub fn $rem(a: $ty, b: $ty) -> Result<$ty> {
            // Wrapping: the least integer % -1 is 0, as in PostgreSQL.
            if b == 0 { Err(division_by_zero()) } else { Ok(a.wrapping_rem(b)) }
        }
        #[doc = concat!("`- ", $sql, "`")]
        #[inline]
        pub fn $neg(a: $ty) -> Result<$ty> {
            a.checked_neg().ok_or_else(|| out_of_range($sql))
        }
        #[doc = concat!("`abs(", $sql, ")`")]
        pub fn $abs(a: $ty) -> Result<$ty> {
            a.checked_abs().ok_or_else(|| out_of_range($sql))
        }
        #[doc = concat!("`gcd(", $sql, ", ", $sql, ")`")]
        pub fn $gcd(a: $ty, b: $ty) -> Result<$ty> {
            let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
            while b != 0 {
                (a, b) = (b, a % b);
            }
            $ty::try_from(a).map_err(|_| out_of_range($sql))
        }
        #[doc = concat!("`lcm(", $sql, ", ", $sql, ")`")]
        pub fn $lcm(a: $ty, b: $ty) -> Result<$ty> {
            if a == 0 || b == 0 {
                return Ok(0);
            }
            let gcd = $gcd(a, b)?;
            (a / gcd).checked_mul(b).and_then($ty::checked_abs).ok_or_else(|| out_of_range($sql))
        }
        #[doc = concat!("`", $sql, " << integer`; the count wraps as the processor's does")]
        pub fn $shl(a: $ty, count: i32) -> $ty {
            $shift_left(a, count)
        }
        #[doc = concat!("`", $sql, " >> integer`, with the sign")]
        pub fn $shr(a: $ty, count: i32) -> $ty {
            $shift_right(a, count)
        }
    };
}

integer_arithmetic! {
    i16, "smallint",
    // C shifts a smallint as an int and cuts the result.
    |a: i16, count: i32| i32::from(a).wrapping_shl(count as u32) as i16,
    |a: i16, count: i32| i32::from(a).wrapping_shr(count as u32) as i16;
    add_int2 sub_int2 mul_int2 div_int2 rem_int2 neg_int2 abs_int2 gcd_int2 lcm_int2
    shl_int2 shr_int2
}
integer_arithmetic! {
    i32, "integer",
    |a: i32, count: i32| a.wrapping_shl(count as u32),
    |a: i32, count: i32| a.wrapping_shr(count as u32);
    add_int4 sub_int4 mul_int4 div_int4 rem_int4 neg_int4 abs_int4 gcd_int4 lcm_int4
    shl_int4 shr_int4
}
integer_arithmetic! {
    i64, "bigint",
    |a: i64, count: i32| a.wrapping_shl(count as u32),
    |a: i64, count: i32| a.wrapping_shr(count as u32);
    add_int8 sub_int8 mul_int8 div_int8 rem_int8 neg_int8 abs_int8 gcd_int8 lcm_int8
    shl_int8 shr_int8
}

macro_rules! float_arithmetic {
    ($ty:ident, $add:ident $sub:ident $mul:ident $div:ident) => {
        #[doc = concat!("`+` for ", stringify!($ty))]
        #[inline]
        pub fn $add(a: $ty, b: $ty) -> Result<$ty> {
            let result = a + b;
            if result.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(float_overflow());
            }
            Ok(result)
        }
        #[doc = concat!("`-` for ", stringify!($ty))]
        #[inline]
        pub fn $sub(a: $ty, b: $ty) -> Result<$ty> {
            $add(a, -b)
        }
        #[doc = concat!("`*` for ", stringify!($ty))]
        #[inline]
        pub fn $mul(a: $ty, b: $ty) -> Result<$ty> {
            let result = a * b;
            if result.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(float_overflow());
            }
            if result == 0.0 && a != 0.0 && b != 0.0 {
                return Err(float_underflow());
            }
            Ok(result)
        }
        #[doc = concat!("`/` for ", stringify!($ty))]
        #[inline]
        pub fn $div(a: $ty, b: $ty) -> Result<$ty> {
            if b == 0.0 && !a.is_nan() {
                return Err(division_by_zero());
            }
            let result = a / b;
            if result.is_infinite() && a.is_finite() {
                return Err(float_overflow());
            }
            if result == 0.0 && a != 0.0 && b.is_finite() {
                return Err(float_underflow());
            }
            Ok(result)
        }
    };
}

float_arithmetic!(f32, add_float4 sub_float4 mul_float4 div_float4);
float_arithmetic!(f64, add_float8 sub_float8 mul_float8 div_float8);

#[cfg(test)]
mod tests {
    use super::*;

    fn failure<T: std::fmt::Debug>(result: Result<T>) -> (String, String) {
        let error = result.unwrap_err();
        (error.sqlstate().to_string(), error.message().to_string())
    }

    fn is(code: &str, message: &str) -> (String, String) {
        (code.into(), message.into())
    }

    #[test]
    fn integers_overflow_with_postgresqls_errors() {
        assert_eq!(failure(add_int4(i32::MAX, 1)), is("22003", "integer out of range"));
        assert_eq!(failure(div_int4(i32::MIN, -1)), is("22003", "integer out of range"));
        assert_eq!(failure(mul_int8(i64::MAX, 2)), is("22003", "bigint out of range"));
        assert_eq!(failure(neg_int2(i16::MIN)), is("22003", "smallint out of range"));
        assert_eq!(failure(rem_int4(5, 0)), is("22012", "division by zero"));
        assert_eq!(failure(gcd_int4(i32::MIN, 0)), is("22003", "integer out of range"));
        assert_eq!(failure(lcm_int4(i32::MAX, 2)), is("22003", "integer out of range"));
        assert_eq!(rem_int4(i32::MIN, -1).unwrap(), 0);
        assert_eq!(rem_int4(-7, 2).unwrap(), -1);
        assert_eq!(gcd_int4(-12, 18).unwrap(), 6);
        assert_eq!(lcm_int4(-4, 6).unwrap(), 12);
    }

    #[test]
    fn shifts_wrap_as_in_c() {
        assert_eq!(shl_int4(1, 33), 2);
        assert_eq!(shr_int4(-5, 1), -3);
        assert_eq!(shl_int2(1, 17), 0);
        assert_eq!(shl_int8(1, 65), 2);
    }

    #[test]
    fn floats_report_overflow_and_underflow() {
        let overflow = is("22003", "value out of range: overflow");
        let underflow = is("22003", "value out of range: underflow");
        assert_eq!(failure(mul_float8(1e308, 10.0)), overflow);
        assert_eq!(failure(mul_float8(1e-308, 1e-308)), underflow);
        assert_eq!(failure(add_float4(f32::MAX, f32::MAX)), overflow);
        assert_eq!(failure(div_float8(1.0, 0.0)), is("22012", "division by zero"));
        assert!(div_float8(f64::NAN, 0.0).unwrap().is_nan());
        assert_eq!(add_float8(f64::INFINITY, 1.0).unwrap(), f64::INFINITY);
        assert_eq!(div_float8(1.0, f64::INFINITY).unwrap(), 0.0);
    }
}
