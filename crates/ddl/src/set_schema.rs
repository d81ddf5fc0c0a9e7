//! ALTER … SET SCHEMA of relations (AlterTableNamespace in tablecmds.c). Indexes and owned
//! sequences move with the table, and statistics objects stay where they are. The views that read a
//! moved relation are written again with its new name.

use super::open::system_catalog;
use super::{DdlContext, create_statistics, function, operator, types, view};
use std::sync::Arc;
use steppe_catalog::objects::kind_word;
use steppe_catalog::{RelKind, Relation, Schema, TEMPORARY_SCHEMA};
use steppe_sql::ast::{AlterSchemaStmt, ObjectKind, ObjectRef};
use steppe_txn::RelationLockMode;
use steppe_types::oid::FIRST_NORMAL_OID;
use steppe_types::{Error, Oid, Result, SqlState};

/// ALTER TABLE, VIEW, SEQUENCE or STATISTICS … SET SCHEMA; returns the command tag.
pub(super) fn set_schema(ctx: &mut DdlContext<'_>, stmt: &AlterSchemaStmt) -> Result<&'static str> {
    if let (ObjectKind::Statistics, ObjectRef::Name(name)) = (stmt.kind, &stmt.object) {
        let moved = create_statistics::set_schema(ctx, name, &stmt.new_schema);
        return moved.map(|()| "ALTER STATISTICS");
    }
    if let ObjectRef::Function(named) = &stmt.object
        && function::Kind::of(stmt.kind).is_some()
    {
        return function::set_schema(ctx, stmt.kind, named, &stmt.new_schema);
    }
    if let (ObjectKind::Operator, ObjectRef::Function(named)) = (stmt.kind, &stmt.object) {
        let moved = operator::set_schema(ctx, named, &stmt.new_schema);
        return moved.map(|()| "ALTER OPERATOR");
    }
    if let ObjectKind::Type | ObjectKind::Domain = stmt.kind {
        return types::set_schema(ctx, &stmt.object, stmt.kind, &stmt.new_schema);
    }
    let (tag, kind) = match stmt.kind {
        ObjectKind::Table => ("ALTER TABLE", None),
        ObjectKind::View => ("ALTER VIEW", Some(RelKind::View)),
        ObjectKind::Sequence => ("ALTER SEQUENCE", Some(RelKind::Sequence)),
        other => return Err(unsupported(other)),
    };
    let ObjectRef::Relation(name) = &stmt.object else { return Err(unsupported(stmt.kind)) };
    let Some(relation) = ctx.try_open(name, RelationLockMode::AccessExclusive)? else {
        ctx.skip_missing(stmt.if_exists, name.undefined())?;
        return Ok(tag);
    };
    check_movable(ctx, &relation, kind)?;
    let schema = new_schema(ctx, relation.schema, &stmt.new_schema)?;
    // `public` has a number of its own among the first, but takes everything.
    if schema < FIRST_NORMAL_OID && schema != steppe_catalog::PUBLIC {
        return Err(Error::not_supported(format!("SET SCHEMA {}", stmt.new_schema)));
    }
    if schema != relation.schema {
        move_all(ctx, &relation, schema, &stmt.new_schema)?;
    }
    Ok(tag)
}

fn unsupported(kind: ObjectKind) -> Error {
    Error::not_supported(format!("ALTER {} … SET SCHEMA", kind.as_str()))
}

fn check_movable(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    kind: Option<RelKind>,
) -> Result<()> {
    if relation.is_system() {
        return Err(system_catalog(relation));
    }
    let wrong = |message: String| Error::new(SqlState::WRONG_OBJECT_TYPE, message);
    if let Some(kind) = kind.filter(|kind| *kind != relation.kind) {
        let message = format!("\"{}\" is not a {}", relation.name, kind_word(kind));
        return Err(wrong(message));
    }
    if relation.index.is_some() {
        let message = format!("cannot change schema of index \"{}\"", relation.name);
        return Err(wrong(message).hint("Change the schema of the table instead."));
    }
    if let Some((table, _)) = relation.sequence.as_ref().and_then(|s| s.owned_by) {
        let table = ctx.catalog().relation(table).map_or("?".into(), |t| t.name.clone());
        let message = "cannot move an owned sequence into another schema";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .detail(format!("Sequence \"{}\" is linked to table \"{table}\".", relation.name)));
    }
    Ok(())
}

/// The schema of a name, to which something in the schema `old` may move (CheckSetNamespace).
pub(super) fn new_schema(ctx: &mut DdlContext<'_>, old: Oid, name: &str) -> Result<Oid> {
    let catalog = ctx.catalog();
    let found = catalog.schema_named(name);
    let is_temporary = |schema: &Arc<Schema>| schema.is_temporary();
    let temporary = name == TEMPORARY_SCHEMA || found.is_some_and(is_temporary);
    if let (None, false) = (found, temporary) {
        let message = format!("schema \"{name}\" does not exist");
        return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
    }
    let schema = found.map_or(old, |schema| schema.oid);
    if schema == old && !temporary {
        return Ok(schema);
    }
    if temporary || catalog.schema(old).is_some_and(is_temporary) {
        let message = "cannot move objects into or out of temporary schemas";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(schema)
}

/// Moves a relation with its indexes and the sequences that its columns own.
pub(super) fn move_all(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    schema: Oid,
    name: &str,
) -> Result<()> {
    let catalog = ctx.catalog();
    let indexes = catalog.indexes_of(relation).cloned();
    let owned = |r: &&Arc<Relation>| {
        r.sequence.as_ref().and_then(|s| s.owned_by).is_some_and(|(of, _)| of == relation.oid)
    };
    let sequences = catalog.referrers(relation.oid).filter(owned).cloned();
    let along: Vec<Arc<Relation>> = indexes.chain(sequences).collect();
    for moved in std::iter::once(relation).chain(&along) {
        ctx.lock_name(schema, &moved.name)?;
        if ctx.catalog().relation_named(schema, &moved.name).is_some() {
            let message =
                format!("relation \"{}\" already exists in schema \"{name}\"", moved.name);
            return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
        }
    }
    let mut moved = (**relation).clone();
    moved.schema = schema;
    view::follow_rename(ctx, &Arc::new(moved.clone()))?;
    // The view that was printed again may be this one.
    if let Some(printed) = ctx.catalog().relation(moved.oid) {
        moved.view = printed.view.clone();
    }
    ctx.put(moved)?;
    for relation in along {
        ctx.put(Relation { schema, ..(*relation).clone() })?;
    }
    Ok(())
}
