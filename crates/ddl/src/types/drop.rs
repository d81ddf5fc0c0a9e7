//! DROP TYPE and DROP DOMAIN.

use super::super::{depend, drop};
use super::{DdlContext, Found, not_a, type_name};
use steppe_catalog::objects::{Object, UserType, kind_word};
use steppe_catalog::{Catalog, RelKind};
use steppe_sql::ast::{DropStmt, ObjectKind, TypeName};
use steppe_sql::bind::typename::TypeNames;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// DROP TYPE, DROP DOMAIN; returns the command tag. All types are looked up before one is dropped.
pub(in super::super) fn drop_types(
    ctx: &mut DdlContext<'_>,
    stmt: &DropStmt,
) -> Result<&'static str> {
    let mut roots: Vec<Object> = Vec::new();
    for object in &stmt.objects {
        let name = type_name(object)?;
        if is_missing(ctx, &name, stmt.if_exists)? {
            continue;
        }
        let root = to_drop(ctx, &name, stmt.kind)?;
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    let dependents = depend::dependents(ctx, &roots, stmt.behavior)?;
    drop::drop_dependents(ctx, &dependents)?;
    drop::drop_dependents(ctx, &roots)?;
    Ok(if stmt.kind == ObjectKind::Domain { "DROP DOMAIN" } else { "DROP TYPE" })
}

/// Whether IF EXISTS skips a type, with a notice.
fn is_missing(ctx: &mut DdlContext<'_>, name: &TypeName, if_exists: bool) -> Result<bool> {
    let Err(error) = ctx.resolve_type(name) else { return Ok(false) };
    let is_missing =
        [SqlState::UNDEFINED_OBJECT, SqlState::INVALID_SCHEMA_NAME].contains(&error.sqlstate());
    if !is_missing {
        return Err(error);
    }
    ctx.skip_missing(if_exists, error.at(None)).map(|()| true)
}

/// The object that DROP TYPE removes; for a composite type that is its relation. 2BP01 for a type
/// that is built in, or belongs to another object.
fn to_drop(ctx: &mut DdlContext<'_>, name: &TypeName, kind: ObjectKind) -> Result<Object> {
    let required = |shown: String, by: &str| {
        let message = format!("cannot drop {shown} because {by} requires it");
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .hint(format!("You can drop {by} instead.")))
    };
    let path = ctx.search_path.clone();
    let catalog = ctx.catalog();
    let names = TypeNames { catalog: &catalog, path: &path };
    let shown = |oid: Oid| format!("type {}", names.format(oid, -1));
    let found = ctx.find_type(name)?;
    if kind == ObjectKind::Domain && !matches!(&found, Found::Own(ty) if ty.domain().is_some()) {
        return Err(not_a("a domain", &format!("\"{}\"", name.name)));
    }
    match found {
        Found::Own(ty) => Ok(Object::Type(ty.oid)),
        Found::Row(relation) if relation.kind == RelKind::Composite => {
            ctx.lock(relation.oid, RelationLockMode::AccessExclusive)?;
            Ok(Object::Relation(relation.oid))
        }
        Found::Row(relation) => {
            let by = format!("{} {}", kind_word(relation.kind), relation.name);
            required(shown(steppe_catalog::row_type_of(&relation).unwrap_or(0)), &by)
        }
        Found::Array(oid) => {
            let element = steppe_catalog::builtin::ty(oid).map_or(0, |ty| ty.element);
            required(shown(oid), &shown(element))
        }
        Found::BuiltIn(oid) => {
            let message =
                format!("cannot drop {} because it is required by the database system", shown(oid));
            Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message))
        }
    }
}

/// Removes a type.
pub(in super::super) fn remove(ctx: &mut DdlContext<'_>, oid: Oid) {
    ctx.store.remove::<UserType>(ctx.store.changes(ctx.pending), oid);
}

/// 42710 if a type in a schema has this name. An array type with this name does not count, because
/// it then gets another name.
pub(in super::super) fn check_name_is_free(
    ctx: &mut DdlContext<'_>,
    schema: Oid,
    name: &str,
) -> Result<()> {
    match is_taken(&ctx.catalog(), schema, name) {
        false => Ok(()),
        true => {
            let message = format!("type \"{name}\" already exists");
            Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
        }
    }
}

fn is_taken(catalog: &Catalog, schema: Oid, name: &str) -> bool {
    catalog.type_named(schema, name).is_some_and(|found| !found.is_true_array())
}
