//! Definitions as SQL text: pg_get_indexdef, pg_get_constraintdef, pg_get_expr …
//! and comments (ruleutils.c, system_functions.sql).
//!
//! [`steppe_catalog::system::definitions`] makes the texts.

use super::args::{boolean, given, int, int4, oid, text, text_datum, text_or_null};
use super::reg::CatalogNames;
use super::{Entry, SetRows, arg, scalar, set};
use crate::FnContext;
use std::sync::Arc;
use steppe_catalog::objects::UserCast;
use steppe_catalog::system::definitions::{self, Style, qualified_function_name};
use steppe_catalog::system::domains::{domain_constraint_definition, find_domain_constraint};
use steppe_catalog::system::extended_statistics::{
    self, statistics_columns, statistics_definition,
};
use steppe_catalog::system::key_triggers::key_trigger_definition;
use steppe_catalog::system::triggers;
use steppe_catalog::trigger::TriggerTiming;
use steppe_catalog::{
    Catalog, ConstraintKind, ExtendedStatistics, Function, Operator, PG_CATALOG, RelKind, Relation,
};
use steppe_sql::bind::sql_function::{Arguments, BodyStatement, parse_body};
use steppe_sql::bind::{BindContext, Bound, Params, bind_function_query, bind_view};
use steppe_sql::deparse::function_body::print_body;
use steppe_sql::deparse::query::{QueryStyle, print};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Result, SqlState};

/// Definition functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_get_indexdef", scalar(|a, cx| index_definition(a, cx, 0, false))),
    ("pg_get_indexdef_ext", scalar(|a, cx| index_definition(a, cx, int4(a, 1)?, boolean(a, 2)?))),
    ("pg_get_constraintdef", scalar(|a, cx| constraint_definition(a, cx, false))),
    ("pg_get_constraintdef_ext", scalar(|a, cx| constraint_definition(a, cx, boolean(a, 1)?))),
    ("pg_get_expr", scalar(|a, cx| expression(a, cx, false))),
    ("pg_get_expr_ext", scalar(|a, cx| expression(a, cx, boolean(a, 2)?))),
    ("pg_get_viewdef", scalar(|a, cx| view_definition(a, cx, false))),
    ("pg_get_viewdef_ext", scalar(|a, cx| view_definition(a, cx, boolean(a, 1)?))),
    ("pg_get_viewdef_wrap", scalar(|a, cx| view_definition(a, cx, true))),
    ("pg_get_viewdef_name", scalar(|a, cx| view_definition(a, cx, false))),
    ("pg_get_viewdef_name_ext", scalar(|a, cx| view_definition(a, cx, boolean(a, 1)?))),
    ("pg_get_serial_sequence", scalar(serial_sequence)),
    ("pg_relation_is_publishable", scalar(publishable)),
    ("pg_relation_filenode", scalar(file_node)),
    ("pg_relation_is_updatable", scalar(relation_updatable)),
    ("pg_column_is_updatable", scalar(column_updatable)),
    ("pg_get_replica_identity_index", scalar(replica_identity)),
    ("pg_sequence_parameters", scalar(sequence_parameters)),
    ("pg_options_to_table", set(options)),
    // There are no rules.
    ("pg_get_ruledef", scalar(nothing)),
    ("pg_get_ruledef_ext", scalar(nothing)),
    ("pg_get_triggerdef", scalar(|a, cx| trigger_definition(a, cx, false))),
    ("pg_get_triggerdef_ext", scalar(|a, cx| trigger_definition(a, cx, boolean(a, 1)?))),
    ("pg_get_statisticsobjdef", scalar(|a, cx| statistics_object(a, cx, statistics_definition))),
    (
        "pg_get_statisticsobjdef_columns",
        scalar(|a, cx| statistics_object(a, cx, statistics_columns)),
    ),
    ("pg_get_statisticsobjdef_expressions", scalar(statistics_object_expressions)),
    ("pg_tablespace_location", scalar(|_, _| text_datum(""))),
];

fn nothing(_: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Null)
}

/// `pg_get_statisticsobjdef(object)` and the like; expressions without parentheses that they do not
/// need.
fn statistics_object(
    args: &[Datum],
    cx: &FnContext,
    show: fn(&Catalog, &Relation, &ExtendedStatistics, Style<'_>) -> String,
) -> Result<Datum> {
    let found = extended_statistics::statistics_object(&cx.catalog, oid(args, 0)?);
    text_or_null(found.map(|(table, object)| {
        styled(cx, true, |style| {
            let text = show(&cx.catalog, table, object, style);
            cx.catalog.with_names(&text, style.search_path).into_owned()
        })
    }))
}

/// `pg_get_statisticsobjdef_expressions(object)`
fn statistics_object_expressions(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let found = extended_statistics::statistics_object(&cx.catalog, oid(args, 0)?);
    Ok(found.map_or(Datum::Null, |(_, object)| {
        styled(cx, false, |style| {
            extended_statistics::statistics_expressions(&cx.catalog, object, style.search_path)
        })
    }))
}

fn relation_at(args: &[Datum], i: usize, cx: &FnContext) -> Result<Option<Arc<Relation>>> {
    Ok(cx.catalog.relation(oid(args, i)?).cloned())
}

/// Calls `f` with the style that follows from the caller's `pretty` argument and search path.
pub(super) fn styled<T>(cx: &FnContext, pretty: bool, f: impl FnOnce(Style<'_>) -> T) -> T {
    let names = CatalogNames::of(cx);
    f(Style { pretty, search_path: names.path() })
}

/// `pg_get_indexdef(index [, column, pretty])`
fn index_definition(args: &[Datum], cx: &FnContext, column: i32, pretty: bool) -> Result<Datum> {
    let Some(index) = relation_at(args, 0, cx)? else { return Ok(Datum::Null) };
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    text_or_null(styled(cx, pretty, |style| {
        let text = definitions::index_column_definition(&cx.catalog, &index, column, style)?;
        Some(cx.catalog.with_names(&text, style.search_path).into_owned())
    }))
}

/// `pg_get_constraintdef(constraint [, pretty])`
fn constraint_definition(args: &[Datum], cx: &FnContext, pretty: bool) -> Result<Datum> {
    if let Some(constraint) = find_domain_constraint(&cx.catalog, oid(args, 0)?) {
        return text_datum(styled(cx, pretty, |style| {
            domain_constraint_definition(&cx.catalog, &constraint, style)
        }));
    }
    let found = definitions::find_constraint(&cx.catalog, oid(args, 0)?);
    if found.is_none() {
        let trigger = triggers::constraint_trigger_definition(&cx.catalog, oid(args, 0)?);
        return text_or_null(trigger);
    }
    text_or_null(found.map(|(table, constraint)| {
        styled(cx, pretty, |style| {
            definitions::constraint_definition(&cx.catalog, table, constraint, style)
        })
    }))
}

/// `pg_get_triggerdef(trigger [, pretty])`
fn trigger_definition(args: &[Datum], cx: &FnContext, pretty: bool) -> Result<Datum> {
    let sought = oid(args, 0)?;
    let found = triggers::trigger_by_oid(&cx.catalog, sought);
    text_or_null(styled(cx, pretty, |style| match found {
        Some((relation, trigger)) => {
            Some(triggers::trigger_definition(&cx.catalog, relation, trigger, style))
        }
        None => key_trigger_definition(&cx.catalog, sought, style),
    }))
}

/// `pg_get_expr(pg_node_tree, relation [, pretty])`: the tree is stored as its text, a partition's
/// bound as its values.
fn expression(args: &[Datum], cx: &FnContext, pretty: bool) -> Result<Datum> {
    let stored = text(args, 0)?;
    if stored.starts_with("FOR VALUES ")
        && let Some(relation) = relation_at(args, 1, cx)?
        && let Some(bound) = relation.partition_of.as_ref().and_then(|of| of.bound.as_ref())
    {
        return text_datum(bound.text(&cx.io)?);
    }
    text_datum(styled(cx, pretty, |style| {
        definitions::default_definition(&cx.catalog, stored, style)
    }))
}

/// `pg_get_viewdef(view [, pretty])`: by OID or by name.
fn view_definition(args: &[Datum], cx: &FnContext, pretty: bool) -> Result<Datum> {
    let names = CatalogNames::of(cx);
    let relation = match arg(args, 0)? {
        Datum::Text(name) => Some(names.existing_relation(name)?.clone()),
        _ => relation_at(args, 0, cx)?,
    };
    let printed = relation.map(|view| printed_view(&names, &cx.io, &view, pretty)).transpose()?;
    text_or_null(printed.flatten())
}

/// A view's SELECT, with names qualified if the search path would not find them. `None` if the
/// relation is no view.
pub fn printed_view(
    names: &CatalogNames,
    io: &IoContext,
    view: &Relation,
    pretty: bool,
) -> Result<Option<String>> {
    let Some(stored) = &view.view else { return Ok(None) };
    let columns: Vec<Arc<str>> = view.columns.iter().map(|c| c.name.clone()).collect();
    let query = bind_view(names.catalog(), stored)?;
    let printed = in_shown_style(names, io, pretty, |style| print(&query, Some(&columns), style))?;
    Ok(Some(format!("{};", printed.text)))
}

/// The body of a function in SQL's own syntax, with the names of its tables and functions as the
/// search path finds them.
pub(super) fn printed_body(names: &CatalogNames, io: &IoContext, function: &Function) -> String {
    let kept = || function.source().to_owned();
    let is_return = kept().starts_with("RETURN ");
    let Ok(body) = parse_body(function) else { return kept() };
    let catalog = names.catalog();
    let context = BindContext { catalog, search_path: &[PG_CATALOG], io, source: &body.text };
    let bind = |statement: &BodyStatement| {
        let arguments = Arguments::of(function, &function.args, None);
        let params = Params::variables(Arc::new(arguments));
        bind_function_query(&context, &statement.statement, params).ok()
    };
    let bound: Option<Vec<Bound>> = body.statements.iter().map(bind).collect();
    let printed = bound.and_then(|bound| {
        in_shown_style(names, io, false, |style| print_body(function, is_return, &bound, style))
            .ok()
    });
    printed.map_or_else(kept, |printed| printed.text)
}

/// Prints with the names of relations and functions as the search path finds them.
fn in_shown_style<T>(
    names: &CatalogNames,
    io: &IoContext,
    pretty: bool,
    print: impl FnOnce(&QueryStyle<'_>) -> T,
) -> T {
    let catalog = names.catalog();
    print(&QueryStyle {
        current: &Arc::clone,
        relation_name: &|relation| names.relation_name(relation),
        relation: &|oid| catalog.relation(oid).cloned(),
        function_name: &|func| match catalog.function_is_visible(func, names.path()) {
            true => None,
            false => qualified_function_name(catalog, func),
        },
        parameter: None,
        pretty,
        kept: false,
        using: true,
        io,
    })
}

/// Whether each column of a view can be assigned to; `None` if its rows cannot be changed.
pub fn updatable_columns(
    names: &CatalogNames,
    io: &IoContext,
    view: &Arc<Relation>,
) -> Option<Vec<bool>> {
    let context =
        BindContext { catalog: names.catalog(), search_path: names.path(), io, source: "" };
    steppe_sql::bind::updatable_columns(&context, view)
}

/// `pg_get_serial_sequence(table, column)`: the sequence that the column owns.
fn serial_sequence(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let names = CatalogNames::of(cx);
    let (table, column) = (names.existing_relation(text(args, 0)?)?, text(args, 1)?);
    let Some(at) = table.column_index(column) else {
        return Err(Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" of relation \"{}\" does not exist", table.name),
        ));
    };
    let owner = Some((table.oid, at as i16 + 1));
    let owned = cx
        .catalog
        .relations()
        .find(|r| r.sequence.as_ref().is_some_and(|sequence| sequence.owned_by == owner));
    text_or_null(owned.map(|sequence| names.qualified_name(sequence)))
}

/// Tables of users can be published.
fn publishable(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let relation = relation_at(args, 0, cx)?;
    Ok(relation.map_or(Datum::Null, |r| Datum::Bool(is_users_table(&r))))
}

fn is_users_table(relation: &Relation) -> bool {
    matches!(relation.kind, RelKind::Table | RelKind::PartitionedTable)
}

fn file_node(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let relation = relation_at(args, 0, cx)?;
    use RelKind::{Composite, PartitionedIndex, PartitionedTable, View};
    let is_stored = |kind| !matches!(kind, View | PartitionedTable | PartitionedIndex | Composite);
    let stored = relation.filter(|r| is_stored(r.kind));
    Ok(stored.map_or(Datum::Null, |r| Datum::Oid(r.oid)))
}

/// The bits of UPDATE, INSERT and DELETE (CmdType).
const ALL_CHANGES: i32 = 1 << 2 | 1 << 3 | DELETE;
const DELETE: i32 = 1 << 4;

/// `pg_relation_is_updatable(relation, include_triggers)`
fn relation_updatable(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(relation) = relation_at(args, 0, cx)? else { return Ok(Datum::Int4(0)) };
    let by_triggers = if boolean(args, 1)? { changes_by_triggers(&relation) } else { 0 };
    let changes = match relation.kind {
        RelKind::View => updatable_columns(&CatalogNames::of(cx), &cx.io, &relation)
            .map_or(0, |columns| if columns.contains(&true) { ALL_CHANGES } else { DELETE }),
        _ if is_users_table(&relation) => ALL_CHANGES,
        _ => 0,
    };
    Ok(Datum::Int4(changes | by_triggers))
}

/// The changes that INSTEAD OF triggers make.
fn changes_by_triggers(view: &Relation) -> i32 {
    let of = |events: steppe_catalog::trigger::TriggerEvents| {
        let bits = [(events.update, 1 << 2), (events.insert, 1 << 3), (events.delete, DELETE)];
        bits.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum::<i32>()
    };
    let instead = view.triggers.iter().filter(|t| t.timing == TriggerTiming::InsteadOf);
    instead.fold(0, |changes, trigger| changes | of(trigger.events))
}

fn column_updatable(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(relation) = relation_at(args, 0, cx)? else { return Ok(Datum::Bool(false)) };
    let position = usize::try_from(int(args, 1)? - 1).ok();
    let updatable = match (relation.kind, position) {
        (RelKind::View, Some(position)) => {
            let columns = updatable_columns(&CatalogNames::of(cx), &cx.io, &relation);
            columns.is_some_and(|columns| columns.get(position) == Some(&true))
        }
        (_, position) => position.is_some() && is_users_table(&relation),
    };
    Ok(Datum::Bool(updatable))
}

/// The replica identity is the default one: the primary key.
fn replica_identity(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let relation = relation_at(args, 0, cx)?;
    let index = relation.and_then(|r| match r.primary_key()?.kind {
        ConstraintKind::Primary { index } => Some(index),
        _ => None,
    });
    Ok(index.map_or(Datum::Null, Datum::Oid))
}

/// start, minimum, maximum, increment, cycle, cache, type
fn sequence_parameters(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let relation = relation_at(args, 0, cx)?;
    let Some(sequence) = relation.as_ref().and_then(|r| r.sequence.as_ref()) else {
        return Err(Error::internal(format!("cache lookup failed for sequence {}", oid(args, 0)?)));
    };
    Ok(Datum::Record(
        [
            Datum::Int8(sequence.start),
            Datum::Int8(sequence.min),
            Datum::Int8(sequence.max),
            Datum::Int8(sequence.increment),
            Datum::Bool(sequence.cycle),
            Datum::Int8(sequence.cache),
            Datum::Oid(sequence.type_oid),
        ]
        .into(),
    ))
}

/// `pg_options_to_table(text[])`: `name=value` in two columns.
fn options(args: &[Datum], _: &super::CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let split = |option: &Datum| -> Result<Vec<Datum>> {
        let option = option.as_text()?;
        Ok(match option.split_once('=') {
            Some((name, value)) => vec![Datum::text(name), Datum::text(value)],
            None => vec![Datum::text(&**option), Datum::Null],
        })
    };
    let rows = super::args::array(args, 0)?.elements.iter().map(split).collect::<Result<_>>()?;
    Ok(super::series::rows(rows))
}

/// `obj_description(oid [, catalog])` of the kinds of objects that have comments.
pub(super) fn object_description(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let class = match given(args, 1) {
        None => None,
        Some(catalog) => Some(catalog.as_text()?.to_string()),
    };
    let of_class = |name: &str| class.as_deref().is_none_or(|class| class == name);
    let object = oid(args, 0)?;
    let relation = || cx.catalog.relation(object).and_then(|r| r.comment.clone());
    let schema = || cx.catalog.schema(object).and_then(|s| s.comment.clone());
    let constraint =
        || definitions::find_constraint(&cx.catalog, object).and_then(|(_, c)| c.comment.clone());
    let relation = of_class("pg_class").then(relation).flatten();
    let schema = of_class("pg_namespace").then(schema).flatten();
    let constraint = of_class("pg_constraint").then(constraint).flatten();
    let statistics = || extended_statistics::statistics_object(&cx.catalog, object);
    let statistics = of_class("pg_statistic_ext").then(statistics).flatten();
    let statistics = statistics.and_then(|(_, object)| object.comment.clone());
    let trigger = || triggers::trigger_by_oid(&cx.catalog, object);
    let trigger = of_class("pg_trigger").then(trigger).flatten();
    let trigger = trigger.and_then(|(_, trigger)| trigger.comment.clone());
    let function = || cx.catalog.function(object).and_then(|f| f.comment.clone());
    let function = of_class("pg_proc").then(function).flatten();
    let of_type = || {
        let row = cx.catalog.relation_of_row_type(object);
        let composite = || row.filter(|r| r.kind == RelKind::Composite)?.comment.clone();
        let own = cx.catalog.user_type(object).and_then(|ty| ty.comment.clone());
        own.or_else(composite)
    };
    let of_type = of_class("pg_type").then(of_type).flatten();
    let found = relation.or(schema).or(constraint).or(statistics).or(trigger);
    let cast = || cx.catalog.stored::<UserCast>().get(object)?.comment.clone();
    let cast = of_class("pg_cast").then(cast).flatten();
    let operator = || cx.catalog.stored::<Operator>().get(object)?.comment.clone();
    let operator = of_class("pg_operator").then(operator).flatten();
    let found = found.or(function).or(of_type).or(cast).or(operator);
    text_or_null(found.as_deref().map(String::as_str))
}

/// `col_description(table, column number)`; number 0 is the table.
pub(super) fn column_description(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(relation) = relation_at(args, 0, cx)? else { return Ok(Datum::Null) };
    let comment = match usize::try_from(int4(args, 1)?) {
        Ok(0) => relation.comment.as_ref(),
        Ok(number) => relation.columns.get(number - 1).and_then(|c| c.comment.as_ref()),
        Err(_) => None,
    };
    text_or_null(comment.map(|comment| comment.as_str()))
}
