//! Filling an index from the rows that its table has (nbtsort.c).
//!
//! ```text
//!   rows ──▶ entries ──▶ sorted as bytes (entries.rs) ──▶ batches ──▶ new tree
//! ```
//!
//! All rows are read before the first entry is written to the tree.

use super::DdlContext;
use super::restricted::restricted;
use super::scan::{scan_stored, with_newest};
use std::sync::Arc;
use steppe_catalog::{IndexInfo, Relation};
use steppe_counting::progress::{Phase, Progress, Utility};
use steppe_exec::stored::{IndexAccess, TableAccess, open_index, shown_key};
use steppe_spill::entries::{EntrySorter, SortedEntries};
use steppe_txn::{Engine, IndexEntry, IndexInsert, IndexStore, RowId, TableStore};
use steppe_types::{Error, Result, SqlState};

/// Entries handed to the tree at once.
const BATCH_ENTRIES: usize = 4096;

/// Makes an index's file and fills it from the table's rows. One of a distributed table has none.
pub(crate) fn build(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    index: &mut Relation,
) -> Result<()> {
    build_for(ctx, table, index, "CREATE INDEX")
}

/// As [`build`], for a command that pg_stat_progress_create_index calls so.
pub(super) fn build_for(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    index: &mut Relation,
    command: &'static str,
) -> Result<()> {
    if table.is_distributed() {
        return Ok(());
    }
    let unique = index.index.as_ref().is_some_and(|i| i.is_unique_now());
    let store = IndexStore::create(ctx.txn, unique, table.persistence())?;
    index.storage = Some(store.file());
    let engine = ctx.store.engine().clone();
    if needs_no_entries(&engine, table, index)? {
        return Ok(());
    }
    let table = Arc::new(table.clone());
    let rows = TableAccess::open(&engine, &table)?;
    let access = open_index(&engine, &table, &Arc::new(index.clone()), &ctx.catalog())?;
    let mut sorter = EntrySorter::new(ctx.maintenance_work_mem_bytes, ctx.temp.clone());
    let progress = ctx.spreading.clone().unwrap_or_else(|| {
        let utility = Utility::BuildIndex { index: index.oid, command };
        ctx.session.begin_progress(Progress::new(utility, table.oid))
    });
    progress.enter(Phase::ScanningTable);
    progress.entries.begin(0);
    progress.pages.begin(super::analyze::pages_of_table(&engine, &table)?);
    let (mut entries, mut key) = (0, Vec::new());
    restricted(ctx, |ctx| {
        scan_stored(ctx, &rows, &mut || progress.pages.advance(1), &mut |id, row| {
            key.clear();
            let Some(has_null) = access.key_of_row(&rows, row, &mut key)? else { return Ok(()) };
            entries += 1;
            sorter.push(&IndexEntry { key: &key, has_null, row: id })
        })
    })?;
    progress.enter(Phase::SortingTuples);
    progress.entries.begin(entries);
    let sorted = sorter.finish()?;
    progress.enter(Phase::LoadingTuples);
    insert_sorted(ctx, &rows, &access, sorted, &progress)
}

/// Whether the table never had a row, and the index has no expression that might be refused.
fn needs_no_entries(engine: &Engine, table: &Relation, index: &Relation) -> Result<bool> {
    let info = index.index.as_deref();
    let is_plain = |info: &IndexInfo| {
        info.predicate.is_none() && info.keys.iter().all(|key| key.expression.is_none())
    };
    match table.storage {
        Some(file) if info.is_some_and(is_plain) => {
            Ok(TableStore::open(engine, file).tree()?.is_none())
        }
        _ => Ok(false),
    }
}

fn insert_sorted(
    ctx: &mut DdlContext<'_>,
    table: &TableAccess,
    index: &IndexAccess,
    sorted: SortedEntries,
    progress: &Progress,
) -> Result<()> {
    let mut before: Option<Vec<u8>> = None;
    sorted.in_batches(BATCH_ENTRIES, &mut |entries| {
        ctx.session.check_interrupts()?;
        if index.deferrable {
            // The store would take one key twice.
            for entry in entries.iter().filter(|entry| !entry.has_null) {
                if before.as_deref() == Some(entry.key) {
                    return Err(not_unique(ctx, table, index, entry.row)?);
                }
                before = Some(entry.key.to_vec());
            }
        }
        let done = index.store.insert_batch(ctx.txn, entries)?;
        match done.stopped {
            IndexInsert::Done => {
                progress.entries.advance(entries.len() as u64);
                Ok(())
            }
            IndexInsert::Duplicate(_) => {
                let row = entries[done.consumed].row;
                Err(not_unique(ctx, table, index, row)?)
            }
            IndexInsert::MustWait(_) => {
                Err(Error::internal("a new index is in another transaction's hands"))
            }
        }
    })
}

/// 23505 `could not create unique index`.
fn not_unique(
    ctx: &mut DdlContext<'_>,
    table: &TableAccess,
    index: &IndexAccess,
    row: RowId,
) -> Result<Error> {
    let name = &index.relation.name;
    let error =
        Error::new(SqlState::UNIQUE_VIOLATION, format!("could not create unique index \"{name}\""))
            .constraint(name);
    let mut buffer = steppe_txn::RowBuf::new();
    let Some(rows) = table.rows() else { return Ok(error) };
    let found = with_newest(ctx, |_, view| Ok(rows.get(&view, row, &mut buffer)?.is_some()))?;
    if !found {
        return Ok(error);
    }
    let mut values = Vec::new();
    table.decode_all(buffer.row(), &mut values)?;
    // The index is not in the catalog yet, its table is.
    let functions = ctx.functions();
    Ok(match shown_key(index, &values, &functions) {
        Some(key) => error.detail(format!("Key {key} is duplicated.")),
        None => error,
    })
}
