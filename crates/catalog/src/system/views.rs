//! The views of pg_catalog over relations: pg_tables, pg_indexes, pg_views,
//! pg_sequences (src/backend/catalog/system_views.sql).

use super::classes::relkind;
use super::cluster::{role_name, roles};
use super::definitions::{Style, index_definition};
use super::rows::{RowsBuilder, optional};
use super::session::SystemContext;
use crate::snapshot::Catalog;
use steppe_types::{Datum, Oid};

pub(super) fn schema_name(catalog: &Catalog, schema: Oid) -> Datum {
    optional(catalog.schema(schema).map(|s| s.name.clone()))
}

/// pg_tables
pub(super) fn pg_tables(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let roles = roles(context);
    for table in context.catalog.relations().filter(|r| matches!(relkind(r), b'r' | b'p')) {
        out.row([
            ("schemaname", schema_name(context.catalog, table.schema)),
            ("tablename", Datum::Text(table.name.clone())),
            ("tableowner", role_name(&roles, table.owner)),
            ("hasindexes", Datum::Bool(!table.indexes.is_empty())),
            ("hasrules", Datum::Bool(false)),
            ("hastriggers", Datum::Bool(!table.triggers.is_empty())),
            ("rowsecurity", Datum::Bool(false)),
        ]);
    }
}

/// pg_indexes
pub(super) fn pg_indexes(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for index in context.catalog.relations() {
        let Some(info) = &index.index else { continue };
        let Some(table) = context.catalog.relation(info.table) else { continue };
        out.row([
            ("schemaname", schema_name(context.catalog, table.schema)),
            ("tablename", Datum::Text(table.name.clone())),
            ("indexname", Datum::Text(index.name.clone())),
            ("indexdef", optional(index_definition(context.catalog, index, Style::PLAIN))),
        ]);
    }
}

/// pg_views. The definitions of the system views are not kept.
pub(super) fn pg_views(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let roles = roles(context);
    for view in context.catalog.relations().filter(|r| relkind(r) == b'v') {
        out.row([
            ("schemaname", schema_name(context.catalog, view.schema)),
            ("viewname", Datum::Text(view.name.clone())),
            ("viewowner", role_name(&roles, view.owner)),
            ("definition", optional(context.session.view_definition(view))),
        ]);
    }
}

/// pg_sequences
pub(super) fn pg_sequences(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let roles = roles(context);
    for relation in context.catalog.relations() {
        let Some(info) = &relation.sequence else { continue };
        let last = context.session.sequence_last_value(relation.oid);
        out.row([
            ("schemaname", schema_name(context.catalog, relation.schema)),
            ("sequencename", Datum::Text(relation.name.clone())),
            ("sequenceowner", role_name(&roles, relation.owner)),
            ("data_type", Datum::Oid(info.type_oid)),
            ("start_value", Datum::Int8(info.start)),
            ("min_value", Datum::Int8(info.min)),
            ("max_value", Datum::Int8(info.max)),
            ("increment_by", Datum::Int8(info.increment)),
            ("cycle", Datum::Bool(info.cycle)),
            ("cache_size", Datum::Int8(info.cache)),
            ("last_value", last.map_or(Datum::Null, Datum::Int8)),
        ]);
    }
}
