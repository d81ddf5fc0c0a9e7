//! pg_locks: the lock table, the lock of every transaction on itself (virtualxid), and SIREAD
//! locks. As in PostgreSQL, a row's lock is shown while a session waits for the row, with the row's
//! ctid. A serializable transaction's SIREAD lock in an index is a range of keys, not pages: it is
//! shown as a page without a number.
//!
//! A virtual transaction id is the session's process id and the number of its transaction.

use std::time::SystemTime;

use hashbrown::HashMap;
use steppe_catalog::system::RowsBuilder;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_txn::{
    AdvisoryKey, DatabaseId, Granule, LockReport, LockTag, RelFileNumber, SireadReport,
};
use steppe_types::{Datum, Oid, Result};

use crate::services::{SharedSession, micros_at};

/// The locked object: columns of pg_locks.
#[derive(Default)]
struct Target {
    kind: &'static str,
    database: Option<Oid>,
    relation: Option<Oid>,
    /// page, tuple
    row: Option<(i32, i16)>,
    transaction: Option<u64>,
    /// The session whose transaction is locked.
    session: Option<u32>,
    /// classid, objid, objsubid
    key: Option<(Oid, Oid, i16)>,
}

fn target(tag: LockTag, tables: &HashMap<u64, Oid>) -> Target {
    let relation = |database: DatabaseId, oid| Target {
        kind: "relation",
        database: Some(database.0),
        relation: Some(oid),
        ..Target::default()
    };
    let keyed = |kind, database: DatabaseId, key| Target {
        kind,
        database: Some(database.0),
        key: Some(key),
        ..Target::default()
    };
    match tag {
        LockTag::Relation { database, oid } | LockTag::Leaves { database, oid } => {
            relation(database, oid)
        }
        LockTag::Object { database, class, oid } => keyed("object", database, (class, oid, 0)),
        // PostgreSQL has no lock on a name: it finds a conflict at the catalog's unique index.
        LockTag::Name { database, hash } => relation(database, hash as u32),
        LockTag::Row(root, row) => Target {
            kind: "tuple",
            database: Some(POSTGRES_DATABASE),
            relation: tables.get(&root).copied(),
            row: place(row),
            ..Target::default()
        },
        LockTag::Transaction(xid) => {
            Target { kind: "transactionid", transaction: Some(xid), ..Target::default() }
        }
        LockTag::Session(pid) => of_session(pid),
        LockTag::Advisory { database, key: AdvisoryKey::Big(key) } => {
            keyed("advisory", database, ((key >> 32) as u32, key as u32, 1))
        }
        LockTag::Advisory { database, key: AdvisoryKey::Pair(a, b) } => {
            keyed("advisory", database, (a as u32, b as u32, 2))
        }
    }
}

fn of_session(pid: u32) -> Target {
    Target { kind: "virtualxid", session: Some(pid), ..Target::default() }
}

/// Tables by the root of their tree.
fn tables(core: &SharedSession) -> Result<HashMap<u64, Oid>> {
    let mut tables = HashMap::new();
    for relation in core.names().catalog.relations() {
        let Some(file) = relation.storage else { continue };
        let tree = core.server.engine.tree_of(file)?;
        tables.extend(tree.map(|tree| (tree.root.0, relation.oid)));
    }
    Ok(tables)
}

/// The position of a row id, as ctid shows it: page and number.
fn place(row: u64) -> Option<(i32, i16)> {
    Some(steppe_exec::shown_place(row))
}

/// The object of a SIREAD lock.
fn read_target(granule: Granule, relation: Option<Oid>) -> Target {
    let (kind, row) = match granule {
        Granule::File => ("relation", None),
        Granule::Row(row) => ("tuple", place(row)),
        Granule::Range => ("page", None),
    };
    Target { kind, database: Some(POSTGRES_DATABASE), relation, row, ..Target::default() }
}

/// Relations by their file.
fn files(core: &SharedSession) -> HashMap<RelFileNumber, Oid> {
    let catalog = core.names().catalog;
    catalog.relations().filter_map(|r| Some((r.storage?.number, r.oid))).collect()
}

/// A row of pg_locks.
struct Lock {
    target: Target,
    /// The prepared transaction that holds it; `None` if a session does.
    prepared: Option<u64>,
    pid: u32,
    mode: &'static str,
    granted: bool,
    fast_path: bool,
    waits_since: Option<SystemTime>,
}

impl Lock {
    fn of(lock: LockReport, tables: &HashMap<u64, Oid>) -> Lock {
        let LockReport { pid, prepared, mode, granted, fast_path, waits_since, .. } = lock;
        let target = target(lock.tag, tables);
        Lock { target, prepared, pid, mode, granted, fast_path, waits_since }
    }

    fn of_read(lock: SireadReport, files: &HashMap<RelFileNumber, Oid>) -> Lock {
        let target = read_target(lock.granule, files.get(&lock.file).copied());
        let (prepared, pid) = (lock.prepared, lock.pid.unwrap_or(0));
        Lock { prepared, pid, ..Lock::held(target, "SIReadLock") }
    }

    /// The lock of a session's transaction on itself.
    fn of_itself(pid: u32) -> Lock {
        Lock { pid, fast_path: true, ..Lock::held(of_session(pid), "ExclusiveLock") }
    }

    fn held(target: Target, mode: &'static str) -> Lock {
        let (granted, fast_path, waits_since) = (true, false, None);
        Lock { target, prepared: None, pid: 0, mode, granted, fast_path, waits_since }
    }
}

/// The sessions in a transaction.
fn in_transaction(core: &SharedSession) -> Vec<u32> {
    let mut pids = Vec::new();
    core.server.backends.for_each(|pid, backend| {
        let is_in_one = backend.control.activity.xact_start() != 0;
        pids.extend(u32::try_from(pid).ok().filter(|_| is_in_one));
    });
    pids
}

/// All locks.
fn all(core: &SharedSession) -> Result<Vec<Lock>> {
    let locks = core.server.engine.locks().report();
    let names_rows = locks.iter().any(|lock| matches!(lock.tag, LockTag::Row(..)));
    let tables = if names_rows { tables(core)? } else { HashMap::new() };
    let reads = core.server.engine.siread_locks();
    let files = if reads.is_empty() { HashMap::new() } else { files(core) };
    let is_on_itself = |lock: &LockReport| {
        lock.granted && matches!(lock.tag, LockTag::Session(pid) if pid == lock.pid)
    };
    let locks = locks.into_iter().filter(|lock| !is_on_itself(lock));
    let locks = locks.map(|lock| Lock::of(lock, &tables));
    let on_itself = in_transaction(core).into_iter().map(Lock::of_itself);
    let reads = reads.into_iter().map(|lock| Lock::of_read(lock, &files));
    Ok(locks.chain(on_itself).chain(reads).collect())
}

/// The rows of pg_locks.
pub(super) fn rows(core: &SharedSession) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new("pg_locks")?;
    let ended = core.server.engine.locks().transactions_ended();
    let virtual_xid = |pid: u32| {
        let ended = ended.get(&pid)?;
        Some(format!("{pid}/{}", ended + 1))
    };
    let text = |text: Option<String>| text.map_or(Datum::Null, Datum::text);
    let oid = |oid: Option<Oid>| oid.map_or(Datum::Null, Datum::Oid);
    let moment = |at: SystemTime| Datum::TimestampTz(micros_at(at));
    for lock in all(core)? {
        let Lock { target, pid, mode, granted, fast_path, .. } = lock;
        let session = Some(pid).filter(|pid| lock.prepared.is_none() && *pid != 0);
        let owner = match lock.prepared {
            // PostgreSQL shows a prepared transaction in this form.
            Some(xid) => Some(format!("-1/{}", xid as u32)),
            None => session.and_then(virtual_xid),
        };
        let process = session.and_then(|pid| i32::try_from(pid).ok());
        builder.row([
            ("locktype", Datum::text(target.kind)),
            ("database", oid(target.database)),
            ("relation", oid(target.relation)),
            ("page", target.row.map_or(Datum::Null, |row| Datum::Int4(row.0))),
            ("tuple", target.row.map_or(Datum::Null, |row| Datum::Int2(row.1))),
            ("virtualxid", text(target.session.and_then(virtual_xid))),
            ("transactionid", oid(target.transaction.map(|xid| xid as u32))),
            ("classid", oid(target.key.map(|key| key.0))),
            ("objid", oid(target.key.map(|key| key.1))),
            ("objsubid", target.key.map_or(Datum::Null, |key| Datum::Int2(key.2))),
            ("virtualtransaction", text(owner)),
            ("pid", process.map_or(Datum::Null, Datum::Int4)),
            ("mode", Datum::text(mode)),
            ("granted", Datum::Bool(granted)),
            ("fastpath", Datum::Bool(fast_path)),
            ("waitstart", lock.waits_since.map_or(Datum::Null, moment)),
        ]);
    }
    builder.finish()
}
