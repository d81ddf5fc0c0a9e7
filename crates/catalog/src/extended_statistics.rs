//! CREATE STATISTICS: objects that say which columns of a table, and which expressions over them,
//! are to be looked at, together and the expressions alone (pg_statistic_ext), and what ANALYZE
//! found about them (pg_statistic_ext_data).
//!
//! An object is kept with its table, with which it goes; its schema is its own.
//!
//! Versions of Steppe before that kept no schema of it, which was always its table's. What they
//! wrote is completed each time that it is read ([`complete_schemas`]), and on disk when the table
//! is changed.

use crate::RareText;
use crate::relation::Relation;
use crate::statistics::{ColumnStatistics, values};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::{Datum, Oid, oid};

/// The schema of an object that was written without one.
const OF_TABLE: Oid = oid::INVALID_OID;

/// Gives the objects of a table that has just been read their schemas, where they lack them.
pub(crate) fn complete_schemas(table: &mut Arc<Relation>) {
    if table.extended.iter().all(|object| object.schema != OF_TABLE) {
        return;
    }
    let table = Arc::make_mut(table);
    for object in table.extended.iter_mut().filter(|object| object.schema == OF_TABLE) {
        object.schema = table.schema;
    }
}

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
    /// Schema OID; [`OF_TABLE`] as long as it is not completed.
    #[serde(default)]
    pub schema: Oid,
    /// Name, among the statistics objects of its schema.
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

#[cfg(test)]
mod tests {
    use super::{StatisticsKind, complete_schemas};
    use crate::relation::Relation;
    use std::sync::Arc;

    #[test]
    fn objects_written_without_a_schema_are_in_their_tables() {
        let json = r#"{"oid": 16384, "schema": 2200, "name": "t", "kind": "Table", "owner": 10,
            "columns": [], "extended": [
                {"oid": 16390, "name": "s", "columns": [1, 2], "kinds": ["Distinct"]},
                {"oid": 16391, "schema": 16380, "name": "s", "columns": [1, 2], "kinds": []}]}"#;
        let mut table: Arc<Relation> = Arc::new(serde_json::from_str(json).expect("readable"));
        complete_schemas(&mut table);
        let schemas: Vec<u32> = table.extended.iter().map(|object| object.schema).collect();
        assert_eq!(schemas, [2200, 16380]);
        assert_eq!(table.extended[0].kinds, [StatisticsKind::Distinct]);
        let written = serde_json::to_string(&table).expect("written");
        assert!(written.contains(r#"{"oid":16390,"schema":2200,"#), "{written}");
    }
}
