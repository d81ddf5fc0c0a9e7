//! A session: one client's connection, from the greeting to its end.
//!
//! ```text
//!   read ─► every whole message ─► one write ─► read …
//!            │ Query          simple.rs     ┐
//!            │ Parse, Bind …  extended.rs   ├─► run.rs     plans
//!            │ CopyData …     copy_in.rs    │   utility.rs everything else
//!            └ Sync, …                      ┘   transaction  transactions
//! ```
//!
//! A statement runs to its end on the thread that read it, and appends its answer to the send
//! buffer. The session waits only outside of that: for a lock that a point statement needs, for
//! room in the socket, and for the log. Before it sends an answer, the log must be durable up to
//! the changes that the answer shows (early lock release, docs/design.md 5.4).
//!
//! Errors are PostgreSQL's. An error of severity ERROR aborts the transaction, and the session
//! continues (after the next Sync in the extended protocol). An error of severity FATAL ends the
//! session. A panic is an ERROR with SQLSTATE XX000.

mod by_value;
mod call;
mod client;
mod constants;
mod constraints;
mod copy_file;
mod copy_function;
mod copy_in;
mod copy_options;
mod copy_out;
mod copy_rows;
mod counting;
mod create_as;
mod cursor;
mod cursor_statements;
mod execute_direct;
mod explain;
mod explained_run;
mod extended;
mod function_cursor;
mod lock;
mod locked;
mod node_check;
mod on_node;
mod plan;
mod portal;
mod portals;
mod prepared_statements;
mod remote;
mod rows;
mod run;
pub(crate) mod set;
mod simple;
mod sink;
mod state;
mod statement_log;
mod tag;
mod timers;
mod transaction;
mod truncate;
pub(crate) mod two_phase;
mod utility;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use bytes::{Buf, BytesMut};
use parking_lot::MutexGuard;
use steppe_ddl::drop_temporary_schemas;
use steppe_exec::ExecEnv;
use steppe_functions::SessionHost;
use steppe_txn::{Lsn, SessionHandle};
use steppe_types::error::Severity;
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::io::IoContext;
use steppe_types::{Error, Result, SqlState};
use steppe_wire::frame::{self, Frame};
use steppe_wire::frontend::{self, FrontendMessage};
use steppe_wire::{Phase, backend};

use crate::activity::{SessionCounts, Wait};
use crate::affinity::{Migration, Seat, SessionAffinity};
use crate::io_timing::IoTiming;
use crate::log;
use crate::memory;
use crate::namespace::SessionNamespace;
use crate::nested::NestedKinds;
use crate::server::{Server, SessionControl};
use crate::services::{SharedSession, micros_of, now_nanos};
use crate::settings::{LiveSettings, SessionSettings};
use crate::stream::{Accepted, Stream};
use crate::system_views::SessionEnd;
use crate::workers;
pub(crate) use copy_function::ServerFiles;
pub(crate) use portals::NamedPortals;
pub(crate) use prepared_statements::NamedStatements;
pub(crate) use remote::Replayed;
pub(crate) use set::flatten;
pub(crate) use steppe_functions::Identity;
pub(crate) use two_phase::{end_prepared_now, prepared_note};
pub(crate) use utility::{load, name_of};

use client::{Client, HELD_BACK_BYTES, KEEP_BYTES, SEND_AT_BYTES};
use portals::Portals;
use prepared_statements::Statements;
use remote::RemoteConnections;
use state::{Counters, PlanningState, SettingsView, StatementState, Wire};
use transaction::TransactionState;

/// One client's session.
pub(crate) struct Session {
    core: Arc<SharedSession>,
    control: Arc<SessionControl>,
    settings: SettingsView,
    /// The catalog and search path that were put in force last.
    namespace: Arc<SessionNamespace>,
    /// Its version; 0 if a change outside the catalog requires a new one.
    namespace_version: u64,
    /// The hash of the settings and search path that a cached plan must have been made under.
    fingerprint: u64,
    transaction: TransactionState,
    /// The transaction's connections to data nodes.
    remote: RemoteConnections,
    statement: StatementState,
    statements: Statements,
    portals: Portals,
    planning: PlanningState,
    counters: Counters,
    wire: Wire,
}

impl Session {
    /// A session for an accepted client.
    pub(crate) fn new(
        server: Arc<Server>,
        handle: SessionHandle,
        control: Arc<SessionControl>,
        identity: Identity,
    ) -> Session {
        let temp = Arc::new(server.temp.for_session());
        let server_generation = server.settings.generation();
        let (of_core, of_files) = (Arc::clone(&control), Arc::clone(&temp));
        let core = Arc::new(SharedSession::new(server, handle, of_core, identity, of_files));
        let live = LiveSettings::derive(&core.settings.lock());
        temp.set_limit(live.temp_file_limit);
        let namespace = core.namespace.get();
        let env = ExecEnv {
            session: Arc::clone(&core) as Arc<dyn SessionHost>,
            io: Arc::clone(&live.io),
            catalog: Arc::clone(&namespace.names.catalog),
            statement_timestamp: 0,
            transaction_timestamp: 0,
            work_mem_bytes: live.work_mem_bytes,
            temp,
        };
        Session {
            portals: Portals::of(core.portals.clone()),
            statements: Statements::of(core.statements.clone()),
            core,
            control,
            settings: SettingsView {
                io_timing: IoTiming::new(live.io_timing),
                // The settings of the start-up packet come later.
                live: LiveSettings { generation: 0, ..live },
                server_generation,
            },
            namespace,
            namespace_version: 0,
            fingerprint: 0,
            transaction: TransactionState::default(),
            remote: RemoteConnections::default(),
            statement: StatementState::new(env),
            planning: PlanningState::new(),
            counters: Counters::default(),
            wire: Wire::new(),
        }
    }

    /// The settings.
    pub(crate) fn settings(&self) -> MutexGuard<'_, SessionSettings> {
        self.core.settings.lock()
    }

    /// The kinds of its I/O that are timed.
    pub(crate) fn io_timing(&self) -> IoTiming {
        self.settings.io_timing.clone()
    }

    /// The process id.
    pub(crate) fn pid(&self) -> i32 {
        self.core.identity.pid
    }

    /// The send buffer.
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.wire.out
    }

    fn server(&self) -> &Arc<Server> {
        &self.core.server
    }

    /// Serves the client until it disconnects, is terminated or moves to another worker.
    ///
    /// The session is boxed, because a value passed to a future takes room in each future that it
    /// passes through.
    pub(crate) async fn run(
        mut self: Box<Session>,
        stream: Stream,
        input: BytesMut,
        home: SessionAffinity,
    ) -> Option<Migration> {
        if self.logs_connections() {
            self.log_connection("connection authorized");
        }
        self.refresh_settings();
        self.go_on(stream, input, home).await
    }

    async fn go_on(
        mut self: Box<Session>,
        stream: Stream,
        mut input: BytesMut,
        mut home: SessionAffinity,
    ) -> Option<Migration> {
        self.wire.client = Some(Client::new(stream, &self.control));
        let ended = match self.serve_watched(&mut input, &mut home).await {
            Ok(None) => Ok(()),
            Ok(Some(to)) => match self.wire.client.take().map(Client::leave) {
                Some(Ok(socket)) => {
                    return Some(Migration { to, session: self.continued(socket, input, home) });
                }
                // As if the client had disconnected.
                Some(Err(_)) | None => Ok(()),
            },
            Err(error) => Err(error),
        };
        self.finish(ended).await;
        None
    }

    /// The rest of the session, on another worker.
    fn continued(
        self: Box<Session>,
        socket: Accepted,
        input: BytesMut,
        home: SessionAffinity,
    ) -> Pin<Box<dyn Future<Output = Option<Migration>> + Send>> {
        let timing = self.io_timing();
        Box::pin(timing.during(async move {
            match socket.open() {
                Ok(stream) => self.go_on(stream, input, home).await,
                Err(_) => {
                    self.finish(Ok(())).await;
                    None
                }
            }
        }))
    }

    async fn finish(mut self: Box<Session>, ended: Result<()>) {
        self.statement.timers.stop();
        self.close_transaction();
        self.drop_temporary();
        if let Err(error) = ended {
            self.say_goodbye(error).await;
        }
        if self.settings.live.log_disconnections {
            self.log_connection("disconnection");
        }
    }

    /// Whether log_connections names the only stage that there is, authorization.
    fn logs_connections(&self) -> bool {
        let setting = self.server().settings.get("log_connections").setting();
        let mut stages = setting.split(',').map(|stage| stage.trim().to_ascii_lowercase());
        stages.any(|stage| matches!(&*stage, "on" | "all" | "true" | "yes" | "1" | "authorization"))
    }

    fn log_connection(&self, message: &str) {
        let identity = &self.core.identity;
        let application = self.settings().show("application_name").unwrap_or_default();
        log::write(
            log::Level::Log,
            &[
                ("message", &message),
                ("pid", &identity.pid),
                ("user", &identity.user),
                ("database", &identity.database),
                ("application", &application),
            ],
        );
    }

    /// Drops the session's temporary objects. If that fails, the next start drops them.
    fn drop_temporary(&mut self) {
        let name = &self.core.identity.temporary_schema;
        let (server, handle) = (&self.core.server, &self.core.handle);
        handle.shared().clear_statement_interrupts();
        let dropped = tokio::task::block_in_place(|| {
            drop_temporary_schemas(&server.catalog, handle, |schema| schema.name == *name)
        });
        if let Err(error) = dropped {
            log::session_error(handle.pid(), &error, "dropping temporary objects");
        }
    }

    /// As [`Self::serve`]. Computations for the session check its interrupts and its memory.
    async fn serve_watched(
        &mut self,
        input: &mut BytesMut,
        home: &mut SessionAffinity,
    ) -> Result<Option<Seat>> {
        let mut interrupts = Some(Arc::clone(&self.core) as Arc<dyn Interrupts>);
        let mut memory = memory::Count::default();
        let mut serving = pin!(self.serve(input, home));
        poll_fn(|cx| {
            memory.during(|| interrupt::during(&mut interrupts, || serving.as_mut().poll(cx)))
        })
        .await
    }

    /// Serves messages. Returns None when the client has disconnected, or the place to move to. An
    /// error ends the session.
    async fn serve(
        &mut self,
        input: &mut BytesMut,
        home: &mut SessionAffinity,
    ) -> Result<Option<Seat>> {
        loop {
            let mut used = 0;
            while let Some(frame) = frame::peek(&input[used..], Phase::Ready)? {
                used += frame.wire_len();
                self.wire.sync_follows = input.get(used) == Some(&b'S');
                if !self.message(frame).await? {
                    return Ok(None);
                }
            }
            input.advance(used);
            if input.is_empty() && input.capacity() > KEEP_BYTES {
                *input = BytesMut::new();
            }
            if self.wire.is_due
                || self.wire.out.len() >= HELD_BACK_BYTES
                || self.wire.out.is_empty()
            {
                self.wire.is_due = false;
                self.answer().await?;
                let now = self.counters.answer_sent_at.take().unwrap_or_else(now_nanos);
                self.control.activity.set_idle(self.transaction.status(), micros_of(now));
            }
            if home.is_to_look()
                && let Some(place) = self.elsewhere(input, home)
            {
                self.write().await?;
                return Ok(Some(place));
            }
            if !self.receive(input).await? {
                self.wire.end = SessionEnd::Abandoned;
                return Ok(None);
            }
        }
    }

    /// The place that the session must move to, if it is idle.
    fn elsewhere(&self, input: &BytesMut, home: &mut SessionAffinity) -> Option<Seat> {
        let is_idle = input.is_empty()
            && self.wire.out.is_empty()
            && self.wire.copy.is_none()
            && !self.transaction.in_block();
        self.wire
            .client
            .as_ref()
            .filter(|_| is_idle)
            .and_then(|client| home.elsewhere(&client.stream))
    }

    /// An answer waits until the log is durable up to the changes that it shows (docs/design.md
    /// 5.4). With synchronous_commit = off, the session's commits and reads do not wait. The tags
    /// of changes in a block do not wait for the changes that they have read: COMMIT will
    /// (docs/decisions/2026-11-21-what-an-answer-waits-for.md).
    async fn wait_durable(&mut self) -> Result<()> {
        if !self.settings.live.synchronous_commit {
            return Ok(());
        }
        let flush_to = self.core.flush_to.load(Ordering::Acquire);
        let mut lsn = self.core.handle.observed_lsn().max(Lsn(flush_to));
        if self.transaction.in_block() && tag::only_tags_of_changes(&self.wire.out) {
            lsn = Lsn(flush_to);
        }
        self.wait_flushed(lsn).await
    }

    /// Waits until the log is durable up to a position.
    async fn wait_flushed(&mut self, lsn: Lsn) -> Result<()> {
        let wal = self.core.server.engine.wal();
        if wal.is_durable(lsn) {
            return Ok(());
        }
        self.counters.answer_sent_at = None;
        self.control.activity.set_wait(Some(Wait::LogFlush));
        workers::yield_to_others(|| wal.is_durable(lsn)).await;
        let flushed = match wal.try_flush(lsn, workers::longest_sync()) {
            Ok(true) => Ok(()),
            Ok(false) => wal.flush_async(lsn).await,
            Err(error) => Err(error),
        };
        self.control.activity.set_wait(None);
        flushed.map_err(|error| {
            // The outcome is unknown to the client, as after a crash.
            let error: Error = steppe_storage::StorageError::from(error).into();
            error.severity(Severity::Panic)
        })
    }

    /// Handles one message. Returns false if the client has ended the session. An error ends it,
    /// too.
    async fn message(&mut self, frame: Frame<'_>) -> Result<bool> {
        if self.wire.skips_to_sync && !matches!(frame.tag, b'S' | b'X') {
            return Ok(true);
        }
        self.control.activity.set_active();
        workers::note_work(self.core.identity.pid);
        self.core.memory.restart();
        let handled = {
            let mut handling = pin!(self.handle_message(frame));
            poll_fn(|cx| {
                catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(cx)))
                    .unwrap_or_else(|panic| Poll::Ready(Err(panic_error(panic))))
            })
            .await
        };
        match handled {
            Ok(goes_on) => Ok(goes_on),
            Err(error) => self.failed(frame.tag, error).map(|()| true),
        }
    }

    async fn handle_message(&mut self, frame: Frame<'_>) -> Result<bool> {
        let message = frontend::decode(frame)?;
        if self.wire.copy.is_some() {
            self.copy_message(message).await?;
            return Ok(true);
        }
        match message {
            FrontendMessage::Query(text) => self.simple_query(text).await?,
            FrontendMessage::Parse(parse) => Box::pin(self.parse(&parse)).await?,
            FrontendMessage::Bind(bind) => self.bind(&bind).await?,
            FrontendMessage::Describe(target) => self.describe(target).await?,
            FrontendMessage::Execute { portal, max_rows } => {
                self.execute_portal(portal, max_rows).await?;
            }
            FrontendMessage::Close(target) => self.close(target),
            FrontendMessage::Flush => self.send().await?,
            FrontendMessage::Sync => self.sync().await?,
            FrontendMessage::Terminate => return Ok(false),
            // The rest of a failed COPY.
            FrontendMessage::CopyData(_)
            | FrontendMessage::CopyDone
            | FrontendMessage::CopyFail(_) => {}
            FrontendMessage::FunctionCall(_) => {
                return Err(Error::not_supported("the function call protocol"));
            }
            FrontendMessage::AuthResponse(_) => {
                return Err(Error::new(
                    SqlState::PROTOCOL_VIOLATION,
                    "invalid frontend message type 112",
                )
                .severity(Severity::Fatal));
            }
        }
        Ok(true)
    }

    /// After an error in a message of this type: sends the error, aborts the transaction, and sets
    /// the protocol's next state.
    fn failed(&mut self, tag: u8, error: Error) -> Result<()> {
        if error.fields().severity != Severity::Error {
            return Err(error);
        }
        if error.sqlstate() == SqlState::DEADLOCK_DETECTED {
            SessionCounts::add(&self.control.activity.counts.deadlocks, 1);
        }
        log::session_error(self.core.handle.pid(), &error, &self.control.activity.query());
        self.counters.statement_clock = None;
        self.wire.held_rows = None;
        self.counters.counting.forget_running();
        self.statement.has_begun = false;
        self.statement.timers.stop();
        self.put_notices();
        backend::error_response(&mut self.wire.out, &error);
        self.wire.is_due = true;
        let copied_in_simple = self.wire.copy.take().map(|copy| copy.is_simple());
        self.abort_after_error()?;
        let simple = match (tag, copied_in_simple) {
            (_, Some(simple)) => simple,
            (b'Q' | b'F' | b'S', None) => true,
            _ => false,
        };
        if simple {
            self.ready();
        } else {
            self.wire.skips_to_sync = true;
        }
        Ok(())
    }

    /// Appends ReadyForQuery, and before it the notices and changed settings.
    fn ready(&mut self) {
        self.log_end();
        self.statement.has_begun = false;
        self.statement.timers.stop();
        self.put_notices();
        self.put_parameter_status();
        backend::ready_for_query(&mut self.wire.out, self.transaction.status());
        self.wire.is_due = true;
    }

    /// Shows the running statement in pg_stat_activity.
    fn set_running(&mut self, text: &str) {
        self.control.activity.set_query(text, self.statement.env.statement_timestamp);
    }

    fn put_notices(&mut self) {
        let notices = std::mem::take(&mut *self.core.notices.lock());
        for notice in notices {
            if self.settings.live.shows(notice.fields().severity) {
                backend::error_response(&mut self.wire.out, &notice);
                self.wire.is_due = true;
            }
        }
    }

    fn put_parameter_status(&mut self) {
        let mut settings = self.core.settings.lock();
        if !settings.has_unreported() {
            return;
        }
        for (name, value) in settings.take_unreported() {
            backend::parameter_status(&mut self.wire.out, name, &value);
        }
    }

    /// Sends notices about the names in a text that are truncated.
    fn note_truncations(&mut self, text: &str) {
        let notices = steppe_sql::parser::truncation_notices(text);
        if !notices.is_empty() {
            self.core.notices.lock().extend(notices);
            self.put_notices();
        }
    }

    /// Queues a notice or warning for the client.
    fn notice(&self, severity: Severity, sqlstate: SqlState, message: impl Into<String>) {
        let notice = Error::new(sqlstate, message).severity(severity);
        self.core.notices.lock().push(notice);
    }

    fn warn(&self, sqlstate: SqlState, message: impl Into<String>) {
        self.notice(Severity::Warning, sqlstate, message);
    }

    /// Begins every message that runs something. Bind, Describe and Execute in one batch are one
    /// statement: it begins, and the clock is read, with the first.
    fn begin_message(&mut self) {
        if std::mem::replace(&mut self.statement.has_begun, true) {
            return;
        }
        let shared = self.core.handle.shared();
        if shared.has_interrupt() {
            shared.clear_statement_interrupts();
        }
        self.statement.range = None;
        let now = self.read_clock();
        self.counters.begun_at = Some(now);
        self.statement.env.statement_timestamp = micros_of(now);
        if self.server().settings.generation() != self.settings.server_generation {
            self.follow_server_settings();
        }
        self.refresh_settings();
        self.start_timers();
    }

    /// Follows a reload of steppe.conf.
    #[cold]
    fn follow_server_settings(&mut self) {
        let server = Arc::clone(self.server());
        self.settings.server_generation = server.settings.generation();
        self.core.settings.lock().rebase(server.settings.current());
    }

    /// Derives typed settings again, if the settings have changed.
    fn refresh_settings(&mut self) {
        let settings = self.core.settings.lock();
        if settings.generation() == self.settings.live.generation {
            return;
        }
        self.settings.live = LiveSettings::derive(&settings);
        drop(settings);
        let shared = self.core.handle.shared();
        shared.set_deadlock_timeout(self.settings.live.deadlock_timeout);
        shared.set_lock_timeout(self.settings.live.lock_timeout);
        self.statement.env.work_mem_bytes = self.settings.live.work_mem_bytes;
        self.statement.env.temp.set_limit(self.settings.live.temp_file_limit);
        self.settings.io_timing.set(self.settings.live.io_timing);
        self.core.function_counts.track(self.settings.live.tracked_functions);
        let live = &self.settings.live;
        self.core.nested.count(NestedKinds::of(live), &live.auto_explain);
        self.control.activity.set_application_name(&self.settings.live.application_name);
        // The session resolves names again, and makes a new I/O context with them.
        self.namespace_version = 0;
    }

    fn io(&self) -> &IoContext {
        &self.statement.env.io
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The transaction rolls back here. Its locks are held until then.
        self.close_transaction();
        self.read_clock();
        self.control.tally.hand_over();
        let since = self.core.server.backends.started(self.core.identity.pid);
        let lasted = since.map_or(0, |since| micros_of(now_nanos()) - since);
        self.server().statistics.session_ended(&self.control.activity, lasted, self.wire.end);
        self.core.server.backends.remove(self.core.identity.pid);
    }
}

/// XX000 for a caught panic.
pub(crate) fn panic_error(panic: Box<dyn std::any::Any + Send>) -> Error {
    let panic = match interrupt::error_of(panic) {
        Ok(error) => return error,
        Err(panic) => panic,
    };
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown".to_owned());
    Error::internal(format!("internal error: {text}"))
}
