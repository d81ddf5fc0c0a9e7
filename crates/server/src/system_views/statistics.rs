//! The pg_stat_… views. Accesses are not counted: a counter that every statement adds to
//! would be a line of memory that all of them share. What is not counted is NULL.

use steppe_catalog::system::RowsBuilder;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::{Catalog, INFORMATION_SCHEMA, PG_CATALOG, RelKind, Relation};
use steppe_types::{Datum, Result};

use crate::services::Core;

/// The rows of one of the views; `None`: it is none of them.
pub(super) fn rows(core: &Core, view: &str) -> Result<Option<Vec<Vec<Datum>>>> {
    let (kind, whose) = match view {
        "pg_stat_database" => return database(core).map(Some),
        "pg_stat_all_tables" | "pg_statio_all_tables" => (RelKind::Table, Whose::All),
        "pg_stat_user_tables" | "pg_statio_user_tables" => (RelKind::Table, Whose::Users),
        "pg_stat_sys_tables" | "pg_statio_sys_tables" => (RelKind::Table, Whose::Systems),
        "pg_stat_all_indexes" | "pg_statio_all_indexes" => (RelKind::Index, Whose::All),
        "pg_stat_user_indexes" | "pg_statio_user_indexes" => (RelKind::Index, Whose::Users),
        "pg_stat_sys_indexes" | "pg_statio_sys_indexes" => (RelKind::Index, Whose::Systems),
        _ => return Ok(None),
    };
    let catalog = core.names().catalog;
    let mut builder = RowsBuilder::new(view)?;
    let mut shown: Vec<_> =
        catalog.relations().filter(|r| r.kind == kind && whose.owns(r)).collect();
    shown.sort_unstable_by_key(|relation| relation.oid);
    for relation in shown {
        match kind {
            RelKind::Index => index_row(&catalog, relation, &mut builder),
            _ => builder.row([
                ("relid", Datum::Oid(relation.oid)),
                ("schemaname", schema_name(&catalog, relation)),
                ("relname", Datum::Text(relation.name.clone())),
            ]),
        }
    }
    builder.finish().map(Some)
}

/// Whose relations a view shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    All,
    Users,
    Systems,
}

impl Whose {
    fn owns(self, relation: &Relation) -> bool {
        let is_system = matches!(relation.schema, PG_CATALOG | INFORMATION_SCHEMA);
        match self {
            Whose::All => true,
            Whose::Users => !is_system,
            Whose::Systems => is_system,
        }
    }
}

fn schema_name(catalog: &Catalog, relation: &Relation) -> Datum {
    let schema = catalog.schema(relation.schema);
    schema.map_or(Datum::Null, |schema| Datum::Text(schema.name.clone()))
}

fn index_row(catalog: &Catalog, index: &Relation, builder: &mut RowsBuilder) {
    let table = index.index.as_ref().and_then(|info| catalog.relation(info.table));
    let Some(table) = table else { return };
    builder.row([
        ("relid", Datum::Oid(table.oid)),
        ("indexrelid", Datum::Oid(index.oid)),
        ("schemaname", schema_name(catalog, index)),
        ("relname", Datum::Text(table.name.clone())),
        ("indexrelname", Datum::Text(index.name.clone())),
    ]);
}

fn database(core: &Core) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new("pg_stat_database")?;
    let backends = i32::try_from(core.server.backends.count()).unwrap_or(i32::MAX);
    builder.row([
        ("datid", Datum::Oid(POSTGRES_DATABASE)),
        ("datname", Datum::Text(core.identity.database.clone())),
        ("numbackends", Datum::Int4(backends)),
    ]);
    builder.finish()
}
