//! Starts the server, runs its background tasks, and stops it.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use socket2::SockRef;
use steppe_catalog::{CatalogStore, Sequences};
use steppe_counting::RelationStatistics;
use steppe_ddl::drop_temporary_schemas;
use steppe_spill::TempSpace;
use steppe_storage::usage::{Worker, working_as};
use steppe_txn::{DatabaseId, Engine, EngineOptions, LockOptions};
use steppe_vfs::{Random, RealRandom, RealVfs, SlowSyncVfs, Vfs};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::autovacuum::{self, Autovacuum};
use crate::cluster::Cluster;
use crate::data_dir::DataDir;
use crate::function_counts::FunctionStatistics;
use crate::memory::StatementLimit;
use crate::plan_cache::PlanCache;
use crate::server::{Backends, Phase, Server};
use crate::services::now_micros;
use crate::settings::{ServerSettings, SharedSettings, Source};
use crate::statements::Statements;
use crate::stream::Accepted;
use crate::system_views::ServerStatistics;
use crate::workers::Workers;
use crate::{functions, io_timing, log, process_user, saved_statistics, startup};

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data directory.
    pub data_dir: PathBuf,
    /// The TCP address.
    pub listen: SocketAddr,
    /// The directory of its Unix socket.
    pub socket_dir: Option<PathBuf>,
    /// The operating system's user to become first; `None` keeps the user that started the server.
    pub user: Option<String>,
    /// Settings that override steppe.conf.
    pub settings: Vec<(String, String)>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            data_dir: PathBuf::from("./data"),
            listen: SocketAddr::from(([127, 0, 0, 1], 5433)),
            socket_dir: None,
            user: None,
            settings: Vec::new(),
        }
    }
}

/// This many bytes of freed pages cause an early checkpoint, which returns them to the file system
/// …
const SPACE_WORTH_A_CHECKPOINT: u64 = 32 << 20;
/// … but at least this long after the last checkpoint.
const SPACE_INTERVAL: Duration = Duration::from_secs(20);

/// How long sessions may take to end when the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(30);

/// A server that runs.
pub struct Running {
    server: Arc<Server>,
    workers: Arc<Workers>,
    /// Accepts connections, runs timers and checkpoints; runs no statements.
    background: Runtime,
    address: SocketAddr,
    socket: Option<PathBuf>,
    phase: watch::Receiver<Phase>,
}

impl Running {
    /// Opens the data directory, recovers, and listens. The error is for the operator.
    pub fn start(config: &Config) -> Result<Running, String> {
        process_user::check_data_dir(&config.data_dir)?;
        Running::start_on(Arc::new(RealVfs::new()), config)
    }

    fn start_on(vfs: Arc<dyn Vfs>, config: &Config) -> Result<Running, String> {
        functions::register();
        steppe_plpgsql::run::register();
        let data_dir = DataDir::open(vfs, &config.data_dir)?;
        let settings = read_settings(config, &data_dir)?;
        log::set_threshold(&settings.get("log_min_messages").setting());
        if process_user::is_root() {
            let hint = "run it as a user of its own: steppe serve --user NAME";
            log::write(
                log::Level::Warning,
                &[
                    ("message", &"the server runs as root: COPY reads and writes no files"),
                    ("hint", &hint),
                ],
            );
        }
        let (phase, _) = watch::channel(Phase::Running);
        let failed = phase.clone();
        let on_fatal = Arc::new(move |message: &str| {
            log::write(log::Level::Panic, &[("message", &message)]);
            failed.send_replace(Phase::Failed);
        });
        let counted = Arc::new(RelationStatistics::new(DatabaseId::POSTGRES));
        let options = database_options(&settings, &counted, on_fatal);
        let device = device(&settings, &data_dir);
        let open = || Engine::open(device, &data_dir.base(), options);
        let engine = working_as(Worker::Startup, open).map_err(|error| not_opened(&error))?;
        let files = (settings, data_dir);
        let opened = (Arc::clone(&engine), counted);
        let started = Running::start_over(opened, config, files, phase);
        if started.is_err() {
            // As after a clean stop: otherwise the next start would empty unlogged tables. The
            // error to return is that of the start.
            let _ = engine.close();
        }
        started
    }

    /// Starts a server over an open database.
    fn start_over(
        (engine, relation_statistics): (Arc<Engine>, Arc<RelationStatistics>),
        config: &Config,
        (settings, data_dir): (ServerSettings, DataDir),
        phase: watch::Sender<Phase>,
    ) -> Result<Running, String> {
        let catalog = CatalogStore::open(&engine, DatabaseId::POSTGRES)
            .map_err(|error| format!("could not read the catalog: {error}"))?;
        data_dir.mark_initialised()?;
        drop_temporary_schemas(&catalog, &engine.new_session(catalog.database_id()), |_| true)
            .map_err(|error| format!("could not drop temporary objects: {error}"))?;
        let background = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("steppe-background")
            .enable_all()
            .build()
            .map_err(|error| format!("could not start threads: {error}"))?;
        let random = RealRandom::new().map_err(|error| format!("no randomness: {error}"))?;
        // A background thread's number is never a session's.
        let pid = || {
            let session = engine.new_session(DatabaseId::SHARED);
            i32::try_from(session.pid()).unwrap_or(i32::MAX)
        };
        let background_kinds = [Worker::BackgroundWriter, Worker::Checkpointer, Worker::WalWriter];
        let background_pids = background_kinds.map(|kind| (kind, pid())).to_vec();
        let launcher_pid = pid();
        let temp = TempSpace::new(Arc::clone(data_dir.vfs()), data_dir.temporary());
        let max_connections = usize::try_from(settings.int("max_connections")).unwrap_or(1);
        let statements_max = usize::try_from(settings.int("pg_stat_statements.max"));
        let statistics = ServerStatistics::new(&engine);
        let receiver = phase.subscribe();
        let server = Arc::new(Server {
            engine,
            catalog: Arc::new(catalog),
            function_statistics: FunctionStatistics::default(),
            statement_memory: StatementLimit::of(&settings),
            settings: SharedSettings::new(settings),
            data_dir,
            configured: AtomicI64::new(now_micros()),
            statements: Statements::new(statements_max.unwrap_or(usize::MAX)),
            relation_statistics,
            statistics,
            temp: Arc::new(temp),
            plans: PlanCache::new(),
            function_plans: Arc::default(),
            sequences: Sequences::new(DatabaseId::POSTGRES),
            exported: parking_lot::Mutex::default(),
            cluster: Cluster::default(),
            backends: Backends::default(),
            autovacuum: Autovacuum::new(launcher_pid),
            background: background_pids,
            timers: background.handle().clone(),
            random: Arc::new(random) as Arc<dyn Random>,
            started: now_micros(),
            starting: AtomicUsize::new(0),
            turned_away: parking_lot::Mutex::default(),
            phase,
        });
        saved_statistics::restore(&server);
        io_timing::follow(&server.settings);
        let workers = Workers::start(max_connections, &server.relation_statistics)
            .map_err(|error| format!("could not start threads: {error}"))?;
        let mut running = Running {
            server,
            workers: Arc::new(workers),
            background,
            address: config.listen,
            socket: None,
            phase: receiver,
        };
        running.listen(config)?;
        running.spawn_checkpointer();
        running.spawn_log_writer();
        running.server.cluster.follow(&running.server);
        autovacuum::launch(&running.server, running.background.handle(), running.phase.clone());
        Ok(running)
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The shared state, for tests and tools.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Waits until `stop` completes or storage fails.
    pub async fn until(&self, stop: impl Future<Output = ()>) {
        let mut phase = self.phase.clone();
        tokio::select! {
            () = stop => {}
            _ = phase.wait_for(|phase| *phase != Phase::Running) => {}
        }
    }

    /// Runs a future on the background runtime, e.g. one that waits for a signal.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.background.block_on(future)
    }

    /// Runs a future until the server has stopped.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.background.spawn(future);
    }

    fn listen(&mut self, config: &Config) -> Result<(), String> {
        let failed = |what: String| move |error: std::io::Error| format!("{what}: {error}");
        let listener = TcpListener::bind(config.listen)
            .map_err(failed(format!("could not listen on {}", config.listen)))?;
        self.lengthen_queue(SockRef::from(&listener))?;
        let nonblocking = listener.set_nonblocking(true).and_then(|()| listener.local_addr());
        self.address = nonblocking.map_err(failed("could not listen".to_owned()))?;
        let (server, workers) = (Arc::clone(&self.server), Arc::clone(&self.workers));
        self.background.spawn(async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            accept(&server, &workers, Listener::Tcp(listener)).await;
        });
        self.show_addresses(config);
        let Some(dir) = &config.socket_dir else { return Ok(()) };
        let path = dir.join(format!(".s.PGSQL.{}", self.address.port()));
        // The data directory's lock ensures that no server of this directory listens there. So a
        // socket that accepts belongs to another program.
        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
            return Err(format!("another server listens on {}", path.display()));
        }
        let _was_not_there = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)
            .map_err(failed(format!("could not listen on {}", path.display())))?;
        self.lengthen_queue(SockRef::from(&listener))?;
        listener.set_nonblocking(true).map_err(failed("could not listen".to_owned()))?;
        self.socket = Some(path);
        let (server, workers) = (Arc::clone(&self.server), Arc::clone(&self.workers));
        self.background.spawn(async move {
            let Ok(listener) = tokio::net::UnixListener::from_std(listener) else { return };
            accept(&server, &workers, Listener::Unix(listener)).await;
        });
        Ok(())
    }

    /// Sets how many connections may wait to be accepted. The kernel ignores further ones: such a
    /// client would believe that it is connected, or try again a second later. (The standard
    /// library sets 128, and PostgreSQL twice max_connections.)
    fn lengthen_queue(&self, listener: SockRef<'_>) -> Result<(), String> {
        let connections = i32::try_from(self.server.settings.int("max_connections")).unwrap_or(0);
        let queue = connections.saturating_mul(2).max(startup::STARTING_MAX as i32);
        listener.listen(queue).map_err(|error| format!("could not listen: {error}"))
    }

    /// Sets the settings that show where clients connect. They override the configuration file.
    fn show_addresses(&self, config: &Config) {
        let mut settings = (*self.server.settings.current()).clone();
        let socket_dir = config.socket_dir.as_ref().map(|dir| dir.to_string_lossy());
        let shown = [
            ("listen_addresses", self.address.ip().to_string()),
            ("port", self.address.port().to_string()),
            ("unix_socket_directories", socket_dir.unwrap_or_default().into_owned()),
        ];
        for (name, value) in shown {
            set_own(&mut settings, name, &value, Source::CommandLine);
        }
        self.server.settings.replace(settings);
    }

    /// Starts a checkpoint every checkpoint_timeout, when max_wal_size has been written, and when
    /// much of the data file can be returned to the file system.
    fn spawn_checkpointer(&self) {
        let server = Arc::clone(&self.server);
        let mut phase = self.phase.clone();
        self.background.spawn(async move {
            let mut last = Instant::now();
            loop {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(200)) => {}
                    _ = phase.wait_for(|phase| *phase != Phase::Running) => return,
                }
                let seconds = u64::try_from(server.settings.int("checkpoint_timeout"));
                let interval = Duration::from_secs(seconds.unwrap_or(300));
                let megabytes = u64::try_from(server.settings.int("max_wal_size")).unwrap_or(1024);
                // Half of it: the log before a checkpoint is removed when the next one ends.
                let bytes_max = (megabytes << 20) / 2;
                let store = server.engine.store();
                let written = store.wal_bytes_since_checkpoint();
                let has_much_space = last.elapsed() >= SPACE_INTERVAL
                    && store.bytes_to_give_back() >= SPACE_WORTH_A_CHECKPOINT;
                let is_due = last.elapsed() >= interval || written >= bytes_max || has_much_space;
                if written == 0 || !is_due {
                    continue;
                }
                last = Instant::now();
                let statistics = &server.statistics;
                let reason = match written < bytes_max {
                    true => &statistics.checkpoints_timed,
                    false => &statistics.checkpoints_requested,
                };
                reason.fetch_add(1, Ordering::Relaxed);
                let engine = Arc::clone(&server.engine);
                let done = tokio::task::spawn_blocking(move || engine.checkpoint()).await;
                let catalog = server.catalog.published();
                let exists = |relation| catalog.relation(relation).is_some();
                server.relation_statistics.forget_all_but(&catalog);
                // If this fails, the next checkpoint removes the counters of dropped trees.
                let _ = server.files().forget_all_but(exists);
                match done {
                    Ok(Ok(stats)) if server.settings.is_on("log_checkpoints") => {
                        let ms = last.elapsed().as_millis();
                        log::write(
                            log::Level::Log,
                            &[
                                ("message", &"checkpoint complete"),
                                ("pages", &stats.pages_written),
                                ("log_bytes", &written),
                                ("ms", &ms),
                            ],
                        );
                    }
                    // The next round tries again. A failed write has stopped the store.
                    Ok(Err(error)) => log::write(
                        log::Level::Error,
                        &[("message", &"checkpoint failed"), ("error", &error)],
                    ),
                    _ => {}
                }
            }
        });
    }

    /// Commits that their clients do not wait for (synchronous_commit = off) reach the disk within
    /// wal_writer_delay.
    fn spawn_log_writer(&self) {
        let server = Arc::clone(&self.server);
        let mut phase = self.phase.clone();
        self.background.spawn(async move {
            loop {
                let ms = u64::try_from(server.settings.int("wal_writer_delay")).unwrap_or(200);
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                    _ = phase.wait_for(|phase| *phase != Phase::Running) => return,
                }
                let wal = server.engine.wal();
                if wal.durable_lsn() < wal.insert_position() {
                    wal.request_flush();
                }
            }
        });
    }

    /// Stops: ends the sessions, takes a checkpoint. The error is for the operator.
    pub fn stop(self) -> Result<(), String> {
        let failed = self.server.phase() == Phase::Failed;
        if !failed {
            self.server.phase.send_replace(Phase::Stopping);
        }
        self.server.backends.terminate_all();
        let begin = Instant::now();
        let patience = if failed { Duration::from_secs(1) } else { STOP_PATIENCE };
        while self.server.backends.count() > 0 && begin.elapsed() < patience {
            // A session may have started while the phase changed.
            self.server.backends.terminate_all();
            std::thread::sleep(Duration::from_millis(5));
        }
        self.server.cluster.end();
        if let Some(socket) = &self.socket {
            let _already_gone = std::fs::remove_file(socket);
        }
        let closed = if failed || self.server.phase() == Phase::Failed {
            Err("storage failed; the next start recovers".to_owned())
        } else {
            let closed = self.server.engine.close();
            closed
                .map(|()| saved_statistics::save(&self.server))
                .map_err(|error| format!("could not close the database: {error}"))
        };
        // Last, because a second signal is awaited here.
        self.background.shutdown_timeout(Duration::from_secs(1));
        if let Ok(workers) = Arc::try_unwrap(self.workers) {
            workers.stop();
        }
        closed
    }
}

enum Listener {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

impl Listener {
    async fn accept(&self) -> std::io::Result<Accepted> {
        match self {
            Listener::Tcp(listener) => {
                let (socket, peer) = listener.accept().await?;
                Ok(Accepted::Tcp(socket.into_std()?, peer))
            }
            Listener::Unix(listener) => {
                let (socket, _) = listener.accept().await?;
                Ok(Accepted::Unix(socket.into_std()?))
            }
        }
    }
}

/// Accepts connections until the server stops.
async fn accept(server: &Arc<Server>, workers: &Workers, listener: Listener) {
    let mut phase = server.phase.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = phase.wait_for(|phase| *phase != Phase::Running) => return,
        };
        match accepted {
            Ok(accepted) => {
                let server = Arc::clone(server);
                workers.deal(accepted.incoming_cpu(), |home| async move {
                    match accepted.open() {
                        Ok(stream) => startup::serve(server, stream, home).await,
                        Err(_) => None,
                    }
                });
            }
            Err(error) => {
                // The process is out of file descriptors. Connections that end free some.
                log::write(
                    log::Level::Warning,
                    &[("message", &"accept failed"), ("error", &error)],
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// The error of a failed open, with PostgreSQL's detail and hint.
fn not_opened(error: &steppe_types::Error) -> String {
    let mut text = format!("could not open the database: {error}");
    let fields = error.fields();
    for (name, more) in [("DETAIL", &fields.detail), ("HINT", &fields.hint)] {
        if let Some(more) = more {
            text.push_str(&format!("\n{name}:  {more}"));
        }
    }
    text
}

fn read_settings(config: &Config, data_dir: &DataDir) -> Result<ServerSettings, String> {
    let mut settings = ServerSettings::default();
    for entry in data_dir.configuration()? {
        let set = settings.set(&entry.name, &entry.value, Source::File(entry.line));
        set.map_err(|error| format!("steppe.conf, line {}: {}", entry.line, error.message()))?;
    }
    for (name, value) in &config.settings {
        let set = settings.set(name, value, Source::CommandLine);
        set.map_err(|error| error.message().to_owned())?;
    }
    let configuration = data_dir.configuration_path();
    for (name, path) in [("data_directory", data_dir.path()), ("config_file", &configuration)] {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        set_own(&mut settings, name, &path.to_string_lossy(), Source::Override);
    }
    Ok(settings)
}

/// The file system of the database, slowed down if debug_sync_delay is set.
fn device(settings: &ServerSettings, data_dir: &DataDir) -> Arc<dyn Vfs> {
    let vfs = Arc::clone(data_dir.vfs());
    match u64::try_from(settings.int("debug_sync_delay")) {
        Ok(0) | Err(_) => vfs,
        Ok(millis) => Arc::new(SlowSyncVfs::new(vfs, Duration::from_millis(millis))),
    }
}

/// Locks for each unit of max_locks_per_transaction. Explicitly locked rows are in the lock table,
/// too. 64 units are four million locks.
const LOCKS_A_UNIT: usize = 65_536;

/// Sets a value that the server itself decides. An unknown name is not shown.
fn set_own(settings: &mut ServerSettings, name: &str, value: &str, source: Source) {
    let _is_known = settings.set(name, value, source);
}

fn database_options(
    settings: &ServerSettings,
    counted: &Arc<RelationStatistics>,
    on_fatal: steppe_storage::FatalCallback,
) -> EngineOptions {
    let positive = |name| usize::try_from(settings.int(name)).unwrap_or(0);
    let defaults = EngineOptions::default();
    let max_locks = positive("max_locks_per_transaction").saturating_mul(LOCKS_A_UNIT);
    let pool_pages = positive("shared_buffers").max(64);
    // wal_buffers = -1 is a share of shared_buffers in PostgreSQL. Here it is the engine's default.
    let wal_buffers_bytes = match settings.int("wal_buffers") {
        ..=0 => defaults.wal_buffers_bytes,
        pages => (pages as usize).saturating_mul(8192).next_power_of_two().max(1 << 20),
    };
    let counted = Arc::clone(counted);
    EngineOptions {
        pool_pages,
        wal_buffers_bytes,
        max_prepared_transactions: positive("max_prepared_transactions"),
        serializable_kept: positive("max_connections").saturating_mul(10),
        locks: LockOptions { max_locks },
        undo_buffers_bytes: (positive("undo_buffers") as u64).saturating_mul(1 << 20),
        on_fatal: Some(on_fatal),
        on_taken_back: Some(Arc::new(move |what| counted.taken_back(what))),
        on_progress: Some(Arc::new(|message: &str| log::info(message))),
        ..defaults
    }
}
