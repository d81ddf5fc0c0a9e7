//! pg_class and catalogs that belong to it: pg_attribute, pg_attrdef, pg_sequence, pg_rewrite,
//! pg_description.

use super::extensions::PG_EXTENSION;
use super::facts::BTREE_AM;
use super::functions::PG_PROC;
use super::rows::{RowsBuilder, array, optional, text, text_array};
use super::session::SystemContext;
use super::triggers::PG_TRIGGER;
use super::{acls, partitions, pretty, shape, types};
use crate::extension::PLPGSQL;
use crate::objects::{Function, Operator, UserCast};
use crate::relation::{Column, ConstraintKind, IndexInfo, RelKind, Relation};
use crate::row_types::row_type_of;
use crate::snapshot::Catalog;
use crate::type_spelling::called_functions;
use crate::{RareText, Shared};
use std::sync::{Arc, OnceLock};
use steppe_types::{Datum, Oid, oid};

/// OID of pg_class itself: other catalogs use it as the class of tables, indexes, sequences and
/// views.
pub(super) const PG_CLASS: Oid = 1259;
/// OID of pg_type.
pub(super) const PG_TYPE: Oid = 1247;
/// OID of pg_namespace.
pub(super) const PG_NAMESPACE: Oid = 2615;
/// OID of pg_attrdef.
pub(super) const PG_ATTRDEF: Oid = 2604;
/// OID of pg_rewrite.
pub(super) const PG_REWRITE: Oid = 2618;
/// OID of pg_constraint.
pub(super) const PG_CONSTRAINT: Oid = 2606;
pub(super) const PG_STATISTIC_EXT: Oid = 3381;
/// pg_am OID of the table access method "heap".
const HEAP_AM: Oid = 2;
/// reltuples of a table that was never analysed.
const NEVER_ANALYSED: f32 = -1.0;

/// pg_class.relkind
pub(super) fn relkind(relation: &Relation) -> u8 {
    match relation.kind {
        RelKind::Table => b'r',
        RelKind::Index => b'i',
        RelKind::Sequence => b'S',
        RelKind::View => b'v',
        RelKind::Composite => b'c',
        RelKind::PartitionedTable => b'p',
        RelKind::PartitionedIndex => b'I',
        RelKind::Virtual => shape::by_oid(relation.oid).map_or(b'r', |s| s.relkind),
    }
}

/// The plural of a relation's kind in error messages (errdetail_relkind_not_supported).
pub fn kind_of_relations(relation: &Relation) -> &'static str {
    match relkind(relation) {
        b'p' => "partitioned tables",
        b'v' => "views",
        b'S' => "sequences",
        b'i' => "indexes",
        b'I' => "partitioned indexes",
        b'c' => "composite types",
        _ => "tables",
    }
}

/// pg_class
pub(super) fn pg_class(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for relation in context.catalog.relations() {
        class_row(context.catalog, relation, out);
    }
}

/// Whether a table has triggers. PostgreSQL's foreign keys have some on both tables.
pub(super) fn has_triggers(catalog: &Catalog, relation: &Relation) -> bool {
    !relation.triggers.is_empty()
        || relation.foreign_keys().next().is_some()
        || is_referenced(catalog, relation)
}

/// Whether a foreign key refers to a table or to a partitioned table above it.
fn is_referenced(catalog: &Catalog, relation: &Relation) -> bool {
    let above = |table: &Relation| {
        let parent = table.partition_of.as_ref().map(|of| of.parent);
        parent.and_then(|parent| catalog.relation(parent)).map(|parent| &**parent)
    };
    std::iter::successors(catalog.relation(relation.oid).map(|own| &**own), |table| above(table))
        .any(|table| catalog.is_referenced(table.oid))
}

fn class_row(catalog: &Catalog, relation: &Relation, out: &mut RowsBuilder) {
    let kind = relkind(relation);
    let user = relation.kind != RelKind::Virtual;
    let checks = relation.constraints.iter();
    let checks = checks.filter(|c| matches!(c.kind, ConstraintKind::Check { .. })).count();
    let (pages, tuples) = size(catalog, relation, kind);
    // Options of a table's TOAST table do not belong to the table.
    let own = relation.options.iter().filter(|(name, _)| !name.contains('.'));
    out.row([
        ("oid", Datum::Oid(relation.oid)),
        ("relname", Datum::Text(relation.name.clone())),
        ("relnamespace", Datum::Oid(relation.schema)),
        ("reltype", Datum::Oid(row_type_of(relation).unwrap_or(0))),
        ("relowner", Datum::Oid(relation.owner)),
        (
            "relam",
            Datum::Oid(match kind {
                b'r' => HEAP_AM,
                b'i' | b'I' => BTREE_AM,
                _ => 0,
            }),
        ),
        (
            "relfilenode",
            Datum::Oid(if user && !matches!(kind, b'v' | b'p' | b'I' | b'c') {
                relation.oid
            } else {
                0
            }),
        ),
        ("relpages", Datum::Int4(pages)),
        ("reltuples", Datum::Float4(tuples)),
        ("relhasindex", Datum::Bool(!relation.indexes.is_empty())),
        ("relpersistence", Datum::Char(persistence(catalog, relation))),
        ("relkind", Datum::Char(kind)),
        ("relnatts", Datum::Int2(column_count(relation))),
        ("relchecks", Datum::Int2(checks as i16)),
        ("relhasrules", Datum::Bool(kind == b'v')),
        ("relhastriggers", Datum::Bool(has_triggers(catalog, relation))),
        ("relhassubclass", Datum::Bool(catalog.children(relation.oid).next().is_some())),
        ("relispartition", Datum::Bool(relation.partition_of.is_some())),
        ("relpartbound", optional(partitions::bound_text(relation))),
        ("relispopulated", Datum::Bool(true)),
        (
            "relreplident",
            Datum::Char(if user && matches!(kind, b'r' | b'p') { b'd' } else { b'n' }),
        ),
        ("relacl", acls::of(PG_CLASS, relation.oid, 0)),
        ("reloptions", options(own)),
    ]);
}

/// Options as `name=value`; NULL for none.
fn options<'o>(options: impl Iterator<Item = &'o (Arc<str>, Arc<str>)>) -> Datum {
    let shown: Vec<String> = options.map(|(name, value)| format!("{name}={value}")).collect();
    if shown.is_empty() { Datum::Null } else { text_array(shown.into_iter()) }
}

/// relpersistence.
fn persistence(catalog: &Catalog, relation: &Relation) -> u8 {
    match relation.is_unlogged() {
        _ if catalog.is_temporary(relation) => b't',
        true => b'u',
        false => b'p',
    }
}

/// relpages and reltuples.
fn size(catalog: &Catalog, relation: &Relation, kind: u8) -> (i32, f32) {
    let found = |r: &Relation| {
        let statistics = r.statistics.as_ref()?;
        Some((i32::try_from(statistics.pages).unwrap_or(i32::MAX), statistics.rows as f32))
    };
    match kind {
        // A new index has its root page and no entries yet.
        b'i' => found(relation).unwrap_or_else(|| {
            let table = relation.index.as_ref().and_then(|i| catalog.relation(i.table));
            (1, table.and_then(|t| found(t)).map_or(0.0, |(_, tuples)| tuples))
        }),
        b'S' => (1, 1.0),
        // An index without entries of its own has no count.
        b'I' => (0, 0.0),
        // A partitioned table has no pages; -1 shows that it has been analysed.
        b'p' => found(relation).map_or((0, NEVER_ANALYSED), |(_, tuples)| (-1, tuples)),
        _ => found(relation).unwrap_or((0, NEVER_ANALYSED)),
    }
}

fn column_count(relation: &Relation) -> i16 {
    (match (&relation.index, relation.kind) {
        (Some(info), _) => info.keys.len() + info.include.len(),
        (None, RelKind::Sequence) => SEQUENCE_COLUMNS.len(),
        _ => relation.columns.len(),
    }) as i16
}

/// The columns of a sequence read as a table.
const SEQUENCE_COLUMNS: [(&str, Oid); 3] =
    [("last_value", oid::INT8), ("log_cnt", oid::INT8), ("is_called", oid::BOOL)];

/// The system columns of every table.
const SYSTEM_COLUMNS: [(&str, Oid, i16); 6] = [
    ("tableoid", oid::OID, -6),
    ("cmax", oid::CID, -5),
    ("xmax", oid::XID, -4),
    ("cmin", oid::CID, -3),
    ("xmin", oid::XID, -2),
    ("ctid", oid::TID, -1),
];

/// pg_attribute. Most of its rows are about the system catalogs and never change.
pub(super) fn pg_attribute(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    static SYSTEM_ROWS: OnceLock<Vec<Vec<Datum>>> = OnceLock::new();
    let system_rows = SYSTEM_ROWS.get_or_init(|| {
        let mut builder = out.empty();
        for relation in shape::relations() {
            attribute_rows(context.catalog, relation, &mut builder);
        }
        // Rows of a wrong shape would be a bug in this file, which its tests would find.
        builder.finish().unwrap_or_default()
    });
    out.start_with(system_rows);
    for relation in context.catalog.relations().filter(|r| !r.is_system()) {
        attribute_rows(context.catalog, relation, out);
    }
}

fn attribute_rows(catalog: &Catalog, relation: &Relation, out: &mut RowsBuilder) {
    if !matches!(relkind(relation), b'i' | b'I' | b'v' | b'c') {
        for (name, type_oid, attnum) in SYSTEM_COLUMNS {
            let column = Column { not_null: true, ..Column::new(name, type_oid, -1) };
            attribute_row(relation, &column, attnum, out);
        }
    }
    for (column, attnum) in columns_of(catalog, relation).iter().zip(1..) {
        attribute_row(relation, column, attnum, out);
    }
}

/// The columns of any relation in pg_attribute's form.
fn columns_of(catalog: &Catalog, relation: &Relation) -> Shared<Column> {
    match (&relation.index, relation.kind) {
        (Some(info), _) => {
            let table = catalog.relation(info.table);
            let mut columns =
                table.map(|table| index_columns(catalog, table, info)).unwrap_or_default();
            for (column, own) in columns.iter_mut().zip(&*relation.columns) {
                column.statistics = own.statistics;
            }
            columns.into()
        }
        (None, RelKind::Sequence) => SEQUENCE_COLUMNS
            .into_iter()
            .map(|(name, ty)| Column { not_null: true, ..Column::new(name, ty, -1) })
            .collect(),
        // The types are PostgreSQL's declared ones, not the types of the values.
        (None, RelKind::Virtual) => {
            let shape = shape::by_oid(relation.oid);
            let declared = shape.into_iter().flat_map(|s| &s.columns).map(|c| c.declared_type);
            let columns = relation.columns.iter().cloned().zip(declared);
            columns.map(|(column, type_oid)| Column { type_oid, ..column }).collect()
        }
        _ => relation.columns.clone(),
    }
}

/// Index columns have the names of table columns or functions, or "expr" (ChooseIndexColumnNames).
fn index_columns(catalog: &Catalog, table: &Relation, info: &IndexInfo) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let table_column =
        |attnum: i16| usize::try_from(attnum - 1).ok().and_then(|i| table.columns.get(i));
    let keys = info.keys.iter().map(|key| (key.attnum, Some(key)));
    let included = info.include.iter().map(|attnum| (*attnum, None));
    for (attnum, key) in keys.chain(included) {
        let expression = key.and_then(|key| key.expression.as_deref());
        let type_oid = key.map_or(0, |key| key.type_oid);
        let mut column = match (table_column(attnum), expression) {
            (Some(own), None) => Column {
                collation: own.collation,
                storage: own.storage,
                compression: own.compression,
                ..Column::new(own.name.clone(), key_storage(own.type_oid), own.typmod)
            },
            (_, expression) => Column::new(expression_name(catalog, expression), type_oid, -1),
        };
        if let Some(key) = key {
            column.collation = key.collation(table);
        }
        let base = column.name.clone();
        let mut number = 0;
        while columns.iter().any(|c| c.name == column.name) {
            number += 1;
            column.name = format!("{base}{number}").into();
        }
        columns.push(column);
    }
    columns
}

/// The type in which PostgreSQL's B-trees store keys of a type (pg_opclass.opckeytype of its
/// default operator class).
fn key_storage(type_oid: Oid) -> Oid {
    if type_oid == oid::NAME { oid::CSTRING } else { type_oid }
}

/// The name of the function that a stored expression is a call of, or "expr" (FigureIndexColname).
fn expression_name(catalog: &Catalog, expression: Option<&str>) -> Arc<str> {
    let Some(name) = expression.and_then(pretty::called_name) else { return "expr".into() };
    let function = called_functions(name).next();
    match function.and_then(|function| catalog.stored::<Function>().get(function)) {
        Some(function) => (*function.name).into(),
        None => name.rsplit('.').next().unwrap_or(name).trim_matches('"').into(),
    }
}

fn attribute_row(relation: &Relation, column: &Column, attnum: i16, out: &mut RowsBuilder) {
    let (type_oid, typmod) = column.declared_type();
    let storage = types::storage(column.type_oid);
    let (inherit_count, local) = match usize::try_from(attnum - 1) {
        Ok(position) => (relation.inherit_count(position), relation.is_local(position)),
        Err(_) => (0, true),
    };
    out.row([
        ("attrelid", Datum::Oid(relation.oid)),
        ("attname", Datum::Text(column.name.clone())),
        ("atttypid", Datum::Oid(if column.dropped { 0 } else { type_oid })),
        ("attlen", Datum::Int2(storage.len)),
        ("attnum", Datum::Int2(attnum)),
        ("atttypmod", Datum::Int4(typmod)),
        ("attndims", Datum::Int2(i16::from(types::is_array(type_oid)))),
        ("attbyval", Datum::Bool(storage.by_value)),
        ("attalign", Datum::Char(storage.align)),
        ("attstorage", Datum::Char(column.storage.map_or(storage.storage, |c| c as u8))),
        ("attcompression", Datum::Char(column.compression.map_or(0, |c| c as u8))),
        ("attstattarget", column.statistics.map_or(Datum::Null, Datum::Int2)),
        ("attnotnull", Datum::Bool(column.not_null && !column.dropped)),
        ("atthasdef", Datum::Bool(own_default(column).is_some())),
        ("atthasmissing", Datum::Bool(column.missing.is_some() && !column.dropped)),
        ("attidentity", Datum::Char(column.identity.map_or(0, |c| c as u8))),
        ("attgenerated", Datum::Char(column.generation())),
        ("attisdropped", Datum::Bool(column.dropped)),
        ("attislocal", Datum::Bool(local)),
        ("attinhcount", Datum::Int2(inherit_count)),
        ("attcollation", Datum::Oid(if column.dropped { 0 } else { column.collation })),
        ("attacl", acls::of(PG_CLASS, relation.oid, i32::from(attnum))),
        ("attoptions", options(column.options.iter())),
        (
            "attmissingval",
            match &column.missing {
                Some(value) => array(oid::TEXT, vec![Datum::Text(value.clone())]),
                None => Datum::Null,
            },
        ),
    ]);
}

/// A column's default in PostgreSQL's catalogs. An identity column has a sequence instead.
pub(super) fn own_default(column: &Column) -> Option<&Arc<str>> {
    column.default.as_ref().filter(|_| !column.dropped && column.identity.is_none())
}

/// The OID of a column's default in pg_attrdef. Defaults are part of their column and have no
/// stored OID. The computed OIDs differ if all tables' OIDs differ in their low 21 bits.
pub(super) fn default_oid(table: Oid, attnum: i16) -> Oid {
    table << ATTNUM_BITS | Oid::from(attnum.unsigned_abs())
}

/// Enough bits for 1600 columns.
const ATTNUM_BITS: u32 = 11;

/// pg_attrdef
pub(super) fn pg_attrdef(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for relation in context.catalog.relations() {
        for (column, attnum) in relation.columns.iter().zip(1..) {
            if let Some(default) = own_default(column) {
                out.row([
                    ("oid", Datum::Oid(default_oid(relation.oid, attnum))),
                    ("adrelid", Datum::Oid(relation.oid)),
                    ("adnum", Datum::Int2(attnum)),
                    ("adbin", Datum::Text(default.clone())),
                ]);
            }
        }
    }
}

/// pg_sequence
pub(super) fn pg_sequence(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for relation in context.catalog.relations() {
        let Some(info) = &relation.sequence else { continue };
        out.row([
            ("seqrelid", Datum::Oid(relation.oid)),
            ("seqtypid", Datum::Oid(info.type_oid)),
            ("seqstart", Datum::Int8(info.start)),
            ("seqincrement", Datum::Int8(info.increment)),
            ("seqmax", Datum::Int8(info.max)),
            ("seqmin", Datum::Int8(info.min)),
            ("seqcache", Datum::Int8(info.cache)),
            ("seqcycle", Datum::Bool(info.cycle)),
        ]);
    }
}

/// pg_rewrite: a view is its rule "_RETURN".
pub(super) fn pg_rewrite(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for view in context.catalog.relations() {
        let Some(query) = &view.view else { continue };
        out.row([
            // The rule has no OID of its own: it shows the view's.
            ("oid", Datum::Oid(view.oid)),
            ("rulename", text("_RETURN")),
            ("ev_class", Datum::Oid(view.oid)),
            ("ev_type", Datum::Char(b'1')),
            ("ev_enabled", Datum::Char(b'O')),
            ("is_instead", Datum::Bool(true)),
            ("ev_qual", text("<>")),
            ("ev_action", text(query.as_str())),
        ]);
    }
}

/// pg_description: comments on schemas, relations, columns, constraints and triggers.
pub(super) fn pg_description(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let mut row = |object: Oid, class: Oid, attnum: i32, comment: &Option<RareText>| {
        let Some(comment) = comment else { return };
        out.row([
            ("objoid", Datum::Oid(object)),
            ("classoid", Datum::Oid(class)),
            ("objsubid", Datum::Int4(attnum)),
            ("description", text(comment.as_str())),
        ]);
    };
    super::domains::descriptions(context, &mut |object, class, comment| {
        let comment = Some(RareText::new(comment.to_owned()));
        row(object, class, 0, &comment);
    });
    for schema in context.catalog.schemas() {
        row(schema.oid, PG_NAMESPACE, 0, &schema.comment);
    }
    let included = Some(RareText::new(PLPGSQL.comment.to_owned()));
    row(PLPGSQL.oid, PG_EXTENSION, 0, &included);
    for extension in context.catalog.extensions() {
        row(extension.oid, PG_EXTENSION, 0, &extension.comment);
    }
    for function in context.catalog.stored::<Function>().iter() {
        row(function.oid, PG_PROC, 0, &function.comment);
    }
    for operator in context.catalog.stored::<Operator>().iter() {
        row(operator.oid, super::operators::PG_OPERATOR, 0, &operator.comment);
    }
    for cast in context.catalog.stored::<UserCast>().iter() {
        row(cast.oid, super::casts::PG_CAST, 0, &cast.comment);
    }
    for relation in context.catalog.relations() {
        // A composite type's comment is one on the type.
        let (object, class) = match (relation.kind, row_type_of(relation)) {
            (RelKind::Composite, Some(row_type)) => (row_type, PG_TYPE),
            _ => (relation.oid, PG_CLASS),
        };
        row(object, class, 0, &relation.comment);
        for (column, attnum) in relation.columns.iter().zip(1..) {
            row(relation.oid, PG_CLASS, attnum, &column.comment);
        }
        for object in relation.extended.iter() {
            row(object.oid, PG_STATISTIC_EXT, 0, &object.comment);
        }
        for constraint in &relation.constraints {
            row(constraint.oid, PG_CONSTRAINT, 0, &constraint.comment);
        }
        for trigger in &relation.triggers {
            row(trigger.oid, PG_TRIGGER, 0, &trigger.comment);
        }
    }
}
