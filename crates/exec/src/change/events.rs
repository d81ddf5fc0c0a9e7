//! The triggers and checks that a statement runs at its end because of the rows that it has changed
//! (PostgreSQL's after-trigger queue in src/backend/commands/trigger.c).
//!
//! Events of all kinds run in the order in which they were queued. Events that are queued meanwhile
//! run after them, as the next *round*: those of the statements that actions of foreign keys run. These
//! statements count as parts of the one that has caused them. BEFORE STATEMENT triggers fire once for
//! all of them. So do AFTER STATEMENT triggers, unless they have fired before the next round queues
//! them again. Rows for transition tables are collected until a trigger first reads them. If a part of the statement is undone, its events are removed ([`super::mark`]).
//! A statement that queues nothing has no queue, and only checks for one at its end.
//!
//! The rows for triggers are kept as they were, beyond work_mem in temporary files. One event
//! stands for a run of rows.
//!
//! Events of deferred constraints leave the queue before the first of the others runs
//! ([`super::put_off`]). The session keeps them until SET CONSTRAINTS or COMMIT.

use super::deferred;
use super::foreign_key::{KeyLog, KeySet};
use super::hooks::{HookSet, OldAndNew, RowCommand, Trigger};
use super::put_off::PutOff;
use super::queued_rows::{COMMANDS, GROUP, QueuedRows, QueuedTable, RowLog, lost};
use super::transition::{Captured, Complete};
use super::trigger::Fired;
use crate::context::ExecContext;
use hashbrown::HashMap;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_functions::KeyCheck;
use steppe_txn::RowId;
use steppe_types::{Datum, Oid, Result};

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
    pub(super) events: Vec<Event>,
    tables: Vec<QueuedTable>,
    /// The places of tables, each with its triggers that a part of the statement can meet.
    places: HashMap<(Oid, usize), usize>,
    logs: Vec<RowLog>,
    /// The keys that foreign keys concern.
    pub(super) keys: Vec<KeyLog>,
    /// The places of tables, each with its foreign keys that a part of the statement can meet.
    key_places: HashMap<(Oid, usize), usize>,
    /// The next round.
    later: Option<Box<EventQueue>>,
    /// BEFORE STATEMENT triggers that have been fired. They fire once for a table and a command,
    /// even if several parts of the statement write the table.
    begun: Vec<(Oid, RowCommand)>,
    /// Rows for transition tables that no trigger has read yet.
    captured: Vec<Captured>,
    /// The number of captured changes so far.
    changes: u64,
}

/// A place in a queue.
#[derive(Clone, Copy, Default)]
pub(crate) struct EventMark {
    events: usize,
    /// The number of rows in the last event before it.
    rows: usize,
    /// The number of captured changes before it.
    changes: u64,
    /// The number of BEFORE STATEMENT triggers before it.
    begun: usize,
}

impl EventQueue {
    pub(super) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Takes the checks of unique keys that were queued since a mark, behind which there are no other
    /// events.
    pub(super) fn take_checks(&mut self, since: EventMark) -> Vec<KeyCheck> {
        let check = |event| match event {
            Event::UniqueRecheck(check) => Some(check),
            _ => None,
        };
        self.events
            .split_off(since.events.min(self.events.len()))
            .into_iter()
            .filter_map(check)
            .collect()
    }

    /// Takes the last checks of a row's UNIQUE constraints. The events of a row are in the order of the
    /// names that their triggers have in PostgreSQL: first PK_ConstraintTrigger, then
    /// RI_ConstraintTrigger, then Unique_ConstraintTrigger.
    pub(super) fn take_unique(&mut self, row: RowId, catalog: &Catalog) -> Vec<Event> {
        let is_unique = |check: &KeyCheck| {
            let index = catalog.relation(check.index).and_then(|index| index.index.as_ref());
            check.row == row && index.is_some_and(|index| !index.primary)
        };
        let is_other =
            |event: &Event| !matches!(event, Event::UniqueRecheck(check) if is_unique(check));
        let from = self.events.iter().rposition(is_other).map_or(0, |at| at + 1);
        self.events.split_off(from)
    }

    /// The last event.
    pub(super) fn last(&mut self) -> Option<&mut Event> {
        self.events.last_mut()
    }

    /// The place of a table's log of keys.
    pub(super) fn key_log(
        &mut self,
        table: Oid,
        set: &Arc<KeySet>,
        new: impl FnOnce() -> KeyLog,
    ) -> usize {
        *self.key_places.entry((table, Arc::as_ptr(set).addr())).or_insert_with(|| {
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
        let (changes, begun) = (self.changes, self.begun.len());
        EventMark { events: self.events.len(), rows, changes, begun }
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
        self.begun.truncate(mark.begun);
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
        *self.places.entry((relation.oid, Arc::as_ptr(hooks).addr())).or_insert_with(|| {
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
        let tables = &self.tables;
        self.events.retain(|event| !is_statement(event, tables, (relation.oid, command)));
        if !due.is_empty() {
            self.push(Event::Statement { table, command, due });
        }
    }

    /// Whether it has AFTER STATEMENT triggers of a table for a command.
    fn has_statement(&self, of: (Oid, RowCommand)) -> bool {
        self.events.iter().any(|event| is_statement(event, &self.tables, of))
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
    pub(super) fn rows(&self) -> Vec<RowId> {
        let row = |event: &Event| match event {
            Event::UniqueRecheck(check) => Some(check.row),
            _ => None,
        };
        self.events.iter().filter_map(row).collect()
    }

    /// Runs the queued events. The next round goes on with the triggers that have been fired before
    /// the statement, and with the rows that no trigger has read.
    fn work_off(mut self, cx: &mut ExecContext) -> Result<()> {
        cx.put_later(self.later.take());
        if !self.begun.is_empty() || !self.captured.is_empty() {
            let later = cx.later();
            later.begun.append(&mut self.begun);
            later.captured.append(&mut self.captured);
            later.changes = self.changes;
        }
        let put_off = self.put_off(cx)?;
        let mut captured = Vec::new();
        let mut rechecks = Vec::new();
        for event in std::mem::take(&mut self.events) {
            if let Event::UniqueRecheck(check) = event {
                rechecks.push(check);
                continue;
            }
            deferred::check(&std::mem::take(&mut rechecks), cx)?;
            match event {
                Event::Rows { log, first, count } => {
                    self.fire_rows((log, first, count), (&put_off, &mut captured), cx)?;
                }
                Event::Keys { log, first, count } => {
                    self.key_log_at(log)?.run((first, count), &put_off, cx)?;
                }
                Event::Statement { table, command, due } => {
                    let relation = &self.table(table)?.relation;
                    // An action has put them off.
                    if cx.has_later_statement((relation.oid, command)) {
                        continue;
                    }
                    for trigger in &due {
                        cx.complete(trigger, (relation.oid, command), &mut captured);
                        let fired = Fired { command, relation, captured: &captured };
                        fired.call(trigger, (None, None), cx)?;
                    }
                }
                Event::UniqueRecheck(_) => {}
            }
        }
        deferred::check(&rechecks, cx)
    }

    /// Whether any trigger of a queued row may be deferred.
    pub(super) fn has_deferrable_triggers(&self) -> bool {
        self.tables.iter().any(|table| table.hooks.has_deferrable())
    }

    /// Moves the deferred events of a run of rows.
    pub(super) fn put_rows_off(
        &mut self,
        (log, first, count): (usize, usize, usize),
        put_off: &mut PutOff,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let (log, tables) = (self.logs.get_mut(log).ok_or_else(lost)?, &self.tables);
        let mut row = Vec::new();
        for at in first..first + count {
            cx.check_interrupts()?;
            log.queued(at, &mut row)?.put_off(tables, put_off, cx)?;
        }
        Ok(())
    }

    pub(super) fn key_log_at(&mut self, log: usize) -> Result<&mut KeyLog> {
        self.keys.get_mut(log).ok_or_else(lost)
    }

    /// Calls the triggers of a run of rows. Rows that they insert may be held until its end. A
    /// statement that captures rows shows each call a catalog of its own, so nothing is held there.
    fn fire_rows(
        &mut self,
        (log, first, count): (usize, usize, usize),
        (put_off, captured): (&PutOff, &mut Vec<Complete>),
        cx: &mut ExecContext,
    ) -> Result<()> {
        let holds = count > 1 && captured.is_empty() && !cx.has_captured();
        let (log, tables) = (self.logs.get_mut(log).ok_or_else(lost)?, &self.tables);
        if holds {
            cx.hold_rows();
        }
        let mut rows = QueuedRows::new(log, first, count);
        let mut fired = Ok(());
        while fired.is_ok() && rows.is_left() {
            fired = rows.fire(tables, (put_off, captured), cx);
        }
        let stored = cx.end_holding();
        fired.and(stored)
    }

    fn table(&self, place: usize) -> Result<&QueuedTable> {
        self.tables.get(place).ok_or_else(lost)
    }
}

/// Whether an event is of a table's AFTER STATEMENT triggers for a command.
fn is_statement(event: &Event, tables: &[QueuedTable], of: (Oid, RowCommand)) -> bool {
    let Event::Statement { table, command, .. } = event else { return false };
    tables.get(*table).is_some_and(|queued| (queued.relation.oid, *command) == of)
}

impl ExecContext {
    /// The next round, to which an action of a foreign key adds its events.
    pub(crate) fn take_later(&mut self) -> Option<Box<EventQueue>> {
        self.events.as_mut().and_then(|queue| queue.later.take())
    }

    /// Puts the next round back.
    pub(crate) fn put_later(&mut self, later: Option<Box<EventQueue>>) {
        if later.is_some() {
            self.queue().later = later;
        }
    }

    fn later(&mut self) -> &mut EventQueue {
        self.queue().later.get_or_insert_default()
    }

    fn has_later_statement(&self, of: (Oid, RowCommand)) -> bool {
        let later = self.events.as_ref().and_then(|queue| queue.later.as_ref());
        later.is_some_and(|later| later.has_statement(of))
    }

    /// Whether there are rows that no trigger has read.
    fn has_captured(&self) -> bool {
        let later = self.events.as_ref().and_then(|queue| queue.later.as_ref());
        later.is_some_and(|later| !later.captured.is_empty())
    }

    /// Before a trigger reads the rows that were captured for a table and a command: they are complete
    /// from now on. Later ones are of another statement, before which triggers fire again.
    #[inline]
    pub(super) fn complete(
        &mut self,
        trigger: &Trigger,
        of: (Oid, RowCommand),
        complete: &mut Vec<Complete>,
    ) {
        if trigger.definition.transition.is_none() || complete.iter().any(|rows| rows.is_of(of)) {
            return;
        }
        let later = self.later();
        later.begun.retain(|begun| *begun != of);
        if let Some(at) = later.captured.iter().position(|rows| rows.is_of(of.0, of.1)) {
            complete.push(Complete::of(later.captured.swap_remove(at)));
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

    pub(crate) fn event_mark(&self) -> EventMark {
        self.events.as_ref().map(|queue| queue.mark()).unwrap_or_default()
    }

    pub(crate) fn forget_events(&mut self, since: EventMark) {
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
        Some(queue) => finish_queue(queue, cx),
    }
}

/// Runs a queue, round by round. The statement of an action leaves its events to the statement whose
/// event it was (fire_triggers of SPI_execute_snapshot).
fn finish_queue(queue: Box<EventQueue>, cx: &mut ExecContext) -> Result<()> {
    if let Some(left) = cx.txn()?.left_events() {
        *left = Some(queue);
        return Ok(());
    }
    let mut round = Some(queue);
    while let Some(queue) = round {
        queue.work_off(cx)?;
        round = cx.events.take().and_then(|mut new| match new.is_empty() {
            true => new.later.take().filter(|later| !later.is_empty()),
            false => Some(new),
        });
    }
    Ok(())
}
