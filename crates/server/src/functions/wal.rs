//! The log and the control file, as the functions of xlogfuncs.c and pg_controldata.c show them.
//! Columns about features that do not exist here are NULL.

use std::time::UNIX_EPOCH;

use steppe_exec::registry::Native;
use steppe_functions::arg;
use steppe_storage::wal::Wal;
use steppe_storage::{Lsn, PAGE_SIZE};
use steppe_types::{Datum, Result};

use super::record;
use crate::services::{SharedSession, micros_since_2000};

/// The log has one timeline.
const TIMELINE: i32 = 1;
/// Bytes of a block of the log.
const WAL_BLOCK_BYTES: i32 = 4096;

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    ("pg_current_wal_lsn", value!(|core, _| Ok(position(wal(core).written_lsn())))),
    ("pg_current_wal_insert_lsn", value!(|core, _| Ok(position(wal(core).insert_position())))),
    ("pg_current_wal_flush_lsn", value!(|core, _| Ok(position(wal(core).durable_lsn())))),
    ("pg_switch_wal", value!(switch)),
    ("pg_walfile_name", value!(|core, args| Ok(Datum::text(file(core, args)?.0)))),
    ("pg_walfile_name_offset", value!(file_and_offset)),
    ("pg_control_system", value!(|core, _| control_system(core))),
    ("pg_control_init", value!(|core, _| Ok(control_init(core)))),
    ("pg_control_checkpoint", value!(|core, _| control_checkpoint(core))),
    ("pg_control_recovery", value!(|_, _| Ok(control_recovery()))),
];

fn wal(core: &SharedSession) -> &Wal {
    core.server.engine.wal()
}

fn position(lsn: Lsn) -> Datum {
    Datum::PgLsn(lsn.0)
}

fn switch(core: &SharedSession, _: &[Datum]) -> Result<Datum> {
    Ok(position(core.server.engine.store().switch_segment()?))
}

/// The segment file of a position, and the offset in it.
fn file(core: &SharedSession, args: &[Datum]) -> Result<(String, u64)> {
    Ok(wal(core).segment_of(Lsn(arg(args, 0)?.as_pg_lsn()?)))
}

fn file_and_offset(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    let (name, offset) = file(core, args)?;
    let offset = i32::try_from(offset).unwrap_or(i32::MAX);
    Ok(record([Datum::text(name), Datum::Int4(offset)]))
}

/// There is no standby, and no backup to recover from.
fn control_recovery() -> Datum {
    let none = || Datum::PgLsn(0);
    record([none(), Datum::Int4(0), none(), none(), Datum::Bool(false)])
}

/// When the control file was last written. A checkpoint writes it when it ends.
fn control_written(core: &SharedSession) -> Datum {
    let path = core.server.engine.store().control_data().path;
    let modified = std::fs::metadata(path).and_then(|file| file.modified());
    let since = modified.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    // In whole seconds, as in PostgreSQL.
    since.map_or(Datum::Null, |since| {
        let whole = std::time::Duration::from_secs(since.as_secs());
        Datum::TimestampTz(micros_since_2000(whole))
    })
}

/// pg_control_version, catalog_version_no, system_identifier, pg_control_last_modified
fn control_system(core: &SharedSession) -> Result<Datum> {
    let control = core.server.engine.store().control_data();
    let version = Datum::Int4(i32::try_from(control.version).unwrap_or(i32::MAX));
    Ok(record([
        version.clone(),
        // One number is the version of everything on disk.
        version,
        Datum::Int8(control.system_id as i64),
        control_written(core),
    ]))
}

fn control_init(core: &SharedSession) -> Datum {
    let control = core.server.engine.store().control_data();
    let segment = i32::try_from(control.wal_segment_bytes).unwrap_or(i32::MAX);
    record([
        Datum::Int4(8),
        Datum::Int4(PAGE_SIZE as i32),
        // One file holds all pages.
        Datum::Null,
        Datum::Int4(WAL_BLOCK_BYTES),
        Datum::Int4(segment),
        Datum::Int4(64),
        Datum::Int4(32),
        // Long values have no chunks; there are no large objects.
        Datum::Null,
        Datum::Null,
        Datum::Bool(true),
        Datum::Int4(1),
        Datum::Bool(true),
    ])
}

/// A checkpoint has no log record of its own: its position is where redo starts.
fn control_checkpoint(core: &SharedSession) -> Result<Datum> {
    let engine = &core.server.engine;
    let control = engine.store().control_data();
    let redo = Datum::PgLsn(control.redo.0);
    let (oldest, next) = engine.xid_horizon();
    let xid = |xid: u64| Datum::Oid(xid as u32);
    let none = || Datum::Null;
    Ok(record([
        redo.clone(),
        redo,
        Datum::text(engine.wal().segment_of(control.redo).0),
        Datum::Int4(TIMELINE),
        Datum::Int4(TIMELINE),
        // The doublewrite area protects from torn pages.
        Datum::Bool(false),
        Datum::text(format!("{}:{}", next >> 32, next as u32)),
        none(),
        // There are no multixacts, and transaction numbers are not frozen.
        none(),
        none(),
        none(),
        none(),
        xid(oldest),
        none(),
        none(),
        none(),
        none(),
        control_written(core),
    ]))
}
