//! pg_inherits and pg_partitioned_table; partition keys and bounds as text.

use super::definitions::{Style, collate_clause, key_part, quote_identifier};
use super::facts::{self, OpclassMethod};
use super::rows::{RowsBuilder, optional, vector};
use super::session::SystemContext;
use crate::partition::{PartitionColumn, PartitionKey};
use crate::relation::Relation;
use crate::snapshot::Catalog;
use std::borrow::Cow;
use steppe_partition::PartitionStrategy;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, oid};

/// pg_inherits
pub(super) fn pg_inherits(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for child in context.catalog.relations() {
        let pending = child.is_detaching();
        for (parent, number) in child.parents().zip(1..) {
            out.row([
                ("inhrelid", Datum::Oid(child.oid)),
                ("inhparent", Datum::Oid(parent)),
                ("inhseqno", Datum::Int4(number)),
                ("inhdetachpending", Datum::Bool(pending)),
            ]);
        }
    }
}

/// pg_partitioned_table
pub(super) fn pg_partitioned_table(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for table in context.catalog.relations() {
        let Some(key) = &table.partition_key else { continue };
        let default = match context.catalog.partition_map(table.oid) {
            Ok(Some(map)) => map.default_partition(),
            _ => None,
        };
        let columns = &key.columns;
        let expressions: Vec<&str> =
            columns.iter().filter_map(|column| column.expression.as_deref()).collect();
        let opclass = |column: &PartitionColumn| Datum::Oid(opclass_of(key.strategy, column));
        out.row([
            ("partrelid", Datum::Oid(table.oid)),
            ("partstrat", Datum::Char(strategy_code(key.strategy))),
            ("partnatts", Datum::Int2(columns.len() as i16)),
            ("partdefid", Datum::Oid(default.unwrap_or(0))),
            (
                "partattrs",
                vector(oid::INT2, columns.iter().map(|c| Datum::Int2(c.attnum)).collect()),
            ),
            ("partclass", vector(oid::OID, columns.iter().map(opclass).collect())),
            (
                "partcollation",
                vector(oid::OID, columns.iter().map(|c| Datum::Oid(c.collation)).collect()),
            ),
            ("partexprs", optional((!expressions.is_empty()).then(|| expressions.join(", ")))),
        ]);
    }
}

fn strategy_code(strategy: PartitionStrategy) -> u8 {
    match strategy {
        PartitionStrategy::Range => b'r',
        PartitionStrategy::List => b'l',
        PartitionStrategy::Hash => b'h',
    }
}

fn opclass_of(strategy: PartitionStrategy, column: &PartitionColumn) -> Oid {
    let method = OpclassMethod::of_partitions(strategy);
    let named = column.opclass.as_deref().and_then(|name| facts::opclass_named(method, name));
    let class = named.map(|(class, _)| class);
    class.or_else(|| facts::default_opclass(method, column.type_oid)).unwrap_or(0)
}

/// pg_get_partkeydef: `RANGE (a, lower(b))`. `None`: the relation is not partitioned.
pub fn partition_key_definition(
    catalog: &Catalog,
    table: &Relation,
    style: Style<'_>,
) -> Option<String> {
    let key = table.partition_key.as_ref()?;
    let word = match key.strategy {
        PartitionStrategy::Range => "RANGE",
        PartitionStrategy::List => "LIST",
        PartitionStrategy::Hash => "HASH",
    };
    let columns: Vec<String> =
        key.columns.iter().map(|c| column_text(catalog, table, (key, c), style)).collect();
    Some(format!("{word} ({})", columns.join(", ")))
}

fn column_text(
    catalog: &Catalog,
    table: &Relation,
    (key, column): (&PartitionKey, &PartitionColumn),
    style: Style<'_>,
) -> String {
    let expression = column.expression.as_deref();
    let mut text = key_part(catalog, table, column.attnum, expression, style);
    text.push_str(&collate_clause(column.collation, column.source_collation(table)));
    let method = OpclassMethod::of_partitions(key.strategy);
    let default = facts::default_opclass(method, column.type_oid);
    if let Some(opclass) = &column.opclass
        && Some(opclass_of(key.strategy, column)) != default
    {
        text.push(' ');
        text.push_str(opclass);
    }
    text
}

/// A column of a key as an operand: its name, or the expression's canonical text.
pub fn key_name<'t>(table: &'t Relation, column: &'t PartitionColumn) -> Cow<'t, str> {
    let position = usize::try_from(column.attnum - 1).ok();
    match (&column.expression, position.and_then(|i| table.columns.get(i))) {
        (Some(text), _) => Cow::Borrowed(text),
        (None, Some(column)) => quote_identifier(&column.name),
        (None, None) => Cow::Borrowed("?"),
    }
}

/// pg_class.relpartbound: the bound's text, which pg_get_expr shows.
pub(super) fn bound_text(relation: &Relation) -> Option<String> {
    let bound = relation.partition_of.as_ref()?.bound.as_ref()?;
    bound.text(&IoContext::default()).ok()
}
