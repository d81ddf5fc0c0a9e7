//! What is to be done at the end of a statement because of the rows that it has changed
//! (PostgreSQL's after-trigger queue in src/backend/commands/trigger.c).
//!
//! Events are worked off in the order in which they were queued, whatever they are of. What is
//! queued meanwhile comes behind. A part of the statement that is taken back takes its events with
//! it ([`super::mark`]). A statement that queues nothing has no queue: it costs one look at its end.
//!
//! Deferred constraints leave the queue when their turn comes: the session keeps them until SET
//! CONSTRAINTS or COMMIT.

use super::deferred;
use crate::context::ExecContext;
use steppe_functions::KeyCheck;
use steppe_types::Result;

/// What is queued.
pub(crate) enum Event {
    /// A key of a DEFERRABLE constraint is to be looked at again: another row may have it.
    UniqueRecheck(KeyCheck),
}

/// The events of one statement, or of a COPY.
#[derive(Default)]
pub(crate) struct EventQueue {
    events: Vec<Event>,
}

/// A place in a queue.
#[derive(Clone, Copy)]
pub(super) struct EventMark(usize);

impl EventQueue {
    pub(super) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Forgets what was queued since a mark.
    fn truncate(&mut self, mark: EventMark) {
        self.events.truncate(mark.0);
    }

    /// The rows that events are about.
    #[cfg(test)]
    pub(super) fn rows(&self) -> Vec<steppe_txn::RowId> {
        let row = |event: &Event| match event {
            Event::UniqueRecheck(check) => check.row,
        };
        self.events.iter().map(row).collect()
    }

    /// Does what is queued.
    fn work_off(self, cx: &mut ExecContext) -> Result<()> {
        let mut rechecks = Vec::new();
        for event in self.events {
            match event {
                Event::UniqueRecheck(check) => rechecks.push(check),
            }
        }
        deferred::check_due(rechecks, cx)
    }
}

impl ExecContext {
    /// The statement's queue.
    pub(super) fn queue(&mut self) -> &mut EventQueue {
        self.events.get_or_insert_default()
    }

    pub(super) fn event_mark(&self) -> EventMark {
        EventMark(self.events.as_ref().map_or(0, |queue| queue.events.len()))
    }

    pub(super) fn forget_events(&mut self, since: EventMark) {
        if let Some(queue) = &mut self.events {
            queue.truncate(since);
        }
    }
}

/// At the end of a statement: does what is queued.
#[inline]
pub(crate) fn finish(cx: &mut ExecContext) -> Result<()> {
    match cx.events.take() {
        None => Ok(()),
        Some(queue) => queue.work_off(cx),
    }
}
