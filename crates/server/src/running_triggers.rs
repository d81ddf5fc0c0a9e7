//! The triggers that a session is calling, one within the other, and their transition tables.
//! Statements of the trigger functions find these tables by name (PostgreSQL's named tuplestores,
//! src/backend/utils/misc/queryenvironment.c).
//!
//! The session makes a version of the catalog that has the tables in a schema of their own. Only
//! this session sees that version, and its statements search that schema first. A trigger that is
//! called within another one sees its own tables only. A function that a trigger's function calls sees
//! none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use steppe_catalog::{Catalog, NameSpace, TRANSITION_SCHEMA};
use steppe_functions::{TransitionRows, TransitionTable};
use steppe_types::Oid;

/// See the module.
#[derive(Default)]
pub(crate) struct RunningTriggers {
    running: Mutex<Vec<Running>>,
    /// The number of them that have tables. Only the thread that runs the session's statement writes
    /// it.
    with_tables: AtomicUsize,
}

struct Running {
    relation: Oid,
    tables: Option<Arc<[TransitionTable]>>,
    /// The calls of users' functions since it began. The first is its own function's.
    calls: u32,
    /// The catalog with the tables, and the one that it was made from.
    shown: Option<(Arc<Catalog>, Arc<Catalog>)>,
}

impl RunningTriggers {
    /// The number of triggers.
    pub(crate) fn depth(&self) -> i32 {
        self.running.lock().len() as i32
    }

    /// A trigger's call begins.
    pub(crate) fn enter(&self, relation: Oid, tables: Option<Arc<[TransitionTable]>>) {
        self.with_tables.fetch_add(usize::from(tables.is_some()), Ordering::Relaxed);
        self.running.lock().push(Running { relation, tables, calls: 0, shown: None });
    }

    /// The call of a function begins. True: it needs an end, because the innermost trigger has tables.
    #[inline]
    pub(crate) fn enter_function(&self) -> bool {
        if self.with_tables.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut running = self.running.lock();
        let innermost = running.last_mut().filter(|trigger| trigger.tables.is_some());
        innermost.map(|trigger| trigger.calls += 1).is_some()
    }

    /// Such a call has ended.
    pub(crate) fn leave_function(&self) {
        if let Some(trigger) = self.running.lock().last_mut() {
            trigger.calls = trigger.calls.saturating_sub(1);
        }
    }

    /// The relations that have the triggers.
    pub(crate) fn relations(&self) -> Vec<Oid> {
        self.running.lock().iter().map(|running| running.relation).collect()
    }

    /// The innermost trigger's call has ended.
    pub(crate) fn leave(&self) {
        let left = self.running.lock().pop();
        let had_tables = left.is_some_and(|trigger| trigger.tables.is_some());
        self.with_tables.fetch_sub(usize::from(had_tables), Ordering::Relaxed);
    }

    /// The rows of a table of the innermost trigger.
    pub(crate) fn rows(&self, relation: Oid) -> Option<Arc<dyn TransitionRows>> {
        let running = self.running.lock();
        let tables = running.last()?.tables.as_ref()?;
        let found = tables.iter().find(|table| table.relation.oid == relation);
        found.map(|table| Arc::clone(&table.rows))
    }

    /// Adds the tables of the innermost trigger to a name space.
    pub(crate) fn show_tables(&self, names: &mut NameSpace) {
        let mut running = self.running.lock();
        let Some(Running { tables: Some(tables), calls: 0 | 1, shown, .. }) = running.last_mut()
        else {
            return;
        };
        let known = shown.as_ref().filter(|(base, _)| Arc::ptr_eq(base, &names.catalog));
        let catalog = match known {
            Some((_, catalog)) => Arc::clone(catalog),
            None => {
                let mut catalog = (*names.catalog).clone();
                tables.iter().for_each(|table| catalog.put_relation(Arc::clone(&table.relation)));
                let catalog = Arc::new(catalog);
                *shown = Some((Arc::clone(&names.catalog), Arc::clone(&catalog)));
                catalog
            }
        };
        names.catalog = catalog;
        names.path = std::iter::once(TRANSITION_SCHEMA).chain(names.path.iter().copied()).collect();
    }
}
