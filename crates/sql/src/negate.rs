//! Simplifies NOT, and comparisons with true and false, to the form that indexes, bounds of
//! partitions and proofs need (negate_clause and simplify_boolean_equality in clauses.c).
//!
//! ```text
//!   NOT (a < 1)            a >= 1                 by the operator's negator, if it has one
//!   NOT (a = ANY (…))      a <> ALL (…)
//!   NOT (p AND q)          NOT p OR NOT q
//!   NOT (NOT p)            p
//!   NOT (a IS NULL)        a IS NOT NULL
//!   p = true, p <> false   p
//!   p = false, p <> true   NOT p
//! ```
//!
//! Each is NULL where the original is.

use crate::expr::{BoolTest, CallSyntax, Expr};
use steppe_catalog::{FunctionRef, OperatorRef, is_row_type};
use steppe_types::{Datum, Oid, oid};

/// pg_operator's `=` and `<>` of booleans.
const BOOLEAN_EQUAL: Oid = 91;
const BOOLEAN_NOT_EQUAL: Oid = 85;

/// The simpler form of an expression whose operands have theirs.
pub fn without_not(expr: Expr) -> Expr {
    match expr {
        Expr::Not(arg) => negate(*arg),
        Expr::Func { syntax: CallSyntax::Operator(op), args, func, ty }
            if matches!(op.oid, BOOLEAN_EQUAL | BOOLEAN_NOT_EQUAL) =>
        {
            match <[Expr; 2]>::try_from(args) {
                Ok([Expr::Const(Datum::Bool(value), _), other])
                | Ok([other, Expr::Const(Datum::Bool(value), _)]) => {
                    if value == (op.oid == BOOLEAN_EQUAL) { other } else { negate(other) }
                }
                Ok([left, right]) => {
                    let args = vec![left, right];
                    Expr::Func { syntax: CallSyntax::Operator(op), args, func, ty }
                }
                Err(args) => Expr::Func { syntax: CallSyntax::Operator(op), args, func, ty },
            }
        }
        other => other,
    }
}

/// Negates an expression that has no simpler form itself.
fn negate(expr: Expr) -> Expr {
    let all = |args: Vec<Expr>| args.into_iter().map(negate).collect();
    match expr {
        Expr::Not(arg) => *arg,
        Expr::And(args) => Expr::Or(all(args)),
        Expr::Or(args) => Expr::And(all(args)),
        Expr::Const(Datum::Bool(value), ty) => Expr::Const(Datum::Bool(!value), ty),
        // All columns of a row may be NULL, or none, or neither.
        Expr::IsNull { arg, negated } if !is_row(&arg) => Expr::IsNull { arg, negated: !negated },
        Expr::BoolTest { arg, test } => Expr::BoolTest { arg, test: opposite(test) },
        Expr::Func { syntax: CallSyntax::Operator(op), args, func, ty } => {
            let (func, op, is_negated) = negated_operator(func, op);
            let call = Expr::Func { syntax: CallSyntax::Operator(op), args, func, ty };
            if is_negated { call } else { Expr::Not(Box::new(call)) }
        }
        Expr::ScalarArrayOp { syntax: CallSyntax::Operator(op), func, all, left, array } => {
            let (func, op, is_negated) = negated_operator(func, op);
            let (syntax, all) = (CallSyntax::Operator(op), all != is_negated);
            let call = Expr::ScalarArrayOp { syntax, func, all, left, array };
            if is_negated { call } else { Expr::Not(Box::new(call)) }
        }
        other => Expr::Not(Box::new(other)),
    }
}

/// The negator of an operator and its function, or the operator itself.
fn negated_operator(func: FunctionRef, op: OperatorRef) -> (FunctionRef, OperatorRef, bool) {
    let negator = OperatorRef::built_in(op.negator);
    match negator.and_then(|negator| Some((negator.built_in_function()?, negator))) {
        Some((func, negator)) => (func, negator, true),
        None => (func, op, false),
    }
}

fn is_row(expr: &Expr) -> bool {
    let ty = expr.ty().oid;
    ty == oid::RECORD || is_row_type(ty)
}

fn opposite(test: BoolTest) -> BoolTest {
    match test {
        BoolTest::True => BoolTest::NotTrue,
        BoolTest::NotTrue => BoolTest::True,
        BoolTest::False => BoolTest::NotFalse,
        BoolTest::NotFalse => BoolTest::False,
        BoolTest::Unknown => BoolTest::NotUnknown,
        BoolTest::NotUnknown => BoolTest::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::TypeRef;

    /// pg_operator's `<` and `>=` of integers, and `@>` of arrays, which has no negator.
    const LESS: Oid = 97;
    const NOT_LESS: Oid = 525;
    const CONTAINS: Oid = 2751;

    fn compared(op: Oid) -> Expr {
        let operator = OperatorRef::built_in(op).expect("a built-in");
        let slot = |index| Expr::Slot { index, ty: TypeRef::plain(operator.left) };
        let (args, ty) = (vec![slot(0), slot(1)], TypeRef::plain(oid::BOOL));
        let func = operator.built_in_function().expect("its function");
        Expr::Func { func, args, ty, syntax: CallSyntax::Operator(operator) }
    }

    fn not(expr: Expr) -> Expr {
        Expr::Not(Box::new(expr))
    }

    #[test]
    fn comparisons_have_negators_if_they_have_them() {
        assert_eq!(without_not(not(compared(LESS))), compared(NOT_LESS));
        assert_eq!(without_not(not(compared(CONTAINS))), not(compared(CONTAINS)));
    }

    #[test]
    fn junctions_change_places() {
        let both = Expr::And(vec![compared(LESS), not(compared(CONTAINS))]);
        let either = Expr::Or(vec![compared(NOT_LESS), compared(CONTAINS)]);
        assert_eq!(without_not(not(both.clone())), either);
        assert_eq!(without_not(not(either)), both);
    }

    #[test]
    fn a_row_is_neither_null_nor_not_null() {
        let is_null = |arg: Expr| Expr::IsNull { arg: Box::new(arg), negated: false };
        let row = is_null(Expr::Row(vec![Expr::boolean(true)], oid::RECORD));
        assert_eq!(without_not(not(row.clone())), not(row));
        let value = Expr::Slot { index: 0, ty: TypeRef::plain(oid::INT4) };
        let expected = Expr::IsNull { arg: Box::new(value.clone()), negated: true };
        assert_eq!(without_not(not(is_null(value))), expected);
    }

    #[test]
    fn comparisons_with_true_and_false_are_none() {
        let equal = |op, value| {
            let args = vec![compared(LESS), Expr::boolean(value)];
            let ty = TypeRef::plain(oid::BOOL);
            let operator = OperatorRef::built_in(op).expect("a built-in");
            let func = operator.built_in_function().expect("its function");
            without_not(Expr::Func { func, args, ty, syntax: CallSyntax::Operator(operator) })
        };
        assert_eq!(equal(BOOLEAN_EQUAL, true), compared(LESS));
        assert_eq!(equal(BOOLEAN_EQUAL, false), compared(NOT_LESS));
        assert_eq!(equal(BOOLEAN_NOT_EQUAL, true), compared(NOT_LESS));
        assert_eq!(equal(BOOLEAN_NOT_EQUAL, false), compared(LESS));
    }
}
