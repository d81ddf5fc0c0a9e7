//! What names mean to a session: the catalog in force and the search path resolved in it.
//!
//! ```text
//!   session, before a statement ── put ─┐
//!   a function that changes the catalog ┴▶ NamespaceCell ── get ──▶ functions, system views
//!                                              │ version
//!                                              ▼
//!                            session: is what I have the latest?
//! ```
//!
//! What it guarantees: the cell has what is in force for what a function does next. The session
//! keeps what it has put there last, and looks again if the version has moved since: no lock is
//! taken for a statement that finds all as it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use steppe_catalog::{Catalog, NameSpace};
use steppe_sql::planner::PlannerSettings;
use steppe_types::io::IoContext;

use crate::settings::LiveSettings;

/// What names mean now, and what else the statements of functions are planned and run with.
#[derive(Clone)]
pub(crate) struct SessionNamespace {
    /// The catalog, with what the transaction has changed in it, and the search path.
    pub names: NameSpace,
    /// The transaction's version of the catalog, if it has one of its own.
    pub own: Option<Arc<Catalog>>,
    /// The catalog that the transaction's snapshot was taken under, if that is an older one.
    pub older: Option<Arc<Catalog>>,
    /// Settings that text input and output depend on, with these names.
    pub io: Arc<IoContext>,
    /// Of the session's settings, what the statements of functions depend on.
    pub settings: FunctionSettings,
}

/// The settings that the statements of functions depend on.
#[derive(Clone, Default)]
pub(crate) struct FunctionSettings {
    /// search_path
    pub search_path: Arc<[String]>,
    /// The optimiser's.
    pub planner: Arc<PlannerSettings>,
    /// maintenance_work_mem
    pub maintenance_work_mem_bytes: usize,
    /// default_statistics_target
    pub statistics_target: usize,
}

impl FunctionSettings {
    /// Of a session's settings.
    pub(crate) fn of(live: &LiveSettings) -> FunctionSettings {
        FunctionSettings {
            search_path: Arc::clone(&live.search_path),
            planner: Arc::clone(&live.planner),
            maintenance_work_mem_bytes: live.maintenance_work_mem_bytes,
            statistics_target: live.statistics_target,
        }
    }
}

/// The namespace in force.
pub(crate) struct NamespaceCell {
    /// How many there have been.
    version: AtomicU64,
    current: Mutex<Arc<SessionNamespace>>,
}

impl NamespaceCell {
    /// A new session's: the published catalog, and no search path yet.
    pub(crate) fn new(catalog: Arc<Catalog>) -> NamespaceCell {
        let namespace = SessionNamespace {
            names: NameSpace::initial(catalog),
            own: None,
            older: None,
            io: Arc::default(),
            settings: FunctionSettings::default(),
        };
        NamespaceCell { version: AtomicU64::new(1), current: Mutex::new(Arc::new(namespace)) }
    }

    /// Changes whenever there is another one. It is asked by the session, whose functions and
    /// statements are all that change it.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// The one in force.
    pub(crate) fn get(&self) -> Arc<SessionNamespace> {
        Arc::clone(&self.current.lock())
    }

    /// Puts another one in force; its version.
    pub(crate) fn put(&self, namespace: Arc<SessionNamespace>) -> u64 {
        let mut current = self.current.lock();
        *current = namespace;
        self.version.fetch_add(1, Ordering::Relaxed) + 1
    }
}
