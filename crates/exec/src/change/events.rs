//! The triggers and checks that a statement runs at its end because of the rows that it has changed
//! (PostgreSQL's after-trigger queue in src/backend/commands/trigger.c).
//!
//! Events of all kinds run in the order in which they were queued. Events that are queued meanwhile
//! run after them. If a part of the statement is undone, its events are removed ([`super::mark`]).
//! A statement that queues nothing has no queue, and only checks for one at its end.
//!
//! The rows for triggers are kept as they were, beyond work_mem in temporary files. One event
//! stands for a run of rows.
//!
//! Deferred constraints leave the queue when their turn comes. The session keeps them until SET
//! CONSTRAINTS or COMMIT.

use super::deferred;
use super::foreign_key::KeyLog;
use super::hooks::{HookSet, OldAndNew, RowCommand, Trigger};
use super::transition::{Captured, Complete};
use super::trigger::{Fired, TriggerAnswer, TriggerRows};
use crate::context::ExecContext;
use crate::tuplestore::{StoreReader, TupleStore};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_functions::KeyCheck;
use steppe_spill::TempSpace;
use steppe_types::{Datum, Error, Oid, Result};

/// An event of the queue.
pub(crate) enum Event {
    /// Checks a key of a DEFERRABLE constraint again: another row may have it.
    UniqueRecheck(KeyCheck),
    /// AFTER ROW triggers of `count` rows of a log.
    Rows { log: usize, first: usize, count: usize },
    /// Foreign keys, for `count` keys of a log of keys.
    Keys { log: usize, first: usize, count: usize },
    /// AFTER STATEMENT triggers of a table.
    Statement { table: usize, command: RowCommand, due: Box<[Arc<Trigger>]> },
}

/// The events of one statement, or of a COPY.
#[derive(Default)]
pub(crate) struct EventQueue {
    events: Vec<Event>,
    tables: Vec<QueuedTable>,
    /// The places of tables in that list.
    places: HashMap<Oid, usize>,
    logs: Vec<RowLog>,
    /// The keys that foreign keys concern.
    pub(super) keys: Vec<KeyLog>,
    /// The places of tables and commands in that list.
    key_places: HashMap<(Oid, RowCommand), usize>,
    /// The queues of actions of foreign keys, which run after this one.
    later: Vec<EventQueue>,
    /// BEFORE STATEMENT triggers that have been fired. They fire once for a table and a command,
    /// even if several parts of the statement write the table.
    begun: Vec<(Oid, RowCommand)>,
    /// Rows for transition tables.
    captured: Vec<Captured>,
    /// The number of captured changes so far.
    changes: u64,
}

/// A table whose triggers are to be fired.
struct QueuedTable {
    relation: Arc<Relation>,
    hooks: Arc<HookSet>,
}

/// Changed rows, whose tables and commands together have `columns` columns of old and new rows. Each
/// entry has the table's place, the command with the number of a group of triggers, the triggers of
/// the group that are due, the old row and the new row, as far as the command has them.
struct RowLog {
    columns: usize,
    rows: TupleStore,
    /// The place of the last row that was read: the next event's rows mostly follow it, so that a
    /// file is read on.
    reader: StoreReader,
}

/// The most triggers in a group. A row of a log has a bit for each.
const GROUP: usize = u64::BITS as usize;

/// The number of commands.
const COMMANDS: i32 = 4;

/// A place in a queue.
#[derive(Clone, Copy)]
pub(super) struct EventMark {
    events: usize,
    /// The number of rows in the last event before it.
    rows: usize,
    /// The number of captured changes before it.
    changes: u64,
}

impl EventQueue {
    pub(super) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// The last event.
    pub(super) fn last(&mut self) -> Option<&mut Event> {
        self.events.last_mut()
    }

    /// The place of a table's log of keys for a command.
    pub(super) fn key_log(
        &mut self,
        table: Oid,
        command: RowCommand,
        new: impl FnOnce() -> KeyLog,
    ) -> usize {
        *self.key_places.entry((table, command)).or_insert_with(|| {
            self.keys.push(new());
            self.keys.len() - 1
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    fn mark(&self) -> EventMark {
        let rows = match self.events.last() {
            Some(Event::Rows { count, .. } | Event::Keys { count, .. }) => *count,
            _ => 0,
        };
        EventMark { events: self.events.len(), rows, changes: self.changes }
    }

    /// Removes the events queued since a mark.
    fn truncate(&mut self, mark: EventMark) {
        self.events.truncate(mark.events);
        if let Some(Event::Rows { count, .. } | Event::Keys { count, .. }) = self.events.last_mut()
        {
            *count = mark.rows;
        }
        self.captured.iter_mut().for_each(|captured| captured.truncate(mark.changes));
        self.changes = mark.changes;
    }

    /// The number of a change that is captured.
    pub(super) fn next_change(&mut self) -> u64 {
        self.changes += 1;
        self.changes - 1
    }

    /// The captured rows of a table and a command.
    pub(super) fn captured(&mut self, table: Oid, command: RowCommand) -> &mut Captured {
        let at = self.captured.iter().position(|captured| captured.is_of(table, command));
        let at = at.unwrap_or_else(|| {
            self.captured.push(Captured::new(table, command));
            self.captured.len() - 1
        });
        &mut self.captured[at]
    }

    fn place(&mut self, relation: &Arc<Relation>, hooks: &Arc<HookSet>) -> usize {
        *self.places.entry(relation.oid).or_insert_with(|| {
            self.tables.push(QueuedTable { relation: relation.clone(), hooks: hooks.clone() });
            self.tables.len() - 1
        })
    }

    /// Queues AFTER STATEMENT triggers of a table, once for all parts of the statement.
    fn push_statement(
        &mut self,
        relation: &Arc<Relation>,
        hooks: &Arc<HookSet>,
        command: RowCommand,
        due: Box<[Arc<Trigger>]>,
    ) {
        let table = self.place(relation, hooks);
        self.events.retain(|event| match event {
            Event::Statement { table: other, command: of, .. } => (*other, *of) != (table, command),
            _ => true,
        });
        if !due.is_empty() {
            self.push(Event::Statement { table, command, due });
        }
    }

    /// Whether a table's BEFORE STATEMENT triggers have not been fired yet for a command. From now
    /// on they count as fired.
    pub(super) fn begins(&mut self, relation: &Relation, command: RowCommand) -> bool {
        let of = (relation.oid, command);
        let begins = !self.begun.contains(&of);
        if begins {
            self.begun.push(of);
        }
        begins
    }

    /// The rows that events are about.
    #[cfg(test)]
    pub(super) fn rows(&self) -> Vec<steppe_txn::RowId> {
        let row = |event: &Event| match event {
            Event::UniqueRecheck(check) => Some(check.row),
            _ => None,
        };
        self.events.iter().filter_map(row).collect()
    }

    /// Runs the queued events.
    fn work_off(mut self, cx: &mut ExecContext) -> Result<()> {
        let captured = Complete::of(std::mem::take(&mut self.captured));
        let mut rechecks = Vec::new();
        for event in std::mem::take(&mut self.events) {
            if let Event::UniqueRecheck(check) = event {
                rechecks.push(check);
                continue;
            }
            deferred::check_due(std::mem::take(&mut rechecks), cx)?;
            match event {
                Event::Rows { log, first, count } => {
                    self.fire_rows((log, first, count), &captured, cx)?;
                }
                Event::Keys { log, first, count } => {
                    self.keys.get_mut(log).ok_or_else(lost)?.run(first, count, cx)?;
                }
                Event::Statement { table, command, due } => {
                    let relation = &self.table(table)?.relation;
                    let fired = Fired { command, relation, captured: &captured };
                    due.iter()
                        .try_for_each(|trigger| fired.call(trigger, (None, None), cx).map(drop))?;
                }
                Event::UniqueRecheck(_) => {}
            }
        }
        deferred::check_due(rechecks, cx)
    }

    /// Calls the triggers of a run of rows. Rows that they insert may be held until its end. A
    /// statement that captures rows shows each call a catalog of its own, so nothing is held there.
    fn fire_rows(
        &mut self,
        (log, first, count): (usize, usize, usize),
        captured: &[Complete],
        cx: &mut ExecContext,
    ) -> Result<()> {
        let holds = count > 1 && captured.is_empty();
        let (log, tables) = (self.logs.get_mut(log).ok_or_else(lost)?, &self.tables);
        if holds {
            cx.hold_rows();
        }
        let mut rows = QueuedRows { log, at: first, end: first + count, of: None, row: Vec::new() };
        let mut fired = Ok(());
        while fired.is_ok() && rows.at < rows.end {
            fired = rows.fire(tables, captured, cx);
        }
        let stored = cx.end_holding();
        fired.and(stored)
    }

    fn table(&self, place: usize) -> Result<&QueuedTable> {
        self.tables.get(place).ok_or_else(lost)
    }
}

impl RowLog {
    fn new(columns: usize, work_mem: usize, temp: Arc<TempSpace>) -> RowLog {
        let rows = TupleStore::new(3 + columns, work_mem, Some(temp));
        RowLog { columns, rows, reader: StoreReader::default() }
    }

    /// The row at a place.
    fn queued<'r>(&'r mut self, at: usize, buffer: &'r mut Vec<Datum>) -> Result<QueuedRow<'r>> {
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
struct QueuedRows<'l> {
    log: &'l mut RowLog,
    at: usize,
    end: usize,
    /// The table and the command of the next ones, for which the table's only trigger is called.
    /// `None`: the next one has others.
    of: Option<(usize, RowCommand)>,
    /// A row from a file.
    row: Vec<Datum>,
}

impl QueuedRows<'_> {
    /// Calls the triggers of the next row, and of those that follow it if their calls are alike.
    fn fire(
        &mut self,
        tables: &[QueuedTable],
        captured: &[Complete],
        cx: &mut ExecContext,
    ) -> Result<()> {
        let queued = self.log.queued(self.at, &mut self.row)?;
        let QueuedTable { relation, hooks } = tables.get(queued.table).ok_or_else(lost)?;
        if let [trigger] = &hooks.command(queued.command).after_row[..]
            && self.at + 1 < self.end
            && cx.calls_are_alike(trigger)?
        {
            let fired = Fired { command: queued.command, relation, captured };
            self.of = Some((queued.table, queued.command));
            return fired.call_run(trigger, self, cx);
        }
        queued.fire(tables, captured, cx)?;
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
struct QueuedRow<'r> {
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

    /// Calls its triggers, or defers them.
    fn fire(
        &self,
        tables: &[QueuedTable],
        captured: &[Complete],
        cx: &mut ExecContext,
    ) -> Result<()> {
        let QueuedTable { relation, hooks } = tables.get(self.table).ok_or_else(lost)?;
        let fired = Fired { command: self.command, relation, captured };
        for trigger in self.due(&hooks.command(self.command).after_row) {
            if !fired.defer(trigger, self.rows, cx)? {
                fired.call(trigger, self.rows, cx)?;
            }
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
fn lost() -> Error {
    Error::internal("an event's row is not there")
}

impl ExecContext {
    /// Adds the queues of a foreign key's action, which run after the statement's own.
    pub(crate) fn queue_later(&mut self, queues: Vec<EventQueue>) {
        if !queues.is_empty() {
            self.queue().later.extend(queues);
        }
    }

    /// The statement's queue.
    pub(super) fn queue(&mut self) -> &mut EventQueue {
        self.events.get_or_insert_default()
    }

    /// Queues the AFTER STATEMENT triggers of a table that are to fire.
    pub(super) fn queue_statement(
        &mut self,
        relation: &Arc<Relation>,
        hooks: &Arc<HookSet>,
        command: RowCommand,
    ) -> Result<()> {
        let triggers = &hooks.command(command).after_statement;
        if triggers.is_empty() {
            return Ok(());
        }
        let mut due = Vec::with_capacity(triggers.len());
        for trigger in triggers {
            if trigger.fires((None, None), self)? {
                due.push(trigger.clone());
            }
        }
        self.queue().push_statement(relation, hooks, command, due.into());
        Ok(())
    }

    /// Queues the AFTER ROW triggers of a change that are to fire.
    pub(super) fn queue_row(
        &mut self,
        relation: &Arc<Relation>,
        hooks: &Arc<HookSet>,
        command: RowCommand,
        rows: OldAndNew<'_>,
    ) -> Result<()> {
        for (group, triggers) in hooks.command(command).after_row.chunks(GROUP).enumerate() {
            let mut due = 0;
            for (at, trigger) in triggers.iter().enumerate() {
                due |= u64::from(trigger.fires(rows, self)?) << at;
            }
            if due != 0 {
                let what = command as i32 + COMMANDS * group as i32;
                self.queue_due(relation, hooks, (what, due), rows)?;
            }
        }
        Ok(())
    }

    /// Queues triggers of a row. `what`: the command and the group of triggers.
    fn queue_due(
        &mut self,
        relation: &Arc<Relation>,
        hooks: &Arc<HookSet>,
        (what, due): (i32, u64),
        (old, new): OldAndNew<'_>,
    ) -> Result<()> {
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let columns = old.len() + new.len();
        let known = self.queue().logs.iter().position(|log| log.columns == columns);
        let log = match known {
            Some(found) => found,
            None => {
                let new = RowLog::new(columns, self.work_mem_bytes, self.temp()?);
                self.queue().logs.push(new);
                self.queue().logs.len() - 1
            }
        };
        let queue = self.queue();
        let table = queue.place(relation, hooks) as i32;
        let head = [Datum::Int4(table), Datum::Int4(what), Datum::Int8(due as i64)];
        let rows = &mut queue.logs[log].rows;
        let at = rows.len();
        rows.push_all(&[&head, old, new])?;
        match queue.events.last_mut() {
            Some(Event::Rows { log: same, first, count })
                if *same == log && *first + *count == at =>
            {
                *count += 1;
            }
            _ => queue.push(Event::Rows { log, first: at, count: 1 }),
        }
        Ok(())
    }

    pub(super) fn event_mark(&self) -> EventMark {
        self.events
            .as_ref()
            .map_or(EventMark { events: 0, rows: 0, changes: 0 }, |queue| queue.mark())
    }

    pub(super) fn forget_events(&mut self, since: EventMark) {
        if let Some(queue) = &mut self.events {
            queue.truncate(since);
        }
    }
}

/// Runs the queued events at the end of a statement.
#[inline]
pub(crate) fn finish(cx: &mut ExecContext) -> Result<()> {
    match cx.events.take() {
        None => Ok(()),
        Some(queue) => finish_queue(*queue, cx),
    }
}

/// Runs a queue, and then those of the actions of foreign keys, level by level. The statement of an
/// action leaves its own queue to the statement whose event it was (fire_triggers of
/// SPI_execute_snapshot).
fn finish_queue(queue: EventQueue, cx: &mut ExecContext) -> Result<()> {
    if let Some(left) = cx.txn()?.left_events() {
        left.push(queue);
        return Ok(());
    }
    let mut waiting = VecDeque::from([queue]);
    while let Some(queue) = waiting.pop_front() {
        queue.work_off(cx)?;
        if let Some(mut new) = cx.events.take() {
            let later = std::mem::take(&mut new.later);
            waiting.extend((!new.is_empty()).then_some(*new));
            waiting.extend(later);
        }
    }
    Ok(())
}
