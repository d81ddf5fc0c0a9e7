//! pg_relation_size and its kin: the pages of a relation's files, and of all files (dbsize.c).

use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::system::{PG_DEFAULT, TABLESPACES};
use steppe_catalog::{DATABASE_NAME, Relation};
use steppe_exec::registry::Native;
use steppe_functions::arg;
use steppe_storage::PAGE_SIZE;
use steppe_txn::FileId;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

use crate::services::SharedSession;

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    ("pg_relation_size", value!(|core, args| size(core, args, ROWS))),
    ("pg_table_size", value!(|core, args| size(core, args, TABLE_PARTS))),
    ("pg_indexes_size", value!(|core, args| size(core, args, INDEXES))),
    ("pg_total_relation_size", value!(|core, args| size(core, args, ALL))),
    ("pg_database_size_name", value!(size_of_database_named)),
    ("pg_database_size_oid", value!(size_of_database)),
    ("pg_tablespace_size_name", value!(size_of_tablespace_named)),
    ("pg_tablespace_size_oid", value!(size_of_tablespace)),
];

/// `pg_relation_size(regclass)`, which PostgreSQL writes in SQL: the size of the main fork.
pub(super) const BY_OID: &[(Oid, Native)] = &[(2325, value!(|core, args| size(core, args, ROWS)))];

/// The files that a function counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    rows: bool,
    overflow: bool,
    indexes: bool,
}

const ROWS: Parts = Parts { rows: true, overflow: false, indexes: false };
const TABLE_PARTS: Parts = Parts { rows: true, overflow: true, indexes: false };
const INDEXES: Parts = Parts { rows: false, overflow: false, indexes: true };
const ALL: Parts = Parts { rows: true, overflow: true, indexes: true };

/// One of PostgreSQL's files of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fork {
    /// The rows, or an index's entries.
    Main,
    /// A fork that has no file here.
    Other,
}

/// Checks pg_relation_size's second argument.
fn check_fork(name: Option<&Datum>) -> Result<Fork> {
    match name {
        None => Ok(Fork::Main),
        Some(name) => match &**name.as_text()? {
            "main" => Ok(Fork::Main),
            "fsm" | "vm" | "init" => Ok(Fork::Other),
            _ => Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "invalid fork name")
                .hint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".")),
        },
    }
}

/// A relation's bytes on disk; NULL if it does not exist, or is on data nodes.
fn size(core: &SharedSession, args: &[Datum], parts: Parts) -> Result<Datum> {
    let fork = check_fork(args.get(1))?;
    let names = core.names();
    let relation = names.catalog.relation(arg(args, 0)?.as_oid()?);
    let Some(relation) = relation else { return Ok(Datum::Null) };
    let table = relation.index.as_ref().and_then(|info| names.catalog.relation(info.table));
    if table.unwrap_or(relation).is_distributed() {
        return Ok(Datum::Null);
    }
    if fork == Fork::Other {
        return Ok(Datum::Int8(0));
    }
    let mut files: Vec<FileId> = Vec::new();
    files.extend(relation.storage.filter(|_| parts.rows));
    files.extend(relation.overflow.filter(|_| parts.overflow));
    if parts.indexes {
        let storage = |index: &std::sync::Arc<Relation>| index.storage;
        files.extend(names.catalog.indexes_of(relation).filter_map(storage));
    }
    let mut pages = 0u64;
    let engine = &core.server.engine;
    for file in files {
        if let Some(tree) = engine.tree_of(file)? {
            pages += engine.store().tree(tree).page_count()?;
        }
    }
    Ok(Datum::Int8((pages * PAGE_SIZE as u64) as i64))
}

fn missing(state: SqlState, what: String) -> Error {
    Error::new(state, format!("{what} does not exist"))
}

/// 3D000 if the database does not exist.
fn size_of_database_named(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    match &**arg(args, 0)?.as_text()? {
        DATABASE_NAME => Ok(size_of_all(core)),
        name => Err(missing(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\""))),
    }
}

fn size_of_database(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    match arg(args, 0)?.as_oid()? {
        POSTGRES_DATABASE => Ok(size_of_all(core)),
        oid => Err(missing(SqlState::UNDEFINED_OBJECT, format!("database with OID {oid}"))),
    }
}

/// 42704 if the tablespace does not exist.
fn size_of_tablespace_named(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    let name = arg(args, 0)?.as_text()?;
    match TABLESPACES.iter().find(|(_, tablespace)| *tablespace == &**name) {
        Some((oid, _)) => Ok(size_within(core, *oid)),
        None => Err(missing(SqlState::UNDEFINED_OBJECT, format!("tablespace \"{name}\""))),
    }
}

fn size_of_tablespace(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    let oid = arg(args, 0)?.as_oid()?;
    match TABLESPACES.iter().any(|(tablespace, _)| *tablespace == oid) {
        true => Ok(size_within(core, oid)),
        false => Err(missing(SqlState::UNDEFINED_OBJECT, format!("tablespace with OID {oid}"))),
    }
}

/// All relations are in pg_default.
fn size_within(core: &SharedSession, tablespace: Oid) -> Datum {
    if tablespace == PG_DEFAULT { size_of_all(core) } else { Datum::Int8(0) }
}

/// Bytes of the data file, which holds all relations.
fn size_of_all(core: &SharedSession) -> Datum {
    let pages = core.server.engine.store().stats().file_pages;
    Datum::Int8((pages * PAGE_SIZE as u64) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_whole() {
        let count = |p: Parts| [p.rows, p.overflow, p.indexes].map(u8::from);
        let (table, indexes, total) = (count(TABLE_PARTS), count(INDEXES), count(ALL));
        assert_eq!([0, 1, 2].map(|i| table[i] + indexes[i]), total);
    }
}
