//! What ANALYZE found, as pg_statistic and as the readable pg_stats.

use super::rows::{RowsBuilder, array};
use super::session::SystemContext;
use super::views::schema_name;
use crate::builtin::Builtins;
use crate::relation::{Column, Relation};
use crate::statistics::ColumnStatistics;
use std::sync::Arc;
use steppe_types::{Datum, Oid, oid};

/// Analysed columns with their attribute numbers; the flag: whether it is about what inherits, too.
fn analysed<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Arc<Relation>, &'c Column, i16, bool, &'c ColumnStatistics)> {
    context.catalog.relations().flat_map(|relation| {
        // A partitioned table's are those of its partitions' rows.
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

fn frequencies(found: &ColumnStatistics) -> Datum {
    let values = found.most_common.iter().map(|(_, f)| Datum::Float4(*f as f32));
    array(oid::FLOAT4, values.collect())
}

fn common_values(column: &Column, found: &ColumnStatistics) -> Datum {
    array(column.type_oid, found.most_common.iter().map(|(v, _)| v.clone()).collect())
}

fn histogram(column: &Column, found: &ColumnStatistics) -> Datum {
    array(column.type_oid, found.histogram.clone())
}

/// A datum if there is something to show.
fn when(present: bool, datum: impl FnOnce() -> Datum) -> Datum {
    if present { datum() } else { Datum::Null }
}

/// pg_stats
pub(super) fn pg_stats(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (relation, column, _, inherited, found) in analysed(context) {
        let common = !found.most_common.is_empty();
        out.row([
            ("schemaname", schema_name(context.catalog, relation.schema)),
            ("tablename", Datum::Text(relation.name.clone())),
            ("attname", Datum::Text(column.name.clone())),
            ("inherited", Datum::Bool(inherited)),
            ("null_frac", Datum::Float4(found.null_fraction as f32)),
            ("avg_width", Datum::Int4(width(found))),
            ("n_distinct", Datum::Float4(found.distinct as f32)),
            ("most_common_vals", when(common, || common_values(column, found))),
            ("most_common_freqs", when(common, || frequencies(found))),
            ("histogram_bounds", when(!found.histogram.is_empty(), || histogram(column, found))),
            ("correlation", when(found.correlated, || Datum::Float4(found.correlation as f32))),
        ]);
    }
}

fn width(found: &ColumnStatistics) -> i32 {
    i32::try_from(found.width).unwrap_or(i32::MAX)
}

/// Kinds of statistics (src/include/catalog/pg_statistic.h).
const STATISTIC_KIND_MCV: i16 = 1;
const STATISTIC_KIND_HISTOGRAM: i16 = 2;
const STATISTIC_KIND_CORRELATION: i16 = 3;

/// One of pg_statistic's slots: kind, operator, numbers, values.
type Slot = (i16, u32, Datum, Datum);

/// The operators that a type's statistics are about: `=` and `<`.
fn operators(type_oid: Oid) -> (u32, u32) {
    let builtins = Builtins::get();
    if let Some(order) = builtins.ordering(type_oid) {
        return (order.eq, order.lt);
    }
    let mut equal = builtins.operators_named("=");
    let equal = equal.find(|operator| operator.left == type_oid && operator.right == type_oid);
    (equal.map_or(0, |operator| operator.oid), 0)
}

fn slots(column: &Column, found: &ColumnStatistics) -> Vec<Slot> {
    let mut slots = Vec::new();
    let (eq, lt) = operators(column.type_oid);
    if !found.most_common.is_empty() {
        slots.push((STATISTIC_KIND_MCV, eq, frequencies(found), common_values(column, found)));
    }
    if !found.histogram.is_empty() {
        slots.push((STATISTIC_KIND_HISTOGRAM, lt, Datum::Null, histogram(column, found)));
    }
    if found.correlated {
        let correlation = array(oid::FLOAT4, vec![Datum::Float4(found.correlation as f32)]);
        slots.push((STATISTIC_KIND_CORRELATION, lt, correlation, Datum::Null));
    }
    slots
}

/// pg_statistic
pub(super) fn pg_statistic(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (relation, column, attnum, inherited, found) in analysed(context) {
        let mut slots = slots(column, found);
        let collation = column.collation;
        slots.resize(3, (0, 0, Datum::Null, Datum::Null));
        let [a, b, c] = &slots[..] else { continue };
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
            ("staop1", Datum::Oid(a.1)),
            ("staop2", Datum::Oid(b.1)),
            ("staop3", Datum::Oid(c.1)),
            ("stacoll1", collation_of(a)),
            ("stacoll2", collation_of(b)),
            ("stacoll3", collation_of(c)),
            ("stanumbers1", a.2.clone()),
            ("stanumbers2", b.2.clone()),
            ("stanumbers3", c.2.clone()),
            ("stavalues1", a.3.clone()),
            ("stavalues2", b.3.clone()),
            ("stavalues3", c.3.clone()),
        ]);
    }
}
