//! Advisory locks (src/backend/utils/adt/lockfuncs.c): the session takes them, this
//! says in which mode.

use super::args::{int, int4, void};
use super::{Entry, scalar};
use crate::env::{AdvisoryKey, AdvisoryMode, FnContext};
use steppe_types::{Datum, Result};

/// The key of a call: one bigint, or two integers.
fn key(args: &[Datum]) -> Result<AdvisoryKey> {
    Ok(match args.len() {
        1 => AdvisoryKey::Single(int(args, 0)?),
        _ => AdvisoryKey::Pair(int4(args, 0)?, int4(args, 1)?),
    })
}

/// Waits for the lock.
fn lock(args: &[Datum], cx: &FnContext, shared: bool, transaction: bool) -> Result<Datum> {
    let mode = AdvisoryMode { shared, transaction, try_only: false };
    cx.host().advisory_lock(key(args)?, mode)?;
    void()
}

fn try_lock(args: &[Datum], cx: &FnContext, shared: bool, transaction: bool) -> Result<Datum> {
    let mode = AdvisoryMode { shared, transaction, try_only: true };
    cx.host().advisory_lock(key(args)?, mode).map(Datum::Bool)
}

fn unlock(args: &[Datum], cx: &FnContext, shared: bool) -> Result<Datum> {
    cx.host().advisory_unlock(key(args)?, shared).map(Datum::Bool)
}

fn unlock_all(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    cx.host().advisory_unlock_all();
    void()
}

/// Advisory lock functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_advisory_lock_int8", scalar(|a, cx| lock(a, cx, false, false))),
    ("pg_advisory_lock_int4", scalar(|a, cx| lock(a, cx, false, false))),
    ("pg_advisory_lock_shared_int8", scalar(|a, cx| lock(a, cx, true, false))),
    ("pg_advisory_lock_shared_int4", scalar(|a, cx| lock(a, cx, true, false))),
    ("pg_advisory_xact_lock_int8", scalar(|a, cx| lock(a, cx, false, true))),
    ("pg_advisory_xact_lock_int4", scalar(|a, cx| lock(a, cx, false, true))),
    ("pg_advisory_xact_lock_shared_int8", scalar(|a, cx| lock(a, cx, true, true))),
    ("pg_advisory_xact_lock_shared_int4", scalar(|a, cx| lock(a, cx, true, true))),
    ("pg_try_advisory_lock_int8", scalar(|a, cx| try_lock(a, cx, false, false))),
    ("pg_try_advisory_lock_int4", scalar(|a, cx| try_lock(a, cx, false, false))),
    ("pg_try_advisory_lock_shared_int8", scalar(|a, cx| try_lock(a, cx, true, false))),
    ("pg_try_advisory_lock_shared_int4", scalar(|a, cx| try_lock(a, cx, true, false))),
    ("pg_try_advisory_xact_lock_int8", scalar(|a, cx| try_lock(a, cx, false, true))),
    ("pg_try_advisory_xact_lock_int4", scalar(|a, cx| try_lock(a, cx, false, true))),
    ("pg_try_advisory_xact_lock_shared_int8", scalar(|a, cx| try_lock(a, cx, true, true))),
    ("pg_try_advisory_xact_lock_shared_int4", scalar(|a, cx| try_lock(a, cx, true, true))),
    ("pg_advisory_unlock_int8", scalar(|a, cx| unlock(a, cx, false))),
    ("pg_advisory_unlock_int4", scalar(|a, cx| unlock(a, cx, false))),
    ("pg_advisory_unlock_shared_int8", scalar(|a, cx| unlock(a, cx, true))),
    ("pg_advisory_unlock_shared_int4", scalar(|a, cx| unlock(a, cx, true))),
    ("pg_advisory_unlock_all", scalar(unlock_all)),
];
