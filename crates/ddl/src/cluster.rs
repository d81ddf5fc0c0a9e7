//! CLUSTER ON and SET WITHOUT CLUSTER (tablecmds.c, cluster.c): which index CLUSTER would order a
//! table by. The catalog keeps the mark, and pg_dump copies it.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_types::{Error, Result, SqlState};

/// Marks an index of the table as the one, or none.
pub(super) fn mark(ctx: &mut DdlContext<'_>, table: &Relation, index: Option<&str>) -> Result<()> {
    let chosen = index.map(|name| clusterable(ctx, table, name)).transpose()?;
    if table.kind == RelKind::PartitionedTable {
        let message = "cannot mark index clustered in partitioned table";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let catalog = ctx.catalog();
    for index in catalog.indexes_of(table) {
        let is_chosen = chosen.as_ref().is_some_and(|chosen| chosen.oid == index.oid);
        let mut marked = (**index).clone();
        match &mut marked.index {
            Some(info) if info.clustered != is_chosen => info.clustered = is_chosen,
            _ => continue,
        }
        ctx.put(marked)?;
    }
    Ok(())
}

/// The index of that name, if the table can be ordered by it (check_index_is_clusterable).
fn clusterable(ctx: &mut DdlContext<'_>, table: &Relation, name: &str) -> Result<Arc<Relation>> {
    let catalog = ctx.catalog();
    let Some(index) = catalog.relation_named(table.schema, name) else {
        let message = format!("index \"{name}\" for table \"{}\" does not exist", table.name);
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    };
    let wrong = |message| Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    let Some(info) = &index.index else {
        return wrong(format!("\"{name}\" is not an index"));
    };
    if info.table != table.oid {
        return wrong(format!("\"{name}\" is not an index for table \"{}\"", table.name));
    }
    let refused = |what: &str| {
        let message = format!("cannot cluster on {what} index \"{name}\"");
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    };
    match () {
        () if info.predicate.is_some() => refused("partial"),
        () if !catalog.is_valid_index(index) => refused("invalid"),
        () => Ok(Arc::clone(index)),
    }
}
