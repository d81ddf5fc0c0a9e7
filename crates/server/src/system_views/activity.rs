//! pg_stat_activity: the sessions and what they do, and the server's background threads. Also
//! pg_stat_progress_copy.

use std::sync::Arc;

use hashbrown::HashMap;
use steppe_catalog::system::RowsBuilder;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_storage::usage::{Worker, is_at_work};
use steppe_txn::LockTag;
use steppe_types::{Datum, Result};

use crate::activity::{State, Wait};
use crate::autovacuum;
use crate::server::{Backend, BackendKind};
use crate::services::SharedSession;

/// A time; 0 is NULL.
fn moment(micros: i64) -> Datum {
    if micros == 0 { Datum::Null } else { Datum::TimestampTz(micros) }
}

fn query_id(id: i64) -> Datum {
    if id == 0 { Datum::Null } else { Datum::Int8(id) }
}

fn word(text: Option<&'static str>) -> Datum {
    text.map_or(Datum::Null, Datum::text)
}

/// The client's address; NULL on a Unix socket.
fn address(backend: &Backend) -> Datum {
    backend.addresses.map_or(Datum::Null, |[client, _]| Datum::text(client.ip().to_string()))
}

/// wait_event_type and wait_event.
fn wait_event(
    core: &SharedSession,
    pid: i32,
    backend: &Backend,
) -> (Option<&'static str>, Option<&'static str>) {
    let waits_for_safety = |pid| !core.server.engine.blocking_safe_snapshot(pid).is_empty();
    let locked = u32::try_from(pid).ok().and_then(|pid| core.server.engine.locks().waited_for(pid));
    if let Some((tag, is_next)) = locked {
        return (
            Some("Lock"),
            Some(match tag {
                LockTag::Relation { .. } | LockTag::Leaves { .. } | LockTag::Name { .. } => {
                    "relation"
                }
                LockTag::Object { .. } => "object",
                // As in PostgreSQL, the next session waits for the row's owner, the others for the
                // row.
                LockTag::Row(..) if is_next => "transactionid",
                LockTag::Row(..) => "tuple",
                LockTag::Transaction(_) => "transactionid",
                LockTag::Session(_) if waits_for_safety(pid as u32) => {
                    return (Some("IPC"), Some("SafeSnapshot"));
                }
                LockTag::Session(_) => "virtualxid",
                LockTag::Advisory { .. } => "advisory",
            }),
        );
    }
    match backend.control.activity.wait() {
        None => (None, None),
        Some(Wait::ClientRead) => (Some("Client"), Some("ClientRead")),
        Some(Wait::ClientWrite) => (Some("Client"), Some("ClientWrite")),
        Some(Wait::LogFlush) => (Some("IO"), Some("WalSync")),
        Some(Wait::Sleep) => (Some("Timeout"), Some("PgSleep")),
        Some(Wait::RemoteConnection) => (Some("IPC"), Some("RemoteConnection")),
        Some(Wait::RemoteAnswer) => (Some("IPC"), Some("RemoteAnswer")),
    }
}

/// The rows of pg_stat_activity.
pub(super) fn rows(core: &SharedSession) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new("pg_stat_activity")?;
    let mut sessions = Vec::new();
    core.server.backends.for_each(|pid, backend| sessions.push((pid, Arc::clone(&backend.shared))));
    let xmins = core.server.engine.xmins(sessions.iter().map(|(_, shared)| &**shared));
    let xmins: HashMap<i32, Option<u64>> =
        sessions.iter().map(|(pid, _)| *pid).zip(xmins).collect();
    // The lower half, as in PostgreSQL's xid.
    let xid = |xid: Option<u64>| xid.map_or(Datum::Null, |xid| Datum::Oid(xid as u32));
    let xmin = |pid: i32| xid(xmins.get(&pid).copied().flatten());
    core.server.backends.for_each(|pid, backend| {
        let activity = &backend.control.activity;
        let state = match activity.state() {
            State::Starting => None,
            State::Active => Some("active"),
            State::Idle => Some("idle"),
            State::IdleInTransaction => Some("idle in transaction"),
            State::IdleInFailedTransaction => Some("idle in transaction (aborted)"),
        };
        let (wait_type, wait_event) = wait_event(core, pid, backend);
        let is_client = backend.kind == BackendKind::Client;
        let of_client = |value: Datum| if is_client { value } else { Datum::Null };
        let kind = if is_client { "client backend" } else { "autovacuum worker" };
        builder.row([
            ("datid", Datum::Oid(POSTGRES_DATABASE)),
            ("datname", Datum::Text(backend.database.clone())),
            ("pid", Datum::Int4(pid)),
            ("usesysid", of_client(Datum::Oid(steppe_catalog::BOOTSTRAP_SUPERUSER))),
            ("usename", of_client(Datum::Text(backend.user.clone()))),
            ("application_name", Datum::text(activity.application_name())),
            ("client_addr", address(backend)),
            ("backend_xmin", xmin(pid)),
            ("client_port", of_client(Datum::Int4(backend.client_port))),
            ("backend_start", Datum::TimestampTz(backend.started)),
            ("xact_start", moment(activity.xact_start())),
            ("query_start", moment(activity.query_start())),
            ("state_change", moment(activity.state_change())),
            ("wait_event_type", word(wait_type)),
            ("wait_event", word(wait_event)),
            ("state", word(state)),
            ("backend_xid", xid(Some(backend.shared.xid()).filter(|xid| *xid != 0))),
            ("query_id", query_id(activity.query_id())),
            ("query", Datum::text(activity.query())),
            ("backend_type", Datum::text(kind)),
        ]);
    });
    if autovacuum::is_active(&core.server) {
        builder.row([
            ("pid", Datum::Int4(core.server.autovacuum.pid)),
            ("backend_start", Datum::TimestampTz(core.server.started)),
            ("wait_event_type", Datum::text("Activity")),
            ("wait_event", Datum::text("AutovacuumMain")),
            ("query", Datum::text("")),
            ("backend_type", Datum::text("autovacuum launcher")),
        ]);
    }
    for (worker, pid) in &core.server.background {
        let (kind, idle) = match worker {
            Worker::BackgroundWriter => ("background writer", "BgwriterMain"),
            Worker::Checkpointer => ("checkpointer", "CheckpointerMain"),
            Worker::WalWriter => ("walwriter", "WalWriterMain"),
            Worker::ClientBackend | Worker::Startup => continue,
        };
        let is_idle = !is_at_work(*worker);
        builder.row([
            ("pid", Datum::Int4(*pid)),
            ("backend_start", Datum::TimestampTz(core.server.started)),
            ("wait_event_type", word(is_idle.then_some("Activity"))),
            ("wait_event", word(is_idle.then_some(idle))),
            ("query", Datum::text("")),
            ("backend_type", Datum::text(kind)),
        ]);
    }
    builder.finish()
}

/// The rows of pg_stat_ssl and pg_stat_gssapi. Their `column` shows that no connection is
/// encrypted.
pub(super) fn encryption(
    core: &SharedSession,
    view: &str,
    column: &'static str,
) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new(view)?;
    core.server.backends.for_each(|pid, backend| {
        if backend.kind != BackendKind::Client {
            return;
        }
        let row = [("pid", Datum::Int4(pid)), (column, Datum::Bool(false))];
        if view == "pg_stat_gssapi" {
            let others = ["gss_authenticated", "credentials_delegated"];
            builder.row(row.into_iter().chain(others.map(|name| (name, Datum::Bool(false)))));
        } else {
            builder.row(row);
        }
    });
    builder.finish()
}
