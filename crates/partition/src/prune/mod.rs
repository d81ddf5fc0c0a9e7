//! Pruning: which partitions can hold rows that satisfy a predicate.
//!
//! A predicate over the key is compiled once into [`PruningSteps`]. Its operands are constants or
//! numbered slots, whose values the caller gives when it binds: parameters, stable functions, the
//! outer side's row of a nested loop. Evaluated, the steps give a [`KeySet`], the set of keys that
//! could satisfy the predicate, as ranges of the key space; [`crate::PartitionMap::select`] walks
//! the partitions that meet it. The cost depends on the partitions that are kept, not on all.
//!
//! ```text
//! a = $1 AND (b < 5 OR b IS NULL)       a: ├┤   b: ├────┤ + NULL
//!
//!      compiled: AND ─┬─ column a: = slot 1
//!                     └─ column b: OR ─┬─ < 5
//!                                      └─ IS NULL
//!      bound with 7:  01⟨7⟩01 … 01⟨7⟩01⟨5⟩, and NULL in some column
//! ```
//!
//! Correctness: the set contains the key of every row for which the predicate is true. A condition
//! that is not supported stands for every key: as a conjunct it prunes nothing, as a disjunct it
//! keeps everything.

mod cuts;
mod evaluate;
pub(crate) mod ranges;
mod steps;

use ranges::KeyRanges;
use steppe_types::Datum;

pub use steps::PruningSteps;

/// The conditions of a predicate on the columns of a partition key, by their index.
///
/// Operators are those of the column's own btree or hash operator family: a
/// comparison of `column::text` is not one of the column, unless the cast keeps
/// value and order.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// `column operator operand`
    Compare {
        /// The key column.
        column: usize,
        /// The operator.
        operator: Comparison,
        /// The other side.
        operand: Operand,
    },
    /// `column operator ANY (array)`, of which IN is the case `=`.
    Any {
        /// The key column.
        column: usize,
        /// The operator.
        operator: Comparison,
        /// An array.
        array: Operand,
    },
    /// `column operator ALL (array)`, of which NOT IN is the case `<>`.
    All {
        /// The key column.
        column: usize,
        /// The operator.
        operator: Comparison,
        /// An array.
        array: Operand,
    },
    /// `(columns) operator (operands)` for `<`, `<=`, `>=`, `>`.
    Row {
        /// The left side; `None` for an expression that is no key column.
        columns: Vec<Option<usize>>,
        /// The operator.
        operator: Comparison,
        /// The right side, of as many operands.
        operands: Vec<Operand>,
    },
    /// `column IS NULL`
    IsNull {
        /// The key column.
        column: usize,
    },
    /// `column IS NOT NULL`
    IsNotNull {
        /// The key column.
        column: usize,
    },
    /// `column IS [NOT] TRUE` and `FALSE`: a boolean column alone is `IS TRUE`, and
    /// `NOT column` is `IS FALSE`. (UNKNOWN is NULL.)
    IsBool {
        /// The key column.
        column: usize,
        /// The value of the test.
        value: bool,
        /// Whether it is not.
        negated: bool,
    },
    /// A condition without columns: FALSE and NULL select no key, TRUE every key.
    Known {
        /// A boolean.
        value: Operand,
    },
    /// All of the conditions.
    And(Vec<Predicate>),
    /// Any of the conditions.
    Or(Vec<Predicate>),
    /// TRUE, or FALSE (which NULL is as well, in WHERE).
    Constant(bool),
    /// Anything else.
    Unknown,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `=`
    Equal,
    /// `>=`
    GreaterEqual,
    /// `>`
    Greater,
    /// `<>`
    NotEqual,
}

/// A value that a key column is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A value that is known when the predicate is compiled.
    Constant(Datum),
    /// A value that is known when the predicate is bound, by the caller's number.
    Slot(u32),
}

/// A set of keys of one parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet {
    /// Keys without NULLs; for a hash-partitioned parent, hashes of rows.
    pub(crate) ranges: KeyRanges,
    /// Whether keys with a NULL may be among them.
    pub(crate) null: bool,
}

impl KeySet {
    /// Every key.
    pub fn all() -> KeySet {
        KeySet { ranges: KeyRanges::all(), null: true }
    }

    /// The empty set.
    pub fn none() -> KeySet {
        KeySet { ranges: KeyRanges::none(), null: false }
    }

    /// Whether no key is in it.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && !self.null
    }

    /// Whether every key is in it.
    pub fn is_all(&self) -> bool {
        self.ranges.is_all() && self.null
    }

    /// The keys that are in both, or more: the set only notes whether it has keys with NULLs.
    pub fn intersect(self, other: KeySet) -> KeySet {
        KeySet { ranges: self.ranges.intersect(other.ranges), null: self.null && other.null }
    }

    /// The keys that are in either.
    pub fn union(self, other: KeySet) -> KeySet {
        KeySet { ranges: self.ranges.union(other.ranges), null: self.null || other.null }
    }
}
