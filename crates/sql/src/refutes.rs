//! Whether conditions contradict another: may a table hold rows that a query wants, by its
//! CHECK constraints (PostgreSQL's predicate_refuted_by).
//!
//! ```text
//!   a AND b  ⇏  p        if a ⇏ p or b ⇏ p           (⇏: refutes)
//!   a OR b   ⇏  p        if a ⇏ p and b ⇏ p          (IN lists count as OR)
//!   c        ⇏  p AND q  if c ⇏ p or c ⇏ q
//!   c        ⇏  p OR q   if c ⇏ p and c ⇏ q
//!   c        ⇏  NOT p    if c ⇒ p
//!   x op c   ⇏  x op c'  by the order of the constants
//!   f(x)     ⇏  x IS NULL  if f is strict
//! ```
//!
//! "Refutes" is meant for conditions that are true, and means that the other is *false*: a CHECK
//! constraint that is NULL for a row lets it in. Two conditions of one WHERE need less: there it is
//! enough that the other is not true ([`Strength::NotTrue`]). What cannot be shown does not count.

use crate::expr::{BoolTest, Expr};
use crate::implies::{
    Comparison, all_imply, alternatives, canonical, compare_constants, comparison, strict_for,
};
use steppe_catalog::builtin::Strategy;
use steppe_types::Datum;

/// The kind of refutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// It is false.
    False,
    /// It is false or NULL.
    NotTrue,
}

/// Whether the conditions together refute one of the predicates.
pub(crate) fn refuted_by(predicates: &[Expr], conditions: &[Expr], strength: Strength) -> bool {
    let conditions: Vec<Expr> = conditions.iter().cloned().map(canonical).collect();
    let refuted = |predicate: &Expr| {
        let predicate = canonical(predicate.clone());
        any_refutes(&conditions, &predicate, strength)
    };
    predicates.iter().any(refuted)
}

fn any_refutes(conditions: &[Expr], predicate: &Expr, strength: Strength) -> bool {
    // Beside a NULL in a list nothing is false.
    let may_be_null = strength == Strength::False && lists_null(predicate);
    if let Some(parts) = parts_of_or(predicate).filter(|_| !may_be_null) {
        return parts.iter().all(|part| any_refutes(conditions, part, strength));
    }
    match predicate {
        // Arms of an OR may each refute another part.
        Expr::And(parts) => {
            let is_compound = |c: &&Expr| matches!(c, Expr::And(_)) || parts_of_or(c).is_some();
            parts.iter().any(|part| any_refutes(conditions, part, strength))
                || conditions.iter().filter(is_compound).any(|c| refutes(c, predicate, strength))
        }
        // What NOT negates may follow from all of them together.
        Expr::Not(arg) if all_imply(conditions, arg) => true,
        _ => conditions.iter().any(|condition| refutes(condition, predicate, strength)),
    }
}

fn parts_of_or(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Or(parts) => Some(parts.clone()),
        other => alternatives(other),
    }
}

fn lists_null(expr: &Expr) -> bool {
    let Expr::ScalarArrayOp { array, .. } = expr else { return false };
    match &**array {
        Expr::Const(Datum::Array(array), _) => array.elements.iter().any(Datum::is_null),
        Expr::Array { elements, .. } => {
            elements.iter().any(|e| matches!(e, Expr::Const(value, _) if value.is_null()))
        }
        _ => false,
    }
}

/// `predicate` is no OR, and an AND only if the condition is one or an OR.
fn refutes(condition: &Expr, predicate: &Expr, strength: Strength) -> bool {
    if let Expr::And(parts) = condition {
        return any_refutes(parts, predicate, strength);
    }
    if let Some(parts) = parts_of_or(condition) {
        return parts
            .iter()
            .all(|part| any_refutes(std::slice::from_ref(part), predicate, strength));
    }
    match (condition, predicate) {
        (Expr::Not(arg), _) if **arg == *predicate => true,
        (Expr::BoolTest { arg, test }, _) if **arg == *predicate => match test {
            BoolTest::False => true,
            BoolTest::NotTrue | BoolTest::Unknown => strength == Strength::NotTrue,
            _ => false,
        },
        (_, Expr::IsNull { arg, negated: false }) => strict_for(condition, arg),
        (Expr::IsNull { arg, negated: false }, Expr::IsNull { arg: other, negated: true }) => {
            arg == other
        }
        (Expr::IsNull { arg, negated: false }, _) => {
            strength == Strength::NotTrue && strict_for(predicate, arg)
        }
        _ => match (comparison(condition), comparison(predicate)) {
            (Some(given), Some(other)) => are_apart(&given, &other),
            _ => false,
        },
    }
}

/// Whether `x op c` and `x op' c'` exclude each other for every x (BT_refutes_table). If one is
/// true, the other is not NULL.
fn are_apart(given: &Comparison<'_>, other: &Comparison<'_>) -> bool {
    if given.operand != other.operand {
        return false;
    }
    let Some(order) = compare_constants(given, other) else { return false };
    use Strategy::{Equal, Greater, GreaterEqual, Less, LessEqual};
    match (given.strategy, other.strategy) {
        (Some(Equal), Some(Equal)) => order.is_ne(),
        (Some(Equal), None) | (None, Some(Equal)) => order.is_eq(),
        (Some(Less), Some(Equal | Greater | GreaterEqual)) => order.is_le(),
        (Some(LessEqual), Some(Greater)) | (Some(Equal), Some(Greater)) => order.is_le(),
        (Some(LessEqual), Some(Equal | GreaterEqual)) => order.is_lt(),
        (Some(Equal), Some(GreaterEqual)) => order.is_lt(),
        (Some(Greater), Some(Equal | Less | LessEqual)) => order.is_ge(),
        (Some(GreaterEqual), Some(Less)) | (Some(Equal), Some(Less)) => order.is_ge(),
        (Some(GreaterEqual), Some(Equal | LessEqual)) => order.is_gt(),
        (Some(Equal), Some(LessEqual)) => order.is_gt(),
        _ => false,
    }
}

#[cfg(test)]
#[path = "refutes_tests.rs"]
mod tests;
