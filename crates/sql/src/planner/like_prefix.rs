//! The range that a pattern's prefix gives (like_support.c): `t LIKE 'abc%'` lies between 'abc' and
//! 'abd'.
//!
//! Keys are ordered by bytes, as PostgreSQL's are in the C collation. The pattern stays a filter,
//! since the bounds are weaker.
//!
//! A pattern that is a parameter gives bounds when it is known. The example value of the plan
//! variant decides whether that is worth an index scan (`by_value`). Patterns without a prefix are
//! of another class; if one is met nevertheless, all of the index is read.

use super::cost::strip;
use super::selectivity::{fixed_prefix, least_greater};
use crate::expr::{CallSyntax, Expr, TypeRef};
use crate::plan::KeyEnd;
use steppe_catalog::builtin;
use steppe_catalog::builtin::PatternKind;
use steppe_types::{Datum, oid};

/// A text column with the bounds that a pattern gives it.
pub(super) struct PrefixBounds {
    pub(super) lower: KeyEnd,
    /// `None`: no text is greater than all that begin so.
    pub(super) upper: Option<KeyEnd>,
    /// EXPLAIN's index conditions: both bounds, or the condition itself while the pattern is
    /// unknown.
    pub(super) conditions: Vec<Expr>,
}

/// The two sides of a condition that may give bounds: a text and its pattern, of which kind.
pub(super) fn text_and_pattern(condition: &Expr) -> Option<(&Expr, &Expr, PatternKind)> {
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else { return None };
    let name = op.built_in_name().filter(|_| op.left == oid::TEXT)?;
    let [text, pattern] = args.as_slice() else { return None };
    let kind = match name {
        "~~" => PatternKind::Like,
        "~" => PatternKind::Regex,
        "^@" => PatternKind::Prefix,
        _ => return None,
    };
    Some((text, pattern, kind))
}

/// The bounds of a condition's text. `None`: its pattern is not known, or begins with anything. For
/// a parameter, the plan's example values decide.
pub(super) fn prefix_bounds(condition: &Expr, examples: &[Datum]) -> Option<PrefixBounds> {
    let (text, pattern, kind) = text_and_pattern(condition)?;
    if let Some(example) = example(pattern, examples) {
        let end =
            |inclusive| KeyEnd { pattern: Some(kind), ..KeyEnd::of(pattern.clone(), inclusive) };
        return (!fixed_prefix(example, kind).is_empty()).then(|| PrefixBounds {
            lower: end(true),
            upper: Some(end(false)),
            conditions: vec![condition.clone()],
        });
    }
    let Expr::Const(Datum::Text(pattern), _) = strip(pattern) else { return None };
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
    let (lower, upper) = (KeyEnd::of(lower, true), upper.map(|upper| KeyEnd::of(upper, false)));
    Some(PrefixBounds { lower, upper, conditions })
}

fn example<'v>(pattern: &Expr, examples: &'v [Datum]) -> Option<&'v str> {
    let Expr::Param { index, .. } = strip(pattern) else { return None };
    match examples.get(*index)? {
        Datum::Text(example) => Some(example),
        _ => None,
    }
}

/// Whether a condition compares with a pattern that is a parameter, whose value has a fixed prefix.
pub(super) fn begins_by_value(condition: &Expr, values: &[Datum]) -> bool {
    text_and_pattern(condition).is_some_and(|(_, pattern, kind)| {
        example(pattern, values).is_some_and(|value| !fixed_prefix(value, kind).is_empty())
    })
}

/// An end of the texts with a pattern's prefix: the lower one, or the upper one, which does not
/// belong to them. `None`: there is no such end.
pub fn pattern_end(pattern: &str, kind: PatternKind, is_lower: bool) -> Option<String> {
    let prefix = fixed_prefix(pattern, kind);
    match (prefix.is_empty(), is_lower) {
        (true, _) => None,
        (false, true) => Some(prefix),
        (false, false) => least_greater(&prefix),
    }
}

fn comparison(name: &str, left: &Expr, right: &Expr) -> Option<Expr> {
    let operator = builtin::operator_of(name, oid::TEXT, oid::TEXT)?;
    Some(Expr::Func {
        func: operator.built_in_function()?,
        args: vec![left.clone(), right.clone()],
        ty: TypeRef::plain(oid::BOOL),
        syntax: CallSyntax::Operator(operator),
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
