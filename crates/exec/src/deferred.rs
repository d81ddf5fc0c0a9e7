//! A transaction's deferred events: the checks of deferred constraints, which SET CONSTRAINTS or
//! COMMIT runs (AfterTriggers' deferred list and SET CONSTRAINTS' state in
//! src/backend/commands/trigger.c).
//!
//! A statement's queue gives its events here when their turn comes and their constraint is
//! deferred. Constraints of all kinds use this queue, in the order in which events came:
//!
//! | event | constraint |
//! |---|---|
//! | [`DeferredEvent::Unique`] | DEFERRABLE UNIQUE and PRIMARY KEY |
//! | [`DeferredEvent::Reference`] | DEFERRABLE FOREIGN KEY, for a new referencing row |
//! | [`DeferredEvent::Unreferenced`] | the same, for a key that is removed from the referenced table |
//! | [`DeferredEvent::Trigger`] | DEFERRABLE constraint triggers |
//!
//! A savepoint remembers how many events there were, and the modes. ROLLBACK TO removes the later
//! events. An event that SET CONSTRAINTS has run stays, marked: if the part of the transaction with
//! that SET CONSTRAINTS is rolled back, the event runs again.

use crate::change::RowCommand;
use hashbrown::HashMap;
use steppe_catalog::{Catalog, Deferral};
use steppe_functions::KeyCheck;
use steppe_txn::RowId;
use steppe_types::{Datum, Oid};

/// A key of a foreign key's columns, in the order of the constraint.
#[derive(Clone, Debug)]
pub struct KeyOfRow {
    /// The table of the row.
    pub table: Oid,
    /// The table that has the constraint: the row's table, or one that refers to it.
    pub referencing: Oid,
    /// The constraint.
    pub constraint: Oid,
    /// The row.
    pub row: RowId,
    /// The key's values.
    pub key: Box<[Datum]>,
}

/// A changed row that a constraint trigger is to be called for.
#[derive(Clone, Debug)]
pub struct TriggerRow {
    /// The table that has the trigger.
    pub table: Oid,
    /// The trigger.
    pub trigger: Oid,
    /// Its constraint.
    pub constraint: Oid,
    /// The change.
    pub command: RowCommand,
    /// The row before the change.
    pub old: Option<Box<[Datum]>>,
    /// The row after it.
    pub new: Option<Box<[Datum]>>,
}

/// An event that outlives its statement.
#[derive(Clone, Debug)]
pub enum DeferredEvent {
    /// Another row may have this unique key.
    Unique(KeyCheck),
    /// The row's key must be in the referenced table.
    Reference(Box<KeyOfRow>),
    /// Rows may refer to the removed key only if a row has it again.
    Unreferenced(Box<KeyOfRow>),
    /// A constraint trigger is to be called.
    Trigger(Box<TriggerRow>),
}

impl DeferredEvent {
    /// The OID by which SET CONSTRAINTS knows the constraint: of a foreign key, or of a key's index.
    fn constraint(&self) -> Oid {
        match self {
            DeferredEvent::Unique(check) => check.index,
            DeferredEvent::Reference(of) | DeferredEvent::Unreferenced(of) => of.constraint,
            DeferredEvent::Trigger(of) => of.constraint,
        }
    }

    /// The table whose change has queued it.
    fn table(&self, catalog: &Catalog) -> Option<Oid> {
        match self {
            DeferredEvent::Unique(check) => {
                Some(catalog.relation(check.index)?.index.as_ref()?.table)
            }
            DeferredEvent::Reference(of) | DeferredEvent::Unreferenced(of) => Some(of.table),
            DeferredEvent::Trigger(of) => Some(of.table),
        }
    }
}

/// The modes that SET CONSTRAINTS has set.
#[derive(Clone, Debug, Default)]
struct Modes {
    /// SET CONSTRAINTS ALL: whether all are deferred. `None` keeps each constraint's definition.
    all: Option<bool>,
    /// Later modes of single constraints.
    by_constraint: HashMap<Oid, bool>,
}

/// An event with the run that has run it.
#[derive(Debug)]
struct Entry {
    event: DeferredEvent,
    initially: Deferral,
    /// The number of the run; 0 if the event has not been run.
    ran: u32,
}

/// A transaction's deferred constraints.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    modes: Modes,
    entries: Vec<Entry>,
    /// The number of runs so far.
    runs: u32,
}

/// The state at a savepoint.
#[derive(Debug, Default)]
pub(crate) struct DeferredMark {
    modes: Modes,
    entries: usize,
    runs: u32,
}

impl Deferred {
    /// Whether a constraint is deferred now.
    pub(crate) fn is_deferred(&self, constraint: Oid, initially: Deferral) -> bool {
        if !initially.is_deferrable() {
            return false;
        }
        let said = self.modes.by_constraint.get(&constraint).copied().or(self.modes.all);
        said.unwrap_or_else(|| initially.is_deferred())
    }

    pub(crate) fn push(&mut self, event: DeferredEvent, initially: Deferral) {
        self.entries.push(Entry { event, initially, ran: 0 });
    }

    pub(crate) fn set_all(&mut self, deferred: bool) {
        self.modes = Modes { all: Some(deferred), by_constraint: HashMap::new() };
    }

    pub(crate) fn set(&mut self, constraints: &[Oid], deferred: bool) {
        let of = constraints.iter().map(|constraint| (*constraint, deferred));
        self.modes.by_constraint.extend(of);
    }

    /// The events that are due, marked as run: those whose constraints are no longer deferred, or
    /// at the end of the transaction all.
    pub(crate) fn take_due(&mut self, at_end: bool) -> Vec<DeferredEvent> {
        let entries = std::mem::take(&mut self.entries);
        if at_end {
            let due = entries.into_iter().filter(|entry| entry.ran == 0);
            return due.map(|entry| entry.event).collect();
        }
        self.runs += 1;
        let mut due = Vec::new();
        self.entries = entries;
        for at in 0..self.entries.len() {
            let Entry { event, initially, ran } = &self.entries[at];
            if *ran == 0 && !self.is_deferred(event.constraint(), *initially) {
                due.push(event.clone());
                self.entries[at].ran = self.runs;
            }
        }
        due
    }

    /// The tables with events that have not been run.
    pub(crate) fn tables(&self, catalog: &Catalog) -> Vec<Oid> {
        let waiting = self.entries.iter().filter(|entry| entry.ran == 0);
        let mut tables: Vec<Oid> = waiting.filter_map(|entry| entry.event.table(catalog)).collect();
        tables.dedup();
        tables
    }

    pub(crate) fn mark(&self) -> DeferredMark {
        let Deferred { modes, entries, runs } = self;
        DeferredMark { modes: modes.clone(), entries: entries.len(), runs: *runs }
    }

    /// ROLLBACK TO a savepoint, which can be returned to again.
    pub(crate) fn rollback_to(&mut self, mark: &DeferredMark) {
        self.modes = mark.modes.clone();
        self.entries.truncate(mark.entries);
        for entry in self.entries.iter_mut().filter(|entry| entry.ran > mark.runs) {
            entry.ran = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(constraint: Oid) -> DeferredEvent {
        let (row, key) = (RowId(1), Box::default());
        let of = KeyOfRow { table: 1, referencing: 1, constraint, row, key };
        DeferredEvent::Reference(Box::new(of))
    }

    fn due(deferred: &mut Deferred) -> Vec<Oid> {
        deferred.take_due(false).iter().map(DeferredEvent::constraint).collect()
    }

    #[test]
    fn a_rollback_makes_an_event_due_again() {
        let mut deferred = Deferred::default();
        deferred.push(event(7), Deferral::InitiallyDeferred);
        assert!(due(&mut deferred).is_empty());
        let mark = deferred.mark();
        deferred.push(event(8), Deferral::InitiallyDeferred);
        deferred.set_all(false);
        assert_eq!(due(&mut deferred), [7, 8]);
        assert!(due(&mut deferred).is_empty());
        deferred.rollback_to(&mark);
        assert!(deferred.is_deferred(7, Deferral::InitiallyDeferred));
        assert!(due(&mut deferred).is_empty());
        let rest: Vec<Oid> =
            deferred.take_due(true).iter().map(DeferredEvent::constraint).collect();
        assert_eq!(rest, [7]);
    }

    #[test]
    fn later_modes_win() {
        let mut deferred = Deferred::default();
        deferred.set_all(true);
        deferred.set(&[7], false);
        assert!(!deferred.is_deferred(7, Deferral::InitiallyDeferred));
        assert!(deferred.is_deferred(8, Deferral::InitiallyImmediate));
        assert!(!deferred.is_deferred(8, Deferral::NotDeferrable));
        deferred.set_all(true);
        assert!(deferred.is_deferred(7, Deferral::InitiallyImmediate));
    }
}
