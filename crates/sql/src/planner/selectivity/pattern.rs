//! LIKE, ILIKE, `~`, `~*` and `^@` (patternsel: like_support.c).
//!
//! The estimate for values in the histogram is the fraction of its bounds that match, if there are
//! enough. Otherwise it follows from the pattern's text: the fixed prefix is a range, and each
//! further character reduces the rest. Between 10 and 100 bounds both count.

use super::inequality::Side;
use super::pattern_prefix::{Kind, Prefix, least_greater};
use super::variable::Variable;
use super::{Comparison, Estimator, Operand};
use steppe_catalog::builtin::PatternKind;
use steppe_types::text::like::LikePattern;
use steppe_types::text::regex::{Regex, RegexFlags};
use steppe_types::{Datum, Oid, oid};

/// The default without statistics.
const DEFAULT_MATCH: f64 = 0.005;
/// The number of bounds from which on a histogram counts, and the number from which on it alone
/// counts.
const BOUNDS_MIN: usize = 10;
const BOUNDS_ENOUGH: f64 = 100.0;
/// Limits of the estimate, since a histogram does not have all values.
const LEAST: f64 = 0.0001;
const MOST: f64 = 0.9999;

/// A compiled pattern.
enum Matcher<'a> {
    Like(LikePattern),
    Regex(Box<Regex>),
    Prefix(&'a str),
}

impl Matcher<'_> {
    fn new(pattern: &str, kind: PatternKind) -> Option<Matcher<'_>> {
        let regex = |flags: &str| Regex::new(pattern, RegexFlags::parse(flags).ok()?).ok();
        Some(match kind {
            PatternKind::Like => Matcher::Like(LikePattern::new(pattern, Some('\\'))),
            PatternKind::LikeFolded => {
                Matcher::Like(LikePattern::new_case_insensitive(pattern, Some('\\')))
            }
            PatternKind::Regex => Matcher::Regex(Box::new(regex("")?)),
            PatternKind::RegexFolded => Matcher::Regex(Box::new(regex("i")?)),
            PatternKind::Prefix => Matcher::Prefix(pattern),
        })
    }

    fn matches(&self, value: &Datum) -> bool {
        let Datum::Text(text) = value else { return false };
        match self {
            Matcher::Like(pattern) => pattern.matches(text).unwrap_or(false),
            Matcher::Regex(pattern) => pattern.is_match(text).unwrap_or(false),
            Matcher::Prefix(prefix) => text.starts_with(prefix),
        }
    }
}

impl Estimator<'_> {
    /// Fraction of rows where a column matches a pattern, or does not.
    pub(super) fn matching(
        &self,
        sides: Option<&Comparison<'_, '_>>,
        kind: PatternKind,
        negated: bool,
    ) -> f64 {
        let unknown = if negated { 1.0 - DEFAULT_MATCH } else { DEFAULT_MATCH };
        let Some(Comparison { variable, value, is_left: true }) = sides else { return unknown };
        let pattern = match value {
            Operand::Null => return 0.0,
            Operand::Value(value) => value,
            Operand::Unknown => return unknown,
        };
        let Datum::Text(pattern) = &**pattern else { return unknown };
        let Some(matcher) = Matcher::new(pattern, kind).filter(|_| is_text(variable.type_oid))
        else {
            return unknown;
        };
        let matched = self.matched(variable, &Prefix::of(pattern, kind), &matcher);
        let selected = match negated {
            true => 1.0 - matched - variable.null_fraction(),
            false => matched,
        };
        selected.clamp(0.0, 1.0)
    }

    fn matched(&self, variable: &Variable<'_>, prefix: &Prefix, matcher: &Matcher<'_>) -> f64 {
        if prefix.kind == Kind::Exact {
            return self.equals(variable, &Datum::text(&*prefix.text));
        }
        let by_pattern = || {
            let within = match prefix.kind {
                Kind::None => 1.0,
                _ => self.begins_with(variable, &prefix.text),
            };
            within * prefix.rest
        };
        let bounds = variable.statistics.map_or(&[][..], |found| &found.histogram);
        // The ends are out of the ordinary.
        let inner = bounds.get(1..bounds.len().max(1) - 1).filter(|_| bounds.len() >= BOUNDS_MIN);
        let share = match inner {
            None => by_pattern(),
            Some(inner) => {
                let matching = inner.iter().filter(|bound| matcher.matches(bound)).count();
                let share = matching as f64 / inner.len() as f64;
                match bounds.len() as f64 / BOUNDS_ENOUGH {
                    weight if weight < 1.0 => share * weight + by_pattern() * (1.0 - weight),
                    _ => share,
                }
            }
        };
        let (selected, common) = self.common_values(variable, |value| matcher.matches(value));
        let others = 1.0 - variable.null_fraction() - common;
        share.clamp(LEAST, MOST) * others + selected
    }

    /// The share of the histogram that begins with a prefix (prefix_selectivity).
    fn begins_with(&self, variable: &Variable<'_>, prefix: &str) -> f64 {
        let first = Datum::text(prefix);
        let from = Side { is_less: false, or_equal: true };
        let Some(from) = self.histogram_share(variable, &first, from) else {
            return DEFAULT_MATCH;
        };
        let below = Side { is_less: true, or_equal: false };
        let below = least_greater(prefix)
            .and_then(|greater| self.histogram_share(variable, &Datum::text(&*greater), below));
        let within = below.map_or(from, |below| from + below - 1.0);
        // The histogram may be too coarse for a long prefix.
        within.max(self.equals(variable, &first))
    }
}

fn is_text(type_oid: Oid) -> bool {
    matches!(type_oid, oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME)
}
