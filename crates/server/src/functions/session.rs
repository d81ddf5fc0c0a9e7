//! Functions about the session, its waits and the server: the server's times, its configuration,
//! prepared transactions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_exec::registry::Native;
use steppe_functions::{CallInfo, FnContext, arg, transaction_id, typed};
use steppe_types::datum::Array;
use steppe_types::{Datum, Result, oid};

use crate::services::SharedSession;
use crate::session::two_phase;

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    ("pg_postmaster_start_time", value!(|core, _| Ok(Datum::TimestampTz(core.server.started)))),
    ("pg_conf_load_time", value!(configured)),
    ("pg_reload_conf", value!(|core, _| Ok(Datum::Bool(core.server.reload())))),
    ("pg_blocking_pids", value!(|core, args| Ok(pids(&blocking(core, pid(args)?))))),
    (
        "pg_safe_snapshot_blocking_pids",
        value!(|core, args| Ok(pids(&blocking_safe_snapshot(core, pid(args)?)))),
    ),
    ("pg_isolation_test_session_is_blocked", value!(is_blocked)),
    ("pg_prepared_xact", rows!(|core, _| two_phase::shown(&core.server))),
    ("current_query", value!(|core, _| Ok(Datum::text(core.control.activity.query())))),
    ("pg_current_xact_id_if_assigned", Native::Builtin(typed(assigned_xid))),
    ("inet_client_addr", value!(|core, _| Ok(address(core, |[client, _]| ip(client))))),
    ("inet_server_addr", value!(|core, _| Ok(address(core, |[_, server]| ip(server))))),
    ("inet_client_port", value!(|core, _| Ok(address(core, |[client, _]| port(client))))),
    ("inet_server_port", value!(|core, _| Ok(address(core, |[_, server]| port(server))))),
];

fn configured(core: &SharedSession, _: &[Datum]) -> Result<Datum> {
    Ok(Datum::TimestampTz(core.server.configured.load(Ordering::Relaxed)))
}

fn assigned_xid(_: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    Ok(match SharedSession::of(cx, call)?.handle.shared().xid() {
        0 => Datum::Null,
        xid => transaction_id(xid, call.ret.oid),
    })
}

/// A part of the addresses of the session's connection; NULL on a Unix socket.
fn address(core: &SharedSession, show: impl Fn([SocketAddr; 2]) -> Datum) -> Datum {
    let mut addresses = None;
    let pid = i32::try_from(core.handle.pid()).unwrap_or(0);
    core.server.backends.with(pid, |backend| addresses = backend.addresses);
    addresses.map_or(Datum::Null, show)
}

fn ip(address: SocketAddr) -> Datum {
    Datum::text(address.ip().to_string())
}

fn port(address: SocketAddr) -> Datum {
    Datum::Int4(i32::from(address.port()))
}

fn pid(args: &[Datum]) -> Result<i32> {
    arg(args, 0)?.as_int4()
}

/// The sessions that hold or have requested, earlier, a lock that the session waits for.
fn blocking(core: &SharedSession, pid: i32) -> Vec<u32> {
    match u32::try_from(pid) {
        // A session that waits for a safe snapshot waits for no lock.
        Ok(pid) if blocking_safe_snapshot(core, pid as i32).is_empty() => {
            core.server.engine.locks().blocking(pid)
        }
        _ => Vec::new(),
    }
}

/// The sessions whose serializable transactions must end before the session has a safe snapshot.
fn blocking_safe_snapshot(core: &SharedSession, pid: i32) -> Vec<u32> {
    let pid = u32::try_from(pid).unwrap_or(0);
    core.server.engine.blocking_safe_snapshot(pid)
}

/// For PostgreSQL's isolation tester: whether a session waits for a lock of one of these sessions,
/// or for a safe snapshot.
fn is_blocked(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    let pid = pid(args)?;
    let among = &arg(args, 1)?.as_array()?.elements;
    let is_among = |blocker: &u32| {
        among.iter().any(|pid| matches!(pid, Datum::Int4(pid) if *pid as u32 == *blocker))
    };
    let by_lock = blocking(core, pid).iter().any(is_among);
    Ok(Datum::Bool(by_lock || !blocking_safe_snapshot(core, pid).is_empty()))
}

/// Makes an int4[].
fn pids(pids: &[u32]) -> Datum {
    let elements: Vec<Datum> =
        pids.iter().map(|pid| Datum::Int4(i32::try_from(*pid).unwrap_or(i32::MAX))).collect();
    let dimensions =
        if elements.is_empty() { Vec::new() } else { vec![(elements.len() as i32, 1)] };
    Datum::Array(Arc::new(Array { element_type: oid::INT4, dimensions, elements }))
}
