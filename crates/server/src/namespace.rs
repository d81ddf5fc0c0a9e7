//! The catalog and search path of a session: the current catalog, and the search path resolved in
//! it.
//!
//! ```text
//!   session, before a statement ── put ─┐
//!   a function that changes the catalog ┴▶ NamespaceCell ── get ──▶ functions, system views
//!                                              │ version
//!                                              ▼
//!                            session: is its version the latest?
//! ```
//!
//! The cell always has the namespace for a function's next step. The session keeps the one that it
//! put there last, and reads the cell again only if the version has changed. So a statement that
//! finds no change takes no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use steppe_catalog::{Catalog, NameSpace};
use steppe_sql::planner::PlannerSettings;
use steppe_types::io::IoContext;

use crate::auto_explain::AutoExplain;
use crate::function_counts::Tracked;
use crate::nested::NestedKinds;
use crate::settings::LiveSettings;

/// The current catalog and search path, and the settings for the statements of functions.
#[derive(Clone)]
pub(crate) struct SessionNamespace {
    /// The catalog, with the transaction's own changes, and the search path.
    pub names: NameSpace,
    /// The transaction's own version of the catalog, if it has changed the catalog.
    pub own: Option<Arc<Catalog>>,
    /// The catalog of the transaction's snapshot, if it is older.
    pub older: Option<Arc<Catalog>>,
    /// The settings of text input and output, with these names.
    pub io: Arc<IoContext>,
    /// The session's settings that the statements of functions depend on.
    pub settings: FunctionSettings,
}

/// The settings that the statements of functions depend on.
#[derive(Clone, Default)]
pub(crate) struct FunctionSettings {
    /// search_path
    pub search_path: Arc<[String]>,
    /// The planner's settings.
    pub planner: Arc<PlannerSettings>,
    /// maintenance_work_mem
    pub maintenance_work_mem_bytes: usize,
    /// default_statistics_target
    pub statistics_target: usize,
    /// track_functions
    pub tracked_functions: Tracked,
    /// The statements of functions that are counted.
    pub nested: NestedKinds,
    /// auto_explain, if it is on.
    pub auto_explain: Option<Arc<AutoExplain>>,
}

impl FunctionSettings {
    /// Takes them from a session's settings.
    pub(crate) fn of(live: &LiveSettings) -> FunctionSettings {
        FunctionSettings {
            search_path: Arc::clone(&live.search_path),
            planner: Arc::clone(&live.planner),
            maintenance_work_mem_bytes: live.maintenance_work_mem_bytes,
            statistics_target: live.statistics_target,
            tracked_functions: live.tracked_functions,
            nested: NestedKinds::of(live),
            auto_explain: live.auto_explain.clone(),
        }
    }
}

/// The current namespace.
pub(crate) struct NamespaceCell {
    /// The number of namespaces so far.
    made: AtomicU64,
    /// The number of the current one.
    version: AtomicU64,
    /// The epoch of the current catalog; 0 for a transaction's own version.
    published: AtomicU64,
    current: Mutex<Arc<SessionNamespace>>,
}

impl NamespaceCell {
    /// The cell of a new session: the published catalog, and no search path yet.
    pub(crate) fn new(catalog: Arc<Catalog>) -> NamespaceCell {
        let namespace = SessionNamespace {
            names: NameSpace::initial(catalog),
            own: None,
            older: None,
            io: Arc::default(),
            settings: FunctionSettings::default(),
        };
        NamespaceCell {
            made: AtomicU64::new(1),
            version: AtomicU64::new(1),
            published: AtomicU64::new(namespace.names.catalog.epoch),
            current: Mutex::new(Arc::new(namespace)),
        }
    }

    /// Changes with every new namespace. Only the session and its functions change it, and the
    /// session reads it.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Whether the current catalog is a published one, and not the one of this epoch.
    pub(crate) fn is_left_behind(&self, epoch: u64) -> bool {
        let published = self.published.load(Ordering::Relaxed);
        published != 0 && published != epoch
    }

    /// Whether the current catalog is the published one of this epoch.
    pub(crate) fn is_published(&self, epoch: u64) -> bool {
        epoch != 0 && self.published.load(Ordering::Relaxed) == epoch
    }

    /// The current namespace.
    pub(crate) fn get(&self) -> Arc<SessionNamespace> {
        Arc::clone(&self.current.lock())
    }

    /// The current namespace with its version.
    pub(crate) fn versioned(&self) -> (Arc<SessionNamespace>, u64) {
        let current = self.current.lock();
        (Arc::clone(&current), self.version())
    }

    /// Sets the current namespace. Returns its version.
    pub(crate) fn put(&self, namespace: Arc<SessionNamespace>) -> u64 {
        let version = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        self.put_again(namespace, version);
        version
    }

    /// Sets a namespace that was the current one before, with its version.
    pub(crate) fn put_again(&self, namespace: Arc<SessionNamespace>, version: u64) {
        let mut current = self.current.lock();
        let published = if namespace.own.is_some() { 0 } else { namespace.names.catalog.epoch };
        self.published.store(published, Ordering::Relaxed);
        self.version.store(version, Ordering::Relaxed);
        *current = namespace;
    }
}
