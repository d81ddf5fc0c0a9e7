//! The rows that a scan finds: by a part of an index, or by ctids.

use crate::expr::Expr;
use steppe_catalog::builtin::PatternKind;

/// Part of an index to scan. A value may be an integer of another width than the key column. It is
/// compared by value: out of the column's range it gives no row, or no bound. Values are over no
/// row (constants, parameters, exec params).
///
/// ```text
///   keys       one search for each combination of their values, in the order of the index
///   lower …    bounds on what comes after `keys`
///   checks     looked at in each entry between, before its row is fetched
/// ```
#[derive(Clone, Debug, Default)]
pub struct IndexRange {
    /// The searches on the first columns of the index, in index order.
    pub keys: Vec<KeySearch>,
    /// Lower bound on the columns after `keys`.
    pub lower: Option<KeyEnd>,
    /// Upper bound on the columns after `keys`.
    pub upper: Option<KeyEnd>,
    /// `IS NOT NULL` on the column after `keys`.
    pub not_null: bool,
    /// Further conditions on the index's columns.
    pub checks: Vec<KeyCheck>,
    /// EXPLAIN's "Index Cond": slots are the table's columns (attribute number - 1).
    pub conditions: Vec<Expr>,
}

impl IndexRange {
    /// Calls `f` on each value that is evaluated when the scan starts.
    pub fn for_each_value<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        for key in &self.keys {
            match key {
                KeySearch::Equal(value) | KeySearch::Any(value) => f(value),
                KeySearch::IsNull | KeySearch::Each => {}
            }
        }
        self.lower.iter().chain(&self.upper).flat_map(|end| &end.values).for_each(&mut *f);
        for check in &self.checks {
            match check {
                KeyCheck::Bound { value, .. } | KeyCheck::Equal { value, .. } => f(value),
                KeyCheck::Any { array, .. } => f(array),
                KeyCheck::Row { values, .. } => values.iter().for_each(&mut *f),
                KeyCheck::Null { .. } => {}
            }
        }
    }

    /// Whether each of an index's columns is compared with one value for equality.
    pub fn is_whole_key(&self, columns: usize) -> bool {
        self.keys.len() == columns && self.keys.iter().all(|key| matches!(key, KeySearch::Equal(_)))
    }

    /// Whether a column of the index has one value in all entries that are found.
    pub fn is_fixed(&self, column: usize) -> bool {
        matches!(self.keys.get(column), Some(KeySearch::Equal(_) | KeySearch::IsNull))
    }
}

/// The rows of a scan by ctid. Values are over no row.
#[derive(Clone, Debug)]
pub enum TidRows {
    /// The rows with one of these ctids. NULL matches no row.
    Named(Vec<TidValues>),
    /// The rows between these.
    Between(Vec<TidBound>),
}

/// Ctids that rows are looked up by.
#[derive(Clone, Debug)]
pub enum TidValues {
    /// A ctid.
    One(Expr),
    /// The elements of an array.
    Any(Expr),
}

/// One end of a range of ctids.
#[derive(Clone, Debug)]
pub struct TidBound {
    /// The ctid.
    pub value: Expr,
    /// Rows' are greater.
    pub lower: bool,
    /// They may be equal.
    pub inclusive: bool,
}

impl TidRows {
    /// Calls `f` on each value.
    pub fn for_each_value<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            TidRows::Named(values) => values.iter().for_each(|values| match values {
                TidValues::One(value) | TidValues::Any(value) => f(value),
            }),
            TidRows::Between(bounds) => bounds.iter().for_each(|bound| f(&bound.value)),
        }
    }
}

/// The search on one column of an index.
#[derive(Clone, Debug)]
pub enum KeySearch {
    /// A value; NULL means no row.
    Equal(Expr),
    /// NULL.
    IsNull,
    /// Each element of an array, without duplicates.
    Any(Expr),
    /// Each value that the index has (skip scan).
    Each,
}

/// One end of a range: values of one or more columns, which are compared as a row.
#[derive(Clone, Debug)]
pub struct KeyEnd {
    /// Values of the columns after [`IndexRange::keys`]. Where an index has ascending and
    /// descending columns, the end consists of the columns with the direction of the first one, and
    /// the rest is a check.
    pub values: Vec<Expr>,
    /// Whether equal values belong to the range.
    pub inclusive: bool,
    /// The value is a pattern of this kind: the range is of the texts with its prefix. It has no
    /// end where a pattern's texts may begin with anything.
    pub pattern: Option<PatternKind>,
}

impl KeyEnd {
    /// One value.
    pub fn of(value: Expr, inclusive: bool) -> KeyEnd {
        KeyEnd { values: vec![value], inclusive, pattern: None }
    }
}

/// A condition that an index entry decides.
#[derive(Clone, Debug)]
pub enum KeyCheck {
    /// A column lies on this side of a value.
    Bound {
        /// Its place in the index.
        column: usize,
        /// The value.
        value: Expr,
        /// The column is the greater one.
        lower: bool,
        /// It may be equal.
        inclusive: bool,
    },
    /// A column equals one of an array's elements.
    Any {
        /// Its place in the index.
        column: usize,
        /// The array.
        array: Expr,
    },
    /// A column equals a value.
    Equal {
        /// Its place in the index.
        column: usize,
        /// The value.
        value: Expr,
    },
    /// A column is NULL, or is not.
    Null {
        /// Its place in the index.
        column: usize,
        /// IS NOT NULL.
        negated: bool,
    },
    /// Some columns as a row lie on this side of other values.
    Row {
        /// Their places in the index.
        columns: Vec<usize>,
        /// The values.
        values: Vec<Expr>,
        /// The columns are the greater ones.
        lower: bool,
        /// They may be equal.
        inclusive: bool,
    },
}
