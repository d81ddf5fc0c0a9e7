//! SET LOGGED and SET UNLOGGED (ATPrepChangePersistence in tablecmds.c, SequenceChangePersistence).
//!
//! Each file of a table says whether it is logged. So all rows are written into new files, and the
//! indexes are built anew. The table's sequences change with it.

use super::{DdlContext, foreign_key, retype, sequence};
use steppe_catalog::{RelKind, Relation};
use steppe_sql::ast::AlterTableCommand as Command;
use steppe_txn::{Persistence, RelationLockMode};
use steppe_types::{Error, Result, SqlState};

/// Refuses an ALTER TABLE that sets the persistence more than once.
pub(super) fn check(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    commands: &[Command],
) -> Result<()> {
    let mut changes = false;
    for command in commands {
        let Command::SetLogged(logged) = command else { continue };
        if !matches!(table.kind, RelKind::Table | RelKind::Sequence) {
            continue;
        }
        if changes {
            let message = "cannot change persistence setting twice";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        check_permanent(ctx, table)?;
        foreign_key::check_logged(ctx, table, *logged)?;
        changes = table.is_unlogged() == *logged;
    }
    Ok(())
}

/// 42P16 for a temporary relation.
fn check_permanent(ctx: &mut DdlContext<'_>, table: &Relation) -> Result<()> {
    let catalog = ctx.catalog();
    if !catalog.is_temporary(table) {
        return Ok(());
    }
    let message =
        format!("cannot change logged status of table \"{}\" because it is temporary", table.name);
    let schema = catalog.schema(table.schema).map_or("", |schema| &schema.name);
    Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).table(schema, &table.name))
}

/// SET LOGGED, SET UNLOGGED of a table or a sequence.
pub(super) fn set(ctx: &mut DdlContext<'_>, relation: Relation, logged: bool) -> Result<()> {
    if relation.is_unlogged() != logged {
        return Ok(());
    }
    if relation.kind == RelKind::Sequence {
        return sequence::set_logged(ctx, &relation, logged);
    }
    let oid = relation.oid;
    let persistence = if logged { Persistence::Logged } else { Persistence::Unlogged };
    retype::rewrite_as(ctx, relation.clone(), relation, Vec::new(), persistence)?;
    for owned in sequence::owned_by(ctx, oid) {
        ctx.lock(owned, RelationLockMode::AccessExclusive)?;
        // It may have been dropped before it was locked.
        let Some(owned) = ctx.catalog().relation(owned).cloned() else { continue };
        if owned.is_unlogged() == logged {
            sequence::set_logged(ctx, &owned, logged)?;
        }
    }
    Ok(())
}
