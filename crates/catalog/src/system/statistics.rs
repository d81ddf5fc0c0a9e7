//! ANALYZE's results as pg_statistic and as the readable pg_stats.

use super::rows::{RowsBuilder, array};
use super::session::SystemContext;
use super::views::schema_name;
use crate::builtin;
use crate::relation::{Column, Relation};
use crate::statistics::{ColumnStatistics, ElementStatistics};
use std::sync::Arc;
use steppe_types::{Datum, Oid, oid};

/// Analysed columns with their attribute numbers. The flag says whether children are included.
fn analysed<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Arc<Relation>, &'c Column, i16, bool, &'c ColumnStatistics)> {
    context.catalog.relations().flat_map(|relation| {
        // A partitioned table's statistics are those of its partitions' rows.
        let partitioned = relation.partition_key.is_some();
        let found = relation.statistics.iter();
        let lists = found.flat_map(move |s| [(&s.columns, partitioned), (&s.tree, true)]);
        lists.flat_map(move |(found, inherited)| {
            let columns = relation.columns.iter().zip(1..).zip(found);
            columns
                .filter(|((column, _), found)| !column.dropped && !found.is_absent())
                .map(move |((column, attnum), found)| (relation, column, attnum, inherited, found))
        })
    })
}

pub(super) fn frequencies(found: &ColumnStatistics) -> Datum {
    floats(found.most_common.iter().map(|(_, frequency)| *frequency))
}

pub(super) fn common_values(type_oid: Oid, found: &ColumnStatistics) -> Datum {
    array(type_oid, found.most_common.iter().map(|(v, _)| v.clone()).collect())
}

pub(super) fn histogram(type_oid: Oid, found: &ColumnStatistics) -> Datum {
    array(type_oid, found.histogram.clone())
}

/// The most common elements of a column of arrays, if any are common.
pub(super) fn common_elements(type_oid: Oid, found: &ElementStatistics) -> Datum {
    let element_type = builtin::ty(type_oid).map_or(0, |ty| ty.element);
    let elements = found.most_common.iter().map(|(value, _)| value.clone());
    when(!found.most_common.is_empty(), || array(element_type, elements.collect()))
}

/// The elements' frequencies, then the least, the greatest, and that of NULL.
pub(super) fn element_frequencies(found: &ElementStatistics) -> Datum {
    let ends = [found.min_frequency, found.max_frequency, found.null_frequency];
    let all = found.most_common.iter().map(|(_, frequency)| *frequency).chain(ends);
    when(!found.most_common.is_empty(), || floats(all))
}

/// The histogram of the numbers of different elements, then the average.
pub(super) fn count_histogram(found: &ElementStatistics) -> Datum {
    floats(found.counts.iter().copied().chain([found.average_count]))
}

fn floats(numbers: impl Iterator<Item = f64>) -> Datum {
    array(oid::FLOAT4, numbers.map(|number| Datum::Float4(number as f32)).collect())
}

/// The datum if `present`, otherwise NULL.
pub(super) fn when(present: bool, datum: impl FnOnce() -> Datum) -> Datum {
    if present { datum() } else { Datum::Null }
}

/// pg_stats
pub(super) fn pg_stats(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (relation, column, _, inherited, found) in analysed(context) {
        let common = !found.most_common.is_empty();
        let elements = found.elements.as_deref();
        out.row([
            ("schemaname", schema_name(context.catalog, relation.schema)),
            ("tablename", Datum::Text(relation.name.clone())),
            ("attname", Datum::Text(column.name.clone())),
            ("inherited", Datum::Bool(inherited)),
            ("null_frac", Datum::Float4(found.null_fraction as f32)),
            ("avg_width", Datum::Int4(width(found))),
            ("n_distinct", Datum::Float4(found.distinct as f32)),
            ("most_common_vals", when(common, || common_values(column.type_oid, found))),
            ("most_common_freqs", when(common, || frequencies(found))),
            (
                "histogram_bounds",
                when(!found.histogram.is_empty(), || histogram(column.type_oid, found)),
            ),
            (
                "most_common_elems",
                elements.map_or(Datum::Null, |e| common_elements(column.type_oid, e)),
            ),
            ("most_common_elem_freqs", elements.map_or(Datum::Null, element_frequencies)),
            ("elem_count_histogram", elements.map_or(Datum::Null, count_histogram)),
            ("correlation", when(found.correlated, || Datum::Float4(found.correlation as f32))),
        ]);
    }
}

pub(super) fn width(found: &ColumnStatistics) -> i32 {
    i32::try_from(found.width).unwrap_or(i32::MAX)
}

/// Kinds of statistics (src/include/catalog/pg_statistic.h).
const STATISTIC_KIND_MCV: i16 = 1;
const STATISTIC_KIND_HISTOGRAM: i16 = 2;
const STATISTIC_KIND_CORRELATION: i16 = 3;
const STATISTIC_KIND_MCELEM: i16 = 4;
const STATISTIC_KIND_DECHIST: i16 = 5;
/// The number of slots of pg_statistic.
const SLOTS: usize = 5;

/// A slot of pg_statistic: kind, operator, numbers, values.
type Slot = (i16, u32, Datum, Datum);

/// The operators of a type's statistics: `=` and `<`.
fn operators(type_oid: Oid) -> (u32, u32) {
    if let Some(order) = builtin::ordering(type_oid) {
        return (order.eq, order.lt);
    }
    let equal = builtin::operator_of("=", type_oid, type_oid);
    (equal.map_or(0, |operator| operator.oid), 0)
}

fn slots(column: &Column, found: &ColumnStatistics) -> Vec<Slot> {
    let mut slots = Vec::new();
    let (eq, lt) = operators(column.type_oid);
    if !found.most_common.is_empty() {
        slots.push((
            STATISTIC_KIND_MCV,
            eq,
            frequencies(found),
            common_values(column.type_oid, found),
        ));
    }
    if !found.histogram.is_empty() {
        slots.push((STATISTIC_KIND_HISTOGRAM, lt, Datum::Null, histogram(column.type_oid, found)));
    }
    if found.correlated {
        let correlation = floats([found.correlation].into_iter());
        slots.push((STATISTIC_KIND_CORRELATION, lt, correlation, Datum::Null));
    }
    if let Some(elements) = found.elements.as_deref() {
        let element_type = builtin::ty(column.type_oid).map_or(0, |ty| ty.element);
        let (eq, _) = operators(element_type);
        if !elements.most_common.is_empty() {
            let common = common_elements(column.type_oid, elements);
            slots.push((STATISTIC_KIND_MCELEM, eq, element_frequencies(elements), common));
        }
        slots.push((STATISTIC_KIND_DECHIST, eq, count_histogram(elements), Datum::Null));
    }
    slots
}

/// pg_statistic
pub(super) fn pg_statistic(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (relation, column, attnum, inherited, found) in analysed(context) {
        let mut slots = slots(column, found);
        let collation = column.collation;
        slots.resize(SLOTS, (0, 0, Datum::Null, Datum::Null));
        let [a, b, c, d, e] = &slots[..] else { continue };
        let collation_of = |slot: &Slot| Datum::Oid(if slot.0 == 0 { 0 } else { collation });
        out.row([
            ("starelid", Datum::Oid(relation.oid)),
            ("stainherit", Datum::Bool(inherited)),
            ("staattnum", Datum::Int2(attnum)),
            ("stanullfrac", Datum::Float4(found.null_fraction as f32)),
            ("stawidth", Datum::Int4(width(found))),
            ("stadistinct", Datum::Float4(found.distinct as f32)),
            ("stakind1", Datum::Int2(a.0)),
            ("stakind2", Datum::Int2(b.0)),
            ("stakind3", Datum::Int2(c.0)),
            ("stakind4", Datum::Int2(d.0)),
            ("stakind5", Datum::Int2(e.0)),
            ("staop1", Datum::Oid(a.1)),
            ("staop2", Datum::Oid(b.1)),
            ("staop3", Datum::Oid(c.1)),
            ("staop4", Datum::Oid(d.1)),
            ("staop5", Datum::Oid(e.1)),
            ("stacoll1", collation_of(a)),
            ("stacoll2", collation_of(b)),
            ("stacoll3", collation_of(c)),
            ("stacoll4", collation_of(d)),
            ("stacoll5", collation_of(e)),
            ("stanumbers1", a.2.clone()),
            ("stanumbers2", b.2.clone()),
            ("stanumbers3", c.2.clone()),
            ("stanumbers4", d.2.clone()),
            ("stanumbers5", e.2.clone()),
            ("stavalues1", a.3.clone()),
            ("stavalues2", b.3.clone()),
            ("stavalues3", c.3.clone()),
            ("stavalues4", d.3.clone()),
            ("stavalues5", e.3.clone()),
        ]);
    }
}
