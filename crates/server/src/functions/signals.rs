//! Sleeping, and signals to other sessions (src/backend/utils/adt/misc.c,
//! src/backend/storage/ipc/signalfuncs.c).

use std::time::{Duration, Instant};

use steppe_exec::registry::Native;
use steppe_functions::{CallInfo, FnContext, Host, arg, typed};
use steppe_txn::Interrupt;
use steppe_types::datetime::arith::timestamptz_plus_interval;
use steppe_types::error::Severity;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

use super::void;
use crate::activity::Wait;
use crate::services::{SharedSession, now_micros};

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    ("pg_sleep", value!(sleep_seconds)),
    ("pg_cancel_backend", value!(|core, args| signal(core, args, Interrupt::Cancel))),
    ("pg_terminate_backend", value!(|core, args| signal(core, args, Interrupt::Terminate))),
];

/// pg_sleep_for and pg_sleep_until, which PostgreSQL writes in SQL.
pub(super) const BY_OID: &[(Oid, Native)] =
    &[(3935, Native::Builtin(typed(sleep_for))), (3936, value!(sleep_until))];

fn sleep_seconds(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    // The cast saturates: a time beyond the clock's range is endless.
    sleep(core, (arg(args, 0)?.as_float8()? * 1e6) as i64)
}

fn sleep_for(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let (now, zone) = (now_micros(), &cx.io.datetime.time_zone);
    let until = timestamptz_plus_interval(now, arg(args, 0)?.as_interval()?, zone)?;
    sleep(SharedSession::of(cx, call)?, until.saturating_sub(now))
}

fn sleep_until(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    match arg(args, 0)? {
        Datum::TimestampTz(until) => sleep(core, until.saturating_sub(now_micros())),
        _ => Err(Error::internal("expected a timestamp")),
    }
}

/// Sleeps. Interrupts end it.
fn sleep(core: &SharedSession, micros: i64) -> Result<Datum> {
    let micros = u64::try_from(micros).unwrap_or(0);
    let until = Instant::now().checked_add(Duration::from_micros(micros));
    core.control.activity.set_wait(Some(Wait::Sleep));
    let slept = tokio::task::block_in_place(|| {
        loop {
            core.check_interrupts()?;
            let left = match until {
                Some(until) => until.saturating_duration_since(Instant::now()),
                None => Duration::MAX,
            };
            if left.is_zero() {
                return Ok(());
            }
            // It checks for interrupts this often.
            std::thread::sleep(left.min(Duration::from_millis(10)));
        }
    });
    core.control.activity.set_wait(None);
    slept.map(|()| void())
}

/// pg_cancel_backend and pg_terminate_backend. The latter checks its timeout, but does not wait.
fn signal(core: &SharedSession, args: &[Datum], interrupt: Interrupt) -> Result<Datum> {
    if let Some(timeout) = args.get(1)
        && timeout.as_int8()? < 0
    {
        return Err(Error::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "\"timeout\" must not be negative",
        ));
    }
    let pid = arg(args, 0)?.as_int4()?;
    let sent = core.server.backends.signal(pid, interrupt);
    if !sent {
        let message = format!("PID {pid} is not a PostgreSQL backend process");
        core.notice(Error::new(SqlState::WARNING, message).severity(Severity::Warning));
    }
    Ok(Datum::Bool(sent))
}
