//! The keys of changed rows, kept until the end of the statement.

use super::action::Referenced;
use super::set::KeySet;
use super::violation::pick;
use crate::change::events::Event;
use crate::change::hooks::RowCommand;
use crate::change::put_off::PutOff;
use crate::context::ExecContext;
use crate::deferred::KeyOfRow;
use crate::expr::Row;
use crate::tuplestore::{StoreReader, TupleStore};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_txn::RowId;
use steppe_types::{Datum, Error, Result};

/// Rows that are checked together.
const ROWS_CHECKED: usize = 1024;

/// The values of a row's keys before and after a change. `None`: the row did not exist then.
#[derive(Clone, Copy)]
pub(super) struct KeyChange<'r> {
    pub(super) row: RowId,
    pub(super) old: Option<&'r [Datum]>,
    pub(super) new: Option<&'r [Datum]>,
    /// The number of the command that has made the change.
    pub(super) command: u32,
    /// The version before the change was the transaction's own.
    pub(super) replaces_own: bool,
}

/// Keys of one table's rows that one command has changed.
pub(crate) struct KeyLog {
    relation: Arc<Relation>,
    set: Arc<KeySet>,
    /// The row's id, its command if any key is DEFERRABLE, its old key columns, its new ones.
    rows: TupleStore,
    /// The place of the last key that was read: the next event's keys mostly follow it, so that a
    /// file is read on.
    reader: StoreReader,
}

/// Queues the keys of a changed row, if foreign keys concern it.
pub(super) fn queue(
    relation: &Arc<Relation>,
    set: &Arc<KeySet>,
    row: RowId,
    (old, new): (Option<&[Datum]>, Option<&[Datum]>),
    replaces_own: bool,
    cx: &mut ExecContext,
) -> Result<()> {
    let pick = |row: Option<&[Datum]>| row.map(|row| pick(&set.columns, row)).transpose();
    let (old, new) = (pick(old)?, pick(new)?);
    let command = cx.txn()?.txn.command_id();
    let (old, new) = (old.as_deref(), new.as_deref());
    push(relation, set, KeyChange { row, old, new, command, replaces_own }, cx)
}

/// The same, for the values of the keys.
pub(super) fn push(
    relation: &Arc<Relation>,
    set: &Arc<KeySet>,
    change: KeyChange<'_>,
    cx: &mut ExecContext,
) -> Result<()> {
    if !set.concerns(change) {
        return Ok(());
    }
    let (work_mem, temp) = (cx.work_mem_bytes, cx.temp()?);
    let catalog = Arc::clone(&cx.functions.catalog);
    let queue = cx.queue();
    let unique = queue.take_unique(change.row, &catalog);
    let log = queue.key_log(relation.oid, set, || {
        let versions = if set.command == RowCommand::Update { 2 } else { 1 };
        let head = 1 + usize::from(set.is_deferrable);
        let rows = TupleStore::new(head + versions * set.columns.len(), work_mem, Some(temp));
        let (relation, set) = (Arc::clone(relation), Arc::clone(set));
        KeyLog { relation, set, rows, reader: StoreReader::default() }
    });
    let mut row = vec![Datum::Int8(change.row.0 as i64)];
    if set.is_deferrable {
        row.push(Datum::Int8(i64::from(change.command) << 1 | i64::from(change.replaces_own)));
    }
    let versions = change.old.into_iter().chain(change.new);
    versions.for_each(|version| row.extend_from_slice(version));
    let rows = &mut queue.keys[log].rows;
    let first = rows.len();
    rows.push(Row::of(&row))?;
    match queue.last() {
        Some(Event::Keys { log: same, first: start, count })
            if *same == log && *start + *count == first =>
        {
            *count += 1;
        }
        _ => queue.push(Event::Keys { log, first, count: 1 }),
    }
    unique.into_iter().for_each(|check| queue.push(check));
    Ok(())
}

impl KeyLog {
    /// Moves the deferred checks of `count` queued keys. False: there are no others.
    pub(in crate::change) fn put_off(
        &mut self,
        (first, count): (usize, usize),
        put_off: &mut PutOff,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let KeyLog { relation, set, rows, reader } = self;
        let (mut references, mut actions) = (Vec::new(), Vec::new());
        for key in &set.references {
            if put_off.ask(key.oid(), key.deferral(), cx)? {
                references.push(key);
            }
        }
        for key in &set.actions {
            if put_off.ask(key.oid(), key.deferral(), cx)? {
                actions.push(key);
            }
        }
        if references.is_empty() && actions.is_empty() {
            return Ok(true);
        }
        let (width, mut values) = (set.columns.len(), Vec::new());
        for at in first..first + count {
            cx.check_interrupts()?;
            values.clear();
            let is_there = rows.read_at(reader, at, &mut values)?;
            let change = KeyChange::queued(set, &values, width).filter(|_| is_there);
            let change = change.ok_or_else(lost)?;
            for key in actions.iter().filter(|key| key.concerns(change)) {
                key.defer(relation, change, cx)?;
            }
            for key in references.iter().filter(|key| key.concerns(change)) {
                key.defer(relation, change, cx)?;
            }
        }
        Ok(references.len() < set.references.len() || actions.len() < set.actions.len())
    }

    /// Runs the checks and actions of `count` queued keys that are not put off.
    pub(in crate::change) fn run(
        &mut self,
        (first, count): (usize, usize),
        put_off: &PutOff,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let KeyLog { relation, set, rows, reader } = self;
        let (width, mut values) = (set.columns.len(), Vec::new());
        // Actions of one row come before the checks of the next.
        let together = if set.actions.is_empty() { ROWS_CHECKED } else { 1 };
        let mut at = first;
        while at < first + count {
            cx.check_interrupts()?;
            values.clear();
            let end = (at + together).min(first + count);
            for row in at..end {
                if !rows.read_at(reader, row, &mut values)? {
                    return Err(lost());
                }
            }
            let row_width = values.len() / (end - at);
            let changes: Vec<KeyChange<'_>> = values
                .chunks_exact(row_width)
                .map(|row| KeyChange::queued(set, row, width))
                .collect::<Option<_>>()
                .ok_or_else(lost)?;
            let due = |key: &&Referenced| !put_off.has(key.oid(), key.deferral());
            for change in changes.iter().filter(|_| !set.actions.is_empty()) {
                for key in set.actions.iter().filter(due).filter(|key| key.concerns(*change)) {
                    key.run(relation, *change, cx)?;
                }
            }
            super::check::check(set, relation, &changes, put_off, cx)?;
            at = end;
        }
        Ok(())
    }
}

#[cold]
pub(super) fn lost() -> Error {
    Error::internal("a queued key is not there")
}

impl<'r> KeyChange<'r> {
    /// The change that a row of a log stands for. `width`: the number of its key columns.
    fn queued(set: &KeySet, row: &'r [Datum], width: usize) -> Option<KeyChange<'r>> {
        let (Datum::Int8(id), mut versions) = row.split_first()? else { return None };
        let (mut command, mut replaces_own) = (0, false);
        if set.is_deferrable {
            let (Datum::Int8(by), rest) = versions.split_first()? else { return None };
            (command, replaces_own, versions) = ((by >> 1) as u32, by & 1 != 0, rest);
        }
        let by = (RowId(*id as u64), command, replaces_own);
        KeyChange::of(set.command, by, versions, width)
    }

    pub(super) fn of(
        kind: RowCommand,
        (row, command, replaces_own): (RowId, u32, bool),
        versions: &'r [Datum],
        width: usize,
    ) -> Option<KeyChange<'r>> {
        let (old, new) = match kind {
            RowCommand::Insert => (None, Some(versions)),
            RowCommand::Delete | RowCommand::Truncate => (Some(versions), None),
            RowCommand::Update => {
                let (old, new) = versions.split_at_checked(width)?;
                (Some(old), Some(new))
            }
        };
        Some(KeyChange { row, old, new, command, replaces_own })
    }

    /// A row that the running command has inserted, with its key columns.
    pub(super) fn inserted(
        row: RowId,
        new: &'r [Datum],
        cx: &mut ExecContext,
    ) -> Result<KeyChange<'r>> {
        let command = cx.txn()?.txn.command_id();
        Ok(KeyChange { row, old: None, new: Some(new), command, replaces_own: false })
    }

    /// The new version of a row that is checked later.
    pub(super) fn of_check(check: &'r KeyOfRow) -> KeyChange<'r> {
        let (new, command) = (Some(&check.key[..]), check.command);
        KeyChange { row: check.row, old: None, new, command, replaces_own: false }
    }
}
