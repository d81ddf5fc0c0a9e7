//! Whether the rows of a table have their keys in the referenced one (RI_Initial_Check).
//!
//! One join of the two tables tells whether all rows have their keys. If a row has none, or a join
//! cannot tell, the keys are looked up. They are collected and sorted in large batches. Each
//! different key of a batch is looked up once, in the order of the index.

use super::super::DdlContext;
use super::super::scan::with_newest;
use super::partitions::own_below;
use std::sync::Arc;
use steppe_catalog::{Constraint, ForeignKey, Reference, RelKind, Relation};
use steppe_exec::stored::{
    JoinContext, ReferencedKeys, TableAccess, lacks_key, missing_key, mixed_nulls,
};
use steppe_functions::FnContext;
use steppe_txn::{RelationLockMode, View};
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

/// The keys of rows, none of them NULL, and the view that has read them.
type Batch<'b> = (&'b [Vec<Datum>], &'b View);

/// A foreign key of a table with rows.
pub(super) struct KeysOfRows<'a> {
    table: &'a Arc<Relation>,
    constraint: &'a Constraint,
    key: &'a ForeignKey,
    /// The positions of the referencing columns.
    pub(super) columns: Vec<usize>,
}

impl<'a> KeysOfRows<'a> {
    /// `None`: the table has no rows of its own, or the foreign key is not enforced.
    pub(super) fn of(table: &'a Arc<Relation>, constraint: &'a Constraint) -> Option<Self> {
        let key = constraint.foreign_key().filter(|key| !key.not_enforced)?;
        let columns = constraint.columns.iter().map(|c| *c as usize - 1).collect();
        let own = KeysOfRows { table, constraint, key, columns };
        (table.kind == RelKind::Table).then_some(own)
    }

    /// Whether a row lacks its key; `None` if that takes a look-up of each.
    fn lacks_key(&self, ctx: &mut DdlContext<'_>) -> Result<Option<bool>> {
        let access = TableAccess::open(ctx.store.engine(), self.table)?;
        if access.rows().map(|rows| rows.tree()).transpose()?.flatten().is_none() {
            return Ok(Some(false));
        }
        let (session, catalog) = (Arc::clone(&ctx.session), ctx.catalog());
        let Some(table) = catalog.relation(self.table.oid) else { return Ok(None) };
        let own = table.constraints.iter().find(|own| own.oid == self.constraint.oid);
        let Some((constraint, key)) = own.and_then(|own| Some((own, own.foreign_key()?))) else {
            return Ok(None);
        };
        with_newest(ctx, |_, view| {
            let within = JoinContext { session: &session, catalog: &catalog, view: &view };
            let mut lacks = Ok(None);
            session.in_place(&mut || {
                lacks = lacks_key(Reference { table, constraint, key }, &within);
            });
            lacks
        })
    }

    /// Calls `f` with the keys of the rows, a batch at a time.
    pub(super) fn for_each(
        &self,
        ctx: &mut DdlContext<'_>,
        f: &mut dyn FnMut(Batch<'_>) -> Result<()>,
    ) -> Result<()> {
        let access = TableAccess::open(ctx.store.engine(), self.table)?;
        let Some(rows) = access.rows() else { return Ok(()) };
        if rows.tree()?.is_none() {
            return Ok(());
        }
        let most = (ctx.maintenance_work_mem_bytes / KEY_BYTES).clamp(1024, KEYS_MAX);
        let functions = ctx.functions();
        with_newest(ctx, |ctx, view| {
            let mut cursor = rows.scan_all(view.clone())?;
            let session = Arc::clone(&ctx.session);
            let mut scan = || -> Result<()> {
                let mut batch: Vec<Vec<Datum>> = Vec::new();
                loop {
                    session.check_interrupts()?;
                    let more = cursor.next_batch(&mut |_, row| {
                        batch.extend(self.key_of(&access, row, &functions)?);
                        Ok(())
                    })?;
                    if batch.len() >= most || !more {
                        f((&batch, &view))?;
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

    /// The key of a row; `None` if it refers to nothing.
    fn key_of(
        &self,
        access: &TableAccess,
        row: &[u8],
        functions: &FnContext,
    ) -> Result<Option<Vec<Datum>>> {
        let values = self.columns.iter().map(|at| access.decode_column(row, *at));
        let values = values.collect::<Result<Vec<_>>>()?;
        match values.iter().filter(|value| value.is_null()).count() {
            0 => Ok(Some(values)),
            nulls if self.key.match_full && nulls < values.len() => {
                Err(mixed_nulls(self.table, &self.constraint.name, functions))
            }
            _ => Ok(None),
        }
    }
}

/// 23503 unless all rows of the table, which no other transaction changes, have their keys.
pub(super) fn check(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    constraint: &Constraint,
) -> Result<()> {
    let Some(own) = KeysOfRows::of(table, constraint) else { return Ok(()) };
    let lacking = own.lacks_key(ctx)?;
    if lacking == Some(false) {
        return Ok(());
    }
    look_up(ctx, &own)?;
    match lacking {
        Some(_) => Err(Error::internal("a key is missing in a join and there in a look-up")),
        None => Ok(()),
    }
}

/// 23503 for the first row without its key.
fn look_up(ctx: &mut DdlContext<'_>, own: &KeysOfRows<'_>) -> Result<()> {
    let (table, constraint) = (own.table, own.constraint);
    let (engine, catalog) = (Arc::clone(ctx.store.engine()), ctx.catalog());
    let keys = ReferencedKeys::open(&engine, own.key, &catalog)?;
    let (functions, session) = (ctx.functions(), Arc::clone(&ctx.session));
    let referenced = catalog.relation(own.key.table).unwrap_or(table);
    own.for_each(ctx, &mut |(batch, view)| {
        let converted = batch.iter().map(|key| keys.converted(&key.iter().collect::<Vec<_>>()));
        // A value that the referenced column cannot have ends the list.
        let converted: Vec<Vec<Datum>> = converted.map_while(|key| key).collect();
        let within = (view, &catalog, &*engine);
        let missing = keys.first_missing(&converted, within, &mut || session.check_interrupts())?;
        let missing = missing.or((converted.len() < batch.len()).then_some(converted.len()));
        missing.map_or(Ok(()), |at| {
            let of = (&**table, &own.columns[..]);
            Err(missing_key(of, &constraint.name, &batch[at], referenced, &functions))
        })
    })
}
