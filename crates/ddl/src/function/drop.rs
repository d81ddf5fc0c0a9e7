//! DROP FUNCTION, PROCEDURE, ROUTINE.

use super::super::{DdlContext, depend, drop};
use super::find::{Kind, find};
use super::is_aggregate;
use steppe_catalog::objects::Object;
use steppe_catalog::{Function, FunctionRef, ObjectId};
use steppe_sql::ast::{DropStmt, ObjectRef, ObjectWithArgs, TypeName};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// Drops functions, with CASCADE what depends on them; returns the command tag.
pub(crate) fn drop_functions(ctx: &mut DdlContext<'_>, stmt: &DropStmt) -> Result<&'static str> {
    let (kind, tag) = match Kind::of(stmt.kind) {
        Some(kind @ Kind::Procedure) => (kind, "DROP PROCEDURE"),
        Some(kind @ Kind::Routine) => (kind, "DROP ROUTINE"),
        Some(kind @ Kind::Aggregate) => (kind, "DROP AGGREGATE"),
        Some(kind) => (kind, "DROP FUNCTION"),
        None => return Err(Error::internal("DROP of something that is no function")),
    };
    let mut doomed: Vec<Oid> = Vec::new();
    for object in &stmt.objects {
        let ObjectRef::Function(named) = object else {
            return Err(Error::internal("DROP FUNCTION without a function"));
        };
        let Some(function) = find_to_drop(ctx, named, kind, stmt.if_exists)? else { continue };
        if kind == Kind::Function && function.is_aggregate() {
            let hint = "Use DROP AGGREGATE to drop aggregate functions.";
            return Err(is_aggregate(&named.name).hint(hint));
        }
        check_droppable(ctx, &function)?;
        ctx.lock_object(ObjectId::Function(function.oid), RelationLockMode::AccessExclusive)?;
        // Another session may have dropped it meanwhile.
        if ctx.catalog().function(function.oid).is_none() {
            let message = format!("cache lookup failed for function {}", function.oid);
            return Err(Error::internal(message));
        }
        if !doomed.contains(&function.oid) {
            doomed.push(function.oid);
        }
    }
    let roots: Vec<Object> = doomed.iter().map(|oid| Object::Function(*oid)).collect();
    let dependents = depend::dependents(ctx, &roots, stmt.behavior)?;
    drop::drop_dependents(ctx, &dependents)?;
    doomed.into_iter().for_each(|oid| remove(ctx, oid));
    Ok(tag)
}

/// Takes a function out of the catalog.
pub(crate) fn remove(ctx: &mut DdlContext<'_>, oid: Oid) {
    ctx.store.remove::<Function>(ctx.store.changes(ctx.pending), oid);
}

/// The function that is named. `None` if the statement has IF EXISTS, and the function, a type of
/// its arguments, or its schema does not exist.
fn find_to_drop(
    ctx: &mut DdlContext<'_>,
    named: &ObjectWithArgs,
    kind: Kind,
    if_exists: bool,
) -> Result<Option<FunctionRef>> {
    let error = match find(ctx, named, kind) {
        Ok(function) => return Ok(Some(function)),
        Err(error) => error,
    };
    match error.sqlstate() {
        SqlState::UNDEFINED_FUNCTION if if_exists => {
            let args: Vec<String> = named.args.iter().flatten().map(as_written).collect();
            let what = format!("{kind} {}({})", named.name, args.join(","));
            ctx.notice(format!("{what} does not exist, skipping"));
            Ok(None)
        }
        SqlState::UNDEFINED_OBJECT | SqlState::INVALID_SCHEMA_NAME => {
            ctx.skip_missing(if_exists, error).map(|()| None)
        }
        _ => Err(error),
    }
}

/// A type's name as it was written (TypeNameToString).
fn as_written(name: &TypeName) -> String {
    format!("{}{}", name.name, if name.array_bounds.is_empty() { "" } else { "[]" })
}

/// 2BP01 for a function that is built in, or is dropped with its extension only.
fn check_droppable(ctx: &mut DdlContext<'_>, function: &FunctionRef) -> Result<()> {
    let extension = function.brought_by;
    if !function.is_built_in() && extension.is_none() {
        return Ok(());
    }
    let catalog = ctx.catalog();
    let what = depend::description(&catalog, &ctx.search_path, Object::Function(function.oid));
    let refused = |why: String| {
        let message = format!("cannot drop {what} because {why}");
        Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
    };
    Err(match extension {
        Some(extension) => refused(format!("extension {extension} requires it"))
            .hint(format!("You can drop extension {extension} instead.")),
        None => refused("it is required by the database system".into()),
    })
}
