//! The rows of Citus' views, and the shard of a value.
//!
//! A shard's identifier is made from its table's OID and its number in the table, so that it needs no
//! row of its own and stays when the shard moves.

use super::nodes::{data_nodes, node_id};
use super::{catalog, relation_in, text};
use std::sync::Arc;
use steppe_catalog::objects::Node;
use steppe_catalog::{Catalog, Column, Distribution, DistributionMethod as Method, Relation};
use steppe_exec::Spi;
use steppe_functions::args::{given, oid};
use steppe_functions::{CallInfo, FnContext, SetRows, series};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, text_io};

/// More than any table has shards. The digits of a shard's identifier below it are its number.
const PER_TABLE: i64 = 100_000;
/// pg_dist_placement.shardstate of a shard that is there (SHARD_STATE_ACTIVE).
const ACTIVE: i32 = 1;

/// pg_dist_shard.shardstorage of a table (SHARD_STORAGE_TABLE).
const TABLE: u8 = b't';

type Rows = Result<Box<dyn SetRows>>;

/// A distributed table.
struct Table {
    relation: Arc<Relation>,
    of: Arc<Distribution>,
}

impl Table {
    /// All of them, by OID.
    fn all(catalog: &Catalog) -> Vec<Table> {
        let table = |relation: &Arc<Relation>| {
            let of = Arc::clone(relation.distribution.as_ref()?);
            Some(Table { relation: Arc::clone(relation), of })
        };
        let mut tables: Vec<Table> = catalog.relations().filter_map(table).collect();
        tables.sort_unstable_by_key(|table| table.relation.oid);
        tables
    }

    fn key(&self) -> Option<&Column> {
        let position = usize::try_from(self.of.key()? - 1).ok()?;
        self.relation.columns.get(position)
    }

    fn oid(&self) -> Datum {
        Datum::Oid(self.relation.oid)
    }

    fn kind(&self) -> Datum {
        text(match self.of.is_replicated() {
            true => "reference",
            false => "distributed",
        })
    }

    fn group(&self) -> i32 {
        self.of.group.cast_signed()
    }

    fn key_name(&self) -> Datum {
        self.key().map_or(Datum::Null, |column| text(column.name.clone()))
    }

    fn shards(&self) -> impl Iterator<Item = (usize, i64)> + use<> {
        let first = i64::from(self.relation.oid) * PER_TABLE;
        (0..self.of.shard_count()).map(move |shard| (shard, first + shard as i64))
    }

    /// The nodes that have a shard.
    fn nodes(&self, catalog: &Catalog, shard: usize) -> Vec<Arc<Node>> {
        let places = self.of.nodes_of_shard(shard);
        let oids = self.of.nodes.get(places).unwrap_or_default();
        oids.iter().filter_map(|oid| catalog.stored::<Node>().get(*oid).cloned()).collect()
    }
}

/// The rows that each table has.
fn of_tables(cx: &FnContext, rows: impl FnMut(&Table) -> Vec<Vec<Datum>>) -> Rows {
    Ok(series::rows(Table::all(&catalog(cx)).iter().flat_map(rows).collect()))
}

/// citus_tables
pub(super) fn tables(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Rows {
    of_tables(cx, |table| {
        vec![vec![
            table.oid(),
            table.kind(),
            match table.key_name() {
                Datum::Null => text("<none>"),
                name => name,
            },
            Datum::Int4(table.group()),
            Datum::Null,
            Datum::Int8(table.of.shard_count() as i64),
            text("postgres"),
            text("heap"),
        ]]
    })
}

/// citus_shards
pub(super) fn shards(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Rows {
    let catalog = catalog(cx);
    of_tables(cx, |table| {
        let row = |(shard, id): (usize, i64)| {
            let of_node = |node: Arc<Node>| {
                vec![
                    table.oid(),
                    Datum::Int8(id),
                    text(table.relation.name.clone()),
                    table.kind(),
                    Datum::Int4(table.group()),
                    text(node.host.clone()),
                    Datum::Int4(node.port.into()),
                    Datum::Null,
                ]
            };
            table.nodes(&catalog, shard).into_iter().map(of_node).collect::<Vec<_>>()
        };
        table.shards().flat_map(row).collect()
    })
}

/// pg_dist_node
pub(super) fn nodes(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Rows {
    let row = |node: Arc<Node>| {
        vec![
            Datum::Int4(node_id(&node)),
            Datum::Int4(node_id(&node)),
            text(node.host.clone()),
            Datum::Int4(node.port.into()),
            text("default"),
            Datum::Bool(false),
            Datum::Bool(node.identity != 0),
            text("primary"),
            text("default"),
            Datum::Bool(false),
            Datum::Bool(true),
        ]
    };
    Ok(series::rows(data_nodes(&catalog(cx)).into_iter().map(row).collect()))
}

/// pg_dist_partition
pub(super) fn partitions(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Rows {
    of_tables(cx, |table| {
        let (method, model) = match table.of.method {
            Method::Hash => (b'h', b's'),
            Method::Replicated => (b'n', b't'),
            Method::Modulo => (b'm', b's'),
            Method::RoundRobin => (b'a', b's'),
        };
        vec![vec![
            table.oid(),
            Datum::Char(method),
            table.key_name(),
            Datum::Int4(table.group()),
            Datum::Char(model),
            Datum::Bool(false),
        ]]
    })
}

/// pg_dist_shard
pub(super) fn dist_shards(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Rows {
    of_tables(cx, |table| {
        let shards = &table.of.shards;
        let edges = |shard: usize| match shards.is_empty() {
            true => [Datum::Null, Datum::Null],
            false => {
                let tokens = shards.tokens(shard);
                [tokens.start(), tokens.end()].map(|token| text((token >> 32).to_string()))
            }
        };
        let row = |(shard, id): (usize, i64)| {
            let [min, max] = edges(shard);
            vec![table.oid(), Datum::Int8(id), Datum::Char(TABLE), min, max]
        };
        table.shards().map(row).collect()
    })
}

/// pg_dist_placement
pub(super) fn placements(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Rows {
    let catalog = catalog(cx);
    let mut number = 0;
    of_tables(cx, |table| {
        let mut rows = Vec::new();
        for (shard, id) in table.shards() {
            for node in table.nodes(&catalog, shard) {
                number += 1;
                rows.push(vec![
                    Datum::Int8(number),
                    Datum::Int8(id),
                    Datum::Int4(ACTIVE),
                    Datum::Int8(0),
                    Datum::Int4(node_id(&node)),
                ]);
            }
        }
        rows
    })
}

/// pg_dist_colocation
pub(super) fn colocations(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Rows {
    let mut groups = Vec::new();
    of_tables(cx, |table| {
        let group = table.group();
        if group == 0 || groups.contains(&group) {
            return Vec::new();
        }
        groups.push(group);
        let (ty, collation) =
            table.key().map_or((0, 0), |column| (column.type_oid, column.collation));
        vec![vec![
            Datum::Int4(group),
            Datum::Int4(i32::try_from(table.of.shard_count()).unwrap_or(i32::MAX)),
            Datum::Int4(1),
            Datum::Oid(ty),
            Datum::Oid(collation),
        ]]
    })
}

/// `get_shard_id_for_distribution_column(table, value)`
pub(super) fn shard_id_of_value(
    args: &[Datum],
    call: &CallInfo,
    spi: &mut Spi<'_>,
) -> Result<Datum> {
    if given(args, 0).is_none() {
        return Ok(Datum::Null);
    }
    let relation = Arc::clone(relation_in(&spi.frame()?.names.catalog, oid(args, 0)?)?);
    let Some(of) = relation.distribution.clone() else {
        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, "relation is not distributed"));
    };
    let table = Table { relation, of };
    let first = i64::from(table.relation.oid) * PER_TABLE;
    if table.of.is_replicated() {
        return Ok(Datum::Int8(first));
    }
    let Some(column) = table.key() else {
        return Err(Error::not_supported("finding shards of a table without a key"));
    };
    let Some(value) = given(args, 1) else {
        let message = "distribution value cannot be NULL for tables other than reference tables.";
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    };
    let type_oid = call.args.get(1).copied().unwrap_or(column.type_oid);
    let value = converted((type_oid, value), column, spi.io())?;
    let shard = table.of.shard(column.type_oid, &value)?;
    Ok(shard.map_or(Datum::Null, |shard| Datum::Int8(first + shard as i64)))
}

/// A value of any type as one of the key's, by its text.
fn converted((type_oid, value): (Oid, &Datum), key: &Column, io: &IoContext) -> Result<Datum> {
    let mut bytes = Vec::new();
    text_io::output(type_oid, value, io, &mut bytes)?;
    let shown =
        String::from_utf8(bytes).map_err(|_| Error::internal("a value is shown as no text"))?;
    text_io::input(key.type_oid, key.typmod, &shown, io)
}
