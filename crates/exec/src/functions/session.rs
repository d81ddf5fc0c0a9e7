//! Functions that ask the session: time, sequences, settings, identity.

use super::{Builtin, Entry, arg};
use crate::env::FnContext;
use steppe_types::{Datum, Error, Result, SqlState};

/// Session functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("now", Builtin::Scalar(now)),
    ("statement_timestamp", Builtin::Scalar(statement_timestamp)),
    ("clock_timestamp", Builtin::Scalar(clock_timestamp)),
    ("nextval_oid", Builtin::Scalar(nextval)),
    ("currval_oid", Builtin::Scalar(currval)),
    ("lastval", Builtin::Scalar(lastval)),
    ("setval_oid", Builtin::Scalar(setval)),
    ("setval3_oid", Builtin::Scalar(setval)),
    ("drandom", Builtin::Scalar(random)),
    ("pg_backend_pid", Builtin::Scalar(backend_pid)),
    ("current_database", Builtin::Scalar(current_database)),
    ("current_user", Builtin::Scalar(current_user)),
    ("session_user", Builtin::Scalar(session_user)),
    ("current_schema", Builtin::Scalar(current_schema)),
    ("show_config_by_name", Builtin::Scalar(current_setting)),
    ("show_config_by_name_missing_ok", Builtin::Scalar(current_setting)),
    ("set_config_by_name", Builtin::Scalar(set_config)),
];

fn now(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::TimestampTz(cx.transaction_timestamp))
}

fn statement_timestamp(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::TimestampTz(cx.statement_timestamp))
}

fn clock_timestamp(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::TimestampTz(cx.services.clock_timestamp()))
}

fn nextval(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    cx.services.nextval(arg(args, 0)?.as_oid()?).map(Datum::Int8)
}

fn currval(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    cx.services.currval(arg(args, 0)?.as_oid()?).map(Datum::Int8)
}

fn lastval(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    cx.services.lastval().map(Datum::Int8)
}

fn setval(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let is_called = args.get(2).map_or(Ok(true), Datum::as_bool)?;
    let (sequence, value) = (arg(args, 0)?.as_oid()?, arg(args, 1)?.as_int8()?);
    cx.services.setval(sequence, value, is_called).map(Datum::Int8)
}

fn random(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Float8(cx.services.random()))
}

fn backend_pid(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int4(cx.services.backend_pid()))
}

fn current_database(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Text(cx.services.database()))
}

fn current_user(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Text(cx.services.current_user().0))
}

fn session_user(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Text(cx.services.session_user()))
}

fn current_schema(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let path = cx.services.search_path(false);
    Ok(path.into_iter().next().map_or(Datum::Null, Datum::Text))
}

fn current_setting(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let name = arg(args, 0)?.as_text()?;
    let missing_ok = args.get(1).map_or(Ok(false), Datum::as_bool)?;
    match cx.services.setting(name)? {
        Some(value) => Ok(Datum::text(value)),
        None if missing_ok => Ok(Datum::Null),
        None => Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("unrecognized configuration parameter \"{name}\""),
        )),
    }
}

fn set_config(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    if arg(args, 0)?.is_null() {
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
    }
    let local = match arg(args, 2)? {
        Datum::Null => false,
        value => value.as_bool()?,
    };
    let value = match arg(args, 1)? {
        Datum::Null => "",
        value => value.as_text()?,
    };
    cx.services.set_setting(arg(args, 0)?.as_text()?, value, local).map(Datum::text)
}
