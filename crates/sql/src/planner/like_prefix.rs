//! What a pattern says about the beginning of a text (like_support.c): `t LIKE 'abc%'` lies
//! between 'abc' and 'abd'.
//!
//! Keys are ordered by bytes, as PostgreSQL's are in the C collation. The bounds are not all that
//! the pattern says: it stays a filter.

use super::cost::strip;
use super::selectivity::{fixed_prefix, least_greater};
use crate::expr::{CallSyntax, Expr, TypeRef};
use steppe_catalog::Builtins;
use steppe_catalog::builtin::PatternKind;
use steppe_types::{Datum, oid};

/// A text column with the bounds that a pattern gives it.
pub(super) struct PrefixBounds {
    pub(super) lower: Expr,
    /// Less than this; `None`: no text is greater than all that begin so.
    pub(super) upper: Option<Expr>,
    /// Both as conditions.
    pub(super) conditions: Vec<Expr>,
}

/// The two sides of a condition that may give bounds: a text and its pattern.
pub(super) fn text_and_pattern(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else { return None };
    let operator = Builtins::get().operator(*op)?;
    let [text, pattern] = args.as_slice() else { return None };
    let is_one = matches!(operator.name, "~~" | "^@") && operator.left == oid::TEXT;
    is_one.then_some((text, pattern))
}

/// The bounds of a condition's text; `None`: its pattern is not known, or begins with anything.
pub(super) fn prefix_bounds(condition: &Expr) -> Option<PrefixBounds> {
    let (text, pattern) = text_and_pattern(condition)?;
    let Expr::Const(Datum::Text(pattern), _) = strip(pattern) else { return None };
    let Expr::Func { syntax: CallSyntax::Operator(op), .. } = condition else { return None };
    let kind = match Builtins::get().operator(*op)?.name {
        "^@" => PatternKind::Prefix,
        _ => PatternKind::Like,
    };
    let prefix = fixed_prefix(pattern, kind);
    if prefix.is_empty() {
        return None;
    }
    let value = |text: &str| Expr::Const(Datum::text(text), TypeRef::plain(oid::TEXT));
    let upper = least_greater(&prefix).map(|text| value(&text));
    let lower = value(&prefix);
    let mut conditions = vec![comparison(">=", text, &lower)?];
    if let Some(upper) = &upper {
        conditions.push(comparison("<", text, upper)?);
    }
    Some(PrefixBounds { lower, upper, conditions })
}

fn comparison(name: &str, left: &Expr, right: &Expr) -> Option<Expr> {
    let mut operators = Builtins::get().operators_named(name);
    let operator = operators.find(|o| (o.left, o.right) == (oid::TEXT, oid::TEXT))?;
    Some(Expr::Func {
        func: operator.func,
        args: vec![left.clone(), right.clone()],
        ty: TypeRef::plain(oid::BOOL),
        syntax: CallSyntax::Operator(operator.oid),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_first_wildcard() {
        for (pattern, prefix) in [
            ("abc%", "abc"),
            ("a_c", "a"),
            ("%abc", ""),
            ("a\\%b%", "a%b"),
            ("a\\_\\\\c_", "a_\\c"),
            ("ab\\", "ab"),
            ("abc", "abc"),
        ] {
            assert_eq!(fixed_prefix(pattern, PatternKind::Like), prefix, "{pattern}");
        }
    }

    #[test]
    fn nothing_lies_between_a_prefix_and_its_successor_that_does_not_begin_so() {
        assert_eq!(least_greater("abc").as_deref(), Some("abd"));
        assert_eq!(least_greater("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(least_greater("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(least_greater("\u{7f}").as_deref(), Some("\u{80}"));
        assert_eq!(least_greater("\u{10ffff}"), None);
    }
}
