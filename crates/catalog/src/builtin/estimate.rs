//! The selectivity estimators of operators (pg_operator.oprrest and oprjoin). The defaults without
//! statistics are those of selfuncs.h and related files.

use steppe_types::Oid;

/// An estimator of the fraction of rows that an operator selects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimate {
    /// eqsel
    Equal,
    /// neqsel
    NotEqual,
    /// scalarltsel
    Less,
    /// scalarlesel
    LessEqual,
    /// scalargtsel
    Greater,
    /// scalargesel
    GreaterEqual,
    /// likesel, regexeqsel and similar ones, and their negations.
    Match {
        /// The kind of the pattern.
        pattern: PatternKind,
        /// Whether the operator is negated, as NOT LIKE is.
        negated: bool,
    },
    /// arraycontsel
    Elements,
    /// A constant: statistics of these types would not help.
    Fixed(f64),
    /// The operator has no estimator.
    None,
}

impl Estimate {
    /// Whether it is the estimator of a comparison such as `=` or `<`.
    pub fn is_of_comparison(self) -> bool {
        use Estimate::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }
}

/// Kinds of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternKind {
    /// LIKE
    Like,
    /// ILIKE
    LikeFolded,
    /// ~
    Regex,
    /// ~*
    RegexFolded,
    /// ^@
    Prefix,
}

impl Estimate {
    /// The fraction that the estimator supposes where it knows nothing of the values (selfuncs.h).
    pub(crate) fn without_statistics(self) -> Estimate {
        match self {
            Estimate::Equal => Estimate::Fixed(0.005),
            Estimate::NotEqual => Estimate::Fixed(0.995),
            Estimate::Less | Estimate::LessEqual | Estimate::Greater | Estimate::GreaterEqual => {
                Estimate::Fixed(1.0 / 3.0)
            }
            Estimate::Match { negated: false, .. } | Estimate::Elements => Estimate::Fixed(0.005),
            Estimate::Match { negated: true, .. } => Estimate::Fixed(0.995),
            Estimate::Fixed(_) | Estimate::None => self,
        }
    }

    /// The estimator with this OID in pg_proc.
    pub(crate) fn of(function: Oid) -> Estimate {
        use PatternKind::*;
        let like = |pattern, negated| Estimate::Match { pattern, negated };
        match function {
            0 => Estimate::None,
            101 | 105 => Estimate::Equal,
            102 | 106 => Estimate::NotEqual,
            103 | 107 => Estimate::Less,
            336 | 386 => Estimate::LessEqual,
            104 | 108 => Estimate::Greater,
            337 | 398 => Estimate::GreaterEqual,
            1819 | 1825 => like(Like, false),
            1822 | 1828 => like(Like, true),
            1814 | 1816 => like(LikeFolded, false),
            1815 | 1817 => like(LikeFolded, true),
            1818 | 1824 => like(Regex, false),
            1821 | 1827 => like(Regex, true),
            1820 | 1826 => like(RegexFolded, false),
            1823 | 1829 => like(RegexFolded, true),
            3437 | 3438 => like(Prefix, false),
            3817 | 3818 => Estimate::Elements,
            // areasel, positionsel, contsel; matchingsel, tsmatchsel, networksel.
            139 | 140 => Estimate::Fixed(0.005),
            1300 | 1301 => Estimate::Fixed(0.1),
            1302 | 1303 => Estimate::Fixed(0.001),
            5040 | 5041 => Estimate::Fixed(0.01),
            3686 | 3687 => Estimate::Fixed(0.001),
            _ => Estimate::Fixed(0.005),
        }
    }
}
