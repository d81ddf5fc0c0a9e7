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
//! Events are rows of a store, which is in memory up to work_mem and then in a temporary file. (The
//! queue of PostgreSQL stays in memory.) A row names its constraint and its table by the number of a
//! class. Beside the store there are only the classes, the runs of rows that count, and the runs of
//! SET CONSTRAINTS.
//!
//! A savepoint remembers how many events there were, and the modes. ROLLBACK TO removes the later
//! events: their rows no longer count. An event that SET CONSTRAINTS has run stays. It has been run if
//! an earlier SET CONSTRAINTS found it in a mode that is not deferred, so it needs no mark. If the
//! part of the transaction with that SET CONSTRAINTS is rolled back, the event runs again.

mod event;

pub use event::{DeferredEvent, KeyOfRow, TriggerRow};

use self::event::{Class, Kind, WIDTH, lost};
use crate::tuplestore::{StoreReader, TupleStore};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_catalog::{Catalog, Deferral};
use steppe_spill::TempSpace;
use steppe_txn::RowId;
use steppe_types::{Datum, Oid, Result};

/// The modes that SET CONSTRAINTS has set.
#[derive(Clone, Debug, Default)]
struct Modes {
    /// SET CONSTRAINTS ALL: whether all are deferred. `None` keeps each constraint's definition.
    all: Option<bool>,
    /// Later modes of single constraints.
    by_constraint: HashMap<Oid, bool>,
}

impl Modes {
    fn is_deferred(&self, constraint: Oid, initially: Deferral) -> bool {
        if !initially.is_deferrable() {
            return false;
        }
        let said = self.by_constraint.get(&constraint).copied().or(self.all);
        said.unwrap_or_else(|| initially.is_deferred())
    }

    /// Whether no constraint is deferred.
    fn defers_none(&self) -> bool {
        self.all == Some(false) && !self.by_constraint.values().any(|deferred| *deferred)
    }
}

/// Rows of the store that count.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// The number of events before them.
    before: usize,
    /// The place of the first one in the store.
    place: usize,
    count: usize,
}

/// A SET CONSTRAINTS that has run events.
#[derive(Clone, Debug)]
struct Run {
    /// The number of events that there were.
    end: usize,
    modes: Modes,
}

/// A transaction's deferred constraints.
#[derive(Default)]
pub(crate) struct Deferred {
    modes: Modes,
    classes: Vec<Class>,
    /// The places of classes in that list.
    places: HashMap<Class, usize>,
    store: Option<Arc<Mutex<TupleStore>>>,
    segments: Vec<Segment>,
    /// The number of events.
    count: usize,
    /// The number of the first events that have all been run.
    settled: usize,
    runs: Vec<Run>,
}

/// The state at a savepoint.
#[derive(Debug, Default)]
pub(crate) struct DeferredMark {
    modes: Modes,
    count: usize,
    settled: usize,
    runs: usize,
}

/// The memory for events, and the place of the others.
pub(crate) type Space = (usize, Arc<TempSpace>);

impl Deferred {
    /// Whether a constraint is deferred now.
    pub(crate) fn is_deferred(&self, constraint: Oid, initially: Deferral) -> bool {
        self.modes.is_deferred(constraint, initially)
    }

    /// Adds an event of a DEFERRABLE constraint. 53400 where temp_file_limit allows no more.
    pub(crate) fn push(
        &mut self,
        event: DeferredEvent,
        initially: Deferral,
        (work_mem_bytes, temp): Space,
    ) -> Result<()> {
        let (class, row, [first, second]) = Class::of(event, initially);
        let class = match self.classes.last() {
            Some(last) if *last == class => self.classes.len() - 1,
            _ => *self.places.entry(class).or_insert_with(|| {
                self.classes.push(class);
                self.classes.len() - 1
            }),
        };
        let store = self.store.get_or_insert_with(|| {
            Arc::new(Mutex::new(TupleStore::new(WIDTH, work_mem_bytes, Some(temp))))
        });
        let mut store = store.lock();
        let place = store.len();
        store.append(&[Datum::Int4(class as i32), Datum::Int8(row.0 as i64), first, second])?;
        match self.segments.last_mut() {
            Some(last) if last.place + last.count == place => last.count += 1,
            _ => self.segments.push(Segment { before: self.count, place, count: 1 }),
        }
        self.count += 1;
        Ok(())
    }

    pub(crate) fn set_all(&mut self, deferred: bool) {
        self.modes = Modes { all: Some(deferred), by_constraint: HashMap::new() };
    }

    pub(crate) fn set(&mut self, constraints: &[Oid], deferred: bool) {
        let of = constraints.iter().map(|constraint| (*constraint, deferred));
        self.modes.by_constraint.extend(of);
    }

    /// The events that have not been run and, if `modes` are given, are not deferred in these.
    fn waiting(&self, modes: Option<Modes>) -> DueEvents {
        let first_run = self.runs.partition_point(|run| run.end <= self.settled);
        DueEvents {
            classes: self.classes.clone(),
            store: self.store.clone(),
            segments: self.segments.clone(),
            next: self.settled,
            end: self.count,
            runs: self.runs[first_run..].to_vec(),
            modes,
            reader: StoreReader::default(),
            row: Vec::new(),
        }
    }

    /// The events that are due, which count as run from now on: those whose constraints are no
    /// longer deferred, or at the end of the transaction all.
    pub(crate) fn take_due(&mut self, at_end: bool) -> DueEvents {
        if at_end {
            let due = self.waiting(None);
            *self = Deferred { modes: std::mem::take(&mut self.modes), ..Deferred::default() };
            return due;
        }
        let due = self.waiting(Some(self.modes.clone()));
        if !due.is_empty() {
            self.runs.push(Run { end: self.count, modes: self.modes.clone() });
        }
        if self.modes.defers_none() {
            self.settled = self.count;
        }
        due
    }

    /// The tables with events that have not been run.
    pub(crate) fn tables(&self, catalog: &Catalog) -> Result<Vec<Oid>> {
        let mut waiting = self.waiting(None);
        let mut found = vec![false; self.classes.len()];
        while let Some((class, ..)) = waiting.next_row()? {
            found[class] = true;
        }
        let found = self.classes.iter().zip(found).filter(|(_, found)| *found);
        let table = |(class, _): (&Class, bool)| match class.kind {
            Kind::Unique => Some(catalog.relation(class.table)?.index.as_ref()?.table),
            _ => Some(class.table),
        };
        let mut tables: Vec<Oid> = found.filter_map(table).collect();
        tables.dedup();
        Ok(tables)
    }

    pub(crate) fn mark(&self) -> DeferredMark {
        let Deferred { modes, count, settled, runs, .. } = self;
        let (modes, runs) = (modes.clone(), runs.len());
        DeferredMark { modes, count: *count, settled: *settled, runs }
    }

    /// ROLLBACK TO a savepoint, which can be returned to again.
    pub(crate) fn rollback_to(&mut self, mark: &DeferredMark) {
        self.modes = mark.modes.clone();
        self.runs.truncate(mark.runs);
        (self.count, self.settled) = (mark.count, mark.settled);
        self.segments.retain_mut(|segment| {
            segment.count = segment.count.min(mark.count.saturating_sub(segment.before));
            segment.count > 0
        });
        if self.count == 0 {
            self.store = None;
        }
    }
}

/// Deferred events that are due, in their order. They are read from the store one by one.
#[derive(Default)]
pub struct DueEvents {
    classes: Vec<Class>,
    store: Option<Arc<Mutex<TupleStore>>>,
    segments: Vec<Segment>,
    /// The number of the next event.
    next: usize,
    end: usize,
    /// The runs that may have run them.
    runs: Vec<Run>,
    /// The modes in which they are due. `None`: in all.
    modes: Option<Modes>,
    reader: StoreReader,
    row: Vec<Datum>,
}

impl DueEvents {
    /// Whether there is none for sure.
    pub fn is_empty(&self) -> bool {
        self.next >= self.end
    }

    /// The next event.
    pub fn next_event(&mut self) -> Result<Option<DeferredEvent>> {
        let Some((class, row, values)) = self.next_row()? else { return Ok(None) };
        self.classes.get(class).ok_or_else(lost)?.event(row, values).map(Some)
    }

    /// The number of the class of the next event, and its row.
    fn next_row(&mut self) -> Result<Option<(usize, RowId, [Datum; 2])>> {
        let Some(store) = self.store.clone() else { return Ok(None) };
        while !self.is_empty() {
            let number = self.next;
            self.next += 1;
            let at = self.segments.partition_point(|segment| segment.before <= number);
            let segment =
                at.checked_sub(1).and_then(|at| self.segments.get(at)).ok_or_else(lost)?;
            let place = segment.place + (number - segment.before);
            self.row.clear();
            let found = store.lock().read_at(&mut self.reader, place, &mut self.row)?;
            let [Datum::Int4(class), Datum::Int8(row), first, second] = &mut self.row[..] else {
                return Err(lost());
            };
            let of = self.classes.get(*class as usize).filter(|_| found).ok_or_else(lost)?;
            if Self::is_due(of, number, &self.runs, self.modes.as_ref()) {
                let values = [std::mem::take(first), std::mem::take(second)];
                return Ok(Some((*class as usize, RowId(*row as u64), values)));
            }
        }
        Ok(None)
    }

    fn is_due(class: &Class, number: usize, runs: &[Run], modes: Option<&Modes>) -> bool {
        let (constraint, initially) = (class.constraint, class.initially());
        let later = &runs[runs.partition_point(|run| run.end <= number)..];
        !later.iter().any(|run| !run.modes.is_deferred(constraint, initially))
            && !modes.is_some_and(|modes| modes.is_deferred(constraint, initially))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use steppe_vfs::{CrashVfs, Vfs};

    fn event(constraint: Oid) -> DeferredEvent {
        let (row, key) = (RowId(1), Box::from([Datum::text("a key"), Datum::Null]));
        let of = KeyOfRow { table: 1, referencing: 1, constraint, row, key, command: 7 };
        DeferredEvent::Reference(Box::new(of))
    }

    fn temp() -> Arc<TempSpace> {
        let vfs = CrashVfs::new(1);
        vfs.create_dir_all("temp".as_ref()).expect("a new directory");
        Arc::new(TempSpace::new(Arc::new(vfs), "temp"))
    }

    fn push(deferred: &mut Deferred, constraint: Oid, temp: &Arc<TempSpace>) {
        let space = (1 << 10, Arc::clone(temp));
        deferred.push(event(constraint), Deferral::InitiallyDeferred, space).expect("is kept");
    }

    fn constraints(mut due: DueEvents) -> Vec<Oid> {
        let mut all = Vec::new();
        while let Some(event) = due.next_event().expect("reads") {
            let DeferredEvent::Reference(of) = event else { panic!("another kind of event") };
            assert_eq!((of.row, of.key.len(), of.table, of.command), (RowId(1), 2, 1, 7));
            all.push(of.constraint);
        }
        all
    }

    fn due(deferred: &mut Deferred) -> Vec<Oid> {
        constraints(deferred.take_due(false))
    }

    /// As many events as do not fit the memory, with parts that are rolled back.
    #[test]
    fn events_beyond_memory_are_kept_in_a_file() {
        let (mut deferred, temp) = (Deferred::default(), temp());
        let mut kept = Vec::new();
        for round in 0..20 {
            let mark = deferred.mark();
            for n in 0..50 {
                push(&mut deferred, 7 + n % 3, &temp);
            }
            match round % 3 {
                1 => deferred.rollback_to(&mark),
                _ => kept.extend((0..50).map(|n| 7 + n % 3)),
            }
        }
        assert_eq!(temp.files_made(), 1);
        let mark = deferred.mark();
        deferred.set(&[8], false);
        assert_eq!(
            due(&mut deferred),
            kept.iter().copied().filter(|c| *c == 8).collect::<Vec<_>>()
        );
        assert!(due(&mut deferred).is_empty());
        push(&mut deferred, 8, &temp);
        assert_eq!(due(&mut deferred), [8]);
        deferred.rollback_to(&mark);
        deferred.set(&[9], false);
        assert_eq!(
            due(&mut deferred),
            kept.iter().copied().filter(|c| *c == 9).collect::<Vec<_>>()
        );
        let rest: Vec<Oid> = kept.into_iter().filter(|c| *c != 9).collect();
        assert_eq!(constraints(deferred.take_due(true)), rest);
        assert!(deferred.take_due(true).is_empty());
    }

    #[test]
    fn a_rollback_makes_an_event_due_again() {
        let (mut deferred, temp) = (Deferred::default(), temp());
        push(&mut deferred, 7, &temp);
        assert!(due(&mut deferred).is_empty());
        let mark = deferred.mark();
        push(&mut deferred, 8, &temp);
        deferred.set_all(false);
        assert_eq!(due(&mut deferred), [7, 8]);
        assert!(due(&mut deferred).is_empty());
        deferred.rollback_to(&mark);
        assert!(deferred.is_deferred(7, Deferral::InitiallyDeferred));
        assert!(due(&mut deferred).is_empty());
        assert_eq!(constraints(deferred.take_due(true)), [7]);
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
