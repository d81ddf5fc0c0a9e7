//! Functions about transactions by their numbers: the current snapshot, and a transaction's status
//! and age. Also snapshots that sessions share (src/backend/utils/time/snapmgr.c).

use std::sync::atomic::Ordering;

use steppe_exec::registry::Native;
use steppe_functions::arg;
use steppe_txn::XidStatus;
use steppe_types::{Datum, Error, Result, SqlState};

use crate::server::ExportedSnapshot;
use crate::services::SharedSession;

/// The first xid after PostgreSQL's permanently committed ones (BootstrapTransactionId,
/// FrozenTransactionId).
const FIRST_NORMAL_XID: u64 = 3;

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    ("pg_current_snapshot", value!(|core, _| current_snapshot(core))),
    ("pg_xact_status", value!(|core, args| status(core, xid(args)?))),
    ("xid_age", value!(|core, args| Ok(age(core, arg(args, 0)?.as_oid()?)))),
    ("pg_export_snapshot", value!(|core, _| export(core))),
];

/// A transaction's number, from an xid8 or a bigint.
fn xid(args: &[Datum]) -> Result<u64> {
    match arg(args, 0)? {
        Datum::Int8(xid) => Ok(*xid as u64),
        xid => xid.as_xid8(),
    }
}

/// The position of the statement's snapshot.
fn position(core: &SharedSession) -> Result<u64> {
    let held = core.handle.shared().newest_held();
    held.ok_or_else(|| Error::internal("no active snapshot set"))
}

fn current_snapshot(core: &SharedSession) -> Result<Datum> {
    let own = core.handle.shared().xid();
    let snapshot = core.server.engine.xids_at(position(core)?, own);
    Ok(Datum::text(snapshot.shown()))
}

/// A transaction's status; NULL if it is no longer known.
fn status(core: &SharedSession, xid: u64) -> Result<Datum> {
    let engine = &core.server.engine;
    if xid >= engine.next_xid() {
        let message = format!("transaction ID {xid} is in the future");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let status = match xid {
        0 => None,
        1..FIRST_NORMAL_XID => Some(XidStatus::Committed),
        _ => engine.xid_status(xid),
    };
    Ok(status.map_or(Datum::Null, |status| {
        Datum::text(match status {
            XidStatus::Committed => "committed",
            XidStatus::Aborted => "aborted",
            XidStatus::InProgress => "in progress",
        })
    }))
}

/// The number of transactions begun since, up to one's own.
fn age(core: &SharedSession, xid: u32) -> Datum {
    if u64::from(xid) < FIRST_NORMAL_XID {
        return Datum::Int4(i32::MAX);
    }
    let now = match core.handle.shared().xid() {
        0 => core.server.engine.next_xid(),
        own => own,
    };
    Datum::Int4((now as u32).wrapping_sub(xid) as i32)
}

/// pg_export_snapshot. Other sessions may take the statement's snapshot while the transaction runs.
fn export(core: &SharedSession) -> Result<Datum> {
    if core.level.load(Ordering::Relaxed) > 1 {
        let message = "cannot export a snapshot from a subtransaction";
        return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
    }
    let pid = core.handle.pid();
    let snapshot = ExportedSnapshot { pid, lsn: position(core)?, catalog: core.names().catalog };
    let number = core.exported.fetch_add(1, Ordering::Relaxed) + 1;
    let ended = core.server.engine.locks().transactions_ended();
    let transaction = ended.get(&pid).map_or(0, |ended| *ended as u32);
    let name = format!("{pid:08X}-{transaction:08X}-{number}");
    core.server.exported.lock().insert(name.clone(), snapshot);
    Ok(Datum::text(name))
}
