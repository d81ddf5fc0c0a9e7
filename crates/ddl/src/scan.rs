//! Reading a table's rows for DDL: validation, index builds, rewrites, ANALYZE.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::Function;
use steppe_exec::routine::lending_to;
use steppe_exec::stored::{RowEvaluator, TableAccess};
use steppe_sql::expr::Expr;
use steppe_sql::planner::inline_stored;
use steppe_txn::{RowId, View};
use steppe_types::{Datum, Result};

/// Calls `f` on every visible row with its values, in place. Earlier commands of the transaction
/// count.
pub(crate) fn scan_rows(
    ctx: &mut DdlContext<'_>,
    table: &TableAccess,
    f: &mut dyn FnMut(RowId, &[Datum]) -> Result<()>,
) -> Result<()> {
    let mut values = Vec::new();
    scan_stored(ctx, table, &mut || {}, &mut |id, row| {
        values.clear();
        table.decode_all(row, &mut values)?;
        f(id, &values)
    })
}

/// As [`scan_rows`], with rows as they are stored, and `page` called after each page.
pub(crate) fn scan_stored(
    ctx: &mut DdlContext<'_>,
    table: &TableAccess,
    page: &mut dyn FnMut(),
    f: &mut dyn FnMut(RowId, &[u8]) -> Result<()>,
) -> Result<()> {
    let Some(rows) = table.rows() else { return Ok(()) };
    if rows.tree()?.is_none() {
        return Ok(());
    }
    with_newest(ctx, |ctx, view| {
        let mut cursor = rows.scan_all(view)?;
        let session = Arc::clone(&ctx.session);
        with_functions(ctx, || {
            let mut scan = || loop {
                session.check_interrupts()?;
                let more = cursor.next_batch(f)?;
                if !more {
                    return Ok(());
                }
                page();
            };
            let mut done = Ok(());
            session.in_place(&mut || done = scan());
            done
        })
    })
}

/// Evaluates expressions, and makes keys of indexes, that may call users' functions. These run their
/// statements in the transaction.
pub(crate) fn with_functions<T>(
    ctx: &mut DdlContext<'_>,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match ctx.catalog().stored::<Function>().is_empty() {
        true => run(),
        false => lending_to(ctx.txn, run),
    }
}

/// Looks at all rows that are committed or the transaction's own, also where its snapshot is an
/// older one (GetLatestSnapshot).
pub(super) fn with_newest<T>(
    ctx: &mut DdlContext<'_>,
    f: impl FnOnce(&mut DdlContext<'_>, View) -> Result<T>,
) -> Result<T> {
    let newest = ctx.txn.hold_newest()?;
    let view = ctx.txn.view_of(newest);
    let done = f(ctx, view);
    ctx.txn.release_snapshot(newest);
    done
}

/// The work on the rows of a page.
type BatchFn<'f> = dyn FnMut(&mut DdlContext<'_>, Vec<Vec<Datum>>) -> Result<()> + 'f;

/// Calls `f` with the visible rows of one page after the other. It may write to other trees.
pub(crate) fn scan_batches(
    ctx: &mut DdlContext<'_>,
    table: &TableAccess,
    f: &mut BatchFn<'_>,
) -> Result<()> {
    let Some(rows) = table.rows() else { return Ok(()) };
    with_newest(ctx, |ctx, view| {
        let mut cursor = rows.scan_all(view)?;
        loop {
            ctx.session.check_interrupts()?;
            let mut batch = Vec::new();
            let more = cursor.next_batch(&mut |_, row| {
                let mut values = Vec::new();
                table.decode_all(row, &mut values)?;
                batch.push(values);
                Ok(())
            })?;
            if !batch.is_empty() {
                f(ctx, batch)?;
            }
            if !more {
                return Ok(());
            }
        }
    })
}

/// Evaluates expressions bound over one table, as the transaction sees the catalog.
pub(crate) fn evaluator(ctx: &mut DdlContext<'_>, exprs: &[Expr]) -> Result<RowEvaluator> {
    let (catalog, mut exprs) = (ctx.catalog(), exprs.to_vec());
    inline_stored(&catalog, &ctx.search_path, exprs.iter_mut())?;
    let temp = Arc::clone(&ctx.temp);
    Ok(RowEvaluator::new(&exprs, catalog, ctx.functions())?.with_temp(temp))
}
