//! Whether the rows of a table have their keys in the referenced one (RI_Initial_Check).
//!
//! Keys are collected from the rows, sorted in large batches, and each different one is looked up
//! once, in the order of the index.

use super::super::DdlContext;
use super::super::scan::with_newest;
use super::partitions::own_below;
use std::sync::Arc;
use steppe_catalog::{Constraint, RelKind, Relation};
use steppe_exec::stored::{ReferencedKeys, TableAccess, missing_key};
use steppe_txn::RelationLockMode;
use steppe_types::{Datum, Error, Result, SqlState};

/// The most keys of a batch.
const KEYS_MAX: usize = 1 << 18;
/// The most bytes of maintenance_work_mem that a key of a batch is taken to need.
const KEY_BYTES: usize = 128;

/// VALIDATE CONSTRAINT of a foreign key.
pub(in super::super) fn validate(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    at: usize,
) -> Result<()> {
    let own = table.constraints[at].clone();
    if own.foreign_key().is_some_and(|key| key.not_enforced) {
        let message = "cannot validate NOT ENFORCED constraint";
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    if !own.not_valid {
        return Ok(());
    }
    for (partition, theirs) in own_below(ctx, table, &own)? {
        let mode = RelationLockMode::ShareUpdateExclusive;
        let mut partition = (*ctx.lock_current(partition.oid, mode)?).clone();
        if let Some(at) = partition.constraints.iter().position(|c| c.oid == theirs.oid) {
            validate(ctx, &mut partition, at)?;
        }
    }
    if let Some(key) = own.foreign_key() {
        ctx.lock(key.table, RelationLockMode::RowShare)?;
    }
    check(ctx, &Arc::new(table.clone()), &own)?;
    table.constraints[at].not_valid = false;
    ctx.put(table.clone())
}

/// 23503 unless all rows of the table, which no other transaction changes, have their keys.
pub(super) fn check(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    constraint: &Constraint,
) -> Result<()> {
    let Some(key) = constraint.foreign_key() else { return Ok(()) };
    if table.kind != RelKind::Table || key.not_enforced {
        return Ok(());
    }
    let database = Arc::clone(ctx.store.database());
    let access = TableAccess::open(&database, table)?;
    let Some(rows) = access.rows() else { return Ok(()) };
    if rows.tree()?.is_none() {
        return Ok(());
    }
    let catalog = ctx.catalog();
    let keys = ReferencedKeys::open(&database, key, &catalog)?;
    let columns: Vec<usize> = constraint.columns.iter().map(|c| *c as usize - 1).collect();
    let most = (ctx.maintenance_work_mem_bytes / KEY_BYTES).clamp(1024, KEYS_MAX);
    let functions = ctx.functions();
    with_newest(ctx, |ctx, view| {
        let mut cursor = rows.scan_all(view.clone())?;
        let session = Arc::clone(&ctx.session);
        let check_interrupts = || session.check_interrupts();
        let mut scan = || -> Result<()> {
            let mut batch: Vec<Vec<Datum>> = Vec::new();
            loop {
                check_interrupts()?;
                let more = cursor.next_batch(&mut |_, row| {
                    let values = columns.iter().map(|at| access.decode_column(row, *at));
                    let values = values.collect::<Result<Vec<_>>>()?;
                    match values.iter().filter(|value| value.is_null()).count() {
                        0 => batch.push(values),
                        nulls if key.match_full && nulls < values.len() => {
                            let error = missing_key_of(table, &columns, constraint, &values);
                            return Err(error);
                        }
                        _ => {}
                    }
                    Ok(())
                })?;
                if batch.len() >= most || !more {
                    let looked_up: Vec<&Vec<Datum>> = batch.iter().collect();
                    let mut converted = Vec::with_capacity(batch.len());
                    let mut missing = None;
                    for (at, values) in looked_up.iter().enumerate() {
                        let values: Vec<&Datum> = values.iter().collect();
                        match keys.converted(&values) {
                            Some(values) => converted.push(values),
                            None => {
                                missing = Some(at);
                                break;
                            }
                        }
                    }
                    let within = (&view, &catalog, &*database);
                    let first =
                        keys.first_missing(&converted, within, &mut || check_interrupts())?;
                    if let Some(at) = first.or(missing) {
                        let name = &constraint.name;
                        let referenced = catalog.relation(key.table);
                        let referenced = referenced.unwrap_or(table);
                        let of = (&**table, &columns[..]);
                        return Err(missing_key(of, name, &batch[at], referenced, &functions));
                    }
                    batch.clear();
                }
                if !more {
                    return Ok(());
                }
            }
        };
        let mut done = Ok(());
        session.in_place(&mut || done = scan());
        done
    })
}

/// MATCH FULL: some of a key's values are NULL.
fn missing_key_of(
    table: &Relation,
    columns: &[usize],
    constraint: &Constraint,
    values: &[Datum],
) -> Error {
    let _ = (columns, values);
    let name = &constraint.name;
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{name}\"",
        table.name
    );
    Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
        .constraint(name)
}
