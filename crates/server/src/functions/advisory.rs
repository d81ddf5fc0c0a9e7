//! Advisory locks (src/backend/utils/adt/lockfuncs.c).

use steppe_exec::registry::Native;
use steppe_functions::{Host, arg};
use steppe_txn::AdvisoryKey;
use steppe_txn::AdvisoryScope::{self, Session, Transaction};
use steppe_txn::SharedMode::{self, Exclusive, Shared};
use steppe_types::error::Severity;
use steppe_types::{Datum, Error, Result, SqlState};

use super::void;
use crate::services::SharedSession;

/// The key of a call: one bigint, or two integers.
fn key(args: &[Datum]) -> Result<AdvisoryKey> {
    Ok(match args.len() {
        1 => AdvisoryKey::Big(arg(args, 0)?.as_int8()?),
        _ => AdvisoryKey::Pair(arg(args, 0)?.as_int4()?, arg(args, 1)?.as_int4()?),
    })
}

/// Waits for the lock.
fn lock(
    core: &SharedSession,
    args: &[Datum],
    mode: SharedMode,
    scope: AdvisoryScope,
) -> Result<Datum> {
    let key = key(args)?;
    while let Some(wait) = core.handle.lock_advisory(key, mode, scope)? {
        core.wait_in_place(wait)?;
        if matches!(scope, Transaction) {
            break;
        }
        // A repeated request counts a session-level lock once more.
    }
    Ok(void())
}

fn try_lock(
    core: &SharedSession,
    args: &[Datum],
    mode: SharedMode,
    scope: AdvisoryScope,
) -> Result<Datum> {
    core.handle.try_lock_advisory(key(args)?, mode, scope).map(Datum::Bool)
}

fn unlock(core: &SharedSession, args: &[Datum], mode: SharedMode) -> Result<Datum> {
    let released = core.handle.unlock_advisory(key(args)?, mode);
    if !released {
        let mode = match mode {
            Shared => "ShareLock",
            Exclusive => "ExclusiveLock",
        };
        let message = format!("you don't own a lock of type {mode}");
        core.notice(Error::new(SqlState::WARNING, message).severity(Severity::Warning));
    }
    Ok(Datum::Bool(released))
}

fn unlock_all(core: &SharedSession, _: &[Datum]) -> Result<Datum> {
    core.handle.unlock_all_advisory();
    Ok(void())
}

/// Advisory lock functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    ("pg_advisory_lock_int8", value!(|core, args| lock(core, args, Exclusive, Session))),
    ("pg_advisory_lock_int4", value!(|core, args| lock(core, args, Exclusive, Session))),
    ("pg_advisory_lock_shared_int8", value!(|core, args| lock(core, args, Shared, Session))),
    ("pg_advisory_lock_shared_int4", value!(|core, args| lock(core, args, Shared, Session))),
    ("pg_advisory_xact_lock_int8", value!(|core, args| lock(core, args, Exclusive, Transaction))),
    ("pg_advisory_xact_lock_int4", value!(|core, args| lock(core, args, Exclusive, Transaction))),
    (
        "pg_advisory_xact_lock_shared_int8",
        value!(|core, args| lock(core, args, Shared, Transaction)),
    ),
    (
        "pg_advisory_xact_lock_shared_int4",
        value!(|core, args| lock(core, args, Shared, Transaction)),
    ),
    ("pg_try_advisory_lock_int8", value!(|core, args| try_lock(core, args, Exclusive, Session))),
    ("pg_try_advisory_lock_int4", value!(|core, args| try_lock(core, args, Exclusive, Session))),
    (
        "pg_try_advisory_lock_shared_int8",
        value!(|core, args| try_lock(core, args, Shared, Session)),
    ),
    (
        "pg_try_advisory_lock_shared_int4",
        value!(|core, args| try_lock(core, args, Shared, Session)),
    ),
    (
        "pg_try_advisory_xact_lock_int8",
        value!(|core, args| try_lock(core, args, Exclusive, Transaction)),
    ),
    (
        "pg_try_advisory_xact_lock_int4",
        value!(|core, args| try_lock(core, args, Exclusive, Transaction)),
    ),
    (
        "pg_try_advisory_xact_lock_shared_int8",
        value!(|core, args| try_lock(core, args, Shared, Transaction)),
    ),
    (
        "pg_try_advisory_xact_lock_shared_int4",
        value!(|core, args| try_lock(core, args, Shared, Transaction)),
    ),
    ("pg_advisory_unlock_int8", value!(|core, args| unlock(core, args, Exclusive))),
    ("pg_advisory_unlock_int4", value!(|core, args| unlock(core, args, Exclusive))),
    ("pg_advisory_unlock_shared_int8", value!(|core, args| unlock(core, args, Shared))),
    ("pg_advisory_unlock_shared_int4", value!(|core, args| unlock(core, args, Shared))),
    ("pg_advisory_unlock_all", value!(unlock_all)),
];
