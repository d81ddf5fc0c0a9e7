//! Whether conditions imply another. By this a partial index may serve a query, and ON CONFLICT's
//! WHERE chooses one (PostgreSQL's predtest.c in the parts that predicates of indexes use).
//!
//! ```text
//!   a AND b  ⇒  p        if a ⇒ p or b ⇒ p
//!   a OR b   ⇒  p        if a ⇒ p and b ⇒ p        (IN lists count as OR)
//!   c        ⇒  p AND q  if c ⇒ p and c ⇒ q
//!   c        ⇒  p OR q   if c ⇒ p or c ⇒ q
//!   x op c   ⇒  x op c'  by the order of the constants
//!   f(x)     ⇒  x IS NOT NULL  if f is strict
//! ```
//!
//! "Implies" is meant for conditions that are true: a row that a WHERE lets
//! through satisfies the predicate. What cannot be shown does not count.

use crate::expr::{BoolTest, CallSyntax, Expr, TypeRef};
use crate::negate::without_not;
use std::cmp::Ordering;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{OperatorRef, builtin};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, compare, oid, text_io};

/// Longer IN lists are not expanded (MAX_SAOP_ARRAY_SIZE).
const LIST_MAX: usize = 100;

/// Whether the conditions together imply the predicate.
pub(crate) fn implied_by(predicate: &Expr, conditions: &[Expr]) -> bool {
    let predicate = canonical(predicate.clone());
    let conditions: Vec<Expr> = conditions.iter().cloned().map(canonical).collect();
    all_imply(&conditions, &predicate)
}

/// Whether two expressions compute the same, however their casts were written.
pub(crate) fn equivalent(a: &Expr, b: &Expr) -> bool {
    if a == b {
        return true;
    }
    // What is most often compared: nothing but a column computes a column.
    let is_column = |expr: &Expr| matches!(expr, Expr::Var { .. });
    !is_column(a) && !is_column(b) && canonical(a.clone()) == canonical(b.clone())
}

/// The expression without parts that only its printing depends on, as conditions are folded.
pub(crate) fn canonical(expr: Expr) -> Expr {
    let rewritten = expr.transform::<std::convert::Infallible>(&mut |e| {
        Ok(match e {
            Expr::Func { func, args, ty, syntax: CallSyntax::ExplicitCast } => {
                Expr::Func { func, args, ty, syntax: CallSyntax::ImplicitCast }
            }
            Expr::Func { func, args, ty, syntax: CallSyntax::Sql } => {
                Expr::Func { func, args, ty, syntax: CallSyntax::Function }
            }
            Expr::Relabel { arg, ty, .. } => match *arg {
                Expr::Const(value, from) if from.oid == oid::UNKNOWN => Expr::Const(value, ty),
                arg => Expr::Relabel { arg: Box::new(arg), ty, implicit: true },
            },
            Expr::CoerceViaIo { arg, ty, .. } => Expr::CoerceViaIo { arg, ty, implicit: true },
            other => without_not(other),
        })
    });
    match rewritten {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

pub(crate) fn all_imply(conditions: &[Expr], predicate: &Expr) -> bool {
    match predicate {
        Expr::And(parts) => parts.iter().all(|p| all_imply(conditions, p)),
        Expr::Or(parts) if parts.iter().any(|p| all_imply(conditions, p)) => true,
        _ => conditions.iter().any(|c| implies(c, predicate)),
    }
}

fn implies(condition: &Expr, predicate: &Expr) -> bool {
    if condition == predicate {
        return true;
    }
    match condition {
        Expr::And(parts) => return all_imply(parts, predicate),
        Expr::Or(parts) => return parts.iter().all(|p| implies(p, predicate)),
        _ => {}
    }
    if let Some(alternatives) = alternatives(condition)
        && alternatives.iter().all(|a| all_imply(std::slice::from_ref(a), predicate))
    {
        return true;
    }
    match predicate {
        Expr::And(parts) => parts.iter().all(|p| implies(condition, p)),
        Expr::Or(parts) => parts.iter().any(|p| implies(condition, p)),
        Expr::IsNull { arg, negated: true } => strict_for(condition, arg),
        Expr::BoolTest { arg, test: BoolTest::True | BoolTest::NotFalse } => {
            implies(condition, arg)
        }
        Expr::BoolTest { arg, test: BoolTest::False | BoolTest::NotTrue } => {
            matches!(condition, Expr::Not(inner) if inner == arg)
        }
        _ => match alternatives(predicate) {
            Some(parts) => parts.iter().any(|p| implies(condition, p)),
            None => comparison_implies(condition, predicate),
        },
    }
}

/// `x = ANY (constants)` as its alternatives `x = c`, without NULL, which none equals.
pub(crate) fn alternatives(expr: &Expr) -> Option<Vec<Expr>> {
    let Expr::ScalarArrayOp { all: false, left, array, syntax, func } = expr else { return None };
    let compare = |value: Expr| Expr::Func {
        func: func.clone(),
        args: vec![(**left).clone(), value],
        ty: TypeRef::plain(oid::BOOL),
        syntax: syntax.clone(),
    };
    match &**array {
        Expr::Array { elements, multidim: false, .. } if elements.len() <= LIST_MAX => {
            let is_null = |e: &&Expr| matches!(e, Expr::Const(value, _) if value.is_null());
            let known = elements.iter().filter(|e| !is_null(e));
            let parts: Vec<Expr> = known.cloned().map(compare).collect();
            (!parts.is_empty()).then_some(parts)
        }
        Expr::Const(Datum::Array(array), ty) if array.elements.len() <= LIST_MAX => {
            let element = TypeRef::plain(oid::element_type_of(ty.oid)?);
            let known = array.elements.iter().filter(|e| !e.is_null());
            let parts: Vec<Expr> =
                known.map(|e| compare(Expr::Const(e.clone(), element))).collect();
            (!parts.is_empty()).then_some(parts)
        }
        _ => None,
    }
}

/// Whether the condition cannot be true where `arg` is NULL (clause_is_strict_for).
pub(crate) fn strict_for(condition: &Expr, arg: &Expr) -> bool {
    if condition == arg {
        return true;
    }
    match condition {
        Expr::Func { func, args, .. } => func.strict && args.iter().any(|a| strict_for(a, arg)),
        Expr::Relabel { arg: inner, .. }
        | Expr::CoerceViaIo { arg: inner, .. }
        | Expr::Not(inner)
        | Expr::IsNull { arg: inner, negated: true }
        | Expr::BoolTest {
            arg: inner,
            test: BoolTest::True | BoolTest::False | BoolTest::NotUnknown,
        } => strict_for(inner, arg),
        Expr::ScalarArrayOp { func, all: false, left, .. } => func.strict && strict_for(left, arg),
        _ => false,
    }
}

/// A comparison of an expression with a constant, the expression on the left.
pub(crate) struct Comparison<'a> {
    pub(crate) operand: &'a Expr,
    /// `None` is `<>`.
    pub(crate) strategy: Option<Strategy>,
    constant: Datum,
    type_oid: Oid,
}

pub(crate) fn comparison(expr: &Expr) -> Option<Comparison<'_>> {
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = expr else { return None };
    let [left, right] = args.as_slice() else { return None };
    let (operand, value, op) = match (constant(left), constant(right)) {
        (None, Some(value)) => (left, value, op.clone()),
        (Some(value), None) => (right, value, OperatorRef::built_in(op.commutator)?),
        _ => return None,
    };
    let strategy = match op.strategy() {
        Some(strategy) => Some(strategy),
        None if builtin::strategy(op.negator) == Some(Strategy::Equal) => None,
        None => return None,
    };
    Some(Comparison { operand, strategy, constant: value.0, type_oid: value.1 })
}

/// A constant that is not NULL, also one below lossless casts between numbers.
fn constant(expr: &Expr) -> Option<(Datum, Oid)> {
    match expr {
        Expr::Const(value, ty) if !value.is_null() => Some((value.clone(), ty.oid)),
        Expr::Relabel { arg, ty, .. } => constant(arg).map(|(value, _)| (value, ty.oid)),
        Expr::Func { func, args, ty, syntax: CallSyntax::ImplicitCast }
            if func.is_built_in()
                && matches!(ty.oid, oid::INT8 | oid::NUMERIC)
                && ty.typmod < 0 =>
        {
            let (value, from) = constant(args.first()?)?;
            if !matches!(from, oid::INT2 | oid::INT4 | oid::INT8) {
                return None;
            }
            let io = IoContext::default();
            let text = text_io::output_string(from, &value, &io).ok()?;
            Some((text_io::input(ty.oid, -1, &text, &io).ok()?, ty.oid))
        }
        _ => None,
    }
}

/// The order of constants of two types; `None` if they have no common order.
pub(crate) fn compare_constants(a: &Comparison<'_>, b: &Comparison<'_>) -> Option<Ordering> {
    let wide = |v: &Datum| match v {
        Datum::Int2(v) => Some(i64::from(*v)),
        Datum::Int4(v) => Some(i64::from(*v)),
        Datum::Int8(v) => Some(*v),
        _ => None,
    };
    match (wide(&a.constant), wide(&b.constant)) {
        (Some(x), Some(y)) => Some(x.cmp(&y)),
        _ if a.type_oid == b.type_oid => {
            Some(compare::compare_as(a.type_oid, &a.constant, &b.constant))
        }
        _ => None,
    }
}

/// `x op c` implies `x op' c'` (BT_implies_table).
fn comparison_implies(condition: &Expr, predicate: &Expr) -> bool {
    let (Some(given), Some(wanted)) = (comparison(condition), comparison(predicate)) else {
        return false;
    };
    if given.operand != wanted.operand {
        return false;
    }
    let Some(order) = compare_constants(&given, &wanted) else { return false };
    use Strategy::{Equal, Greater, GreaterEqual, Less, LessEqual};
    match (given.strategy, wanted.strategy) {
        (Some(Equal), Some(Less)) => order.is_lt(),
        (Some(Equal), Some(LessEqual)) => order.is_le(),
        (Some(Equal), Some(Equal)) => order.is_eq(),
        (Some(Equal), Some(GreaterEqual)) => order.is_ge(),
        (Some(Equal), Some(Greater)) => order.is_gt(),
        (Some(Equal), None) => order.is_ne(),
        (Some(Less), Some(Less | LessEqual) | None) => order.is_le(),
        (Some(LessEqual), Some(LessEqual)) => order.is_le(),
        (Some(LessEqual), Some(Less) | None) => order.is_lt(),
        (Some(Greater), Some(Greater | GreaterEqual) | None) => order.is_ge(),
        (Some(GreaterEqual), Some(GreaterEqual)) => order.is_ge(),
        (Some(GreaterEqual), Some(Greater) | None) => order.is_gt(),
        (None, None) => order.is_eq(),
        _ => false,
    }
}

#[cfg(test)]
#[path = "implies_tests.rs"]
pub(crate) mod tests;
