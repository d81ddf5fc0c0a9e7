//! The state that all sessions of a server share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_catalog::{Catalog, CatalogStore, Sequences};
use steppe_counting::RelationStatistics;
use steppe_counting::blocks::Files;
use steppe_exec::SharedPlans;
use steppe_spill::TempSpace;
use steppe_storage::usage::Worker;
use steppe_txn::{Engine, Interrupt, SessionShared};
use steppe_vfs::Random;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::activity::Activity;
use crate::autovacuum::Autovacuum;
use crate::cluster::Cluster;
use crate::data_dir::DataDir;
use crate::function_counts::FunctionStatistics;
use crate::io_timing;
use crate::log;
use crate::memory::StatementLimit;
use crate::plan_cache::PlanCache;
use crate::services::now_micros;
use crate::settings::SharedSettings;
use crate::statements::{Statements, Tally};
use crate::system_views::ServerStatistics;

/// The phase of the server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It runs.
    Running,
    /// It stops: sessions end with 57P01, then the server takes a checkpoint.
    Stopping,
    /// Storage has failed: it stops at once, and the next start recovers.
    Failed,
}

/// A running server's shared state.
pub struct Server {
    /// The engine.
    pub engine: Arc<Engine>,
    /// Schema objects.
    pub catalog: Arc<CatalogStore>,
    /// Calls of users' functions.
    pub(crate) function_statistics: FunctionStatistics,
    /// The settings that new sessions start with.
    pub settings: SharedSettings,
    /// The memory limit of a statement.
    pub(crate) statement_memory: StatementLimit,
    /// The data directory, with steppe.conf.
    pub data_dir: DataDir,
    /// When steppe.conf was read, in microseconds since 2000-01-01 UTC.
    pub configured: AtomicI64,
    /// The counters of pg_stat_statements.
    pub(crate) statements: Statements,
    /// The counters of the engine's relations.
    pub(crate) relation_statistics: Arc<RelationStatistics>,
    /// Counts of the whole server.
    pub(crate) statistics: ServerStatistics,
    /// Spill files.
    pub temp: Arc<TempSpace>,
    /// Plans shared between sessions.
    pub plans: PlanCache,
    /// Plans of functions' statements, shared between sessions.
    pub(crate) function_plans: Arc<SharedPlans>,
    /// Sequences in use.
    pub sequences: Sequences,
    /// Snapshots that sessions have exported (pg_export_snapshot), by name.
    pub(crate) exported: Mutex<HashMap<String, ExportedSnapshot, foldhash::fast::RandomState>>,
    /// Connections to data nodes.
    pub(crate) cluster: Cluster,
    /// Connected sessions by process id.
    pub backends: Backends,
    /// The analyzer of tables.
    pub(crate) autovacuum: Autovacuum,
    /// The background threads by kind, with process ids that no session has.
    pub(crate) background: Vec<(Worker, i32)>,
    /// The runtime of timers. Its threads run no statements.
    pub timers: Handle,
    /// Secrets and random().
    pub random: Arc<dyn Random>,
    /// When it started, in microseconds since 2000-01-01 UTC.
    pub started: i64,
    /// Connections that have not become sessions yet.
    pub starting: AtomicUsize,
    /// Connections refused because too many others were in their start-up.
    pub(crate) turned_away: Mutex<TurnedAway>,
    pub(crate) phase: watch::Sender<Phase>,
}

/// A snapshot that other sessions may take while the exporting transaction runs.
#[derive(Clone)]
pub(crate) struct ExportedSnapshot {
    /// The exporting session.
    pub(crate) pid: u32,
    /// The snapshot's position.
    pub(crate) lsn: u64,
    /// The catalog at that snapshot.
    pub(crate) catalog: Arc<Catalog>,
}

impl Server {
    /// The server's phase.
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// The trees of the engine's relations, for counters by tree.
    pub(crate) fn files(&self) -> Files<'_> {
        Files { engine: &self.engine, statistics: &self.relation_statistics }
    }

    /// Reads steppe.conf again (SIGHUP, pg_reload_conf()). A wrong value is logged and not applied.
    /// A change that needs a restart is marked. Sessions notice the rest at their next message.
    pub fn reload(&self) -> bool {
        log::info("received SIGHUP, reloading configuration files");
        let entries = match self.data_dir.configuration() {
            Ok(entries) => entries,
            Err(error) => {
                log::write(
                    log::Level::Error,
                    &[("message", &"configuration file was not read"), ("error", &error)],
                );
                return false;
            }
        };
        let (settings, messages) = self.settings.current().reloaded(&entries);
        for message in &messages {
            log::info(message);
        }
        log::set_threshold(&settings.get("log_min_messages").setting());
        self.settings.replace(settings);
        io_timing::follow(&self.settings);
        self.statement_memory.follow(&self.settings.current());
        self.configured.store(now_micros(), Ordering::Relaxed);
        true
    }
}

/// Other threads reach a session that waits for its client through this.
#[derive(Default)]
pub struct SessionControl {
    waker: Mutex<Option<Waker>>,
    /// The session's activity.
    pub(crate) activity: Activity,
    /// The session's counts of statements.
    pub(crate) tally: Tally,
}

impl SessionControl {
    /// Stores the waker of the session while it waits.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut slot = self.waker.lock();
        if !slot.as_ref().is_some_and(|old| old.will_wake(waker)) {
            *slot = Some(waker.clone());
        }
    }

    /// Wakes the session.
    pub(crate) fn wake(&self) {
        if let Some(waker) = &*self.waker.lock() {
            waker.wake_by_ref();
        }
    }
}

/// The kind of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// A client.
    Client,
    /// An analyzer of tables.
    AutovacuumWorker,
}

/// A session as other sessions see and reach it.
pub struct Backend {
    /// Its kind.
    pub(crate) kind: BackendKind,
    /// The engine's side: interrupts.
    pub shared: Arc<SessionShared>,
    /// Wakes it from waiting for its client.
    pub control: Arc<SessionControl>,
    /// The secret that a cancel request must contain.
    pub cancel_key: Vec<u8>,
    /// Its role.
    pub user: Arc<str>,
    /// Its database.
    pub database: Arc<str>,
    /// The client's TCP port, or -1 on a Unix socket.
    pub client_port: i32,
    /// For a TCP connection: the addresses of the client and of the server that it has connected
    /// to.
    pub addresses: Option<[SocketAddr; 2]>,
    /// When it connected, in microseconds since 2000-01-01 UTC.
    pub started: i64,
}

/// The connected sessions.
#[derive(Default)]
pub struct Backends {
    map: Mutex<HashMap<i32, Backend, foldhash::fast::RandomState>>,
}

impl Backends {
    /// Adds a client's session, unless there are `max` already.
    pub fn add(&self, pid: i32, backend: Backend, max: usize) -> bool {
        let mut map = self.map.lock();
        // Sessions without a client do not count. They are left out only when the limit is near.
        let is_client = |backend: &&Backend| backend.kind == BackendKind::Client;
        if map.len() >= max && map.values().filter(is_client).count() >= max {
            return false;
        }
        map.insert(pid, backend);
        true
    }

    /// Adds a session without a client. max_connections does not limit it.
    pub(crate) fn add_worker(&self, pid: i32, backend: Backend) {
        self.map.lock().insert(pid, backend);
    }

    /// Removes a session.
    pub fn remove(&self, pid: i32) {
        self.map.lock().remove(&pid);
    }

    /// Calls `f` with a session, if it exists.
    pub(crate) fn with(&self, pid: i32, f: impl FnOnce(&Backend)) {
        if let Some(backend) = self.map.lock().get(&pid) {
            f(backend);
        }
    }

    /// Calls `f` with every session.
    pub(crate) fn for_each(&self, mut f: impl FnMut(i32, &Backend)) {
        let map = self.map.lock();
        let mut pids: Vec<i32> = map.keys().copied().collect();
        pids.sort_unstable();
        for pid in pids {
            f(pid, &map[&pid]);
        }
    }

    /// When a session connected.
    pub(crate) fn started(&self, pid: i32) -> Option<i64> {
        self.map.lock().get(&pid).map(|backend| backend.started)
    }

    /// The number of sessions.
    pub fn count(&self) -> usize {
        self.map.lock().len()
    }

    /// A cancel request. It has no effect unless the key is right.
    pub fn cancel(&self, pid: i32, key: &[u8]) {
        let map = self.map.lock();
        let Some(backend) = map.get(&pid) else { return };
        // It compares in constant time, as PostgreSQL's timingsafe_bcmp does.
        let differs = backend.cancel_key.iter().zip(key).fold(0, |acc, (a, b)| acc | (a ^ b));
        let is_right = backend.cancel_key.len() == key.len() && differs == 0;
        if is_right && backend.kind == BackendKind::Client {
            backend.shared.interrupt(Interrupt::Cancel);
            backend.control.wake();
        }
    }

    /// pg_cancel_backend, pg_terminate_backend. Returns false if there is no such session.
    pub fn signal(&self, pid: i32, interrupt: Interrupt) -> bool {
        let map = self.map.lock();
        let Some(backend) = map.get(&pid) else { return false };
        backend.shared.interrupt(interrupt);
        backend.control.wake();
        true
    }

    /// Ends all sessions.
    pub fn terminate_all(&self) {
        for backend in self.map.lock().values() {
            backend.shared.interrupt(Interrupt::Terminate);
            backend.control.wake();
        }
    }
}

/// Connections refused before their start-up. It limits the lines that clients cause in the log.
#[derive(Debug, Default)]
pub(crate) struct TurnedAway {
    told_at: Option<Instant>,
    /// The number of connections refused since then.
    untold: u64,
}

impl TurnedAway {
    /// Whether to log a refused connection: at most one a second. Returns the number of refused
    /// connections that were not logged before it.
    pub(crate) fn tell(&mut self, now: Instant) -> Option<u64> {
        let is_due = |told: Instant| now.duration_since(told) >= Duration::from_secs(1);
        if !self.told_at.is_none_or(is_due) {
            self.untold += 1;
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

/// Counts a connection that has not become a session.
pub(crate) struct Starting(Arc<Server>);

impl Starting {
    /// `None` if `max` are starting already.
    pub(crate) fn begin(server: &Arc<Server>, max: usize) -> Option<Starting> {
        let before = server.starting.fetch_add(1, Ordering::Relaxed);
        let starting = Starting(Arc::clone(server));
        (before < max).then_some(starting)
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.starting.fetch_sub(1, Ordering::Relaxed);
    }
}
