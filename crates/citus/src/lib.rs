//! Citus' functions and views, over Steppe's distributed tables.
//!
//! - `tables`: a local table becomes a distributed one, and back.
//! - `nodes`: nodes by host and port, and statements that run on all of them.
//! - `views`: the tables of Citus' catalog that describe nodes, tables and shards.
//! - `show`: the rows of these.
//!
//! They fill the same map as CREATE NODE and DISTRIBUTE BY do, so that each spelling shows the
//! objects of the other. The signatures and messages are those of Citus' documentation
//! (docs.citusdata.com, "Citus Utility Functions" and "Metadata Tables").
//!
//! A node has one table, with the rows of all its shards. So a shard is no table, and no function
//! runs a statement on one.

mod nodes;
mod show;
mod tables;

use std::sync::Arc;
use steppe_catalog::system::definitions::qualified_name;
use steppe_catalog::{AvailableExtension, Catalog, Relation};
use steppe_exec::Spi;
use steppe_exec::registry::{self, ExtensionCode, Family, Native};
use steppe_functions::{FnContext, scalar, set};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// Registers citus with the executor, and makes it available. The server calls this before the first
/// session.
pub fn register() {
    registry::register_extension(&CODE);
}

static CODE: ExtensionCode =
    ExtensionCode { extension: &EXTENSION, family: &FAMILY, missing_partition: None };

const CITUS: &str = "citus";

static EXTENSION: AvailableExtension = AvailableExtension {
    name: CITUS,
    version: "13.0",
    comment: "Citus' functions for distributed tables",
    functions: include_str!("../data/citus.tsv"),
    views: &[
        ("citus_tables", "citus_show_tables", ""),
        ("citus_shards", "citus_show_shards", ""),
        ("pg_dist_node", "citus_show_dist_node", ""),
        ("pg_dist_partition", "citus_show_dist_partition", ""),
        ("pg_dist_shard", "citus_show_dist_shard", ""),
        ("pg_dist_placement", "citus_show_dist_placement", ""),
        ("pg_dist_colocation", "citus_show_dist_colocation", ""),
    ],
};

static FAMILY: Family = Family { name: CITUS, by_source: &[TABLE], by_oid: &[] };

/// The functions by prosrc.
const TABLE: &[(&str, Native)] = &[
    ("create_distributed_table", Native::Spi(tables::create_distributed)),
    ("create_reference_table", Native::Spi(tables::create_reference)),
    ("undistribute_table", Native::Spi(tables::undistribute)),
    ("citus_add_node", Native::Spi(nodes::add)),
    ("citus_remove_node", Native::Spi(nodes::remove)),
    ("citus_set_coordinator_host", Native::Builtin(scalar(nodes::set_coordinator_host))),
    ("citus_active_workers", Native::Builtin(set(nodes::active))),
    ("run_command_on_workers", Native::Builtin(set(nodes::run_on_workers))),
    (
        "run_command_on_shards",
        Native::Builtin(set(|_, _, _| {
            Err(unsupported("run_command_on_shards")
                .detail("A node has one table for all its shards.")
                .hint("Use run_command_on_workers with the name of the table."))
        })),
    ),
    ("get_shard_id", Native::Spi(show::shard_id_of_value)),
    (
        "citus_move_shard_placement",
        Native::Builtin(scalar(|_, _| Err(unsupported("citus_move_shard_placement")))),
    ),
    (
        "citus_rebalance_start",
        Native::Builtin(scalar(|_, _| Err(unsupported("citus_rebalance_start")))),
    ),
    ("citus_drain_node", Native::Builtin(scalar(|_, _| Err(unsupported("citus_drain_node"))))),
    ("citus_tables", Native::Builtin(set(show::tables))),
    ("citus_shards", Native::Builtin(set(show::shards))),
    ("citus_dist_node", Native::Builtin(set(show::nodes))),
    ("citus_dist_partition", Native::Builtin(set(show::partitions))),
    ("citus_dist_shard", Native::Builtin(set(show::dist_shards))),
    ("citus_dist_placement", Native::Builtin(set(show::placements))),
    ("citus_dist_colocation", Native::Builtin(set(show::colocations))),
];

fn unsupported(function: &str) -> Error {
    Error::not_supported(format_args!("function {function}"))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The catalog as the session has it now.
fn catalog(cx: &FnContext) -> Arc<Catalog> {
    cx.session.newer_catalog(&cx.catalog).unwrap_or_else(|| cx.catalog.clone())
}

fn relation_in(catalog: &Catalog, relation: Oid) -> Result<&Arc<Relation>> {
    catalog.relation(relation).ok_or_else(|| {
        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{relation}\" does not exist"))
    })
}

/// A relation's name in statements.
fn qualified(spi: &Spi<'_>, relation: Oid) -> Result<String> {
    let catalog = spi.frame()?.names.catalog;
    Ok(qualified_name(&catalog, relation_in(&catalog, relation)?))
}

fn text(text: impl Into<Arc<str>>) -> Datum {
    Datum::Text(text.into())
}
