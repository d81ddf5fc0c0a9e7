//! The indexes and constraints of the system catalogs (data/system_indexes.tsv,
//! data/system_constraints.tsv).
//!
//! These facts are for clients (psql's `\d`, drivers that read keys). The indexes have no entries:
//! the system catalogs are computed, and no plan reads these indexes.

use crate::builtin::{self, Row};
use crate::relation::{Constraint, ConstraintKind, IndexInfo, IndexKey, RelKind, Relation};
use steppe_types::Oid;

/// Adds the constraints and indexes to the system catalogs; returns the indexes.
pub(super) fn attach(catalogs: &mut [Relation]) -> Vec<Relation> {
    let table = |name| builtin::table(name).into_iter().flat_map(|table| table.rows());
    let mut indexes = Vec::new();
    for row in table("system_indexes") {
        let oid = number(&row, "indrelid");
        let Some(catalog) = catalogs.iter_mut().find(|c| c.oid == oid) else { continue };
        let index = index_of(catalog, &row);
        match index.index.as_ref().is_some_and(|info| info.primary) {
            true => catalog.indexes.push_front(index.oid),
            false => catalog.indexes.push(index.oid),
        }
        indexes.push(index);
    }
    for row in table("system_constraints") {
        let oid = number(&row, "conrelid");
        if let Some(catalog) = catalogs.iter_mut().find(|c| c.oid == oid) {
            catalog.constraints.push(constraint(&row));
        }
    }
    indexes
}

fn index_of(catalog: &Relation, row: &Row<'_>) -> Relation {
    let key =
        |attnum: i16| IndexKey::ascending(attnum, catalog.columns[attnum as usize - 1].type_oid);
    let name = row.get("relname").unwrap_or("");
    let oid = number(row, "indexrelid");
    let mut index = Relation::new(oid, catalog.schema, name, RelKind::Index);
    index.index = Some(Box::new(IndexInfo {
        table: catalog.oid,
        keys: attnums(row, "indkey", ' ').into_iter().map(key).collect(),
        include: Default::default(),
        unique: row.get("indisunique") == Some("t"),
        primary: row.get("indisprimary") == Some("t"),
        clustered: false,
        deferral: Default::default(),
        nulls_not_distinct: false,
        predicate: None,
    }));
    index
}

fn constraint(row: &Row<'_>) -> Constraint {
    let index = number(row, "conindid");
    let kind = match row.get("contype") {
        Some("p") => ConstraintKind::Primary { index },
        Some("u") => ConstraintKind::Unique { index },
        _ => ConstraintKind::NotNull,
    };
    let name = row.get("conname").unwrap_or("");
    Constraint::new(number(row, "oid"), name, kind, attnums(row, "conkey", ','))
}

fn number(row: &Row<'_>, column: &str) -> Oid {
    let text = row.get(column).and_then(|text| text.parse().ok());
    text.unwrap_or_else(|| panic!("a system catalog's index: unreadable {column}"))
}

/// Attribute numbers of an int2vector (`2 3`) or an array (`{2,3}`).
fn attnums(row: &Row<'_>, column: &str, separator: char) -> Vec<i16> {
    let text = row.get(column).unwrap_or("").trim_matches(['{', '}']);
    text.split(separator).filter_map(|attnum| attnum.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::relations;
    use crate::relation::RelKind;

    #[test]
    fn every_index_has_its_table_and_every_key_its_index() {
        let named = |name: &str| relations().iter().find(|r| &*r.name == name).expect("is there");
        assert_eq!(relations().iter().filter(|r| r.kind == RelKind::Index).count(), 124);
        let class = named("pg_class");
        let index = named("pg_class_relname_nsp_index");
        let info = index.index.as_ref().expect("an index");
        assert_eq!((info.table, info.keys[0].attnum, info.keys[1].attnum), (class.oid, 2, 3));
        assert!(info.unique && !info.primary);
        assert_eq!(class.indexes.len(), 3);
        let key = class.primary_key().expect("pg_class has a primary key");
        assert_eq!((&*key.name, &key.columns[..]), ("pg_class_oid_index", &[1][..]));
    }
}
