//! pg_locks: the lock table, and SIREAD locks. Row locks are in it as long as somebody holds them explicitly
//! (FOR UPDATE …) or waits for the row, with the row's ctid. What a serializable transaction has
//! looked for in an index is a range of keys, not pages: it is shown as a page without a number.

use hashbrown::HashMap;
use steppe_catalog::system::RowsBuilder;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_txn::{Granule, LockTag, RelFileNumber};
use steppe_types::{Datum, Oid, Result};

use crate::services::Core;

/// What names the lock: columns of pg_locks.
#[derive(Default)]
struct Target {
    kind: &'static str,
    database: Option<Oid>,
    relation: Option<Oid>,
    /// page, tuple
    row: Option<(i32, i16)>,
    transaction: Option<u64>,
    /// classid, objid, objsubid
    key: Option<(Oid, Oid, i16)>,
}

fn target(tag: LockTag, tables: &HashMap<u64, Oid>) -> Target {
    let database = Some(POSTGRES_DATABASE);
    match tag {
        LockTag::Relation(oid) | LockTag::Leaves(oid) => {
            Target { kind: "relation", database, relation: Some(oid), ..Target::default() }
        }
        LockTag::Row(root, row) => Target {
            kind: "tuple",
            database,
            relation: tables.get(&root).copied(),
            row: place(row),
            ..Target::default()
        },
        LockTag::Transaction(xid) => {
            Target { kind: "transactionid", transaction: Some(xid), ..Target::default() }
        }
        LockTag::Session(_) => Target { kind: "virtualxid", ..Target::default() },
        LockTag::AdvisoryBig(key) => {
            let key = Some(((key >> 32) as u32, key as u32, 1));
            Target { kind: "advisory", database, key, ..Target::default() }
        }
        LockTag::AdvisoryPair(a, b) => {
            let key = Some((a as u32, b as u32, 2));
            Target { kind: "advisory", database, key, ..Target::default() }
        }
    }
}

/// Tables by the root of their tree.
fn tables(core: &Core) -> Result<HashMap<u64, Oid>> {
    let mut tables = HashMap::new();
    for relation in core.names().catalog.relations() {
        let Some(file) = relation.storage else { continue };
        let tree = core.server.database.tree_of(file)?;
        tables.extend(tree.map(|tree| (tree.root.0, relation.oid)));
    }
    Ok(tables)
}

/// The row of an id, as ctid shows it: page and place in it.
fn place(row: u64) -> Option<(i32, i16)> {
    Some(((row >> 16) as i32, row as i16))
}

/// What a SIREAD lock is on.
fn read_target(granule: Granule, relation: Option<Oid>) -> Target {
    let (kind, row) = match granule {
        Granule::File => ("relation", None),
        Granule::Row(row) => ("tuple", place(row)),
        Granule::Range => ("page", None),
    };
    Target { kind, database: Some(POSTGRES_DATABASE), relation, row, ..Target::default() }
}

/// Relations by their file.
fn files(core: &Core) -> HashMap<RelFileNumber, Oid> {
    let catalog = core.names().catalog;
    catalog.relations().filter_map(|r| Some((r.storage?, r.oid))).collect()
}

/// The rows of pg_locks.
pub(super) fn rows(core: &Core) -> Result<Vec<Vec<Datum>>> {
    let locks = core.server.database.locks().report();
    let names_rows = locks.iter().any(|lock| matches!(lock.tag, LockTag::Row(..)));
    let tables = if names_rows { tables(core)? } else { HashMap::new() };
    let mut builder = RowsBuilder::new("pg_locks")?;
    // As PostgreSQL shows one that no session runs.
    let prepared = |xid: u64| Datum::text(format!("-1/{}", xid as u32));
    let pid = |pid: u32| Datum::Int4(i32::try_from(pid).unwrap_or(i32::MAX));
    let oid = |oid: Option<Oid>| oid.map_or(Datum::Null, Datum::Oid);
    let reads = core.server.database.siread_locks();
    let files = if reads.is_empty() { HashMap::new() } else { files(core) };
    let locks = locks.into_iter().map(|lock| {
        let holder = (lock.prepared, lock.prepared.map_or(Some(lock.pid), |_| None));
        (target(lock.tag, &tables), holder, lock.mode, lock.granted, lock.fast_path)
    });
    let reads = reads.into_iter().map(|lock| {
        let target = read_target(lock.granule, files.get(&lock.file).copied());
        (target, (lock.prepared, lock.pid), "SIReadLock", true, false)
    });
    for (target, (by_prepared, by), mode, granted, fast_path) in locks.chain(reads) {
        builder.row([
            ("locktype", Datum::text(target.kind)),
            ("database", oid(target.database)),
            ("relation", oid(target.relation)),
            ("page", target.row.map_or(Datum::Null, |row| Datum::Int4(row.0))),
            ("tuple", target.row.map_or(Datum::Null, |row| Datum::Int2(row.1))),
            ("transactionid", oid(target.transaction.map(|xid| xid as u32))),
            ("classid", oid(target.key.map(|key| key.0))),
            ("objid", oid(target.key.map(|key| key.1))),
            ("objsubid", target.key.map_or(Datum::Null, |key| Datum::Int2(key.2))),
            ("virtualtransaction", by_prepared.map_or(Datum::Null, prepared)),
            ("pid", by.map_or(Datum::Null, pid)),
            ("mode", Datum::text(mode)),
            ("granted", Datum::Bool(granted)),
            ("fastpath", Datum::Bool(fast_path)),
        ]);
    }
    builder.finish()
}
