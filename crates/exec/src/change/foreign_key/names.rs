//! Names in the statements of foreign keys.

use steppe_catalog::{Catalog, RelKind, Relation};

/// `"schema"."table"`, with ONLY unless it is partitioned.
pub(super) fn table_name(catalog: &Catalog, table: &Relation) -> String {
    let only = if table.kind == RelKind::PartitionedTable { "" } else { "ONLY " };
    let schema = catalog.schema(table.schema).map_or("public", |schema| &schema.name);
    format!("{only}{}.{}", quoted(schema), quoted(&table.name))
}

/// The name of a column.
pub(super) fn column_name(table: &Relation, attnum: i16) -> String {
    quoted(table.columns.get(attnum as usize - 1).map_or("?", |column| &column.name))
}

/// A name in quotes, as PostgreSQL's quoteOneName writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
