//! pg_statistic_ext, pg_statistic_ext_data, and the readable pg_stats_ext and pg_stats_ext_exprs.

use super::definitions::{Style, key_part, name_in_schema, quote_identifier, visible_name};
use super::rows::{RowsBuilder, array, text, vector};
use super::session::SystemContext;
use super::statistics::{
    common_elements, common_values, count_histogram, element_frequencies, frequencies, histogram,
    when, width,
};
use super::views::schema_name;
use crate::extended_statistics::{ExtendedFound, ExtendedStatistics};
use crate::relation::Relation;
use crate::snapshot::Catalog;
use crate::{SUPERUSER_NAME, StatisticsKind};
use std::sync::Arc;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, oid, text_io};

/// pg_statistic_ext.stxkind of statistics of expressions.
const EXPRESSIONS: u8 = b'e';

/// All statistics objects with their tables.
pub fn statistics_objects(
    catalog: &Catalog,
) -> impl Iterator<Item = (&Arc<Relation>, &ExtendedStatistics)> {
    catalog.relations().flat_map(|table| table.extended.iter().map(move |object| (table, object)))
}

/// A statistics object by its OID, with its table.
pub fn statistics_object(
    catalog: &Catalog,
    oid: Oid,
) -> Option<(&Arc<Relation>, &ExtendedStatistics)> {
    statistics_objects(catalog).find(|(_, object)| object.oid == oid)
}

/// The statistics object of a name in a schema, with its table.
pub fn statistics_object_named<'a>(
    catalog: &'a Catalog,
    schema: Oid,
    name: &str,
) -> Option<(&'a Arc<Relation>, &'a ExtendedStatistics)> {
    statistics_objects(catalog).find(|(_, object)| object.schema == schema && *object.name == *name)
}

/// The statistics object of a name without a schema for a session with this search path, with its
/// table. Temporary schemas are not searched (get_statistics_object_oid).
pub fn statistics_object_in_path<'a>(
    catalog: &'a Catalog,
    name: &str,
    path: &[Oid],
) -> Option<(&'a Arc<Relation>, &'a ExtendedStatistics)> {
    let is_temporary = |oid: Oid| catalog.schema(oid).is_some_and(|schema| schema.is_temporary());
    let schemas = path.iter().filter(|schema| !is_temporary(**schema));
    schemas.into_iter().find_map(|schema| statistics_object_named(catalog, *schema, name))
}

/// Whether a name alone finds the object in the search path (StatisticsObjIsVisible).
pub fn statistics_object_is_visible(
    catalog: &Catalog,
    object: &ExtendedStatistics,
    path: &[Oid],
) -> bool {
    let found = statistics_object_in_path(catalog, &object.name, path);
    found.is_some_and(|(_, found)| found.oid == object.oid)
}

/// The name alone if it finds the object in the search path, otherwise `schema.name`.
pub fn visible_object_name(catalog: &Catalog, object: &ExtendedStatistics, path: &[Oid]) -> String {
    match statistics_object_is_visible(catalog, object, path) {
        true => quote_identifier(&object.name).into_owned(),
        false => name_in_schema(catalog, object.schema, &object.name),
    }
}

fn column_name(table: &Relation, attnum: i16) -> Arc<str> {
    let column = usize::try_from(attnum - 1).ok().and_then(|at| table.columns.get(at));
    column.map_or_else(Arc::default, |column| column.name.clone())
}

/// pg_get_statisticsobjdef_columns: the columns and expressions of an object.
pub fn statistics_columns(
    catalog: &Catalog,
    table: &Relation,
    object: &ExtendedStatistics,
    style: Style<'_>,
) -> String {
    let columns =
        object.columns.iter().map(|attnum| key_part(catalog, table, *attnum, None, style));
    let expressions = object.expressions.iter();
    let expressions = expressions.map(|expr| key_part(catalog, table, 0, Some(&expr.text), style));
    columns.chain(expressions).collect::<Vec<_>>().join(", ")
}

/// pg_get_statisticsobjdef_expressions: the expressions, or NULL.
pub fn statistics_expressions(
    catalog: &Catalog,
    object: &ExtendedStatistics,
    path: &[Oid],
) -> Datum {
    let shown = |text: &str| Datum::text(catalog.with_names(text, path));
    let texts = object.expressions.iter().map(|expression| shown(&expression.text));
    when(!object.expressions.is_empty(), || array(oid::TEXT, texts.collect()))
}

/// pg_get_statisticsobjdef: the CREATE STATISTICS statement.
pub fn statistics_definition(
    catalog: &Catalog,
    table: &Relation,
    object: &ExtendedStatistics,
    style: Style<'_>,
) -> String {
    let name = name_in_schema(catalog, object.schema, &object.name);
    let mut out = format!("CREATE STATISTICS {name}");
    if (1..StatisticsKind::ALL.len()).contains(&object.kinds.len()) {
        let kinds: Vec<&str> = object.kinds.iter().map(|kind| kind.name()).collect();
        out.push_str(&format!(" ({})", kinds.join(", ")));
    }
    let from = visible_name(catalog, table, style.search_path);
    let columns = statistics_columns(catalog, table, object, style);
    out.push_str(&format!(" ON {columns} FROM {from}"));
    out
}

fn kinds(object: &ExtendedStatistics) -> Datum {
    let expressions = (!object.expressions.is_empty()).then_some(EXPRESSIONS);
    let codes = object.kinds.iter().map(|kind| kind.code()).chain(expressions);
    array(oid::CHAR, codes.map(Datum::Char).collect())
}

/// pg_statistic_ext
pub(super) fn pg_statistic_ext(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (table, object) in statistics_objects(context.catalog) {
        let keys = object.columns.iter().map(|attnum| Datum::Int2(*attnum)).collect();
        out.row([
            ("oid", Datum::Oid(object.oid)),
            ("stxrelid", Datum::Oid(table.oid)),
            ("stxname", Datum::Text(object.name.clone())),
            ("stxnamespace", Datum::Oid(object.schema)),
            ("stxowner", Datum::Oid(table.owner)),
            ("stxkeys", vector(oid::INT2, keys)),
            ("stxstattarget", object.target.map_or(Datum::Null, Datum::Int2)),
            ("stxkind", kinds(object)),
            ("stxexprs", expression_tree(object)),
        ]);
    }
}

/// The texts of the expressions, for the pg_node_tree column.
fn expression_tree(object: &ExtendedStatistics) -> Datum {
    let texts: Vec<&str> = object.expressions.iter().map(|expr| &*expr.text).collect();
    when(!texts.is_empty(), || text(texts.join(", ")))
}

/// pg_ndistinct's text.
fn distinct(found: &ExtendedFound) -> Datum {
    let item = |(columns, count): &(Vec<i16>, f64)| format!("\"{}\": {count:.0}", listed(columns));
    object_text(found.distinct.iter().map(item))
}

/// pg_dependencies' text.
fn dependencies(found: &ExtendedFound) -> Datum {
    let item = |(columns, degree): &(Vec<i16>, f64)| {
        let (decided, deciding) = columns.split_last().unwrap_or((&0, &[]));
        format!("\"{} => {decided}\": {degree:.6}", listed(deciding))
    };
    object_text(found.dependencies.iter().map(item))
}

fn object_text(items: impl Iterator<Item = String>) -> Datum {
    let items: Vec<String> = items.collect();
    match items.is_empty() {
        true => Datum::Null,
        false => text(format!("{{{}}}", items.join(", "))),
    }
}

fn listed(columns: &[i16]) -> String {
    columns.iter().map(i16::to_string).collect::<Vec<_>>().join(", ")
}

/// pg_statistic_ext_data. pg_stats_ext shows its values in readable form.
pub(super) fn pg_statistic_ext_data(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (_, object) in statistics_objects(context.catalog) {
        for found in &object.found {
            out.row([
                ("stxoid", Datum::Oid(object.oid)),
                ("stxdinherit", Datum::Bool(found.inherited)),
                ("stxdndistinct", distinct(found)),
                ("stxddependencies", dependencies(found)),
            ]);
        }
    }
}

/// pg_stats_ext
pub(super) fn pg_stats_ext(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (table, object) in statistics_objects(context.catalog) {
        for found in &object.found {
            let names = object.columns.iter().map(|at| Datum::Text(column_name(table, *at)));
            let common = Some(found).filter(|found| !found.most_common.is_empty());
            let common = common.map(|found| Common { table, object, found });
            let shown = |f: fn(&Common<'_>) -> Datum| common.as_ref().map_or(Datum::Null, f);
            out.row([
                ("schemaname", schema_name(context.catalog, table.schema)),
                ("tablename", Datum::Text(table.name.clone())),
                ("statistics_schemaname", schema_name(context.catalog, object.schema)),
                ("statistics_name", Datum::Text(object.name.clone())),
                ("statistics_owner", text(SUPERUSER_NAME)),
                (
                    "attnames",
                    when(!object.columns.is_empty(), || array(oid::NAME, names.collect())),
                ),
                (
                    "exprs",
                    statistics_expressions(context.catalog, object, &context.session.search_path()),
                ),
                ("kinds", kinds(object)),
                ("inherited", Datum::Bool(found.inherited)),
                ("n_distinct", distinct(found)),
                ("dependencies", dependencies(found)),
                ("most_common_vals", shown(|common| common.values())),
                ("most_common_val_nulls", shown(|common| common.nulls())),
                ("most_common_freqs", shown(|common| common.frequencies(|c| c.frequency))),
                (
                    "most_common_base_freqs",
                    shown(|common| common.frequencies(|c| c.base_frequency)),
                ),
            ]);
        }
    }
}

/// pg_stats_ext_exprs
pub(super) fn pg_stats_ext_exprs(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let path = context.session.search_path();
    for (table, object) in statistics_objects(context.catalog) {
        for found in &object.found {
            for (expr, known) in object.expressions.iter().zip(&found.expressions) {
                let elements = known.elements.as_deref();
                let of_elements = |f: fn(&_) -> Datum| elements.map_or(Datum::Null, f);
                let has_common = !known.most_common.is_empty();
                out.row([
                    ("schemaname", schema_name(context.catalog, table.schema)),
                    ("tablename", Datum::Text(table.name.clone())),
                    ("statistics_schemaname", schema_name(context.catalog, object.schema)),
                    ("statistics_name", Datum::Text(object.name.clone())),
                    ("statistics_owner", text(SUPERUSER_NAME)),
                    ("expr", Datum::text(context.catalog.with_names(&expr.text, &path))),
                    ("inherited", Datum::Bool(found.inherited)),
                    ("null_frac", Datum::Float4(known.null_fraction as f32)),
                    ("avg_width", Datum::Int4(width(known))),
                    ("n_distinct", Datum::Float4(known.distinct as f32)),
                    ("most_common_vals", when(has_common, || common_values(expr.type_oid, known))),
                    ("most_common_freqs", when(has_common, || frequencies(known))),
                    (
                        "histogram_bounds",
                        when(!known.histogram.is_empty(), || histogram(expr.type_oid, known)),
                    ),
                    (
                        "correlation",
                        when(known.correlated, || Datum::Float4(known.correlation as f32)),
                    ),
                    (
                        "most_common_elems",
                        elements.map_or(Datum::Null, |e| common_elements(expr.type_oid, e)),
                    ),
                    ("most_common_elem_freqs", of_elements(element_frequencies)),
                    ("elem_count_histogram", of_elements(count_histogram)),
                ]);
            }
        }
    }
}

/// The most common combinations of an object.
struct Common<'a> {
    table: &'a Relation,
    object: &'a ExtendedStatistics,
    found: &'a ExtendedFound,
}

impl Common<'_> {
    /// A two-dimensional array with a row for each combination.
    fn matrix(&self, element_type: Oid, elements: Vec<Datum>) -> Datum {
        let rows = (self.found.most_common.len() as i32, 1);
        let dimensions = vec![rows, (self.object.members().len() as i32, 1)];
        Datum::Array(Arc::new(steppe_types::datum::Array { element_type, dimensions, elements }))
    }

    fn values(&self) -> Datum {
        let io = IoContext::default();
        let types = self.object.columns.iter().map(|attnum| {
            let column = usize::try_from(attnum - 1).ok().and_then(|at| self.table.columns.get(at));
            column.map_or(oid::TEXT, |column| column.type_oid)
        });
        let expressions = self.object.expressions.iter().map(|expr| expr.type_oid);
        let types: Vec<Oid> = types.chain(expressions).collect();
        let shown = |(ty, value): (&Oid, &Datum)| match value.is_null() {
            true => Datum::Null,
            false => text_io::output_string(*ty, value, &io).map_or(Datum::Null, text),
        };
        let rows = self.found.most_common.iter();
        let elements = rows.flat_map(|row| types.iter().zip(&row.values).map(shown));
        self.matrix(oid::TEXT, elements.collect())
    }

    fn nulls(&self) -> Datum {
        let values = self.found.most_common.iter().flat_map(|row| &row.values);
        self.matrix(oid::BOOL, values.map(|value| Datum::Bool(value.is_null())).collect())
    }

    fn frequencies(&self, of: fn(&crate::Combination) -> f64) -> Datum {
        let values = self.found.most_common.iter().map(|row| Datum::Float8(of(row)));
        array(oid::FLOAT8, values.collect())
    }
}
