//! smallint, integer and bigint arithmetic (src/backend/utils/adt/int.c, int8.c).
//!
//! Every overflow fails with 22003 and names the result's type. A division by zero fails with
//! 22012. MIN / -1 overflows and MIN % -1 is 0, as in PostgreSQL.

use super::{Builtin, Entry, arg};
use crate::FnContext;
use steppe_types::{Datum, Error, Result, SqlState};

#[cold]
fn out_of_range(ty: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{ty} out of range"))
}

#[cold]
fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// The value of an operand of any width.
#[inline]
fn int(args: &[Datum], i: usize) -> Result<i64> {
    match arg(args, i)? {
        Datum::Int4(v) => Ok(i64::from(*v)),
        Datum::Int8(v) => Ok(*v),
        Datum::Int2(v) => Ok(i64::from(*v)),
        other => other.as_int8(),
    }
}

/// Results narrow to one of the three types.
trait Width: Copy {
    fn narrow(value: Option<i64>) -> Result<Datum>;
}

macro_rules! widths {
    ($($name:ident, $ty:ty, $variant:ident, $sql:literal;)*) => { $(
        #[derive(Clone, Copy)]
        struct $name;
        impl Width for $name {
            #[inline]
            fn narrow(value: Option<i64>) -> Result<Datum> {
                match value.and_then(|v| <$ty>::try_from(v).ok()) {
                    Some(v) => Ok(Datum::$variant(v)),
                    None => Err(out_of_range($sql)),
                }
            }
        }
    )* };
}

widths! {
    W2, i16, Int2, "smallint";
    W4, i32, Int4, "integer";
    W8, i64, Int8, "bigint";
}

fn add<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(int(args, 0)?.checked_add(int(args, 1)?))
}

fn sub<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(int(args, 0)?.checked_sub(int(args, 1)?))
}

fn mul<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(int(args, 0)?.checked_mul(int(args, 1)?))
}

fn div<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (a, b) = (int(args, 0)?, int(args, 1)?);
    if b == 0 {
        return Err(division_by_zero());
    }
    W::narrow(a.checked_div(b))
}

fn rem<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (a, b) = (int(args, 0)?, int(args, 1)?);
    if b == 0 {
        return Err(division_by_zero());
    }
    W::narrow(Some(a.wrapping_rem(b)))
}

fn negate<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(int(args, 0)?.checked_neg())
}

fn plus<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(Some(int(args, 0)?))
}

fn abs<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(int(args, 0)?.checked_abs())
}

fn increment<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(int(args, 0)?.checked_add(1))
}

fn and<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(Some(int(args, 0)? & int(args, 1)?))
}

fn or<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(Some(int(args, 0)? | int(args, 1)?))
}

fn xor<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(Some(int(args, 0)? ^ int(args, 1)?))
}

fn not<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W::narrow(Some(!int(args, 0)?))
}

// Shifts take the count modulo the width, as the hardware PostgreSQL runs on does.
fn shift_left(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let count = int(args, 1)? as u32;
    Ok(match arg(args, 0)? {
        Datum::Int2(v) => Datum::Int2((i32::from(*v)).wrapping_shl(count) as i16),
        Datum::Int4(v) => Datum::Int4(v.wrapping_shl(count)),
        other => Datum::Int8(other.as_int8()?.wrapping_shl(count)),
    })
}

fn shift_right(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let count = int(args, 1)? as u32;
    Ok(match arg(args, 0)? {
        Datum::Int2(v) => Datum::Int2((i32::from(*v)).wrapping_shr(count) as i16),
        Datum::Int4(v) => Datum::Int4(v.wrapping_shr(count)),
        other => Datum::Int8(other.as_int8()?.wrapping_shr(count)),
    })
}

fn gcd_magnitude(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn gcd<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let value = gcd_magnitude(int(args, 0)?.unsigned_abs(), int(args, 1)?.unsigned_abs());
    W::narrow(i64::try_from(value).ok())
}

fn lcm<W: Width>(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (a, b) = (int(args, 0)?, int(args, 1)?);
    if a == 0 || b == 0 {
        return W::narrow(Some(0));
    }
    let quotient = a.unsigned_abs() / gcd_magnitude(a.unsigned_abs(), b.unsigned_abs());
    W::narrow(quotient.checked_mul(b.unsigned_abs()).and_then(|v| i64::try_from(v).ok()))
}

fn to_int2(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W2::narrow(Some(int(args, 0)?))
}

fn to_int4(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W4::narrow(Some(int(args, 0)?))
}

fn to_int8(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    W8::narrow(Some(int(args, 0)?))
}

fn int8_from_oid(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int8(i64::from(arg(args, 0)?.as_oid()?)))
}

fn oid_from_int8(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    u32::try_from(int(args, 0)?).map(Datum::Oid).map_err(|_| out_of_range("OID"))
}

/// Entries of one arithmetic operator for all pairs of widths.
macro_rules! table {
    ($($src:literal => $f:expr;)*) => {
        /// Integer functions by prosrc.
        pub(super) const TABLE: &[Entry] = &[$(($src, Builtin::Scalar($f))),*];
    };
}

table! {
    "int2pl" => add::<W2>; "int4pl" => add::<W4>; "int8pl" => add::<W8>;
    "int24pl" => add::<W4>; "int42pl" => add::<W4>; "int28pl" => add::<W8>;
    "int82pl" => add::<W8>; "int48pl" => add::<W8>; "int84pl" => add::<W8>;
    "int2mi" => sub::<W2>; "int4mi" => sub::<W4>; "int8mi" => sub::<W8>;
    "int24mi" => sub::<W4>; "int42mi" => sub::<W4>; "int28mi" => sub::<W8>;
    "int82mi" => sub::<W8>; "int48mi" => sub::<W8>; "int84mi" => sub::<W8>;
    "int2mul" => mul::<W2>; "int4mul" => mul::<W4>; "int8mul" => mul::<W8>;
    "int24mul" => mul::<W4>; "int42mul" => mul::<W4>; "int28mul" => mul::<W8>;
    "int82mul" => mul::<W8>; "int48mul" => mul::<W8>; "int84mul" => mul::<W8>;
    "int2div" => div::<W2>; "int4div" => div::<W4>; "int8div" => div::<W8>;
    "int24div" => div::<W4>; "int42div" => div::<W4>; "int28div" => div::<W8>;
    "int82div" => div::<W8>; "int48div" => div::<W8>; "int84div" => div::<W8>;
    "int2mod" => rem::<W2>; "int4mod" => rem::<W4>; "int8mod" => rem::<W8>;
    "int2um" => negate::<W2>; "int4um" => negate::<W4>; "int8um" => negate::<W8>;
    "int2up" => plus::<W2>; "int4up" => plus::<W4>; "int8up" => plus::<W8>;
    "int2abs" => abs::<W2>; "int4abs" => abs::<W4>; "int8abs" => abs::<W8>;
    "int4inc" => increment::<W4>; "int8inc" => increment::<W8>;
    "int2and" => and::<W2>; "int4and" => and::<W4>; "int8and" => and::<W8>;
    "int2or" => or::<W2>; "int4or" => or::<W4>; "int8or" => or::<W8>;
    "int2xor" => xor::<W2>; "int4xor" => xor::<W4>; "int8xor" => xor::<W8>;
    "int2not" => not::<W2>; "int4not" => not::<W4>; "int8not" => not::<W8>;
    "int2shl" => shift_left; "int4shl" => shift_left; "int8shl" => shift_left;
    "int2shr" => shift_right; "int4shr" => shift_right; "int8shr" => shift_right;
    "int4gcd" => gcd::<W4>; "int8gcd" => gcd::<W8>;
    "int4lcm" => lcm::<W4>; "int8lcm" => lcm::<W8>;
    "i4toi2" => to_int2;
    "int28" => to_int8; "int82" => to_int2; "int48" => to_int8; "int84" => to_int4;
    "oidtoi8" => int8_from_oid; "i8tooid" => oid_from_int8;
}
