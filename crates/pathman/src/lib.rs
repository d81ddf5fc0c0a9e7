//! pg_pathman's functions, over declarative partitions.
//!
//! - `create`: a plain table becomes a partitioned one, and back.
//! - `ranges`: the partitions of a range-partitioned table, and new ones.
//! - `grow`: new partitions for rows beyond the ends.
//! - `manage`: append, split, merge and the like.
//! - `kept`: the state that pg_pathman keeps for a table.
//! - `config`: functions that change and read that state, and the views.
//!
//! They execute statements ([`Spi`]), so that all of PostgreSQL's checks when a partition is
//! attached or a row is inserted apply here, too. The checks of pg_pathman itself come first, with
//! its messages.

mod config;
mod create;
mod grow;
mod kept;
mod manage;
mod ranges;

use kept::Pathman;
use std::sync::Arc;
use steppe_catalog::system::definitions::{qualified_name, quote_identifier};
use steppe_catalog::{AvailableExtension, Catalog, Relation};
use steppe_exec::Spi;
use steppe_exec::registry::{self, ExtensionCode, Family, Native};
use steppe_functions::{arg, scalar, set};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid, text_io};

/// Registers pg_pathman with the executor, and makes it available. The server calls this before the
/// first session.
pub fn register() {
    registry::register_extension(&CODE);
}

static CODE: ExtensionCode =
    ExtensionCode { extension: &EXTENSION, family: &FAMILY, missing_partition: Some(grow::grow) };

const PATHMAN: &str = "pg_pathman";

static EXTENSION: AvailableExtension = AvailableExtension {
    name: PATHMAN,
    version: "1.5",
    comment: "Partitioning tool for PostgreSQL",
    functions: include_str!("../data/pg_pathman.tsv"),
    views: &[
        ("pathman_config", "show_config", ""),
        ("pathman_config_params", "show_config_params", ""),
        ("pathman_partition_list", "show_partition_list", ""),
        ("pathman_concurrent_part_tasks", "show_concurrent_part_tasks", ""),
    ],
};

static FAMILY: Family = Family { name: PATHMAN, by_source: &[TABLE], by_oid: &[] };

/// The functions by prosrc.
const TABLE: &[(&str, Native)] = &[
    ("pathman_create_range", Native::Spi(create::create_range)),
    ("pathman_create_range_bounds", Native::Spi(create::create_range_bounds)),
    ("pathman_create_hash", Native::Spi(create::create_hash)),
    ("pathman_drop_partitions", Native::Spi(create::drop_partitions)),
    ("pathman_range_bounds", Native::Spi(create::range_bounds)),
    ("pathman_append", Native::Spi(manage::append)),
    ("pathman_prepend", Native::Spi(manage::prepend)),
    ("pathman_add", Native::Spi(manage::add)),
    ("pathman_drop_range", Native::Spi(manage::drop_range)),
    ("pathman_attach", Native::Spi(manage::attach)),
    ("pathman_detach", Native::Spi(manage::detach)),
    ("pathman_split", Native::Spi(manage::split)),
    ("pathman_merge", Native::Spi(manage::merge)),
    ("pathman_replace_hash", Native::Spi(manage::replace_hash)),
    ("pathman_disable", Native::Spi(config::disable)),
    ("pathman_set_interval", Native::Spi(config::set_interval)),
    ("pathman_set_auto", Native::Spi(config::set_auto)),
    ("pathman_set_enable_parent", Native::Spi(config::set_enable_parent)),
    ("pathman_set_spawn_using_bgw", Native::Spi(config::set_spawn_using_bgw)),
    ("pathman_set_init_callback", Native::Spi(config::set_init_callback)),
    ("pathman_count", Native::Builtin(scalar(config::number_of_partitions))),
    ("pathman_key", Native::Builtin(scalar(config::key))),
    ("pathman_key_type", Native::Builtin(scalar(config::key_type))),
    ("pathman_type", Native::Builtin(scalar(config::partition_type))),
    ("pathman_parent", Native::Builtin(scalar(config::parent_of_partition))),
    ("pathman_sequence_name", Native::Builtin(scalar(config::sequence_name_of))),
    (
        "pathman_version",
        Native::Builtin(scalar(|_, _| steppe_functions::args::text_datum("1.5.12"))),
    ),
    ("pathman_show_config", Native::Builtin(set(config::show_config))),
    ("pathman_show_params", Native::Builtin(set(config::show_params))),
    ("pathman_show_partitions", Native::Builtin(set(config::show_partitions))),
    // Rows are moved when a table is partitioned, so that no task is ever running.
    (
        "pathman_show_tasks",
        Native::Builtin(set(|_, _, _| Ok(steppe_functions::series::rows(Vec::new())))),
    ),
    ("pathman_stop_task", Native::Builtin(scalar(config::stop_task))),
    ("pathman_concurrently", Native::Builtin(scalar(config::move_rows))),
    ("pathman_data", Native::Builtin(scalar(config::moved_rows))),
    (
        "pathman_add_to_config",
        Native::Builtin(scalar(|_, _| Err(unsupported("add_to_pathman_config")))),
    ),
];

fn unsupported(function: &str) -> Error {
    Error::not_supported(format_args!("function {function}"))
}

/// The error of RAISE EXCEPTION.
fn raised(message: impl Into<String>) -> Error {
    Error::new(SqlState(*b"P0001"), message)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// An argument that may not be NULL, by its name in the message.
fn required<'a>(args: &'a [Datum], i: usize, name: &str) -> Result<&'a Datum> {
    match arg(args, i)? {
        Datum::Null => Err(invalid(format!("'{name}' should not be NULL"))),
        given => Ok(given),
    }
}

/// A regclass argument that may not be NULL.
fn required_relation(args: &[Datum], i: usize, name: &str) -> Result<Oid> {
    match required(args, i, name)? {
        Datum::Oid(relation) => Ok(*relation),
        _ => Err(Error::internal("a regclass argument is no OID")),
    }
}

fn relation_in(catalog: &Catalog, relation: Oid) -> Result<&Arc<Relation>> {
    catalog.relation(relation).ok_or_else(|| {
        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{relation}\" does not exist"))
    })
}

/// A relation as it is now.
fn relation(spi: &Spi<'_>, relation: Oid) -> Result<Arc<Relation>> {
    relation_in(&spi.frame()?.names.catalog, relation).cloned()
}

/// A relation's name in statements.
fn qualified(spi: &Spi<'_>, relation: Oid) -> Result<String> {
    let catalog = spi.frame()?.names.catalog;
    Ok(qualified_name(&catalog, relation_in(&catalog, relation)?))
}

/// A relation as regclass shows it.
fn shown(spi: &Spi<'_>, relation: Oid) -> Result<String> {
    output(oid::REGCLASS, &Datum::Oid(relation), &spi.frame()?.io)
}

/// A value as its type shows it.
fn output(type_oid: Oid, value: &Datum, io: &steppe_types::io::IoContext) -> Result<String> {
    let mut bytes = Vec::new();
    text_io::output(type_oid, value, io, &mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Error::internal("a value is shown as no text"))
}

/// A table that pg_pathman has partitioned.
struct Parent {
    relation: Arc<Relation>,
    pathman: Pathman,
}

impl Parent {
    /// P0001 if pg_pathman has not partitioned the table.
    fn open(spi: &Spi<'_>, oid: Oid) -> Result<Parent> {
        let relation = relation(spi, oid)?;
        match Pathman::of(&relation)? {
            Some(pathman) => Ok(Parent { relation, pathman }),
            None => Err(raised(format!("table \"{}\" is not partitioned", shown(spi, oid)?))),
        }
    }

    /// The parent of a partition.
    fn of_partition(spi: &Spi<'_>, partition: Oid) -> Result<Parent> {
        let relation = relation(spi, partition)?;
        match &relation.partition_of {
            Some(of) => Parent::open(spi, of.parent),
            None => Err(not_a_partition(&relation)),
        }
    }
}

fn not_a_partition(relation: &Relation) -> Error {
    invalid(format!("relation \"{}\" is not a partition", relation.name))
}

/// A relation's columns as a list: statements name them, since a partition may have them in
/// another order. Generated ones are computed again.
fn column_list(relation: &Relation) -> String {
    let live = relation.columns.iter().filter(|column| !column.dropped);
    live.filter(|column| !column.generated)
        .map(|column| quote_identifier(&column.name))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Moves or copies all rows of one table to another; returns their number.
fn copy_rows(spi: &mut Spi<'_>, from: Oid, to: Oid) -> Result<u64> {
    let columns = column_list(&*relation(spi, to)?);
    let (from, to) = (qualified(spi, from)?, qualified(spi, to)?);
    let text = format!(
        "INSERT INTO {to} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {from}"
    );
    Ok(spi.execute(&text)?.processed)
}
