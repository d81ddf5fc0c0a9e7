//! Functions that ask the session: time, sequences, settings, identity.

use super::args::{boolean, int4, text, text_datum, void};
use super::{Builtin, CallInfo, Entry, SetRows, arg, scalar, set, typed};
use crate::FnContext;
use steppe_catalog::AvailableExtension;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_types::datum::one_dimensional;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

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
    ("pg_backend_pid", Builtin::Scalar(backend_pid)),
    ("current_database", Builtin::Scalar(current_database)),
    ("current_user", Builtin::Scalar(current_user)),
    ("session_user", Builtin::Scalar(session_user)),
    ("current_schema", Builtin::Scalar(current_schema)),
    ("show_config_by_name", Builtin::Scalar(current_setting)),
    ("show_config_by_name_missing_ok", Builtin::Scalar(current_setting)),
    ("current_schemas", scalar(current_schemas)),
    ("pgsql_version", scalar(version)),
    ("pg_client_encoding", scalar(client_encoding)),
    ("getdatabaseencoding", scalar(|_, _| text_datum("UTF8"))),
    ("PG_encoding_to_char", scalar(encoding_name)),
    ("PG_char_to_encoding", scalar(encoding_number)),
    ("pg_encoding_max_length_sql", scalar(encoding_width)),
    ("pg_get_userbyid", scalar(role_name)),
    ("pg_is_in_recovery", scalar(|_, _| Ok(Datum::Bool(false)))),
    ("pg_jit_available", scalar(|_, _| Ok(Datum::Bool(false)))),
    ("pg_trigger_depth", scalar(|_, cx| Ok(Datum::Int4(cx.host().trigger_depth())))),
    ("pg_listening_channels", set(|_, _, _| Ok(super::series::values(Vec::new())))),
    ("pg_current_xact_id", Builtin::TransactionId),
    ("pg_stat_clear_snapshot", scalar(|_, _| void())),
    ("pg_stat_force_next_flush", scalar(|_, _| void())),
    ("pg_available_extensions", set(available_extensions)),
    ("pg_available_extension_versions", set(available_versions)),
    ("pg_notify", typed(|_, call, _| Err(call.not_in_this_context()))),
    ("system_user", scalar(|_, _| Ok(Datum::Null))),
    ("pg_tablespace_databases", set(tablespace_databases)),
];

/// `pg_available_extensions()`: name, default version, comment.
fn available_extensions(_: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let row = |extension: &AvailableExtension| {
        [extension.name, extension.version, extension.comment].map(Datum::text).to_vec()
    };
    Ok(super::series::rows(AvailableExtension::all().map(row).collect()))
}

/// `pg_available_extension_versions()`: name, version, superuser, trusted, relocatable, schema,
/// requires, comment.
fn available_versions(_: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let row = |extension: &AvailableExtension| {
        let [superuser, trusted, relocatable] = [true, false, false].map(Datum::Bool);
        let [name, version, comment] =
            [extension.name, extension.version, extension.comment].map(Datum::text);
        vec![name, version, superuser, trusted, relocatable, Datum::Null, Datum::Null, comment]
    };
    Ok(super::series::rows(AvailableExtension::all().map(row).collect()))
}

/// PostgreSQL's DEFAULTTABLESPACE_OID.
const DEFAULT_TABLESPACE: Oid = 1663;

/// The only database is in the default tablespace.
fn tablespace_databases(
    args: &[Datum],
    _: &CallInfo,
    _: &mut FnContext,
) -> Result<Box<dyn SetRows>> {
    let is_there = arg(args, 0)?.as_oid()? == DEFAULT_TABLESPACE;
    let databases = is_there.then_some(Datum::Oid(POSTGRES_DATABASE));
    Ok(super::series::values(databases.into_iter().collect()))
}

/// A transaction's id as `pg_current_xact_id` (xid8) and `txid_current` (bigint) have it.
pub fn transaction_id(xid: u64, type_oid: Oid) -> Datum {
    if type_oid == oid::INT8 { Datum::Int8(xid as i64) } else { Datum::Xid8(xid) }
}

/// `version()`, in the form that drivers parse.
fn version(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    // `server_version` has Steppe's own version, too.
    let server = cx.host().setting("server_version")?.unwrap_or_else(|| "18.4".to_string());
    text_datum(format!(
        "PostgreSQL {server} on {}-{}, compiled by rustc, {}-bit",
        std::env::consts::ARCH,
        std::env::consts::OS,
        usize::BITS
    ))
}

fn current_schemas(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let path = cx.host().search_path(boolean(args, 0)?);
    Ok(one_dimensional(oid::NAME, path.into_iter().map(Datum::Text).collect()))
}

fn client_encoding(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    text_datum(cx.host().setting("client_encoding")?.unwrap_or_else(|| "UTF8".to_string()))
}

/// PG_UTF8, the one encoding there is; SQL_ASCII is 0.
const UTF8: i32 = 6;

fn encoding_name(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    text_datum(match int4(args, 0)? {
        0 => "SQL_ASCII",
        UTF8 => "UTF8",
        _ => "",
    })
}

fn encoding_number(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let name = text(args, 0)?.to_ascii_lowercase().replace(['-', '_'], "");
    Ok(Datum::Int4(match name.as_str() {
        "sqlascii" => 0,
        "utf8" | "unicode" => UTF8,
        _ => -1,
    }))
}

fn encoding_width(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(match int4(args, 0)? {
        0 => Datum::Int4(1),
        UTF8 => Datum::Int4(4),
        _ => Datum::Null,
    })
}

fn role_name(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let role = arg(args, 0)?.as_oid()?;
    let identity = cx.host().identity();
    let (name, own) = (identity.user.clone(), identity.user_oid);
    if role == own {
        return Ok(Datum::Text(name));
    }
    match steppe_catalog::system::predefined_role(role) {
        Some(name) => text_datum(name),
        None => text_datum(format!("unknown (OID={role})")),
    }
}

fn now(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::TimestampTz(cx.transaction_timestamp))
}

fn statement_timestamp(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::TimestampTz(cx.statement_timestamp))
}

fn clock_timestamp(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::TimestampTz(cx.host().clock_timestamp()))
}

fn nextval(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    cx.host().nextval(arg(args, 0)?.as_oid()?).map(Datum::Int8)
}

fn currval(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    cx.host().currval(arg(args, 0)?.as_oid()?).map(Datum::Int8)
}

fn lastval(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    cx.host().lastval().map(Datum::Int8)
}

fn setval(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let is_called = args.get(2).map_or(Ok(true), Datum::as_bool)?;
    let (sequence, value) = (arg(args, 0)?.as_oid()?, arg(args, 1)?.as_int8()?);
    cx.host().setval(sequence, value, is_called).map(Datum::Int8)
}

fn backend_pid(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int4(cx.host().identity().pid))
}

fn current_database(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Text(cx.host().identity().database.clone()))
}

fn current_user(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Text(cx.host().identity().user.clone()))
}

fn session_user(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Text(cx.host().identity().session_user.clone()))
}

fn current_schema(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let path = cx.host().search_path(false);
    Ok(path.into_iter().next().map_or(Datum::Null, Datum::Text))
}

fn current_setting(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let name = arg(args, 0)?.as_text()?;
    let missing_ok = args.get(1).map_or(Ok(false), Datum::as_bool)?;
    match cx.host().setting(name)? {
        Some(value) => Ok(Datum::text(value)),
        None if missing_ok => Ok(Datum::Null),
        None => Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("unrecognized configuration parameter \"{name}\""),
        )),
    }
}
