//! CREATE STATISTICS: objects that name columns of a table, and expressions over them, for ANALYZE
//! to analyse in combination, and the expressions also alone (pg_statistic_ext). Also ANALYZE's
//! results for them (pg_statistic_ext_data).
//!
//! An object is stored with its table and is dropped with it; it has a schema of its own.
//!
//! Earlier versions of Steppe did not store its schema, which was always the table's. Their objects
//! are completed each time that they are read ([`complete_schemas`]), and on disk when the table is
//! changed.

use crate::RareText;
use crate::relation::Relation;
use crate::statistics::{ColumnStatistics, values};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::{Datum, Oid, oid};

/// The schema of an object that was stored without one.
const OF_TABLE: Oid = oid::INVALID_OID;

/// Sets the missing schemas of the statistics objects of a table that has just been read.
pub(crate) fn complete_schemas(table: &mut Arc<Relation>) {
    if table.extended.iter().all(|object| object.schema != OF_TABLE) {
        return;
    }
    let table = Arc::make_mut(table);
    for object in table.extended.iter_mut().filter(|object| object.schema == OF_TABLE) {
        object.schema = table.schema;
    }
}

/// The kinds of statistics about combined columns (pg_statistic_ext.stxkind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StatisticsKind {
    /// The number of distinct combinations of values.
    Distinct,
    /// Functional dependencies between columns.
    Dependencies,
    /// The most common combinations of values.
    MostCommon,
}

impl StatisticsKind {
    /// All kinds, in the order in which they are shown.
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

    /// The name in CREATE STATISTICS.
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
    /// Schema OID; [`OF_TABLE`] until it is completed.
    #[serde(default)]
    pub schema: Oid,
    /// Name, unique among the statistics objects of its schema.
    pub name: Arc<str>,
    /// Attribute numbers, ascending.
    pub columns: Vec<i16>,
    /// Expressions, which follow the columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<StatisticsExpression>,
    /// The kinds of statistics to compute.
    pub kinds: Vec<StatisticsKind>,
    /// ALTER STATISTICS … SET STATISTICS: the number of combinations to keep. 0 disables the
    /// object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<i16>,
    /// COMMENT ON STATISTICS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<RareText>,
    /// ANALYZE's results: for the table's rows, and for the rows of the table and its children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<ExtendedFound>,
}

/// An expression over a table that has statistics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsExpression {
    /// The expression as SQL text.
    pub text: Arc<str>,
    /// The expression's type.
    pub type_oid: Oid,
}

impl ExtendedStatistics {
    /// The numbers of its columns, and of its expressions: -1, -2 and so on.
    pub fn members(&self) -> Vec<i16> {
        let expressions = (1..).zip(&self.expressions).map(|(number, _): (i16, _)| -number);
        self.columns.iter().copied().chain(expressions).collect()
    }
}

/// ANALYZE's results about combined columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExtendedFound {
    /// Whether the rows of the table's children are included.
    pub inherited: bool,
    /// Numbers of distinct combinations, by the numbers of the combined members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distinct: Vec<(Vec<i16>, f64)>,
    /// Degrees to which the other columns determine the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<(Vec<i16>, f64)>,
    /// The most common combinations of the object's columns, the most common first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub most_common: Vec<Combination>,
    /// The statistics of each of the object's expressions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<ColumnStatistics>,
}

/// A common combination of values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Combination {
    /// The value of each column, or NULL.
    #[serde(with = "values")]
    pub values: Vec<Datum>,
    /// The fraction of the rows that have this combination.
    pub frequency: f64,
    /// The fraction that would follow if the columns were independent.
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
