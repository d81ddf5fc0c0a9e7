//! The files of a table's rows and large values.

use super::super::DdlContext;
use steppe_catalog::Relation;
use steppe_sql::ast::{self, RangeVar};
use steppe_txn::{OverflowStore, Persistence, TableStore};
use steppe_types::{Oid, Result};

/// The persistence of a new table's or sequence's files. Temporary files are unlogged: a crash may
/// empty them.
pub(crate) fn persistence_of_new(
    ctx: &mut DdlContext<'_>,
    name: &RangeVar,
    schema: Oid,
) -> Persistence {
    let catalog = ctx.catalog();
    let is_temporary = catalog.schema(schema).is_some_and(|schema| schema.is_temporary());
    match is_temporary || name.persistence == ast::Persistence::Unlogged {
        true => Persistence::Unlogged,
        false => Persistence::Logged,
    }
}

/// Creates the files of a table's rows and large values.
pub(crate) fn create_storage(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    persistence: Persistence,
) -> Result<()> {
    let rows = TableStore::create(ctx.txn, persistence)?;
    let overflow = OverflowStore::create(ctx.txn, persistence)?;
    relation.storage = Some(rows.file());
    relation.overflow = Some(overflow.file());
    Ok(())
}
