//! The rows that AFTER ROW triggers are called for, kept as they were when they were queued.

use super::hooks::{HookSet, OldAndNew, RowCommand, Trigger};
use super::put_off::PutOff;
use super::transition::Complete;
use super::trigger::{Fired, TriggerAnswer, TriggerRows};
use crate::context::ExecContext;
use crate::tuplestore::{StoreReader, TupleStore};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_spill::TempSpace;
use steppe_types::{Datum, Error, Result};

/// A table whose triggers are to be fired.
pub(super) struct QueuedTable {
    pub(super) relation: Arc<Relation>,
    pub(super) hooks: Arc<HookSet>,
}

/// Changed rows, whose tables and commands together have `columns` columns of old and new rows. Each
/// entry has the table's place, the command with the number of a group of triggers, the triggers of
/// the group that are due, the old row and the new row, as far as the command has them.
pub(super) struct RowLog {
    pub(super) columns: usize,
    pub(super) rows: TupleStore,
    /// The place of the last row that was read: the next event's rows mostly follow it, so that a
    /// file is read on.
    reader: StoreReader,
}

/// The most triggers in a group. A row of a log has a bit for each.
pub(super) const GROUP: usize = u64::BITS as usize;

/// The number of commands.
pub(super) const COMMANDS: i32 = 4;

impl RowLog {
    pub(super) fn new(columns: usize, work_mem: usize, temp: Arc<TempSpace>) -> RowLog {
        let rows = TupleStore::new(3 + columns, work_mem, Some(temp));
        RowLog { columns, rows, reader: StoreReader::default() }
    }

    /// The row at a place.
    pub(super) fn queued<'r>(
        &'r mut self,
        at: usize,
        buffer: &'r mut Vec<Datum>,
    ) -> Result<QueuedRow<'r>> {
        let row = match self.rows.is_in_memory() {
            true => self.rows.in_memory(at).ok_or_else(lost)?,
            false => {
                buffer.clear();
                if !self.rows.read_at(&mut self.reader, at, buffer)? {
                    return Err(lost());
                }
                buffer
            }
        };
        QueuedRow::of(row).ok_or_else(lost)
    }
}

/// A run of queued rows, whose triggers are called.
pub(super) struct QueuedRows<'l> {
    log: &'l mut RowLog,
    at: usize,
    end: usize,
    /// The table and the command of the next ones, for which the table's only trigger is called.
    /// `None`: the next one has others.
    of: Option<(usize, RowCommand)>,
    /// A row from a file.
    row: Vec<Datum>,
}

impl<'l> QueuedRows<'l> {
    pub(super) fn new(log: &'l mut RowLog, first: usize, count: usize) -> QueuedRows<'l> {
        QueuedRows { log, at: first, end: first + count, of: None, row: Vec::new() }
    }

    pub(super) fn is_left(&self) -> bool {
        self.at < self.end
    }

    /// Calls the triggers of the next row. Their calls for the rows behind it follow in the same run, if
    /// there may be one.
    pub(super) fn fire(
        &mut self,
        tables: &[QueuedTable],
        (put_off, captured): (&PutOff, &mut Vec<Complete>),
        cx: &mut ExecContext,
    ) -> Result<()> {
        let queued = self.log.queued(self.at, &mut self.row)?;
        let QueuedTable { relation, hooks } = tables.get(queued.table).ok_or_else(lost)?;
        if let [trigger] = &hooks.command(queued.command).after_row[..]
            && self.at + 1 < self.end
            && cx.calls_are_alike(trigger)?
        {
            cx.complete(trigger, (relation.oid, queued.command), captured);
            let fired = Fired { command: queued.command, relation, captured };
            self.of = Some((queued.table, queued.command));
            return fired.call_run(trigger, self, cx);
        }
        queued.fire(tables, (put_off, captured), cx)?;
        self.at += 1;
        Ok(())
    }
}

impl TriggerRows for QueuedRows<'_> {
    fn next(&mut self) -> Result<Option<OldAndNew<'_>>> {
        if self.is_done() {
            return Ok(None);
        }
        let queued = self.log.queued(self.at, &mut self.row)?;
        if self.of != Some((queued.table, queued.command)) {
            self.of = None;
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(queued.rows))
    }

    fn answered(&mut self, _: TriggerAnswer) -> Result<()> {
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.of.is_none() || self.at == self.end
    }
}

/// A row of a log as it was queued.
pub(super) struct QueuedRow<'r> {
    table: usize,
    command: RowCommand,
    /// The group of triggers, and a bit for each that is due.
    group: usize,
    due: u64,
    rows: OldAndNew<'r>,
}

impl QueuedRow<'_> {
    fn of(row: &[Datum]) -> Option<QueuedRow<'_>> {
        let [Datum::Int4(table), Datum::Int4(what), Datum::Int8(due), rows @ ..] = row else {
            return None;
        };
        let (command, rows) = match what % COMMANDS {
            0 => (RowCommand::Insert, (None, Some(rows))),
            1 => {
                let (old, new) = rows.split_at_checked(rows.len() / 2)?;
                (RowCommand::Update, (Some(old), Some(new)))
            }
            _ => (RowCommand::Delete, (Some(rows), None)),
        };
        let group = (what / COMMANDS) as usize;
        Some(QueuedRow { table: *table as usize, command, group, due: *due as u64, rows })
    }

    /// Calls the triggers whose calls have not moved.
    fn fire(
        &self,
        tables: &[QueuedTable],
        (put_off, captured): (&PutOff, &mut Vec<Complete>),
        cx: &mut ExecContext,
    ) -> Result<()> {
        let QueuedTable { relation, hooks } = tables.get(self.table).ok_or_else(lost)?;
        for trigger in self.due(&hooks.command(self.command).after_row) {
            let fired = Fired { command: self.command, relation, captured };
            if fired.is_put_off(trigger, put_off)? {
                continue;
            }
            cx.complete(trigger, (relation.oid, self.command), captured);
            let fired = Fired { command: self.command, relation, captured };
            fired.call(trigger, self.rows, cx)?;
        }
        Ok(())
    }

    /// Moves the calls of deferred triggers.
    pub(super) fn put_off(
        &self,
        tables: &[QueuedTable],
        put_off: &mut PutOff,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let QueuedTable { relation, hooks } = tables.get(self.table).ok_or_else(lost)?;
        let fired = Fired { command: self.command, relation, captured: &[] };
        for trigger in self.due(&hooks.command(self.command).after_row) {
            fired.put_off(trigger, self.rows, put_off, cx)?;
        }
        Ok(())
    }

    fn due<'t>(&self, triggers: &'t [Arc<Trigger>]) -> impl Iterator<Item = &'t Arc<Trigger>> {
        let (first, bits) = (self.group * GROUP, self.due);
        let group = triggers.iter().skip(first).take(GROUP).enumerate();
        group.filter(move |(at, _)| bits & (1 << at) != 0).map(|(_, trigger)| trigger)
    }
}

#[cold]
pub(super) fn lost() -> Error {
    Error::internal("an event's row is not there")
}
