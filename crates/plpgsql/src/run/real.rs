//! Expressions over float8, as [`super::fast`] has them over integers (float.c).
//!
//! PostgreSQL has errors for overflow and underflow, and puts NaN behind all other numbers. So an
//! evaluation gives up where a result is infinite or NaN, where a product or a quotient is zero, and
//! where a comparison has a NaN. The executor knows the rules.

use steppe_sql::expr::Expr;
use steppe_types::{Datum, oid};

use super::fast::{Arithmetic, Comparison, Int, Records};

/// A float8.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Real {
    Variable(u32),
    Constant(f64),
    Integer(Int),
    Operator(Arithmetic, Box<(Real, Real)>),
    Negative(Box<Real>),
}

impl Real {
    /// A bound expression as one of these, if it is.
    pub(super) fn of(expr: &Expr) -> Option<Real> {
        match expr {
            Expr::Param { index, ty, .. } if ty.oid == oid::FLOAT8 => {
                Some(Real::Variable(u32::try_from(*index).ok()?))
            }
            Expr::Const(Datum::Float8(value), _) => Some(Real::Constant(*value)),
            Expr::Func { func, args, .. } => match (func.built_in_source()?, args.as_slice()) {
                ("i2tod" | "i4tod" | "i8tod", [arg]) => Some(Real::Integer(Int::of(arg)?)),
                ("numeric_float8", [Expr::Const(Datum::Numeric(value), _)]) => {
                    value.to_f64().ok().map(Real::Constant)
                }
                ("float8um", [arg]) => Some(Real::Negative(Box::new(Real::of(arg)?))),
                (source, [left, right]) => {
                    let operator = match source {
                        "float8pl" => Arithmetic::Add,
                        "float8mi" => Arithmetic::Subtract,
                        "float8mul" => Arithmetic::Multiply,
                        "float8div" => Arithmetic::Divide,
                        _ => return None,
                    };
                    let operands = (Real::of(left)?, Real::of(right)?);
                    Some(Real::Operator(operator, Box::new(operands)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Its value, or `None`: the executor must evaluate the expression.
    pub(super) fn eval(&self, frame: &[Datum], records: impl Records) -> Option<f64> {
        match self {
            Real::Variable(slot) => match frame.get(*slot as usize)? {
                Datum::Float8(value) => Some(*value),
                _ => None,
            },
            Real::Constant(value) => Some(*value),
            // As the cast: the nearest float.
            Real::Integer(int) => Some(int.operand(frame, records)? as f64),
            Real::Operator(operator, operands) => {
                let (left, right) =
                    (operands.0.eval(frame, records)?, operands.1.eval(frame, records)?);
                let (value, may_be_zero) = match operator {
                    Arithmetic::Add => (left + right, true),
                    Arithmetic::Subtract => (left - right, true),
                    Arithmetic::Multiply => (left * right, false),
                    Arithmetic::Divide => (left / right, false),
                    Arithmetic::Modulo => return None,
                };
                (value.is_finite() && (may_be_zero || value != 0.0)).then_some(value)
            }
            Real::Negative(arg) => Some(-arg.eval(frame, records)?),
        }
    }
}

/// A comparison of float8.
pub(super) fn comparison_of(source: &str) -> Option<Comparison> {
    Comparison::named(source.strip_prefix("float8")?)
}

/// The result of a comparison, or `None`: the executor must evaluate it.
#[inline]
pub(super) fn compare(
    comparison: Comparison,
    (left, right): &(Real, Real),
    frame: &[Datum],
    records: impl Records,
) -> Option<bool> {
    let (left, right) = (left.eval(frame, records)?, right.eval(frame, records)?);
    let order = left.partial_cmp(&right)?;
    Some(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::Unequal => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fast::Unbound;

    #[test]
    fn gives_up_where_float_c_has_rules_of_its_own() {
        let two = |operator, right| {
            Real::Operator(operator, Box::new((Real::Variable(0), Real::Constant(right))))
        };
        let value = |real: &Real, left| real.eval(&[Datum::Float8(left)], Unbound);
        assert_eq!(value(&two(Arithmetic::Add, 0.5), 1.0), Some(1.5));
        assert_eq!(value(&two(Arithmetic::Subtract, 1.0), 1.0), Some(0.0));
        assert_eq!(value(&two(Arithmetic::Multiply, 1e300), 1e300), None);
        assert_eq!(value(&two(Arithmetic::Multiply, 1e-300), 1e-300), None);
        assert_eq!(value(&two(Arithmetic::Divide, 0.0), 1.0), None);
        assert_eq!(value(&two(Arithmetic::Add, f64::NAN), 1.0), None);
        let operands = (Real::Variable(0), Real::Constant(f64::NAN));
        assert_eq!(
            compare(Comparison::Equal, &operands, &[Datum::Float8(f64::NAN)], Unbound),
            None
        );
    }
}
