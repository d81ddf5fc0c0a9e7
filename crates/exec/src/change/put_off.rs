//! The deferred events of a round move to the transaction's list before the first of the other events
//! runs (afterTriggerMarkEvents in src/backend/commands/trigger.c).
//!
//! So the deferred events of statements within triggers come after those of the statement that fires
//! the triggers. The modes of constraints are asked for once in a round: if a trigger runs SET
//! CONSTRAINTS, the other events of its round stay where they are.
//!
//! The events of a row move in the order in which they would run.

use super::deferred;
use super::events::{Event, EventQueue};
use crate::context::ExecContext;
use hashbrown::HashSet;
use steppe_catalog::Deferral;
use steppe_types::{Oid, Result};

/// The constraints that were deferred when a round began, so that their events have moved.
#[derive(Default)]
pub(super) struct PutOff(HashSet<Oid, foldhash::fast::RandomState>);

impl PutOff {
    /// Whether the events of a constraint have moved. `deferral`: of the events, which can be another
    /// one than that of the constraint.
    #[inline]
    pub(super) fn has(&self, constraint: Oid, deferral: Deferral) -> bool {
        deferral.is_deferrable() && self.0.contains(&constraint)
    }

    /// Asks for the mode of a constraint, and notes it. True: its events are to move.
    pub(super) fn ask(
        &mut self,
        constraint: Oid,
        deferral: Deferral,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let is_deferred =
            deferral.is_deferrable() && cx.txn()?.deferred_mut().is_deferred(constraint, deferral);
        if is_deferred {
            self.0.insert(constraint);
        }
        Ok(is_deferred)
    }
}

impl EventQueue {
    /// Moves the deferred events.
    pub(super) fn put_off(&mut self, cx: &mut ExecContext) -> Result<PutOff> {
        let mut put_off = PutOff::default();
        let has_deferrable_triggers = self.has_deferrable_triggers();
        let mut left = Vec::with_capacity(self.events.len());
        for event in std::mem::take(&mut self.events) {
            match event {
                Event::UniqueRecheck(check) => {
                    left.extend(deferred::put_off(check, cx)?.map(Event::UniqueRecheck));
                    continue;
                }
                Event::Keys { log, first, count } => {
                    if !self.key_log_at(log)?.put_off((first, count), &mut put_off, cx)? {
                        continue;
                    }
                }
                Event::Rows { log, first, count } if has_deferrable_triggers => {
                    self.put_rows_off((log, first, count), &mut put_off, cx)?;
                }
                Event::Rows { .. } | Event::Statement { .. } => {}
            }
            left.push(event);
        }
        self.events = left;
        Ok(put_off)
    }
}
