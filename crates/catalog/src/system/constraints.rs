//! pg_index, pg_constraint, and the pg_depend rows between relations.

use super::classes::{
    PG_ATTRDEF, PG_CLASS, PG_CONSTRAINT, PG_NAMESPACE, PG_REWRITE, PG_STATISTIC_EXT, PG_TYPE,
    default_oid, own_default,
};
use super::definitions::named_relations;
use super::domains::domain_constraints;
use super::extensions::{PG_EXTENSION, members};
use super::facts::{self, OpclassMethod};
use super::functions::{PG_PROC, language_of};
use super::rows::{RowsBuilder, array, optional, vector};
use super::session::SystemContext;
use super::triggers;
use crate::builtin;
use crate::foreign_key::{ForeignKey, KeyOperators};
use crate::objects::{Function, UserType};
use crate::relation::{Constraint, ConstraintKind, IndexInfo, IndexKey, Relation};
use crate::row_types::row_type_of;
use steppe_types::oid::FIRST_NORMAL_OID;
use steppe_types::{Datum, Oid, oid};

/// OID of pg_language.
const PG_LANGUAGE: Oid = 2612;
/// Objects from here on may be dropped (FirstUnpinnedObjectId).
const FIRST_UNPINNED: Oid = 12000;

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

/// pg_depend: relations on schemas, indexes on constraints or columns, constraints on columns,
/// owned sequences on columns, defaults on columns and on the sequences that they call, tables on
/// their parents. Also views on the relations and columns that they read, statistics objects on
/// schemas and columns, extensions on schemas, and members of extensions on extensions. (Other
/// dependencies of expressions are not stored, so they are not shown.)
pub(super) fn pg_depend(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    extension_dependencies(context, out);
    function_dependencies(context, out);
    dependencies_of_types(context, out);
    for relation in context.catalog.relations().filter(|r| !r.is_system()) {
        if let Some(info) = &relation.index {
            index_dependencies(context, relation, info, out);
            continue;
        }
        depend(out, (PG_CLASS, relation.oid), (PG_NAMESPACE, relation.schema, 0), b'n');
        let partition = relation.partition_of.is_some();
        for parent in relation.parents() {
            let kind = if partition { b'a' } else { b'n' };
            depend(out, (PG_CLASS, relation.oid), (PG_CLASS, parent, 0), kind);
        }
        default_dependencies(context, relation, out);
        type_dependencies(context, relation, out);
        view_dependencies(context, relation, out);
        statistics_dependencies(relation, out);
        triggers::dependencies(relation, out);
        for constraint in &relation.constraints {
            if constraint.parent != 0 {
                let parent = (PG_CONSTRAINT, constraint.parent, 0);
                depend(out, (PG_CONSTRAINT, constraint.oid), parent, b'P');
                let table = (PG_CLASS, relation.oid, 0);
                depend(out, (PG_CONSTRAINT, constraint.oid), table, b'S');
            }
            for attnum in &constraint.columns {
                let column = (PG_CLASS, relation.oid, *attnum);
                depend(out, (PG_CONSTRAINT, constraint.oid), column, b'a');
            }
            let Some(key) = constraint.foreign_key() else { continue };
            for attnum in key.columns.iter() {
                let column = (PG_CLASS, key.table, *attnum);
                depend(out, (PG_CONSTRAINT, constraint.oid), column, b'n');
            }
            depend(out, (PG_CONSTRAINT, constraint.oid), (PG_CLASS, key.index, 0), b'n');
        }
        if let Some((table, attnum)) = relation.sequence.as_ref().and_then(|s| s.owned_by) {
            // The sequence of an identity column is a part of it.
            let kind = if is_identity(context, table, attnum) { b'i' } else { b'a' };
            depend(out, (PG_CLASS, relation.oid), (PG_CLASS, table, attnum), kind);
        }
    }
}

/// Dependencies of defaults on their columns and on the sequences that they call.
fn default_dependencies(context: &SystemContext<'_>, table: &Relation, out: &mut RowsBuilder) {
    for (column, attnum) in table.columns.iter().zip(1..) {
        let Some(default) = own_default(column) else { continue };
        let object = (PG_ATTRDEF, default_oid(table.oid, attnum));
        depend(out, object, (PG_CLASS, table.oid, attnum), b'a');
        for sequence in called_sequences(context, default) {
            depend(out, object, (PG_CLASS, sequence, 0), b'n');
        }
    }
}

/// Dependencies of columns on users' types, and of a composite type on its relation.
fn type_dependencies(context: &SystemContext<'_>, relation: &Relation, out: &mut RowsBuilder) {
    if let Some(row) = row_type_of(relation) {
        let relation = (PG_CLASS, relation.oid);
        depend(out, (PG_TYPE, row), (relation.0, relation.1, 0), b'i');
    }
    for (column, attnum) in relation.columns.iter().zip(1..).filter(|(c, _)| !c.dropped) {
        let (ty, _) = column.declared_type();
        if context.catalog.own_type_name(element_or_self(ty)).is_some() {
            let object = (PG_CLASS, relation.oid, attnum);
            depend_column(out, object, (PG_TYPE, ty, 0), b'n');
        }
    }
}

/// The element type of an array type; any other type itself.
fn element_or_self(ty: Oid) -> Oid {
    builtin::ty(ty).filter(|ty| ty.is_true_array()).map_or(ty, |ty| ty.element)
}

/// Dependencies of users' types: on schemas, and of domains on the types below.
fn dependencies_of_types(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for ty in context.catalog.stored::<UserType>().iter() {
        depend(out, (PG_TYPE, ty.oid), (PG_NAMESPACE, ty.schema, 0), b'n');
        let array = builtin::ty(ty.oid).map_or(0, |ty| ty.array);
        depend(out, (PG_TYPE, array), (PG_TYPE, ty.oid, 0), b'i');
        let Some(domain) = ty.domain() else { continue };
        if context.catalog.own_type_name(element_or_self(domain.base)).is_some() {
            depend(out, (PG_TYPE, ty.oid), (PG_TYPE, domain.base, 0), b'n');
        }
        for constraint in domain_constraints(domain) {
            depend(out, (PG_CONSTRAINT, constraint.oid), (PG_TYPE, ty.oid, 0), b'a');
        }
    }
}

/// The sequences that an expression contains as constants of type regclass.
fn called_sequences<'a>(
    context: &'a SystemContext<'_>,
    expression: &'a str,
) -> impl Iterator<Item = Oid> {
    let is_sequence = |oid: &Oid| {
        context.catalog.relation(*oid).is_some_and(|relation| relation.sequence.is_some())
    };
    named_relations(expression).filter(is_sequence)
}

/// Dependencies of a view's rule: on the view, on its relations and columns, and on the primary
/// keys that its grouping needs.
fn view_dependencies(context: &SystemContext<'_>, view: &Relation, out: &mut RowsBuilder) {
    if view.view.is_none() {
        return;
    }
    let rule = (PG_REWRITE, view.oid);
    depend(out, rule, (PG_CLASS, view.oid, 0), b'i');
    for (object, attnum) in view.reads.iter() {
        depend(out, rule, (class_of_read(context, *object), *object, *attnum), b'n');
    }
}

/// The catalog of an object that a query reads: a relation, a function, or a key that it needs.
fn class_of_read(context: &SystemContext<'_>, object: Oid) -> Oid {
    if context.catalog.relation(object).is_some() {
        PG_CLASS
    } else if context.catalog.stored::<Function>().get(object).is_some() {
        PG_PROC
    } else {
        PG_CONSTRAINT
    }
}

/// Dependencies of users' functions: on their schemas, on users' types in their signatures, on
/// their language unless PostgreSQL cannot be without it, and on what their bodies read.
fn function_dependencies(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for function in context.catalog.stored::<Function>().iter() {
        let own = (PG_PROC, function.oid);
        depend(out, own, (PG_NAMESPACE, function.schema, 0), b'n');
        let language = language_of(function);
        if language >= FIRST_UNPINNED {
            depend(out, own, (PG_LANGUAGE, language, 0), b'n');
        }
        let declared = function.declared.iter().map(|argument| argument.ty);
        let mut types: Vec<Oid> = function.args.iter().copied().chain(declared).collect();
        types.push(function.ret);
        types.sort_unstable();
        types.dedup();
        for ty in types.into_iter().filter(|ty| *ty >= FIRST_NORMAL_OID) {
            depend(out, own, (PG_TYPE, ty, 0), b'n');
        }
        for (object, attnum) in &function.reads {
            depend(out, own, (class_of_read(context, *object), *object, *attnum), b'n');
        }
    }
}

/// Dependencies of statistics objects on their schemas and columns.
fn statistics_dependencies(table: &Relation, out: &mut RowsBuilder) {
    for object in table.extended.iter() {
        let statistics = (PG_STATISTIC_EXT, object.oid);
        depend(out, statistics, (PG_NAMESPACE, object.schema, 0), b'n');
        for attnum in &object.columns {
            depend(out, statistics, (PG_CLASS, table.oid, *attnum), b'a');
        }
    }
}

/// pg_depend's rows about extensions.
fn extension_dependencies(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for extension in context.catalog.extensions() {
        let schema = (PG_NAMESPACE, extension.schema, 0);
        depend(out, (PG_EXTENSION, extension.oid), schema, b'n');
    }
    for (class, oid, extension) in members(context) {
        depend(out, (class, oid), (PG_EXTENSION, extension, 0), b'e');
    }
}

/// Whether a column is GENERATED AS IDENTITY.
pub(super) fn is_identity(context: &SystemContext<'_>, table: Oid, attnum: i16) -> bool {
    let table = context.catalog.relation(table);
    let position = usize::try_from(attnum - 1).ok();
    let column = table.zip(position).and_then(|(t, i)| t.columns.get(i));
    column.is_some_and(|c| c.identity.is_some())
}

fn index_dependencies(
    context: &SystemContext<'_>,
    index: &Relation,
    info: &IndexInfo,
    out: &mut RowsBuilder,
) {
    for parent in index.parents() {
        depend(out, (PG_CLASS, index.oid), (PG_CLASS, parent, 0), b'P');
        depend(out, (PG_CLASS, index.oid), (PG_CLASS, info.table, 0), b'S');
    }
    let constraints = context.catalog.relation(info.table).map(|t| t.constraints.iter());
    let behind = constraints.into_iter().flatten().find(|c| match c.kind {
        ConstraintKind::Primary { index: own } | ConstraintKind::Unique { index: own } => {
            own == index.oid
        }
        _ => false,
    });
    if let Some(constraint) = behind {
        return depend(out, (PG_CLASS, index.oid), (PG_CONSTRAINT, constraint.oid, 0), b'i');
    }
    let columns = info.keys.iter().map(|k| k.attnum).chain(info.include.iter().copied());
    for attnum in columns.filter(|attnum| *attnum != 0) {
        depend(out, (PG_CLASS, index.oid), (PG_CLASS, info.table, attnum), b'a');
    }
}

pub(super) fn depend(out: &mut RowsBuilder, object: (Oid, Oid), on: (Oid, Oid, i16), kind: u8) {
    depend_column(out, (object.0, object.1, 0), on, kind);
}

/// The same for a column.
fn depend_column(out: &mut RowsBuilder, object: (Oid, Oid, i16), on: (Oid, Oid, i16), kind: u8) {
    out.row([
        ("classid", Datum::Oid(object.0)),
        ("objid", Datum::Oid(object.1)),
        ("objsubid", Datum::Int4(i32::from(object.2))),
        ("refclassid", Datum::Oid(on.0)),
        ("refobjid", Datum::Oid(on.1)),
        ("refobjsubid", Datum::Int4(i32::from(on.2))),
        ("deptype", Datum::Char(kind)),
    ]);
}
