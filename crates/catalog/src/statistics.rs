//! ANALYZE's results about a relation (pg_statistic, and reltuples and relpages of pg_class).
//!
//! Values are kept in the form of rows, not as text: the planner compares them directly, and
//! sessions' settings do not change their meaning. They are stored as `steppe_types::stored` writes
//! them, in base64, one string for each list. Frequencies are single-precision, like PostgreSQL's,
//! so that estimates from them are the same.
//!
//! Lists in the text form of earlier versions have other field names, and are ignored: the next
//! ANALYZE stores new ones.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};
use steppe_types::Datum;

/// ANALYZE's results about a table (pg_class.reltuples, pg_stats).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Statistics {
    /// Rows.
    pub rows: f64,
    /// Pages.
    pub pages: u64,
    /// Statistics by attribute position; for a partitioned table, of its partitions' rows. Columns
    /// added since have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnStatistics>,
    /// Statistics of the rows of a table and its children, if it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tree: Vec<ColumnStatistics>,
}

/// Statistics of one column (pg_statistic).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// Fraction of NULLs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub null_fraction: f64,
    /// Average width in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub width: u32,
    /// Distinct values: > 0 a count, < 0 minus a fraction of the rows (as
    /// pg_statistic.stadistinct), 0 unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub distinct: f64,
    /// Most common values and their frequencies, the most common first.
    #[serde(
        rename = "common",
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "frequencies"
    )]
    pub most_common: Vec<(Datum, f64)>,
    /// Histogram bounds, ascending by the type's default ordering.
    #[serde(rename = "bounds", default, skip_serializing_if = "Vec::is_empty", with = "values")]
    pub histogram: Vec<Datum>,
    /// Correlation of physical and logical order; 0 if it was not computed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub correlation: f64,
    /// Whether the correlation was computed: only for types with an ordering and several values.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub correlated: bool,
    /// Statistics of an array column's elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<Arc<ElementStatistics>>,
    /// The common values in the order of their type.
    #[serde(skip)]
    pub sorted: WhenNeeded<SortedCommon>,
}

/// A value that follows from the rest of a structure, and is computed on first use. Comparing and
/// showing the structure ignore it.
#[derive(Clone)]
pub struct WhenNeeded<T>(OnceLock<T>);

impl<T> Default for WhenNeeded<T> {
    fn default() -> WhenNeeded<T> {
        WhenNeeded(OnceLock::new())
    }
}

impl<T> std::fmt::Debug for WhenNeeded<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("_")
    }
}

/// The most common values in the order of their type, so that one is found by binary search.
#[derive(Clone, Debug, Default)]
pub struct SortedCommon {
    /// The position in the list of each value.
    places: Vec<u32>,
    /// The summed frequencies of the values before each one, and of all.
    below: Vec<f64>,
    /// The frequencies of all, added in the order of the list.
    total: f64,
    /// The values, if all are integers.
    integers: Option<Box<[i64]>>,
}

impl SortedCommon {
    fn new(list: &[(Datum, f64)], order: impl Fn(&Datum, &Datum) -> Ordering) -> SortedCommon {
        let mut places: Vec<u32> = (0..list.len() as u32).collect();
        places.sort_by(|a, b| order(&list[*a as usize].0, &list[*b as usize].0));
        let mut below = vec![0.0];
        let mut sum = 0.0;
        for place in &places {
            sum += list[*place as usize].1;
            below.push(sum);
        }
        let total = list.iter().map(|(_, frequency)| frequency).sum();
        let integers = places.iter().map(|place| match list[*place as usize].0 {
            Datum::Int2(value) => Some(i64::from(value)),
            Datum::Int4(value) => Some(i64::from(value)),
            Datum::Int8(value) => Some(value),
            _ => None,
        });
        let integers = integers.collect();
        SortedCommon { places, below, total, integers }
    }

    /// The values in their order, if all are integers.
    pub fn integers(&self) -> Option<&[i64]> {
        self.integers.as_deref()
    }

    /// The fraction of the rows that have one of the values.
    pub fn total(&self) -> f64 {
        self.total
    }
}

/// Statistics of the elements of a column of arrays (array_typanalyze.c).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ElementStatistics {
    /// Most common elements, ascending by their type's default ordering, each with the fraction of
    /// the arrays that contain it.
    #[serde(
        rename = "common",
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "frequencies"
    )]
    pub most_common: Vec<(Datum, f64)>,
    /// The least of these fractions.
    pub min_frequency: f64,
    /// The greatest of these fractions.
    pub max_frequency: f64,
    /// The fraction of the arrays that contain a NULL.
    pub null_frequency: f64,
    /// Histogram of the number of different elements of an array.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<f64>,
    /// The average number of different elements of an array.
    pub average_count: f64,
}

impl Statistics {
    /// Statistics of the columns of a table's own rows, or of its own and its children's rows.
    pub fn columns_of(&self, with_children: bool) -> &[ColumnStatistics] {
        match with_children && !self.tree.is_empty() {
            true => &self.tree,
            false => &self.columns,
        }
    }

    /// Removes the statistics of the column at a position.
    pub fn forget(&mut self, position: usize) {
        for columns in [&mut self.columns, &mut self.tree] {
            columns.get_mut(position).into_iter().for_each(|found| *found = Default::default());
        }
    }
}

impl ColumnStatistics {
    /// Whether there are no statistics: the column was not analysed.
    pub fn is_absent(&self) -> bool {
        self.null_fraction == 0.0 && self.width == 0
    }

    /// The most common values in the order `order`, which must always be that of their type.
    pub fn sorted_common(&self, order: impl Fn(&Datum, &Datum) -> Ordering) -> &SortedCommon {
        self.sorted.0.get_or_init(|| SortedCommon::new(&self.most_common, order))
    }

    /// Finds a value among the most common ones; `of` compares one of them with it. Returns the
    /// value's frequency (0 if it is none of them), and the summed frequencies of the values below
    /// it.
    pub fn common_at(&self, sorted: &SortedCommon, of: impl Fn(&Datum) -> Ordering) -> (f64, f64) {
        let value = |place: &u32| self.most_common.get(*place as usize);
        let compare = |place: &u32| value(place).map_or(Ordering::Greater, |(known, _)| of(known));
        let at = sorted.places.partition_point(|place| compare(place).is_lt());
        let is_there = sorted.places.get(at).is_some_and(|place| compare(place).is_eq());
        self.frequencies_at(sorted, at, is_there)
    }

    /// As [`Self::common_at`], for an integer among `integers`, which are `sorted`'s.
    pub fn common_integer(
        &self,
        (sorted, integers): (&SortedCommon, &[i64]),
        value: i64,
    ) -> (f64, f64) {
        let at = integers.partition_point(|known| *known < value);
        self.frequencies_at(sorted, at, integers.get(at) == Some(&value))
    }

    fn frequencies_at(&self, sorted: &SortedCommon, at: usize, is_there: bool) -> (f64, f64) {
        let here = sorted.places.get(at).filter(|_| is_there);
        let found = here.and_then(|place| self.most_common.get(*place as usize));
        let frequency = found.map_or(0.0, |(_, frequency)| *frequency);
        (frequency, sorted.below.get(at).copied().unwrap_or(0.0))
    }
}

/// Whether a value is its type's default, which is not stored.
fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A list of values as one string.
pub(crate) mod values {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};
    use steppe_types::physical::Physical;
    use steppe_types::text::encode::{decode, encode};
    use steppe_types::{Datum, Error, Result, stored};

    pub(crate) fn serialize<S: Serializer>(
        values: &[Datum],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let written = written(Datum::Record(values.into())).map_err(S::Error::custom)?;
        serializer.serialize_str(&written)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Datum>, D::Error> {
        let written = String::deserialize(deserializer)?;
        let values = read(&written).map_err(D::Error::custom)?;
        Ok(values.to_vec())
    }

    fn written(list: Datum) -> Result<String> {
        let mut bytes = Vec::new();
        stored::write_variable(Physical::Any, &list, &mut bytes)?;
        encode(&bytes, "base64")
    }

    fn read(written: &str) -> Result<std::sync::Arc<[Datum]>> {
        match stored::read(Physical::Any, &decode(written, "base64")?)? {
            Datum::Record(values) => Ok(values),
            _ => Err(Error::internal("no list of values")),
        }
    }
}

/// A list of values and their frequencies as one string.
mod frequencies {
    use serde::{Deserializer, Serializer};
    use steppe_types::Datum;

    pub(super) fn serialize<S: Serializer>(
        list: &[(Datum, f64)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let flat = list
            .iter()
            .flat_map(|(value, frequency)| [value.clone(), Datum::Float4(*frequency as f32)]);
        super::values::serialize(&flat.collect::<Vec<_>>(), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Datum, f64)>, D::Error> {
        let mut flat = super::values::deserialize(deserializer)?.into_iter();
        let mut list = Vec::with_capacity(flat.len() / 2);
        while let (Some(value), Some(Datum::Float4(frequency))) = (flat.next(), flat.next()) {
            list.push((value, f64::from(frequency)));
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_types::oid;

    #[test]
    fn values_come_back_as_they_were() {
        let array = |elements: Vec<Datum>| {
            let dimensions = vec![(elements.len() as i32, 1)];
            let array =
                steppe_types::datum::Array { element_type: oid::INT4, dimensions, elements };
            Datum::Array(Arc::new(array))
        };
        let histogram = vec![
            Datum::Text("".into()),
            Datum::Float8(f64::NAN),
            Datum::TimestampTz(i64::MIN),
            array(vec![Datum::Int4(1), Datum::Null]),
            Datum::Record([Datum::Null, Datum::Bool(true)].into()),
            Datum::Text("x".repeat(1000).into()),
        ];
        let most_common = vec![(Datum::Int8(-7), 0.5), (Datum::Date(3), 0.25)];
        let elements = ElementStatistics {
            most_common: most_common.clone(),
            min_frequency: 0.25,
            counts: vec![1.0, 3.0],
            average_count: 1.5,
            ..Default::default()
        };
        let found = ColumnStatistics {
            width: 4,
            most_common,
            histogram,
            elements: Some(elements.into()),
            ..Default::default()
        };
        let columns = vec![ColumnStatistics::default(), found.clone()];
        let stored = Statistics { rows: 3.0, pages: 1, columns, tree: Vec::new() };
        let json = serde_json::to_string(&stored).expect("serializable");
        let read: Statistics = serde_json::from_str(&json).expect("readable");
        assert!(read.columns[0].is_absent() && !read.columns[1].is_absent());
        assert_eq!(read.columns[1].histogram, found.histogram);
        assert_eq!(read.columns[1].most_common, found.most_common);
        let elements = read.columns[1].elements.as_ref().expect("stored");
        assert_eq!((elements.most_common.len(), &elements.counts), (2, &vec![1.0, 3.0]));
    }

    #[test]
    fn lists_in_text_form_are_passed_over() {
        let json = r#"{"rows":2.0,"pages":1,"columns":[{"null_fraction":0.0,"width":4,
            "distinct":-1.0,"most_common":[["1",0.5]],"histogram":["1","2"],"correlation":1.0}]}"#;
        let read: Statistics = serde_json::from_str(json).expect("readable");
        assert_eq!(read.columns[0].distinct, -1.0);
        assert!(read.columns[0].most_common.is_empty() && read.columns[0].histogram.is_empty());
    }
}
