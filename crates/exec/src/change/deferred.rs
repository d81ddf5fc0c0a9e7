//! Keys of DEFERRABLE constraints (unique_key_recheck in src/backend/commands/constraint.c).
//!
//! The index of such a constraint is stored as one that is not unique, so every key can be
//! inserted. If another row may have the same key at that moment, an event is queued. The key is
//! then checked at the end of the statement or of the transaction. Both inserts of a key hold the
//! latch of the same leaf page, one after the other. So the second one sees the first one's entry,
//! and a key without another entry needs no check.
//!
//! Undo of a row also removes its entry, so the row then conflicts with no other.

use super::checks::duplicate_key;
use super::constraint_trigger;
use super::events::{Event, EventMark};
use super::foreign_key::{run_deferred_references, run_unreferenced};
use super::outcome::of_key;
use crate::access::{IndexAccess, TableAccess};
use crate::context::ExecContext;
use crate::deferred::{DeferredEvent, DueEvents, KeyOfRow};
use crate::statement::ExecEnv;
use crate::stored;
use crate::transaction::{StatementTxn, Transaction};
use std::iter::Peekable;
use std::sync::Arc;
use steppe_catalog::Deferral;
use steppe_functions::KeyCheck;
use steppe_txn::{RowBuf, RowId};
use steppe_types::{Error, Oid, Result};

/// Queues a check of a key in the index of a DEFERRABLE constraint, if another row may have the
/// key.
pub(super) fn note(
    index: &IndexAccess,
    key: &[u8],
    has_null: bool,
    row: RowId,
    cx: &mut ExecContext,
) -> Result<()> {
    if !has_null && index.store.may_be_shared(&cx.txn()?.txn, key, row)? {
        let check = KeyCheck { index: index.oid, key: key.into(), row };
        cx.queue().push(Event::UniqueRecheck(check));
    }
    Ok(())
}

/// Moves a check to the transaction's deferred events if its constraint is deferred. Otherwise gives
/// it back.
pub(super) fn put_off(check: KeyCheck, cx: &mut ExecContext) -> Result<Option<KeyCheck>> {
    let index = cx.functions.catalog.relation(check.index);
    let info = index.and_then(|index| index.index.as_ref());
    let initially = info.map_or(Deferral::NotDeferrable, |info| info.deferral);
    if !cx.txn()?.deferred_mut().is_deferred(check.index, initially) {
        return Ok(Some(check));
    }
    cx.defer(DeferredEvent::Unique(check), initially)?;
    Ok(None)
}

/// The checks that a batch of inserted rows has queued, index by index. They are queued again row by
/// row, among the other events of each row.
pub(super) struct BatchChecks(Peekable<std::vec::IntoIter<KeyCheck>>);

impl BatchChecks {
    /// Takes the checks that have been queued since a mark, when the rows of one table were inserted.
    pub(super) fn since(mark: EventMark, cx: &mut ExecContext) -> BatchChecks {
        let mut checks = match &mut cx.events {
            Some(queue) => queue.take_checks(mark),
            None => Vec::new(),
        };
        checks.sort_by_key(|check| check.row);
        BatchChecks(checks.into_iter().peekable())
    }

    /// Queues those of a row. The rows come in the order of their ids.
    pub(super) fn queue(&mut self, row: RowId, cx: &mut ExecContext) {
        while let Some(check) = self.0.next_if(|check| check.row == row) {
            cx.queue().push(Event::UniqueRecheck(check));
        }
    }
}

impl ExecContext {
    /// Adds an event to the transaction's deferred ones.
    pub(super) fn defer(&mut self, event: DeferredEvent, initially: Deferral) -> Result<()> {
        let space = (self.work_mem_bytes, self.temp()?);
        self.txn()?.deferred_mut().push(event, initially, space)
    }
}

/// Runs events that were deferred, in their order: 23505, 23503. The transaction has begun a
/// statement.
pub fn run_deferred(events: DueEvents, env: &ExecEnv, txn: &mut Option<Transaction>) -> Result<()> {
    let mut cx = env.context(txn);
    let ran = run_all(events, &mut cx).and_then(|()| super::finish_events(&mut cx));
    *txn = cx.take_txn().map(StatementTxn::into_transaction);
    ran
}

/// The most events that are checked together.
const TOGETHER: usize = 4096;

/// Runs of events of one kind are checked together, some thousands at a time.
fn run_all(mut events: DueEvents, cx: &mut ExecContext) -> Result<()> {
    let (mut keys, mut references) = (Vec::new(), Vec::<KeyOfRow>::new());
    let mut trigger = None;
    while let Some(event) = events.next_event()? {
        if !matches!(event, DeferredEvent::Reference(_)) || references.len() >= TOGETHER {
            run_deferred_references(&std::mem::take(&mut references), cx)?;
        }
        if !matches!(event, DeferredEvent::Unique(_)) || keys.len() >= TOGETHER {
            check(&std::mem::take(&mut keys), cx)?;
        }
        match event {
            DeferredEvent::Unique(check) => keys.push(check),
            DeferredEvent::Reference(of) => references.push(*of),
            DeferredEvent::Unreferenced(of) => run_unreferenced(&of, cx)?,
            DeferredEvent::Trigger(of) => constraint_trigger::run(&of, &mut trigger, cx)?,
        }
    }
    check(&keys, cx)?;
    run_deferred_references(&references, cx)
}

/// Checks keys in their order: 23505.
pub(super) fn check(checks: &[KeyCheck], cx: &mut ExecContext) -> Result<()> {
    let mut open: Option<(Oid, TableAccess, IndexAccess)> = None;
    for check in checks {
        cx.check_interrupts()?;
        if open.as_ref().is_none_or(|(oid, ..)| *oid != check.index) {
            let opened = open_index(check.index, cx)?;
            open = opened.map(|(table, index)| (check.index, table, index));
        }
        // The index may have been dropped.
        let Some((_, table, index)) = &open else { continue };
        check_key(check, table, index, cx)?;
    }
    Ok(())
}

fn open_index(oid: Oid, cx: &mut ExecContext) -> Result<Option<(TableAccess, IndexAccess)>> {
    let catalog = cx.functions.catalog.clone();
    let Some(index) = catalog.relation(oid) else { return Ok(None) };
    let info = index.index.as_ref().ok_or_else(|| Error::internal("a key's index is none"))?;
    let Some(table) = catalog.relation(info.table) else { return Ok(None) };
    let engine = Arc::clone(cx.txn()?.txn.engine());
    let access = stored::open_index(&engine, table, index, &catalog)?;
    Ok(Some((TableAccess::open(&engine, table)?, access)))
}

fn check_key(
    check: &KeyCheck,
    table: &TableAccess,
    index: &IndexAccess,
    cx: &mut ExecContext,
) -> Result<()> {
    let duplicate = |cx: &mut ExecContext| {
        // The row as the statement has left it.
        let txn = &mut cx.txn()?.txn;
        txn.start_statement()?;
        let view = txn.view();
        let (mut values, mut buffer) = (Vec::new(), RowBuf::new());
        if table.rows_for_write()?.get(&view, check.row, &mut buffer)?.is_some() {
            table.decode_all(buffer.row(), &mut values)?;
        }
        Ok(duplicate_key(table, index, &values, &cx.functions))
    };
    loop {
        let outcome = index.store.recheck(&mut cx.txn()?.txn, &check.key, check.row)?;
        if of_key(outcome, (table, index), check.row, cx, duplicate)? {
            return Ok(());
        }
    }
}
