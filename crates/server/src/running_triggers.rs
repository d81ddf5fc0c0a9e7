//! The triggers that a session is calling, one within the other, and their transition tables.
//! Statements of the trigger functions find these tables by name (PostgreSQL's named tuplestores,
//! src/backend/utils/misc/queryenvironment.c).
//!
//! The session makes a version of the catalog that has the tables in a schema of their own. Only
//! this session sees that version, and its statements search that schema first. A trigger that is
//! called within another one sees its own tables only.

use std::sync::Arc;

use parking_lot::Mutex;
use steppe_catalog::{Catalog, NameSpace, TRANSITION_SCHEMA};
use steppe_functions::{TransitionRows, TransitionTable};
use steppe_types::Oid;

/// See the module.
#[derive(Default)]
pub(crate) struct RunningTriggers(Mutex<Vec<Running>>);

struct Running {
    relation: Oid,
    tables: Option<Arc<[TransitionTable]>>,
    /// The catalog with the tables, and the one that it was made from.
    shown: Option<(Arc<Catalog>, Arc<Catalog>)>,
}

impl RunningTriggers {
    /// The number of triggers.
    pub(crate) fn depth(&self) -> i32 {
        self.0.lock().len() as i32
    }

    /// A trigger's call begins.
    pub(crate) fn enter(&self, relation: Oid, tables: Option<Arc<[TransitionTable]>>) {
        self.0.lock().push(Running { relation, tables, shown: None });
    }

    /// The relations that have the triggers.
    pub(crate) fn relations(&self) -> Vec<Oid> {
        self.0.lock().iter().map(|running| running.relation).collect()
    }

    /// The innermost trigger's call has ended.
    pub(crate) fn leave(&self) {
        self.0.lock().pop();
    }

    /// The rows of a table of the innermost trigger.
    pub(crate) fn rows(&self, relation: Oid) -> Option<Arc<dyn TransitionRows>> {
        let running = self.0.lock();
        let tables = running.last()?.tables.as_ref()?;
        let found = tables.iter().find(|table| table.relation.oid == relation);
        found.map(|table| Arc::clone(&table.rows))
    }

    /// Adds the tables of the innermost trigger to a name space.
    pub(crate) fn show_tables(&self, names: &mut NameSpace) {
        let mut running = self.0.lock();
        let Some(Running { tables: Some(tables), shown, .. }) = running.last_mut() else { return };
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
