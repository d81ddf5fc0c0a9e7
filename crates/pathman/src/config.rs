//! The state that pg_pathman keeps for a table: functions that change and read it, and the rows of
//! its views.

use super::kept::{Pathman, is_kept};
use super::ranges::{is_range, key_column, ranges, sequence_name, takes_intervals};
use super::{Parent, not_a_partition, output, raised, relation_in, required_relation, shown};
use std::sync::Arc;
use steppe_catalog::system::definitions::quote_identifier;
use steppe_catalog::{Catalog, FunctionRef, Relation};
use steppe_ddl::of_function::SpiDdl;
use steppe_exec::Spi;
use steppe_functions::args::{boolean, oid as oid_arg, text_datum, text_or_null, void};
use steppe_functions::{CallInfo, FnContext, SetRows, arg, series};
use steppe_partition::RangeDatum;
use steppe_sql::bind::typename::format_type;
use steppe_txn::RelationLockMode;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// pathman_config.parttype
const HASH: i32 = 1;
const RANGE: i32 = 2;

// ----- changing -----

/// Changes the state of a table; with `None` it is removed.
fn change(
    spi: &mut Spi<'_>,
    table: Oid,
    f: impl FnOnce(Pathman) -> Option<Pathman>,
) -> Result<Datum> {
    Parent::open(spi, table)?;
    spi.ddl("ALTER TABLE", "", |ctx| {
        ctx.lock(table, RelationLockMode::ShareUpdateExclusive)?;
        let catalog = ctx.catalog();
        let relation = relation_in(&catalog, table)?;
        let Some(pathman) = Pathman::of(relation)? else { return Ok(()) };
        let kept = f(pathman).map(Pathman::into_kept).transpose()?.map(Arc::new);
        ctx.put(Relation { kept, ..(**relation).clone() })
    })?;
    void()
}

/// `disable_pathman_for(parent)`: the table stays partitioned.
pub(super) fn disable(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let table = oid_arg(args, 0)?;
    match is_kept(relation_in(&spi.frame()?.names.catalog, table)?) {
        true => change(spi, table, |_| None),
        false => void(),
    }
}

pub(super) fn set_auto(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let auto = boolean(args, 1)?;
    change(spi, oid_arg(args, 0)?, |pathman| Some(Pathman { auto, ..pathman }))
}

pub(super) fn set_enable_parent(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let enable_parent = boolean(args, 1)?;
    change(spi, oid_arg(args, 0)?, |pathman| Some(Pathman { enable_parent, ..pathman }))
}

pub(super) fn set_spawn_using_bgw(
    args: &[Datum],
    _: &CallInfo,
    spi: &mut Spi<'_>,
) -> Result<Datum> {
    let spawn_using_bgw = boolean(args, 1)?;
    change(spi, oid_arg(args, 0)?, |pathman| Some(Pathman { spawn_using_bgw, ..pathman }))
}

/// `set_init_callback(relation, callback)`: no existing function has the required signature.
pub(super) fn set_init_callback(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let (table, callback) = (oid_arg(args, 0)?, oid_arg(args, 1)?);
    Parent::open(spi, table)?;
    match callback {
        0 => void(),
        function if FunctionRef::built_in(function).is_none() => Err(Error::new(
            SqlState::UNDEFINED_FUNCTION,
            format!("function {function} does not exist"),
        )),
        _ => Err(raised(
            "callback function must have the following signature: callback(arg JSONB) RETURNS VOID",
        )),
    }
}

/// `set_interval(relation, value)`
pub(super) fn set_interval(args: &[Datum], call: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let table = required_relation(args, 0, "relation")?;
    let by_range = Parent::open(spi, table).ok().filter(|parent| is_range(&parent.relation));
    let Some(parent) = by_range else {
        let name = shown(spi, table)?;
        return Err(raised(format!("table \"{name}\" is not partitioned by RANGE")));
    };
    let value = arg(args, 1)?;
    if value.is_null() {
        return change(spi, table, |pathman| Some(Pathman { range_interval: None, ..pathman }));
    }
    let ty = call.args.get(1).copied().unwrap_or(steppe_types::oid::UNKNOWN);
    let key_type = key_column(&parent.relation)?.type_oid;
    let key = format_type(key_type, -1);
    let from = if takes_intervals(key_type) { "2000-01-01" } else { "0" };
    let test = format!("('{from}'::{key} + $1)::{key} <= '{from}'::{key}");
    if spi.value(&test, &[(ty, value.clone())])? != Datum::Bool(false) {
        return Err(super::invalid("interval should not be trivial"));
    }
    let interval = Some(Arc::from(output(ty, value, &IoContext::default())?));
    change(spi, table, |pathman| Some(Pathman { range_interval: interval, ..pathman }))
}

// ----- telling -----

/// The catalog for a function that runs no statements.
fn catalog(cx: &FnContext) -> Arc<Catalog> {
    cx.session.newer_catalog(&cx.catalog).unwrap_or_else(|| cx.catalog.clone())
}

/// The state of the table that a function is called for, if pg_pathman has partitioned it.
fn kept(args: &[Datum], cx: &FnContext) -> Result<Option<(Arc<Relation>, Pathman)>> {
    let catalog = catalog(cx);
    let Some(relation) = catalog.relation(oid_arg(args, 0)?) else { return Ok(None) };
    Ok(Pathman::of(relation)?.map(|pathman| (relation.clone(), pathman)))
}

pub(super) fn number_of_partitions(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let count = catalog(cx).children(oid_arg(args, 0)?).count();
    Ok(Datum::Int4(i32::try_from(count).unwrap_or(i32::MAX)))
}

pub(super) fn key(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    text_or_null(kept(args, cx)?.map(|(_, pathman)| pathman.expression.clone()))
}

pub(super) fn key_type(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    match kept(args, cx)? {
        Some((relation, _)) => Ok(Datum::Oid(key_column(&relation)?.type_oid)),
        None => Ok(Datum::Null),
    }
}

fn type_of(relation: &Relation) -> i32 {
    if is_range(relation) { RANGE } else { HASH }
}

pub(super) fn partition_type(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let kept = kept(args, cx)?;
    Ok(kept.map_or(Datum::Null, |(relation, _)| Datum::Int4(type_of(&relation))))
}

pub(super) fn parent_of_partition(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let catalog = catalog(cx);
    let partition = relation_in(&catalog, oid_arg(args, 0)?)?;
    match &partition.partition_of {
        Some(of) => Ok(Datum::Oid(of.parent)),
        None => Err(not_a_partition(partition)),
    }
}

pub(super) fn sequence_name_of(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let catalog = catalog(cx);
    let parent = relation_in(&catalog, oid_arg(args, 0)?)?;
    let schema = catalog.schema(parent.schema).map_or("public", |schema| &schema.name);
    let name = sequence_name(parent);
    text_datum(format!("{}.{}", quote_identifier(schema), quote_identifier(&name)))
}

/// `partition_table_concurrently(relation, batch_size, sleep_time)`: a partitioned table has no
/// rows of its own left to move.
pub(super) fn move_rows(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    moved_rows(args, cx).and_then(|_| void())
}

/// `partition_data(parent)`: the number of moved rows, which is 0.
pub(super) fn moved_rows(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let catalog = catalog(cx);
    let relation = relation_in(&catalog, oid_arg(args, 0)?)?;
    match is_kept(relation) {
        true => Ok(Datum::Int8(0)),
        false => Err(raised(format!("relation \"{}\" has no partitions", relation.name))),
    }
}

pub(super) fn stop_task(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let catalog = catalog(cx);
    let name = relation_in(&catalog, oid_arg(args, 0)?)?.name.clone();
    Err(raised(format!("cannot find worker for relation \"{name}\"")))
}

// ----- views -----

/// The tables that pg_pathman has partitioned.
fn all_kept(cx: &FnContext) -> Result<Vec<(Arc<Relation>, Pathman)>> {
    let catalog = catalog(cx);
    let kept = |relation: &Arc<Relation>| {
        let pathman = Pathman::of(relation).transpose()?;
        Some(pathman.map(|pathman| (relation.clone(), pathman)))
    };
    catalog.relations().filter_map(kept).collect()
}

fn optional(text: Option<Arc<str>>) -> Datum {
    text.map_or(Datum::Null, Datum::Text)
}

/// pathman_config
pub(super) fn show_config(
    _: &[Datum],
    _: &CallInfo,
    cx: &mut FnContext,
) -> Result<Box<dyn SetRows>> {
    let rows = all_kept(cx)?.into_iter().map(|(table, pathman)| {
        vec![
            Datum::Oid(table.oid),
            Datum::Text(pathman.expression.clone()),
            Datum::Int4(type_of(&table)),
            optional(pathman.range_interval.clone()),
        ]
    });
    Ok(series::rows(rows.collect()))
}

/// pathman_config_params
pub(super) fn show_params(
    _: &[Datum],
    _: &CallInfo,
    cx: &mut FnContext,
) -> Result<Box<dyn SetRows>> {
    let rows = all_kept(cx)?.into_iter().map(|(table, pathman)| {
        vec![
            Datum::Oid(table.oid),
            Datum::Bool(pathman.enable_parent),
            Datum::Bool(pathman.auto),
            Datum::Oid(0),
            Datum::Bool(pathman.spawn_using_bgw),
        ]
    });
    Ok(series::rows(rows.collect()))
}

/// pathman_partition_list
pub(super) fn show_partitions(
    _: &[Datum],
    _: &CallInfo,
    cx: &mut FnContext,
) -> Result<Box<dyn SetRows>> {
    let catalog = catalog(cx);
    let mut rows = Vec::new();
    for (table, pathman) in all_kept(cx)? {
        let mut row = |partition: Oid, lower: Datum, upper: Datum| {
            rows.push(vec![
                Datum::Oid(table.oid),
                Datum::Oid(partition),
                Datum::Int4(type_of(&table)),
                Datum::Text(pathman.expression.clone()),
                lower,
                upper,
            ]);
        };
        if !is_range(&table) {
            catalog.children(table.oid).for_each(|child| row(child, Datum::Null, Datum::Null));
            continue;
        }
        for range in ranges(&catalog, &table)? {
            let (lower, upper) = (shown_edge(&range.lower, cx)?, shown_edge(&range.upper, cx)?);
            row(range.partition, lower, upper);
        }
    }
    Ok(series::rows(rows))
}

/// An edge as the view shows it; an infinite one is NULL.
fn shown_edge(edge: &RangeDatum, cx: &FnContext) -> Result<Datum> {
    match edge {
        RangeDatum::Value(value) => text_datum(output(value.type_oid(), value.datum(), &cx.io)?),
        RangeDatum::MinValue | RangeDatum::MaxValue => Ok(Datum::Null),
    }
}
