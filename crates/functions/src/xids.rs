//! Transactions by their numbers: pg_snapshot, txid_snapshot, ages
//! (src/backend/utils/adt/xid8funcs.c, xid.c, and src/backend/access/transam/commit_ts.c).

use super::session::transaction_id;
use super::{CallInfo, Entry, SetRows, arg, scalar, set, typed};
use crate::FnContext;
use steppe_types::pg_snapshot::PgSnapshot;
use steppe_types::{Datum, Error, Result, SqlState};

/// Functions by prosrc. Those of txid_snapshot are the same, with bigint for xid8.
pub(super) const TABLE: &[Entry] = &[
    (
        "pg_snapshot_xmin",
        typed(|a, call, _| Ok(transaction_id(snapshot(a, 0)?.xmin, call.ret.oid))),
    ),
    (
        "pg_snapshot_xmax",
        typed(|a, call, _| Ok(transaction_id(snapshot(a, 0)?.xmax, call.ret.oid))),
    ),
    ("pg_snapshot_xip", set(running)),
    ("pg_visible_in_snapshot", scalar(is_visible)),
    ("mxid_age", scalar(multixact_age)),
    ("pg_xact_commit_timestamp", scalar(|_, _| Err(no_commit_timestamps()))),
    ("pg_xact_commit_timestamp_origin", scalar(|_, _| Err(no_commit_timestamps()))),
    ("pg_last_committed_xact", scalar(|_, _| Err(no_commit_timestamps()))),
];

fn snapshot(args: &[Datum], i: usize) -> Result<PgSnapshot> {
    PgSnapshot::parse(arg(args, i)?.as_text()?)
}

fn running(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let running = snapshot(args, 0)?.running;
    let xids = running.into_iter().map(|xid| transaction_id(xid, call.ret.oid));
    Ok(super::series::values(xids.collect()))
}

fn is_visible(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let xid = match arg(args, 0)? {
        Datum::Int8(xid) => *xid as u64,
        xid => xid.as_xid8()?,
    };
    Ok(Datum::Bool(snapshot(args, 1)?.sees(xid)))
}

/// There are no multixacts, so the next one is the first.
fn multixact_age(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int4(match arg(args, 0)?.as_oid()? {
        0 => i32::MAX,
        multixact => 1i32.wrapping_sub(multixact as i32),
    }))
}

/// track_commit_timestamp is off, and nothing else is to be had.
fn no_commit_timestamps() -> Error {
    let message = "could not get commit timestamp data";
    let hint = "Make sure the configuration parameter \"track_commit_timestamp\" is set.";
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(hint)
}
