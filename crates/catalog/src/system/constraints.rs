//! pg_index and pg_constraint.

use super::facts::{self, OpclassMethod};
use super::rows::{RowsBuilder, array, optional, vector};
use super::session::SystemContext;
use super::triggers;
use crate::foreign_key::{ForeignKey, KeyOperators};
use crate::relation::{Constraint, ConstraintKind, IndexInfo, IndexKey, Relation};
use steppe_types::{Datum, Oid, oid};

/// Bits of pg_index.indoption.
const INDOPTION_DESC: i16 = 1;
const INDOPTION_NULLS_FIRST: i16 = 2;

/// pg_index
pub(super) fn pg_index(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for index in context.catalog.relations() {
        let Some(info) = &index.index else { continue };
        let Some(table) = context.catalog.relation(info.table) else { continue };
        let valid = context.catalog.is_valid_index(index);
        index_row(table, (index.oid, valid), info, out);
    }
}

fn index_row(
    table: &Relation,
    (index, valid): (Oid, bool),
    info: &IndexInfo,
    out: &mut RowsBuilder,
) {
    let keys = &info.keys;
    let attnums = keys.iter().map(|k| k.attnum).chain(info.include.iter().copied());
    let collation = |k: &IndexKey| Datum::Oid(k.collation(table));
    let opclass = |k: &IndexKey| Datum::Oid(key_opclass(k));
    let expressions: Vec<&str> = keys.iter().filter_map(|k| k.expression.as_deref()).collect();
    out.row([
        ("indexrelid", Datum::Oid(index)),
        ("indrelid", Datum::Oid(info.table)),
        ("indnatts", Datum::Int2((keys.len() + info.include.len()) as i16)),
        ("indnkeyatts", Datum::Int2(keys.len() as i16)),
        ("indisunique", Datum::Bool(info.unique)),
        ("indnullsnotdistinct", Datum::Bool(info.nulls_not_distinct)),
        ("indisprimary", Datum::Bool(info.primary)),
        ("indimmediate", Datum::Bool(!info.deferral.is_deferrable())),
        ("indisclustered", Datum::Bool(info.clustered)),
        ("indisvalid", Datum::Bool(valid)),
        ("indisready", Datum::Bool(true)),
        ("indislive", Datum::Bool(true)),
        ("indkey", vector(oid::INT2, attnums.map(Datum::Int2).collect())),
        ("indcollation", vector(oid::OID, keys.iter().map(collation).collect())),
        ("indclass", vector(oid::OID, keys.iter().map(opclass).collect())),
        (
            "indoption",
            vector(oid::INT2, keys.iter().map(|k| Datum::Int2(index_option(k))).collect()),
        ),
        ("indexprs", optional((!expressions.is_empty()).then(|| expressions.join(", ")))),
        ("indpred", optional(info.predicate.clone())),
    ]);
}

pub(super) fn key_opclass(key: &IndexKey) -> Oid {
    let named = key.opclass.as_deref();
    let named = named.and_then(|name| facts::opclass_named(OpclassMethod::Btree, name));
    named
        .map(|(class, _)| class)
        .or_else(|| facts::default_opclass(OpclassMethod::Btree, key.type_oid))
        .unwrap_or(0)
}

fn index_option(key: &IndexKey) -> i16 {
    let descending = if key.descending { INDOPTION_DESC } else { 0 };
    descending | if key.nulls_first { INDOPTION_NULLS_FIRST } else { 0 }
}

/// pg_constraint
pub(super) fn pg_constraint(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for table in context.catalog.relations() {
        for constraint in &table.constraints {
            constraint_row(context, table, constraint, out);
        }
    }
    triggers::constraint_rows(context, out);
    super::domains::pg_constraint(context, out);
}

fn constraint_row(
    context: &SystemContext<'_>,
    table: &Relation,
    constraint: &Constraint,
    out: &mut RowsBuilder,
) {
    let (kind, index, check) = match &constraint.kind {
        ConstraintKind::Primary { index } => (b'p', *index, None),
        ConstraintKind::Unique { index } => (b'u', *index, None),
        ConstraintKind::Check { expression } => (b'c', 0, Some(expression.as_str())),
        ConstraintKind::NotNull => (b'n', 0, None),
        ConstraintKind::ForeignKey(key) => (b'f', key.index, None),
    };
    let foreign = constraint.foreign_key();
    // A key's columns are in the index's order, which may differ from the table's.
    let index_key = context.catalog.relation(index).and_then(|index| index.index.as_deref());
    let index_key = index_key.filter(|_| foreign.is_none());
    let key: Vec<Datum> = match index_key {
        Some(info) => info.keys.iter().map(|key| Datum::Int2(key.attnum)).collect(),
        None => constraint.columns.iter().map(|c| Datum::Int2(*c)).collect(),
    };
    let deferral = index_key.map(|info| info.deferral).or(foreign.map(|key| key.deferral));
    let deferral = deferral.unwrap_or_default();
    let is_key = matches!(kind, b'p' | b'u') || foreign.is_some() && table.partition_key.is_none();
    let no_inherit = constraint.no_inherit || is_key && constraint.parent == 0;
    out.row([
        ("oid", Datum::Oid(constraint.oid)),
        ("conname", Datum::Text(constraint.name.clone())),
        ("connamespace", Datum::Oid(table.schema)),
        ("contype", Datum::Char(kind)),
        ("condeferrable", Datum::Bool(deferral.is_deferrable())),
        ("condeferred", Datum::Bool(deferral.is_deferred())),
        ("conenforced", Datum::Bool(foreign.is_none_or(|key| !key.not_enforced))),
        ("convalidated", Datum::Bool(!constraint.not_valid)),
        ("conrelid", Datum::Oid(table.oid)),
        ("conindid", Datum::Oid(index)),
        ("confrelid", Datum::Oid(foreign.map_or(0, |key| key.table))),
        ("confupdtype", Datum::Char(foreign.map_or(b' ', |key| key.on_update.code()))),
        ("confdeltype", Datum::Char(foreign.map_or(b' ', |key| key.on_delete.code()))),
        ("confmatchtype", Datum::Char(foreign.map_or(b' ', |key| match_code(key)))),
        ("conparentid", Datum::Oid(constraint.parent)),
        ("conislocal", Datum::Bool(constraint.local)),
        ("coninhcount", Datum::Int2(constraint.inherit_count)),
        ("connoinherit", Datum::Bool(no_inherit)),
        ("conkey", if key.is_empty() { Datum::Null } else { array(oid::INT2, key) }),
        ("confkey", attnums(foreign.map_or(&[], |key| &key.columns))),
        ("confdelsetcols", attnums(foreign.map_or(&[], |key| &key.set_columns))),
        ("conpfeqop", operators(foreign, |pair| pair.pf)),
        ("conppeqop", operators(foreign, |pair| pair.pp)),
        ("conffeqop", operators(foreign, |pair| pair.ff)),
        ("conbin", optional(check)),
    ]);
}

/// pg_constraint.confmatchtype
fn match_code(key: &ForeignKey) -> u8 {
    if key.match_full { b'f' } else { b's' }
}

/// An array of attribute numbers; NULL if there are none.
fn attnums(columns: &[i16]) -> Datum {
    match columns {
        [] => Datum::Null,
        _ => array(oid::INT2, columns.iter().map(|attnum| Datum::Int2(*attnum)).collect()),
    }
}

/// The operators of a foreign key, of one kind.
fn operators<K: AsRef<ForeignKey>>(key: Option<&K>, of: impl Fn(&KeyOperators) -> Oid) -> Datum {
    key.map_or(Datum::Null, |key| {
        let operators = key.as_ref().operators.iter();
        array(oid::OID, operators.map(|pair| Datum::Oid(of(pair))).collect())
    })
}
