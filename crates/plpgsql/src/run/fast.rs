//! Expressions over integers, floats and booleans, evaluated over the frame without datums and calls.
//!
//! Loops mostly count, compare and add. The operators here are those of int2, int4 and int8 (int.c,
//! int8.c) and of float8 ([`super::real`]), and AND, OR, NOT, IS NULL. Any other expression is the executor's.
//!
//! An evaluation gives a value, or it gives up: where an operand is NULL, where the result is out of
//! range and where a divisor is zero. Then the executor evaluates the same expression, and finds
//! NULL or PostgreSQL's error. So only the common case is written twice, and these expressions
//! change nothing, so that a second evaluation is unnoticed.
//!
//! The functions are known by their code: a user's operator that a search path puts before
//! pg_catalog's has another function.

use steppe_catalog::objects::Function;
use steppe_sql::expr::Expr;
use steppe_types::{Datum, oid};

use super::real::{self, Real};

/// The width of an integer's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Two,
    Four,
    Eight,
}

impl Width {
    /// That of a type, if it is an integer's.
    pub(super) fn of(ty: u32) -> Option<Width> {
        match ty {
            oid::INT2 => Some(Width::Two),
            oid::INT4 => Some(Width::Four),
            oid::INT8 => Some(Width::Eight),
            _ => None,
        }
    }

    /// A value of this width, if it is in range.
    #[inline(always)]
    pub(super) fn datum(self, value: i64) -> Option<Datum> {
        match self {
            Width::Two => i16::try_from(value).ok().map(Datum::Int2),
            Width::Four => i32::try_from(value).ok().map(Datum::Int4),
            Width::Eight => Some(Datum::Int8(value)),
        }
    }

    /// Gives a variable or an element a value. `None`: the value is out of range, or the place
    /// holds something else than a number or a truth value.
    ///
    /// A place that already holds a number of this width gets the number alone. A datum that is
    /// made elsewhere and moved here would be read as a whole just after its parts were written,
    /// and the processor would wait for these writes.
    #[inline(always)]
    pub(super) fn set(self, place: &mut Datum, value: i64) -> Option<()> {
        match (self, &mut *place) {
            (Width::Two, Datum::Int2(old)) => *old = i16::try_from(value).ok()?,
            (Width::Four, Datum::Int4(old)) => *old = i32::try_from(value).ok()?,
            (Width::Eight, Datum::Int8(old)) => *old = value,
            _ => return replace(place, self.datum(value)?),
        }
        Some(())
    }

    /// Puts a value behind others, if it is in range.
    #[inline(always)]
    pub(super) fn push(self, values: &mut Vec<Datum>, value: i64) -> Option<()> {
        match self {
            Width::Two => values.push(Datum::Int2(i16::try_from(value).ok()?)),
            Width::Four => values.push(Datum::Int4(i32::try_from(value).ok()?)),
            Width::Eight => values.push(Datum::Int8(value)),
        }
        Some(())
    }

    #[inline(always)]
    fn checked(self, value: i64) -> Option<i64> {
        let fits = match self {
            Width::Two => i16::try_from(value).is_ok(),
            Width::Four => i32::try_from(value).is_ok(),
            Width::Eight => true,
        };
        fits.then_some(value)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    #[inline(always)]
    fn compute(self, left: i64, right: i64) -> Option<i64> {
        match self {
            Arithmetic::Add => left.checked_add(right),
            Arithmetic::Subtract => left.checked_sub(right),
            Arithmetic::Multiply => left.checked_mul(right),
            Arithmetic::Divide => left.checked_div(right),
            // The least number has no remainder by -1 for the machine. SQL's is 0.
            Arithmetic::Modulo if right == -1 => Some(0),
            Arithmetic::Modulo => left.checked_rem(right),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// That of an operator's short name.
    pub(super) fn named(name: &str) -> Option<Comparison> {
        Some(match name {
            "eq" => Comparison::Equal,
            "ne" => Comparison::Unequal,
            "lt" => Comparison::Less,
            "le" => Comparison::LessOrEqual,
            "gt" => Comparison::Greater,
            "ge" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    #[inline(always)]
    pub(super) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }
}

/// Where expressions find the rows of records.
pub(super) trait Records: Copy {
    /// The columns of the record in a slot.
    fn of<'a>(self, slot: u32, frame: &'a [Datum]) -> Option<&'a [Datum]>
    where
        Self: 'a;
}

/// Each record's row is its variable's value.
#[derive(Clone, Copy)]
pub(super) struct Unbound;

/// The record in a slot stands for a row, which is not its variable's value.
#[derive(Clone, Copy)]
pub(super) struct Bound<'r> {
    pub(super) slot: u32,
    pub(super) row: &'r [Datum],
}

impl Records for Unbound {
    #[inline(always)]
    fn of<'a>(self, slot: u32, frame: &'a [Datum]) -> Option<&'a [Datum]>
    where
        Self: 'a,
    {
        match frame.get(slot as usize)? {
            Datum::Record(columns) => Some(columns),
            _ => None,
        }
    }
}

impl Records for Bound<'_> {
    #[inline(always)]
    fn of<'a>(self, slot: u32, frame: &'a [Datum]) -> Option<&'a [Datum]>
    where
        Self: 'a,
    {
        if slot == self.slot { Some(self.row) } else { Unbound.of(slot, frame) }
    }
}

/// An integer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Int {
    Variable(u32),
    Constant(i64),
    /// A column of a record.
    Field(u32, u32),
    /// An element of an array of one dimension.
    Element(u32, Box<Int>),
    /// An operator, and the width of its result.
    Operator(Arithmetic, Width, Box<(Int, Int)>),
    /// A cast to a width.
    Cast(Width, Box<Int>),
    Negative(Width, Box<Int>),
}

/// A truth value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bool {
    Variable(u32),
    Constant(bool),
    Compare(Comparison, Box<(Int, Int)>),
    CompareReal(Comparison, Box<(Real, Real)>),
    And(Box<[Bool]>),
    Or(Box<[Bool]>),
    Not(Box<Bool>),
    IsNull(u32, bool),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fast {
    Int(Width, Int),
    Real(Real),
    Bool(Bool),
    /// The value of a variable of any type.
    Variable(u32),
}

impl Fast {
    /// A bound expression as one of these, if it is.
    pub(super) fn of(expr: &Expr) -> Option<Fast> {
        match (expr, expr.ty().oid) {
            (_, oid::BOOL) => Some(Fast::Bool(boolean(expr)?)),
            (_, oid::FLOAT8) => Some(Fast::Real(Real::of(expr)?)),
            (_, ty) if Width::of(ty).is_some() => Some(Fast::Int(Width::of(ty)?, integer(expr)?)),
            (Expr::Param { index, .. }, _) => Some(Fast::Variable(u32::try_from(*index).ok()?)),
            _ => None,
        }
    }

    /// A constant as one of these, if it is an integer.
    pub(super) fn constant(value: &Datum) -> Option<Fast> {
        let width = match value {
            Datum::Int2(_) => Width::Two,
            Datum::Int4(_) => Width::Four,
            Datum::Int8(_) => Width::Eight,
            _ => return None,
        };
        Some(Fast::Int(width, Int::Constant(number(value)?)))
    }

    /// Its value over a frame, or `None`: the executor must evaluate it.
    #[inline]
    pub(super) fn eval(&self, frame: &[Datum]) -> Option<Datum> {
        match self {
            Fast::Int(width, int) => width.datum(int.eval(frame, Unbound)?),
            Fast::Real(real) => real.eval(frame, Unbound).map(Datum::Float8),
            Fast::Bool(condition) => condition.eval(frame, Unbound).map(Datum::Bool),
            Fast::Variable(slot) => frame.get(*slot as usize).cloned(),
        }
    }
}

impl Int {
    /// A bound expression as one of these, if it is.
    pub(super) fn of(expr: &Expr) -> Option<Int> {
        integer(expr)
    }

    /// As [`Self::eval`], without a call for a variable or a constant.
    #[inline(always)]
    pub(super) fn operand(&self, frame: &[Datum], records: impl Records) -> Option<i64> {
        match self {
            Int::Variable(slot) => number(frame.get(*slot as usize)?),
            Int::Constant(value) => Some(*value),
            other => other.eval(frame, records),
        }
    }

    /// Its value, or `None`: the executor must evaluate the expression.
    pub(super) fn eval(&self, frame: &[Datum], records: impl Records) -> Option<i64> {
        match self {
            Int::Variable(slot) => number(frame.get(*slot as usize)?),
            Int::Constant(value) => Some(*value),
            Int::Field(slot, at) => number(records.of(*slot, frame)?.get(*at as usize)?),
            Int::Element(slot, index) => {
                let index = index.operand(frame, records)?;
                number(element(frame.get(*slot as usize)?, index)?)
            }
            Int::Operator(operator, width, operands) => {
                let left = operands.0.operand(frame, records)?;
                let right = operands.1.operand(frame, records)?;
                width.checked(operator.compute(left, right)?)
            }
            Int::Cast(width, arg) => width.checked(arg.operand(frame, records)?),
            Int::Negative(width, arg) => width.checked(arg.operand(frame, records)?.checked_neg()?),
        }
    }
}

/// Gives a variable a value of another type. `None`: it is not a number or a truth value yet.
#[cold]
#[inline(never)]
pub(super) fn replace(place: &mut Datum, value: Datum) -> Option<()> {
    let is_plain = matches!(
        place,
        Datum::Null
            | Datum::Bool(_)
            | Datum::Int2(_)
            | Datum::Int4(_)
            | Datum::Int8(_)
            | Datum::Float8(_)
    );
    is_plain.then(|| *place = value)
}

#[inline(always)]
pub(super) fn number(datum: &Datum) -> Option<i64> {
    match datum {
        Datum::Int4(value) => Some(i64::from(*value)),
        Datum::Int8(value) => Some(*value),
        Datum::Int2(value) => Some(i64::from(*value)),
        _ => None,
    }
}

/// The element at a subscript. There is none in an array of more dimensions.
#[inline]
fn element(array: &Datum, index: i64) -> Option<&Datum> {
    let Datum::Array(array) = array else { return None };
    let [(_, first)] = array.dimensions[..] else { return None };
    let at = index.checked_sub(i64::from(first))?;
    array.elements.get(usize::try_from(at).ok()?)
}

impl Bool {
    /// Its value, or `None`: the executor must evaluate the expression.
    #[inline]
    pub(super) fn eval(&self, frame: &[Datum], records: impl Records) -> Option<bool> {
        match self {
            Bool::Compare(comparison, operands) => {
                let left = operands.0.operand(frame, records)?;
                let right = operands.1.operand(frame, records)?;
                Some(comparison.holds(left, right))
            }
            other => other.eval_any(frame, records),
        }
    }

    fn eval_any(&self, frame: &[Datum], records: impl Records) -> Option<bool> {
        match self {
            Bool::Variable(slot) => match frame.get(*slot as usize)? {
                Datum::Bool(value) => Some(*value),
                _ => None,
            },
            Bool::Constant(value) => Some(*value),
            Bool::Compare(..) => self.eval(frame, records),
            Bool::CompareReal(comparison, operands) => {
                real::compare(*comparison, operands, frame, records)
            }
            Bool::And(args) => decided(args, (frame, records), false),
            Bool::Or(args) => decided(args, (frame, records), true),
            Bool::Not(arg) => Some(!arg.eval(frame, records)?),
            Bool::IsNull(slot, negated) => Some(frame.get(*slot as usize)?.is_null() != *negated),
        }
    }
}

/// AND or OR: the first operand with the deciding value ends it.
fn decided(
    args: &[Bool],
    (frame, records): (&[Datum], impl Records),
    deciding: bool,
) -> Option<bool> {
    for arg in args {
        if arg.eval(frame, records)? == deciding {
            return Some(deciding);
        }
    }
    Some(!deciding)
}

fn integer(expr: &Expr) -> Option<Int> {
    let to = Width::of(expr.ty().oid)?;
    match expr {
        Expr::Param { index, .. } => Some(Int::Variable(u32::try_from(*index).ok()?)),
        Expr::Field { arg, index, .. } => match &**arg {
            Expr::Param { index: slot, .. } => {
                Some(Int::Field(u32::try_from(*slot).ok()?, u32::try_from(*index).ok()?))
            }
            _ => None,
        },
        Expr::Subscript { array, indices, slice: false, assigned: None, .. } => {
            match (&**array, indices.as_slice()) {
                (Expr::Param { index: slot, .. }, [(None, Some(index))]) => {
                    Some(Int::Element(u32::try_from(*slot).ok()?, Box::new(integer(index)?)))
                }
                _ => None,
            }
        }
        Expr::Const(value, _) => number(value).map(Int::Constant),
        Expr::Func { func, args, .. } => match (func.built_in_source()?, args.as_slice()) {
            ("int48" | "i2toi4" | "int28" | "int84" | "i4toi2" | "int82", [arg]) => {
                Some(Int::Cast(to, Box::new(integer(arg)?)))
            }
            ("int2um" | "int4um" | "int8um", [arg]) => {
                Some(Int::Negative(to, Box::new(integer(arg)?)))
            }
            (source, [left, right]) => {
                let operator = match operator_of(source)? {
                    "pl" => Arithmetic::Add,
                    "mi" => Arithmetic::Subtract,
                    "mul" => Arithmetic::Multiply,
                    "div" => Arithmetic::Divide,
                    "mod" => Arithmetic::Modulo,
                    _ => return None,
                };
                Some(Int::Operator(operator, to, Box::new((integer(left)?, integer(right)?))))
            }
            _ => None,
        },
        _ => None,
    }
}

fn boolean(expr: &Expr) -> Option<Bool> {
    let all = |args: &[Expr]| args.iter().map(boolean).collect::<Option<Box<[Bool]>>>();
    match expr {
        Expr::Param { index, .. } => Some(Bool::Variable(u32::try_from(*index).ok()?)),
        Expr::Const(Datum::Bool(value), _) => Some(Bool::Constant(*value)),
        Expr::And(args) => Some(Bool::And(all(args)?)),
        Expr::Or(args) => Some(Bool::Or(all(args)?)),
        Expr::Not(arg) => Some(Bool::Not(Box::new(boolean(arg)?))),
        Expr::IsNull { arg, negated } => match &**arg {
            Expr::Param { index, ty, .. } if Width::of(ty.oid).is_some() || ty.oid == oid::BOOL => {
                Some(Bool::IsNull(u32::try_from(*index).ok()?, *negated))
            }
            _ => None,
        },
        Expr::Func { func, args, .. } => {
            let [left, right] = args.as_slice() else { return None };
            if let Some(comparison) = real::comparison_of(func.built_in_source()?) {
                let operands = (Real::of(left)?, Real::of(right)?);
                return Some(Bool::CompareReal(comparison, Box::new(operands)));
            }
            let operands = (integer(left)?, integer(right)?);
            Some(Bool::Compare(comparison(func)?, Box::new(operands)))
        }
        // `value IN (list)`
        Expr::ScalarArrayOp { func, all: false, left, array, .. } => {
            let (Comparison::Equal, Expr::Const(Datum::Array(list), _)) =
                (comparison(func)?, &**array)
            else {
                return None;
            };
            let left = integer(left)?;
            let equal = |value: &Datum| {
                let operands = (left.clone(), Int::Constant(number(value)?));
                Some(Bool::Compare(Comparison::Equal, Box::new(operands)))
            };
            let is_short = list.elements.len() <= LIST_MAX;
            is_short.then(|| list.elements.iter().map(equal).collect::<Option<_>>())?.map(Bool::Or)
        }
        _ => None,
    }
}

/// The longest list of IN that is compared value by value.
const LIST_MAX: usize = 8;

fn comparison(function: &Function) -> Option<Comparison> {
    Comparison::named(operator_of(function.built_in_source()?)?)
}

/// The operator of `int4pl`, `int48lt` and their like.
fn operator_of(source: &str) -> Option<&str> {
    let operator = source.strip_prefix("int")?.trim_start_matches(['2', '4', '8']);
    (operator.len() + 3 < source.len()).then_some(operator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_up_at_nulls_and_errors() {
        let two = |operator, width, right| {
            let operands = (Int::Variable(0), Int::Constant(right));
            Fast::Int(width, Int::Operator(operator, width, Box::new(operands)))
        };
        let value = |fast: &Fast, datum: Datum| fast.eval(&[datum]);
        let add = two(Arithmetic::Add, Width::Four, 1);
        assert_eq!(value(&add, Datum::Int4(1)), Some(Datum::Int4(2)));
        assert_eq!(value(&add, Datum::Null), None);
        assert_eq!(value(&add, Datum::Int4(i32::MAX)), None);
        let add = two(Arithmetic::Add, Width::Two, 1);
        assert_eq!(value(&add, Datum::Int2(i16::MAX)), None);
        let divide = two(Arithmetic::Divide, Width::Eight, -1);
        assert_eq!(value(&divide, Datum::Int8(i64::MIN)), None);
        let modulo = two(Arithmetic::Modulo, Width::Eight, -1);
        assert_eq!(value(&modulo, Datum::Int8(i64::MIN)), Some(Datum::Int8(0)));
        let by_zero = two(Arithmetic::Modulo, Width::Four, 0);
        assert_eq!(value(&by_zero, Datum::Int4(1)), None);
    }

    #[test]
    fn names_of_operators() {
        assert_eq!(operator_of("int48pl"), Some("pl"));
        assert_eq!(operator_of("int4mod"), Some("mod"));
        assert_eq!(operator_of("interval_pl"), None);
        assert_eq!(operator_of("intpl"), None);
    }
}
