//! Names in the statements of foreign keys.

use std::fmt::Write as _;
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

/// The statement that locks the row with a key (of RI_FKey_check). `columns` are the key's.
pub(super) fn key_query(
    catalog: &Catalog,
    table: &Relation,
    columns: impl Iterator<Item = i16>,
) -> String {
    let mut out = format!("SELECT 1 FROM {} x", table_name(catalog, table));
    for (n, attnum) in columns.enumerate() {
        let word = if n == 0 { "WHERE" } else { "AND" };
        let column = column_name(table, attnum);
        let _ = write!(out, " {word} {column} OPERATOR(pg_catalog.=) ${}", n + 1);
    }
    out.push_str(" FOR KEY SHARE OF x");
    out
}

/// A name in quotes, as PostgreSQL's quoteOneName writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
