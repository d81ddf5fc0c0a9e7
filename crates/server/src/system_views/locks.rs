//! pg_locks: the lock table. Row locks are in it as long as somebody holds them explicitly
//! (FOR UPDATE …) or waits for the row, with the row's ctid.

use hashbrown::HashMap;
use steppe_catalog::system::RowsBuilder;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_txn::LockTag;
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
            // As ctid shows a row id.
            row: Some(((row >> 16) as i32, row as i16)),
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
    for lock in locks {
        let target = target(lock.tag, &tables);
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
            ("virtualtransaction", lock.prepared.map_or(Datum::Null, prepared)),
            ("pid", lock.prepared.map_or_else(|| pid(lock.pid), |_| Datum::Null)),
            ("mode", Datum::text(lock.mode)),
            ("granted", Datum::Bool(lock.granted)),
            ("fastpath", Datum::Bool(lock.fast_path)),
        ]);
    }
    builder.finish()
}
