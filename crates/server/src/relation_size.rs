//! pg_relation_size and its kin: pages of a relation's files, and of all (dbsize.c).

use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::system::{PG_DEFAULT, TABLESPACES};
use steppe_catalog::{DATABASE_NAME, Relation};
use steppe_storage::PAGE_SIZE;
use steppe_txn::RelFileNumber;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

use crate::services::Core;

/// Which files a function counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    rows: bool,
    overflow: bool,
    indexes: bool,
}

/// What a size function counts; `None`: it is none.
pub(crate) fn parts_of(source: &str) -> Option<Parts> {
    let parts = |rows, overflow, indexes| Some(Parts { rows, overflow, indexes });
    match source {
        "pg_relation_size" => parts(true, false, false),
        "pg_table_size" => parts(true, true, false),
        "pg_indexes_size" => parts(false, false, true),
        "pg_total_relation_size" => parts(true, true, true),
        _ => None,
    }
}

/// One of PostgreSQL's files of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fork {
    /// The rows, or an index's entries.
    Main,
    /// What here is no file of its own.
    Other,
}

/// pg_relation_size's second argument, if there is one.
pub(crate) fn check_fork(name: Option<&Datum>) -> Result<Fork> {
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

/// Bytes on disk; NULL if there is no such relation.
pub(crate) fn size(core: &Core, relation: Oid, parts: Parts, fork: Fork) -> Result<Datum> {
    let names = core.names();
    let Some(relation) = names.catalog.relation(relation) else { return Ok(Datum::Null) };
    if fork == Fork::Other {
        return Ok(Datum::Int8(0));
    }
    let mut files: Vec<RelFileNumber> = Vec::new();
    files.extend(relation.storage.filter(|_| parts.rows));
    files.extend(relation.overflow.filter(|_| parts.overflow));
    if parts.indexes {
        let storage = |index: &std::sync::Arc<Relation>| index.storage;
        files.extend(names.catalog.indexes_of(relation).filter_map(storage));
    }
    let mut pages = 0u64;
    let database = &core.server.database;
    for file in files {
        if let Some(tree) = database.tree_of(file)? {
            pages += database.store().tree(tree).page_count()?;
        }
    }
    Ok(Datum::Int8((pages * PAGE_SIZE as u64) as i64))
}

/// pg_database_size and pg_tablespace_size: bytes of the data file, which all relations are in;
/// `None`: it is neither. 3D000 and 42704 where there is no such database or tablespace.
pub(crate) fn size_of_all(core: &Core, source: &str, args: &[Datum]) -> Option<Result<Datum>> {
    let found = match (source, args) {
        ("pg_database_size_name", [Datum::Text(name)]) => match &**name == DATABASE_NAME {
            true => Ok(true),
            false => Err((SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\""))),
        },
        ("pg_database_size_oid", [Datum::Oid(oid)]) => match *oid == POSTGRES_DATABASE {
            true => Ok(true),
            false => Err((SqlState::UNDEFINED_OBJECT, format!("database with OID {oid}"))),
        },
        ("pg_tablespace_size_name", [Datum::Text(name)]) => {
            let found = TABLESPACES.iter().find(|(_, tablespace)| *tablespace == &**name);
            let found = found.map(|(oid, _)| *oid == PG_DEFAULT);
            found.ok_or_else(|| (SqlState::UNDEFINED_OBJECT, format!("tablespace \"{name}\"")))
        }
        ("pg_tablespace_size_oid", [Datum::Oid(oid)]) => {
            let found = TABLESPACES.iter().any(|(tablespace, _)| tablespace == oid);
            let missing = || (SqlState::UNDEFINED_OBJECT, format!("tablespace with OID {oid}"));
            found.then_some(*oid == PG_DEFAULT).ok_or_else(missing)
        }
        _ => return None,
    };
    Some(match found {
        Ok(has_data) => {
            let pages = core.server.database.store().stats().file_pages;
            Ok(Datum::Int8(if has_data { (pages * PAGE_SIZE as u64) as i64 } else { 0 }))
        }
        Err((state, what)) => Err(Error::new(state, format!("{what} does not exist"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_whole() {
        let count = |source| {
            let p = parts_of(source).expect("a size function");
            [p.rows, p.overflow, p.indexes].map(u8::from)
        };
        let (table, indexes) = (count("pg_table_size"), count("pg_indexes_size"));
        let total = count("pg_total_relation_size");
        assert_eq!([0, 1, 2].map(|i| table[i] + indexes[i]), total);
        assert_eq!(parts_of("pg_database_size"), None);
    }
}
