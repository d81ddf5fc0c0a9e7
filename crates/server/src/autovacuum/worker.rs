//! A worker of autovacuum: analyzes the queued tables, some in one transaction.
//!
//! It is registered among the sessions. So pg_stat_activity and pg_stat_progress_analyze show it,
//! pg_cancel_backend and pg_terminate_backend reach it, and the server's stop ends it. A cancel of
//! one table's ANALYZE ends the transaction at once. The tables that were analyzed before it are
//! kept.
//!
//! It reads tables at a low priority ([`low_priority`]), but commits at the normal one, since other
//! sessions may wait for a commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use steppe_catalog::{CatalogChanges, DATABASE_NAME, Relation, SUPERUSER_NAME};
use steppe_counting::accesses::automatically;
use steppe_ddl::{AutoAnalyzed, DdlContext, Origin, auto_analyze};
use steppe_functions::{Identity, SessionHost};
use steppe_storage::usage::Usage;
use steppe_txn::{IsolationLevel, SessionHandle, Txn};
use steppe_types::error::Severity;
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Oid, Result, SqlState};

use super::due::{number, option};
use super::{LATER_AFTER_ERROR, LATER_MIN, pace};
use crate::activity::Activity;
use crate::log;
use crate::low_priority;
use crate::namespace::{FunctionSettings, SessionNamespace};
use crate::server::{Backend, BackendKind, Phase, Server, SessionControl};
use crate::services::{SharedSession, now_micros};
use crate::session::panic_error;
use crate::settings::LiveSettings;
use crate::spi::io_of;

/// The most tables of one transaction, and the time after which it takes no more.
const BATCH_MAX: usize = 100;
const BATCH_TIME: Duration = Duration::from_millis(500);

/// Address space for the deepest expressions that have statistics.
const STACK_BYTES: usize = 16 << 20;

/// Starts a worker. The caller has counted it.
pub(super) fn start(server: &Arc<Server>) -> std::io::Result<()> {
    let server = Arc::clone(server);
    let thread = std::thread::Builder::new().name("steppe-autovacuum".into());
    thread
        .stack_size(STACK_BYTES)
        .spawn(move || {
            server.relation_statistics.enter();
            Worker::new(&server).run();
        })
        .map(drop)
}

/// A table whose ANALYZE has begun.
struct Tried {
    table: Arc<Relation>,
    became: Result<AutoAnalyzed>,
    took: Duration,
    usage: Usage,
}

struct Worker {
    core: Arc<SharedSession>,
    /// Tables that are neither analyzed nor returned to the queue.
    in_hand: Vec<Oid>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let server = &self.core.server;
        let mut work = server.autovacuum.work.lock();
        work.workers -= 1;
        self.in_hand.iter().for_each(|table| work.leave(*table, LATER_AFTER_ERROR));
        drop(work);
        server.backends.remove(self.core.identity.pid);
    }
}

impl Worker {
    fn new(server: &Arc<Server>) -> Worker {
        let handle = server.engine.new_session(server.catalog.database_id());
        handle.shared().give_way_to_all();
        let pid = i32::try_from(handle.pid()).unwrap_or(i32::MAX);
        let control = Arc::new(SessionControl::default());
        let (user, database) = (Arc::from(SUPERUSER_NAME), Arc::from(DATABASE_NAME));
        server.backends.add_worker(pid, backend(&handle, &control, &user, &database));
        let identity = Identity::new(pid, user, database);
        let temp = Arc::new(server.temp.for_session());
        let core = SharedSession::new(Arc::clone(server), handle, control, identity, temp);
        Worker { core: Arc::new(core), in_hand: Vec::new() }
    }

    fn activity(&self) -> &Activity {
        &self.core.control.activity
    }

    fn run(mut self) {
        self.activity().set_active();
        loop {
            let is_wanted =
                self.core.server.phase() == Phase::Running && super::is_active(&self.core.server);
            if !is_wanted {
                return;
            }
            self.in_hand = self.core.server.autovacuum.work.lock().take(BATCH_MAX);
            if self.in_hand.is_empty() || !self.run_batch() {
                return;
            }
        }
    }

    /// Analyzes its tables. Returns whether to continue.
    fn run_batch(&mut self) -> bool {
        self.core.handle.shared().clear_statement_interrupts();
        let mut interrupts = Some(Arc::clone(&self.core) as Arc<dyn Interrupts>);
        let mut tried = Vec::new();
        let done = catch_unwind(AssertUnwindSafe(|| {
            interrupt::during(&mut interrupts, || self.analyze_all(&mut tried))
        }))
        .unwrap_or_else(|panic| Err(panic_error(panic)));
        self.activity().set_xact_start(0);
        self.core.notices.lock().clear();
        self.settle(tried, done)
    }

    /// Analyzes tables in a transaction, and notes each table that it begins.
    fn analyze_all(&self, tried: &mut Vec<Tried>) -> Result<()> {
        let server = &self.core.server;
        self.take_settings();
        let mut txn = Txn::begin(&self.core.handle, IsolationLevel::ReadCommitted, false);
        self.activity().set_xact_start(now_micros());
        let mut pending = None;
        let session = Arc::clone(&self.core) as Arc<dyn SessionHost>;
        let frame = self.core.current_frame();
        let origin = Origin::new(&mut txn, &mut pending);
        let mut context = DdlContext::new(&server.catalog, &frame, &session, origin);
        let done = context.run(|context| {
            low_priority::run(|| self.analyze_some(context, tried));
            Ok(())
        });
        let changes = pending.filter(|changes: &CatalogChanges| !changes.is_empty());
        match (done, changes) {
            (Err(error), _) => txn.rollback().and(Err(error)),
            (Ok(()), None) => txn.rollback(),
            (Ok(()), Some(changes)) => {
                txn.commit_with(|| server.catalog.publish(&changes)).map(drop)
            }
        }
    }

    /// Analyzes tables for a while.
    fn analyze_some(&self, context: &mut DdlContext<'_>, tried: &mut Vec<Tried>) {
        let (begun, _pacing) = (Instant::now(), pace::Pacing);
        for oid in &self.in_hand {
            if begun.elapsed() >= BATCH_TIME || !self.analyze(context, *oid, tried) {
                break;
            }
        }
    }

    /// Analyzes one table. Returns whether to continue with the next.
    fn analyze(&self, context: &mut DdlContext<'_>, oid: Oid, tried: &mut Vec<Tried>) -> bool {
        let catalog = self.core.server.catalog.published();
        let Some(table) = catalog.relation(oid).cloned() else {
            self.core.server.autovacuum.work.lock().done(oid);
            return true;
        };
        let schema = catalog.schema(table.schema).map_or("", |schema| &schema.name);
        let query = format!("autovacuum: ANALYZE {schema}.{}", table.name);
        self.activity().set_query(&query, now_micros());
        let settings = self.core.server.settings.current();
        let of_table = |name| number(&table, name);
        let limit = of_table("autovacuum_vacuum_cost_limit").map(|limit| limit as i64);
        pace::set(&settings, of_table("autovacuum_vacuum_cost_delay"), limit);
        let (begun, before) = (Instant::now(), Usage::now());
        let became = automatically(|| auto_analyze(context, oid));
        let goes_on = became.is_ok();
        tried.push(Tried { table, became, took: begun.elapsed(), usage: Usage::now() - before });
        goes_on
    }

    /// Logs the results and notes them for the tables. Returns whether to continue.
    fn settle(&mut self, tried: Vec<Tried>, done: Result<()>) -> bool {
        let server = Arc::clone(&self.core.server);
        let untried = self.in_hand.split_off(tried.len().min(self.in_hand.len()));
        self.in_hand.clear();
        let mut ends = server.phase() != Phase::Running;
        for Tried { table, became, took, usage } in tried {
            // If the transaction has failed, the table's statistics are lost.
            match became.and_then(|became| done.clone().map(|()| became)) {
                Ok(AutoAnalyzed::Done) => {
                    self.log_done(&table, took, &usage);
                    server.autovacuum.work.lock().done(table.oid);
                }
                Ok(AutoAnalyzed::Gone) => server.autovacuum.work.lock().done(table.oid),
                Ok(AutoAnalyzed::Locked) => {
                    self.log_locked(&table);
                    server.autovacuum.work.lock().leave(table.oid, LATER_MIN);
                }
                Err(error) => {
                    ends |= error.fields().severity != Severity::Error;
                    let is_cancelled = error.sqlstate() == SqlState::QUERY_CANCELED;
                    let least = if is_cancelled { LATER_MIN } else { LATER_AFTER_ERROR };
                    if server.phase() == Phase::Running {
                        self.log_error(&table, &error);
                    }
                    server.autovacuum.work.lock().leave(table.oid, least);
                }
            }
        }
        let mut work = server.autovacuum.work.lock();
        untried.into_iter().rev().for_each(|table| work.put_back(table));
        if done.is_err() {
            // The next transaction may fail in the same way. (A table that has failed by itself is
            // left alone: the other tables do not wait for it.)
            work.leave_all(LATER_AFTER_ERROR);
        }
        !ends
    }

    /// Takes the current settings for ANALYZE.
    fn take_settings(&self) {
        let mut settings = self.core.settings.lock();
        settings.rebase(self.core.server.settings.current());
        let live = LiveSettings::derive(&settings);
        drop(settings);
        let before = self.core.namespace.get();
        let io = io_of(&live.io, &before.names, &self.core.identity.user);
        let search_path = Arc::clone(&before.settings.search_path);
        let settings = FunctionSettings { search_path, ..FunctionSettings::of(&live) };
        let namespace = SessionNamespace { io, settings, ..(*before).clone() };
        self.core.namespace.put(Arc::new(namespace));
    }

    fn full_name(&self, table: &Relation) -> String {
        let catalog = self.core.server.catalog.published();
        let schema = catalog.schema(table.schema).map_or("", |schema| &schema.name);
        format!("{DATABASE_NAME}.{schema}.{}", table.name)
    }

    /// log_autovacuum_min_duration, of the table or of the server.
    fn log_min_duration(&self, table: &Relation) -> Option<Duration> {
        let own = option(table, "log_autovacuum_min_duration").and_then(|_| {
            number(table, "log_autovacuum_min_duration").map(|milliseconds| milliseconds as i64)
        });
        let of_all = || self.core.server.settings.int("log_autovacuum_min_duration");
        u64::try_from(own.unwrap_or_else(of_all)).ok().map(Duration::from_millis)
    }

    fn log_done(&self, table: &Relation, took: Duration, usage: &Usage) {
        if self.log_min_duration(table).is_none_or(|least| took < least) {
            return;
        }
        let message = format!("automatic analyze of table \"{}\"", self.full_name(table));
        log::write(
            log::Level::Log,
            &[
                ("pid", &self.core.identity.pid),
                ("message", &message),
                ("ms", &took.as_millis()),
                ("hits", &usage.hit),
                ("reads", &usage.read),
                ("dirtied", &usage.dirtied),
                ("log_records", &usage.log_records),
                ("log_bytes", &usage.log_bytes),
            ],
        );
    }

    fn log_locked(&self, table: &Relation) {
        if self.log_min_duration(table).is_some() {
            let name = &table.name;
            log::info(format!("skipping analyze of \"{name}\" --- lock not available"));
        }
    }

    fn log_error(&self, table: &Relation, error: &Error) {
        let (level, message) = match error.sqlstate() {
            SqlState::QUERY_CANCELED => (log::Level::Error, "canceling autovacuum task"),
            SqlState::ADMIN_SHUTDOWN => {
                (log::Level::Fatal, "terminating autovacuum process due to administrator command")
            }
            _ => (log::Level::Error, error.message()),
        };
        let mut context = format!("automatic analyze of table \"{}\"", self.full_name(table));
        if let Some(own) = &error.fields().context {
            context = format!("{own}\n{context}");
        }
        let sqlstate = error.sqlstate();
        log::write(
            level,
            &[
                ("pid", &self.core.identity.pid),
                ("sqlstate", &sqlstate),
                ("message", &message),
                ("context", &context),
            ],
        );
    }
}

/// The worker as other sessions see it.
fn backend(
    handle: &SessionHandle,
    control: &Arc<SessionControl>,
    user: &Arc<str>,
    database: &Arc<str>,
) -> Backend {
    Backend {
        kind: BackendKind::AutovacuumWorker,
        shared: Arc::clone(handle.shared()),
        control: Arc::clone(control),
        cancel_key: Vec::new(),
        user: Arc::clone(user),
        database: Arc::clone(database),
        client_port: -1,
        addresses: None,
        started: now_micros(),
    }
}
