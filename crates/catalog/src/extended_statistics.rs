//! CREATE STATISTICS: objects that say which columns of a table, and which expressions over them,
//! are to be looked at, together and the expressions alone (pg_statistic_ext), and what ANALYZE
//! found about them (pg_statistic_ext_data).
//!
//! An object is kept with its table, in whose schema it is: it goes when the table does.

use crate::RareText;
use crate::statistics::{ColumnStatistics, values};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::{Datum, Oid};

/// What is to be found about columns together (pg_statistic_ext.stxkind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StatisticsKind {
    /// How many distinct combinations of values there are.
    Distinct,
    /// Which columns decide others.
    Dependencies,
    /// The most common combinations of values.
    MostCommon,
}

impl StatisticsKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [StatisticsKind; 3] =
        [StatisticsKind::Distinct, StatisticsKind::Dependencies, StatisticsKind::MostCommon];

    /// pg_statistic_ext.stxkind.
    pub fn code(self) -> u8 {
        match self {
            StatisticsKind::Distinct => b'd',
            StatisticsKind::Dependencies => b'f',
            StatisticsKind::MostCommon => b'm',
        }
    }

    /// As CREATE STATISTICS names it.
    pub fn name(self) -> &'static str {
        match self {
            StatisticsKind::Distinct => "ndistinct",
            StatisticsKind::Dependencies => "dependencies",
            StatisticsKind::MostCommon => "mcv",
        }
    }
}

/// A statistics object of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExtendedStatistics {
    /// Its OID.
    pub oid: Oid,
    /// Name, among the statistics objects of its table's schema.
    pub name: Arc<str>,
    /// Attribute numbers, ascending.
    pub columns: Vec<i16>,
    /// After the columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<StatisticsExpression>,
    /// What is to be found.
    pub kinds: Vec<StatisticsKind>,
    /// ALTER STATISTICS … SET STATISTICS: how many combinations are kept; 0: nothing is to be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<i16>,
    /// COMMENT ON STATISTICS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<RareText>,
    /// What ANALYZE found: about the table's rows, and about those of what inherits from it, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<ExtendedFound>,
}

/// An expression over a table of which statistics are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsExpression {
    /// As SQL text.
    pub text: Arc<str>,
    /// Its type.
    pub type_oid: Oid,
}

impl ExtendedStatistics {
    /// The numbers of its columns, and of its expressions: -1, -2 and so on.
    pub fn members(&self) -> Vec<i16> {
        let expressions = (1..).zip(&self.expressions).map(|(number, _): (i16, _)| -number);
        self.columns.iter().copied().chain(expressions).collect()
    }
}

/// What ANALYZE found about columns together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExtendedFound {
    /// It is about the rows of what inherits from the table, too.
    pub inherited: bool,
    /// How many distinct combinations there are of which columns (members' numbers).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distinct: Vec<(Vec<i16>, f64)>,
    /// To what degree the last of these columns is decided by the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<(Vec<i16>, f64)>,
    /// The most common combinations of the object's columns, the most common first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub most_common: Vec<Combination>,
    /// What it found about each of the object's expressions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<ColumnStatistics>,
}

/// A common combination of values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Combination {
    /// Of each column its value, which may be NULL.
    #[serde(with = "values")]
    pub values: Vec<Datum>,
    /// The fraction of the rows that have it.
    pub frequency: f64,
    /// What that would be, were the columns independent.
    pub base_frequency: f64,
}
