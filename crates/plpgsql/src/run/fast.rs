//! Expressions over integers and booleans, evaluated over the frame without datums and calls.
//!
//! Loops mostly count, compare and add. The operators here are those of int2, int4 and int8, with
//! PostgreSQL's overflow errors (int.c, int8.c), and AND, OR, NOT, IS NULL. Any other expression is
//! the executor's. NULL is `None`. A variable of any type that stands alone is read as it is.

use steppe_catalog::objects::Function;
use steppe_sql::expr::Expr;
use steppe_types::arith::{division_by_zero, out_of_range};
use steppe_types::{Datum, Result, oid};

/// The width of an integer's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Two,
    Four,
    Eight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// An integer.
#[derive(Clone, Debug)]
enum Int {
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
#[derive(Clone, Debug)]
enum Bool {
    Variable(u32),
    Constant(Option<bool>),
    Compare(Comparison, Box<(Int, Int)>),
    And(Box<[Bool]>),
    Or(Box<[Bool]>),
    Not(Box<Bool>),
    IsNull(u32, bool),
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Fast(Form);

#[derive(Clone, Debug)]
enum Form {
    Int(Width, Int),
    Bool(Bool),
    /// A variable's value.
    Variable(u32),
}

impl Fast {
    /// A bound expression as one of these, if it is.
    pub(super) fn of(expr: &Expr) -> Option<Fast> {
        if let Expr::Param { index, .. } = expr {
            return Some(Fast(Form::Variable(u32::try_from(*index).ok()?)));
        }
        let form = match expr.ty().oid {
            oid::BOOL => Form::Bool(boolean(expr)?),
            other => Form::Int(width(other)?, integer(expr)?),
        };
        // A constant alone is read faster as it is.
        match form {
            Form::Int(_, Int::Constant(_)) | Form::Bool(Bool::Constant(_)) => None,
            form => Some(Fast(form)),
        }
    }

    /// Its value over a frame.
    #[inline]
    pub(super) fn eval(&self, frame: &[Datum]) -> Result<Datum> {
        Ok(match &self.0 {
            Form::Int(width, int) => match (int.eval(frame)?, width) {
                (None, _) => Datum::Null,
                (Some(value), Width::Four) => Datum::Int4(value as i32),
                (Some(value), Width::Eight) => Datum::Int8(value),
                (Some(value), Width::Two) => Datum::Int2(value as i16),
            },
            Form::Bool(condition) => condition.eval(frame)?.map_or(Datum::Null, Datum::Bool),
            Form::Variable(slot) => frame[*slot as usize].clone(),
        })
    }
}

impl Int {
    /// As [`Self::eval`], without a call for a variable or a constant.
    #[inline(always)]
    fn operand(&self, frame: &[Datum]) -> Result<Option<i64>> {
        match self {
            Int::Variable(slot) => Ok(number(&frame[*slot as usize])),
            Int::Constant(value) => Ok(Some(*value)),
            other => other.eval(frame),
        }
    }

    fn eval(&self, frame: &[Datum]) -> Result<Option<i64>> {
        match self {
            Int::Variable(slot) => Ok(number(&frame[*slot as usize])),
            Int::Constant(value) => Ok(Some(*value)),
            Int::Field(slot, at) => Ok(match &frame[*slot as usize] {
                Datum::Record(columns) => columns.get(*at as usize).and_then(number),
                _ => None,
            }),
            Int::Element(slot, index) => {
                let Some(index) = index.operand(frame)? else { return Ok(None) };
                Ok(element(&frame[*slot as usize], index).and_then(number))
            }
            Int::Operator(operator, width, operands) => {
                let Some(left) = operands.0.operand(frame)? else { return Ok(None) };
                let Some(right) = operands.1.operand(frame)? else { return Ok(None) };
                compute(*operator, *width, left, right).map(Some)
            }
            Int::Cast(width, arg) => match arg.operand(frame)? {
                Some(value) => narrow(*width, Some(value)).map(Some),
                None => Ok(None),
            },
            Int::Negative(width, arg) => match arg.eval(frame)? {
                Some(value) => narrow(*width, value.checked_neg()).map(Some),
                None => Ok(None),
            },
        }
    }
}

#[inline]
fn number(datum: &Datum) -> Option<i64> {
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

#[inline]
fn compute(operator: Arithmetic, width: Width, left: i64, right: i64) -> Result<i64> {
    let value = match operator {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide | Arithmetic::Modulo if right == 0 => return Err(division_by_zero()),
        Arithmetic::Divide => left.checked_div(right),
        // The least number has no remainder by -1.
        Arithmetic::Modulo => Some(left.wrapping_rem(right)),
    };
    narrow(width, value)
}

/// A value in its type; 22003 outside it.
#[inline]
fn narrow(width: Width, value: Option<i64>) -> Result<i64> {
    let Some(value) = value else { return Err(out_of_range(name(width))) };
    let fits = match width {
        Width::Two => i16::try_from(value).is_ok(),
        Width::Four => i32::try_from(value).is_ok(),
        Width::Eight => true,
    };
    if fits { Ok(value) } else { Err(out_of_range(name(width))) }
}

fn name(width: Width) -> &'static str {
    match width {
        Width::Two => "smallint",
        Width::Four => "integer",
        Width::Eight => "bigint",
    }
}

impl Bool {
    fn eval(&self, frame: &[Datum]) -> Result<Option<bool>> {
        match self {
            Bool::Variable(slot) => Ok(match &frame[*slot as usize] {
                Datum::Bool(value) => Some(*value),
                _ => None,
            }),
            Bool::Constant(value) => Ok(*value),
            Bool::Compare(comparison, operands) => {
                let Some(left) = operands.0.operand(frame)? else { return Ok(None) };
                let Some(right) = operands.1.operand(frame)? else { return Ok(None) };
                Ok(Some(match comparison {
                    Comparison::Equal => left == right,
                    Comparison::Unequal => left != right,
                    Comparison::Less => left < right,
                    Comparison::LessOrEqual => left <= right,
                    Comparison::Greater => left > right,
                    Comparison::GreaterOrEqual => left >= right,
                }))
            }
            Bool::And(args) => decided(args, frame, false),
            Bool::Or(args) => decided(args, frame, true),
            Bool::Not(arg) => Ok(arg.eval(frame)?.map(|value| !value)),
            Bool::IsNull(slot, negated) => Ok(Some(frame[*slot as usize].is_null() != *negated)),
        }
    }
}

/// AND or OR: the first operand with the deciding value ends it.
fn decided(args: &[Bool], frame: &[Datum], deciding: bool) -> Result<Option<bool>> {
    let mut unknown = false;
    for arg in args {
        match arg.eval(frame)? {
            Some(value) if value == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(!deciding) })
}

fn width(ty: u32) -> Option<Width> {
    match ty {
        oid::INT2 => Some(Width::Two),
        oid::INT4 => Some(Width::Four),
        oid::INT8 => Some(Width::Eight),
        _ => None,
    }
}

fn integer(expr: &Expr) -> Option<Int> {
    let to = width(expr.ty().oid)?;
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
        Expr::Const(Datum::Int2(value), _) => Some(Int::Constant(i64::from(*value))),
        Expr::Const(Datum::Int4(value), _) => Some(Int::Constant(i64::from(*value))),
        Expr::Const(Datum::Int8(value), _) => Some(Int::Constant(*value)),
        Expr::Func { func, args, .. } => match (source(func)?, args.as_slice()) {
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
    let list = |args: &[Expr]| args.iter().map(boolean).collect::<Option<Box<[Bool]>>>();
    match expr {
        Expr::Param { index, ty, .. } if ty.oid == oid::BOOL => {
            Some(Bool::Variable(u32::try_from(*index).ok()?))
        }
        Expr::Const(Datum::Bool(value), _) => Some(Bool::Constant(Some(*value))),
        Expr::Const(Datum::Null, _) => Some(Bool::Constant(None)),
        Expr::And(args) => Some(Bool::And(list(args)?)),
        Expr::Or(args) => Some(Bool::Or(list(args)?)),
        Expr::Not(arg) => Some(Bool::Not(Box::new(boolean(arg)?))),
        Expr::IsNull { arg, negated } => match &**arg {
            Expr::Param { index, ty, .. } if width(ty.oid).is_some() || ty.oid == oid::BOOL => {
                Some(Bool::IsNull(u32::try_from(*index).ok()?, *negated))
            }
            _ => None,
        },
        Expr::Func { func, args, .. } => {
            let [left, right] = args.as_slice() else { return None };
            let comparison = match operator_of(source(func)?)? {
                "eq" => Comparison::Equal,
                "ne" => Comparison::Unequal,
                "lt" => Comparison::Less,
                "le" => Comparison::LessOrEqual,
                "gt" => Comparison::Greater,
                "ge" => Comparison::GreaterOrEqual,
                _ => return None,
            };
            Some(Bool::Compare(comparison, Box::new((integer(left)?, integer(right)?))))
        }
        _ => None,
    }
}

/// The code of a built-in function.
fn source(function: &Function) -> Option<&str> {
    function.built_in_source()
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
    fn overflow_and_nulls() {
        let two = |operator, width, right| {
            let operands = (Int::Variable(0), Int::Constant(right));
            Fast(Form::Int(width, Int::Operator(operator, width, Box::new(operands))))
        };
        let value =
            |fast: &Fast, datum: Datum| fast.eval(&[datum]).map_err(|e| e.message().to_owned());
        let add = two(Arithmetic::Add, Width::Four, 1);
        assert_eq!(value(&add, Datum::Int4(1)), Ok(Datum::Int4(2)));
        assert_eq!(value(&add, Datum::Null), Ok(Datum::Null));
        assert_eq!(value(&add, Datum::Int4(i32::MAX)), Err("integer out of range".to_owned()));
        let divide = two(Arithmetic::Divide, Width::Eight, -1);
        assert_eq!(value(&divide, Datum::Int8(i64::MIN)), Err("bigint out of range".to_owned()));
        let modulo = two(Arithmetic::Modulo, Width::Eight, -1);
        assert_eq!(value(&modulo, Datum::Int8(i64::MIN)), Ok(Datum::Int8(0)));
        let by_zero = two(Arithmetic::Modulo, Width::Four, 0);
        assert_eq!(value(&by_zero, Datum::Int4(1)), Err("division by zero".to_owned()));
    }

    #[test]
    fn names_of_operators() {
        assert_eq!(operator_of("int48pl"), Some("pl"));
        assert_eq!(operator_of("int4mod"), Some("mod"));
        assert_eq!(operator_of("interval_pl"), None);
        assert_eq!(operator_of("intpl"), None);
    }
}
