//! Filling an index from the rows that its table has (nbtsort.c).
//!
//! ```text
//!   rows ──▶ (key, has NULL, row id) ──▶ external sort ──▶ batches of entries ──▶ new tree
//! ```
//!
//! Keys are sorted as bytes, which is their order in the tree, within
//! maintenance_work_mem; what does not fit goes to temporary files. Nothing is
//! written to the tree before all rows have been read.

use super::DdlContext;
use super::scan::scan_pages;
use crate::access::{IndexAccess, TableAccess};
use crate::env::FnContext;
use crate::expr::{Compiler, Row};
use crate::modify::shown_key;
use crate::progress::{Phase, Progress, Utility};
use crate::sorter::{SortColumn, Sorter};
use std::sync::Arc;
use steppe_catalog::{IndexInfo, Relation};
use steppe_txn::{Database, IndexEntry, IndexInsert, IndexStore, RowId, TableStore};
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// Entries handed to the tree at once.
const BATCH_ENTRIES: usize = 4096;
/// Columns of a row of the sort: key, whether it has a NULL, row id.
const SORTED_COLUMNS: usize = 3;

/// Makes an index's file and fills it from the table's rows.
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
    let unique = index.index.as_ref().is_some_and(|i| i.unique);
    let store = IndexStore::create(ctx.txn, unique)?;
    index.storage = Some(store.file());
    let database = ctx.store.database().clone();
    if needs_no_entries(&database, table, index)? {
        return Ok(());
    }
    let table = Arc::new(table.clone());
    let rows = TableAccess::open(&database, &table)?;
    let catalog = ctx.catalog();
    let stmt = crate::statement::no_plan(catalog.epoch);
    let mut compiler = Compiler::new(&stmt, FnContext::pure(catalog));
    let access = IndexAccess::open(&database, &table, &Arc::new(index.clone()), &mut compiler)?;
    let mut sorter = sorter(ctx);
    let utility = Utility::BuildIndex { index: index.oid, command };
    let progress = ctx.services.begin_progress(Progress::new(utility, table.oid));
    progress.enter(Phase::ScanningTable);
    progress.pages.begin(super::analyze::pages_of_table(&database, &table)?);
    let mut entries = 0;
    scan_pages(ctx, &rows, &mut || progress.pages.advance(1), &mut |id, values| {
        let mut key = Vec::new();
        let Some(has_null) = access.key_of(values, &mut key)? else { return Ok(()) };
        let entry = [Datum::Bytea(key.into()), Datum::Bool(has_null), Datum::Int8(id.0 as i64)];
        entries += 1;
        sorter.push(Row::of(&entry))
    })?;
    progress.enter(Phase::SortingTuples);
    progress.entries.begin(entries);
    sorter.finish()?;
    progress.enter(Phase::LoadingTuples);
    insert_sorted(ctx, &rows, &access, &mut sorter, &progress)
}

/// Whether the table never had a row, and the index has no expression that might be refused.
fn needs_no_entries(database: &Database, table: &Relation, index: &Relation) -> Result<bool> {
    let info = index.index.as_deref();
    let is_plain = |info: &IndexInfo| {
        info.predicate.is_none() && info.keys.iter().all(|key| key.expression.is_none())
    };
    match table.storage {
        Some(file) if info.is_some_and(is_plain) => {
            Ok(TableStore::open(database, file).tree()?.is_none())
        }
        _ => Ok(false),
    }
}

/// Sorts entries by key, those of one key by row id.
fn sorter(ctx: &DdlContext<'_>) -> Sorter {
    let column = |index: usize, type_oid| SortColumn {
        index,
        type_oid,
        descending: false,
        nulls_first: false,
    };
    let keys = [column(0, oid::BYTEA), column(2, oid::INT8)];
    let memory = ctx.maintenance_work_mem_bytes;
    Sorter::new(Arc::new(keys), SORTED_COLUMNS, None, memory, ctx.temp.clone())
}

fn insert_sorted(
    ctx: &mut DdlContext<'_>,
    table: &TableAccess,
    index: &IndexAccess,
    sorter: &mut Sorter,
    progress: &Progress,
) -> Result<()> {
    let mut values: Vec<Datum> = Vec::with_capacity(BATCH_ENTRIES * SORTED_COLUMNS);
    loop {
        ctx.services.check_interrupts()?;
        values.clear();
        while values.len() < BATCH_ENTRIES * SORTED_COLUMNS
            && sorter.next(SORTED_COLUMNS, &mut values)?
        {}
        if values.is_empty() {
            return Ok(());
        }
        let entries = values.chunks(SORTED_COLUMNS).map(entry).collect::<Result<Vec<_>>>()?;
        let done = index.store.insert_batch(ctx.txn, &entries)?;
        match done.stopped {
            IndexInsert::Done => progress.entries.advance(entries.len() as u64),
            IndexInsert::Duplicate(_) => {
                let row = entries[done.consumed].row;
                return Err(not_unique(ctx, table, index, row)?);
            }
            IndexInsert::MustWait(_) => {
                return Err(Error::internal("a new index is in another transaction's hands"));
            }
        }
    }
}

fn entry(row: &[Datum]) -> Result<IndexEntry<'_>> {
    match row {
        [Datum::Bytea(key), Datum::Bool(has_null), Datum::Int8(id)] => {
            Ok(IndexEntry { key, has_null: *has_null, row: RowId(*id as u64) })
        }
        _ => Err(Error::internal("an index build sorted something else than entries")),
    }
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
    if rows.get(&ctx.txn.view(), row, &mut buffer)?.is_none() {
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
