//! pg_lsn: its operators, and functions about the log that need no server
//! (src/backend/utils/adt/pg_lsn.c, src/backend/access/transam/xlogfuncs.c).

use super::args::{numeric, text};
use super::{Entry, arg, scalar};
use crate::FnContext;
use steppe_types::numeric::Numeric;
use steppe_types::pg_lsn::{difference, from_numeric, minus, plus};
use steppe_types::{Datum, Error, Result, SqlState};

/// Functions of pg_lsn by prosrc; its comparisons are in `compare`.
pub(super) const TABLE: &[Entry] = &[
    ("pg_lsn_mi", scalar(distance)),
    ("pg_wal_lsn_diff", scalar(distance)),
    ("pg_lsn_pli", scalar(|a, _| plus(lsn(a, 0)?, numeric(a, 1)?).map(Datum::PgLsn))),
    ("pg_lsn_mii", scalar(|a, _| minus(lsn(a, 0)?, numeric(a, 1)?).map(Datum::PgLsn))),
    ("numeric_pg_lsn", scalar(|a, _| from_numeric(numeric(a, 0)?).map(Datum::PgLsn))),
    ("pg_split_walfile_name", scalar(split_walfile_name)),
    ("pg_last_wal_receive_lsn", scalar(|_, _| Ok(Datum::Null))),
    ("pg_last_wal_replay_lsn", scalar(|_, _| Ok(Datum::Null))),
    ("pg_last_xact_replay_timestamp", scalar(|_, _| Ok(Datum::Null))),
    ("pg_is_wal_replay_paused", scalar(|_, _| Err(no_recovery()))),
    ("pg_get_wal_replay_pause_state", scalar(|_, _| Err(no_recovery()))),
    ("pg_wal_replay_pause", scalar(|_, _| Err(no_recovery()))),
    ("pg_wal_replay_resume", scalar(|_, _| Err(no_recovery()))),
    ("pg_promote", scalar(|_, _| Err(no_recovery()))),
];

/// There are no standbys.
fn no_recovery() -> Error {
    let hint = "Recovery control functions can only be executed during recovery.";
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "recovery is not in progress").hint(hint)
}

fn lsn(args: &[Datum], i: usize) -> Result<u64> {
    arg(args, i)?.as_pg_lsn()
}

fn distance(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Numeric(difference(lsn(args, 0)?, lsn(args, 1)?)))
}

/// `numeric + pg_lsn`
pub(super) fn plus_after(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    plus(lsn(args, 1)?, numeric(args, 0)?).map(Datum::PgLsn)
}

/// Bytes of a segment; PostgreSQL's file names have the segment's number.
const SEGMENT_BYTES: u64 = 16 << 20;

/// segment_number, timeline_id
fn split_walfile_name(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let name = text(args, 0)?;
    let upper = name.to_ascii_uppercase();
    let is_name = upper.len() == 24 && upper.bytes().all(|b| b.is_ascii_hexdigit());
    let part = |i: usize| u64::from_str_radix(&upper[8 * i..8 * i + 8], 16).unwrap_or(0);
    if !is_name {
        let message = format!("invalid WAL file name \"{name}\"");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let segment = part(1) * ((1 << 32) / SEGMENT_BYTES) + part(2);
    let timeline = Datum::Int8(part(0) as i64);
    Ok(Datum::Record([Datum::Numeric(Numeric::from(segment)), timeline].into()))
}
